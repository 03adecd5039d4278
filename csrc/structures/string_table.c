/* string_table.c - building the table of string_table.h */

#include "structures/string_table.h"

#include "ground/alloc.h"

int string_table_build(string_table *t, const uint8_t *data, const int64_t *offsets, int64_t n, const uint8_t *take,
                  int64_t *ret_twice)
{
    t->data = data;
    t->offsets = offsets;
    t->n_bits = 4;
    while (INT64_C(1) << t->n_bits < 2 * n) t->n_bits++;
    t->slots = mem_zalloc((size_t)1 << t->n_bits, sizeof *t->slots);
    if (!t->slots) return 0;
    *ret_twice = -1;
    uint32_t mask = (UINT32_C(1) << t->n_bits) - 1;
    for (int64_t k = 0; k < n; k++) {
        const uint8_t *bytes = data + offsets[k];
        int64_t n_bytes = offsets[k + 1] - offsets[k];
        if (!take[k]) continue;
        uint64_t hash = string_table_hash(bytes, n_bytes);
        if (string_table_find_hashed(t, bytes, n_bytes, hash) >= 0) {
            if (*ret_twice < 0) *ret_twice = k;
            continue;
        }
        uint32_t at = (uint32_t)((hash ^ hash >> 29) * STRING_TABLE_FACTOR >> 32);
        while (t->slots[at & mask]) at++;
        t->slots[at & mask] = (uint32_t)(k + 1);
    }
    return 1;
}

void string_table_free(string_table *t)
{
    mem_free(t->slots);
    t->slots = NULL;
}
