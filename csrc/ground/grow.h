/* grow.h - arrays whose capacity grows by half
 *
 * `items` is the address of the array's pointer, whatever its type. The pointer is copied by
 * memcpy, because C does not let a `void **` alias it. If allocation fails, both functions return 0
 * and change nothing.
 */
#pragma once

#include "ground/alloc.h"
#include "ground/common.h"

/* Sets the capacity of an array to exactly `capacity`. */
static inline int resize(void *items, int64_t capacity, size_t item_bytes)
{
    void *p;
    memcpy(&p, items, sizeof p);
    p = mem_realloc(p, (size_t)capacity * item_bytes);
    if (p) memcpy(items, &p, sizeof p);
    return p != NULL;
}

/* Ensures that an array has space for item n. */
static inline int grow(void *items, int64_t n, int64_t *io_capacity, size_t item_bytes)
{
    if (LIKELY(n < *io_capacity)) return 1;
    int64_t wanted = n + n / 2 + 64;
    if (!resize(items, wanted, item_bytes)) return 0;
    *io_capacity = wanted;
    return 1;
}
