/* lanes.c - the functions of lanes.h */

#include "encoders/lanes.h"

#include "ground/alloc.h"
#include "ground/pick.h"

#define FREE 0x100
#define END_SHIFT 32

/* ---------------------------------------------------------------------------------- tables ---- */

/* The heads of all walks that start with `first`; returns how many were added to heads, if it is
 * not NULL. */
static int64_t put_heads(const trie *t, int first, lane_head *heads, uint16_t *head_of, int64_t n)
{
    uint64_t root = t->units[TRIE_ROOT_BASE ^ first];
    uint32_t base = unit_has_label(root, (uint8_t)first) ? unit_base(root) : 0;
    lane_head alone = {1ULL << END_SHIFT | (uint64_t)(t->n_units + first), 0};
    int64_t n_before = n;
    if (heads) heads[n] = alone;
    n++;
    for (int second = 0; second < 256; second++) {
        uint32_t two = base ^ (uint32_t)second;
        uint64_t unit = t->units[two];
        int is_child = unit_has_label(unit, (uint8_t)second);
        if (heads) head_of[first | second << 8] = (uint16_t)(is_child ? n : n_before);
        if (!is_child) continue;
        if (heads)
            heads[n] = (lane_head){unit_value(unit) ? 2ULL << END_SHIFT | two : alone.token,
                                   unit_base(unit)};
        n++;
    }
    return n - n_before;
}

static void put_units(lanes *l, const trie *t)
{
    for (int64_t i = 0; i < t->n_units; i++) {
        uint64_t unit = t->units[i];
        uint32_t value = unit_value(unit);
        l->units[i] = unit & 0x100 ? unit_base(unit) << LANE_BASE_SHIFT |
                                         (value ? 0 : LANE_NO_PIECE) | (uint8_t)unit
                                   : FREE;
        l->ids[i] = (uint16_t)(value - 1);
    }
    for (int byte = 0; byte < 256; byte++)
        l->ids[t->n_units + byte] = (uint16_t)(t->singles[byte] - 1);
}

lanes *lanes_new(const trie *t)
{
    int64_t n_heads = 0;
    for (int first = 0; first < 256; first++) n_heads += put_heads(t, first, NULL, NULL, 0);
    int64_t n_bytes = (int64_t)sizeof(lanes) + n_heads * (int64_t)sizeof(lane_head) +
                      t->n_units * 6 + 512 + TRIE_HEADS * 2;
    lanes *l = mem_alloc((size_t)n_bytes);
    if (!l) return NULL;
    l->trie = t;
    l->memory_bytes = n_bytes;
    l->heads = (lane_head *)(l + 1);
    l->units = (uint32_t *)(l->heads + n_heads);
    l->ids = (uint16_t *)(l->units + t->n_units);
    l->head_of = l->ids + t->n_units + 256;
    n_heads = 0;
    for (int first = 0; first < 256; first++)
        n_heads += put_heads(t, first, l->heads, l->head_of, n_heads);
    put_units(l, t);
    return l;
}

/* ------------------------------------------------------------------------------------------ the
 * walk ---- */

typedef struct lane {
    uint64_t at, base, best; /* best: a token */
    uint64_t *out;
} lane;

INLINE lane lane_begin(const lanes *l, const uint8_t *text, int64_t at, uint64_t *out)
{
    const lane_head *head = &l->heads[l->head_of[load_u16(text + at)]];
    return (lane){(uint64_t)at + 2, head->base, head->token + ((uint64_t)at << END_SHIFT), out};
}

/* One step; `at` grows by at most 2. The token is always written, and kept if the walk ends. */
INLINE void lane_step(const lanes *l, const uint8_t *text, lane *x)
{
    uint64_t c = text[x->at], to = x->base ^ c;
    uint32_t unit = l->units[to], differs = unit ^ (uint32_t)c, ends = differs & LANE_FITS;
    uint64_t start = x->best >> END_SHIFT;
    const lane_head *head = &l->heads[l->head_of[load_u16(text + start)]];
    *x->out = x->best;
    x->out += ends != 0;
    uint64_t longer = pick(differs & LANE_PIECE_FITS, (x->at + 1) << END_SHIFT | to, x->best);
    x->best = pick(ends, longer, head->token + (start << END_SHIFT));
    x->at = pick(ends, x->at + 1, start + 2);
    x->base = pick(ends, unit >> LANE_BASE_SHIFT, head->base);
}

INLINE int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The token at text[*at]. */
INLINE uint16_t walk_alone(const lanes *l, const uint8_t *text, int64_t n_bytes, int64_t *at)
{
    int64_t token_bytes;
    uint32_t value = trie_longest(l->trie, text + *at, n_bytes - *at, &token_bytes);
    *at += token_bytes;
    return (uint16_t)(value - 1);
}

/* Walks the parts text[borders[k]..borders[k+1]-1] until the first of them is nearly done.
 * lane_tokens[k] is where the tokens of part k go; ret_ends[k] is where they end. A lane reads only
 * its own part. */
static NOINLINE void walk_together(const lanes *shared, const uint8_t *text,
                                   const int64_t borders[LANES + 1],
                                   uint64_t *const lane_tokens[LANES], uint64_t *ret_ends[LANES])
{
    const lanes tables = *shared, *l = &tables;
    lane a = lane_begin(l, text, borders[0], lane_tokens[0]),
         b = lane_begin(l, text, borders[1], lane_tokens[1]);
    lane c = lane_begin(l, text, borders[2], lane_tokens[2]),
         d = lane_begin(l, text, borders[3], lane_tokens[3]);
    for (;;) {
        int64_t n_left = least(least(borders[1] - (int64_t)a.at, borders[2] - (int64_t)b.at),
                               least(borders[3] - (int64_t)c.at, borders[4] - (int64_t)d.at));
        if (n_left < 16) break;
        for (int64_t n_steps = n_left / 2; n_steps > 0; n_steps--) {
            lane_step(l, text, &a);
            lane_step(l, text, &b);
            lane_step(l, text, &c);
            lane_step(l, text, &d);
        }
    }
    ret_ends[0] = a.out;
    ret_ends[1] = b.out;
    ret_ends[2] = c.out;
    ret_ends[3] = d.out;
}

int64_t lanes_encode(const lanes *l, const uint8_t *text, int64_t n_bytes, uint64_t *tokens,
                     uint16_t *ids, int64_t *ret_n_ids)
{
    int64_t borders[LANES + 1], n_span = least(n_bytes, LANES_SPAN_BYTES), at = 0;
    uint64_t *begins[LANES], *ends[LANES];
    uint16_t *out = ids;
    for (int k = 0; k <= LANES; k++) borders[k] = n_span * k / LANES;
    for (int k = 0; k < LANES; k++) begins[k] = tokens + borders[k];
    walk_together(l, text, borders, begins, ends);
    for (int k = 0; k < LANES; k++) {
        const uint64_t *token = begins[k];
        int64_t boundary = borders[k]; /* where *token begins */
        while (token < ends[k] && at != boundary) {
            if (at < boundary) *out++ = walk_alone(l, text, n_bytes, &at);
            else boundary = (int64_t)(*token++ >> END_SHIFT);
        }
        if (token == ends[k]) continue; /* the parts had no boundary in common */
        at = (int64_t)(ends[k][-1] >> END_SHIFT);
        while (token < ends[k]) *out++ = l->ids[(uint32_t)*token++];
    }
    while (n_span == n_bytes && at < n_bytes) *out++ = walk_alone(l, text, n_bytes, &at);
    *ret_n_ids = out - ids;
    return at;
}
