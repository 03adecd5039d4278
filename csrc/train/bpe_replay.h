/* bpe_replay.h - merges of an earlier training, made again unit by unit
 *
 * In a unit the earliest merge of all that its neighbouring symbols allow is made first, of several positions the
 * leftmost. A merge only makes later ones possible, so this gives what one merge after another in all units gives, and
 * needs neither counts nor positions of pairs.
 */
#pragma once

#include "train/bpe_pairs.h"

typedef struct bpe_replay {
    pair_table merges; /* merge k is pair k and makes symbol n_characters + k */
    uint32_t *n_chars; /* of these symbols */
    int64_t room;
    uint32_t n_characters;
    uint64_t *heap; /* of one unit: merge << 32 | slot, smallest first */
    int64_t n_heap, heap_room;
    int64_t at; /* the slot where the next unit begins */
} bpe_replay;

int bpe_replay_init(bpe_replay *replay, uint32_t n_characters); /* 0 when memory is short */
void bpe_replay_free(bpe_replay *replay);
/* The next merge, of two symbols that there are, and no merge yet; 0 when memory is short. */
int bpe_replay_add(bpe_replay *replay, uint32_t left, uint32_t right);

/* How many characters a symbol has. */
INLINE uint32_t bpe_replay_chars(const bpe_replay *replay, uint32_t symbol)
{
    return symbol < replay->n_characters ? 1 : replay->n_chars[symbol - replay->n_characters];
}

/* Merges until all slots are done or *work of them, which it lowers; -1 when memory is short, 1 when all are done. */
int bpe_replay_run(bpe_replay *replay, uint32_t *slots, int64_t n_slots, int64_t *work);
