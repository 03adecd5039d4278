/* automaton.h - the best path of a byte Unigram model (BytePiece) in one pass, where the memo holds
 * too little
 *
 * Pieces that cross spaces leave few cuts, so segments are long and seldom recur. Walking the trie
 * from every byte takes five steps a byte, a mispredicted branch and some cache misses. Aho and
 * Corasick's automaton reads each byte once or twice instead. Its state is the longest suffix of
 * the text so far that begins a piece:
 *
 *     text       o   f  SP   t   h   e        the pieces that end here, longest first:
 *     state      o  of  of_  _t  _th _the     "SP the", "the", "he", "e"
 *                                   └─ has no child by the next byte? then its own longest suffix is tried: "the"
 *
 * Both outcomes of a step are computed and one is picked, in four places of the text in turn, as in
 * lanes.h. A place needs no cut to begin at: after as many bytes as the longest piece has, the
 * state does not depend on where it began.
 *
 * Then the best path is found from left to right, in the reference's own arithmetic: at each byte,
 * of the pieces that end there, the first of the best sums. The record of the longest piece has the
 * first five of them, in one line of the cache, which was prefetched when the state was found; the
 * single byte has a table of its own:
 *
 *     record   | 5 scores ........................ | 5 pieces ............ | more |    more: the record of the sixth
 *     piece    31 .............. 24   23 ..... 0
 *              256 - its length       id
 *
 *     unit     63 .................... 32   31 ........ 9    8     7 ... 0
 *              longest piece that ends here   base           free   label
 *
 * A state without children has its suffix's base, which saves a step. States with the same base
 * continue alike, so the base is all that the next step needs to know.
 */
#pragma once

#include "structures/trie.h"

#define AUTOMATON_CHUNK_BYTES 4096 /* at most so much text at a time */
#define AUTOMATON_PIECE_BYTES_MAX 255
#define AUTOMATON_ENDS 5

/* The automaton or the memo? The automaton takes the same time for any text; the memo is faster
 * where it holds most of it, which it does not where segments are longer than
 * AUTOMATON_LONG_SEGMENT on average. Each AUTOMATON_WINDOW_BYTES decide about as many to come: a
 * memo that sees only every other chunk holds less. */
#define AUTOMATON_LONG_SEGMENT 8
#define AUTOMATON_WINDOW_BYTES (64 << 10)

typedef struct automaton_turn {
    int64_t n_bytes, n_cuts; /* of this window */
    int is_on;
} automaton_turn;

typedef struct automaton_ends {
    double scores[AUTOMATON_ENDS]; /* -INFINITY beyond the last, of length 256 */
    uint32_t pieces[AUTOMATON_ENDS];
    uint32_t more;
} automaton_ends;

typedef struct automaton {
    uint64_t *units; /* [0..n_units), where the trie has them */
    /* [0..n_units), by base: the suffix's, tried where no child fits; of the root: its own */
    uint32_t *suffix_bases;
    /* [0..n_pieces], by value, of pieces of two bytes and more; 0: none */
    automaton_ends *ends;
    void *block; /* the memory of ends */
    double single_scores[256];
    uint32_t singles[256];
    int64_t max_piece_bytes, memory_bytes;
} automaton;

/* The pieces that it is made from: their trie, with values 1..n_pieces in the order of the sorted
 * pieces data, offsets[0..n_pieces], and by value their scores[] and ids[]. */
typedef struct automaton_source {
    const trie *trie;
    const uint8_t *data;
    const int64_t *offsets;
    int64_t n_pieces;
    const double *scores;
    const int32_t *ids;
} automaton_source;

/* Can they be used this way? All bytes must be pieces; lengths, ids and bases must fit; and no
 * piece may cross the start of a line, where the sum restarts if `restarts`. */
int automaton_fits(const automaton_source *from, int restarts);

/* From pieces that fit; NULL when memory is short. O(bytes of pieces). */
automaton *automaton_new(const automaton_source *from);
void automaton_free(automaton *a);

/* Zeroed before its first use. */
typedef struct automaton_work {
    automaton_turn turn;
    uint32_t longest[AUTOMATON_CHUNK_BYTES]; /* of the state after each byte */
    /* from 256 before the chunk; finite */
    double sums[AUTOMATON_PIECE_BYTES_MAX + 1 + AUTOMATON_CHUNK_BYTES + 1];
    /* the last piece of the best path to each position */
    uint32_t last[AUTOMATON_CHUNK_BYTES + 1];
    uint32_t ids[AUTOMATON_CHUNK_BYTES]; /* of a path, at the end of the array */
} automaton_work;

/* Are the next n_bytes, with so many cuts, for the automaton? The first window begins with a look
 * at these. */
INLINE int automaton_is_next(automaton_turn *t, int64_t n_bytes, int64_t n_cuts)
{
    int is_first = t->n_bytes == 0;
    t->n_bytes += n_bytes;
    t->n_cuts += n_cuts;
    if (is_first || t->n_bytes >= AUTOMATON_WINDOW_BYTES) {
        t->is_on = t->n_cuts * AUTOMATON_LONG_SEGMENT < t->n_bytes;
        if (!is_first) t->n_bytes = t->n_cuts = 1; /* no longer the first */
    }
    return t->is_on;
}

/* Sets work->longest[0..n_bytes-1] for text[0..n_bytes-1], n_bytes <= AUTOMATON_CHUNK_BYTES, which
 * begins at a cut. */
void automaton_find(const automaton *a, const uint8_t *text, int64_t n_bytes, automaton_work *work);

/* After automaton_find: the best path over text[begin..end-1], begin < end, from the running sum
 * *io_sum, which becomes the sum after it. Returns the number n of its ids, which are
 * work->ids[AUTOMATON_CHUNK_BYTES - n...]. */
int64_t automaton_path(const automaton *a, const uint8_t *text, int64_t begin, int64_t end,
                       double *io_sum, automaton_work *work);
