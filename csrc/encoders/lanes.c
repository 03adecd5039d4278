/* lanes.c - the interleaved walks of lanes.h */

#include "encoders/lanes.h"

#include "ground/cpu.h"
#include "ground/utf8.h"

/* One walk: the next symbol to read, the unit reached so far, and where its next token goes. */
typedef struct lane {
    uint64_t at, unit;
    uint32_t *out;
} lane;

/* A walk begins with one load, because the root's child for a symbol has the index of the
 * symbol. */
INLINE lane lane_begin(const uint64_t *units, const uint16_t *symbols, int64_t at, uint32_t *out)
{
    return (lane){(uint64_t)at + 1, units[symbols[at]], out};
}

INLINE int64_t back_of(uint64_t unit) { return (int64_t)(unit >> CHAR_BACK_SHIFT & CHAR_BACK_MAX); }

/* If `unit` has another symbol than c, sets *unit = head and *at = start and returns 1;
 * otherwise returns 0. Processors cannot predict where tokens end, and compilers turn plain C into
 * a branch. Here one comparison determines both moves and the result. */
INLINE uint64_t lane_restart(uint64_t c, uint64_t head, uint64_t start, uint64_t *unit,
                             uint64_t *at)
{
#if defined(UNITOK_X86) && defined(__GNUC__)
    uint64_t ends = 0;
    __asm__("cmpw %w[c], %w[unit]\n\tsetne %b[ends]\n\tcmovneq %[head], %[unit]\n\tcmovneq "
            "%[start], %[at]"
            : [unit] "+&r"(*unit), [at] "+r"(*at), [ends] "+&q"(ends)
            : [c] "r"(c), [head] "r"(head), [start] "r"(start)
            : "cc");
    return ends;
#else
    uint64_t ends = ((uint16_t)(*unit ^ c) + 0xFFFFu) >> 16, mask = 0 - ends;
    *unit ^= (*unit ^ head) & mask;
    *at ^= (*at ^ start) & mask;
    return ends;
#endif
}

/* One step; `at` grows by at most 1. The token's id and end are always written, but `out` advances
 * past them only if the walk ends.
 *
 *     the token     31 .... 16 15 ..... 0
 *                   id         its end: the index of the symbol after it
 *
 * The unit that would start the next walk is loaded before it is known whether this walk ends. So
 * the load overlaps with the load of `next`, and a restart costs nothing. */
INLINE void lane_step(const uint64_t *units, const uint16_t *symbols, lane *x)
{
    uint64_t c = symbols[x->at], next = units[(x->unit >> CHAR_BASE_SHIFT) + c];
    uint64_t start = x->at - (uint64_t)back_of(x->unit), head = units[symbols[start]];
    uint32_t token = (uint32_t)x->unit;
    uint16_t end = (uint16_t)start;
    memcpy(x->out, &token, sizeof token);
    memcpy(x->out, &end, sizeof end);
    x->out += lane_restart(c, head, start, &next, &x->at);
    x->unit = next;
    x->at++;
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Walks the parts symbols[borders[k]..borders[k+1]-1] until the first of them is nearly
 * finished. The tokens of part k go to begins[k]..ret_ends[k].
 *
 * A step advances by at most one symbol, so n_left steps keep every lane inside its own part and
 * need no check. All lanes are then measured again. When one lane is nearly done, the rest of the
 * other parts is left to lanes_encode, which walks it alone. */
static NOINLINE void walk_together(const uint64_t *units, const uint16_t *symbols,
                                   const int64_t borders[LANES + 1], uint32_t *const begins[LANES],
                                   uint32_t *ret_ends[LANES])
{
    lane lanes[LANES];
    for (int k = 0; k < LANES; k++) lanes[k] = lane_begin(units, symbols, borders[k], begins[k]);
    for (;;) {
        int64_t n_left = borders[1];
        for (int k = 0; k < LANES; k++)
            n_left = least(n_left, borders[k + 1] - (int64_t)lanes[k].at);
        if (n_left < 4) break;
        for (; n_left > 0; n_left--) {
            /* unrolled by -O3 */
            for (int k = 0; k < LANES; k++) lane_step(units, symbols, &lanes[k]);
        }
    }
    for (int k = 0; k < LANES; k++) ret_ends[k] = lanes[k].out;
}

/* Returns the id of the token at symbols[*at] and sets *at to its end. Returns -1, without moving,
 * if the walk reaches symbols[n - 1] and the text continues there: a longer piece could match, so
 * the next span begins with this token. */
INLINE int32_t walk_alone(const uint64_t *units, const uint16_t *symbols, int64_t n, int continues,
                          int64_t *at)
{
    uint64_t unit = units[symbols[*at]];
    int64_t i = *at + 1;
    for (; i < n; i++) {
        uint64_t next = units[(unit >> CHAR_BASE_SHIFT) + symbols[i]];
        if ((uint16_t)next != symbols[i]) break;
        unit = next;
    }
    if (i == n && continues) return -1;
    *at = i - back_of(unit);
    return (uint16_t)(unit >> CHAR_ID_SHIFT);
}

/* Writes the ids of the bytes of a character that is not a piece, and returns the new end of the
 * ids. `next` is the symbol after it. Two of its bytes together can be a piece; all three cannot,
 * as the character is not a piece. A stray continuation byte after the character could extend the
 * token of its last bytes (rule 3), so the span is then encoded by bytes. */
static NOINLINE uint16_t *put_bytes(const trie *t, uint16_t symbol, uint16_t next, uint16_t *ids,
                                    lanes_work *work)
{
    uint8_t bytes[4];
    int n = utf8_encode(symbol, bytes);
    work->n_rare++;
    work->is_malformed |= next >= (CODE_POINT_OF_BYTE | 0x80) && next < (CODE_POINT_OF_BYTE | 0xC0);
    for (int k = 0; k < n;) {
        /* no piece covers all three bytes */
        uint64_t head = k + 1 < n ? t->heads[load_u16(bytes + k)] : 0;
        *ids++ = (uint16_t)((head ? head_value(head) : t->singles[bytes[k]]) - 1);
        k += head ? head_length(head) : 1;
    }
    return ids;
}

/* Writes the id of the token that ends before symbols[end], or the ids of its bytes, and returns
 * the new end of the ids. */
INLINE uint16_t *put(const lanes *l, const uint16_t *symbols, uint16_t id, int64_t end,
                     uint16_t *ids, lanes_work *work)
{
    *ids = id;
    if (LIKELY(id != l->no_id)) return ids + 1;
    return put_bytes(l->trie, symbols[end - 1], symbols[end], ids, work);
}

/* How many bytes before text[at] belong to a symbol that extends past that position. Characters of
 * four bytes do not count: each of their bytes is a symbol. */
static int part_before(const uint8_t *text, int64_t at, int64_t n_bytes)
{
    for (int back = 1; back <= 2; back++) {
        int n = utf8_length(text + at - back, n_bytes - at + back);
        if (n > back && n < 4) return back;
    }
    return 0;
}

/* Encodes a malformed span by bytes. It may end beyond n_span, because the last token is
 * completed. */
static int64_t encode_by_bytes(const lanes *l, const uint8_t *text, int64_t n_bytes, int64_t n_span,
                               uint16_t *ids, int64_t *ret_n_ids)
{
    int64_t at = 0, n = 0, token_bytes;
    for (; at < n_span; at += token_bytes)
        ids[n++] = (uint16_t)(trie_longest(l->trie, text + at, n_bytes - at, &token_bytes) - 1);
    *ret_n_ids = n;
    return at;
}

/* 1. Read a span as symbols. It ends between symbols, and the symbol after it shows whether a stray
 * continuation byte follows.
 * 2. Walk its eight parts, interleaved.
 * 3. Join the parts: `at` is the end of the tokens written so far, always a true token boundary.
 * Walk alone until `at` is a token boundary of the part too, then copy the rest of the part's
 * tokens.
 * 4. At the end of the text, walk the rest alone. Otherwise leave it to the next span. */
int64_t lanes_encode(const lanes *l, const uint8_t *text, int64_t n_bytes, lanes_work *work,
                     uint16_t *ids, int64_t *ret_n_ids)
{
    uint16_t *symbols = work->symbols;
    int64_t borders[LANES + 1], n_span = least(n_bytes, LANES_SPAN_BYTES), at = 0, n_left = 0;
    uint32_t *begins[LANES], *ends[LANES];
    uint16_t *out = ids;
    work->n_rare = work->is_malformed = 0;
    if (n_span < n_bytes) n_span -= part_before(text, n_span, n_bytes);
    int64_t n = l->read(text, n_span, symbols);
    symbols[n] = n_span < n_bytes && is_continuation(text[n_span]) ? CODE_POINT_OF_BYTE | 0x80 : 0;
    for (int k = 0; k <= LANES; k++) borders[k] = n * k / LANES;
    for (int k = 0; k < LANES; k++) begins[k] = work->tokens + borders[k];
    walk_together(l->units, symbols, borders, begins, ends);
    for (int k = 0; k < LANES; k++) {
        const uint32_t *token = begins[k];
        int64_t boundary = borders[k]; /* where *token begins */
        while (token < ends[k] && at != boundary) {
            if (at < boundary) {
                int32_t id = walk_alone(l->units, symbols, n, n_span < n_bytes, &at);
                if (id < 0) break;
                out = put(l, symbols, (uint16_t)id, at, out, work);
            } else {
                boundary = (uint16_t)*token++;
            }
        }
        /* the parts have no boundary in common */
        if (token == ends[k] || at != boundary) continue;
        at = (uint16_t)ends[k][-1];
        for (; token < ends[k]; token++)
            out = put(l, symbols, (uint16_t)(*token >> CHAR_ID_SHIFT), (uint16_t)*token, out, work);
    }
    while (n_span == n_bytes && at < n) {
        int32_t id = walk_alone(l->units, symbols, n, 0, &at);
        out = put(l, symbols, (uint16_t)id, at, out, work);
    }
    if (UNLIKELY(work->is_malformed))
        return encode_by_bytes(l, text, n_bytes, n_span, ids, ret_n_ids);
    for (int64_t k = at; k < n; k++) n_left += code_point_bytes(symbols[k]);
    *ret_n_ids = out - ids;
    return n_span - n_left;
}
