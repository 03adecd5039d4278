/* bpe.c - trains byte-pair encoding exactly as sentencepiece 0.2.3 does or, without rules, exactly
 * as Hugging Face's BpeTrainer does
 *
 *     units ─measure, lay out─▶ slots ─(replay)─▶ ─count, place─▶ pairs ─▶ merges
 *             bpe_layout.h   bpe_slots.h  bpe_replay.h   bpe_count.h        bpe_merge.h
 *
 * Workers share every phase except the merges; between two phases, one thread joins their results.
 * While unitok_bpe_trainer_is_shared returns 1, the caller runs unitok_bpe_trainer_work for each
 * worker and then unitok_bpe_trainer_join; otherwise it runs unitok_bpe_trainer_step. Merge k makes
 * symbol n_characters + k. Pairs are ranked by their counts and pieces alone, so the result does
 * not depend on the order of units, pairs or positions, nor on the number of workers.
 *
 * Most pairs are too rare to ever be merged, and the count of a pair only falls. So a pair whose
 * count at its creation is below `floor`, which is guessed from the size of the text, is dropped at
 * once. If the best remaining pair falls below the floor, the guess was too high: the floor is
 * lowered, and all pairs are counted again in the partly merged units. sentencepiece also merges
 * pairs that no longer occur, when it is their turn. If training reaches such pairs, it undoes all
 * merges and starts again from the characters without a floor.
 *
 * Without rules, only one pair makes a given piece, because every occurrence of a pair is merged at
 * once: two places that hold the same bytes between the same borders undergo the same merges, so
 * no other place with these bytes is left when the piece is made. (With rules, a limit of
 * characters can prevent a merge.) So neither a piece nor a pair is created twice.
 *
 * A resumed run replays the saved merges, which needs no pairs, and then counts the pairs as if the
 * floor had just been lowered.
 *
 * The text takes 4 bytes per character, and a kept pair 4 bytes for each of its positions: at most
 * 16 bytes per character in total.
 *
 * An example with four units and their counts:
 *
 *     units      low 5, lower 2, newest 6, widest 3
 *     merge 0    (e, s) 9         (s, t) occurs 9 times as well, but "es" has smaller bytes
 *     merge 1    (es, t) 9        created by merge 0, which lowered (s, t) to 0
 *     merge 2    (l, o) 7         before (o, w), which also occurs 7 times
 *     merge 3    (lo, w) 7        now the units are low, low e r, n e w est, w i d est */

#include "ground/error.h"
#include "ground/packed.h"
#include "train/bpe_count.h"
#include "train/bpe_heap.h"
#include "train/bpe_layout.h"
#include "train/bpe_merge.h"
#include "train/bpe_replay.h"
#include "train/counter.h"

#define WORKERS_MAX 1024
/* The first floor is 1 / FLOOR_SHARE of the count that each piece would have if all were equally
 * frequent. */
#define FLOOR_SHARE 128
#define FLOOR_FALL 4
/* The minimum of the first floor. Half of all pairs occur once, and only short texts merge those.
 */
#define LEAST_FLOOR 2

/* A completed merge: its two symbols and the count of their pair. The new symbol needs no field,
 * because merge k makes symbol n_characters + k. */
typedef struct merge_of {
    uint32_t left, right;
    uint64_t count;
} merge_of;

/* The workers share all phases except MERGE. */
enum phase { MERGE, MEASURE, LAY_OUT, REPLAY, COUNT, PLACE };

/* The phases, in the order of an ordinary run. Lowering the floor goes back to COUNT, and a resumed
 * run passes through REPLAY:
 *
 *     MEASURE ─▶ LAY_OUT ─▶ (resume: REPLAY) ─▶ MERGE ─▶ COUNT ─▶ PLACE ─▶ MERGE ─▶ ...
 *                                                         ▲                  │
 *                                                         └── lower_floor ◀──┘
 *
 * MERGE is the only phase that a single thread runs, with unitok_bpe_trainer_step. */
struct unitok_bpe_trainer {
    enum phase phase;
    int n_workers;
    bpe_layout layout;     /* in MEASURE and LAY_OUT */
    replay_share *replays; /* [n_workers] in REPLAY */
    bpe_replay replay;
    pair_counter *counters; /* [n_workers] in COUNT and PLACE */

    bpe_state state;
    int is_counted; /* `state` contains the pairs */
    pair_heap heap;
    births births;

    unitok_counter *made;     /* the set of pieces merged so far */
    unitok_counter *reserved; /* the reserved pieces; NULL: there are none */
    merge_of *merged;
    int64_t n_merged, merged_capacity;
};

/* --------------------------------------------------------------------------- Shared phases ---- */

/* The units are borrowed until LAY_OUT has been joined; from then on the trainer has its own copy,
 * in slots. */
int32_t unitok_bpe_trainer_new(const unitok_rules *rules, const unitok_units *units,
                               const uint8_t *keep, int32_t n_workers, unitok_bpe_trainer **ret,
                               unitok_error *error)
{
    const char *problem = check_offsets(units->offsets, units->n);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    if (n_workers < 1 || n_workers > WORKERS_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a BPE trainer has 1 to 1024 workers");
    unitok_bpe_trainer *t = mem_zalloc(1, sizeof *t);
    if (!t) return fail_memory(error);
    t->state.rules = rules;
    t->n_workers = n_workers;
    t->phase = MEASURE;
    t->layout = (bpe_layout){
        .data = units->data, .offsets = units->offsets, .counts = units->counts, .keep = keep};
    t->layout.is_bytes = !rules;
    if (!layout_open(&t->layout, units->n, n_workers) || !pair_table_init(&t->state.pairs) ||
        unitok_counter_new(0, &t->made, NULL)) {
        unitok_bpe_trainer_free(t);
        return fail_memory(error);
    }
    *ret = t;
    return UNITOK_OK;
}

/* Ends the replay. Each worker has a heap of its own, which is freed here. */
static void close_replay(unitok_bpe_trainer *t)
{
    for (int k = 0; t->replays && k < t->n_workers; k++) mem_free(t->replays[k].heap);
    mem_free(t->replays);
    t->replays = NULL;
    bpe_replay_free(&t->replay);
    t->replay = (bpe_replay){0};
}

/* The counters are freed as soon as all positions are placed. They are as large as the pairs that
 * they have counted, most of which are then dropped. */
static void close_counters(unitok_bpe_trainer *t)
{
    for (int k = 0; t->counters && k < t->n_workers; k++) pair_counter_close(&t->counters[k]);
    mem_free(t->counters);
    t->counters = NULL;
}

void unitok_bpe_trainer_free(unitok_bpe_trainer *t)
{
    if (!t) return;
    layout_close(&t->layout);
    close_replay(t);
    close_counters(t);
    mem_free(t->state.text.slots);
    levels_free(&t->state.text.levels);
    symbol_list_free(&t->state.symbols);
    pair_table_free(&t->state.pairs);
    position_store_free(&t->state.positions);
    mem_free(t->heap.entries);
    births_free(&t->births);
    unitok_counter_free(t->made);
    unitok_counter_free(t->reserved);
    mem_free(t->state.reserved.items);
    mem_free(t->merged);
    mem_free(t);
}

/* Counts only the memory that grows with the text: the caller compares it with its memory limit. */
int64_t unitok_bpe_trainer_memory_bytes(const unitok_bpe_trainer *t)
{
    return t->state.text.n * 4 + symbol_list_memory(&t->state.symbols) +
           t->heap.capacity * (int64_t)sizeof *t->heap.entries + births_memory(&t->births) +
           pair_table_memory(&t->state.pairs) + t->state.positions.memory_bytes;
}

int32_t unitok_bpe_trainer_is_shared(const unitok_bpe_trainer *t) { return t->phase != MERGE; }

/* Every phase divides its work in the same way: a worker does a part of its share and reports
 * whether more is left. Workers write to disjoint memory, so they need no locks. `state` is 1 if
 * the share is done, 0 if it is not, -1 if allocation fails, and -2 if a unit is invalid. */
int32_t unitok_bpe_trainer_work(unitok_bpe_trainer *t, int32_t worker, int64_t max_work,
                                int32_t *ret_is_done, unitok_error *error)
{
    int64_t unit = -1;
    int state = 1;
    if (worker < 0 || worker >= t->n_workers || max_work < 1)
        return fail(error, UNITOK_ERROR_ARGUMENT, worker, -1, "the BPE trainer has no such worker");
    switch (t->phase) {
    case MEASURE:
        state = layout_measure(&t->layout, worker, max_work, &unit);
        break;
    case LAY_OUT:
        state = layout_write(&t->layout, worker, max_work, &t->state.text);
        break;
    case REPLAY:
        state = bpe_replay_run(&t->replay, &t->replays[worker], t->state.text.slots, max_work);
        break;
    case COUNT:
        state = pair_counter_count(&t->counters[worker], &t->state, max_work);
        break;
    case PLACE:
        state = pair_counter_place(&t->counters[worker], &t->state, max_work);
        break;
    case MERGE:
        break;
    }
    *ret_is_done = state == 1;
    if (state == -2) return fail(error, UNITOK_ERROR_ARGUMENT, unit, -1, "a unit is invalid UTF-8");
    return state < 0 ? fail_memory(error) : UNITOK_OK;
}

/* Discards all pairs and starts counting the pairs of the partly merged units; returns 0 if
 * allocation fails. */
static int start_counting(unitok_bpe_trainer *t)
{
    pair_table_clear(&t->state.pairs);
    position_store_free(&t->state.positions);
    t->heap.n = 0;
    t->is_counted = 0;
    t->counters = mem_zalloc((size_t)t->n_workers, sizeof *t->counters);
    if (!t->counters) return 0;
    for (int k = 0; k < t->n_workers; k++)
        if (!pair_counter_open(&t->counters[k], &t->state.text, k, t->n_workers)) return 0;
    t->phase = COUNT;
    return 1;
}

/* Adds the pairs from index `begin` on to the heap; returns 0 if allocation fails. */
static int push_pairs(unitok_bpe_trainer *t, uint32_t begin)
{
    for (uint32_t i = begin; i < t->state.pairs.n; i++)
        if (!pair_heap_push(&t->heap, &t->state, i)) return 0;
    return 1;
}

/* Called by one thread after all workers are done. Only a small part of the work cannot be shared:
 * numbering the characters, placing the levels, and adding up the tables. */
int32_t unitok_bpe_trainer_join(unitok_bpe_trainer *t, unitok_error *error)
{
    int state = 1;
    switch (t->phase) {
    case MEASURE:
        state = layout_join(&t->layout, &t->state.symbols, &t->state.text);
        t->phase = LAY_OUT;
        break;
    case LAY_OUT:
        layout_close(&t->layout);
        t->phase = MERGE;
        break;
    case REPLAY:
        close_replay(t);
        t->phase = MERGE;
        break;
    case COUNT:
        if (!counters_join(t->counters, t->n_workers, &t->state) || !push_pairs(t, 0)) state = -1;
        t->phase = PLACE;
        break;
    case PLACE:
        close_counters(t);
        t->is_counted = 1;
        t->phase = MERGE;
        break;
    case MERGE:
        break;
    }
    if (state == -2)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the distinct units have more than 2^31 characters");
    return state < 0 ? fail_memory(error) : UNITOK_OK;
}

/* ---------------------------------------------------------------------------------- Floors ---- */

/* The first guess at the floor. Too high a guess costs another count of all pairs; too low a guess
 * costs memory and time for pairs that are never merged. `weight` approximates the number of
 * characters in the text. If all n_pieces pieces were equally frequent, each would occur weight /
 * n_pieces times. Real counts are far from equal: the last pieces of a vocabulary are much rarer
 * than the average piece, and FLOOR_SHARE allows for that. */
static uint64_t guess_floor(const unitok_bpe_trainer *t, int64_t n_pieces, uint64_t min_count)
{
    const levels *levels = &t->state.text.levels;
    double weight = 0;
    int64_t begin = 0;
    for (int64_t k = 0; k < levels->n; k++) {
        weight += (double)levels->count[k] * (double)(levels->end[k] - begin);
        begin = levels->end[k];
    }
    /* The share as an integer, but at least min_count and LEAST_FLOOR. */
    double share = weight / ((double)n_pieces * FLOOR_SHARE);
    uint64_t guess = share < 0x1p62 ? (uint64_t)share : UINT64_C(1) << 62;
    if (guess < min_count) return min_count;
    return guess > LEAST_FLOOR ? guess : LEAST_FLOOR;
}

/* Writes the characters of every symbol back into its slots, and discards all merges. Returns 0 if
 * allocation fails. The slots inside a symbol are not readable, but the bytes of a symbol are those
 * of its characters, which are looked up by code point. Characters keep their symbols, because
 * these depend only on the code points. */
static int undo_merges(unitok_bpe_trainer *t)
{
    uint32_t *ids = mem_zalloc(SCRIPT_CODE_POINTS, sizeof *ids);
    const symbol *symbols = t->state.symbols.items;
    int64_t next;
    int n;
    if (!ids) return 0;
    for (int64_t i = 0; i < t->state.text.n_characters; i++)
        ids[unit_char(!t->state.rules, t->state.symbols.bytes + symbols[i].begin, &n)] =
            (uint32_t)i + 1;
    for (int64_t slot = 1; slot < t->state.text.n; slot = next) {
        uint32_t value = t->state.text.slots[slot];
        next = slot_after(&t->state.text, &t->state.symbols, slot);
        if (next == slot + 1) continue;
        /* A merged symbol: each of its characters goes back to its slot. */
        const uint8_t *bytes = t->state.symbols.bytes + symbols[value - 1].begin;
        for (int64_t at = slot; at < next; at++, bytes += n)
            t->state.text.slots[at] = ids[unit_char(!t->state.rules, bytes, &n)];
    }
    mem_free(ids);
    symbol_list_cut(&t->state.symbols, t->state.text.n_characters);
    unitok_counter_clear(t->made);
    t->n_merged = 0;
    return 1;
}

/* Counts all pairs again with a lower floor; returns 0 if allocation fails. With min_count 0, even
 * pairs that no longer occur are merged, and counting does not find these. So a floor of 1 becomes
 * 0, and training starts again. */
static int lower_floor(unitok_bpe_trainer *t, uint64_t min_count)
{
    t->state.floor /= FLOOR_FALL;
    if (t->state.floor < min_count) t->state.floor = min_count;
    if (t->state.floor <= 1 && min_count == 0) {
        t->state.floor = 0;
        if (!undo_merges(t)) return 0;
    }
    return start_counting(t);
}

/* ---------------------------------------------------------------------------------- Merges ---- */

/* The result of `make` for a piece that already exists. Different pairs can spell the same piece:
 * "ab" + "c" and "a" + "bc". */
#define MADE_BEFORE (-2)

/* Adds the symbol of a new merge. Returns MADE_BEFORE if another pair has already made its piece
 * (sentencepiece then ignores the pair), or -1 if allocation fails. */
static int64_t make(unitok_bpe_trainer *t, uint32_t left, uint32_t right, uint64_t count)
{
    symbol_list *symbols = &t->state.symbols;
    int64_t n_bytes = symbol_list_join(symbols, left, right);
    if (n_bytes < 0) return -1;
    if (counter_find(t->made, symbols->piece, n_bytes) >= 0) return MADE_BEFORE;
    int64_t made = symbol_list_add(symbols, symbols->piece, n_bytes,
                                   symbols->items[left].n_chars + symbols->items[right].n_chars);
    if (made < 0 || counter_add(t->made, symbols->piece, n_bytes, 1) < 0) return -1;
    int64_t piece = t->reserved ? counter_find(t->reserved, symbols->piece, n_bytes) : -1;
    if (piece >= 0) {
        reserved_list *list = &t->state.reserved;
        if (!grow(&list->items, list->n, &list->capacity, sizeof *list->items)) return -1;
        list->items[list->n++] = (reserved_symbol){(uint32_t)made, (uint32_t)piece};
    }
    if (!grow(&t->merged, t->n_merged, &t->merged_capacity, sizeof *t->merged)) return -1;
    t->merged[t->n_merged++] = (merge_of){left, right, count};
    return made;
}

/* Ranks depend on the number of reserved pieces, so this number is fixed before any pair enters
 * the heap. */
int32_t unitok_bpe_trainer_reserve(unitok_bpe_trainer *t, const uint8_t *data,
                                   const int64_t *offsets, int64_t n, unitok_error *error)
{
    if (t->state.rules || t->phase != MERGE || t->n_merged || t->is_counted || t->reserved)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a BPE trainer without rules reserves pieces once, before its first step");
    const char *problem = check_offsets(offsets, n);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int32_t status = unitok_counter_new(0, &t->reserved, error);
    for (int64_t k = 0; !status && k < n; k++) {
        int64_t n_bytes = offsets[k + 1] - offsets[k];
        if (n_bytes < 2 || n_bytes > UNITOK_KEY_MAX_BYTES ||
            counter_find(t->reserved, data + offsets[k], n_bytes) >= 0)
            return fail(error, UNITOK_ERROR_ARGUMENT, k, -1,
                        "a reserved piece is shorter than two bytes, or repeated");
        if (counter_add(t->reserved, data + offsets[k], n_bytes, 1) < 0) return fail_memory(error);
    }
    t->state.reserved.n_pieces = (uint32_t)n;
    return status;
}

/* Merges from a checkpoint are checked like any other input: the symbols of each merge must exist
 * before it, and no piece may be made twice. The replay relies on nothing else. */
int32_t unitok_bpe_trainer_resume(unitok_bpe_trainer *t, const uint32_t *symbols,
                                  const uint64_t *counts, int64_t n, unitok_error *error)
{
    if (t->phase != MERGE || t->n_merged)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a BPE trainer resumes once, before its first step");
    if (!bpe_replay_init(&t->replay, (uint32_t)t->state.text.n_characters))
        return fail_memory(error);
    for (int64_t i = 0; i < n; i++) {
        uint32_t left = symbols[2 * i], right = symbols[2 * i + 1];
        if (left >= t->state.symbols.n || right >= t->state.symbols.n ||
            (int64_t)t->state.symbols.items[left].n_chars + t->state.symbols.items[right].n_chars >
                (t->state.rules ? rules_max_symbols(t->state.rules) : t->state.text.n))
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1,
                        "a merge uses symbols that the units do not contain");
        /* The symbols are made again in the same order, so they get the same numbers. */
        int64_t made = make(t, left, right, counts[i]);
        if (made == MADE_BEFORE)
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a merge occurs twice");
        if (made < 0 || !bpe_replay_add(&t->replay, left, right)) return fail_memory(error);
    }
    t->replays = mem_zalloc((size_t)t->n_workers, sizeof *t->replays);
    if (!t->replays) return fail_memory(error);
    for (int k = 0; k < t->n_workers; k++) {
        t->replays[k].at = share_begin(&t->state.text, k, t->n_workers);
        t->replays[k].end = share_begin(&t->state.text, k + 1, t->n_workers);
    }
    t->phase = REPLAY;
    return UNITOK_OK;
}

/* Merges a pair if its piece is new; returns 0 if allocation fails. The pairs that the merge
 * creates are at the end of the table, and enter the heap afterwards, when their counts are final.
 */
static int merge_best(unitok_bpe_trainer *t, uint32_t best)
{
    const pair *p = &t->state.pairs.pairs[best];
    uint32_t born = t->state.pairs.n;
    int64_t made = make(t, p->left, p->right, p->count);
    if (made == MADE_BEFORE) return 1;
    return made >= 0 && merge_pair(&t->births, &t->state, best, (uint32_t)made) &&
           push_pairs(t, born);
}

/* The first call only starts counting pairs, because the floor depends on n_pieces. The work of a
 * merge is the number of its positions, plus a constant for the heap and the table. */
int64_t unitok_bpe_trainer_step(unitok_bpe_trainer *t, int64_t n_pieces, uint64_t min_count,
                                int64_t max_work, int32_t *ret_is_done)
{
    *ret_is_done = 0;
    if (!t->state.rules && min_count < 1) min_count = 1;
    if (t->phase != MERGE || t->n_merged >= n_pieces) return t->n_merged;
    if (!t->is_counted) {
        t->state.floor = guess_floor(t, n_pieces, min_count);
        return start_counting(t) ? t->n_merged : -1;
    }
    while (t->n_merged < n_pieces && max_work > 0) {
        uint32_t best = pair_heap_take(&t->heap, &t->state,
                                       t->state.floor > min_count ? t->state.floor : min_count);
        /* All pairs that were kept are used up, but rarer pairs may be needed: lower the floor and
         * count them. */
        if (best == NO_PAIR && t->state.floor > min_count)
            return lower_floor(t, min_count) ? t->n_merged : -1;
        if (best == NO_PAIR) {
            *ret_is_done = 1;
            break;
        }
        max_work -= (int64_t)t->state.pairs.pairs[best].n_positions + 16;
        if (!merge_best(t, best)) return -1;
    }
    return t->n_merged;
}

/* Exports merges for a checkpoint; unitok_bpe_trainer_resume replays them. */
void unitok_bpe_trainer_merges(const unitok_bpe_trainer *t, int64_t begin, int64_t end,
                               uint32_t *symbols, uint64_t *counts)
{
    for (int64_t i = begin; i < end; i++) {
        *symbols++ = t->merged[i].left;
        *symbols++ = t->merged[i].right;
        *counts++ = t->merged[i].count;
    }
}

/* Returns the total size of the pieces in bytes; writes nothing if that exceeds the capacity. */
int64_t unitok_bpe_trainer_pieces(const unitok_bpe_trainer *t, int64_t begin, int64_t end,
                                  uint8_t *data, int64_t capacity, int64_t *offsets,
                                  uint64_t *counts)
{
    const symbol *pieces = t->state.symbols.items + t->state.text.n_characters;
    int64_t n_bytes = 0;
    for (int64_t i = begin; i < end; i++) n_bytes += pieces[i].n_bytes;
    if (n_bytes > capacity) return n_bytes;
    offsets[0] = 0;
    for (int64_t i = begin; i < end; i++) {
        memcpy(data + offsets[i - begin], t->state.symbols.bytes + pieces[i].begin,
               pieces[i].n_bytes);
        offsets[i - begin + 1] = offsets[i - begin] + pieces[i].n_bytes;
        counts[i - begin] = t->merged[i].count;
    }
    return n_bytes;
}
