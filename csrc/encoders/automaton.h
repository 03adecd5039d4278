/* automaton.h - the best path of a byte Unigram model (BytePiece), found with an Aho-Corasick
 * automaton
 *
 * Pieces that cross spaces leave few cuts, so segments are long and seldom recur, and the memo
 * misses most of them. Walking the trie from every byte costs five steps, a mispredicted branch and
 * some cache misses per byte. The Aho-Corasick automaton reads each byte once or twice instead. Its
 * state is the longest suffix of the text read so far that is a prefix of a piece:
 *
 *     text       o   f  SP   t   h   e        the pieces that end here, longest first:
 *     state      o  of  of_  _t  _th _the     "SP the", "the", "he", "e"
 *                                   └─ no child for the next byte? Then its longest suffix, "the", is tried
 *
 * A step computes both outcomes and selects one without a branch. Four walks through different
 * parts of the text are interleaved, as in lanes.h. A walk can begin anywhere: after as many bytes
 * as the longest piece contains, the state no longer depends on where the walk began.
 *
 * The best path is then found from left to right in the reference's own arithmetic. At each byte,
 * it takes the piece with the best sum among the pieces that end there; ties go to the first. The
 * record of the longest of these pieces lists the first five and fills one cache line, which was
 * prefetched when the state was found. Pieces of a single byte are in a separate table:
 *
 *     record   | 5 scores ........................ | 5 pieces ............ | more |    more: the record of the sixth
 *     piece    31 .............. 24   23 ..... 0
 *              256 - its length       id
 *
 *     unit     63 .................... 32   31 ........ 9    8     7 ... 0
 *              longest piece that ends here   base           free   label
 *
 * A state without children stores the base of its longest suffix that has children, which saves a
 * step. States with the same base have the same continuations, so the next step needs only the
 * base. */
#pragma once

#include "structures/trie.h"

#define AUTOMATON_CHUNK_BYTES 4096 /* the maximum number of bytes in one call */
#define AUTOMATON_PIECE_BYTES_MAX 255
#define AUTOMATON_ENDS 5

/* Chooses between automaton and memo. The automaton takes the same time for any text. The memo is
 * faster if it holds most segments, which is unlikely if segments are longer than
 * AUTOMATON_LONG_SEGMENT on average. The segments of one window of AUTOMATON_WINDOW_BYTES decide
 * for the next window. If the choice were made for each chunk, the memo would see only some of the
 * chunks and hold fewer of their segments. */
#define AUTOMATON_LONG_SEGMENT 8
#define AUTOMATON_WINDOW_BYTES (64 << 10)

typedef struct automaton_turn {
    int64_t n_bytes, n_cuts; /* in this window */
    int is_on;
} automaton_turn;

typedef struct automaton_ends {
    double scores[AUTOMATON_ENDS]; /* -INFINITY, with the length 256, after the last piece */
    uint32_t pieces[AUTOMATON_ENDS];
    uint32_t more;
} automaton_ends;

typedef struct automaton {
    uint64_t *units; /* [0..n_units), at the indexes of the trie's units */
    /* [0..n_units), by base: the base of the suffix to try if no child matches; the root's base
     * maps to itself */
    uint32_t *suffix_bases;
    /* [0..n_pieces], by value, for pieces of two or more bytes; ends[0] is empty */
    automaton_ends *ends;
    void *block; /* the allocation that contains `ends` */
    double single_scores[256];
    uint32_t singles[256];
    int64_t max_piece_bytes, memory_bytes;
} automaton;

/* The pieces of the model: their trie, with the values 1..n_pieces in the order of the sorted
 * pieces (data, offsets[0..n_pieces]), and their scores[] and ids[] by value. */
typedef struct automaton_source {
    const trie *trie;
    const uint8_t *data;
    const int64_t *offsets;
    int64_t n_pieces;
    const double *scores;
    const int32_t *ids;
} automaton_source;

/* Whether an automaton can encode these pieces: every byte must be a piece; lengths, ids and bases
 * must fit their fields; and, if `restarts` is set, no piece may cross the start of a line, where
 * the sum restarts. */
int automaton_fits(const automaton_source *from, int restarts);

/* Requires automaton_fits. Returns NULL if allocation fails. O(bytes of pieces). */
automaton *automaton_new(const automaton_source *from);
void automaton_free(automaton *a);

/* One thread's scratch; must be zeroed before its first use. */
typedef struct automaton_work {
    automaton_turn turn;
    /* the longest piece that ends after each byte, from the state there */
    uint32_t longest[AUTOMATON_CHUNK_BYTES];
    /* the first 256 belong to positions before the chunk; they are finite */
    double sums[AUTOMATON_PIECE_BYTES_MAX + 1 + AUTOMATON_CHUNK_BYTES + 1];
    /* the last piece of the best path to each position */
    uint32_t last[AUTOMATON_CHUNK_BYTES + 1];
    uint32_t ids[AUTOMATON_CHUNK_BYTES]; /* the ids of a path, at the end of the array */
} automaton_work;

/* Whether the automaton should encode the next n_bytes, which have n_cuts cuts. The first call
 * decides from its own text, since there is no earlier window. */
INLINE int automaton_is_next(automaton_turn *t, int64_t n_bytes, int64_t n_cuts)
{
    int is_first = t->n_bytes == 0;
    t->n_bytes += n_bytes;
    t->n_cuts += n_cuts;
    if (is_first || t->n_bytes >= AUTOMATON_WINDOW_BYTES) {
        t->is_on = t->n_cuts * AUTOMATON_LONG_SEGMENT < t->n_bytes;
        if (!is_first) t->n_bytes = t->n_cuts = 1; /* a nonzero count marks later windows */
    }
    return t->is_on;
}

/* Sets work->longest[0..n_bytes-1] for text[0..n_bytes-1], which begins at a cut; n_bytes <=
 * AUTOMATON_CHUNK_BYTES. */
void automaton_find(const automaton *a, const uint8_t *text, int64_t n_bytes, automaton_work *work);

/* Finds the best path over text[begin..end-1], begin < end; requires automaton_find. *io_sum is the
 * running sum before and after. Returns the number n of ids; they are
 * work->ids[AUTOMATON_CHUNK_BYTES - n...]. */
int64_t automaton_path(const automaton *a, const uint8_t *text, int64_t begin, int64_t end,
                       double *io_sum, automaton_work *work);
