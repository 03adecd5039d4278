/* guard.h - buffers that end at an inaccessible page, so that reading past them crashes (POSIX)
 *
 * Define _DEFAULT_SOURCE before the first include (glibc hides MAP_ANONYMOUS under -std=c11).
 *     struct guard guard = guard_new(max_bytes);
 *     const uint8_t *p = guard_copy(&guard, bytes, n_bytes);    p + n_bytes is the inaccessible page
 *     guard_free(&guard);
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
    uint8_t *start; /* of the mapping, whose first and last pages are inaccessible */
    uint8_t *end;   /* the start of the last page */
    size_t n_mapped_bytes;
};

static inline struct guard guard_new(size_t max_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n_open_bytes = (max_bytes + page) / page * page;
    struct guard guard = {NULL, NULL, n_open_bytes + 2 * page};
    void *mapped = mmap(NULL, guard.n_mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    guard.start = mapped;
    guard.end = guard.start + page + n_open_bytes;
    if (mprotect(guard.start + page, n_open_bytes, PROT_READ | PROT_WRITE) != 0) {
        perror("mprotect");
        exit(2);
    }
    return guard;
}

/* Copies n_bytes to the end of the buffer, replacing the previous copy. */
static inline uint8_t *guard_copy(const struct guard *guard, const void *bytes, size_t n_bytes)
{
    uint8_t *p = guard->end - n_bytes;
    if (n_bytes && bytes) memcpy(p, bytes, n_bytes);
    return p;
}

static inline void guard_free(struct guard *guard)
{
    munmap(guard->start, guard->n_mapped_bytes);
    memset(guard, 0, sizeof *guard);
}
