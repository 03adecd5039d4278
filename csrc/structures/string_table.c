/* string_table.c - builds the table of string_table.h
 *
 * Inserts all strings with the first factor; if one lies too far from its place, clears the table
 * and starts again with the next factor. Unless the strings were chosen to collide, the first
 * factor works: at most half of the slots are taken, and runs of STRING_TABLE_PROBES slots
 * practically never occur. */

#include "structures/string_table.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"

#define FACTORS_MAX 16

/* Inserts the strings. Returns 0 if one would be too far from its place: lookups stop after
 * STRING_TABLE_PROBES slots, so it would not be found, and another factor must be tried. Of equal
 * strings, the first is stored. */
static int enter_all(string_table *t, int64_t n, const uint8_t *take, int64_t *ret_twice)
{
    uint32_t mask = (UINT32_C(1) << t->n_bits) - 1;
    for (int64_t k = 0; k < n; k++) {
        if (take && !take[k]) continue;
        const uint8_t *bytes = t->data + t->offsets[k];
        int64_t n_bytes = t->offsets[k + 1] - t->offsets[k];
        uint64_t hash = string_table_hash(t, bytes, n_bytes);
        uint32_t at = string_table_place(t, hash), end = at + STRING_TABLE_PROBES;
        while (at != end && t->slots[at & mask] &&
               !string_table_is(t, t->slots[at & mask], bytes, n_bytes, hash))
            at++;
        if (at == end) return 0;
        if (!t->slots[at & mask]) t->slots[at & mask] = hash << 32 | (uint64_t)(k + 1);
        else if (*ret_twice < 0) *ret_twice = k;
    }
    return 1;
}

/* The factors are a fixed list, so the same strings give the same table in every process, which
 * would not be the case with a random seed. The author of a hostile file would have to find strings
 * that collide for all FACTORS_MAX factors at once. */
int32_t string_table_build(string_table *t, const uint8_t *data, const int64_t *offsets, int64_t n,
                           const uint8_t *take, int64_t *ret_twice, unitok_error *error)
{
    t->data = data;
    t->offsets = offsets;
    t->n_bits = 4;
    while (INT64_C(1) << t->n_bits < 2 * n) t->n_bits++;
    t->slots = mem_zalloc((size_t)1 << t->n_bits, sizeof *t->slots);
    if (!t->slots) return fail_memory(error);
    for (uint64_t k = 0; k < FACTORS_MAX; k++) {
        *ret_twice = -1;
        t->factor = rng_key(0, k) % (STRING_TABLE_PRIME - 1) + 1;
        if (enter_all(t, n, take, ret_twice)) return UNITOK_OK;
        memset(t->slots, 0, sizeof *t->slots << t->n_bits);
    }
    return fail(
        error, UNITOK_ERROR_VOCABULARY, -1, -1,
        "these pieces collide in a hash table, whatever its parameters: the vocabulary is hostile");
}

void string_table_free(string_table *t)
{
    mem_free(t->slots);
    t->slots = NULL;
}
