/* pattern_build.c - compiles the levels of a pattern
 *
 * In two passes, because the classes of characters depend on the sets of all levels:
 *
 *     for each level    parse, emit                        → a program, and its sets in b->sets
 *     once              partition                          → the classes
 *     for each level    determinize, minimize, check       → an automaton over the classes
 *
 * Patterns come from the files of models, which may be hostile, so the limits
 * of pattern_build.h and WORK_MAX bound memory and time. */

#include "text/pattern_build.h"

#include "ground/error.h"
#include "ground/grow.h"

/* The maximum number of steps for all levels together, which take about 50 ms. */
#define WORK_MAX 25000000

int pattern_refuse(pattern_build *b, int64_t position, const char *message)
{
    if (!b->status) b->status = fail(b->error, UNITOK_ERROR_PATTERN, b->item, position, message);
    return 0;
}

int pattern_no_memory(pattern_build *b)
{
    if (!b->status) b->status = fail_memory(b->error);
    return 0;
}

/* No text contains surrogates: bytes that would encode one are invalid, and are read as U+FFFD.
 * Adding surrogates to the sets that contain U+FFFD avoids a class for them. */
static int move_surrogates(pattern_build *b, char_set *set)
{
    static const uint32_t BORDERS[2] = {0xD800, 0xE000};
    char_set surrogates = char_set_over(BORDERS, 2);
    int which = char_set_has(set, 0xFFFD) ? CHAR_SET_UNION : CHAR_SET_DIFFERENCE;
    return pattern_spend(b, set->n_borders) &&
           (char_set_combine(set, &surrogates, which) || pattern_no_memory(b));
}

/* A linear search is enough for PATTERN_SETS_MAX sets. Equal sets share a number, so only distinct
 * sets count. */
int pattern_add_set(pattern_build *b, char_set *set, int32_t *ret)
{
    if (!move_surrogates(b, set) || !pattern_spend(b, b->n_sets * 4)) return 0;
    for (int64_t k = 0; k < b->n_sets; k++) {
        if (!char_set_equal(&b->sets[k], set)) continue;
        *ret = (int32_t)k;
        return 1;
    }
    if (b->n_sets >= PATTERN_SETS_MAX)
        return pattern_refuse(b, -1, "the pattern has too many sets of characters");
    if (!grow(&b->sets, b->n_sets, &b->sets_capacity, sizeof *b->sets)) return pattern_no_memory(b);
    *ret = (int32_t)b->n_sets;
    b->sets[b->n_sets++] = *set;
    memset(set, 0, sizeof *set);
    return 1;
}

/* Parses a level: its dialect and its regex. The tree is needed only until its program exists. */
static int compile_part(pattern_build *b, const uint8_t *part, int64_t n_bytes,
                        pattern_program *program)
{
    pattern_tree tree = {0};
    if (n_bytes == 0 || !strchr("oit", part[0]))
        return pattern_refuse(b, -1, "a part of the pattern has no dialect");
    int dialect = part[0] == 't' ? DIALECT_TIKTOKEN : DIALECT_ONIG;
    int ok = pattern_parse(b, dialect, part + 1, n_bytes - 1, &tree) &&
             pattern_emit(b, &tree, program);
    mem_free(tree.nodes);
    return ok;
}

/* Builds the automaton of level b->item, and lets it decide the borders that earlier levels leave
 * open. */
static int compile_level(pattern_build *b, const pattern_program *program, int is_total,
                         const uint8_t *member, pattern *p)
{
    pattern_automaton *a = &p->levels[b->item];
    int32_t n_classes = p->classes.n;
    uint8_t *between = mem_alloc((size_t)(n_classes * n_classes));
    int ok = between != NULL || pattern_no_memory(b);
    ok = ok && pattern_determinize(b, program, n_classes, member, a) && pattern_minimize(b, a) &&
         pattern_check_nonempty(b, a) && (!is_total || pattern_check_total(b, a)) &&
         pattern_check_linear(b, a) && pattern_find_cuts(b, a, between);
    /* A later level matters only at borders for which the earlier levels give PATTERN_FREE. */
    for (int32_t k = 0; ok && k < n_classes * n_classes; k++)
        if (b->item == 0 || p->between[k] == PATTERN_FREE) p->between[k] = between[k];
    if (ok && b->item == 0) ok = pattern_find_context(b, p);
    mem_free(between);
    return ok;
}

/* Compiles all parts; is_total and programs have one item for each part. */
static int compile(pattern_build *b, const uint8_t *parts, int64_t n_bytes,
                   pattern_program *programs, pattern *p)
{
    int is_total[PATTERN_LEVELS_MAX];
    uint8_t *member = NULL;
    int ok = 1;
    for (int64_t at = 0; ok && at <= n_bytes; p->n_levels++) {
        const uint8_t *end = at < n_bytes ? memchr(parts + at, 0, (size_t)(n_bytes - at)) : NULL;
        int64_t n = end ? end - parts - at : n_bytes - at;
        b->item = p->n_levels;
        if (b->item == PATTERN_LEVELS_MAX)
            return pattern_refuse(b, -1, "the pattern has too many parts");
        ok = compile_part(b, parts + at, n, &programs[b->item]);
        is_total[b->item] = n > 0 && parts[at] != 'o';
        at += n + 1;
    }
    ok = ok && pattern_partition(b, &p->classes, &member);
    if (ok) {
        p->between = mem_alloc((size_t)(p->classes.n * p->classes.n));
        ok = p->between != NULL || pattern_no_memory(b);
    }
    for (b->item = 0; ok && b->item < p->n_levels; b->item++)
        ok = compile_level(b, &programs[b->item], is_total[b->item], member, p);
    mem_free(member);
    return ok;
}

int32_t pattern_new(const uint8_t *parts, int64_t n_bytes, pattern **ret, unitok_error *error)
{
    pattern_build b = {.error = error, .n_work = WORK_MAX};
    pattern_program programs[PATTERN_LEVELS_MAX] = {{0}};
    pattern *p = mem_zalloc(1, sizeof *p);
    int ok = p != NULL || pattern_no_memory(&b);
    if (ok && n_bytes > PATTERN_BYTES_MAX) ok = pattern_refuse(&b, -1, "the pattern is too long");
    ok = ok && compile(&b, parts, n_bytes, programs, p);
    for (int k = 0; k < PATTERN_LEVELS_MAX; k++) mem_free(programs[k].ops);
    for (int64_t k = 0; k < b.n_sets; k++) char_set_free(&b.sets[k]);
    mem_free(b.sets);
    if (ok) *ret = p;
    else pattern_free(p);
    return b.status;
}

void pattern_free(pattern *p)
{
    if (!p) return;
    for (int32_t k = 0; k < PATTERN_LEVELS_MAX; k++) mem_free(p->levels[k].next);
    mem_free(p->between);
    mem_free(p->classes.classes);
    mem_free(p->classes.pages);
    mem_free(p);
}

int64_t pattern_memory_bytes(const pattern *p)
{
    const pattern_classes *c = &p->classes;
    int64_t n_bytes = (int64_t)sizeof *p + c->n_pages * 256 + CODE_POINTS / 256 * 2 + c->n * c->n;
    for (int32_t k = 0; k < p->n_levels; k++)
        n_bytes += (int64_t)p->levels[k].n_states * p->levels[k].n_columns * 2;
    return n_bytes;
}
