/* char_set.c - combines sets of code points */

#include "text/char_set.h"

#include "ground/alloc.h"

void char_set_free(char_set *set)
{
    mem_free(set->borders);
    memset(set, 0, sizeof *set);
}

/* Visits the borders of both sets in order. The result has a border wherever its membership
 * changes.
 *
 *     a             ██████────████      i: borders of a passed so far; odd inside a member range
 *     b             ────████████──      j: the same for b
 *     difference    ████────────██
 *
 * Membership can change only at 0 and at borders of a or b, and a set that includes the last code
 * point ends with the border CODE_POINTS. Hence the capacity. */
int char_set_combine(char_set *a, const char_set *b, int which)
{
    int32_t n = 0, i = 0, j = 0, capacity = a->n_borders + b->n_borders + 2;
    uint32_t *borders = mem_alloc((size_t)capacity * sizeof *borders);
    if (!borders) return 0;
    int is_member = 0;
    for (uint32_t at = 0; at < CODE_POINTS;) {
        while (i < a->n_borders && a->borders[i] == at) i++;
        while (j < b->n_borders && b->borders[j] == at) j++;
        if ((which >> ((i & 1) + 2 * (j & 1)) & 1) != is_member) {
            borders[n++] = at;
            is_member = !is_member;
        }
        at = CODE_POINTS;
        if (i < a->n_borders && a->borders[i] < at) at = a->borders[i];
        if (j < b->n_borders && b->borders[j] < at) at = b->borders[j];
    }
    if (is_member) borders[n++] = CODE_POINTS;
    mem_free(a->borders);
    *a = (char_set){borders, n, capacity};
    return 1;
}

/* Sets are mostly built in ascending order, so a range after the last one is appended in O(1). If
 * it touches or precedes the last one, the general combination merges it. */
int char_set_add(char_set *set, uint32_t first, uint32_t last)
{
    uint32_t borders[2] = {first, last + 1};
    int32_t n = set->n_borders;
    if (n == 0 || n + 2 > set->capacity || set->borders[n - 1] >= first) {
        char_set range = {borders, 2, 2};
        return char_set_combine(set, &range, CHAR_SET_UNION);
    }
    memcpy(set->borders + n, borders, sizeof borders);
    set->n_borders = n + 2;
    return 1;
}

char_set char_set_over(const uint32_t *borders, int32_t n_borders)
{
    char_set ret = {NULL, n_borders, n_borders};
    memcpy(&ret.borders, &borders, sizeof borders); /* the caller only reads */
    return ret;
}

/* A code point is a member if the number of borders up to it is odd. */
int char_set_has(const char_set *set, uint32_t code_point)
{
    int32_t low = 0, high = set->n_borders; /* borders[0..low-1] <= code_point */
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (set->borders[middle] <= code_point) low = middle + 1;
        else high = middle;
    }
    return low & 1;
}

int char_set_equal(const char_set *a, const char_set *b)
{
    return a->n_borders == b->n_borders &&
           (a->n_borders == 0 ||
            !memcmp(a->borders, b->borders, (size_t)a->n_borders * sizeof *a->borders));
}
