/* bpe_replay.c - repeats the merges of an earlier training run: see bpe_replay.h
 *
 * The merges of a unit are made in the same order as in training, with a heap of those that are
 * currently possible:
 *
 *     unit     l o w e r          merges: 0 = (e, r), 1 = (l, o), 2 = (lo, w)
 *     heap     0 at 3, 1 at 0     take 0: [er]; take 1: [lo], which makes 2 possible; take 2: [low][er]
 */

#include "train/bpe_replay.h"

#include "ground/grow.h"
#include "structures/heap.h"
#include "train/bpe_slots.h"

/* Uses the table of pairs, in which merge k is pair k; counts and positions stay empty. */
int bpe_replay_init(bpe_replay *r, uint32_t n_characters)
{
    memset(r, 0, sizeof *r);
    r->n_characters = n_characters;
    return pair_table_init(&r->merges);
}

void bpe_replay_free(bpe_replay *r)
{
    pair_table_free(&r->merges);
    mem_free(r->n_chars);
}

/* Relies on the table numbering its pairs consecutively. */
int bpe_replay_add(bpe_replay *r, uint32_t left, uint32_t right)
{
    uint32_t n = r->merges.n;
    if (!grow(&r->n_chars, n, &r->capacity, sizeof *r->n_chars)) return 0;
    r->n_chars[n] = bpe_replay_chars(r, left) + bpe_replay_chars(r, right);
    return pair_table_add(&r->merges, left, right) == n;
}

/* ---------------------------------------------------------------------- The heap of a unit ---- */

/* Pushes the merge of two symbols, given as symbol + 1, if there is one; returns 0 if allocation
 * fails. An entry is merge << 32 | slot, so the smallest entry is the leftmost place of the
 * earliest merge. */
static int offer(const bpe_replay *r, replay_share *share, uint32_t left, uint32_t right,
                 uint32_t slot)
{
    uint32_t merge = left && right ? pair_table_find(&r->merges, left - 1, right - 1) : NO_PAIR;
    if (merge == NO_PAIR) return 1;
    if (!grow(&share->heap, share->n_heap, &share->heap_capacity, sizeof *share->heap)) return 0;
    heap_push(share->heap, &share->n_heap, (uint64_t)merge << 32 | slot);
    return 1;
}

/* ----------------------------------------------------------------------------------- Units ---- */

/* Replays the merges of one unit; returns 0 if allocation fails. An entry of the heap is stale if
 * another merge has taken one of its two symbols. */
static int replay_unit(const bpe_replay *r, replay_share *share, uint32_t *slots, int64_t begin,
                       int64_t end)
{
    for (int64_t slot = begin; slot + 1 < end; slot++)
        if (!offer(r, share, slots[slot], slots[slot + 1], (uint32_t)slot)) return 0;
    while (share->n_heap) {
        uint64_t entry = heap_pop(share->heap, &share->n_heap);
        uint32_t merge = (uint32_t)(entry >> 32), slot = (uint32_t)entry, before_slot;
        const pair *p = &r->merges.pairs[merge];
        uint32_t n_left = bpe_replay_chars(r, p->left), n_all = r->n_chars[merge],
                 made = r->n_characters + merge;
        if (slots[slot] != p->left + 1 || slots[slot + n_left] != p->right + 1) continue;
        slots_join(slots, slot, n_left, n_all, made);
        uint32_t before = symbol_before(slots, slot, &before_slot);
        if (!offer(r, share, before, made + 1, before_slot)) return 0;
        if (!offer(r, share, made + 1, slots[slot + n_all], slot)) return 0;
    }
    return 1;
}

/* The heap is empty between units, so a worker can stop after any of them. */
int bpe_replay_run(const bpe_replay *r, replay_share *share, uint32_t *slots, int64_t work)
{
    while (share->at < share->end && work > 0) {
        int64_t end = share->at;
        while (slots[end]) end++; /* the last slot of a share is 0 */
        if (!replay_unit(r, share, slots, share->at, end)) return -1;
        work -= end - share->at + 1;
        share->at = end + 1;
    }
    return share->at >= share->end;
}
