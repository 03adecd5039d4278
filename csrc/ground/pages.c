/* pages.c - the system call behind pages.h */

#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise is not in ISO C */
#include <sys/mman.h>
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
