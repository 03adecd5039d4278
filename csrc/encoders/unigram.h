/* unigram.h - the best path by score: the pieces that cover a text with the largest sum of scores
 * (SentencePiece, BytePiece, Hugging Face)
 *
 * Viterbi runs from left to right. The cell of each byte holds the best sum of a path that ends
 * there, and the last piece of that path:
 *
 *     text     t   h   e  SP   c   a   t
 *     cell   0   1   2   3   4   5   6   7        cell: | sum | value of the last piece |
 *            |---"th"--->|---"e SP"->|            candidates are offered in ascending order of start; ties keep
 *            |-----"the"---->|                    the first, so the longest last piece wins a tie
 *
 * The references add floating-point scores over the complete text, so their result can depend on
 * the running sum S before a segment. There are three ways to encode, which produce the same ids:
 *
 *     unigram_segment    a short segment from S, in the reference's own arithmetic
 *     unigram_exact      the same segment from 0, with the largest |S| for which unigram_segment finds the same path
 *     unigram_advance    a text of any length, part by part
 *
 * unigram_dp.h proves that unigram_exact is correct.
 *
 * Text is normalized, and compact if spaces are escaped (token.h). An invalid lead byte before a
 * U+2581 therefore spans different bytes than in sentencepiece; only a user-defined piece can
 * introduce one into normalized text. Positions are characters, whose sizes follow from their lead
 * bytes alone, or bytes (UNITOK_BYTES). */
#pragma once

#include "encoders/automaton.h"
#include "encoders/charwise.h"
#include "encoders/endings.h"
#include "encoders/token.h"
#include "structures/trie.h"

/* Longer pieces are rejected, because a walk at each position of a text can be as long as the
 * longest piece. */
#ifndef UNIGRAM_PIECE_BYTES_MAX
#define UNIGRAM_PIECE_BYTES_MAX 4096
#endif

/* Larger scores are rejected, so that float32 sums, which restart after each such score, stay
 * finite. */
#define UNIGRAM_SCORE_MAX 1e30

/* the longest segment of unigram_exact and unigram_segment */
#define UNIGRAM_SEGMENT_BYTES 31

/* A limit counts steps of |S|: a path holds while |S| < limit * UNIGRAM_LIMIT_STEP. A limit fits in
 * 12 bits. */
#define UNIGRAM_LIMIT_STEP 32
#define UNIGRAM_LIMIT_ALWAYS 4095 /* float64 only: valid while |S| < UNIGRAM_SUM_MAX */
#define UNIGRAM_SUM_MAX 8589934592.0

typedef struct unigram {
    trie trie;         /* values are 1..n_pieces, in the order of the compact pieces; 0: none */
    float *scores32;   /* [0..n_pieces], by value; NULL if is_float64 */
    double *scores64;  /* used instead of scores32 if is_float64 */
    int32_t *ids;      /* [0..n_pieces], by value */
    uint32_t *lengths; /* [0..n_pieces], by value, in bytes of the compact piece */
    /* The score that a token adds to the sum, [0..n_ids - 1] by id. An unknown character encoded as
     * byte pieces (type BYTE) has one score, which its first byte adds; the others add 0. */
    float *id_scores32;
    double *id_scores64;
    /* The most by which one id of a memo entry can change the sum, including rounding: the largest
     * |score| that a limit allows, plus 2^-7. That is the spacing of floats below 2^17, twice the
     * rounding error; for doubles below 2^33, the error is far smaller. Entries are invalid for
     * larger sums anyway. */
    double largest_step;
    /* the largest |score| of a piece that can match or of an unknown character */
    double largest_score;
    double unknown_score; /* representable in float32 unless is_float64 */
    /* the sizes of characters: 4 bits for each high nibble of a lead byte */
    uint64_t char_bytes;
    int64_t n_pieces; /* the number of pieces that can match */
    int64_t n_ids;
    int64_t max_piece_bytes; /* the longest compact piece; 0 if there is none */
    int32_t is_float64;
    int32_t unknown_is_low; /* no piece of one character scores less than an unknown character */
    uint64_t *units, *heads;
    uint32_t *singles;
    automaton *automaton; /* NULL if the model has none */
    endings *endings;     /* for float32 models in which many pieces cross spaces, else NULL */
    /* for float32 models in which many pieces join characters of three bytes, else NULL */
    charwise *charwise;
    /* A bit for each byte c after a byte b in 80..BF. It is set if a piece of two or more bytes
     * begins with b c, if b alone is not a piece, or, without UNITOK_BYTES, if b is not a
     * position. */
    uint64_t pairs_inside[64][4];
} unigram;

/* Keeps the pieces that can match: NORMAL, USER_DEFINED, and with UNITOK_BYTE_PIECES_MATCH also
 * BYTE; pieces with a space only if spaces are not escaped. The spec must have passed
 * vocabulary_check. UNITOK_ERROR_VOCABULARY: a piece occurs twice or is too long, or a score is not
 * a number in -1e30..1e30. Keeps no reference to `spec`. */
int32_t unigram_new(const unitok_spec *spec, unigram **ret, unitok_error *error);
void unigram_free(unigram *m);
int64_t unigram_memory_bytes(const unigram *m);

/* |sum| in steps of UNIGRAM_LIMIT_STEP: a memo entry is valid if the result is < its limit. */
INLINE uint32_t unigram_steps(double sum)
{
    double size = sum < 0 ? -sum : sum;
    if (size < (UNIGRAM_LIMIT_ALWAYS - 1) * (double)UNIGRAM_LIMIT_STEP)
        return (uint32_t)size / UNIGRAM_LIMIT_STEP;
    return size < UNIGRAM_SUM_MAX ? UNIGRAM_LIMIT_ALWAYS - 1 : UNIGRAM_LIMIT_ALWAYS;
}

/* Encodes text[0..n_bytes-1], 0 < n_bytes <= UNIGRAM_SEGMENT_BYTES, as if all sums were exact;
 * tokens has space for n_bytes. Returns the number of tokens. While unigram_steps(S) < *ret_limit,
 * unigram_segment finds the same tokens from S, and the sum after it is S plus the tokens' scores,
 * added one by one in text order. A limit of 0 guarantees nothing. */
int64_t unigram_exact(const unigram *m, const uint8_t *text, int64_t n_bytes, token *tokens,
                      uint32_t *ret_limit);

/* Encodes text[0..n_bytes-1], 0 < n_bytes <= UNIGRAM_SEGMENT_BYTES. *io_sum is the running sum
 * before and after, a float unless is_float64. Returns the number of tokens; tokens has space for
 * n_bytes. */
int64_t unigram_segment(const unigram *m, const uint8_t *text, int64_t n_bytes, double *io_sum,
                        token *tokens);

/* The state of a text that is encoded part by part. Initialize to zeros. It belongs to one text at
 * a time, and to one model until it is freed. Its memory is proportional to the text whose tokens
 * are not settled: usually a few thousand bytes. If paths never meet, as in a long run of one
 * character that pieces of many lengths tile equally well, the state takes 10 to 20 bytes per byte
 * of text (sentencepiece: always 12). */
typedef struct unigram_path {
    void *cells; /* cells[0] is the position where the last emitted token ended */
    int64_t capacity, n_filled;
    int64_t at;        /* the cell of the next position */
    int64_t reach;     /* the last cell that is set */
    int64_t settle_at; /* the position at which to search for settled tokens: see unigram_advance */
    /* the tokens that the last call settled; ends count from the end of the previous call's
     * tokens */
    token *tokens;
    int64_t n_tokens, tokens_capacity;
    /* With endings: the automaton's state and places, and the position and the sum of the last
     * restart. */
    uint32_t state;
    endings_place *places;
    int64_t restarted;
    double restarted_from;
    /* the running sum at the end of the text, after the call that reached it */
    double sum;
} unigram_path;

/* Begins a text or a segment with the running sum `sum`. */
void unigram_begin(unigram_path *path, double sum);

/* Encodes part of text[0..n_bytes-1], which continues where the last call stopped, and returns how
 * many bytes it consumed, or -1 if allocation fails. Call it again with the rest, to which more
 * text can be appended, until everything is consumed. `is_last` means that the text ends after
 * n_bytes > 0; without it, the last max_piece_bytes are not consumed. After each call path->tokens
 * holds the tokens that were settled. After the last call, path->sum is the final sum, and path is
 * in the state that unigram_begin(path, path->sum) sets. O(n_bytes) over all calls that consume
 * something. */
int64_t unigram_advance(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes,
                        int is_last);

void unigram_path_free(unigram_path *path);
