/* pattern_classes.c - divides all characters into classes, such that all characters of a class are
 * in the same sets of the pattern
 *
 *     [a-z]      ──────████████──────
 *     [c\d]      ███─────█───────────
 *     classes    111000022300000────0     one for each combination of sets that occurs
 */

#include "ground/grow.h"
#include "text/pattern_build.h"

/* Code points from `begin` up to the `begin` of the next run have this class. */
typedef struct run {
    uint32_t begin;
    int32_t class;
} run;

typedef struct runs {
    run *items;
    int32_t n;
} runs;

/* Divides each class of *r into the characters inside and outside one more set. Classes are
 * numbered in the order in which they first occur. Code points in the same run are alike in all
 * sets so far, so one walk along the runs and the borders of the set suffices; adjacent runs of one
 * class are joined.
 *
 *     numbers[2 * old class + is in the set]    the new class, or -1 if it has not occurred */
static int divide(pattern_build *b, runs *r, const char_set *set, int32_t *io_n_classes)
{
    int32_t numbers[2 * PATTERN_CLASSES_MAX], n = 0, n_classes = 0, j = 0;
    if (!pattern_spend(b, r->n + set->n_borders)) return 0;
    run *items = mem_alloc((size_t)(r->n + set->n_borders + 1) * sizeof *items);
    if (!items) return pattern_no_memory(b);
    memset(numbers, 0xFF, sizeof numbers);
    for (int32_t i = 0; i < r->n; i++) {
        uint32_t at = r->items[i].begin, end = i + 1 < r->n ? r->items[i + 1].begin : CODE_POINTS;
        while (at < end) {
            while (j < set->n_borders && set->borders[j] <= at) j++;
            int32_t *number = &numbers[2 * r->items[i].class + (j & 1)];
            if (*number < 0 && n_classes == PATTERN_CLASSES_MAX) {
                mem_free(items);
                return pattern_refuse(b, -1, "the pattern has too many classes of characters");
            }
            if (*number < 0) *number = n_classes++;
            if (n == 0 || items[n - 1].class != *number) items[n++] = (run){at, *number};
            at = j < set->n_borders && set->borders[j] < end ? set->borders[j] : end;
        }
    }
    mem_free(r->items);
    *r = (runs){items, n};
    *io_n_classes = n_classes;
    return 1;
}

/* Returns the number of the page just filled. If it has a single class and an equal page exists, it
 * is dropped and that page is used. */
static int64_t number_of_page(pattern_classes *c, int32_t uniform[PATTERN_CLASSES_MAX])
{
    const uint8_t *page = c->classes + c->n_pages * 256;
    int is_uniform = !memcmp(page, page + 1, 255);
    if (is_uniform && uniform[page[0]] >= 0) return uniform[page[0]];
    if (is_uniform) uniform[page[0]] = (int32_t)c->n_pages;
    return c->n_pages++;
}

/* Fills the pages from the runs. Most pages have a single class; equal pages among these are
 * shared. A page is filled at the end of the array before it is known whether it can be shared, so
 * the array has one page more than can be kept. */
static int fill_pages(pattern_build *b, const runs *r, pattern_classes *c)
{
    enum { N_PAGES = CODE_POINTS / 256 };
    int32_t uniform[PATTERN_CLASSES_MAX];
    int64_t n_most = (int64_t)r->n + PATTERN_CLASSES_MAX +
                     1; /* pages with a border, and pages with one class */
    if (n_most > N_PAGES) n_most = N_PAGES;
    memset(uniform, 0xFF, sizeof uniform);
    c->pages = mem_alloc(N_PAGES * sizeof *c->pages);
    c->classes = mem_alloc((size_t)n_most * 256);
    if (!c->pages || !c->classes) return pattern_no_memory(b);
    int32_t k = 0;
    for (uint32_t page = 0; page < N_PAGES; page++) {
        uint8_t *classes = c->classes + c->n_pages * 256;
        for (uint32_t i = 0; i < 256;) {
            uint32_t at = page << 8 | i;
            while (k + 1 < r->n && r->items[k + 1].begin <= at) k++;
            uint32_t end = k + 1 < r->n ? r->items[k + 1].begin - (page << 8) : 256;
            if (end > 256) end = 256;
            memset(classes + i, r->items[k].class, end - i);
            i = end;
        }
        c->pages[page] = (uint16_t)number_of_page(c, uniform);
    }
    if (!resize(&c->classes, c->n_pages * 256, 1)) return pattern_no_memory(b);
    return pattern_spend(b, c->n_pages * 64 + N_PAGES * 8);
}

/* Any code point of a class shows which sets contain the class: a class is a set of code points
 * that no set divides. */
static int fill_members(pattern_build *b, const runs *r, int32_t n_classes, uint8_t **ret)
{
    if (!pattern_spend(b, b->n_sets * n_classes * 16)) return 0;
    uint8_t *member = *ret = mem_alloc((size_t)((b->n_sets + 1) * n_classes));
    if (!member) return pattern_no_memory(b);
    uint32_t samples[PATTERN_CLASSES_MAX];
    for (int32_t i = r->n - 1; i >= 0; i--) samples[r->items[i].class] = r->items[i].begin;
    for (int64_t s = 0; s < b->n_sets; s++)
        for (int32_t k = 0; k < n_classes; k++)
            member[s * n_classes + k] = (uint8_t)char_set_has(&b->sets[s], samples[k]);
    return 1;
}

/* Starts with one class of all characters. The order of the sets affects only the numbers of
 * classes. */
int pattern_partition(pattern_build *b, pattern_classes *ret, uint8_t **ret_member)
{
    runs r = {mem_alloc(sizeof(run)), 1};
    int ok = r.items != NULL || pattern_no_memory(b);
    if (ok) r.items[0] = (run){0, 0};
    ret->n = 1;
    for (int64_t s = 0; ok && s < b->n_sets; s++) ok = divide(b, &r, &b->sets[s], &ret->n);
    ok = ok && fill_members(b, &r, ret->n, ret_member) && fill_pages(b, &r, ret);
    mem_free(r.items);
    return ok;
}
