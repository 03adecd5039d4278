/* bpe_layout.c - lays out units as slots, in the steps of bpe_layout.h
 *
 * All slots are ordered by descending count. Each worker first sorts its own units and counts the
 * slots that it needs on each level. So joining only merges short lists, and afterwards the workers
 * write to disjoint slots.
 *
 *     worker 0     "the" 9   "cat" 2      level 9: 4 slots, level 2: 4 slots (3 and a 0)
 *     worker 1     "a" 9                   level 9: 2 slots
 *     slots        0 │ t h e 0 │ a 0 │ c a t 0 │ 0
 *                      level 9         level 2           each worker writes its own units
 */

#include "train/bpe_layout.h"

#include "ground/alloc.h"

#define AHEAD 8

/* The last share includes the remainder of the division. */
int layout_open(bpe_layout *layout, int64_t n_units, int n_shares)
{
    layout->shares = mem_zalloc((size_t)n_shares, sizeof *layout->shares);
    if (!layout->shares) return 0;
    layout->n_shares = n_shares;
    for (int k = 0; k < n_shares; k++) {
        layout->shares[k].begin = n_units / n_shares * k;
        layout->shares[k].end = k + 1 < n_shares ? n_units / n_shares * (k + 1) : n_units;
    }
    return 1;
}

void layout_close(bpe_layout *layout)
{
    for (int k = 0; k < layout->n_shares; k++) {
        layout_share *share = &layout->shares[k];
        mem_free(share->order);
        levels_free(&share->levels);
        mem_free(share->place);
        mem_free(share->seen);
    }
    mem_free(layout->shares);
    mem_free(layout->ids);
    *layout = (bpe_layout){0};
}

/* The i-th unit of a share, by count. Units with similar counts are scattered over the data, so
 * almost every access would miss the cache. The next units are therefore prefetched: first the
 * offset, then the bytes. */
INLINE int64_t unit_at(const bpe_layout *layout, const layout_share *share, int64_t i)
{
    if (i + 2 * AHEAD < share->end - share->begin) {
        PREFETCH(&layout->offsets[share->begin + share->order[i + 2 * AHEAD]]);
        PREFETCH(&layout->data[layout->offsets[share->begin + share->order[i + AHEAD]]]);
    }
    return share->begin + share->order[i];
}

/* Called when work on a share begins, in the thread of its worker, so that sorting is shared too.
 */
static int start(bpe_layout *layout, layout_share *share)
{
    share->seen = mem_zalloc(SCRIPT_CODE_POINTS, 1);
    share->order = share->seen
                       ? levels_order(layout->counts + share->begin, share->end - share->begin)
                       : NULL;
    return share->order != NULL;
}

/* Counts slots instead of writing them, because the beginning of a level is known only when all
 * workers have measured theirs. Removes units with a count of 0 from the end of the share. `work`
 * also charges 8 bytes per unit, so that many short units cannot make a call long. */
int layout_measure(bpe_layout *layout, int k, int64_t work, int64_t *ret_unit)
{
    layout_share *share = &layout->shares[k];
    if (!share->order && !start(layout, share)) return -1;
    int64_t i = share->n_measured, n = share->end - share->begin;
    for (; i < n && work > 0; i++) {
        int64_t unit = unit_at(layout, share, i),
                n_bytes = layout->offsets[unit + 1] - layout->offsets[unit];
        uint64_t count = layout->counts[unit];
        const uint8_t *bytes = layout->data + layout->offsets[unit];
        if (!count) break; /* counts descend, so the remaining ones are 0 too */
        if (!layout->is_bytes && !utf8_is_valid(bytes, n_bytes)) {
            *ret_unit = unit;
            return -2;
        }
        /* A unit takes one slot per character, and one for the 0 that ends it. */
        int64_t n_slots = 1;
        int n_char;
        for (int64_t at = 0; at < n_bytes; at += n_char, n_slots++)
            share->seen[unit_char(layout->is_bytes, bytes + at, &n_char)] = 1;
        /* A new level begins when the count falls. Its end is initially the end of the previous
         * level, and grows with each unit. */
        levels *own = &share->levels;
        if (!own->n || own->count[own->n - 1] != count) {
            int64_t before = own->n ? own->end[own->n - 1] : 0;
            if (!levels_open(own, count)) return -1;
            own->end[own->n - 1] = before;
        }
        own->end[own->n - 1] += n_slots;
        work -= n_bytes + 8;
    }
    share->n_measured = i;
    if (i < n && work <= 0) return 0;
    share->end = share->begin + i;
    return 1;
}

static int is_seen(const layout_share *shares, int n, uint32_t c)
{
    int seen = 0;
    for (int k = 0; k < n; k++) seen |= shares[k].seen[c];
    return seen;
}

/* Assigns a symbol to a character of the units; returns 0 if allocation fails. */
static int name_character(bpe_layout *layout, symbol_list *symbols, uint32_t c)
{
    uint8_t bytes[4] = {(uint8_t)c};
    int n = layout->is_bytes ? 1 : utf8_encode(c, bytes);
    int64_t made = symbol_list_add(symbols, bytes, n, 1);
    if (made >= 0) layout->ids[c] = (uint32_t)made + 1;
    return made >= 0;
}

static int is_printable(uint32_t byte)
{
    return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}

/* Assigns a symbol to each character that can be in a piece, in an order that does not depend on
 * the order of the units. Other characters keep the id 0. */
static int name_characters(bpe_layout *layout, symbol_list *symbols)
{
    layout->ids = mem_zalloc(SCRIPT_CODE_POINTS, sizeof *layout->ids);
    if (!layout->ids) return 0;
    for (uint32_t k = 0; layout->is_bytes && k < 512; k++)
        if (is_printable(k & 0xFF) == (k < 256) &&
            is_seen(layout->shares, layout->n_shares, k & 0xFF) &&
            !name_character(layout, symbols, k & 0xFF))
            return 0;
    for (uint32_t c = 0; !layout->is_bytes && c < SCRIPT_CODE_POINTS; c++) {
        if (!is_seen(layout->shares, layout->n_shares, c) || rules_exclude(c)) continue;
        if ((!layout->keep || layout->keep[c]) && !name_character(layout, symbols, c)) return 0;
    }
    return 1;
}

/* The largest count of the levels that are not placed yet; 0 if all are placed. */
static uint64_t next_count(const bpe_layout *layout)
{
    uint64_t count = 0;
    for (int k = 0; k < layout->n_shares; k++) {
        const layout_share *share = &layout->shares[k];
        if (share->level < share->levels.n && share->levels.count[share->level] > count)
            count = share->levels.count[share->level];
    }
    return count;
}

/* Merges the levels of all shares, which are in descending order: each level of the text gets a
 * range of slots, in which each share with units of that count gets its own part. Each step takes
 * the largest count that is left in any share, so every share is read once from front to back. */
static int place_levels(bpe_layout *layout, bpe_text *text)
{
    uint64_t count;
    for (int k = 0; k < layout->n_shares; k++) {
        layout_share *share = &layout->shares[k];
        share->place = mem_alloc((size_t)(share->levels.n + 1) * sizeof *share->place);
        if (!share->place) return 0;
    }
    text->n = 1;
    while ((count = next_count(layout)) != 0) {
        if (!levels_open(&text->levels, count)) return 0;
        for (int k = 0; k < layout->n_shares; k++) {
            layout_share *share = &layout->shares[k];
            int64_t level = share->level;
            if (level == share->levels.n || share->levels.count[level] != count) continue;
            share->place[level] = text->n;
            text->n += share->levels.end[level] - (level ? share->levels.end[level - 1] : 0);
            share->level++;
        }
        text->levels.end[text->levels.n - 1] = text->n;
    }
    for (int k = 0; k < layout->n_shares; k++) layout->shares[k].level = 0;
    return 1;
}

/* text->n is the number of slots. The first slot is a 0, so that every unit is between two zeros.
 */
int layout_join(bpe_layout *layout, symbol_list *symbols, bpe_text *text)
{
    if (!name_characters(layout, symbols) || !place_levels(layout, text)) return -1;
    if (text->n > SLOTS_MAX) return -2;
    text->n_characters = symbols->n;
    text->slots = mem_alloc((size_t)(text->n + 1) * sizeof *text->slots);
    if (!text->slots) return -1;
    /* With a 0 before the first unit, every symbol has a slot before it. */
    text->slots[0] = 0;
    text->slots[text->n++] = 0; /* the end, which exists even if there are no units */
    return 1;
}

/* A character that no piece may contain has the id 0, so it ends the unit: nothing is merged across
 * it. */
int layout_write(bpe_layout *layout, int k, int64_t work, bpe_text *text)
{
    layout_share *share = &layout->shares[k];
    const uint32_t *ids = layout->ids;
    int64_t i = share->n_written, n = share->end - share->begin;
    for (; i < n && work > 0; i++) {
        int64_t unit = unit_at(layout, share, i),
                n_bytes = layout->offsets[unit + 1] - layout->offsets[unit];
        const uint8_t *bytes = layout->data + layout->offsets[unit];
        int n_char;
        while (share->levels.count[share->level] != layout->counts[unit]) share->level++;
        uint32_t *slot = text->slots + share->place[share->level];
        for (int64_t at = 0; at < n_bytes; at += n_char)
            *slot++ = ids[unit_char(layout->is_bytes, bytes + at, &n_char)];
        *slot++ = 0;
        share->place[share->level] = slot - text->slots;
        work -= n_bytes + 8;
    }
    share->n_written = i;
    return i == n;
}
