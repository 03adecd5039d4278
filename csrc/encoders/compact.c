/* compact.c - builds the double array of compact.h */

#include "encoders/compact.h"

#include "ground/alloc.h"

/* Units and ids are in the same allocation, so one mem_free frees them all. The field of a free
 * unit matches no label, so a walk ends there. ids[] is indexed by unit, not by piece: a walk that
 * ends knows the unit and needs no value. An entry without a piece is never read. */
compact_trie *compact_new(const trie *t)
{
    size_t n_bytes = sizeof(compact_trie) + (size_t)t->n_units * 6;
    compact_trie *c = mem_alloc(n_bytes);
    if (!c) return NULL;
    uint32_t *units = (uint32_t *)(c + 1);
    *c = (compact_trie){t, units, (uint16_t *)(units + t->n_units), (int64_t)n_bytes};
    for (int64_t i = 0; i < t->n_units; i++) {
        uint64_t unit = t->units[i];
        uint32_t value = unit_value(unit), ends = value ? 0 : COMPACT_NO_PIECE;
        int is_used = (unit & 0x100) != 0;
        units[i] = is_used ? unit_base(unit) << COMPACT_BASE_SHIFT | ends | (uint8_t)unit
                           : COMPACT_FREE;
        c->ids[i] = (uint16_t)(value - 1);
    }
    return c;
}
