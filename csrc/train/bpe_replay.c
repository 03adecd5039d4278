/* bpe_replay.c - merges of an earlier training, made again unit by unit */

#include "train/bpe_replay.h"

#include "train/bpe_slots.h"

int bpe_replay_init(bpe_replay *r, uint32_t n_characters)
{
    memset(r, 0, sizeof *r);
    r->n_characters = n_characters;
    r->at = 1;
    return pair_table_init(&r->merges);
}

void bpe_replay_free(bpe_replay *r)
{
    pair_table_free(&r->merges);
    mem_free(r->n_chars);
    mem_free(r->heap);
}

static int more(void *items, int64_t n, int64_t *room, size_t item_bytes)
{
    void *p;
    if (n < *room) return 1;
    memcpy(&p, items, sizeof p);
    p = mem_realloc(p, (size_t)(2 * n + 64) * item_bytes);
    if (!p) return 0;
    memcpy(items, &p, sizeof p);
    *room = 2 * n + 64;
    return 1;
}

int bpe_replay_add(bpe_replay *r, uint32_t left, uint32_t right)
{
    uint32_t n = r->merges.n;
    if (!more(&r->n_chars, n, &r->room, sizeof *r->n_chars)) return 0;
    r->n_chars[n] = bpe_replay_chars(r, left) + bpe_replay_chars(r, right);
    return pair_table_add(&r->merges, left, right) == n;
}

/* ------------------------------------------------------------------------------------------- The heap of a unit ---- */

/* Notes the merge of two symbols + 1, if there is one. */
static int offer(bpe_replay *r, uint32_t left, uint32_t right, uint32_t slot)
{
    uint32_t merge = left && right ? pair_table_find(&r->merges, left - 1, right - 1) : NO_PAIR;
    if (merge == NO_PAIR) return 1;
    if (!more(&r->heap, r->n_heap, &r->heap_room, sizeof *r->heap)) return 0;
    uint64_t entry = (uint64_t)merge << 32 | slot;
    int64_t at = r->n_heap++;
    while (at && entry < r->heap[(at - 1) / 2]) {
        r->heap[at] = r->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    r->heap[at] = entry;
    return 1;
}

static uint64_t take(bpe_replay *r)
{
    uint64_t best = r->heap[0], last = r->heap[--r->n_heap];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < r->n_heap; at = child) {
        if (child + 1 < r->n_heap && r->heap[child + 1] < r->heap[child]) child++;
        if (last <= r->heap[child]) break;
        r->heap[at] = r->heap[child];
    }
    r->heap[at] = last;
    return best;
}

/* ------------------------------------------------------------------------------------------------------- Units ---- */

static int replay_unit(bpe_replay *r, uint32_t *slots, int64_t begin, int64_t end)
{
    for (int64_t slot = begin; slot + 1 < end; slot++)
        if (!offer(r, slots[slot], slots[slot + 1], (uint32_t)slot)) return 0;
    while (r->n_heap) {
        uint64_t entry = take(r);
        uint32_t merge = (uint32_t)(entry >> 32), slot = (uint32_t)entry, before_slot;
        const pair *p = &r->merges.pairs[merge];
        uint32_t n_left = bpe_replay_chars(r, p->left), n_all = r->n_chars[merge], made = r->n_characters + merge;
        if (slots[slot] != p->left + 1 || slots[slot + n_left] != p->right + 1) continue; /* merged otherwise */
        slots_join(slots, slot, n_left, n_all, made);
        uint32_t before = symbol_before(slots, slot, &before_slot);
        if (!offer(r, before, made + 1, before_slot) || !offer(r, made + 1, slots[slot + n_all], slot)) return 0;
    }
    return 1;
}

int bpe_replay_run(bpe_replay *r, uint32_t *slots, int64_t n_slots, int64_t *work)
{
    while (r->at < n_slots) {
        int64_t end = r->at;
        if (*work <= 0) return 0;
        while (slots[end]) end++; /* the last slot is 0 */
        if (!replay_unit(r, slots, r->at, end)) return -1;
        *work -= end - r->at + 1;
        r->at = end + 1;
    }
    return 1;
}
