/* charwise.h - the best path of a float32 Unigram model, character by character, for Japanese and
 * Chinese
 *
 * A Japanese character takes three bytes; in a trie of bytes, each byte costs a dependent load and
 * an unpredictable branch. Here each step reads a complete character. The characters of pieces are
 * numbered, frequent ones first, and the child of a node for character number c is node base + c if
 * the label there is c. A node stores the piece that ends there and its score. The first character
 * is looked up in a table:
 *
 *     text       東        京        都        に
 *     numbers    812       95        407       3
 *                firsts[812] ──base + 95──▶ nodes[…] ──base + 407──▶ nodes[…] ──base + 3──▶ another label: the end
 *                "東"                      "東京"                   "東京都"
 *
 * Invariant: no two nodes share a base, so a matching label shows that the node there is a child of
 * this one. A node without children has base 0.
 *
 * From every character, three steps are taken without a branch: a mismatch leads to node 0, whose
 * score never wins. Only about one walk in ten continues beyond that. The sums of the next three
 * positions stay in registers; later ones are in cells:
 *
 *     cells      here   +1     +2     +3     +4 ...
 *     sums       sum    near   next   far    in memory, until `far` reaches them
 *
 * Sums are added, compared and restarted as in the reference (unigram_dp.h): candidates are tried
 * in ascending order of start, and ties go to the first. */
#pragma once

#include "encoders/token.h"
#include "ground/common.h"

#define CHARWISE_PIECE_CHARS_MAX 255
#define CHARWISE_UNKNOWN 0xFFFFFFu /* instead of an id */
#define CHARWISE_BYTES 4096        /* the maximum number of bytes in one call */
#define CHARWISE_AHEAD 8           /* how many characters ahead second nodes are prefetched */
#define CHARWISE_SEGMENT 4         /* average bytes per segment: see charwise_is_next */
#define CHARWISE_SHARE 4           /* one byte in 4 must begin a kana or Chinese character */
#define CHARWISE_TURN_BYTES 32768
#define CHARWISE_RESTART_ABOVE 100000.0f /* sentencepiece 0.2.3 */

typedef struct charwise_node {
    uint32_t base;
    uint16_t label;    /* 0: unused */
    uint16_t children; /* a filter: bit number & 15 is set for each child */
    float score;       /* -INFINITY: no piece ends here */
    uint32_t piece;    /* id << 8 | characters */
} charwise_node;

typedef struct charwise {
    charwise_node *nodes; /* [0..n_nodes-1]; nodes[0] is the mismatch node */
    /* [0..n_numbers-1], by the number of the first character; unknown if it is not a piece */
    charwise_node *firsts;
    uint16_t *numbers; /* [0..n_code_points-1]; 0: not in any piece */
    int64_t n_nodes, n_numbers, n_code_points;
    int64_t max_piece_chars;
} charwise;

/* The pieces that can match, sorted, with scores[1..n_pieces] and ids[1..n_pieces]. */
typedef struct charwise_pieces {
    const uint8_t *bytes;
    const int64_t *offsets; /* [0..n_pieces] */
    const float *scores;
    const int32_t *ids;
    int64_t n_pieces;
    float unknown_score;
} charwise_pieces;

/* Sets *ret to NULL if the tables would not help (few pieces join characters of three bytes) or
 * cannot be built (a piece is not UTF-8 or has too many characters, or there are too many
 * characters or ids). Returns 0 if allocation fails. O(bytes of pieces), plus the search for free
 * nodes. */
int charwise_new(const charwise_pieces *pieces, charwise **ret);
void charwise_free(charwise *c);
int64_t charwise_memory_bytes(const charwise *c);

typedef struct charwise_cell {
    float sum;
    uint32_t piece; /* the last piece of the best path to here */
} charwise_cell;

typedef struct charwise_work {
    int64_t left_bytes; /* see charwise_is_next */
    charwise_cell cells[CHARWISE_BYTES + CHARWISE_PIECE_CHARS_MAX + 4];
    uint16_t numbers[CHARWISE_BYTES + CHARWISE_AHEAD + 4];
    uint16_t starts[CHARWISE_BYTES + 1]; /* the positions of the characters, in bytes */
    token tokens[CHARWISE_BYTES];
} charwise_work;

/* Encodes text[0..n_bytes-1], 0 < n_bytes <= CHARWISE_BYTES. *io_sum is the running sum before and
 * after. Returns the number n of tokens, which are work->tokens[CHARWISE_BYTES - n...]; 0 if the
 * text is not UTF-8. */
int64_t charwise_path(const charwise *c, const uint8_t *text, int64_t n_bytes, float *io_sum,
                      charwise_work *work);

/* Whether text[0..n_bytes-1] is mostly kana and Chinese characters (U+3000..U+9FFF). Korean is
 * excluded because its words recur, so the memo is faster. */
INLINE int charwise_is_for(const uint8_t *text, int64_t n_bytes)
{
    int64_t n_chars = 0;
    for (int64_t i = 0; i + 64 <= n_bytes; i += 64) {
        uint8_t n = 0;
        for (int64_t k = 0; k < 64; k++) n = (uint8_t)(n + ((uint8_t)(text[i + k] - 0xE3) < 7));
        n_chars += n;
    }
    return n_chars * CHARWISE_SHARE > n_bytes;
}

/* Whether this walk is faster than the memo for such a text with n_cuts cuts. The walk is slower if
 * segments are so short that they recur. After a result of 1, the next CHARWISE_TURN_BYTES of text
 * for which charwise_is_for holds need no scan for cuts. */
INLINE int charwise_is_next(charwise_work *work, const uint8_t *text, int64_t n_bytes,
                            int64_t n_cuts)
{
    int is_next = n_cuts * CHARWISE_SEGMENT <= n_bytes && charwise_is_for(text, n_bytes);
    work->left_bytes = is_next ? CHARWISE_TURN_BYTES : 0;
    return is_next;
}
