/* bpe_replay.h - merges of an earlier training, made again unit by unit
 *
 * In a unit the earliest merge of all that its neighbouring symbols allow is made first, of several
 * positions the leftmost. A merge only makes later ones possible, so this gives what one merge
 * after another in all units gives, and needs neither counts nor positions of pairs.
 */
#pragma once

#include "train/bpe_pairs.h"

typedef struct bpe_replay {
    pair_table merges; /* merge k is pair k and makes symbol n_characters + k */
    uint32_t *n_chars; /* of these symbols */
    int64_t capacity;
    uint32_t n_characters;
} bpe_replay;

/* A share of the units; any number of them are worked on side by side. */
typedef struct replay_share {
    uint64_t *heap; /* of one unit: merge << 32 | slot, smallest first */
    int64_t n_heap, heap_capacity;
    int64_t at, end; /* the slot where the next unit begins; where the share ends */
} replay_share;

int bpe_replay_init(bpe_replay *replay, uint32_t n_characters); /* 0 when memory is short */
void bpe_replay_free(bpe_replay *replay);
/* The next merge, of two symbols that there are, and no merge yet; 0 when memory is short. */
int bpe_replay_add(bpe_replay *replay, uint32_t left, uint32_t right);

/* How many characters a symbol has. */
INLINE uint32_t bpe_replay_chars(const bpe_replay *replay, uint32_t symbol)
{
    return symbol < replay->n_characters ? 1 : replay->n_chars[symbol - replay->n_characters];
}

/* Merges until the share is done or `work` of its slots: 1 when done, 0 when not, -1 when memory is
 * short. */
int bpe_replay_run(const bpe_replay *replay, replay_share *share, uint32_t *slots, int64_t work);
