/* text.h - one search for a byte string in one shard: what its parts share
 *
 * An occurrence of Q, m bytes, in the tokens of a document is one of
 *
 *     inside     | x Q Q Q y |                 within one token, after its first byte
 *     i = 0      | Q Q | Q | Q Q y |           begins where a token begins
 *     i > 0      | x Q Q | Q | Q Q y |         begins within a token that ends with the first i bytes of Q
 *
 * where | are bounds of tokens. `inside` is a sum over pieces. For the others a walk starts at each
 * i with the whole suffix array and narrows it by every token that Q[i..] begins with, then from
 * the end of each on; where the rest of Q begins a token, the suffixes are hits (for i > 0: those
 * with one of the right tokens to their left). Each occurrence is met once, at its first bound.
 * Nothing is assumed about how the text was cut into tokens: paths that the tokenizer does not take
 * have an empty interval.
 *
 * Two things keep the paths few. An interval of a few suffixes is followed in the text itself. And
 * where no token can span the bytes Q[c-1] and Q[c], every occurrence has a bound at c: then one
 * walk from c, and a look at what is left of its hits, replaces the walks from every i. */
#pragma once

#include "suffix/pieces.h"
#include "suffix/search.h"

/* What begins at Q[pos..]. */
typedef struct text_node {
    /* into text_search.children: those tokens that are all of Q[pos..] but its end, short first */
    uint32_t first_child;
    uint16_t n_children;
    uint8_t is_ready;
    range ends; /* of pieces.starts: tokens that begin with Q[pos..], equal to it included */
} text_node;

/* A path of tokens still to be followed: its suffixes, where in Q it stands, and its last token. */
typedef struct text_frame {
    interval in;
    int32_t pos, depth;
    uint16_t id;
} text_frame;

typedef struct text_search {
    const shard *s;
    const pieces *p;
    const uint8_t *q;
    int64_t m;

    text_node *nodes; /* [0..m-1] */
    int64_t nodes_capacity;
    uint16_t *children;
    int64_t n_children, children_capacity;
    text_frame *stack; /* paths still to be followed */
    int64_t n_stack, stack_capacity;
    uint16_t *path; /* the tokens of the frame at hand */
    int64_t path_capacity;
    interval *many; /* for search_narrow_many */
    int64_t many_capacity;
    /* the hits of a walk from a sure bound, their left side not yet looked at */
    text_frame *anchored;
    int64_t n_anchored, anchored_capacity;
    int64_t n_anchored_suffixes; /* in them */
    range *left;                 /* [1..n_inner]: of pieces.inner, the strings equal to Q[0..i) */
    /* no token has more than Q[0..n_inner) after its first byte */
    int64_t n_inner, left_capacity;

    /* Of the walk at hand. */
    int64_t i;                /* it starts at Q[i..] */
    const uint16_t *left_ids; /* i > 0: the tokens that end with Q[0..i), [0..n_left-1] */
    int64_t n_left;
    uint64_t left_bits[PIECES_IDS / 64]; /* the same as a set, if left_bits_of is i */
    int64_t left_bits_of;
    int is_anchored; /* the hits go to `anchored` */
    /* it follows the separators: its hits begin documents, and are counted in n_at_start */
    int is_at_start;
    int64_t n_at_start;

    /* What comes out. */
    int64_t work_left; /* below 0: given up */
    int out_of_memory;
    int64_t total;
    unitok_search_run *runs; /* NULL: only the total is wanted */
    int64_t n_runs, runs_capacity, max_hits;
    int must_check; /* every hit must be looked at, whether it lies within a document */
} text_search;

/* The cost of one step in units of work, about a nanosecond on a machine of 2020. */
enum {
    WORK_NODE = 300,
    WORK_NARROW = 2000,
    WORK_NARROW_MANY = 400,
    WORK_FOLLOW = 150, /* one suffix in the text */
    WORK_LEFT = 1,     /* one entry of the column */
    WORK_NO_LEFT = 10, /* the same without a column */
    WORK_RUN = 25      /* a run that is written down: this bounds their memory, 24 bytes each */
};

INLINE int text_is_over(const text_search *t)
{
    return t->work_left < 0 || t->out_of_memory || (t->runs && t->total >= t->max_hits);
}

/* The suffixes in.lo..in.hi-1 are hits: Q begins `back` tokens before each, `skip` bytes into that
 * token, and ends in the token of number n_tokens from there. (hits.c, like the next three) */
void text_emit(text_search *t, interval in, int32_t back, int32_t skip, int32_t n_tokens);

/* Takes what a path has found: Q ends in the token after `depth` tokens of every suffix of `in`, as
 * the walk at hand counts (for i > 0 they are hits where the right token is to their left). `ends`:
 * the pieces that this token can be, `pos`: where in Q it begins. */
void text_take(text_search *t, interval in, int32_t depth, int64_t pos, range ends);

/* How many tokens from `position` on it takes to spell Q[pos..]; 0 if they do not. */
int32_t text_follow(const text_search *t, uint64_t position, int64_t pos);

/* Emits those hits of the walk from the sure bound c that have Q[0..c) to their left. */
void text_settle_anchored(text_search *t, int64_t c);

/* All paths that spell Q[pos..], from the suffixes `in`, which share `depth` tokens. (walk.c, like
 * the next three) */
void text_walk(text_search *t, interval in, int64_t pos, int32_t depth);

/* What begins at Q[pos..]; NULL when memory is short. */
const text_node *text_node_at(text_search *t, int64_t pos);

/* The intervals of those of `in` that continue after `depth` tokens with one of the pieces `ends`,
 * which begin with Q[pos..]. left_id < 0: each goes to text_take; else to text_emit, as a hit whose
 * first token is left_id. */
void text_walk_ends(text_search *t, interval in, int32_t depth, int64_t pos, range ends,
                    int32_t left_id);

/* Like grow in ground/grow.h; sets out_of_memory when memory is short. */
int text_grow(text_search *t, void *items, int64_t n, int64_t *io_capacity, size_t item_bytes);

/* The whole search. */
void text_search_all(text_search *t);
