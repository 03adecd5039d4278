/* char_set.h - sets of code points, as sorted borders
 *
 *     borders   41   5B   61   7B              [A-Za-z]
 *               └────┘    └────┘
 *               members   members
 *
 * The number of borders is even, and they ascend. A zeroed set is empty. Functions that allocate
 * memory return 0 if that fails.
 */
#pragma once

#include "ground/common.h"

#define CODE_POINTS 0x110000

typedef struct char_set {
    uint32_t *borders;
    int32_t n_borders;
    int32_t capacity;
} char_set;

/* Which code points char_set_combine keeps: bit is_in_a + 2 * is_in_b is set if it keeps the code
 * points with this membership. */
enum {
    CHAR_SET_UNION = 0xE,
    CHAR_SET_INTERSECTION = 0x8,
    CHAR_SET_DIFFERENCE = 0x2, /* a without b */
    CHAR_SET_NOT_A = 0x5       /* b is ignored */
};

void char_set_free(char_set *set);

/* Replaces *a with the combination of *a and b. O(borders of both). */
int char_set_combine(char_set *a, const char_set *b, int which);

/* Adds the code points first..last. */
int char_set_add(char_set *set, uint32_t first, uint32_t last);

/* Returns a read-only set whose borders are a static array. */
char_set char_set_over(const uint32_t *borders, int32_t n_borders);

int char_set_has(const char_set *set, uint32_t code_point);
int char_set_equal(const char_set *a, const char_set *b);
