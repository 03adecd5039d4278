/* unitok.h - the whole public C API of the library under pyunitok
 *
 * cffi reads this file as it stands, so it includes nothing and defines only constants: include <stdint.h> first
 * (common.h does). Sections: Basics, Model, Encode, Decode, Documents, HAT-trie.
 *
 * Conventions
 *   - The packed list. `data` + `offsets[0..n]`: item i is data[offsets[i]..offsets[i+1]). Documents, pieces and token
 *     sequences all have this shape. offsets are int64, do not decrease, and offsets[0] >= 0.
 *   - A function that can fail returns an enum unitok_status and fills *error (which may be NULL) when that is not
 *     UNITOK_OK. What it creates comes back through `ret`, untouched on failure.
 *   - Sizes are in bytes and called n_bytes; counts of anything else name it (n_docs, n_ids).
 *   - Models are immutable after unitok_model_new/load and may be shared by any number of threads. A scratch belongs to
 *     one call at a time. The library keeps no global state, does no I/O and starts no thread.
 */
#pragma once

/* ------------------------------------------------------------------------------------------------ Basics ---- */

enum unitok_status {
    UNITOK_OK = 0,
    UNITOK_ERROR_MEMORY = 1,     /* an allocation failed; nothing was changed, unless said otherwise */
    UNITOK_ERROR_ARGUMENT = 2,   /* an argument is outside its documented range */
    UNITOK_ERROR_VOCABULARY = 3, /* these pieces make no vocabulary; `item` is the piece at fault, or -1 */
    UNITOK_ERROR_FORMAT = 4,     /* these bytes are no native model; `position` is the byte at fault */
    UNITOK_ERROR_ID = 5,         /* an id has no piece; `item` is the id, `position` its index in the array */
    UNITOK_ERROR_CPU = 6         /* this processor or this build lacks the instruction set asked for */
};

typedef struct unitok_error {
    int32_t status;      /* an enum unitok_status */
    int64_t item;        /* which piece, document or id; -1 where that has no meaning */
    int64_t position;    /* which byte or index; -1 where that has no meaning */
    const char *message; /* a static sentence in plain words; never NULL after a failure, never freed */
} unitok_error;

/* Instruction sets, oldest first within a family. AUTO takes the best that this processor has. */
enum unitok_cpu {
    UNITOK_CPU_AUTO = -1,
    UNITOK_CPU_PORTABLE = 0, /* plain C11, always there */
    UNITOK_CPU_SSE2 = 1,
    UNITOK_CPU_AVX2 = 2,   /* with BMI and BMI2 */
    UNITOK_CPU_AVX512 = 3, /* F, DQ, BW, VL, VBMI and VBMI2 */
    UNITOK_CPU_NEON = 4
};

/* 1 if this build and this processor can run `cpu` (an enum unitok_cpu), else 0. */
int32_t unitok_cpu_supported(int32_t cpu);

/* ------------------------------------------------------------------------------------------------- Model ---- */

/* What finds the longest piece. Ids never depend on it. */
enum unitok_engine {
    UNITOK_ENGINE_DOUBLE_ARRAY = 0, /* frozen, fastest, can be saved */
    UNITOK_ENGINE_HAT = 1           /* the growable HAT-trie that vocabularies are built in */
};

#define UNITOK_ID_MAX 65535

typedef struct unitok_model unitok_model;

typedef struct unitok_model_info {
    int64_t n_pieces;        /* pieces that can match in a text */
    int64_t n_ids;           /* 1 + the largest id, eod and fallback included */
    int64_t eod_id;          /* end of document, or -1 */
    int64_t fallback_id;     /* what a byte becomes that no piece covers, or -1 where all 256 bytes are pieces */
    int64_t max_piece_bytes; /* the longest piece: the look-ahead that greedy needs */
    int64_t memory_bytes;    /* what the model holds, mapped bytes included */
    int64_t trie_bytes;      /* of these, the engine */
    int32_t engine;          /* an enum unitok_engine */
    int32_t cpu;             /* the enum unitok_cpu in use, never AUTO */
} unitok_model_info;

/* Builds a greedy longest-prefix model.
 *   data, offsets[0..n_pieces]   the pieces, any bytes, none empty, none twice
 *   ids[0..n_pieces-1]           their ids, 0..UNITOK_ID_MAX, none twice
 *   eod_id, fallback_id          -1..UNITOK_ID_MAX; each may be a piece's id or one of its own
 *   engine, cpu                  enum unitok_engine, enum unitok_cpu
 * Fails with UNITOK_ERROR_VOCABULARY where a rule above is broken, or where a byte has no piece and fallback_id is -1.
 * Nothing passed in is kept. Cost: O(bytes of pieces); 65,529 pieces take some 30 ms. */
int32_t unitok_model_new(const uint8_t *data, const int64_t *offsets, const int64_t *ids, int64_t n_pieces,
                         int64_t eod_id, int64_t fallback_id, int32_t engine, int32_t cpu, unitok_model **ret,
                         unitok_error *error);

/* Opens a native model that lies in memory, 8-byte aligned. `bytes[0..n_bytes-1]` must stay unchanged for the life of
 * the model, which reads its tables in place. Every index in the file is checked: hostile bytes give
 * UNITOK_ERROR_FORMAT, never an access outside `bytes`. What follows the image is ignored. The checksum is for the
 * caller to compare: see UNITOK_NATIVE_CHECKSUM_AT. */
int32_t unitok_model_load(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu, unitok_model **ret,
                          unitok_error *error);

/* Writes the native form to out[0..capacity-1] with a checksum field of zero and returns its size; with capacity
 * smaller than that, writes nothing and returns the size needed. Works for every engine; -1 when memory is short. */
int64_t unitok_model_save(const unitok_model *model, uint8_t *out, int64_t capacity);

/* Where a native file keeps its XXH64 (seed 0, little-endian u64), and where the bytes begin that it covers (to the end). */
#define UNITOK_NATIVE_CHECKSUM_AT 16
#define UNITOK_NATIVE_CHECKED_FROM 24

void unitok_model_get_info(const unitok_model *model, unitok_model_info *ret);
void unitok_model_free(unitok_model *model);

/* The bytes of piece `id`; *ret_n_bytes is -1 (and the result NULL) if that id has no piece. The memory is the model's. */
const uint8_t *unitok_model_piece(const unitok_model *model, int64_t id, int64_t *ret_n_bytes);

/* All pieces by id, in the model's memory: piece `id` is data[offsets[id]..offsets[id + 1]), id < n_ids; empty if none. */
void unitok_model_pieces(const unitok_model *model, const uint8_t **ret_data, const uint32_t **ret_offsets);

/* The id of exactly these bytes, or -1. */
int64_t unitok_model_find(const unitok_model *model, const uint8_t *piece, int64_t n_bytes);

/* ------------------------------------------------------------------------------------------------ Encode ---- */

/* What a thread needs to encode: the memo of segments already met, and buffers. Belongs to the model it was made for
 * (which must outlive it) and to one call at a time. NULL when memory is short. */
typedef struct unitok_scratch unitok_scratch;
unitok_scratch *unitok_scratch_new(const unitok_model *model);
void unitok_scratch_free(unitok_scratch *scratch);
int64_t unitok_scratch_memory_bytes(const unitok_scratch *scratch);
/* Forgets the segments met, as if new: for measurements. */
void unitok_scratch_clear(unitok_scratch *scratch);

enum unitok_encode_flags {
    UNITOK_ENCODE_PLAIN = 1,   /* without cuts and memo: the same ids, slower; for tests and measurements */
    UNITOK_ENCODE_OPEN_END = 2 /* the last document goes on after this batch: it gets no eod */
};

/* An array for ids must have room for every byte and every eod, and this many more. */
#define UNITOK_ENCODE_SLACK 16

/* Encodes one document: ids[0..result-1]. Never fails. O(n_bytes) on any bytes.
 * ids must have room for n_bytes + UNITOK_ENCODE_SLACK. */
int64_t unitok_encode(const unitok_model *model, unitok_scratch *scratch, const uint8_t *text, int64_t n_bytes,
                      uint16_t *ids);

/* Like unitok_encode, and ends[k] is where token k ends, in bytes from the start of the text. Slower: no memo. */
int64_t unitok_encode_ends(const unitok_model *model, const uint8_t *text, int64_t n_bytes, uint16_t *ids,
                           int64_t *ends);

/* Encodes a packed list of documents into a packed list of ids: id_offsets[0..n_docs], id_offsets[0] = 0. Each document
 * is followed by eod_id unless that is -1. ids must have room for offsets[n_docs] - offsets[0] + UNITOK_ENCODE_SLACK, and
 * with an eod_id for n_docs more. Fails only on bad arguments. */
int32_t unitok_encode_batch(const unitok_model *model, unitok_scratch *scratch, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags, uint16_t *ids,
                            int64_t *id_offsets, unitok_error *error);

/* How much of an unfinished document can be encoded now: for the result k, encoding text[0..k) and then the rest, with
 * whatever follows it, gives the ids of the whole. k > 0 if n_bytes >= 2 * max_piece_bytes. Starts must be such points too
 * (0 is). Takes the last proven cut; where there is none, the last token boundary that more text cannot move. */
int64_t unitok_split(const unitok_model *model, const uint8_t *text, int64_t n_bytes);

/* ------------------------------------------------------------------------------------------------ Decode ---- */

/* Decodes a packed list of ids into a packed list of bytes: byte_offsets[0..n_docs], byte_offsets[0] = 0.
 *   drop_last      1: the last id of each document is its eod, which is left out by position whatever its value
 *   separator      n_separator_bytes bytes that follow each document
 *   out, capacity  with capacity too small (0 to ask) nothing is written to out, and byte_offsets holds the sizes
 * byte_offsets[n_docs] is the size needed. An eod or fallback id without a piece decodes to nothing and to U+FFFD.
 * UNITOK_ERROR_ID names the first id that is out of range or has no piece. */
int32_t unitok_decode_batch(const unitok_model *model, const uint16_t *ids, const int64_t *id_offsets, int64_t n_docs,
                            int32_t drop_last, const uint8_t *separator, int64_t n_separator_bytes, uint8_t *out,
                            int64_t capacity, int64_t *byte_offsets, unitok_error *error);

/* --------------------------------------------------------------------------------------------- Documents ---- */

/* Cuts text into documents at a separator and closes the gaps, in place. text[0..n_bytes-1] becomes the documents laid
 * end to end; offsets[0..result] are their bounds (offsets[0] = 0) and offsets has room for max_docs + 1. The last
 * document is what follows the last separator found, and may be empty. After max_docs - 1 separators it stops looking:
 * *ret_n_consumed says how much of the input was read (n_bytes unless it stopped); the rest is not moved.
 * Returns the number of documents, at least 1; max_docs >= 2, n_separator_bytes >= 1. O(n_bytes) for any separator. */
int64_t unitok_split_documents(uint8_t *text, int64_t n_bytes, const uint8_t *separator, int64_t n_separator_bytes,
                               int64_t *offsets, int64_t max_docs, int64_t *ret_n_consumed);

/* Unescapes JSON strings (RFC 8259), each with its quotes, laid end to end and nothing between them: a packed list of the
 * UTF-8 that they stand for. out has room for n_bytes, offsets for n_strings + 1; neither overlaps json.
 * Returns n_strings, or the number of strings before the first that is not right: no string, unfinished, with a control
 * character, an escape that is none, half a surrogate pair, or bytes that are no UTF-8. O(n_bytes). */
int64_t unitok_json_unescape(const uint8_t *json, int64_t n_bytes, int64_t n_strings, uint8_t *out, int64_t *offsets);

/* ---------------------------------------------------------------------------------------------- HAT-trie ---- */

/* A growable ordered map from byte strings to int64: a burst trie over array hashes (Askitis and Sinha, "HAT-trie: a
 * cache-conscious trie-based data structure for strings", 2007). Keys may be empty and hold any byte, up to
 * UNITOK_HAT_KEY_MAX_BYTES. Not for concurrent writers. */
typedef struct unitok_hat unitok_hat;
typedef struct unitok_hat_walk unitok_hat_walk;

#define UNITOK_HAT_KEY_MAX_BYTES 1048576

enum unitok_hat_mode {
    UNITOK_HAT_SET = 0,   /* a key already there takes the new value */
    UNITOK_HAT_ADD = 1,   /* a key already there has the value added to its own (wraps as uint64) */
    UNITOK_HAT_UNIQUE = 2 /* a key already there is UNITOK_ERROR_ARGUMENT, `item` its index; those before it stay in */
};

int32_t unitok_hat_new(unitok_hat **ret, unitok_error *error);
void unitok_hat_free(unitok_hat *hat);
int64_t unitok_hat_count(const unitok_hat *hat);
/* Every byte the trie holds from the allocator. */
int64_t unitok_hat_memory_bytes(const unitok_hat *hat);

/* Inserts keys data, offsets[0..n_keys] with values[0..n_keys-1]. After UNITOK_ERROR_MEMORY the keys before `item` are
 * in, the others are not, and the trie is as valid as before. Amortised O(key bytes). */
int32_t unitok_hat_insert(unitok_hat *hat, const uint8_t *data, const int64_t *offsets, const int64_t *values,
                          int64_t n_keys, int32_t mode, unitok_error *error);

/* values[i] = the value of key i and found[i] = 1, or 0 and 0. Returns how many were found. */
int64_t unitok_hat_find(const unitok_hat *hat, const uint8_t *data, const int64_t *offsets, int64_t n_keys,
                        int64_t *values, uint8_t *found);

/* Removes the keys; returns how many were there. Memory may stay with the trie. */
int64_t unitok_hat_erase(unitok_hat *hat, const uint8_t *data, const int64_t *offsets, int64_t n_keys);

/* The longest key that begins text[0..n_bytes-1]: its length and *ret_value; -1 if there is none. The empty key counts. */
int64_t unitok_hat_longest_prefix(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes, int64_t *ret_value);

/* All keys that begin the text, shortest first: lengths[k], values[k] for the first `capacity`; returns how many there are. */
int64_t unitok_hat_prefixes(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes, int64_t *lengths,
                            int64_t *values, int64_t capacity);

/* Walks the keys that begin with prefix[0..n_prefix_bytes-1] in byte order. The trie must not change during a walk. */
int32_t unitok_hat_walk_new(const unitok_hat *hat, const uint8_t *prefix, int64_t n_prefix_bytes,
                            unitok_hat_walk **ret, unitok_error *error);
/* The next keys, whole, as a packed list: data[0..capacity-1], offsets[0..result], values[0..result-1]; at most max_keys,
 * which is at least 1. Returns 0 at the end; -1 if the next key alone does not fit (call again with
 * UNITOK_HAT_KEY_MAX_BYTES of room); -2 if memory is short. After -1 and -2 the walk stands where it was. */
int64_t unitok_hat_walk_next(unitok_hat_walk *walk, uint8_t *data, int64_t capacity, int64_t *offsets, int64_t *values,
                             int64_t max_keys);
void unitok_hat_walk_free(unitok_hat_walk *walk);
