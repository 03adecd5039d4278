/* text.h - a search for a byte string in one shard: the state that its parts share
 *
 * An occurrence of Q, a string of m bytes, in the tokens of a document is of one of three kinds:
 *
 *     inside     | x Q Q Q y |                 within one token, after its first byte
 *     i = 0      | Q Q | Q | Q Q y |           begins where a token begins
 *     i > 0      | x Q Q | Q | Q Q y |         begins within a token that ends with the first i bytes of Q
 *
 * where | marks token borders. The number of occurrences inside tokens is a sum over pieces. For
 * the other kinds, a walk starts at each i with the complete suffix array. It narrows the interval
 * by every token with which Q[i..] begins, and continues from the end of each such token. Where a
 * token begins with the rest of Q, the suffixes are hits; if i > 0, a hit must also follow a token
 * that ends with Q[0..i). Each occurrence is found once, at its first border. Nothing is assumed
 * about how the text was tokenized: paths that the tokenizer never takes have an empty interval.
 *
 * Two things keep the number of paths small:
 *
 * - If an interval has few suffixes, they are compared with the text, without more binary searches.
 * - If no token can span the bytes Q[c-1] and Q[c], every occurrence has a border at c, called a
 *   sure border. Then one walk from c, with a check of the tokens before its hits, replaces the
 *   walks from every i.
 *
 * A search has a work budget. When it is used up, the search stops and the total is a lower
 * bound. */
#pragma once

#include "suffix/pieces.h"
#include "suffix/search.h"

/* The tokens that begin at Q[pos..]. Most positions of Q are never visited, so a node is built when
 * a path first reaches it. */
typedef struct text_node {
    /* In text_search.children: the tokens with which Q[pos..] begins, the shortest first, except
     * those that reach the end of Q. */
    uint32_t first_child;
    uint32_t n_children;
    uint8_t is_ready;
    range ends; /* in pieces.starts: the tokens that begin with or equal Q[pos..] */
} text_node;

/* A path of tokens that is still to be followed: its suffixes, its position in Q, its number of
 * tokens, and its last token. The interval alone does not tell which tokens led to it, so the last
 * token is stored here; the others are in text_search.path: see text_walk. */
typedef struct text_frame {
    interval in;
    int32_t pos, depth;
    uint32_t id;
} text_frame;

/* The state has five parts. The arrays grow as needed and are reused by the next query, but hold
 * results of the current query only:
 *
 *     nodes, children    which tokens begin at each position of Q: built when a path arrives
 *     stack, path        paths that are still to be followed, and the tokens of the current one
 *     anchored           what a walk from a sure border has found so far
 *     left, left_bits    which tokens end with the first i bytes of Q
 *     runs, total        the hits */
typedef struct text_search {
    const shard *s;
    const pieces *p;
    const uint8_t *q;
    int64_t m;

    text_node *nodes; /* [0..m-1] */
    int64_t nodes_capacity;
    uint32_t *children;
    int64_t n_children, children_capacity;
    text_frame *stack; /* paths still to be followed */
    int64_t n_stack, stack_capacity;
    uint32_t *path; /* the tokens of the current frame */
    int64_t path_capacity;
    interval *many; /* scratch memory for search_narrow_many */
    int64_t many_capacity;
    /* The hits of a walk from a sure border, whose left side is not checked yet. */
    text_frame *anchored;
    int64_t n_anchored, anchored_capacity;
    int64_t n_anchored_suffixes; /* suffixes in these hits */
    range *left; /* [1..n_inner]: left[i] is the range of pieces.inner equal to Q[0..i) */
    /* Q[0..n_inner) is the longest prefix of Q that some token contains after its first byte */
    int64_t n_inner, left_capacity;

    /* The current walk. */
    int64_t i;                /* the walk starts at Q[i..] */
    const uint32_t *left_ids; /* i > 0: the tokens that end with Q[0..i), [0..n_left-1] */
    int64_t n_left;
    uint64_t *left_bits; /* the same tokens as a bitmap of all ids, if left_bits_of is i */
    int64_t left_bits_of;
    int is_anchored; /* the hits go to `anchored` */
    /* the walk starts after each eod: its hits begin documents, and are counted in n_at_start */
    int is_at_start;
    int64_t n_at_start;

    /* The result. */
    int64_t work_left; /* below 0: the budget is used up */
    int out_of_memory;
    int64_t total;
    unitok_search_run *runs; /* NULL: only the total is requested */
    int64_t n_runs, runs_capacity, max_hits;
    int must_check; /* each hit must be checked to lie within one document */
} text_search;

/* The costs of steps, in units of about one nanosecond on a machine from 2020. */
enum {
    WORK_NODE = 300,
    WORK_NARROW = 2000,
    WORK_NARROW_MANY = 400,
    WORK_FOLLOW = 150, /* compare one suffix with the text */
    WORK_LEFT = 1,     /* read an entry of the column `left` */
    WORK_NO_LEFT = 10, /* read the same token without the column */
    WORK_RUN = 25      /* store a run of hits; bounds their memory, 24 bytes per run */
};

/* A search ends early when its budget is used up, if allocation fails, or when there are enough
 * hits. */
INLINE int text_is_over(const text_search *t)
{
    return t->work_left < 0 || t->out_of_memory || (t->runs && t->total >= t->max_hits);
}

/* Emits the suffixes in.lo..in.hi-1 as hits: Q begins `back` tokens before each, `skip` bytes into
 * that token, and spans n_tokens tokens. (Defined in hits.c, like the next three.) */
void text_emit(text_search *t, interval in, int32_t back, int32_t skip, int32_t n_tokens);

/* Handles the suffixes that a path has found: Q ends in the token after the first `depth` tokens of
 * each. In a walk with i > 0, they are hits only if they follow a token that ends with Q[0..i).
 * `ends` are the pieces that the last token can be, and `pos` is where it begins in Q. */
void text_take(text_search *t, interval in, int32_t depth, int64_t pos, range ends);

/* Returns how many tokens from `position` onwards spell Q[pos..], or 0 if the tokens there do not.
 * Reads the text from left to right and stops at the first difference. */
int32_t text_follow(const text_search *t, uint64_t position, int64_t pos);

/* Emits those hits of the walk from the sure border c that follow Q[0..c) in the text. */
void text_settle_anchored(text_search *t, int64_t c);

/* Follows all paths that spell Q[pos..], from the suffixes `in`, which share `depth` tokens.
 * (Defined in walk.c, like all that follow.) */
void text_walk(text_search *t, interval in, int64_t pos, int32_t depth);

/* The tokens that begin at Q[pos..]; NULL if allocation fails. */
const text_node *text_node_at(text_search *t, int64_t pos);

/* Narrows `in` to the suffixes that continue after `depth` tokens with one of the pieces `ends`,
 * which begin with Q[pos..]. If left_id < 0, passes them to text_take, otherwise to text_emit, as
 * hits whose first token is left_id. */
void text_walk_ends(text_search *t, interval in, int32_t depth, int64_t pos, range ends,
                    int32_t left_id);

/* Like grow in ground/grow.h; sets out_of_memory if allocation fails. */
int text_grow(text_search *t, void *items, int64_t n, int64_t *io_capacity, size_t item_bytes);

/* Finds all occurrences of Q, in the ways described above. */
void text_search_all(text_search *t);
