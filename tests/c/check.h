/* check.h - CHECK(condition): aborts if it is false and prints the test (`running`) and the
 * round */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static const char *running = "nothing";
static int round_;

#define CHECK(condition) check(!!(condition), #condition, __FILE__, __LINE__)

static inline void check(int is_true, const char *what, const char *file, int line)
{
    if (is_true) return;
    fprintf(stderr, "%s:%d: not true: %s (%s, round %d)\n", file, line, what, running, round_);
    abort();
}
