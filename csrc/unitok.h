/* unitok.h - models, text, encoding, sampling and decoding: the core of the public C API
 *
 * Suffix arrays and search are in unitok_search.h, trainers in unitok_train.h, n-grams and repeats
 * in unitok_clean.h. cffi parses all four unchanged except for preprocessor directives, so every
 * macro is a constant.
 *
 *     unitok_spec ──new──▶ unitok_model ◀──load── the bytes of a native file
 *                            ▲      │
 *              belongs to    │      └──▶ unitok_decode_batch: ids ──▶ text
 *                            │
 *                     unitok_scratch ──▶ unitok_encode_batch: text ──▶ ids
 *                      one per thread       │      ▲
 *                                           ▼      │
 *                                         unitok_state: carried over to the next part of a document
 *
 *     unitok_normalizer    stands alone: SentencePiece's normalization without a model
 *     unitok_paths         several ways to encode a text; keeps no pointer to other objects
 *
 * Lifetimes and threads. Models and normalizers are immutable and may be shared by any number of
 * threads, except while unitok_model_complete runs. A scratch belongs to one call at a time and to
 * the model it was created for, which must outlive it. Every object is freed by its own function,
 * which accepts NULL. The library keeps no global state, does no I/O and starts no thread.
 *
 * Conventions
 *   - A packed list is `data` and `offsets[0..n]`: item i is data[offsets[i]..offsets[i + 1]).
 *     Documents, pieces and token sequences all have this shape. Offsets do not decrease, and
 *     offsets[0] >= 0.
 *   - A function that can fail returns an enum unitok_status. Unless the status is UNITOK_OK, it
 *     fills *error (error may be NULL). A new object is returned through `ret`, which a failure
 *     leaves unchanged.
 *   - Sizes in bytes are called n_bytes or capacity; other counts name what they count (n_docs).
 *     Ranges are written [first..last] or [begin..end).
 *   - A pointer that the caller passes is used only during the call, unless its comment says that
 *     it is kept.
 *
 * Each section is bound in pyunitok/_c: Basics (library.py), Models and decoding (model.py),
 * SentencePiece's model files (proto.py), Text (text.py), Encoding and sampling (scratch.py).
 */
#pragma once

#include <stdint.h>

/* ---------------------------------------------------------------------------------- Basics ---- */

enum unitok_status {
    UNITOK_OK = 0,
    /* An allocation failed. Nothing was changed, unless the function says otherwise. */
    UNITOK_ERROR_MEMORY = 1,
    /* An argument is outside its documented range. */
    UNITOK_ERROR_ARGUMENT = 2,
    /* The pieces or merges of a model are invalid; `item` is the piece, or -1. */
    UNITOK_ERROR_VOCABULARY = 3,
    /* The bytes are not a valid native model, state or line; `position` is the invalid byte. */
    UNITOK_ERROR_FORMAT = 4,
    /* An id has no piece; `item` is the id, `position` its index in the array. */
    UNITOK_ERROR_ID = 5,
    /* This processor or this build does not support the instruction set. */
    UNITOK_ERROR_CPU = 6,
    /* The array for ids is too small; `item` is the document. */
    UNITOK_ERROR_CAPACITY = 7,
    /* A document is longer than this model supports; `item` is the document. */
    UNITOK_ERROR_LENGTH = 8,
    /* A pattern is invalid or not supported; `item` is the part, `position` a byte of its regex. */
    UNITOK_ERROR_PATTERN = 9
};

typedef struct unitok_error {
    int32_t status;      /* an enum unitok_status */
    int64_t item;        /* the invalid piece, document or id; -1 if there is none */
    int64_t position;    /* the position of the invalid byte or id; -1 if there is none */
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

/* Returns 1 if this build and this processor support `cpu`, an enum unitok_cpu; otherwise 0. */
int32_t unitok_cpu_supported(int32_t cpu);

/* --------------------------------------------------------------------- Models and decoding ---- */

/* The data structure that finds the longest piece. It does not change the ids. */
enum unitok_engine {
    UNITOK_ENGINE_DOUBLE_ARRAY = 0, /* frozen, fastest, can be saved */
    UNITOK_ENGINE_HAT = 1           /* the growable HAT-trie of unitok_train.h */
};

/* The largest id that fits in a uint16 array, and the largest id of any model. */
#define UNITOK_ID_MAX 65535
#define UNITOK_WIDE_ID_MAX 4194303

/* How a model turns text into pieces. */
enum unitok_kind {
    /* greedy longest prefix over bytes (RWKV World) */
    UNITOK_KIND_LONGEST = 1,
    /* the path with the best sum of scores, by Viterbi (SentencePiece, BytePiece, Hugging Face) */
    UNITOK_KIND_UNIGRAM = 2,
    /* the pair with the best score merges first (SentencePiece, Hugging Face) */
    UNITOK_KIND_BPE = 3,
    /* every character is a token (SentencePiece) */
    UNITOK_KIND_CHAR = 4,
    /* every word is a token (SentencePiece) */
    UNITOK_KIND_WORD = 5
};

/* The role of a piece, with SentencePiece's numbers. */
enum unitok_piece_type {
    UNITOK_PIECE_NORMAL = 1,
    UNITOK_PIECE_UNKNOWN = 2, /* at most one: replaces characters that no piece covers */
    UNITOK_PIECE_CONTROL = 3, /* never matches text; decodes to nothing */
    /* matches before every other piece; never normalized or split */
    UNITOK_PIECE_USER_DEFINED = 4,
    UNITOK_PIECE_UNUSED = 5, /* never matches text */
    UNITOK_PIECE_BYTE = 6    /* "<0x41>": one byte of a character that no piece covers */
};

enum unitok_model_flags {
    /* A space is added before the text, or after it with WHITESPACE_AS_SUFFIX. */
    UNITOK_ADD_DUMMY_PREFIX = 1,
    /* Spaces at both ends are removed, and runs of spaces become one. */
    UNITOK_REMOVE_EXTRA_WHITESPACES = 2,
    /* A space becomes U+2581. */
    UNITOK_ESCAPE_WHITESPACES = 4,
    UNITOK_WHITESPACE_AS_SUFFIX = 8,
    /* An unknown character becomes its bytes. */
    UNITOK_BYTE_FALLBACK = 16,
    /* Adjacent unknown characters become one id. */
    UNITOK_MERGE_UNKNOWN = 32,
    /* Unigram adds scores in float64 (BytePiece, Hugging Face), otherwise in float32. */
    UNITOK_FLOAT64 = 64,
    /* The text is split before every space (Hugging Face's Metaspace). */
    UNITOK_RESTART_AT_SPACE = 128,
    /* The text is split after every run of newlines (BytePiece). */
    UNITOK_RESTART_AFTER_NEWLINE = 256,
    /* Positions are bytes, not characters, and nothing is normalized (BytePiece; BPE). */
    UNITOK_BYTES = 512,
    /* The text "<0x41>" matches the byte piece of that name (Hugging Face). */
    UNITOK_BYTE_PIECES_MATCH = 1024,
    /* BPE with a list of merges (Hugging Face): all pieces except CONTROL match, and BYTE_FALLBACK
     * does not require all 256 byte pieces. If there is no unknown piece, unknown characters are
     * dropped (with BYTES: bytes that are not pieces). MERGE_UNKNOWN is Hugging Face's fuse_unk. */
    UNITOK_LISTED_MERGES = 2048,
    /* With LISTED_MERGES or BYTES: a text that is itself a piece becomes that piece. */
    UNITOK_IGNORE_MERGES = 4096,
    /* With BYTES: a pattern divides texts before they are encoded. */
    UNITOK_PATTERN = 8192
};
#define UNITOK_FLAGS_ALL 16383

/* Everything that defines a model. Piece k is data[offsets[k]..offsets[k + 1]), with ids[k],
 * scores[k] and types[k]. csrc/model/spec.c lists the flags that each kind supports, and their
 * valid combinations. */
typedef struct unitok_spec {
    int32_t kind;  /* an enum unitok_kind */
    int32_t flags; /* of enum unitok_model_flags */
    int64_t n_pieces;
    const uint8_t *data;
    const int64_t *offsets;
    const int64_t *ids;
    const double *scores;    /* NULL: all scores are 0 */
    const uint8_t *types;    /* of enum unitok_piece_type; NULL: all pieces are NORMAL */
    const uint8_t *charsmap; /* SentencePiece's precompiled_charsmap; NULL: none */
    int64_t n_charsmap_bytes;
    const uint8_t *unknown_surface; /* the text that the unknown id decodes to; NULL: none */
    int64_t n_unknown_surface_bytes;
    int64_t eod_id;      /* the end-of-document id, or -1 */
    int64_t fallback_id; /* LONGEST: the id of a byte that no piece covers, or -1 */
    /* LISTED_MERGES, ids: merge k joins merges[k] and merges[n + k] into merges[2 * n + k] */
    const int64_t *merges;
    int64_t n_merges;       /* n; merge k has rank k */
    const uint8_t *pattern; /* PATTERN: see unitok_pattern_new */
    int64_t n_pattern_bytes;
} unitok_spec;

typedef struct unitok_model unitok_model;

typedef struct unitok_model_info {
    int64_t n_pieces;        /* pieces of every type */
    int64_t n_ids;           /* 1 + the largest id, including eod and fallback */
    int64_t eod_id;          /* end of document, or -1 */
    int64_t fallback_id;     /* LONGEST: as in the spec; -1 if all 256 bytes are pieces */
    int64_t unknown_id;      /* the id of an unknown character, or -1 */
    int64_t max_piece_bytes; /* the length of the longest piece */
    int64_t memory_bytes;    /* the model's memory, with the bytes of unitok_model_load */
    int64_t trie_bytes;      /* the share of memory_bytes that the engine takes */
    int32_t kind;            /* an enum unitok_kind */
    int32_t flags;           /* of enum unitok_model_flags */
    int32_t id_bytes;        /* 2: ids are uint16_t; 4: uint32_t, as one exceeds UNITOK_ID_MAX */
    int32_t engine;          /* an enum unitok_engine */
    int32_t cpu;             /* the enum unitok_cpu in use, never AUTO */
    /* normalized text stores U+2581 as one byte, a space, even with UNITOK_ENCODE_PREPARED */
    int32_t is_compact;
    int32_t is_whole;    /* documents cannot be cut: each is one segment, of O(n_bytes) memory */
    int32_t is_complete; /* unitok_model_complete has nothing left to do */
} unitok_model_info;

/* Builds a model, except for the tables that only encoding needs: unitok_model_complete builds
 * these later.
 *   spec    no piece is empty; ids are 0..UNITOK_WIDE_ID_MAX and distinct, and so are the pieces
 *           that match text
 *   engine  an enum unitok_engine; only LONGEST supports HAT
 *   cpu     an enum unitok_cpu
 * UNITOK_ERROR_VOCABULARY names the piece that violates a rule, or says that fallback_id is missing
 * although a byte has no piece. UNITOK_ERROR_ARGUMENT: flags or sizes that no model can have. Every
 * error except UNITOK_ERROR_MEMORY is reported here, not later. O(bytes of pieces): about 30 ms for
 * 65,529 pieces. */
int32_t unitok_model_new(const unitok_spec *spec, int32_t engine, int32_t cpu, unitok_model **ret,
                         unitok_error *error);

/* Like unitok_model_new, but opens a native model: bytes[0..n_bytes-1], aligned to 8. The model
 * keeps them and reads its tables in place; they must not change during its lifetime. Every index
 * in the file is checked: hostile bytes cause UNITOK_ERROR_FORMAT or UNITOK_ERROR_VOCABULARY, never
 * an access outside `bytes`. Bytes after the image are ignored. The checksum is not verified: see
 * UNITOK_NATIVE_CHECKSUM_AT. */
int32_t unitok_model_load(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                          unitok_model **ret, unitok_error *error);

/* If the tables that only encoding needs are missing, builds them, which is most of the work. The
 * only possible error is UNITOK_ERROR_MEMORY; the call can then be repeated. Only one thread at a
 * time may call it; others may meanwhile decode and look up pieces. */
int32_t unitok_model_complete(unitok_model *model, unitok_error *error);

void unitok_model_free(unitok_model *model);

/* memory_bytes and is_whole are final once is_complete is 1. */
void unitok_model_get_info(const unitok_model *model, unitok_model_info *ret);

/* Writes the native form to out[0..capacity-1], with a checksum field of zero, and returns its
 * size. If capacity is smaller, writes nothing. */
int64_t unitok_model_save(const unitok_model *model, uint8_t *out, int64_t capacity);

/* Where a native file stores its XXH64 (seed 0, little-endian u64), and the first byte that the
 * hash covers. The hash covers all bytes from there to the end of the file. */
#define UNITOK_NATIVE_CHECKSUM_AT 16
#define UNITOK_NATIVE_CHECKED_FROM 24

/* Returns the bytes of piece `id`, owned by the model. If the id has no piece, returns NULL and
 * sets *ret_n_bytes to -1. Any id is safe. */
const uint8_t *unitok_model_piece(const unitok_model *model, int64_t id, int64_t *ret_n_bytes);

/* Returns the enum unitok_piece_type of an id, or 0 if it has no piece. Any id is safe. */
int32_t unitok_model_piece_type(const unitok_model *model, int64_t id);

/* All pieces by id, owned by the model: piece `id` is data[offsets[id]..offsets[id + 1]), id <
 * n_ids, and empty if the id has no piece. */
void unitok_model_pieces(const unitok_model *model, const uint8_t **ret_data,
                         const uint32_t **ret_offsets);

/* Returns the id of the piece with these bytes, or -1. LONGEST: one walk; other kinds: O(n_ids). */
int64_t unitok_model_find(const unitok_model *model, const uint8_t *piece, int64_t n_bytes);

/* Returns the spec that the model was built from, owned by the model; NULL for LONGEST. */
const unitok_spec *unitok_model_spec(const unitok_model *model);

/* Decodes a packed list of ids into a packed list of bytes: byte_offsets[0..n_docs], beginning with
 * 0.
 *   ids            uint16_t or uint32_t, depending on id_bytes of unitok_model_info
 *   drop_last      1: skip the last id of each document, whatever it is
 *   separator      n_separator_bytes bytes to write after each document
 *   out, capacity  if capacity is too small, nothing is written to out
 * byte_offsets[n_docs] is the size of the result, even if it did not fit. An eod id without a piece
 * decodes to nothing, a fallback id to U+FFFD. Models that normalize decode as SentencePiece does
 * (U+2581 to a space, byte pieces to their bytes), but do not apply its denormalizer.
 * UNITOK_ERROR_ID names the first id that is out of range or has no piece. O(n_ids + bytes of the
 * result). */
int32_t unitok_decode_batch(const unitok_model *model, const void *ids, const int64_t *id_offsets,
                            int64_t n_docs, int32_t drop_last, const uint8_t *separator,
                            int64_t n_separator_bytes, uint8_t *out, int64_t capacity,
                            int64_t *byte_offsets, unitok_error *error);

/* Decodes a few ids, as one document, to out[0..capacity-1] and returns the size, or
 *   -1  an id is out of range or has no piece
 *   -2  the capacity is too small
 *   -3  unitok_decode_batch is required: a byte piece follows a control symbol or the unknown
 *       piece, and bytes of separate characters would look like one character */
int64_t unitok_decode(const unitok_model *model, const void *ids, int64_t n_ids, uint8_t *out,
                      int64_t capacity);

/* ------------------------------------------------------------- SentencePiece's model files ---- */

/* The other results of unitok_proto_read, besides the arrays. */
typedef struct unitok_proto {
    int64_t n_rest_bytes;
    int64_t charsmap_at, n_charsmap_bytes; /* in the file; 0 and 0 if the file has no charsmap */
    int64_t unknown_id;                    /* the id of the piece of type UNKNOWN, or -1 */
    int32_t n_byte_pieces;                 /* how many of <0x00> to <0xFF> are pieces */
    int32_t has_texts;                     /* a piece is NORMAL, USER_DEFINED or UNUSED */
    int32_t is_finite;                     /* all scores are finite */
} unitok_proto;

#define UNITOK_PROTO_PIECE_BYTES_MIN 5
#define UNITOK_PROTO_PIECE_BYTES_MAX 7999

/* Reads the pieces of a SentencePiece model file (a ModelProto in protobuf's encoding) as a packed
 * list, with their scores and types. `rest` receives the same ModelProto without the pieces and
 * without the normalizer's precompiled_charsmap. With n_max = n_bytes /
 * UNITOK_PROTO_PIECE_BYTES_MIN, the arrays must hold
 *
 *     pieces[0..n_bytes-1], offsets[0..n_max], scores[0..n_max-1], types[0..n_max-1],
 *     rest[0..n_bytes-1]
 *
 * Returns the number of pieces; -1 if something is not exactly as SentencePiece writes it, in which
 * case protobuf may still be able to read the file; -2 if an allocation failed. Causes of -1: a
 * piece that is empty, too long, or equal to an earlier one; a NUL in a piece; a second unknown
 * piece; an invalid byte piece; an unknown field; malformed data. O(n_bytes). */
int64_t unitok_proto_read(const uint8_t *bytes, int64_t n_bytes, uint8_t *pieces, int64_t *offsets,
                          float *scores, uint8_t *types, uint8_t *rest, unitok_proto *ret);

/* ------------------------------------------------------------------------------------ Text ---- */

/* SentencePiece's normalization, exactly as in sentencepiece 0.2.3. At every position, the longest
 * user-defined symbol is copied; otherwise the longest key of the charsmap is replaced; otherwise
 * one character is copied, or U+FFFD is written for a byte that does not begin a valid character.
 * Then the whitespace rules of enum unitok_model_flags apply. The result has one of two forms:
 *
 *   verbatim  byte for byte what sentencepiece returns
 *   compact   with UNITOK_ESCAPE_WHITESPACES, every U+2581, even one from the original text,
 *             becomes one byte, a space; without that flag, the same as verbatim. Only available if
 *             all replacements and symbols are valid UTF-8. */
typedef struct unitok_normalizer unitok_normalizer;

typedef struct unitok_normalizer_info {
    int64_t memory_bytes;
    int64_t step_bytes; /* the capacity that unitok_normalize_some needs to make progress */
    int32_t is_compact; /* the compact form is available */
} unitok_normalizer_info;

/* Builds a normalizer from the flags, charsmap and USER_DEFINED pieces of `spec`. `cpu` is an enum
 * unitok_cpu. UNITOK_ERROR_VOCABULARY: the charsmap is invalid; hostile bytes are safe. O(bytes):
 * about 2 ms for a charsmap of 240 KB. */
int32_t unitok_normalizer_new(const unitok_spec *spec, int32_t cpu, unitok_normalizer **ret,
                              unitok_error *error);
void unitok_normalizer_free(unitok_normalizer *normalizer);
void unitok_normalizer_get_info(const unitok_normalizer *normalizer, unitok_normalizer_info *ret);

/* Normalizes a complete text and returns the size of the result.
 *   compact        1: in the compact form, if it is available
 *   out, capacity  if the result is larger than capacity, it is incomplete; call again
 *   norm_to_orig   NULL, or [0..capacity]: [i] is the start, in the text, of the part that became
 *                  byte i, and [result] is the end of the last such part. [0] is -1 where
 *                  sentencepiece gives no offsets: the text is empty, or consists of spaces that
 *                  are removed
 * O(n_bytes). */
int64_t unitok_normalize(const unitok_normalizer *normalizer, const uint8_t *text, int64_t n_bytes,
                         int32_t compact, uint8_t *out, int64_t *norm_to_orig, int64_t capacity);

/* Like unitok_normalize in the verbatim form, but with the rules of the model; a model without
 * rules copies the text. */
int64_t unitok_model_normalize(const unitok_model *model, const uint8_t *text, int64_t n_bytes,
                               uint8_t *out, int64_t *norm_to_orig, int64_t capacity);

/* The state of a text that is normalized part by part. All zeros at the start of the text. */
typedef struct unitok_normalize_state {
    int64_t n_held_bytes; /* spaces that are removed if the text ends here */
    int32_t is_verbatim;  /* set by the caller at the start: 1 for the verbatim form */
    int32_t is_started;   /* the dummy prefix has been written */
    int32_t is_after_space;
    int32_t is_ended; /* `last` was set, and everything has been written */
} unitok_normalize_state;

/* Normalizes text[*io_consumed..n_bytes-1] to out[0..result-1] and advances *io_consumed. Returns
 * when the text is consumed or the remaining capacity is less than step_bytes.
 *   n_bytes  with last = 1, the end of the text; then call until state->is_ended is set. With
 *            last = 0, a point that unitok_normalize_split returned
 * Nothing after n_bytes is read, and the text before *io_consumed is no longer needed. The form is
 * compact if available, unless is_verbatim is set. Faster than unitok_normalize, but without
 * offsets. */
int64_t unitok_normalize_some(const unitok_normalizer *normalizer, unitok_normalize_state *state,
                              const uint8_t *text, int64_t n_bytes, int64_t *io_consumed,
                              int32_t last, uint8_t *out, int64_t capacity);

/* Returns k such that text[0..k) can be normalized before the rest is known: no key, symbol or
 * character crosses k, whatever follows text[n_bytes-1]. Normalizing both parts with the same state
 * normalizes the complete text. text[0] must be the start of the text or such a point. Returns 0
 * only if n_bytes is less than the longest key or symbol. */
int64_t unitok_normalize_split(const unitok_normalizer *normalizer, const uint8_t *text,
                               int64_t n_bytes);

/* Splits text[0..n_bytes-1] into documents at a separator, in place: removes the separators and
 * closes the gaps.
 *   separator  n_separator_bytes >= 1 bytes
 *   offsets    [0..max_docs]; the result fills [0..result], beginning with 0
 *   max_docs   >= 2; the search stops after max_docs - 1 separators
 * Returns the number of documents, at least 1. The last one is the text after the last separator
 * found, and may be empty. *ret_n_consumed is the number of bytes read: n_bytes, unless the search
 * stopped; the bytes after it are not moved. O(n_bytes) for any separator. */
int64_t unitok_split_documents(uint8_t *text, int64_t n_bytes, const uint8_t *separator,
                               int64_t n_separator_bytes, int64_t *offsets, int64_t max_docs,
                               int64_t *ret_n_consumed);

/* The error in a line of JSON. */
enum unitok_json_error {
    UNITOK_JSON_OK = 0,
    UNITOK_JSON_LINE_ENDS = 1,   /* the line ends inside its object */
    UNITOK_JSON_STRING_ENDS = 2, /* the line ends inside a string */
    UNITOK_JSON_CONTROL = 3,     /* a control character in a string is not escaped */
    UNITOK_JSON_ESCAPE = 4,      /* a backslash does not begin an escape */
    UNITOK_JSON_VALUE = 5,       /* a value is missing */
    UNITOK_JSON_NUMBER = 6,      /* a digit is missing */
    UNITOK_JSON_KEY = 7,         /* a name in quotes is missing */
    UNITOK_JSON_COLON = 8,       /* a colon is missing after a name */
    UNITOK_JSON_COMMA = 9,       /* a comma or closing bracket is missing after a value */
    UNITOK_JSON_TRAILING = 10,   /* something follows the object */
    UNITOK_JSON_DEPTH = 11,      /* objects and arrays are nested more than 512 deep */
    UNITOK_JSON_NO_OBJECT = 12,  /* the line does not begin with { */
    /* the line is valid JSON, but: */
    UNITOK_JSON_MISSING = 13,    /* it has no text; no byte is wrong */
    UNITOK_JSON_NOT_STRING = 14, /* the member with the last name is not a string */
    UNITOK_JSON_NOT_OBJECT = 15, /* the member with name `detail` of the path is not an object */
    UNITOK_JSON_SURROGATE = 16,  /* the text contains the lone surrogate `detail` */
    UNITOK_JSON_UTF8 = 17,       /* the text is invalid UTF-8 */
    UNITOK_JSON_TOO_LONG = 18    /* the line is longer than max_line_bytes; no byte is wrong */
};

/* How far lines have been read. Initialize to zeros. */
typedef struct unitok_json_place {
    int64_t at;       /* the first byte of the next line; n_bytes once all have been read */
    int64_t n_lines;  /* lines before `at`, including blank ones */
    int64_t n_docs;   /* texts found in them */
    int64_t error_at; /* where in the line at `at` the error is, or -1 */
    int32_t error;    /* an enum unitok_json_error: the error in the line at `at` */
    int32_t detail;
} unitok_json_place;

/* Reads one string of each line of lines[0..n_bytes-1] as UTF-8 into a packed list.
 *   cpu      an enum unitok_cpu
 *   names    the path to the string, n_names >= 1: the string is the member with the last name, in
 *            the object with the name before it, and so on outwards to the line's object
 *   out      [0..n_bytes-1]; does not overlap lines
 *   offsets  [0..max_docs]
 * If members have the same name, the last one counts. Blank lines are skipped, and the last line
 * may lack its newline. Other strings may contain invalid UTF-8 and escaped lone surrogates. NaN,
 * Infinity and -Infinity are accepted as values.
 *
 * Continues at *place until everything is read, max_docs texts are found, or a line is invalid;
 * then place->error is set, and the next call skips that line. Returns 1 once everything is read.
 * O(n_bytes). */
int32_t unitok_json_read(int32_t cpu, const uint8_t *lines, int64_t n_bytes, const uint8_t *names,
                         const int64_t *name_offsets, int64_t n_names, int64_t max_line_bytes,
                         uint8_t *out, int64_t *offsets, int64_t max_docs,
                         unitok_json_place *place);

/* Counts lines: ret->n_docs of them contain a text or are invalid, and the others are blank.
 * ret->at is the end of the last one. Text after the last newline counts as a line only if at_end
 * is 1. O(n_bytes). */
void unitok_json_count(const uint8_t *lines, int64_t n_bytes, int64_t max_line_bytes,
                       int32_t at_end, unitok_json_place *ret);

/* Reads the merges of a tokenizer.json: the list that begins json[0..n_bytes-1], of strings with one
 * space or of pairs of strings. Their left and right sides become a packed list.
 *   text    [0..n_bytes-1]
 *   bounds  [0..n_bytes / 2]: merge k is text[bounds[2k]..bounds[2k + 2]), and its right side begins
 *           at bounds[2k + 1]
 * Returns the size of the list in json, or 0 if the list is invalid or unusual. O(n_bytes). */
int64_t unitok_json_merges(const uint8_t *json, int64_t n_bytes, uint8_t *text, int64_t *bounds,
                           int64_t *ret_n_merges);

/* Finds merges in a packed list of pieces: ret[0..n_merges-1] are the indices of their left sides,
 * ret[n_merges..] of their right sides, ret[2 * n_merges..] of both together.
 * UNITOK_ERROR_VOCABULARY: a side of merge `item`, or its two sides joined, is not a piece.
 * O(bytes). */
int32_t unitok_find_merges(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                           const uint8_t *text, const int64_t *bounds, int64_t n_merges,
                           int64_t *ret, unitok_error *error);

/* Returns 1 if text[0..n_bytes-1] is in NFC of Unicode 9, or, if with_compatibility is 1, in NFKC;
 * otherwise 0, which includes texts with Hangul jamo that might compose. Bytes that are not part of
 * a valid UTF-8 character combine with nothing. O(n_bytes). */
int32_t unitok_is_normal(const uint8_t *text, int64_t n_bytes, int32_t with_compatibility);

/* Returns 1 if text[0..at-1] and text[at..n_bytes-1], 0 < at < n_bytes, can be normalized
 * independently, whatever follows, and at least `reach` bytes on both sides of the cut are already
 * in that form. May return 0 even if both conditions hold. */
int32_t unitok_is_normal_around(const uint8_t *text, int64_t n_bytes, int64_t at, int64_t reach,
                                int32_t with_compatibility);

enum unitok_token_flags {
    UNITOK_TOKEN_SINGLE_WORD = 1, /* no match next to a word character */
    UNITOK_TOKEN_LSTRIP = 2,      /* a match includes the white space before it */
    UNITOK_TOKEN_RSTRIP = 4,      /* a match includes the white space after it */
    UNITOK_TOKEN_SPECIAL = 8      /* not matched with hide_special */
};

/* Finds added tokens in texts; see csrc/text/added_tokens.c. */
typedef struct unitok_finder unitok_finder;

/* Creates a finder for n_tokens distinct tokens, none empty: a packed list, with the id and the
 * enum unitok_token_flags of each. O(bytes of tokens), and 600 KB of memory. */
int32_t unitok_finder_new(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                          const uint8_t *flags, int64_t n_tokens, unitok_finder **ret,
                          unitok_error *error);
void unitok_finder_free(unitok_finder *finder);

/* Returns 1 if a token occurs in data[0..n_bytes-1], whatever its flags; otherwise 0. */
int32_t unitok_finder_matches(const unitok_finder *finder, const uint8_t *data, int64_t n_bytes);

/* Returns 0 if text[0..at-1] and text[at..n_bytes-1] can be searched independently, whatever
 * follows, and no token begins or ends at text[at]; otherwise 1. A character must begin at
 * text[at], 0 < at < n_bytes. */
int32_t unitok_finder_reaches(const unitok_finder *finder, const uint8_t *text, int64_t n_bytes,
                              int64_t at);

/* Divides a packed list of items, n_items >= 1, into sections: section k is
 * data[ret_offsets[k]..ret_offsets[k + 1]), and ret_given[k] is its id if it is a token, or -1.
 * Sections of item i are [ret_starts[i]..ret_starts[i + 1]), at least one.
 *   offsets       checked by the caller: see Conventions
 *   given         NULL, or for each item its id if it already is a token, or -1
 *   hide_special  1: treat special tokens as text
 *   ret_offsets   [0..capacity]
 *   ret_given     [0..capacity-1]
 *   ret_starts    [0..n_items]
 * Returns the number of sections. If it exceeds capacity, only `capacity` sections are written;
 * call again. */
int64_t unitok_finder_split(const unitok_finder *finder, const uint8_t *data,
                            const int64_t *offsets, const int64_t *given, int64_t n_items,
                            int32_t hide_special, int64_t *ret_offsets, int64_t *ret_given,
                            int64_t *ret_starts, int64_t capacity);

/* A pre-tokenizer pattern: regular expressions that divide a text into pieces. */
typedef struct unitok_pattern unitok_pattern;

/* Compiles parts[0..n_bytes-1], as csrc/text/pattern.h explains. Takes less than 100 ms, whatever
 * the parts. */
int32_t unitok_pattern_new(const uint8_t *parts, int64_t n_bytes, unitok_pattern **ret,
                           unitok_error *error);
void unitok_pattern_free(unitok_pattern *pattern);
int64_t unitok_pattern_memory_bytes(const unitok_pattern *pattern);

/* Divides a text of any bytes into pieces: piece i is text[offsets[i]..offsets[i + 1]). Returns the
 * number of pieces. Of the offsets, only [0..capacity-1] are written. O(n_bytes). */
int64_t unitok_pattern_split(const unitok_pattern *pattern, const uint8_t *text, int64_t n_bytes,
                             int64_t *offsets, int64_t capacity);

/* Returns the last position in a text at which a piece ends, whatever follows the text, and at
 * which dividing the text does not change the pieces on either side; 0 if there is none. O(bytes
 * after that position). */
int64_t unitok_pattern_last_cut(const unitok_pattern *pattern, const uint8_t *text,
                                int64_t n_bytes);

/* ------------------------------------------------------------------- Encoding and sampling ---- */

/* The working memory of one thread: the memo of segments already encoded, and buffers. */
typedef struct unitok_scratch unitok_scratch;

/* Returns NULL if an allocation fails or the model is not complete. */
unitok_scratch *unitok_scratch_new(const unitok_model *model);
void unitok_scratch_free(unitok_scratch *scratch);

/* The state from which the next part of a document continues: the running sum of scores, and the
 * spaces held back. All zeros at the start of a document. */
typedef struct unitok_state {
    double sum;
    int64_t position; /* in the normalized text; samples depend on it */
    unitok_normalize_state normalize;
    int32_t last_unknown;
    int32_t last_byte;
} unitok_state;

/* Writes a state to out[0..UNITOK_STATE_BYTES-1], in the same form on every machine. */
#define UNITOK_STATE_BYTES 27
void unitok_state_save(const unitok_state *state, uint8_t *out);

/* Reads a state that unitok_state_save wrote. UNITOK_ERROR_FORMAT, and *ret unchanged, if the bytes
 * are not a valid state. Once read without an error, a state is safe to use for encoding, whatever
 * the bytes are. */
int32_t unitok_state_load(const uint8_t *bytes, int64_t n_bytes, unitok_state *ret,
                          unitok_error *error);

enum unitok_encode_flags {
    /* The last document continues after this batch: it gets no eod. */
    UNITOK_ENCODE_OPEN_END = 1,
    /* The first document continues the previous batch, from a point that unitok_split returned. */
    UNITOK_ENCODE_OPEN_START = 2,
    /* Documents are already normalized: they are valid UTF-8, and compact if the model is. A
     * compact model then needs a capacity of 3 ids per byte. */
    UNITOK_ENCODE_PREPARED = 4
};

/* The capacity that encoding needs beyond the ids themselves. For LONGEST and BytePiece, n_bytes +
 * UNITOK_ENCODE_SLACK is enough for n_bytes of text. Other models may need more if normalization
 * lengthens the text or characters become bytes. */
#define UNITOK_ENCODE_SLACK 16

/* Encodes one document into ids[0..capacity-1], uint16_t or uint32_t, depending on id_bytes of
 * unitok_model_info. Returns the number of ids, or
 *   -1  an allocation failed
 *   -2  `capacity` may be too small; call again with more
 *   -3  a part that cannot be cut is longer than 2^29 bytes (BPE, character and word models)
 * Any bytes can be encoded. O(n_bytes); BPE O(n log n) within a segment. */
int64_t unitok_encode(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                      int64_t n_bytes, void *ids, int64_t capacity);

/* Encodes a packed list of documents into a packed list of ids: id_offsets[0..n_docs], beginning
 * with 0.
 *   eod_id         follows each document, unless it is -1
 *   flags          of enum unitok_encode_flags
 *   state          may be NULL if all documents are complete; OPEN_START reads it for the first
 *                  document, OPEN_END writes it after the last
 *   ids, capacity  as in unitok_encode
 * UNITOK_ERROR_CAPACITY and UNITOK_ERROR_LENGTH are -2 and -3 of unitok_encode. An error leaves
 * `state` unchanged. */
int32_t unitok_encode_batch(const unitok_model *model, unitok_scratch *scratch, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets,
                            unitok_error *error);

/* Like unitok_encode_batch for complete documents without eod, but if given[k] is not -1, document
 * k is encoded as that id. */
int32_t unitok_encode_sections(const unitok_model *model, unitok_scratch *scratch,
                               const uint8_t *data, const int64_t *offsets, const int64_t *given,
                               int64_t n_sections, void *ids, int64_t capacity, int64_t *id_offsets,
                               unitok_error *error);

/* How to choose at random among the ways to divide a text into pieces. Unigram models support the
 * first three methods, BPE models the last. */
enum unitok_sample_method {
    UNITOK_SAMPLE_LATTICE = 0, /* any path, with p ~ exp(alpha * score): subword regularization */
    UNITOK_SAMPLE_NBEST = 1,   /* one of the n_best best paths, with p ~ exp(alpha * score) */
    UNITOK_SAMPLE_VITERBI = 2, /* BytePiece's Viterbi sampling as first published; alpha > 0 */
    UNITOK_SAMPLE_DROPOUT = 3  /* each merge is skipped with probability alpha, 0..1 */
};

/* A sample depends only on the seed, the number of the input and the number of the document in it,
 * not on threads, batches or parts. */
typedef struct unitok_sampling {
    int32_t method; /* an enum unitok_sample_method */
    int64_t n_best; /* 2..1024 */
    double alpha;
    uint64_t seed, input;
    uint64_t document;        /* the number of the first document; the others follow it */
    const int64_t *documents; /* NULL, or the number of each document instead */
} unitok_sampling;

/* Like unitok_encode_batch, but samples each document. UNITOK_ERROR_ARGUMENT if the model does not
 * support the method. NBEST and DROPOUT require complete documents. O(n_bytes * pieces that match
 * at a position); csrc/encoders/nbest.h gives the cost of NBEST. */
int32_t unitok_sample_batch(const unitok_model *model, unitok_scratch *scratch,
                            const unitok_sampling *sampling, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets,
                            unitok_error *error);

/* A token and its place in the text. */
typedef struct unitok_span {
    int64_t id;
    int64_t begin, end; /* its range in the text, in bytes: SentencePiece's offsets */
    int64_t piece_end;  /* in the normalized text; the next piece begins there */
} unitok_span;

/* Like unitok_encode, but returns the place of every token: spans[0..result-1]. Slower, as it does
 * not use the memo, and takes O(n_bytes) memory. */
int64_t unitok_encode_spans(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                            int64_t n_bytes, unitok_span *spans, int64_t capacity);

/* Several ways to encode one document. */
typedef struct unitok_paths unitok_paths;
void unitok_paths_free(unitok_paths *paths);
int64_t unitok_paths_count(const unitok_paths *paths);

/* Gives the spans, owned by `paths`, and the score of path k, 0 <= k < count. Returns the number of
 * spans. */
int64_t unitok_paths_get(const unitok_paths *paths, int64_t k, const unitok_span **ret_spans,
                         double *ret_score);

/* Finds the n best paths of a Unigram model, 1 <= n <= 1024, best first; fewer if fewer exist. The
 * paths, ties and scores are those of sentencepiece; for n = 1 the score is 0.
 * UNITOK_ERROR_ARGUMENT for other kinds. */
int32_t unitok_nbest(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                     int64_t n_bytes, int64_t n, unitok_paths **ret, unitok_error *error);

enum unitok_sample_flags {
    UNITOK_SAMPLE_DISTINCT = 1, /* without replacement; fewer than n if fewer exist */
    /* the first is the best path, with score 0; only with DISTINCT */
    UNITOK_SAMPLE_INCLUDE_BEST = 2
};

/* Draws n samples of p ~ exp(alpha * score) from a Unigram model; `method` of `sampling` is
 * ignored. With replacement, a score is the logarithm of p; without replacement, it is the
 * logarithm of the probability of being among the n (csrc/encoders/sampler.h, nbest.h). */
int32_t unitok_sample_paths(const unitok_model *model, unitok_scratch *scratch,
                            const unitok_sampling *sampling, const uint8_t *text, int64_t n_bytes,
                            int64_t n, int32_t flags, unitok_paths **ret, unitok_error *error);

/* Computes the entropy of p ~ exp(alpha * score) over all paths of a Unigram model, in nats. */
int32_t unitok_entropy(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text,
                       int64_t n_bytes, double alpha, double *ret, unitok_error *error);

/* Returns k such that text[0..k) of an unfinished document can be encoded now: encoding it, and
 * then the rest with the resulting state, gives the ids of the complete document, whatever follows.
 * text[0] must be the start of the document or such a point. Returns 0 if no such point is known
 * yet, or the model is not complete. For LONGEST, k > 0 if n_bytes >= 2 * max_piece_bytes. */
int64_t unitok_split(const unitok_model *model, const uint8_t *text, int64_t n_bytes);
