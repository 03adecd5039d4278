/* lanes.h - greedy longest prefix over four parts of a text in turn, a byte of each, without a
 * branch
 *
 * Where pieces cross spaces there are few cuts, segments are long and rarely recur, and the text
 * must be walked. A walk waits: for the unit of every byte, and at the end of nearly every token
 * for a branch that was mispredicted. Four walks in different parts of the text wait together. One
 * step of a lane:
 *
 *     text     ...  o  f  _  t  h  u  s ...
 *                   |        |     |
 *                 start    best    at       the longest piece so far ends at `best`; the byte at `at` is next
 *
 *     the node has a child by text[at]   follow it; if a piece ends there, that is the best one now
 *     it has none                        the best piece is a token; the next walk starts at its end, with its first
 *                                        two bytes answered by a table
 *
 * Both outcomes are computed and one is picked by conditional moves. Units are half as large as
 * those of trie.h, and ids are apart from them, so that what a text needs stays in the cache:
 *
 *     unit     31 ............... 10        9          8     7 ..... 0
 *              base of the children     no piece     free    label c
 *                                       ends here
 *
 *     (unit ^ c) & LANE_FITS is 0 where the label fits, (unit ^ c) & LANE_PIECE_FITS where a piece ends there, too.
 *
 *     token    63 ............... 32    31 ...................... 0
 *              where it ends            unit of its last byte, or n_units + the byte if it has one: index of its id
 *
 * Only the first lane knows that a token starts where it does. But greedy soon forgets where it
 * started: the tokens of a part are right from the first boundary on that the tokens before it
 * reach as well. Up to there the text is walked again, alone:
 *
 *     lane 0   |of |the |qui|ck |bro
 *     lane 1                        w|n |fox |...     the part begins inside a token
 *     alone                     |brown |fox            both reach the boundary after "brown ", so "fox " is right
 */
#pragma once

#include "structures/trie.h"

#define LANE_FITS 0x1FF
#define LANE_PIECE_FITS 0x3FF
#define LANE_NO_PIECE 0x200
#define LANE_BASE_SHIFT 10

#define LANES 4
/* encoded at a time: large, because the lanes do not end together */
#define LANES_SPAN_BYTES 32768
#define LANES_LEAST_BYTES 1024 /* shorter texts gain nothing */

/* Lanes or memo? The lanes take the same time for any text, the memo walks alone what it does not
 * hold. With more cuts than one in LANES_SHORT_SEGMENT bytes it holds nearly all, with fewer than
 * one in LANES_LONG_SEGMENT little. In between the text tells: after LANES_TRIAL_BYTES through the
 * memo, the lanes take their turn if it held too few of them, and with each trial that ends so a
 * longer one. What may be missed errs to the memo: in its first trials it misses up to twice as
 * much as later, and changing often is slower than either, because the memo forgets what is new
 * meanwhile. */
#define LANES_SHORT_SEGMENT 4
#define LANES_LONG_SEGMENT 8
#define LANES_TRIAL_BYTES (256 << 10)
#define LANES_TURN_BYTES (1 << 20) /* the first turn */
#define LANES_TURN_MAX (16 << 20)
#define LANES_MISSED 7 /* their turn comes if more than one in so many bytes was missed */

typedef struct lanes_turn {
    /* of the trial: went through the memo; were not in it */
    int64_t tried_bytes, missed_bytes;
    int64_t left_bytes; /* of the lanes' turn */
    int64_t turn_bytes; /* how long it is, 0 after a trial that the memo won */
} lanes_turn;

/* The state after the two bytes that a walk starts with. */
typedef struct lane_head {
    uint64_t token; /* the longest piece so far; its end counts from the start of the walk */
    uint64_t base;  /* 0: no longer piece begins so */
} lane_head;

typedef struct lanes {
    const trie *trie;
    lane_head *heads;
    uint32_t *units;   /* [0..n_units - 1] */
    uint16_t *ids;     /* [0..n_units + 255]: of units, then of single bytes */
    uint16_t *head_of; /* [first byte + 256 * second byte], an index into heads */
    int64_t memory_bytes;
} lanes;

/* Can a trie whose ids have id_bytes be walked this way? Its bases must fit. */
INLINE int lanes_fit(const trie *t, int32_t id_bytes)
{
    return id_bytes == 2 && t->n_units <= 1 << 22;
}

/* The token at text[0]: its id, and its length; n_bytes >= 1. What trie_longest gives, but from the
 * smaller units, which leave more of the cache to the memo: 3 to 13 % faster for what the memo
 * misses in Latin script. */
INLINE uint16_t lanes_next(const lanes *l, const uint8_t *text, int64_t n_bytes,
                           int64_t *ret_n_bytes)
{
    if (UNLIKELY(n_bytes < 2)) {
        *ret_n_bytes = 1;
        return (uint16_t)(l->trie->singles[text[0]] - 1);
    }
    uint64_t head = l->trie->heads[load_u16(text)];
    uint64_t base = head_base(head), best = 0;
    int64_t length = head_length(head);
    for (int64_t i = 2; i < n_bytes; i++) {
        uint64_t to = base ^ text[i];
        uint32_t differs = l->units[to] ^ text[i];
        if (differs & LANE_FITS) break;
        base = differs >> LANE_BASE_SHIFT;
        if (!(differs & LANE_NO_PIECE)) {
            best = to;
            length = i + 1;
        }
    }
    *ret_n_bytes = length;
    return best ? l->ids[best] : (uint16_t)(head_value(head) - 1);
}

/* From a trie that lanes_fit and that lives as long; free with mem_free. NULL when memory is short.
 * O(n_units). */
lanes *lanes_new(const trie *t);

/* Are the next n_bytes, with so many cuts, for the lanes? */
INLINE int lanes_are_next(lanes_turn *t, int64_t n_bytes, int64_t n_cuts)
{
    if (n_bytes < LANES_LEAST_BYTES || n_cuts * LANES_SHORT_SEGMENT > n_bytes) return 0;
    if (n_cuts * LANES_LONG_SEGMENT < n_bytes) return 1;
    if (t->tried_bytes >= LANES_TRIAL_BYTES) {
        int64_t longer = t->turn_bytes ? 2 * t->turn_bytes : LANES_TURN_BYTES;
        if (longer > LANES_TURN_MAX) longer = LANES_TURN_MAX;
        t->turn_bytes = t->missed_bytes * LANES_MISSED > t->tried_bytes ? longer : 0;
        t->left_bytes = t->turn_bytes;
        t->tried_bytes = t->missed_bytes = 0;
    }
    return t->left_bytes > 0;
}

/* Encodes text[0..n_bytes-1], LANES_LEAST_BYTES <= n_bytes, which begins where a token does: all of
 * it, or about LANES_SPAN_BYTES of a longer text, up to the end of a token. Returns how much.
 * tokens has room for LANES_SPAN_BYTES. */
int64_t lanes_encode(const lanes *l, const uint8_t *text, int64_t n_bytes, uint64_t *tokens,
                     uint16_t *ids, int64_t *ret_n_ids);
