/* bpe.c - training byte-pair encoding exactly, as sentencepiece 0.2.3 does, in 16 bytes per character and less
 *
 * All units are in one array of slots, one slot per character, a 0 between units. A symbol of n characters has its id
 * in the first of its n slots and, if n > 1, TAIL | n in the last, so both neighbours are found in one step:
 *
 *     slots   0 | 'l' 'o' 'w' | 0 | [lo] TAIL|2 'w' 'e' 'r' | 0 |           ids are symbol + 1
 *
 * Units are laid out with the largest counts first, so that a slot gives the count of its unit: see levels.h.
 *
 * A pair of symbols is born either at the start or while one of its two symbols is made, and at no other time; so all
 * its positions are known then and are stored together. Later merges only make positions stale, which shows when they
 * are read, and lower the pair's count. Hence the heap needs one entry a pair, corrected when it comes to the top.
 *
 * One merge of (l, r) into s, at each position p in order:
 *   1. skip it if the slots there no longer hold l and r
 *   2. take the unit's count from the pairs (before, l) and (r, after), unless such a pair is (l, r) itself
 *   3. write s; add the count to (before, s) and (s, after), and note these positions
 * Afterwards the new pairs get their positions and enter the heap.
 *
 * Most pairs are too rare to be ever merged, and their counts only fall. So a pair that is born with a count below
 * `floor`, which is guessed from the size of the text, is forgotten at once. If the best pair of all falls below it, the
 * guess was too high: the floor is lowered, and all pairs are counted anew in the units as they are by then.
 * sentencepiece also merges pairs that have come to occur no more, in their turn; if it comes to these, merging begins
 * again from the characters with no floor.
 *
 * Merge k makes symbol n_characters + k. A training that resumes makes the merges of the earlier one again
 * (bpe_replay.h), which needs no pairs, and then counts the pairs as if the floor had been lowered there.
 */

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "train/bpe_pairs.h"
#include "train/bpe_replay.h"
#include "train/bpe_slots.h"
#include "train/levels.h"
#include "train/rules.h"

#define SLOTS_MAX INT64_C(0x7FFFFFF0)
#define FLOOR_SHARE 128 /* the floor is this part of the count that pairs have if all are equally frequent */
#define FLOOR_FALL 4
#define LEAST_FLOOR 2 /* at first: half of all pairs occur once, and are merged only if the text is short */

typedef struct symbol {
    uint64_t begin; /* of its bytes in `bytes` */
    uint32_t n_bytes;
    uint32_t n_chars;
} symbol;

typedef struct merge_of {
    uint32_t left, right;
    uint64_t count;
} merge_of;

typedef struct event {
    uint32_t pair, slot;
} event;

typedef struct heap_entry {
    uint64_t count;
    uint64_t head; /* the first bytes of the piece, as a number in their order */
    uint32_t n_chars;
    uint32_t pair;
} heap_entry;

struct unitok_bpe_trainer {
    const unitok_rules *rules;
    uint32_t *slots;
    int64_t n_slots;
    levels levels;
    int is_counted; /* the pairs are there */
    uint64_t floor; /* pairs that occurred less often when they were born are not kept */

    symbol *symbols; /* first the characters */
    int64_t n_symbols, n_characters, symbols_room;
    uint8_t *bytes;
    int64_t n_bytes, bytes_room;
    uint8_t *piece; /* two symbols joined, to be looked at */
    int64_t piece_room;

    pair_table pairs;
    position_store positions;
    event *events; /* of one merge */
    int64_t n_events, events_room;
    uint32_t *remap; /* of the pairs born in it: their numbers once the rare ones are gone */
    int64_t remap_room;
    heap_entry *heap;
    int64_t n_heap, heap_room;

    piece_set made; /* pieces merged so far: symbols by their bytes */
    merge_of *merged;
    int64_t n_merged, merged_room;
    bpe_replay *replay; /* the merges of an earlier training, until all are made again */
};

static int grow(void *items, int64_t n, int64_t *room, size_t item_bytes)
{
    void *p;
    if (n < *room) return 1;
    int64_t wanted = *room + *room / 2 + 64;
    if (wanted <= n) wanted = n + n / 2;
    memcpy(&p, items, sizeof p);
    p = mem_realloc(p, (size_t)wanted * item_bytes);
    if (!p) return 0;
    memcpy(items, &p, sizeof p);
    *room = wanted;
    return 1;
}

/* ------------------------------------------------------------------------------------------------ Symbols ---- */

/* A new symbol of these bytes; -1 when memory is short. */
static int64_t add_symbol(unitok_bpe_trainer *t, const uint8_t *bytes, int64_t n_bytes, uint32_t n_chars)
{
    if (!grow(&t->symbols, t->n_symbols, &t->symbols_room, sizeof *t->symbols)) return -1;
    if (!grow(&t->bytes, t->n_bytes + n_bytes, &t->bytes_room, 1)) return -1;
    memcpy(t->bytes + t->n_bytes, bytes, (size_t)n_bytes);
    t->symbols[t->n_symbols] = (symbol){(uint64_t)t->n_bytes, (uint32_t)n_bytes, n_chars};
    t->n_bytes += n_bytes;
    return t->n_symbols++;
}

/* The bytes of two symbols, joined in t->piece; their number, or -1 when memory is short. */
static int64_t join(unitok_bpe_trainer *t, uint32_t left, uint32_t right)
{
    const symbol *a = &t->symbols[left], *b = &t->symbols[right];
    int64_t n = (int64_t)a->n_bytes + b->n_bytes;
    if (!grow(&t->piece, n + 8, &t->piece_room, 1)) return -1;
    memcpy(t->piece, t->bytes + a->begin, a->n_bytes);
    memcpy(t->piece + a->n_bytes, t->bytes + b->begin, b->n_bytes);
    return n;
}

/* --------------------------------------------------------------------------------------------------- Heap ---- */

INLINE uint8_t pair_byte(const unitok_bpe_trainer *t, const pair *p, uint32_t i)
{
    const symbol *a = &t->symbols[p->left], *b = &t->symbols[p->right];
    return i < a->n_bytes ? t->bytes[a->begin + i] : t->bytes[b->begin + i - a->n_bytes];
}

/* Whether pair x's piece is smaller than pair y's, both of them alike in the first eight bytes. Where the pieces are
 * the same, the one with the shorter left part comes first: sentencepiece leaves that to chance. */
static int piece_less(const unitok_bpe_trainer *t, uint32_t x, uint32_t y)
{
    const pair *p = &t->pairs.pairs[x], *q = &t->pairs.pairs[y];
    uint32_t n_p = t->symbols[p->left].n_bytes + t->symbols[p->right].n_bytes;
    uint32_t n_q = t->symbols[q->left].n_bytes + t->symbols[q->right].n_bytes;
    for (uint32_t i = 8; i < n_p && i < n_q; i++) {
        uint8_t a = pair_byte(t, p, i), b = pair_byte(t, q, i);
        if (a != b) return a < b;
    }
    if (n_p != n_q) return n_p < n_q;
    return t->symbols[p->left].n_bytes < t->symbols[q->left].n_bytes;
}

INLINE int comes_before(const unitok_bpe_trainer *t, const heap_entry *x, const heap_entry *y)
{
    if (x->count != y->count) return x->count > y->count;
    if (x->n_chars != y->n_chars) return x->n_chars < y->n_chars;
    if (x->head != y->head) return x->head < y->head;
    return piece_less(t, x->pair, y->pair);
}

static void sift_down(unitok_bpe_trainer *t, int64_t at)
{
    heap_entry entry = t->heap[at];
    for (;;) {
        int64_t child = 4 * at + 1, best = child;
        if (child >= t->n_heap) break;
        int64_t end = child + 4 < t->n_heap ? child + 4 : t->n_heap;
        for (int64_t k = child + 1; k < end; k++)
            if (comes_before(t, &t->heap[k], &t->heap[best])) best = k;
        if (!comes_before(t, &t->heap[best], &entry)) break;
        t->heap[at] = t->heap[best];
        at = best;
    }
    t->heap[at] = entry;
}

static int push(unitok_bpe_trainer *t, uint32_t pair_index)
{
    if (!grow(&t->heap, t->n_heap, &t->heap_room, sizeof *t->heap)) return 0;
    const pair *p = &t->pairs.pairs[pair_index];
    heap_entry entry = {p->count, 0, t->symbols[p->left].n_chars + t->symbols[p->right].n_chars, pair_index};
    uint32_t n = t->symbols[p->left].n_bytes + t->symbols[p->right].n_bytes;
    for (uint32_t i = 0; i < 8; i++) entry.head = entry.head << 8 | (i < n ? pair_byte(t, p, i) : 0);
    int64_t at = t->n_heap++;
    while (at && comes_before(t, &entry, &t->heap[(at - 1) / 4])) {
        t->heap[at] = t->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    t->heap[at] = entry;
    return 1;
}

static void pop(unitok_bpe_trainer *t)
{
    t->heap[0] = t->heap[--t->n_heap];
    if (t->n_heap) sift_down(t, 0);
}

/* -------------------------------------------------------------------------------------------------- Pairs ---- */

/* The pair of two symbols, made if new; NO_PAIR when memory is short. A pair whose piece is not allowed is kept, too,
 * so that it is judged once. */
static uint32_t pair_of(unitok_bpe_trainer *t, uint32_t left, uint32_t right)
{
    uint32_t index = pair_table_find(&t->pairs, left, right);
    if (index != NO_PAIR) return index;
    int64_t n = join(t, left, right);
    if (n < 0) return NO_PAIR;
    index = pair_table_add(&t->pairs, left, right);
    if (index != NO_PAIR && !rules_allow(t->rules, t->piece, n)) t->pairs.pairs[index].is_dead = 1;
    return index;
}

/* Notes that (left, right) begins at `slot`. */
static int add_event(unitok_bpe_trainer *t, uint32_t left, uint32_t right, uint32_t slot, uint64_t count)
{
    uint32_t index = pair_of(t, left, right);
    if (index == NO_PAIR) return 0;
    pair *p = &t->pairs.pairs[index];
    if (p->is_dead) return 1;
    if (!grow(&t->events, t->n_events, &t->events_room, sizeof *t->events)) return 0;
    p->count += count;
    p->n_positions++;
    t->events[t->n_events++] = (event){index, slot};
    return 1;
}

/* Forgets the pairs from `born` on that are too rare; gives the others their positions, in the order of the events, and puts
 * them on the heap. */
static int settle_events(unitok_bpe_trainer *t, uint32_t born)
{
    if (!grow(&t->remap, t->pairs.n - born, &t->remap_room, sizeof *t->remap)) return 0;
    pair_table_drop(&t->pairs, born, t->floor, t->remap);
    for (uint32_t i = born; i < t->pairs.n; i++) {
        pair *p = &t->pairs.pairs[i];
        p->positions = position_store_take(&t->positions, p->n_positions);
        if (!p->positions || !push(t, i)) return 0;
        p->n_positions = 0; /* counts up again below */
    }
    for (int64_t i = 0; i < t->n_events; i++) {
        uint32_t index = t->remap[t->events[i].pair - born];
        if (index == NO_PAIR) continue;
        pair *p = &t->pairs.pairs[index];
        p->positions[p->n_positions++] = t->events[i].slot;
    }
    t->n_events = 0;
    return 1;
}

INLINE void lower(unitok_bpe_trainer *t, uint32_t left, uint32_t right, uint32_t best, uint64_t count)
{
    uint32_t index = pair_table_find(&t->pairs, left, right);
    if (index != NO_PAIR && index != best) t->pairs.pairs[index].count -= count;
}

static int merge(unitok_bpe_trainer *t, uint32_t best, uint32_t made)
{
    uint32_t left = t->pairs.pairs[best].left, right = t->pairs.pairs[best].right;
    uint32_t n_left = t->symbols[left].n_chars, n_all = t->symbols[made].n_chars;
    const uint32_t *positions = t->pairs.pairs[best].positions;
    int64_t n = t->pairs.pairs[best].n_positions;
    uint32_t born = t->pairs.n;
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = positions[i], before_slot;
        if (i + 8 < n) PREFETCH(&t->slots[positions[i + 8]]);
        if (t->slots[slot] != left + 1 || t->slots[slot + n_left] != right + 1) continue;
        uint64_t count = levels_count(&t->levels, slot);
        uint32_t before = symbol_before(t->slots, slot, &before_slot), after = t->slots[slot + n_all];
        if (before) lower(t, before - 1, left, best, count);
        if (after) lower(t, right, after - 1, best, count);
        slots_join(t->slots, slot, n_left, n_all, made);
        if (before && !add_event(t, before - 1, made, before_slot, count)) return 0;
        if (after && !add_event(t, made, after - 1, slot, count)) return 0;
    }
    t->pairs.pairs[best].is_dead = 1;
    return settle_events(t, born);
}

/* ------------------------------------------------------------------------------------------------- Set-up ---- */

/* Writes a unit's characters as slots. ids: the symbol of each code point + 1, 0: none yet. */
static int lay_out(unitok_bpe_trainer *t, const uint8_t *unit, int64_t n_bytes, uint32_t *ids)
{
    int n;
    for (int64_t at = 0; at < n_bytes; at += n) {
        uint32_t c = char_at(unit + at, &n);
        if (!ids[c]) {
            int64_t made = add_symbol(t, unit + at, n, 1);
            if (made < 0) return 0;
            ids[c] = (uint32_t)made + 1;
        }
        t->slots[t->n_slots++] = rules_exclude(c) ? 0 : ids[c];
    }
    t->slots[t->n_slots++] = 0;
    return 1;
}

/* The symbol + 1 at a slot, and the slot after it; 0 between units. */
INLINE uint32_t symbol_at(const unitok_bpe_trainer *t, int64_t slot, int64_t *ret_next)
{
    uint32_t value = t->slots[slot];
    *ret_next = slot + (value ? t->symbols[value - 1].n_chars : 1);
    return value;
}

/* Finds all pairs in the units as they are, with their counts and positions, in place of what was known of them. */
static int count_pairs(unitok_bpe_trainer *t)
{
    int64_t next;
    pair_table_clear(&t->pairs);
    position_store_free(&t->positions);
    t->n_heap = 0;
    for (int64_t slot = 1; slot + 1 < t->n_slots; slot = next) {
        uint32_t left = symbol_at(t, slot, &next), right = t->slots[next];
        if (!left || !right) continue;
        uint32_t index = pair_of(t, left - 1, right - 1);
        if (index == NO_PAIR) return 0;
        pair *p = &t->pairs.pairs[index];
        p->count += levels_count(&t->levels, slot);
        p->n_positions++;
    }
    pair_table_drop(&t->pairs, 0, t->floor, NULL);
    if (!pair_table_trim(&t->pairs)) return 0;
    for (uint32_t i = 0; i < t->pairs.n; i++) {
        pair *p = &t->pairs.pairs[i];
        p->positions = position_store_take(&t->positions, p->n_positions);
        if (!p->positions || !push(t, i)) return 0;
        p->n_positions = 0;
    }
    for (int64_t slot = 1; slot + 1 < t->n_slots; slot = next) {
        uint32_t left = symbol_at(t, slot, &next), right = t->slots[next];
        uint32_t index = left && right ? pair_table_find(&t->pairs, left - 1, right - 1) : NO_PAIR;
        if (index == NO_PAIR) continue;
        pair *p = &t->pairs.pairs[index];
        p->positions[p->n_positions++] = (uint32_t)slot;
    }
    t->is_counted = 1;
    return 1;
}

/* The first guess at the floor. */
static uint64_t guess_floor(const unitok_bpe_trainer *t, int64_t n_pieces, uint64_t min_count)
{
    double weight = 0;
    int64_t begin = 0;
    for (int64_t k = 0; k < t->levels.n; k++) {
        weight += (double)t->levels.count[k] * (double)(t->levels.end[k] - begin);
        begin = t->levels.end[k];
    }
    double share = weight / ((double)n_pieces * FLOOR_SHARE);
    uint64_t guess = share < 0x1p62 ? (uint64_t)share : UINT64_C(1) << 62;
    if (guess < min_count) return min_count;
    return guess > LEAST_FLOOR ? guess : LEAST_FLOOR;
}

/* Makes every symbol its characters again, and forgets all merges. */
static void undo_merges(unitok_bpe_trainer *t, const uint32_t *ids)
{
    int64_t next;
    int n;
    for (int64_t slot = 1; slot < t->n_slots; slot = next) {
        uint32_t value = symbol_at(t, slot, &next);
        if (!value || t->symbols[value - 1].n_chars == 1) continue;
        const uint8_t *bytes = t->bytes + t->symbols[value - 1].begin;
        for (int64_t at = slot; at < next; at++, bytes += n) t->slots[at] = ids[char_at(bytes, &n)];
    }
    t->n_symbols = t->n_characters;
    t->n_bytes = (int64_t)(t->n_symbols ? t->symbols[t->n_symbols - 1].begin + t->symbols[t->n_symbols - 1].n_bytes : 0);
    piece_set_clear(&t->made);
    t->n_merged = 0;
}

/* Goes on with rarer pairs; 0 when memory is short. */
static int lower_floor(unitok_bpe_trainer *t, uint64_t min_count)
{
    t->floor /= FLOOR_FALL;
    if (t->floor < min_count) t->floor = min_count;
    if (t->floor <= 1 && min_count == 0) {
        uint32_t *ids = mem_zalloc(SCRIPT_CODE_POINTS, sizeof *ids);
        int n;
        if (!ids) return 0;
        for (int64_t i = 0; i < t->n_characters; i++) ids[char_at(t->bytes + t->symbols[i].begin, &n)] = (uint32_t)i + 1;
        t->floor = 0;
        undo_merges(t, ids);
        mem_free(ids);
    }
    return count_pairs(t);
}

static int set_up(unitok_bpe_trainer *t, const uint8_t *data, const int64_t *offsets, const uint64_t *counts,
                  int64_t n_units, int64_t n_chars)
{
    uint32_t *ids = mem_zalloc(SCRIPT_CODE_POINTS, sizeof *ids);
    int64_t *order = levels_order(counts, n_units);
    t->slots = mem_alloc((size_t)(n_chars + n_units + 2) * sizeof *t->slots);
    int ok = ids && order && t->slots && pair_table_init(&t->pairs) && piece_set_init(&t->made);
    if (ok) t->slots[t->n_slots++] = 0;
    for (int64_t i = 0; i < n_units && ok; i++) {
        int64_t unit = order[i];
        ok = levels_open(&t->levels, counts[unit]) &&
             lay_out(t, data + offsets[unit], offsets[unit + 1] - offsets[unit], ids);
        if (ok) t->levels.end[t->levels.n - 1] = t->n_slots;
    }
    mem_free(ids);
    mem_free(order);
    t->n_characters = t->n_symbols;
    return ok;
}

int32_t unitok_bpe_trainer_new(const unitok_rules *rules, const uint8_t *data, const int64_t *offsets,
                               const uint64_t *counts, int64_t n_units, unitok_bpe_trainer **ret, unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_units);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int64_t n_chars = 0;
    for (int64_t i = 0; i < n_units; i++) {
        if (!utf8_is_valid(data + offsets[i], offsets[i + 1] - offsets[i]))
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a unit is invalid UTF-8");
        n_chars += count_chars(data + offsets[i], offsets[i + 1] - offsets[i]);
    }
    if (n_chars + n_units > SLOTS_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the distinct units have more than 2^31 characters");
    unitok_bpe_trainer *t = mem_zalloc(1, sizeof *t);
    if (!t) return fail_memory(error);
    t->rules = rules;
    if (!set_up(t, data, offsets, counts, n_units, n_chars)) {
        unitok_bpe_trainer_free(t);
        return fail_memory(error);
    }
    *ret = t;
    return UNITOK_OK;
}

static void forget_replay(unitok_bpe_trainer *t)
{
    if (t->replay) bpe_replay_free(t->replay);
    mem_free(t->replay);
    t->replay = NULL;
}

void unitok_bpe_trainer_free(unitok_bpe_trainer *t)
{
    if (!t) return;
    mem_free(t->slots);
    levels_free(&t->levels);
    mem_free(t->symbols);
    mem_free(t->bytes);
    mem_free(t->piece);
    mem_free(t->events);
    mem_free(t->remap);
    mem_free(t->heap);
    mem_free(t->merged);
    forget_replay(t);
    pair_table_free(&t->pairs);
    position_store_free(&t->positions);
    piece_set_free(&t->made);
    mem_free(t);
}

int64_t unitok_bpe_trainer_memory_bytes(const unitok_bpe_trainer *t)
{
    return t->n_slots * 4 + t->symbols_room * (int64_t)sizeof *t->symbols + t->bytes_room +
           t->events_room * (int64_t)sizeof *t->events + t->remap_room * (int64_t)sizeof *t->remap +
           t->heap_room * (int64_t)sizeof *t->heap +
           pair_table_memory(&t->pairs) + t->positions.memory_bytes;
}

/* --------------------------------------------------------------------------------------------------- Steps ---- */

#define MADE_BEFORE (-2)

/* The symbol of a new merge; MADE_BEFORE if its piece is there, -1 when memory is short. */
static int64_t make(unitok_bpe_trainer *t, uint32_t left, uint32_t right, uint64_t count)
{
    int64_t n_bytes = join(t, left, right);
    if (n_bytes < 0) return -1;
    if (piece_set_has(&t->made, t->bytes, t->piece, n_bytes)) return MADE_BEFORE;
    int64_t made = add_symbol(t, t->piece, n_bytes, t->symbols[left].n_chars + t->symbols[right].n_chars);
    if (made < 0 || !piece_set_add(&t->made, t->bytes, t->symbols[made].begin, n_bytes)) return -1;
    if (!grow(&t->merged, t->n_merged, &t->merged_room, sizeof *t->merged)) return -1;
    t->merged[t->n_merged++] = (merge_of){left, right, count};
    return made;
}

int32_t unitok_bpe_trainer_resume(unitok_bpe_trainer *t, const uint32_t *symbols, const uint64_t *counts, int64_t n,
                                  unitok_error *error)
{
    t->replay = mem_zalloc(1, sizeof *t->replay);
    if (!t->replay || !bpe_replay_init(t->replay, (uint32_t)t->n_characters)) return fail_memory(error);
    for (int64_t i = 0; i < n; i++) {
        uint32_t left = symbols[2 * i], right = symbols[2 * i + 1];
        if (left >= t->n_symbols || right >= t->n_symbols ||
            (int64_t)t->symbols[left].n_chars + t->symbols[right].n_chars > rules_max_symbols(t->rules))
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a merge of symbols that the units do not have");
        int64_t made = make(t, left, right, counts[i]);
        if (made == MADE_BEFORE) return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a merge that was made before");
        if (made < 0 || !bpe_replay_add(t->replay, left, right)) return fail_memory(error);
    }
    return UNITOK_OK;
}

void unitok_bpe_trainer_merges(const unitok_bpe_trainer *t, int64_t begin, int64_t end, uint32_t *symbols,
                               uint64_t *counts)
{
    for (int64_t i = begin; i < end; i++) {
        *symbols++ = t->merged[i].left;
        *symbols++ = t->merged[i].right;
        *counts++ = t->merged[i].count;
    }
}

/* The pair to merge next, taken off the heap; NO_PAIR if none is left. */
static uint32_t next_best(unitok_bpe_trainer *t, uint64_t min_count)
{
    while (t->n_heap) {
        heap_entry *top = &t->heap[0];
        uint64_t count = t->pairs.pairs[top->pair].count;
        if (top->count != count) {
            top->count = count;
            sift_down(t, 0);
            continue;
        }
        if (count < min_count) return NO_PAIR;
        uint32_t best = top->pair;
        pop(t);
        return best;
    }
    return NO_PAIR;
}

int64_t unitok_bpe_trainer_step(unitok_bpe_trainer *t, int64_t n_pieces, uint64_t min_count, int64_t max_work,
                                int32_t *ret_is_done)
{
    *ret_is_done = 0;
    if (t->n_merged >= n_pieces) return t->n_merged;
    if (t->replay) {
        int is_done = bpe_replay_run(t->replay, t->slots, t->n_slots, &max_work);
        if (is_done < 0) return -1;
        if (is_done) forget_replay(t);
        if (max_work <= 0) return t->n_merged;
    }
    if (!t->is_counted) {
        t->floor = guess_floor(t, n_pieces, min_count);
        if (!count_pairs(t)) return -1;
    }
    while (t->n_merged < n_pieces && max_work > 0) {
        uint32_t best = next_best(t, t->floor > min_count ? t->floor : min_count);
        if (best == NO_PAIR && t->floor > min_count) {
            if (!lower_floor(t, min_count)) return -1;
            continue;
        }
        if (best == NO_PAIR) {
            *ret_is_done = 1;
            break;
        }
        pair *p = &t->pairs.pairs[best];
        uint64_t count = p->count;
        max_work -= (int64_t)p->n_positions + 16;
        int64_t made = make(t, p->left, p->right, count);
        if (made == -1) return -1;
        if (made == MADE_BEFORE) {
            p->is_dead = 1; /* the same piece from other parts is never merged */
            continue;
        }
        if (!merge(t, best, (uint32_t)made)) return -1;
    }
    return t->n_merged;
}

int64_t unitok_bpe_trainer_pieces(const unitok_bpe_trainer *t, int64_t begin, int64_t end, uint8_t *data,
                                  int64_t capacity, int64_t *offsets, uint64_t *counts)
{
    int64_t n_bytes = 0;
    for (int64_t i = begin; i < end; i++) n_bytes += t->symbols[t->n_characters + i].n_bytes;
    if (n_bytes > capacity) return n_bytes;
    offsets[0] = 0;
    for (int64_t i = begin; i < end; i++) {
        const symbol *s = &t->symbols[t->n_characters + i];
        memcpy(data + offsets[i - begin], t->bytes + s->begin, s->n_bytes);
        offsets[i - begin + 1] = offsets[i - begin] + s->n_bytes;
        counts[i - begin] = t->merged[i].count;
    }
    return n_bytes;
}
