/* levels.c - sorts units by count: see levels.h */

#include "train/levels.h"

#include "ground/grow.h"

/* Each pass sorts into the second half of the array. Sorting by 255 - byte makes the order
 * descending, while equal counts keep their order. */
int64_t *levels_order(const uint64_t *counts, int64_t n)
{
    int64_t *order = mem_alloc((size_t)(2 * n + 1) * sizeof *order);
    if (!order) return NULL;
    int64_t *spare = order + n;
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
        all |= counts[i];
    }
    /* A radix sort from the lowest byte, which is stable. It ends at the highest byte that is
     * nonzero in any count, which is a low byte unless the corpus is huge. */
    for (int shift = 0; shift < 64 && all >> shift; shift += 8) {
        /* The index in the result where each value of the byte begins, largest value first. */
        int64_t begins[257] = {0};
        for (int64_t i = 0; i < n; i++) begins[256 - (counts[i] >> shift & 0xFF)]++;
        for (int k = 0; k < 256; k++) begins[k + 1] += begins[k];
        for (int64_t i = 0; i < n; i++)
            spare[begins[255 - (counts[order[i]] >> shift & 0xFF)]++] = order[i];
        memcpy(order, spare, (size_t)n * sizeof *order);
    }
    return order;
}

/* Both arrays have the same capacity. The capacity is set when the second array grows, so that it
 * is correct even if only the first one can grow. */
int levels_open(levels *l, uint64_t count)
{
    if (l->n && l->count[l->n - 1] == count) return 1;
    int64_t capacity = l->capacity; /* the capacity of `end`, which grows with `count` */
    if (!grow(&l->end, l->n, &capacity, sizeof *l->end) ||
        !grow(&l->count, l->n, &l->capacity, sizeof *l->count))
        return 0;
    l->count[l->n++] = count;
    return 1;
}

void levels_free(levels *l)
{
    mem_free(l->end);
    mem_free(l->count);
}
