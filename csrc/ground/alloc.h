/* alloc.h - the only place where the library allocates, so that tests can make allocations fail */
#pragma once

#include <stdlib.h>

/* tests/c defines UNITOK_TEST_ALLOC and functions with these names that fail on request. */
#ifdef UNITOK_TEST_ALLOC
void *unitok_test_malloc(size_t n_bytes);
void *unitok_test_calloc(size_t n_items, size_t item_bytes);
void *unitok_test_realloc(void *p, size_t n_bytes);
void unitok_test_free(void *p);
#define mem_alloc unitok_test_malloc
#define mem_zalloc unitok_test_calloc
#define mem_realloc unitok_test_realloc
#define mem_free unitok_test_free
#else
#define mem_alloc malloc
#define mem_zalloc calloc
#define mem_realloc realloc
#define mem_free free
#endif

/* Like mem_zalloc(1, n_bytes), for memory that is read at random positions before it is written. A
 * page of fresh zeros costs one page fault at the first read and a second one at the first write.
 * Writing a byte to each page beforehand saves the first of these. */
static inline void *mem_zalloc_touched(size_t n_bytes)
{
    volatile unsigned char *p = mem_zalloc(1, n_bytes);
    for (size_t i = 0; p && i < n_bytes; i += 4096) p[i] = 0;
    return (void *)p;
}
