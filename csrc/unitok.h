/* unitok.h - the whole public C API of the library under pyunitok
 *
 * cffi reads this file as it stands, so it includes nothing and defines only constants: include
 * <stdint.h> first (common.h does). Sections: Basics, Model, Normalize, Encode, Decode, Documents,
 * Suffix sorting, Search, HAT-trie, Training, Training a greedy vocabulary.
 *
 * Conventions
 *   - The packed list. `data` + `offsets[0..n]`: item i is data[offsets[i]..offsets[i+1]). Documents, pieces and token
 *     sequences all have this shape. offsets are int64, do not decrease, and offsets[0] >= 0.
 *   - A function that can fail returns an enum unitok_status and fills *error (which may be NULL) when that is not
 *     UNITOK_OK. What it creates comes back through `ret`, untouched on failure.
 *   - Sizes are in bytes and called n_bytes; counts of anything else name it (n_docs, n_ids).
 *   - Models are immutable after unitok_model_new/load, but for unitok_model_complete, and may be shared by any number of
 *     threads. A scratch belongs to one call at a time. The library keeps no global state, does no I/O and starts no thread.
 */
#pragma once

/* ---------------------------------------------------------------------------------- Basics ---- */

enum unitok_status {
    UNITOK_OK = 0,
    /* an allocation failed; nothing was changed, unless said otherwise */
    UNITOK_ERROR_MEMORY = 1,
    UNITOK_ERROR_ARGUMENT = 2, /* an argument is outside its documented range */
    /* the pieces or rules of a model are invalid; `item` is the piece at fault, or -1 */
    UNITOK_ERROR_VOCABULARY = 3,
    /* the bytes are not a valid native model; `position` is the byte at fault */
    UNITOK_ERROR_FORMAT = 4,
    /* an id has no piece; `item` is the id, `position` its index in the array */
    UNITOK_ERROR_ID = 5,
    /* this processor or this build lacks the instruction set asked for */
    UNITOK_ERROR_CPU = 6,
    UNITOK_ERROR_ROOM = 7, /* the array for ids is too small; `item` is the document */
    /* a text is longer than this model can take; `item` is the document */
    UNITOK_ERROR_LENGTH = 8
};

typedef struct unitok_error {
    int32_t status;      /* an enum unitok_status */
    int64_t item;        /* the piece, document or id at fault; -1 where that does not apply */
    int64_t position;    /* the byte or index at fault; -1 where that does not apply */
    const char *message; /* a static sentence: never NULL after a failure, never freed */
} unitok_error;

/* Instruction sets, oldest first within a family. AUTO selects the best one that this processor
 * supports. */
enum unitok_cpu {
    UNITOK_CPU_AUTO = -1,
    UNITOK_CPU_PORTABLE = 0, /* plain C11, always available */
    UNITOK_CPU_SSE2 = 1,
    UNITOK_CPU_AVX2 = 2,   /* with BMI and BMI2 */
    UNITOK_CPU_AVX512 = 3, /* F, DQ, BW, VL, VBMI and VBMI2 */
    UNITOK_CPU_NEON = 4
};

/* 1 if this build and this processor can run `cpu` (an enum unitok_cpu), else 0. */
int32_t unitok_cpu_supported(int32_t cpu);

/* ----------------------------------------------------------------------------------- Model ---- */

/* The data structure that finds the longest piece. The ids do not depend on it. */
enum unitok_engine {
    UNITOK_ENGINE_DOUBLE_ARRAY = 0, /* frozen, fastest, can be saved */
    UNITOK_ENGINE_HAT = 1           /* the growable HAT-trie */
};

/* The largest id that fits in a uint16 array, and the largest id of any model. */
#define UNITOK_ID_MAX 65535
#define UNITOK_WIDE_ID_MAX 4194303

/* How a model turns text into pieces. */
enum unitok_kind {
    UNITOK_KIND_LONGEST = 1, /* greedy longest prefix, over bytes (RWKV World) */
    /* the best path by score: Viterbi (SentencePiece, BytePiece, Hugging Face) */
    UNITOK_KIND_UNIGRAM = 2,
    /* the pair of best score merges first (SentencePiece, Hugging Face) */
    UNITOK_KIND_BPE = 3,
    UNITOK_KIND_CHAR = 4, /* every character is a token (SentencePiece) */
    UNITOK_KIND_WORD = 5  /* every word is a token (SentencePiece) */
};

/* The role of a piece, with SentencePiece's numbers. */
enum unitok_piece_type {
    UNITOK_PIECE_NORMAL = 1,
    UNITOK_PIECE_UNKNOWN = 2, /* at most one: stands for characters that no piece covers */
    UNITOK_PIECE_CONTROL = 3, /* never matches in a text; decodes to nothing */
    /* matches before everything else; never normalized or split */
    UNITOK_PIECE_USER_DEFINED = 4,
    UNITOK_PIECE_UNUSED = 5, /* matches nothing */
    UNITOK_PIECE_BYTE = 6    /* "<0x41>": one byte of a character that no piece covers */
};

enum unitok_model_flags {
    /* a space before the text (after it, with WHITESPACE_AS_SUFFIX) */
    UNITOK_ADD_DUMMY_PREFIX = 1,
    UNITOK_REMOVE_EXTRA_WHITESPACES = 2,
    UNITOK_ESCAPE_WHITESPACES = 4, /* a space becomes U+2581 */
    UNITOK_WHITESPACE_AS_SUFFIX = 8,
    UNITOK_BYTE_FALLBACK = 16, /* an unknown character becomes its bytes */
    UNITOK_MERGE_UNKNOWN = 32, /* adjacent unknown characters become one id */
    /* Unigram adds scores in float64 (BytePiece, Hugging Face), else in float32 */
    UNITOK_FLOAT64 = 64,
    /* the text is split before every space (Hugging Face's Metaspace) */
    UNITOK_RESTART_AT_SPACE = 128,
    /* the text is split after every run of newlines (BytePiece) */
    UNITOK_RESTART_AFTER_NEWLINE = 256,
    /* positions are bytes, not characters; nothing is normalized (BytePiece; BPE) */
    UNITOK_BYTES = 512,
    /* the text "<0x41>" is the byte piece of that name (Hugging Face) */
    UNITOK_BYTE_PIECES_MATCH = 1024,
    /* BPE with an explicit list of merges (Hugging Face): all pieces but CONTROL match,
     * BYTE_FALLBACK does not need all 256 byte pieces, and without an unknown piece unknown
     * characters are dropped. MERGE_UNKNOWN is its fuse_unk. */
    UNITOK_LISTED_MERGES = 2048,
    UNITOK_IGNORE_MERGES =
        4096 /* with LISTED_MERGES: a text that is itself a piece becomes that piece */
};
#define UNITOK_FLAGS_ALL 8191

/* Everything a model is built from. Piece k is data[offsets[k]..offsets[k + 1]), with ids[k],
 * scores[k] and types[k]. Which flags a kind supports, and in which combinations:
 * csrc/model/spec.c. */
typedef struct unitok_spec {
    int32_t kind;  /* an enum unitok_kind */
    int32_t flags; /* of enum unitok_model_flags */
    int64_t n_pieces;
    const uint8_t *data;
    const int64_t *offsets;
    const int64_t *ids;
    const double *scores;    /* NULL: all 0 */
    const uint8_t *types;    /* enum unitok_piece_type; NULL: all NORMAL */
    const uint8_t *charsmap; /* SentencePiece's precompiled_charsmap; NULL: none */
    int64_t n_charsmap_bytes;
    const uint8_t *unknown_surface; /* the text that the unknown id decodes to; NULL: none */
    int64_t n_unknown_surface_bytes;
    int64_t eod_id;      /* the end-of-document id, or -1 */
    int64_t fallback_id; /* LONGEST: the id of a byte that no piece covers, or -1 */
    /* LISTED_MERGES, ids: merge k joins merges[k] and merges[n + k] into merges[2 * n + k] */
    const int64_t *merges;
    int64_t n_merges; /* n; the rank of merge k is k */
} unitok_spec;

typedef struct unitok_model unitok_model;

typedef struct unitok_model_info {
    int64_t n_pieces; /* pieces of every type */
    int64_t n_ids;    /* 1 + the largest id, including eod and fallback */
    int64_t eod_id;   /* end of document, or -1 */
    /* LONGEST: the id of a byte that no piece covers, or -1 where all 256 bytes are pieces */
    int64_t fallback_id;
    int64_t unknown_id;      /* the id of an unknown character, or -1 */
    int64_t max_piece_bytes; /* the length of the longest piece */
    int64_t memory_bytes;    /* of the model, including a mapped file */
    int64_t trie_bytes;      /* of these, the engine */
    int32_t kind;            /* an enum unitok_kind */
    int32_t flags;           /* of enum unitok_model_flags */
    /* 2: ids are uint16_t; 4: uint32_t, where the largest is over UNITOK_ID_MAX */
    int32_t id_bytes;
    int32_t engine; /* an enum unitok_engine */
    int32_t cpu;    /* the enum unitok_cpu in use, never AUTO */
    /* normalized text holds U+2581 as one byte, a space: the form for UNITOK_ENCODE_PREPARED */
    int32_t is_compact;
    /* a document cannot be cut: it is encoded as one segment, in O(n_bytes) of memory */
    int32_t is_whole;
    /* can encode; 0: see unitok_model_new_later. memory_bytes and is_whole may still change */
    int32_t is_complete;
} unitok_model_info;

/* Builds a model.
 *   spec         no piece is empty, ids (0..UNITOK_WIDE_ID_MAX) are distinct, and so are the pieces that match texts
 *   engine, cpu  enum unitok_engine (only LONGEST has a choice), enum unitok_cpu
 * UNITOK_ERROR_VOCABULARY names the piece that breaks a rule; for LONGEST also where a byte has no
 * piece and fallback_id is -1. UNITOK_ERROR_ARGUMENT: flags or sizes that no model can have. Keeps
 * no reference to `spec`. O(bytes of pieces): about 30 ms for 65,529 pieces. */
int32_t unitok_model_new(const unitok_spec *spec, int32_t engine, int32_t cpu, unitok_model **ret,
                         unitok_error *error);

/* Opens a native model in memory, 8-byte aligned. bytes[0..n_bytes-1] must not change during the
 * life of the model, which reads its tables in place. Every index in the file is checked: hostile
 * bytes give UNITOK_ERROR_FORMAT or UNITOK_ERROR_VOCABULARY, never an access outside `bytes`. Bytes
 * after the image are ignored. The caller compares the checksum: see UNITOK_NATIVE_CHECKSUM_AT. */
int32_t unitok_model_load(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                          unitok_model **ret, unitok_error *error);

/* Like unitok_model_new and unitok_model_load, but the tables that only encoding needs, most of the
 * work, may be left out until unitok_model_complete. It is done only where that can fail for
 * nothing but memory: every other error comes now. Until then unitok_scratch_new gives NULL and
 * unitok_split 0; everything else that takes a model alone works. */
int32_t unitok_model_new_later(const unitok_spec *spec, int32_t engine, int32_t cpu,
                               unitok_model **ret, unitok_error *error);
int32_t unitok_model_load_later(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                                unitok_model **ret, unitok_error *error);

/* Builds what was left out, if anything. One thread at a time; others may use the model meanwhile,
 * but for unitok_model_get_info, unitok_scratch_new and unitok_split. After UNITOK_ERROR_MEMORY it
 * can be tried again. */
int32_t unitok_model_complete(unitok_model *model, unitok_error *error);

/* Writes the native form to out[0..capacity-1], with a checksum field of zero, and returns its
 * size; if capacity is smaller, writes nothing and returns the size needed. */
int64_t unitok_model_save(const unitok_model *model, uint8_t *out, int64_t capacity);

/* Where a native file keeps its XXH64 (seed 0, little-endian u64), and the first byte that it
 * covers (up to the end). */
#define UNITOK_NATIVE_CHECKSUM_AT 16
#define UNITOK_NATIVE_CHECKED_FROM 24

void unitok_model_get_info(const unitok_model *model, unitok_model_info *ret);
void unitok_model_free(unitok_model *model);

/* The bytes of piece `id`, owned by the model; NULL, and *ret_n_bytes is -1, if that id has no
 * piece. */
const uint8_t *unitok_model_piece(const unitok_model *model, int64_t id, int64_t *ret_n_bytes);

/* What unitok_proto_read found in a file, besides the arrays. */
typedef struct unitok_proto {
    int64_t n_rest_bytes;
    int64_t charsmap_at, n_charsmap_bytes; /* in the file; 0, 0 where it has none */
    int64_t unknown_id;                    /* of the piece of type UNKNOWN; -1: none */
    int32_t n_byte_pieces;                 /* how many of <0x00> to <0xFF> it has */
    int32_t has_texts;                     /* a piece of type NORMAL, USER_DEFINED or UNUSED */
    int32_t is_finite;                     /* all scores are */
} unitok_proto;

/* The pieces of a SentencePiece model file (a protobuf, ModelProto), as a packed list, with their
 * scores and types (enum unitok_piece_type), and everything else in the file but the normalizer's
 * precompiled_charsmap: a ModelProto without them. With room = n_bytes /
 * UNITOK_PROTO_PIECE_BYTES_MIN:
 *   pieces[0..n_bytes-1], offsets[0..room], scores[0..room-1], types[0..room-1], rest[0..n_bytes-1]
 * Returns the number of pieces; -1 if something in the file is not as SentencePiece writes it: a
 * piece that is empty, longer than it allows, with a NUL or the same as another, a second unknown
 * piece, a byte piece that is none, a field that it does not know, anything malformed. protobuf may
 * still read such a file. -2: memory. */
#define UNITOK_PROTO_PIECE_BYTES_MIN 5
#define UNITOK_PROTO_PIECE_BYTES_MAX 7999
int64_t unitok_proto_read(const uint8_t *bytes, int64_t n_bytes, uint8_t *pieces, int64_t *offsets,
                          float *scores, uint8_t *types, uint8_t *rest, unitok_proto *ret);

/* Like unitok_normalize with the model's own rules, in the verbatim form; a model without rules
 * copies the text. */
int64_t unitok_model_normalize(const unitok_model *model, const uint8_t *text, int64_t n_bytes,
                               uint8_t *out, int64_t *norm_to_orig, int64_t capacity);

/* The spec that the model was built from, owned by the model; NULL for LONGEST. */
const unitok_spec *unitok_model_spec(const unitok_model *model);

/* The enum unitok_piece_type of an id; 0 if it has no piece. */
int32_t unitok_model_piece_type(const unitok_model *model, int64_t id);

/* All pieces by id, owned by the model: piece `id` is data[offsets[id]..offsets[id + 1]), id <
 * n_ids; empty if it has none. */
void unitok_model_pieces(const unitok_model *model, const uint8_t **ret_data,
                         const uint32_t **ret_offsets);

/* The id of exactly these bytes, or -1. LONGEST: one walk; the other kinds: O(n_ids). */
int64_t unitok_model_find(const unitok_model *model, const uint8_t *piece, int64_t n_bytes);

/* ------------------------------------------------------------------------------------------
 * Normalize ---- */

/* SentencePiece's normalization, exactly as in sentencepiece 0.2.3: at every position the longest
 * user-defined symbol is kept as it is; else the longest key of the charsmap is replaced; else one
 * character is copied, or U+FFFD written for a byte that does not begin a valid character. Then the
 * whitespace rules of enum unitok_model_flags apply. The result has one of two forms:
 *   verbatim   byte for byte what sentencepiece gives
 *   compact    with UNITOK_ESCAPE_WHITESPACES, every U+2581, also one that was in the text, is one byte, a space. Without
 *              that flag the same as verbatim. Only available if all replacements and symbols are valid UTF-8.
 * A normalizer is immutable and may be shared by any number of threads. */
typedef struct unitok_normalizer unitok_normalizer;

/* Builds one from the flags, charsmap and USER_DEFINED pieces of `spec`, and keeps no reference to
 * it. `cpu` is an enum unitok_cpu. UNITOK_ERROR_VOCABULARY says what is wrong with the charsmap;
 * hostile bytes are safe. O(bytes): about 2 ms for a charsmap of 240 KB. */
int32_t unitok_normalizer_new(const unitok_spec *spec, int32_t cpu, unitok_normalizer **ret,
                              unitok_error *error);
void unitok_normalizer_free(unitok_normalizer *normalizer);
int64_t unitok_normalizer_memory_bytes(const unitok_normalizer *normalizer);
/* Whether it has the compact form. */
int32_t unitok_normalizer_is_compact(const unitok_normalizer *normalizer);

/* Normalizes a whole text and returns the size of the result, in the compact form if `compact` is
 * not 0.
 *   out, capacity   if the size is larger than capacity, the result is incomplete: call again with enough room
 *   norm_to_orig    NULL, or room for capacity + 1 numbers: [i] is the start, in the text, of what byte i was made from,
 *                   and [result] the end of the last such part. [0] is -1 where sentencepiece gives no offsets at all:
 *                   the text is empty, or holds only spaces that are removed
 * O(n_bytes). */
int64_t unitok_normalize(const unitok_normalizer *normalizer, const uint8_t *text, int64_t n_bytes,
                         int32_t compact, uint8_t *out, int64_t *norm_to_orig, int64_t capacity);

/* The state of a text that is normalized part by part. All zeros at its start. */
typedef struct unitok_normalize_state {
    int64_t n_held_bytes; /* spaces that are removed if the text ends here */
    /* set by the caller at the start: 1 for the verbatim form where both are available */
    int32_t is_verbatim;
    int32_t is_started; /* the dummy prefix has been written */
    int32_t is_after_space;
    int32_t is_ended; /* `last` was given, and everything has been written */
} unitok_normalize_state;

/* Normalizes text[*io_consumed..n_bytes-1] into out[0..result-1], advances *io_consumed, and
 * returns when the text is used up or less than unitok_normalizer_step_bytes of room is left.
 * n_bytes must be the end of the text (with `last` 1: call until state->is_ended) or a point
 * returned by unitok_normalize_split. Nothing after it is read, and the text before *io_consumed is
 * no longer needed. The form is compact if available, unless is_verbatim. Faster than
 * unitok_normalize, but without offsets. */
int64_t unitok_normalize_some(const unitok_normalizer *normalizer, unitok_normalize_state *state,
                              const uint8_t *text, int64_t n_bytes, int64_t *io_consumed,
                              int32_t last, uint8_t *out, int64_t capacity);

/* The room that unitok_normalize_some needs to make progress. */
int64_t unitok_normalizer_step_bytes(const unitok_normalizer *normalizer);

/* How much of an unfinished text can be normalized now: no key, symbol or character crosses the
 * result k, whatever follows text[n_bytes-1], so normalizing text[0..k) and then the rest, with the
 * same state, normalizes the whole. text[0] must be the start of the text or such a point. 0 only
 * if n_bytes is less than the longest key or symbol. */
int64_t unitok_normalize_split(const unitok_normalizer *normalizer, const uint8_t *text,
                               int64_t n_bytes);

/* 1 if the text is certainly in Unicode's form NFC, in every Unicode version from 13 on; 0 if
 * normalizing might change it, or if it is not valid UTF-8. Exact except for rare characters: see
 * nfc.c. O(n_bytes). */
int32_t unitok_nfc_is_sure(const uint8_t *text, int64_t n_bytes);

/* ---------------------------------------------------------------------------------- Encode ---- */

/* The working memory of one thread: the memo of segments already encoded, and buffers. Belongs to
 * the model it was made for, which must outlive it, and to one call at a time. NULL when memory is
 * short. */
typedef struct unitok_scratch unitok_scratch;
unitok_scratch *unitok_scratch_new(const unitok_model *model);
void unitok_scratch_free(unitok_scratch *scratch);
int64_t unitok_scratch_memory_bytes(const unitok_scratch *scratch);
/* Empties the memo: for measurements. */
void unitok_scratch_clear(unitok_scratch *scratch);

/* What the next part of a document continues from: the running sum of scores, the spaces held back.
 * All zero at the start of a document. */
typedef struct unitok_state {
    double sum;
    int64_t position; /* in the normalized text: samples depend on it */
    unitok_normalize_state normalize;
    int32_t last_unknown;
    int32_t last_byte;
} unitok_state;

/* A state as bytes, for a file: out[0..UNITOK_STATE_BYTES - 1], the same on every machine. */
#define UNITOK_STATE_BYTES 27
void unitok_state_save(const unitok_state *state, uint8_t *out);
/* Reads what unitok_state_save wrote. UNITOK_ERROR_FORMAT, and *ret unchanged, if the bytes are not
 * a valid state; a state that was read is safe to encode with. */
int32_t unitok_state_load(const uint8_t *bytes, int64_t n_bytes, unitok_state *ret,
                          unitok_error *error);

enum unitok_encode_flags {
    /* without cuts and memo: the same ids, slower; for tests and measurements */
    UNITOK_ENCODE_PLAIN = 1,
    /* the last document continues after this batch: it gets no eod */
    UNITOK_ENCODE_OPEN_END = 2,
    /* the first document continues the previous batch, from a point that unitok_split gave */
    UNITOK_ENCODE_OPEN_START = 4,
    UNITOK_ENCODE_PREPARED =
        8 /* documents are already normalized, and compact if the model is (info.is_compact): they
                                   * must be UTF-8. Needs room for 3 ids per byte if the model is compact. */
};

/* The room that an array needs beyond the ids themselves. For LONGEST and BytePiece, n_bytes +
 * UNITOK_ENCODE_SLACK is enough for n_bytes of text; other models may need more, where
 * normalization lengthens the text or characters become bytes. */
#define UNITOK_ENCODE_SLACK 16

/* Encodes one document into ids, uint16_t or uint32_t by info.id_bytes. Returns how many there are,
 * or
 *   -1   memory is short
 *   -2   `capacity` (in ids) may not be enough: try again with more
 *   -3   a part that cannot be cut is longer than 2^29 bytes (BPE, character and word models, samples)
 * O(n_bytes) on any bytes; BPE O(n log n) within a segment. */
int64_t unitok_encode(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                      int64_t n_bytes, void *ids, int64_t capacity);

/* Like unitok_encode, but needs neither a scratch nor unitok_model_complete: for the first short
 * texts of a model, at a speed of some MB/s. -2 also where n_bytes > UNITOK_FIRST_BYTES, or where
 * the model cannot do it: only BPE models of SentencePiece without unused pieces can, and only
 * those of unitok_model_new_later and load_later. May be called by any number of threads, also
 * while one completes the model. */
#define UNITOK_FIRST_BYTES 4096
int64_t unitok_encode_first(const unitok_model *model, const uint8_t *text, int64_t n_bytes,
                            void *ids, int64_t capacity);

/* Encodes a packed list of documents into a packed list of ids: id_offsets[0..n_docs],
 * id_offsets[0] = 0. Each document is followed by eod_id unless that is -1. flags are enum
 * unitok_encode_flags. `state` may be NULL if all documents are whole; OPEN_START reads it for the
 * first document, OPEN_END writes it after the last; an error leaves it unchanged.
 * UNITOK_ERROR_ROOM and UNITOK_ERROR_LENGTH: see -2 and -3 above. */
int32_t unitok_encode_batch(const unitok_model *model, unitok_scratch *scratch, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets,
                            unitok_error *error);

/* How to choose at random among the ways to divide a text into pieces. Unigram models have the
 * first three methods, BPE models the last. */
enum unitok_sample_method {
    /* any path, p ~ exp(alpha * score): SentencePiece's subword regularization */
    UNITOK_SAMPLE_LATTICE = 0,
    UNITOK_SAMPLE_NBEST = 1, /* one of the n_best best, p ~ exp(alpha * score) */
    /* BytePiece's Viterbi Sampling as first published; alpha > 0 */
    UNITOK_SAMPLE_VITERBI = 2,
    UNITOK_SAMPLE_DROPOUT = 3 /* BPE-dropout: each merge is skipped with probability alpha, 0..1 */
};

/* A sample depends only on the seed, the ordinal of the input and the number of the document in it.
 */
typedef struct unitok_sampling {
    int32_t method; /* an enum unitok_sample_method */
    int64_t n_best; /* 2..1024 */
    double alpha;
    uint64_t seed, input;
    /* the number of the first document; the others are numbered consecutively */
    uint64_t document;
    const int64_t *documents; /* NULL, or the number of each document instead */
} unitok_sampling;

/* Like unitok_encode_batch, but samples each document. UNITOK_ERROR_ARGUMENT if the model does not
 * have this method. NBEST and DROPOUT need whole documents. O(n_bytes * pieces that match at a
 * position); NBEST see nbest.h. */
int32_t unitok_sample_batch(const unitok_model *model, unitok_scratch *scratch,
                            const unitok_sampling *sampling, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets,
                            unitok_error *error);

/* A token and its place in the text. */
typedef struct unitok_span {
    int64_t id;
    int64_t begin, end; /* in the text, in bytes; SentencePiece's offsets */
    /* in the normalized text (unitok_normalize); a piece begins where the previous one ends */
    int64_t piece_end;
} unitok_span;

/* Encodes one document and returns the place of every token: spans[0..result-1]; -1, -2 and -3 as
 * unitok_encode. Slower, without memo, and with O(n_bytes) of memory. */
int64_t unitok_encode_spans(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                            int64_t n_bytes, unitok_span *spans, int64_t capacity);

/* Several ways to encode one document. */
typedef struct unitok_paths unitok_paths;
void unitok_paths_free(unitok_paths *paths);
int64_t unitok_paths_count(const unitok_paths *paths);
/* Path k, 0 <= k < count: its spans, owned by the list, its score, and as the result the number of
 * spans. */
int64_t unitok_paths_get(const unitok_paths *paths, int64_t k, const unitok_span **ret_spans,
                         double *ret_score);

/* The n best paths of a Unigram model, 1 <= n <= 1024, best first; fewer if there are fewer. The
 * same as sentencepiece's, including ties and scores (for n = 1 the score is 0).
 * UNITOK_ERROR_ARGUMENT for other kinds. */
int32_t unitok_nbest(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                     int64_t n_bytes, int64_t n, unitok_paths **ret, unitok_error *error);

enum unitok_sample_flags {
    UNITOK_SAMPLE_DISTINCT = 1, /* without replacement: fewer if there are fewer */
    /* the first is the best path, with score 0; only with DISTINCT */
    UNITOK_SAMPLE_INCLUDE_BEST = 2
};

/* n samples of p ~ exp(alpha * score) from a Unigram model. With replacement, a score is the
 * logarithm of p; without, that of the probability of being among those drawn (sampler.h, nbest.h).
 * Ignores the method of `sampling`. */
int32_t unitok_sample_paths(const unitok_model *model, unitok_scratch *scratch,
                            const unitok_sampling *sampling, const uint8_t *text, int64_t n_bytes,
                            int64_t n, int32_t flags, unitok_paths **ret, unitok_error *error);

/* The entropy of p ~ exp(alpha * score) over all paths of a Unigram model, in nats. */
int32_t unitok_entropy(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                       int64_t n_bytes, double alpha, double *ret, unitok_error *error);

/* How much of an unfinished document can be encoded now: with the result k, encoding text[0..k) and
 * then, with the state it leaves, the rest gives the ids of the whole document, whatever follows.
 * text[0] must be the start of the document or such a point. 0: nothing yet. For LONGEST, k > 0 if
 * n_bytes >= 2 * max_piece_bytes. */
int64_t unitok_split(const unitok_model *model, const uint8_t *text, int64_t n_bytes);

/* ---------------------------------------------------------------------------------- Decode ---- */

/* Decodes a packed list of ids into a packed list of bytes: byte_offsets[0..n_docs],
 * byte_offsets[0] = 0.
 *   drop_last      1: skip the last id of each document, whatever it is: its eod
 *   separator      n_separator_bytes bytes to write after each document
 *   out, capacity  if capacity is too small (0 to ask), nothing is written to out, and byte_offsets holds the sizes
 * byte_offsets[n_docs] is the size needed. An eod id without a piece decodes to nothing, a fallback
 * id to U+FFFD. Models that normalize decode as SentencePiece does (U+2581 to a space, byte pieces
 * to their bytes), without its denormalizer. UNITOK_ERROR_ID names the first id that is out of
 * range or has no piece. */
int32_t unitok_decode_batch(const unitok_model *model, const void *ids, const int64_t *id_offsets,
                            int64_t n_docs, int32_t drop_last, const uint8_t *separator,
                            int64_t n_separator_bytes, uint8_t *out, int64_t capacity,
                            int64_t *byte_offsets, unitok_error *error);

/* Decodes a few ids to out[0..capacity-1] and returns the size. -1: an id is out of range or has no
 * piece. -2: it does not fit. -3: a byte piece follows a control symbol or the unknown piece, so
 * that separate bytes would look like one character. */
int64_t unitok_decode(const unitok_model *model, const void *ids, int64_t n_ids, uint8_t *out,
                      int64_t capacity);

/* ------------------------------------------------------------------------------------------
 * Documents ---- */

/* Splits text into documents at a separator and removes the separators, in place.
 * text[0..n_bytes-1] becomes the documents laid end to end; offsets[0..result] are their bounds
 * (offsets[0] = 0), and offsets has room for max_docs +
 * 1. The last document is what follows the last separator found, and may be empty. After max_docs -
 * 1 separators the search stops: *ret_n_consumed is how much of the input was read (n_bytes unless
 * it stopped); the rest is not moved. Returns the number of documents, at least 1; max_docs >= 2,
 * n_separator_bytes >= 1. O(n_bytes) for any separator. */
int64_t unitok_split_documents(uint8_t *text, int64_t n_bytes, const uint8_t *separator,
                               int64_t n_separator_bytes, int64_t *offsets, int64_t max_docs,
                               int64_t *ret_n_consumed);

/* ------------------------------------------------------------------------------------------ JSON
 * lines ---- */

/* What is wrong with a line. */
enum unitok_json_error {
    UNITOK_JSON_OK = 0,
    UNITOK_JSON_LINE_ENDS = 1,   /* the line ends inside its object */
    UNITOK_JSON_STRING_ENDS = 2, /* the line ends inside a string */
    UNITOK_JSON_CONTROL = 3,     /* a control character in a string is not escaped */
    UNITOK_JSON_ESCAPE = 4,      /* a backslash begins no escape */
    UNITOK_JSON_VALUE = 5,       /* no value begins here */
    UNITOK_JSON_NUMBER = 6,      /* a digit is missing */
    UNITOK_JSON_KEY = 7,         /* a name in quotes is missing */
    UNITOK_JSON_COLON = 8,       /* a colon is missing after a name */
    UNITOK_JSON_COMMA = 9,       /* a comma or closing bracket is missing after a value */
    UNITOK_JSON_TRAILING = 10,   /* something follows the object */
    UNITOK_JSON_DEPTH = 11,      /* more than 512 objects and arrays in one another */
    UNITOK_JSON_NO_OBJECT = 12,  /* the line does not begin with { */
    /* the line is JSON, but: */
    UNITOK_JSON_MISSING = 13,    /* it has no text; no byte is at fault */
    UNITOK_JSON_NOT_STRING = 14, /* what has the last name is not a string */
    UNITOK_JSON_NOT_OBJECT = 15, /* what has name `detail` of the path is not an object */
    UNITOK_JSON_SURROGATE = 16,  /* the text has surrogate `detail`, which has no UTF-8 */
    UNITOK_JSON_UTF8 = 17,       /* the text is not UTF-8 */
    UNITOK_JSON_TOO_LONG = 18    /* it has more than max_line_bytes; no byte is at fault */
};

/* How far lines have been read: zero to begin with.
 *
 * at        the first byte of the next line; n_bytes when all have been read n_lines   before it,
 * blank ones among them n_docs    texts found in them error     what is wrong with the line at
 * `at`, if anything is, error_at bytes from its start, or -1
 */
typedef struct unitok_json_place {
    int64_t at;
    int64_t n_lines;
    int64_t n_docs;
    int64_t error_at;
    int32_t error;
    int32_t detail;
} unitok_json_place;

/* Reads one string of each line of lines[0..n_bytes-1] as UTF-8 into a packed list: the member of
 * the name names[name_offsets[n_names-1]..] in the object of the name before, and so on outwards,
 * n_names >= 1, to the object that is the line. Of several members of one name the last counts.
 * Lines of white space have no text; the last line may lack its newline; a newline is nowhere else.
 * Bytes of other strings are not checked to be UTF-8, and surrogates without their other half may
 * be escaped there. NaN, Infinity and -Infinity are values.
 *
 * Continues at *place until everything is read, or max_docs texts are, or a line is wrong. If
 * place->error is set, the next call skips the wrong line. Returns 1 once everything is read. out
 * has room for n_bytes, offsets for max_docs + 1; neither overlaps lines. O(n_bytes). */
int32_t unitok_json_read(int32_t cpu, const uint8_t *lines, int64_t n_bytes, const uint8_t *names,
                         const int64_t *name_offsets, int64_t n_names, int64_t max_line_bytes,
                         uint8_t *out, int64_t *offsets, int64_t max_docs,
                         unitok_json_place *place);

/* Counts lines: ret->n_docs of them have a text or are wrong, the others are blank; ret->at is
 * where the last one ends. What follows the last newline is a line if at_end, else it is left out.
 * O(n_bytes). */
void unitok_json_count(const uint8_t *lines, int64_t n_bytes, int64_t max_line_bytes,
                       int32_t at_end, unitok_json_place *ret);

/* ------------------------------------------------------------------------------------------ Suffix
 * sorting ---- */

/* Suffix arrays of texts of uint8, uint16 or uint32 symbols, by induced sorting: linear time on
 * every text. The array lists where the suffixes begin, smallest first; they compare symbol by
 * symbol as numbers, and a suffix that begins another one is the smaller. Sorting is divided into
 * steps, so that the caller can show progress and stop:
 *
 *     unitok_suffix_new(...);  while (unitok_suffix_progress(s) < 1) unitok_suffix_step(s, budget, &error);
 */
typedef struct unitok_suffix unitok_suffix;

/* The longest text with positions of 4 bytes: the sorter needs their top bit. */
#define UNITOK_SUFFIX_MAX_32 2147483647

/* Begins to sort text[0..n-1] into sa[0..n-1]. Both stay the caller's and must outlive the sorter;
 * the text must not change. sa need not be initialised, and is not a suffix array before all steps
 * are done.
 *   symbol_bytes    1, 2 or 4
 *   n_symbols       symbol_bytes 4: all symbols are below this, at most 2^31; otherwise not read
 *   position_bytes  4 (n <= UNITOK_SUFFIX_MAX_32) or 8
 * Memory besides the two arrays: 8 positions a symbol (2 MiB for uint16, with positions of 4 bytes)
 * and a bit or two a symbol of text. Only where nearly every other suffix is smaller than its
 * neighbours, and most of these occur in several contexts, up to 0.4 * n positions more. */
int32_t unitok_suffix_new(const void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                          void *sa, int32_t position_bytes, unitok_suffix **ret,
                          unitok_error *error);

/* Sorts on: `budget` suffixes are looked at, 10 to 60 million a second. After a failure the sorter
 * can only be freed: UNITOK_ERROR_MEMORY, or UNITOK_ERROR_ARGUMENT where text[position] is not
 * below n_symbols. */
int32_t unitok_suffix_step(unitok_suffix *suffix, int64_t budget, unitok_error *error);

/* How much is done, by time: below 1 until sa is complete, then exactly 1. */
double unitok_suffix_progress(const unitok_suffix *suffix);
void unitok_suffix_free(unitok_suffix *suffix);

/* text[i] becomes rank[text[i]] (rank NULL: itself), and counts[0..65535] grow by how often each of
 * these occurs. */
void unitok_suffix_rank(uint16_t *text, int64_t n, const uint16_t *rank, uint64_t *counts);

/* Common prefixes, in three steps, each of which may be divided into ranges begin..end-1 (0 <=
 * begin <= end <= n):
 *   1. unitok_suffix_phi      phi[sa[r]] = sa[r - 1], and n for r = 0; phi[0..n-1] must hold n before. Returns -1, or the
 *                             first r whose sa[r] is not below n
 *   2. unitok_suffix_plcp     phi[i] becomes the number of symbols that suffix i has in common with suffix phi[i], in
 *                             order of i. `common` is 0 at first, then what the call before returned
 *   3. the caller             lcp[r] = phi[sa[r]]
 * O(n) in all. Any sa is safe. */
int64_t unitok_suffix_phi(const void *sa, int64_t n, int32_t position_bytes, void *phi,
                          int64_t begin, int64_t end);
int64_t unitok_suffix_plcp(const void *text, int64_t n, int32_t symbol_bytes, void *phi,
                           int32_t position_bytes, int64_t begin, int64_t end, int64_t common);

/* Whether sa[0..n-1] is the suffix array of text[0..n-1], in ranges as above, in order: -1, or the
 * first r where it turns out not to be. Any sa is safe.
 *   rank    NULL, or uint16[65536] with symbol_bytes 2: suffixes compare by rank[symbol]
 *   starts  [0..n_symbols]: starts[c] suffixes begin with a symbol (a rank) below c; not decreasing, at most n
 *   heads   [0..n_symbols-1]: a copy of starts at first; the calls keep it
 * Reads the text in random order, and no more memory than this. */
int64_t unitok_suffix_check(const void *text, int64_t n, int32_t symbol_bytes, const uint16_t *rank,
                            int64_t n_symbols, const void *sa, int32_t position_bytes,
                            const uint64_t *starts, uint64_t *heads, int64_t begin, int64_t end);

/* ---------------------------------------------------------------------------------- Search ---- */

/* A shard of an index: tokens, their suffix array, and the small tables that go with it. The caller
 * keeps all arrays alive; nothing is ever written. Searches may run in any number of threads. The
 * contents of the arrays may be hostile once unitok_search_check has passed: answers are then
 * wrong, but nothing outside the arrays is read. */
typedef struct unitok_search_shard {
    int64_t n;           /* tokens, less than 2^32 */
    const uint16_t *ids; /* [0..n-1] */
    /* [0..n-1]: where the r-th smallest suffix begins, by `rank`, the shorter one first */
    const uint32_t *sa;
    const uint64_t *first; /* [0..65536]: first[k] suffixes begin with a token of rank < k */
    const uint8_t *
        top; /* [0..n_top-1] records of 20 bytes, one for every 4,096th suffix: its position (u32) and the ranks
                            * of its first 8 tokens (u16). NULL with n_top 0: slower */
    int64_t n_top;
    /* [0..n-1]: the token before each suffix; NULL: slower for texts that begin inside a token */
    const uint16_t *left;
    const uint16_t *rank; /* [0..65535]: of each id, a permutation */
    /* [0..n_documents-1]: where each document ends, exclusive, plus `begin` */
    const uint64_t *ends;
    int64_t n_documents;
    uint64_t begin;
    int32_t eod; /* the last token of every document, or -1 */
    /* of unitok_search_inside; NULL: slower for texts of one or two bytes */
    const uint64_t *inside;
} unitok_search_shard;

/* UNITOK_ERROR_ARGUMENT where a size is out of range or `first` is not a list of bucket starts.
 * Call it before anything else. */
int32_t unitok_search_check(const unitok_search_shard *shard, unitok_error *error);

/* The suffixes that begin with ids[begins[q]..ends[q]), for each of n_queries: [lo[q], hi[q]) in
 * `sa`; their number is how often the sequence occurs. An empty sequence: all. Sequences may
 * overlap in ids. O(log n) cache misses each. */
void unitok_search_tokens(const unitok_search_shard *shard, const uint16_t *ids,
                          const int64_t *begins, const int64_t *ends, int64_t n_queries,
                          int64_t *lo, int64_t *hi);

/* The distinct tokens after the first `depth` tokens of the suffixes [lo, hi), which share these,
 * in the order of their ranks, and how often each follows. Returns how many there are; writes the
 * first `capacity`. O(distinct * log n). */
int64_t unitok_search_next(const unitok_search_shard *shard, int64_t lo, int64_t hi, int64_t depth,
                           uint16_t *ids, int64_t *counts, int64_t capacity);

/* Adds to counts[0..65535] how often each token stands before the suffixes [lo, hi). O(hi - lo),
 * sequential with `left`. */
void unitok_search_previous(const unitok_search_shard *shard, int64_t lo, int64_t hi,
                            int64_t *counts);

/* The sequences of n_tokens tokens that occur at least min_count times, in the order of the suffix
 * array: where one occurrence begins, and how many there are. Reads about n_suffixes suffixes from
 * *io_rank on and moves that on; done when it is n. Returns how many it wrote, at most `capacity`
 * (at least 1). */
int64_t unitok_search_ngrams(const unitok_search_shard *shard, int64_t n_tokens, int64_t min_count,
                             int64_t n_suffixes, int64_t *io_rank, uint32_t *positions,
                             int64_t *counts, int64_t capacity);

/* ret[k] = the sum of sizes[id] over ids[begins[k]..ends[k]); sizes has an entry for every id there
 * is in ids. */
void unitok_search_sizes(const uint16_t *ids, const uint32_t *sizes, const int64_t *begins,
                         const int64_t *ends, int64_t n, int64_t *ret);

/* The bytes that each id stands for, sorted: what it takes to search for text. Immutable, shared by
 * shards and threads. */
typedef struct unitok_search_pieces unitok_search_pieces;

/* Builds one.
 *   data, offsets[0..n_ids]  the bytes of ids 0..n_ids-1, n_ids <= 65536; an id without bytes matches nothing
 *   drops_space[0..n_ids-1]  1: decoding drops the first byte, a space, of this id at the start of a document
 *   rank[0..65535]           as in the shards. Fastest where it rises by one from piece to piece in byte order
 *   order                    the suffix array of the pieces as symbols byte + 1, each followed by a 0: as many entries as
 *                            there are bytes and ids
 * Nothing passed in is kept. Memory: some 6 bytes a byte of pieces and 0.5 MB. */
int32_t unitok_search_pieces_new(const uint8_t *data, const int64_t *offsets,
                                 const uint8_t *drops_space, int64_t n_ids, const uint16_t *rank,
                                 const uint32_t *order, unitok_search_pieces **ret,
                                 unitok_error *error);
void unitok_search_pieces_free(unitok_search_pieces *pieces);
int64_t unitok_search_pieces_memory_bytes(const unitok_search_pieces *pieces);

/* Fills sums[0..n], n = unitok_search_inside_sums, for shard.inside. Some ms. */
#define UNITOK_SEARCH_INSIDE_STEP 64
int64_t unitok_search_inside_sums(const unitok_search_pieces *pieces);
void unitok_search_inside(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                          uint64_t *sums);

#define UNITOK_SEARCH_TEXT_MAX 1073741824

/* Counts texts data[offsets[k]..offsets[k + 1]), k < n, in the documents of a shard, whatever
 * tokens they lie in: inside of one, across several, from and to the middle of one; overlapping
 * occurrences too, and none across documents. counts[k] is exact unless is_approx[k] is set: then
 * the work came to max_work (about a nanosecond a unit) and it is a lower bound. The empty text
 * counts as 0. Typically O(tokens of the text * log n) cache misses. UNITOK_ERROR_MEMORY. */
int32_t unitok_search_count(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                            const uint8_t *data, const int64_t *offsets, int64_t n,
                            int64_t max_work, int64_t *counts, uint8_t *is_approx,
                            unitok_error *error);

/* Occurrences of a text: for each r of lo..hi-1 one that begins `back` tokens before the suffix
 * sa[r], `skip` bytes into that token. */
typedef struct unitok_search_run {
    int64_t lo, hi;
    int32_t back, skip;
} unitok_search_run;

/* Like unitok_search_count, but says where: (*ret)[0..*ret_n-1], for unitok_search_runs_free. Stops
 * when there are max_hits or more. Each occurrence is in one run; equal calls give equal runs. */
int32_t unitok_search_find(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                           const uint8_t *text, int64_t n_bytes, int64_t max_hits, int64_t max_work,
                           unitok_search_run **ret, int64_t *ret_n, uint8_t *is_approx,
                           unitok_error *error);
void unitok_search_runs_free(unitok_search_run *runs);

/* Where occurrences of n_bytes bytes end that begin skips[k] bytes into token tokens[k]: in token
 * last[k], whose first used[k] bytes, at least one, are part of it. */
void unitok_search_ends(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                        const int64_t *tokens, const int64_t *skips, int64_t n_hits,
                        int64_t n_bytes, int64_t *last, int64_t *used);

/* A hit whose surroundings are wanted: n_bytes bytes of decoded text from byte `skip` of token
 * `token` on, in a document of the tokens begin..end-1; decoding drops the first `dropped` bytes of
 * that document. */
typedef struct unitok_search_hit {
    int64_t token, skip, n_bytes, begin, end, dropped;
} unitok_search_hit;

/* Writes for each hit up to `before` characters that precede it in its document, the hit, and up to
 * `after` characters that follow it: out[bounds[3k]..bounds[3k + 1]), ..bounds[3k + 2]),
 * ..bounds[3k + 3]). Only the hit itself can begin or end within a character.
 *   data, offsets[0..65536]  what each id adds to a decoded document
 *   hits[0..n_hits-1]        0 <= begin <= token <= end, all of begin..end-1 in ids; other fields >= 0
 *   out                      room for the sum of n_bytes, and 4 * (before + after) bytes for each hit
 *   bounds[0..3 * n_hits]  */
void unitok_search_contexts(const uint16_t *ids, const uint8_t *data, const int64_t *offsets,
                            const unitok_search_hit *hits, int64_t n_hits, int64_t before,
                            int64_t after, uint8_t *out, int64_t *bounds);

/* Finds every sequence of n_tokens tokens that occurs more than once within documents, in all
 * shards together. */
typedef struct unitok_repeats unitok_repeats;

/* Suffixes lo..hi-1 of a shard begin with the same n_tokens tokens, and `count` times these occur
 * in all; the first time, by the order of shards and of their tokens, at first_position of
 * first_shard. */
typedef struct unitok_repeat {
    int64_t lo, hi, count;
    int32_t shard, first_shard;
    uint32_t first_position;
} unitok_repeat;

/* `shards[0..n_shards-1]`, all of one rank, stay the caller's and must outlive it. n_tokens >= 1.
 */
int32_t unitok_repeats_new(const unitok_search_shard *const *shards, int32_t n_shards,
                           int64_t n_tokens, unitok_repeats **ret, unitok_error *error);
/* Passes about n_suffixes more suffixes and writes what it finds to out[0..capacity-1], capacity >=
 * n_shards: how many. *ret_done: suffixes passed so far; it has finished when these are all. Some
 * million suffixes a second. */
int64_t unitok_repeats_step(unitok_repeats *repeats, int64_t n_suffixes, unitok_repeat *out,
                            int64_t capacity, int64_t *ret_done);
void unitok_repeats_free(unitok_repeats *repeats);
/* Writes records of one shard, the `number`-th, down at the tokens where such a sequence begins:
 * counts[position] and later[position], 1 unless it is the first occurrence or overlaps it. Both
 * [0..n-1], zero before. */
void unitok_repeats_mark(const unitok_search_shard *shard, int32_t number, int64_t n_tokens,
                         const unitok_repeat *records, int64_t n, uint32_t *counts, uint8_t *later);

/* ------------------------------------------------------------------------------------------
 * HAT-trie ---- */

/* A growable ordered map from byte strings to int64: a burst trie over array hashes (Askitis and
 * Sinha, "HAT-trie: a cache-conscious trie-based data structure for strings", 2007). Keys may be
 * empty and may contain any byte; they have at most UNITOK_HAT_KEY_MAX_BYTES. Not safe for
 * concurrent writers. */
typedef struct unitok_hat unitok_hat;
typedef struct unitok_hat_walk unitok_hat_walk;

#define UNITOK_HAT_KEY_MAX_BYTES 1048576

enum unitok_hat_mode {
    UNITOK_HAT_SET = 0, /* an existing key gets the new value */
    UNITOK_HAT_ADD = 1, /* the value is added to that of an existing key (wraps as uint64) */
    /* an existing key is UNITOK_ERROR_ARGUMENT, `item` its index; the keys before it stay */
    UNITOK_HAT_UNIQUE = 2
};

int32_t unitok_hat_new(unitok_hat **ret, unitok_error *error);
void unitok_hat_free(unitok_hat *hat);
int64_t unitok_hat_count(const unitok_hat *hat);
/* All memory that the trie holds. */
int64_t unitok_hat_memory_bytes(const unitok_hat *hat);

/* Inserts keys data, offsets[0..n_keys] with values[0..n_keys-1]. After UNITOK_ERROR_MEMORY the
 * keys before `item` have been inserted, the others have not, and the trie is still valid.
 * Amortised O(key bytes). */
int32_t unitok_hat_insert(unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                          const int64_t *values, int64_t n_keys, int32_t mode, unitok_error *error);

/* Sets values[i] to the value of key i and found[i] to 1, or both to 0. Returns how many were
 * found. */
int64_t unitok_hat_find(const unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                        int64_t n_keys, int64_t *values, uint8_t *found);

/* Removes the keys; returns how many were found. The trie may keep their memory. */
int64_t unitok_hat_erase(unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                         int64_t n_keys);

/* The longest key that text[0..n_bytes-1] begins with: its length and *ret_value; -1 if there is
 * none. The empty key counts. */
int64_t unitok_hat_longest_prefix(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes,
                                  int64_t *ret_value);

/* All keys that the text begins with, shortest first: lengths[k], values[k] for the first
 * `capacity`. Returns how many there are. */
int64_t unitok_hat_prefixes(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes,
                            int64_t *lengths, int64_t *values, int64_t capacity);

/* Iterates over the keys that begin with prefix[0..n_prefix_bytes-1] in byte order. The trie must
 * not change meanwhile. */
int32_t unitok_hat_walk_new(const unitok_hat *hat, const uint8_t *prefix, int64_t n_prefix_bytes,
                            unitok_hat_walk **ret, unitok_error *error);
/* The next keys, whole, as a packed list: data[0..capacity-1], offsets[0..result],
 * values[0..result-1]; at most max_keys, which is at least 1. Returns 0 at the end; -1 if the next
 * key alone does not fit (call again with UNITOK_HAT_KEY_MAX_BYTES of room); -2 if memory is short.
 * After -1 and -2 the walk has not moved. */
int64_t unitok_hat_walk_next(unitok_hat_walk *walk, uint8_t *data, int64_t capacity,
                             int64_t *offsets, int64_t *values, int64_t max_keys);
void unitok_hat_walk_free(unitok_hat_walk *walk);

/* ------------------------------------------------------------------------------------------
 * Training ---- */

/* A trainer works on units: stretches of text that no piece crosses, each with how often it occurs.
 * From lines to pieces:
 *
 *     lines ──segmenter──▶ counter ──export──▶ units ──fold (rare characters)──▶ units ──▶ seeds, EM, merges ──▶ pieces
 *
 * All counts are 64 bits wide. Units are packed lists with counts[0..n-1]. */

/* Which strings may be pieces; the names are spm_train's. */
enum unitok_rule_flags {
    UNITOK_RULE_SPLIT_BY_WHITESPACE = 1,
    UNITOK_RULE_WHITESPACE_AS_SUFFIX = 2,
    UNITOK_RULE_WHITESPACE_ONLY = 4,
    UNITOK_RULE_SPLIT_BY_SCRIPT = 8,
    UNITOK_RULE_SPLIT_BY_NUMBER = 16,
    UNITOK_RULE_SPLIT_DIGITS = 32,
    /* A character stands for a byte, as in GPT-2: '!' to '~', U+00A1 to U+00AC and U+00AE to
     * U+00FF for that number, U+0100 and those after it for the other bytes in turn. The other
     * rules hold for what the bytes spell, in which spaces are spaces; a piece may also be a
     * part of one character. max_chars is at most 512. */
    UNITOK_RULE_BYTE_LEVEL = 64
};
#define UNITOK_RULES_ALL 127

/* Immutable; 1.1 MB. */
typedef struct unitok_rules unitok_rules;
int32_t unitok_rules_new(int32_t flags, int32_t max_chars, unitok_rules **ret, unitok_error *error);
void unitok_rules_free(unitok_rules *rules);
/* Whether these bytes may be a piece; 0 if they are invalid UTF-8. */
int32_t unitok_rules_allow(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes);

/* Counts byte strings of at most UNITOK_KEY_MAX_BYTES; an ordered one is a list that merges
 * nothing. One thread at a time. */
typedef struct unitok_counter unitok_counter;
#define UNITOK_KEY_MAX_BYTES 2147483647
int32_t unitok_counter_new(int32_t is_ordered, unitok_counter **ret, unitok_error *error);
void unitok_counter_free(unitok_counter *counter);
void unitok_counter_clear(unitok_counter *counter);
int64_t unitok_counter_count(const unitok_counter *counter);
int64_t unitok_counter_key_bytes(const unitok_counter *counter);
int64_t unitok_counter_memory_bytes(const unitok_counter *counter);
/* Adds counts[i] (NULL: 1) to key i. After UNITOK_ERROR_MEMORY the keys before `item` are counted.
 */
int32_t unitok_counter_add(unitok_counter *counter, const uint8_t *data, const int64_t *offsets,
                           const uint64_t *counts, int64_t n_keys, unitok_error *error);
/* Takes over the counts of those of other's keys begin..end-1 that are in this counter, too; they
 * are 0 in the other one then. Neither was sorted. Several threads may do so for different keys of
 * one other counter. */
int32_t unitok_counter_absorb(unitok_counter *counter, unitok_counter *other, int64_t begin,
                              int64_t end, unitok_error *error);
void unitok_counter_drop_absorbed(unitok_counter *counter); /* and all keys of count 0 */
/* Sorts the keys by their bytes. Takes 16 bytes a key beside the counter. */
int32_t unitok_counter_sort(unitok_counter *counter, unitok_error *error);
/* Copies the keys and counts of entries begin..end-1 of those there are out: data[0..part_bytes-1],
 * offsets[0..end-begin], counts[0..end-begin-1]; sorted if they were sorted last, else in the order
 * in which they were first seen. part_bytes() is the size of their keys. */
int64_t unitok_counter_part_bytes(const unitok_counter *counter, int64_t begin, int64_t end);
void unitok_counter_export(const unitok_counter *counter, int64_t begin, int64_t end, uint8_t *data,
                           int64_t *offsets, uint64_t *counts);

enum unitok_segment_flags {
    /* cut wherever the rules let no piece cross; else only at spaces, if the rules split there */
    UNITOK_SEGMENT_CUT = 1,
    /* a unit is followed by 0xFF and what comes next: see csrc/train/segment.h */
    UNITOK_SEGMENT_FOLLOWERS = 2,
    UNITOK_SEGMENT_TSV = 4,  /* a line is a text, a tab and a count */
    UNITOK_SEGMENT_WHOLE = 8 /* a document is one line, newlines included */
};

typedef struct unitok_segment_spec {
    /* NULL: lines are normalized already; they must be valid UTF-8 */
    const unitok_normalizer *normalizer;
    const unitok_rules *rules;
    unitok_counter *counter;
    int32_t flags;          /* of enum unitok_segment_flags */
    int64_t max_line_bytes; /* longer lines are left out and counted; at most 2^28 - 1 */
    /* what becomes a boundary (U+001F): a packed list sorted by bytes, none empty, none twice */
    const uint8_t *symbols;
    const int64_t *symbol_offsets;
    int64_t n_symbols;
    const uint8_t *delimiter; /* becomes a boundary, too */
    int64_t n_delimiter_bytes;
} unitok_segment_spec;

typedef struct unitok_segment_stats {
    int64_t n_bytes;    /* read */
    int64_t n_lines;    /* counted, n_empty included */
    int64_t n_empty;    /* nothing was left of them after normalization */
    int64_t n_too_long; /* over max_line_bytes */
    int64_t n_too_long_bytes;
    int64_t n_reserved;   /* with U+2585 in them, which stands for unknown characters */
    int64_t memory_bytes; /* the segmenter's own */
} unitok_segment_stats;

/* Cuts lines into units and counts them. It keeps pointers to the normalizer, the rules and the
 * counter, which must outlive it, and copies the rest. One thread at a time. */
typedef struct unitok_segmenter unitok_segmenter;
int32_t unitok_segmenter_new(const unitok_segment_spec *spec, unitok_segmenter **ret,
                             unitok_error *error);
void unitok_segmenter_free(unitok_segmenter *segmenter);
/* Counts the lines of a packed list of documents. UNITOK_ERROR_FORMAT: `item` and `position` say
 * where a line is wrong. */
int32_t unitok_segmenter_add(unitok_segmenter *segmenter, const uint8_t *data,
                             const int64_t *offsets, int64_t n_docs, unitok_error *error);
/* A segmenter holds counts of frequent units back; this hands them over to the counter. */
int32_t unitok_segmenter_flush(unitok_segmenter *segmenter, unitok_error *error);
/* After the last line: flush(), and with FOLLOWERS counts the units that waited for the next line.
 */
int32_t unitok_segmenter_finish(unitok_segmenter *segmenter, unitok_error *error);
void unitok_segmenter_get_stats(const unitok_segmenter *segmenter, unitok_segment_stats *ret);

/* Adds counts[i] to by_char[c] for every character c of unit i, up to 0xFF if there is one:
 * by_char[0..0x10FFFF]. */
int32_t unitok_units_count_chars(const uint8_t *data, const int64_t *offsets,
                                 const uint64_t *counts, int64_t n_units, uint64_t *by_char,
                                 unitok_error *error);

enum unitok_fold {
    UNITOK_FOLD_WHOLE = 0, /* units stay whole; what follows an 0xFF is replaced, too */
    UNITOK_FOLD_CUT = 1,   /* units are cut at what no piece can hold, which is left out */
    /* units end at an 0xFF; copies of an ordered counter are added up: csrc/train/segment.h */
    UNITOK_FOLD_STRIP = 2
};

/* Copies n strings, data[starts[i]..] of offsets[i + 1] - offsets[i] bytes each, to
 * ret[offsets[i]..]. */
void unitok_gather(const uint8_t *data, const int64_t *starts, const int64_t *offsets, int64_t n,
                   uint8_t *ret);

/* Replaces every character c with keep[c] == 0 by U+2585 and recounts the units in `counter`:
 * keep[0..0x10FFFF], or NULL to keep all. Units of count 0 are left out. */
int32_t unitok_units_fold(const uint8_t *data, const int64_t *offsets, const uint64_t *counts,
                          int64_t n_units, const uint8_t *keep, int32_t fold,
                          unitok_counter *counter, unitok_error *error);

/* Like unitok_units_fold with UNITOK_FOLD_CUT, but only units that change, and those of count 0,
 * are taken out: their parts are counted in `counter`. The other units are moved together, in their
 * order; *ret_n_left of them are left. */
int32_t unitok_units_fold_out(uint8_t *data, int64_t *offsets, uint64_t *counts, int64_t n_units,
                              const uint8_t *keep, unitok_counter *counter, int64_t *ret_n_left,
                              unitok_error *error);

/* Merges two lists of units, each sorted by bytes and none twice in one: into data[0..bytes of both
 * - 1], offsets[0..n_a + n_b], counts[0..n_a + n_b - 1]. Returns how many units that makes; counts
 * of equal ones are added. */
int64_t unitok_units_merge(const uint8_t *data_a, const int64_t *offsets_a,
                           const uint64_t *counts_a, int64_t n_a, const uint8_t *data_b,
                           const int64_t *offsets_b, const uint64_t *counts_b, int64_t n_b,
                           uint8_t *data, int64_t *offsets, uint64_t *counts);

/* shares[i] = log(counts[i]) - log(sum), in float32 throughout. */
void unitok_log_shares(const uint64_t *counts, int64_t n, uint64_t sum, float *shares);

/* Byte-pair encoding over characters, as sentencepiece 0.2.3 trains it: the pair that occurs most
 * often is merged, of several the one with fewer characters, then with the smaller bytes. What is
 * merged depends neither on the order of the units, nor on whether a unit is given once or in
 * several places, nor on n_workers.
 *
 * A trainer is always in one of two states:
 *   is_shared  each worker 0..n_workers-1 calls work(worker) until it is done; the workers may do so in threads of their
 *              own, all at once. Then one thread calls join().
 *   otherwise  one thread calls resume(), step() and whatever asks
 *
 *     unitok_bpe_trainer_new(...);
 *     while (unitok_bpe_trainer_is_shared(t)) { for each worker: unitok_bpe_trainer_work(t, worker, ...);
 *                                               unitok_bpe_trainer_join(t, &error); }    units are no longer needed
 *     do { share as above; n = unitok_bpe_trainer_step(t, ...); } while (n < n_pieces && !is_done);
 *
 * Units must be valid UTF-8 and stay unchanged until they are no longer needed; those of count 0
 * are left out. keep, which is needed as long: a character c with keep[c] == 0 ends a unit and
 * belongs to none: keep[0..0x10FFFF], or NULL to keep all. After an error the trainer is of no use.
 */
typedef struct unitok_bpe_trainer unitok_bpe_trainer;
int32_t unitok_bpe_trainer_new(const unitok_rules *rules, const uint8_t *data,
                               const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                               const uint8_t *keep, int32_t n_workers, unitok_bpe_trainer **ret,
                               unitok_error *error);
void unitok_bpe_trainer_free(unitok_bpe_trainer *trainer);
int64_t unitok_bpe_trainer_memory_bytes(const unitok_bpe_trainer *trainer);
int32_t unitok_bpe_trainer_is_shared(const unitok_bpe_trainer *trainer);
/* Part of a worker's share, max_work characters or so. *ret_is_done is 1 when there is no more of
 * it. */
int32_t unitok_bpe_trainer_work(unitok_bpe_trainer *trainer, int32_t worker, int64_t max_work,
                                int32_t *ret_is_done, unitok_error *error);
int32_t unitok_bpe_trainer_join(unitok_bpe_trainer *trainer, unitok_error *error);
/* Merges on until there are n_pieces, or max_work positions were looked at, or no pair occurs
 * min_count times, or there is work to share. Returns the number of pieces so far; *ret_is_done is
 * 1 if no more can come. -1 when memory is short: the trainer is of no use then. */
int64_t unitok_bpe_trainer_step(unitok_bpe_trainer *trainer, int64_t n_pieces, uint64_t min_count,
                                int64_t max_work, int32_t *ret_is_done);
/* Merges begin..end-1: symbols[0..2*(end-begin)-1], left and right of each, and
 * counts[0..end-begin-1]. */
void unitok_bpe_trainer_merges(const unitok_bpe_trainer *trainer, int64_t begin, int64_t end,
                               uint32_t *symbols, uint64_t *counts);
/* Before the first step: resume after these merges, all that another trainer of the same rules and
 * units had made. The next steps repeat them, which takes a small part of the time. After an error
 * the trainer is of no use. */
int32_t unitok_bpe_trainer_resume(unitok_bpe_trainer *trainer, const uint32_t *symbols,
                                  const uint64_t *counts, int64_t n, unitok_error *error);
/* Pieces begin..end-1 in the order of their merges: offsets[0..end-begin], counts[0..end-begin-1].
 * Returns the bytes needed; copies nothing if that is over capacity. */
int64_t unitok_bpe_trainer_pieces(const unitok_bpe_trainer *trainer, int64_t begin, int64_t end,
                                  uint8_t *data, int64_t capacity, int64_t *offsets,
                                  uint64_t *counts);

/* The strings that a Unigram model starts from: those that repeat in the units and may be pieces of
 * two characters or more, each with how often it occurs. See csrc/train/seeds.c. The units are
 * copied.
 *   is_compatible   those of sentencepiece 0.2.3, from units that carry what follows them (UNITOK_SEGMENT_FOLLOWERS)
 *
 *     unitok_seeds_new(...);  while (unitok_seeds_progress(seeds) < 1) unitok_seeds_step(seeds, budget, &error);
 *     in each thread: unitok_seed_finder_new(...); some of the parts: unitok_seed_finder_add(finder, part, &error);
 *     for each finder: unitok_seed_finder_finish(finder, counter, &error);
 *     unless compatible: unitok_seeds_leaves(...) until it is done
 *
 * Memory: 5 bytes a byte of units, 4 of which only where a character begins; in a finder 32 bytes
 * for each suffix that begins with the most frequent two bytes or character, and 48 to 96 for each
 * of max_seeds. */
typedef struct unitok_seeds unitok_seeds;
int32_t unitok_seeds_new(const unitok_rules *rules, const uint8_t *data, const int64_t *offsets,
                         const uint64_t *counts, int64_t n_units, int32_t is_compatible,
                         unitok_seeds **ret, unitok_error *error);
int32_t unitok_seeds_step(unitok_seeds *seeds, int64_t budget, unitok_error *error);
double unitok_seeds_progress(const unitok_seeds *seeds);
/* How many there are, once progress is 1. A part is a quarter of a million suffixes, or one bucket
 * of seeds.h. */
int64_t unitok_seeds_parts(const unitok_seeds *seeds);

/* Finds what repeats in parts, each of them given to one finder; finish() adds it to a counter. For
 * one thread at a time; the seeds must outlive it.
 *   max_seeds  all that are among the best of so many, by count times characters, are found, and maybe others; 0: all */
typedef struct unitok_seed_finder unitok_seed_finder;
int32_t unitok_seed_finder_new(const unitok_seeds *seeds, int64_t max_seeds,
                               unitok_seed_finder **ret, unitok_error *error);
void unitok_seed_finder_free(unitok_seed_finder *finder);
int32_t unitok_seed_finder_add(unitok_seed_finder *finder, int64_t part, unitok_error *error);
int32_t unitok_seed_finder_finish(unitok_seed_finder *finder, unitok_counter *counter,
                                  unitok_error *error);

/* Adds to counters[0] units that repeat nothing and are in none of counters[0..n_counters-1], if
 * they occur min_leaf times; those of up to three characters if they occur twice. Goes on for
 * `budget` bytes; *ret_is_done says whether that was all. */
int32_t unitok_seeds_leaves(unitok_seeds *seeds, uint64_t min_leaf, int64_t budget,
                            unitok_counter *const *counters, int64_t n_counters,
                            int32_t *ret_is_done, unitok_error *error);
void unitok_seeds_free(unitok_seeds *seeds);

/* The pieces of a Unigram model in training, sorted by bytes, none empty, none twice: at most 2^23
 * - 2. Piece i of the list has number i in all arrays below. Immutable; shared by threads. */
typedef struct unitok_lexicon unitok_lexicon;
int32_t unitok_lexicon_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                           unitok_lexicon **ret, unitok_error *error);
/* The same by threads: each part holds pieces begin..end-1 of the list, no two parts have a first
 * byte in common, and parts are only good for being joined. They stay the caller's. */
int32_t unitok_lexicon_new_part(const uint8_t *data, const int64_t *offsets, int64_t begin,
                                int64_t end, unitok_lexicon **ret, unitok_error *error);
int32_t unitok_lexicon_join(const unitok_lexicon *const *parts, int64_t n_parts,
                            unitok_lexicon **ret, unitok_error *error);
int64_t unitok_lexicon_memory_bytes(const unitok_lexicon *lexicon);
void unitok_lexicon_free(unitok_lexicon *lexicon);

/* Memory for one thread's lattices; NULL when memory is short. */
typedef struct unitok_lattice unitok_lattice;
unitok_lattice *unitok_lattice_new(void);
void unitok_lattice_free(unitok_lattice *lattice);

/* What calls with the same units and a model that only shrinks keep of them, so that later ones are
 * faster: at most max_bytes, or nothing. The first call fills it. NULL may be given to any. For one
 * thread at a time. renumber: the model's pieces have new numbers, numbers[i] for what was piece i;
 * -1: it has been dropped. */
typedef struct unitok_edges unitok_edges;
unitok_edges *unitok_edges_new(int64_t max_bytes);
void unitok_edges_renumber(unitok_edges *kept, const int64_t *numbers);
int64_t unitok_edges_memory_bytes(const unitok_edges *kept);
void unitok_edges_free(unitok_edges *kept);

/* The functions below take arrays by piece: scores[i] is the logarithm of a piece's probability
 * p[i]; -infinity, and 0, for pieces that were dropped. A character that no piece covers alone is
 * unknown and has a score of its own. Units and pieces must be valid UTF-8. They return an enum
 * unitok_status: OK, or MEMORY, after which the sums are of no use. */

/* Adds to expected[i], in multiples of 1 / unit, how often piece i is expected in the units over
 * all ways to make them up. The sums do not depend on the order of calls. *ret_log_likelihood is
 * added to. */
int32_t unitok_unigram_expect(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                              unitok_edges *kept, const double *p, double p_unknown,
                              const uint8_t *data, const int64_t *offsets, const uint64_t *counts,
                              int64_t n_units, double unit, uint64_t *expected,
                              double *ret_log_likelihood);

/* The same in float32 logarithms, as sentencepiece 0.2.3 does it with one thread, to the last bit.
 * unknown_piece: which piece unknown characters are counted for, or -1. */
int32_t unitok_unigram_expect_exact(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                    unitok_edges *kept, const float *scores, float unknown_score,
                                    int64_t unknown_piece, const uint8_t *data,
                                    const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                                    float *expected);

/* New scores from expected counts; pieces below min_count (0.5) are no longer alive. The sum goes
 * in `order`, which has the numbers of the n pieces that are alive. */
void unitok_unigram_maximize_f32(const float *expected, const int64_t *order, int64_t n,
                                 uint8_t *alive, float *scores);
enum unitok_prior {
    /* exp(digamma(count)): takes about a half from every count, so that rare pieces fade */
    UNITOK_PRIOR_DIGAMMA = 0,
    UNITOK_PRIOR_NONE = 1 /* plain shares */
};
void unitok_unigram_maximize_f64(const double *expected, int64_t n, double min_count, int32_t prior,
                                 uint8_t *alive, double *scores);

/* paths: adds to used[i] how often piece i is in the best paths of the units; *ret_score and
 * *ret_tokens are added to. losses: of pieces begin..end-1 of the list (data, offsets), what the
 * likelihood loses without the piece, given used[] and its sum: -infinity if it is not used or is
 * worth less than its parts, +infinity if nothing can take its place. parts: of how many pieces the
 * best path through piece i without itself is made: 0 if there is none, -1 if it is worth more than
 * the piece. */
int32_t unitok_unigram_paths_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 unitok_edges *kept, const float *scores, float unknown_score,
                                 int64_t unknown_piece, const uint8_t *data, const int64_t *offsets,
                                 const uint64_t *counts, int64_t n_units, float *used,
                                 double *ret_score, int64_t *ret_tokens);
int32_t unitok_unigram_losses_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                  const float *scores, float unknown_score, int64_t unknown_piece,
                                  const uint8_t *data, const int64_t *offsets, int64_t begin,
                                  int64_t end, const float *used, float sum, float *losses);
int32_t unitok_unigram_parts_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const float *scores, float unknown_score, const uint8_t *data,
                                 const int64_t *offsets, int64_t begin, int64_t end,
                                 int32_t *parts);
int32_t unitok_unigram_paths_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 unitok_edges *kept, const double *scores, double unknown_score,
                                 int64_t unknown_piece, const uint8_t *data, const int64_t *offsets,
                                 const uint64_t *counts, int64_t n_units, double *used,
                                 double *ret_score, int64_t *ret_tokens);
int32_t unitok_unigram_losses_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                  const double *scores, double unknown_score, int64_t unknown_piece,
                                  const uint8_t *data, const int64_t *offsets, int64_t begin,
                                  int64_t end, const double *used, double sum, double *losses);
int32_t unitok_unigram_parts_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const double *scores, double unknown_score, const uint8_t *data,
                                 const int64_t *offsets, int64_t begin, int64_t end,
                                 int32_t *parts);
/* ------------------------------------------------------------------------------------------
 * Training BytePiece ---- */

/* Texts are cut by a model of byte n-grams, the pieces counted, and a Unigram model made of them:
 *
 *     texts ──ngrams──▶ counts ──model──▶ cutter ──▶ pieces and counts ──recount──▶ the pieces that are used ──▶ ...
 *
 * All of it is as in bytepiece 0.6.3, to the last bit. See csrc/train/ngrams.h for n-grams as
 * numbers. */

#define UNITOK_NGRAM_MAX_ORDER 7

/* Where adding packed documents stopped: at byte `position` of the data, in document `document`.
 * Begin with 0, 0; all are added when `document` is their number. */
typedef struct unitok_cursor {
    int64_t document;
    int64_t position;
} unitok_cursor;

/* Counts byte n-grams of 1..order bytes within the chunks of texts (csrc/train/chunks.h).
 * is_digit[0x110000]: characters that are chunks of their own; NULL: none; it must outlive the
 * table. One thread at a time. */
typedef struct unitok_ngrams unitok_ngrams;
int32_t unitok_ngrams_new(int32_t order, const uint8_t *is_digit, unitok_ngrams **ret,
                          unitok_error *error);
void unitok_ngrams_free(unitok_ngrams *ngrams);
/* After UNITOK_ERROR_MEMORY all is as it was. */
int32_t unitok_ngrams_clear(unitok_ngrams *ngrams, unitok_error *error);
int64_t unitok_ngrams_count(const unitok_ngrams *ngrams);
int64_t unitok_ngrams_memory_bytes(const unitok_ngrams *ngrams);
/* Adds the chunks from the cursor on until there are max_bytes or more. After an error, part of
 * them. */
int32_t unitok_ngrams_add(unitok_ngrams *ngrams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_docs, int64_t max_bytes, unitok_cursor *cursor,
                          unitok_error *error);
/* Sorts in place; then nothing more is added until it is cleared. */
int32_t unitok_ngrams_sort(unitok_ngrams *ngrams, unitok_error *error);

/* Where reading sorted n-grams stopped; begin with 0, 0. */
typedef struct unitok_ngram_place {
    int64_t full; /* of the full order */
    int64_t other;
} unitok_ngram_place;

/* Copies the next n sorted n-grams, as far as there are; how many. */
int64_t unitok_ngrams_export(const unitok_ngrams *ngrams, unitok_ngram_place *place, int64_t n,
                             uint64_t *keys, uint64_t *counts);

/* The n-grams of two bytes or more that were seen min_count times, and all bytes. To make one:
 *
 *     twice: scan() all n-grams in order, each once; end_pass()
 *     finish()
 *     replace every count in tables.few and tables.large by its logarithm (float64), the log of 0 included
 *
 * Between the passes memory_bytes() says what the second one will allocate. Then it is immutable;
 * shared by threads. */
typedef struct unitok_ngram_model unitok_ngram_model;
int32_t unitok_ngram_model_new(int32_t order, uint64_t min_count, unitok_ngram_model **ret,
                               unitok_error *error);
void unitok_ngram_model_free(unitok_ngram_model *model);
int64_t unitok_ngram_model_memory_bytes(const unitok_ngram_model *model);
int32_t unitok_ngram_model_scan(unitok_ngram_model *model, const uint64_t *keys,
                                const uint64_t *counts, int64_t n, unitok_error *error);
/* Like scan(), of sorted tables that are merged on the way: of about `budget` n-grams from
 * places[0..n_tables-1] on. *ret_is_done says whether that was all. */
int32_t unitok_ngram_model_scan_tables(unitok_ngram_model *model,
                                       const unitok_ngrams *const *tables, int64_t n_tables,
                                       unitok_ngram_place *places, int64_t budget,
                                       int32_t *ret_is_done, unitok_error *error);
int32_t unitok_ngram_model_end_pass(unitok_ngram_model *model, unitok_error *error);
/* After the second pass: the count of all bytes, of which those that were not seen are given a
 * count of 1. */
uint64_t unitok_ngram_model_total(unitok_ngram_model *model);

typedef struct unitok_ngram_tables {
    uint64_t *few;      /* [0..65791]: counts of n-grams of one and of two bytes */
    uint64_t *slots;    /* longer ones, a table for each length: see csrc/train/ngrams.h */
    int64_t n_slots[8]; /* by length */
    /* [0..2 n_large_slots - 1]: those that were seen very often, each a number and a count */
    uint64_t *large;
    int64_t n_large_slots;
} unitok_ngram_tables;
/* The model's own. */
void unitok_ngram_model_get_tables(unitok_ngram_model *model, unitok_ngram_tables *ret);

#define UNITOK_NGRAM_LOGS 65536
/* The logarithms of the total and of 0, 1, 2, ...: logs[0..UNITOK_NGRAM_LOGS - 1] must outlive the
 * model. */
void unitok_ngram_model_finish(unitok_ngram_model *model, double log_total, const double *logs);

/* A finished model from the tables of another, with logarithms; they are copied. */
int32_t unitok_ngram_model_load(int32_t order, const unitok_ngram_tables *tables, double log_total,
                                const double *logs, unitok_ngram_model **ret, unitok_error *error);

enum unitok_ngram_flags {
    UNITOK_NGRAM_ENSURE_UNICODE = 1, /* no piece begins inside a character, */
    /* but where the model knows no other way; without this the rest of the chunk is cut into
     * bytes */
    UNITOK_NGRAM_MENDED = 2
};

/* Cuts chunks into pieces and counts them in `counter`; the model must outlive it. One thread at a
 * time. */
typedef struct unitok_ngram_cutter unitok_ngram_cutter;
int32_t unitok_ngram_cutter_new(const unitok_ngram_model *model, unitok_counter *counter,
                                const uint8_t *is_digit, int32_t flags, unitok_ngram_cutter **ret,
                                unitok_error *error);
void unitok_ngram_cutter_free(unitok_ngram_cutter *cutter);
/* Like unitok_ngrams_add(). */
int32_t unitok_ngram_cutter_add(unitok_ngram_cutter *cutter, const uint8_t *data,
                                const int64_t *offsets, int64_t n_docs, int64_t max_bytes,
                                unitok_cursor *cursor, unitok_error *error);

/* Adds to used[i] how often piece i is in the best paths of the units. Like
 * unitok_unigram_paths_f64(), but pieces and units are any bytes, all 256 bytes are pieces that are
 * alive (else UNITOK_ERROR_ARGUMENT), and all is counted in integers. */
int32_t unitok_unigram_recount(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                               const uint8_t *alive, const double *scores, const uint8_t *data,
                               const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                               uint64_t *used);

/* ------------------------------------------------------------------------------------------
 * Training a greedy vocabulary ---- */

/* One round: the text is encoded with the pieces of the round, and counted is what each piece saves
 * and how often two stand side by side. The caller chooses which to drop and which to join, and
 * begins the next round. */

#define UNITOK_GREEDY_MAX_BYTES 256

/* Which strings may be pieces: whole characters, or a part of one; never across a blank line; and
 * at most */
typedef struct unitok_greedy_rules {
    int32_t max_piece_bytes; /* UNITOK_GREEDY_MAX_BYTES at most */
    int32_t max_run_bytes;   /* where all bytes are the same; likewise */
    /* 1: white space begins a piece and stands nowhere else in it, but for runs of it */
    int32_t max_words;
    int32_t max_digits; /* side by side */
    int32_t
        closed_words; /* 1: of ASCII, only letters follow a letter or a byte that is not ASCII, only digits a digit,
                                and before a digit there is a digit or white space. Words and numbers then end at cuts
                                (csrc/text/cut.h), which makes encoding up to twice as fast */
    int32_t
        leading_spaces; /* 1: no piece ends with a space but one that is all white space. Then a word has one form in
                                texts, with its space, and not a second one after pieces that took the space */
} unitok_greedy_rules;

int32_t unitok_greedy_allows(const unitok_greedy_rules *rules, const uint8_t *piece,
                             int64_t n_bytes);

/* The pieces of a round: data, offsets[0..n_pieces], sorted by bytes, none twice, all 256 bytes
 * among them. Both arrays stay the caller's and must outlive it. Immutable; may be shared by
 * threads. */
typedef struct unitok_greedy unitok_greedy;
int32_t unitok_greedy_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                          const unitok_greedy_rules *rules, unitok_greedy **ret,
                          unitok_error *error);
void unitok_greedy_free(unitok_greedy *greedy);

/* What one thread counts in a round; `greedy` must outlive it. */
typedef struct unitok_greedy_counts unitok_greedy_counts;
int32_t unitok_greedy_counts_new(const unitok_greedy *greedy, unitok_greedy_counts **ret,
                                 unitok_error *error);
void unitok_greedy_counts_free(unitok_greedy_counts *counts);

enum unitok_greedy_flags {
    UNITOK_GREEDY_VALUES = 1, /* what pieces save: takes as long again */
    UNITOK_GREEDY_PAIRS = 2
};

/* Counts documents of one source; a source may come in several calls. O(n_bytes). */
int32_t unitok_greedy_count(unitok_greedy_counts *counts, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int32_t flags,
                            unitok_error *error);

/* The source is complete: its counts, damped (beyond `damping` they grow by their logarithm; 0:
 * never) and times `weight`, go into the sums, which therefore depend on no order. Pairs seen once
 * in it are dropped. */
int32_t unitok_greedy_end_source(unitok_greedy_counts *counts, int64_t weight, int64_t damping,
                                 unitok_error *error);

/* Adds another thread's sums. */
int32_t unitok_greedy_merge(unitok_greedy_counts *into, const unitok_greedy_counts *from,
                            unitok_error *error);

/* By piece, [0..n_pieces-1], in the memory of `counts`: weighted uses; weighted tokens that the
 * text would take more without it (negative: fewer); sources that use it. */
void unitok_greedy_pieces(const unitok_greedy_counts *counts, const int64_t **ret_uses,
                          const int64_t **ret_values, const int64_t **ret_n_sources);
void unitok_greedy_totals(const unitok_greedy_counts *counts, int64_t *ret_n_tokens,
                          int64_t *ret_n_bytes);

/* Pairs that may be joined, in no order: both pieces, weighted uses, sources that repeat it.
 * Returns how many there are, and writes at most `capacity`. */
int64_t unitok_greedy_pairs(const unitok_greedy_counts *counts, uint32_t *lefts, uint32_t *rights,
                            int64_t *gains, int64_t *n_sources, int64_t capacity);
