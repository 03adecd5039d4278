/* pages.h - requests to the system about pages of memory, where it supports them */
#pragma once

#include "ground/common.h"

/* The size of a huge page on x86-64, and on ARM64 with pages of 4 KiB. */
#define HUGE_PAGE_BYTES (INT64_C(1) << 21)

/* Requests that p[0..n_bytes-1], which has not been touched yet, use huge pages wherever a complete
 * one fits. A page fault costs 0.5 to 4 us, so touching a table of 12 MB in pages of 4 KiB takes
 * longer than encoding a megabyte of text, and each access can miss the TLB. Only Linux has such a
 * call; elsewhere, or if it fails, the pages stay as they are. */
void pages_prefer_huge(void *p, int64_t n_bytes);

/* Linux requests no more pages at once than its read-ahead size, 128 KB by default. */
#define PAGES_AT_ONCE ((size_t)128 << 10)

/* Requests that the pages of p[0..n_bytes-1], part of a mapped file, be read from disk while the caller
 * does something else. Takes about a microsecond if the pages are already in memory. */
void pages_read_ahead(const void *p, int64_t n_bytes);

/* How often this thread has waited for a page to be read from disk; always 0 if the system does not
 * report this. */
int64_t pages_waited(void);
