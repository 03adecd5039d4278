/* bpe_replay.h - repeats the merges of an earlier training run, unit by unit
 *
 * In a unit, the earliest merge that its neighbouring symbols allow is made first, at its leftmost
 * position. A merge can enable only later ones, because these contain its new symbol. So the result
 * is the same as making one merge after another in all units, but without counts or positions of
 * pairs.
 *
 * A checkpoint therefore needs only the list of merges: two numbers and a count for each. The
 * replay touches each unit once, instead of each position of each pair. */
#pragma once

#include "train/bpe_pairs.h"

/* The merges, which all workers read, numbered in the order in which they were made. */
typedef struct bpe_replay {
    pair_table merges; /* merge k is pair k and makes symbol n_characters + k */
    uint32_t *n_chars; /* [merges.n]: the characters of these symbols */
    int64_t capacity;
    uint32_t n_characters;
} bpe_replay;

/* A share of the units. Shares touch different slots, so any number of them may be replayed at the
 * same time. */
typedef struct replay_share {
    uint64_t *heap; /* the heap of one unit: merge << 32 | slot, smallest first */
    int64_t n_heap, heap_capacity;
    int64_t at, end; /* the slot where the next unit begins, and the end of the share */
} replay_share;

int bpe_replay_init(bpe_replay *replay, uint32_t n_characters); /* 0 if allocation fails */
void bpe_replay_free(bpe_replay *replay);
/* Adds the next merge. Both symbols must exist, and their pair must be new. Returns 0 if allocation
 * fails. */
int bpe_replay_add(bpe_replay *replay, uint32_t left, uint32_t right);

/* The number of characters of a symbol. */
INLINE uint32_t bpe_replay_chars(const bpe_replay *replay, uint32_t symbol)
{
    return symbol < replay->n_characters ? 1 : replay->n_chars[symbol - replay->n_characters];
}

/* Replays the merges in the next `work` slots of the share. Returns 1 if the share is done, 0 if it
 * is not, -1 if allocation fails. */
int bpe_replay_run(const bpe_replay *replay, replay_share *share, uint32_t *slots, int64_t work);
