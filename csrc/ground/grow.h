/* grow.h - arrays that grow by half */
#pragma once

#include "ground/alloc.h"
#include "ground/common.h"

/* Room for item n of an array. items: the address of its pointer; 0 when memory is short, and
 * nothing has changed. */
static inline int grow(void *items, int64_t n, int64_t *room, size_t item_bytes)
{
    void *p;
    if (LIKELY(n < *room)) return 1;
    int64_t wanted = n + n / 2 + 64;
    memcpy(&p, items, sizeof p);
    p = mem_realloc(p, (size_t)wanted * item_bytes);
    if (!p) return 0;
    memcpy(items, &p, sizeof p);
    *room = wanted;
    return 1;
}
