/* unigram.h - the best path by score: which pieces cover a text with the largest sum
 * (SentencePiece, BytePiece, Hugging Face)
 *
 * Viterbi from left to right. A cell for every byte holds the best sum of a path that ends there
 * and its last piece:
 *
 *     text     t   h   e  SP   c   a   t
 *     cell   0   1   2   3   4   5   6   7        cell: | sum | value of the last piece |
 *            |---"th"--->|---"e SP"->|            candidates are offered by ascending start; the first of equals stays,
 *            |-----"the"---->|                    so of equal sums the longest last piece wins
 *
 * The references sum in floating point over the whole text, so their answer can depend on the
 * running sum S that a segment begins with. Three ways to encode, which give the same ids:
 *
 *     unigram_segment    a short segment from S, in the reference's own arithmetic
 *     unigram_exact      the same segment from 0, and up to what |S| its path is that of unigram_segment
 *     unigram_advance    a text of any length, part by part
 *
 * unigram_dp.h proves the second.
 *
 * Text is normalized, and compact where spaces are escaped (token.h). So an invalid lead byte
 * before a U+2581, which only a user-defined piece can bring into normalized text, takes other
 * bytes into its character than in sentencepiece. Positions are characters, counted by their lead
 * byte alone, or bytes (UNITOK_BYTES).
 */
#pragma once

#include "encoders/automaton.h"
#include "encoders/charwise.h"
#include "encoders/endings.h"
#include "encoders/token.h"
#include "structures/trie.h"

/* Longer pieces are refused: at every position of a text a walk may be as long as the longest of
 * them. */
#ifndef UNIGRAM_PIECE_BYTES_MAX
#define UNIGRAM_PIECE_BYTES_MAX 4096
#endif

/* Larger scores are refused: sums of these stay finite in float32, which restarts after each. */
#define UNIGRAM_SCORE_MAX 1e30

/* the longest segment of unigram_exact and unigram_segment */
#define UNIGRAM_SEGMENT_BYTES 31

/* A limit counts steps of |S|: a path holds while |S| < limit * UNIGRAM_LIMIT_STEP. 12 bits hold
 * it. */
#define UNIGRAM_LIMIT_STEP 32
#define UNIGRAM_LIMIT_ALWAYS 4095 /* float64 only: while |S| < UNIGRAM_SUM_MAX */
#define UNIGRAM_SUM_MAX 8589934592.0

typedef struct unigram {
    trie trie;         /* values are 1..n_pieces, in the order of the compact pieces; 0: none */
    float *scores32;   /* [0..n_pieces], by value; NULL if is_float64 */
    double *scores64;  /* the same if is_float64, else NULL */
    int32_t *ids;      /* [0..n_pieces], by value */
    uint32_t *lengths; /* [0..n_pieces], by value, in bytes of the compact piece */
    /* What a token adds to the sum, [0..n_ids - 1] by id. The byte pieces of an unknown
     * character (types BYTE) add together what the character does: the first byte all of it, the
     * others 0. */
    float *id_scores32;
    double *id_scores64;
    /* How far an id in a remembered path can move the sum, rounding included: the largest
     * |score| a limit allows, and 2^-7, twice half the space between floats below 2^17 (doubles
     * below 2^33: far less). A larger sum serves no entry. */
    double largest_step;
    /* the largest |score| of a piece that can match, and of an unknown character */
    double largest_score;
    double unknown_score; /* a float unless is_float64 */
    /* the bytes of a character, 4 bits for each upper half of a lead byte */
    uint64_t char_bytes;
    int64_t n_pieces; /* that can match */
    int64_t n_ids;
    int64_t max_piece_bytes; /* the longest compact piece; 0 if there is none */
    int32_t is_float64;
    int32_t unknown_is_low; /* no piece of one character scores less than an unknown one */
    uint64_t *units, *heads;
    uint32_t *singles;
    automaton *automaton; /* NULL: none */
    endings *endings;     /* float32, where many pieces cross spaces, else NULL */
    /* float32, where many pieces join characters of three bytes, else NULL */
    charwise *charwise;
    /* A bit for each byte c after a byte 80..BF: pieces of two bytes and more begin so, or the
     * first byte alone is not a piece or, without UNITOK_BYTES, not a position. */
    uint64_t pairs_inside[64][4];
} unigram;

/* Keeps what can match: NORMAL and USER_DEFINED pieces, BYTE with UNITOK_BYTE_PIECES_MATCH; those
 * with a space only where spaces are not escaped. The spec has passed vocabulary_check. Refuses
 * with UNITOK_ERROR_VOCABULARY a piece that occurs twice or is too long, and a score that is not a
 * number in -1e30..1e30. Keeps no reference to `spec`. */
int32_t unigram_new(const unitok_spec *spec, unigram **ret, unitok_error *error);
void unigram_free(unigram *m);
int64_t unigram_memory_bytes(const unigram *m);

/* The steps of UNIGRAM_LIMIT_STEP in |sum|: a remembered path holds if this is < its limit. */
INLINE uint32_t unigram_steps(double sum)
{
    double size = sum < 0 ? -sum : sum;
    if (size < (UNIGRAM_LIMIT_ALWAYS - 1) * (double)UNIGRAM_LIMIT_STEP)
        return (uint32_t)size / UNIGRAM_LIMIT_STEP;
    return size < UNIGRAM_SUM_MAX ? UNIGRAM_LIMIT_ALWAYS - 1 : UNIGRAM_LIMIT_ALWAYS;
}

/* Encodes text[0..n_bytes-1], 0 < n_bytes <= UNIGRAM_SEGMENT_BYTES, as if all sums were exact;
 * tokens has room for n_bytes. Returns the number of tokens. While unigram_steps(S) < *ret_limit,
 * unigram_segment gives the same tokens from S, and S becomes the sum of S and the tokens' scores,
 * added one by one in the order of the text; 0 promises nothing. */
int64_t unigram_exact(const unigram *m, const uint8_t *text, int64_t n_bytes, token *tokens,
                      uint32_t *ret_limit);

/* Encodes text[0..n_bytes-1], 0 < n_bytes <= UNIGRAM_SEGMENT_BYTES, from the running sum *io_sum,
 * and leaves there the sum after it; both are floats unless is_float64. Returns the number of
 * tokens; tokens has room for n_bytes. */
int64_t unigram_segment(const unigram *m, const uint8_t *text, int64_t n_bytes, double *io_sum,
                        token *tokens);

/* The state of a text that is encoded part by part. Starts zeroed; belongs to one text at a time,
 * and to one model unless freed in between. Memory is O(what no later text has settled yet): some
 * thousand bytes, unless paths never meet, as in a long run of one character that pieces of many
 * lengths tile equally well: 10 to 20 bytes a byte there (sentencepiece: 12 in every text). */
typedef struct unigram_path {
    void *cells; /* cells[0] is where the last token given out ended */
    int64_t n_room, n_filled;
    int64_t at;        /* the cell whose position comes next */
    int64_t reach;     /* no cell after this one is set */
    int64_t settle_at; /* look for settled tokens when `at` gets here: see unigram_advance */
    /* what the last call settled; ends count from where the tokens of the call before ended */
    token *tokens;
    int64_t n_tokens, tokens_room;
    /* With endings: their state and places, and where and from which sum the sums restarted
     * last. */
    uint32_t state;
    endings_place *places;
    int64_t restarted;
    double restarted_from;
    /* the running sum where the text ended, after the call that came to its end */
    double sum;
} unigram_path;

/* Begins a text, or a segment, with the running sum `sum`. */
void unigram_begin(unigram_path *path, double sum);

/* Takes some of text[0..n_bytes-1], which lies where the last call stopped, and returns how much,
 * or -1 when memory is short. Call it with the rest, and with more text appended, until all is
 * taken; `is_last` says that the text ends after n_bytes > 0, and is needed to take the last
 * max_piece_bytes. After each call path->tokens holds what was settled. When the end has been
 * taken, all tokens have been given out, path->sum is the sum, and path is as unigram_begin(path,
 * path->sum) leaves it. O(n_bytes) over all calls that take something. */
int64_t unigram_advance(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes,
                        int is_last);

void unigram_path_free(unigram_path *path);
