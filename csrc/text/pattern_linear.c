/* pattern_linear.c - rejects patterns that take quadratic time on some texts
 *
 * An attempt may read far beyond the end of its match. The next attempt begins at that end and
 * reads the same characters again, so a pattern such as [ab]*c|a takes O(n^2) on a^n. The time is
 * linear if only a limited number of late attempts (pattern_check.c) can pass the same position:
 *
 *     text       a a a a a a a a a a
 *     attempt 0  █▒▒▒▒▒▒▒▒▒▒          █ its match   ▒ late
 *     attempt 1    █▒▒▒▒▒▒▒▒▒
 *     attempt 2      █▒▒▒▒▒▒▒
 *
 * Late attempts that end within a few characters cost little. All other late attempts are called
 * long. If more than n_states long attempts were at one position, two would be in the same state.
 * So it suffices to check that no two can be. The search follows every pair of a long attempt and a
 * later attempt through all texts: first while the later attempt is "live", which means that it may
 * still find a match, or end and let further attempts begin; then once it is long as well.
 *
 * Two attempts may share a state that long attempts never leave for another long state, such as the
 * state of \s+$ after a space. pattern_next remembers where the last late attempt was in that
 * state, and stops the next attempt that reaches the state there. One such state is supported for
 * each level.
 */

#include "ground/grow.h"
#include "text/pattern_build.h"

/* A late attempt that reads at most this many more characters is not long. */
#define LATE_SHORT 32

/* The phase of the second attempt of a pair; bits of search.seen. */
enum { LIVE = 1, LATE = 2 };

typedef struct pair {
    int32_t first, second, mark;
} pair;

typedef struct search {
    pattern_build *b;
    pattern_automaton *a;
    uint8_t *can_fail, *is_long;
    int32_t *number; /* [state]: the number of a long state, from 0 on, or -1 */
    int32_t n_long;
    uint8_t *seen; /* [number[first] * n_states + second]: the phases pushed */
    pair *stack;
    int64_t n_stack, capacity;
    int is_found; /* two long attempts can be in the same state, other than a->loop */
} search;

INLINE uint16_t cell_at(const pattern_automaton *a, int32_t state, int32_t class)
{
    return a->next[state * a->n_columns + class];
}

/* Marks the states from which more than LATE_SHORT silent cells in a row are possible. After round
 * r, is_long tells whether r silent cells can lead to a state other than STATE_DEAD from which the
 * attempt can fail. */
static int find_long(search *s)
{
    const pattern_automaton *a = s->a;
    uint8_t *before = mem_alloc((size_t)a->n_states);
    if (!before) return pattern_no_memory(s->b);
    int ok = 1;
    memcpy(s->is_long, s->can_fail, (size_t)a->n_states);
    s->is_long[STATE_DEAD] = 0;
    for (int round = 0; ok && round < LATE_SHORT; round++) {
        ok = pattern_spend(s->b, (int64_t)a->n_states * a->n_columns);
        memcpy(before, s->is_long, (size_t)a->n_states);
        for (int32_t state = STATE_START; state < a->n_states; state++) {
            int can = 0;
            for (int32_t c = 0; before[state] && !can && c < a->n_columns - 1; c++) {
                uint16_t cell = cell_at(a, state, c);
                can = !(cell & CELL_MATCH) && before[cell & CELL_STATE];
            }
            s->is_long[state] = (uint8_t)can;
        }
    }
    mem_free(before);
    return ok;
}

/* Whether long attempts never leave this state for another long state. */
static int is_loop(const search *s, int32_t state)
{
    for (int32_t c = 0; c < s->a->n_columns - 1; c++) {
        uint16_t cell = cell_at(s->a, state, c);
        if (s->is_long[cell & CELL_STATE] && cell != state && !(cell & CELL_MATCH)) return 0;
    }
    return 1;
}

/* Records that two long attempts can be in the same state at the same position. */
static void meet(search *s, int32_t state)
{
    int is_first = s->a->loop == STATE_DEAD && is_loop(s, state);
    if (is_first) s->a->loop = state;
    s->is_found |= s->a->loop != state;
}

static int push(search *s, int32_t first, int32_t second, int mark)
{
    uint8_t *seen = &s->seen[(int64_t)s->number[first] * s->a->n_states + second];
    if (*seen & mark) return 1;
    *seen |= (uint8_t)mark;
    if (mark == LATE && first == second) {
        meet(s, first);
        return 1;
    }
    if (!grow(&s->stack, s->n_stack, &s->capacity, sizeof *s->stack))
        return pattern_no_memory(s->b);
    s->stack[s->n_stack++] = (pair){first, second, mark};
    return 1;
}

/* Pushes a pair whose second attempt is late from here on. */
static int push_late(search *s, int32_t first, int32_t second)
{
    return !s->is_long[second] || push(s, first, second, LATE);
}

/* Pushes an attempt that begins with a character of class c and, if that attempt can fail, the
 * attempt that begins after the character. */
static int push_fresh(search *s, int32_t first, int32_t c)
{
    int32_t next = cell_at(s->a, STATE_START, c) & CELL_STATE;
    if (next != STATE_DEAD && !push(s, first, next, LIVE)) return 0;
    return !s->can_fail[next] || (push(s, first, STATE_START, LIVE) && push_late(s, first, next));
}

/* Pushes the states that a live attempt can be in after a character of class c. */
static int push_live(search *s, int32_t first, int32_t second, int32_t c)
{
    uint16_t cell = cell_at(s->a, second, c);
    int32_t next = cell & CELL_STATE;
    if (second == STATE_START) return push_fresh(s, first, c);
    if (next != STATE_DEAD && !push(s, first, next, LIVE)) return 0;
    return !(cell & CELL_MATCH) || (push_fresh(s, first, c) && push_late(s, first, next));
}

/* Every attempt may become late at a match, or at its first character. */
static int push_first(search *s)
{
    for (int32_t state = STATE_START; state < s->a->n_states; state++) {
        for (int32_t c = 0; c < s->a->n_columns - 1; c++) {
            uint16_t cell = cell_at(s->a, state, c);
            int32_t next = cell & CELL_STATE;
            if (!s->is_long[next]) continue;
            if (cell & CELL_MATCH && !push_fresh(s, next, c)) return 0;
            if (state == STATE_START && !push(s, next, STATE_START, LIVE)) return 0;
        }
    }
    return pattern_spend(s->b, (int64_t)s->a->n_states * s->a->n_columns);
}

/* Advances both attempts of a pair by a character of each class. A late attempt that matches is no
 * longer late, so its pair ends there; the pairs in which it becomes late again have their own
 * start (push_first, push_live). */
static int walk_pairs(search *s)
{
    while (s->n_stack > 0 && !s->is_found) {
        pair p = s->stack[--s->n_stack];
        if (!pattern_spend(s->b, 4 * s->a->n_columns)) return 0;
        for (int32_t c = 0; c < s->a->n_columns - 1; c++) {
            uint16_t cell = cell_at(s->a, p.first, c), other = cell_at(s->a, p.second, c);
            int32_t first = cell & CELL_STATE;
            if (cell & CELL_MATCH || !s->is_long[first]) continue;
            int ok = p.mark == LIVE       ? push_live(s, first, p.second, c)
                     : other & CELL_MATCH ? 1
                                          : push_late(s, first, other & CELL_STATE);
            if (!ok) return 0;
        }
    }
    return 1;
}

/* Numbers the long states and allocates the table of pairs. */
static int start(search *s)
{
    for (int32_t state = 0; state < s->a->n_states; state++)
        s->number[state] = s->is_long[state] ? s->n_long++ : -1;
    int64_t n_pairs = (int64_t)s->n_long * s->a->n_states;
    if (!pattern_spend(s->b, n_pairs)) return 0;
    s->seen = mem_zalloc((size_t)n_pairs + 1, 1);
    return s->seen != NULL || pattern_no_memory(s->b);
}

/* The pairs of a long state and any state form a finite graph. Each pair is pushed at most once for
 * each phase, so the search takes at most n_long * n_states * 2 steps of n_columns cells, all
 * charged to n_work. */
int pattern_check_linear(pattern_build *b, pattern_automaton *a)
{
    search s = {.b = b, .a = a};
    size_t n_states = (size_t)a->n_states;
    s.can_fail = mem_alloc(n_states);
    s.is_long = mem_alloc(n_states);
    s.number = mem_alloc(n_states * sizeof *s.number);
    int ok = (s.can_fail && s.is_long && s.number) || pattern_no_memory(b);
    ok = ok && pattern_find_failing(b, a, s.can_fail) && find_long(&s) && start(&s) &&
         push_first(&s) && walk_pairs(&s);
    if (ok && s.is_found)
        ok = pattern_refuse(b, -1, "the pattern takes quadratic time on some texts");
    mem_free(s.stack);
    mem_free(s.seen);
    mem_free(s.number);
    mem_free(s.is_long);
    mem_free(s.can_fail);
    return ok;
}
