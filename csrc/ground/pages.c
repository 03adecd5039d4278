/* pages.c - the system calls behind pages.h
 *
 * All are hints, so failures are ignored. madvise requires page-aligned addresses. Huge pages are
 * requested only where they fit completely inside the memory; read-ahead is requested for every
 * page that the memory touches.
 *
 *     memory                ├──────────────────────────────────┤
 *     huge pages      │           │▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒│           │
 *     read ahead      │▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒▒▒▒│ */

#if defined(__linux__)
#define _GNU_SOURCE /* madvise and RUSAGE_THREAD are not in ISO C */
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "ground/pages.h"

void pages_prefer_huge(void *p, int64_t n_bytes)
{
#if defined(MADV_HUGEPAGE)
    uintptr_t mask = (uintptr_t)HUGE_PAGE_BYTES - 1;
    uintptr_t begin = ((uintptr_t)p + mask) & ~mask,
              end = ((uintptr_t)p + (uintptr_t)n_bytes) & ~mask;
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)p;
    (void)n_bytes;
#endif
}

void pages_read_ahead(const void *p, int64_t n_bytes)
{
#if defined(MADV_WILLNEED)
    uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, begin = (uintptr_t)p & ~mask;
    if (n_bytes > 0)
        (void)madvise((void *)begin, (uintptr_t)p + (uintptr_t)n_bytes - begin, MADV_WILLNEED);
#else
    (void)p;
    (void)n_bytes;
#endif
}

int64_t pages_waited(void)
{
#if defined(RUSAGE_THREAD)
    struct rusage used;
    if (getrusage(RUSAGE_THREAD, &used) == 0) return used.ru_majflt;
#endif
    return 0;
}
