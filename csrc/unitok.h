/* unitok.h - models, encoding, decoding, sampling and documents: the core of the public C API
 *
 * cffi reads this file as it stands, without its directives, so macros are constants. Suffix arrays and search are in
 * unitok_search.h, trainers in unitok_train.h.
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

#include <stdint.h>

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

/* ------------------------------------------------------------------------------ Normalization ---- */

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

/* ---------------------------------------------------------------------------------- Documents ---- */

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

/* --------------------------------------------------------------------------------- JSON lines ---- */

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
