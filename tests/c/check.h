/* check.h - the macros CHECK, which checks a condition, and RUN, which runs a test
 *
 *     CHECK(n == 3);              if it is false, prints the test and the round, and aborts
 *     RUN(test_pieces(300));      runs a test, checks that all memory was freed, and prints "ok"
 *
 * `python tools/check.py c` builds and runs every test_*.c with sanitizers, using each compiler that
 * it finds; `python tools/check.py fuzz` builds and runs every fuzz_*.c. A test prints its random
 * seed first; SEED=7 chooses another one. ROUNDS=100 multiplies the number of rounds of each test by
 * 100. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char *running = "nothing";
static int round_;

#define CHECK(condition) check(!!(condition), #condition, __FILE__, __LINE__)

/* The number of blocks that the library has not freed (test_alloc.h). */
int64_t unitok_test_live_blocks(void);

#define RUN(test)                                                                                  \
    do {                                                                                           \
        running = #test;                                                                           \
        test;                                                                                      \
        CHECK(unitok_test_live_blocks() == 0);                                                     \
        printf("ok %s\n", running);                                                                \
    } while (0)

static inline void check(int is_true, const char *what, const char *file, int line)
{
    if (is_true) return;
    fprintf(stderr, "%s:%d: not true: %s (%s, round %d)\n", file, line, what, running, round_);
    abort();
}
