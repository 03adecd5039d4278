/* test_alloc.h - an allocator for C tests that fails on request and counts live blocks
 *
 * Include it in one file of the test. alloc.h then routes the library's allocations here.
 *     alloc_fail_at = k      exactly the k-th allocation from now fails (1 is the next); 0: none
 *     alloc_fail_every = n   each allocation fails with probability 1 / n; 0: none
 *     alloc_live_blocks, alloc_live_bytes   currently allocated; both 0 if nothing leaks
 *     alloc_peak_bytes       the maximum of alloc_live_bytes
 */
#pragma once

#ifndef UNITOK_TEST_ALLOC
#error "compile with -DUNITOK_TEST_ALLOC"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t alloc_fail_at, alloc_fail_every, alloc_live_blocks, alloc_live_bytes,
    alloc_peak_bytes, alloc_calls, alloc_failures;
static uint64_t alloc_random = 88172645463325252u;

void *unitok_test_malloc(size_t n_bytes);
void *unitok_test_calloc(size_t n_items, size_t item_bytes);
void *unitok_test_realloc(void *p, size_t n_bytes);
void unitok_test_free(void *p);
int64_t unitok_test_live_blocks(void);

int64_t unitok_test_live_blocks(void) { return alloc_live_blocks; }

static int alloc_must_fail(void)
{
    int must = 0;
    alloc_calls++;
    if (alloc_fail_at > 0 && --alloc_fail_at == 0) must = 1;
    if (alloc_fail_every > 0) {
        alloc_random ^= alloc_random << 13;
        alloc_random ^= alloc_random >> 7;
        alloc_random ^= alloc_random << 17;
        if (alloc_random % (uint64_t)alloc_fail_every == 0) must = 1;
    }
    alloc_failures += must;
    return must;
}

/* A block begins with its size, in 16 bytes to keep the alignment of malloc. */
static void *alloc_open(unsigned char *block, size_t n_bytes)
{
    if (!block) return NULL;
    memcpy(block, &n_bytes, sizeof n_bytes);
    alloc_live_blocks++;
    alloc_live_bytes += (int64_t)n_bytes;
    if (alloc_live_bytes > alloc_peak_bytes) alloc_peak_bytes = alloc_live_bytes;
    return block + 16;
}

static size_t alloc_size(const void *p)
{
    size_t n_bytes;
    memcpy(&n_bytes, (const unsigned char *)p - 16, sizeof n_bytes);
    return n_bytes;
}

void *unitok_test_malloc(size_t n_bytes)
{
    unsigned char *block = alloc_must_fail() ? NULL : malloc(n_bytes + 16);
    /* makes reads of uninitialized memory visible */
    if (block) memset(block, 0xA5, n_bytes + 16);
    return alloc_open(block, n_bytes);
}

void *unitok_test_calloc(size_t n_items, size_t item_bytes)
{
    if (item_bytes && n_items > (SIZE_MAX - 16) / item_bytes) return NULL;
    return alloc_open(alloc_must_fail() ? NULL : calloc(1, n_items * item_bytes + 16),
                      n_items * item_bytes);
}

void unitok_test_free(void *p)
{
    if (!p) return;
    alloc_live_blocks--;
    alloc_live_bytes -= (int64_t)alloc_size(p);
    free((unsigned char *)p - 16);
}

/* Always moves, so that a pointer kept across the call is detected. */
void *unitok_test_realloc(void *p, size_t n_bytes)
{
    void *moved = unitok_test_malloc(n_bytes);
    if (!moved || !p) return moved;
    memcpy(moved, p, alloc_size(p) < n_bytes ? alloc_size(p) : n_bytes);
    unitok_test_free(p);
    return moved;
}
