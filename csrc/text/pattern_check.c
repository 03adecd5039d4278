/* pattern_check.c - properties of an automaton that hold for every text
 *
 * An attempt to match begins at a position and reads until its state is dead. A cell is silent if
 * it reports no match. An attempt becomes late at the point after which it reads only silent cells:
 * it has passed the end of its match, or it has no match.
 *
 * The automaton has finitely many cells, so a statement about all texts is a statement about all
 * paths through these cells. Each check errs on the safe side: a pattern may be rejected, or a
 * border reported as PATTERN_BOUND, although no text would show a difference. */

#include "ground/alloc.h"
#include "text/pattern_build.h"

INLINE uint16_t cell_at(const pattern_automaton *a, int32_t state, int32_t class)
{
    return a->next[state * a->n_columns + class];
}

INLINE int is_match(uint16_t cell) { return (cell & CELL_MATCH) != 0; }
INLINE int32_t state_of(uint16_t cell) { return cell & CELL_STATE; }
INLINE int at_end(const pattern_automaton *a, int32_t state)
{
    return is_match(cell_at(a, state, a->n_columns - 1));
}

int pattern_check_nonempty(pattern_build *b, const pattern_automaton *a)
{
    for (int32_t c = 0; c < a->n_columns; c++)
        if (is_match(cell_at(a, STATE_START, c)))
            return pattern_refuse(b, -1, "the pattern matches the empty string");
    return 1;
}

/* Finds the states that can fail: those in which the text may end without a match, and those from
 * which a silent cell leads to a state that can fail. Most cells lead to a state with a higher
 * number, so going backwards settles nearly all states in one round. */
int pattern_find_failing(pattern_build *b, const pattern_automaton *a, uint8_t *can_fail)
{
    memset(can_fail, 0, (size_t)a->n_states);
    can_fail[STATE_DEAD] = 1;
    for (int is_changed = 1; is_changed;) {
        is_changed = 0;
        if (!pattern_spend(b, (int64_t)a->n_states * a->n_columns)) return 0;
        for (int32_t s = a->n_states - 1; s > STATE_DEAD; s--) {
            int can = can_fail[s] || !at_end(a, s);
            for (int32_t c = 0; !can && c < a->n_columns - 1; c++)
                can = !is_match(cell_at(a, s, c)) && can_fail[state_of(cell_at(a, s, c))];
            is_changed |= can != can_fail[s];
            can_fail[s] = (uint8_t)can;
        }
    }
    return 1;
}

/* Matches leave no gap if an attempt succeeds at every position: whatever the first character is,
 * the state after it cannot fail. */
int pattern_check_total(pattern_build *b, const pattern_automaton *a)
{
    uint8_t *can_fail = mem_alloc((size_t)a->n_states);
    if (!can_fail) return pattern_no_memory(b);
    int ok = pattern_find_failing(b, a, can_fail);
    for (int32_t c = 0; ok && c < a->n_columns - 1; c++)
        if (can_fail[state_of(cell_at(a, STATE_START, c))])
            ok = pattern_refuse(b, -1, "the pattern removes the text between its matches");
    mem_free(can_fail);
    return ok;
}

/* ------------------------------------------------------------------------------------ Cuts ---- */

/* What happens at a border to an attempt that has read the character before it. */
enum { ENDS = 1, FAILS = 2, JOINS = 4, DIFFERS = 8 };

/* What happens to an attempt in state s, which is not dead, if the text is divided before a
 * character of class `after`. The left side then ends there, and the right side starts a new
 * attempt.
 *
 *     ENDS, FAILS    the attempt stops at the border, with or without a match; in the undivided
 *                    text, it does the same
 *     JOINS          the attempt continues exactly like the new attempt, which must find a match;
 *                    on the left side, it matches up to the border: dividing only splits its piece
 *     DIFFERS        anything else */
static int at_border(const pattern_automaton *a, const uint8_t *can_fail, int32_t s, int32_t after)
{
    uint16_t cell = cell_at(a, s, after);
    int32_t next = state_of(cell);
    if (next == STATE_DEAD && is_match(cell) == at_end(a, s)) return is_match(cell) ? ENDS : FAILS;
    int is_restarted = next != STATE_DEAD && next == state_of(cell_at(a, STATE_START, after));
    return is_restarted && !can_fail[next] && at_end(a, s) ? JOINS : DIFFERS;
}

/* Lists the states other than DEAD in which attempts can be after a character of class `before`. */
static int32_t states_after(const pattern_automaton *a, int32_t before, uint8_t *is_seen,
                            int32_t *ret)
{
    int32_t n = 0;
    memset(is_seen, 0, (size_t)a->n_states);
    is_seen[STATE_DEAD] = 1;
    for (int32_t s = STATE_START; s < a->n_states; s++) {
        int32_t next = state_of(cell_at(a, s, before));
        if (!is_seen[next]) ret[n++] = next;
        is_seen[next] = 1;
    }
    return n;
}

/* If every attempt that reads the character before the border ends or fails at the border, a piece
 * ends there, unless it is a gap that may continue with the character after the border. `states`
 * are all states in which such an attempt can be, in any text. A gap may continue if no match
 * begins at the character before the border and possibly none begins at the character after it. */
static int border_between(const pattern_automaton *a, const uint8_t *can_fail,
                          const int32_t *states, int32_t n, int32_t before, int32_t after)
{
    int found = 0;
    for (int32_t i = 0; i < n && !(found & DIFFERS); i++)
        found |= at_border(a, can_fail, states[i], after);
    if (found & DIFFERS) return PATTERN_BOUND;
    int32_t first = state_of(cell_at(a, STATE_START, before));
    int is_gap = first == STATE_DEAD || at_border(a, can_fail, first, after) == FAILS;
    int may_go_on = can_fail[state_of(cell_at(a, STATE_START, after))];
    return found & JOINS || (is_gap && may_go_on) ? PATTERN_FREE : PATTERN_CUT;
}

int pattern_find_cuts(pattern_build *b, const pattern_automaton *a, uint8_t *between)
{
    int32_t n_classes = a->n_columns - 1;
    size_t n_states = (size_t)a->n_states;
    uint8_t *can_fail = mem_alloc(n_states), *is_seen = mem_alloc(n_states);
    int32_t *states = mem_alloc(n_states * sizeof *states);
    int ok = (can_fail && is_seen && states) || pattern_no_memory(b);
    ok = ok && pattern_find_failing(b, a, can_fail);
    for (int32_t before = 0; ok && before < n_classes; before++) {
        int32_t n = states_after(a, before, is_seen, states);
        ok = pattern_spend(b, a->n_states + (int64_t)n * n_classes);
        for (int32_t after = 0; ok && after < n_classes; after++)
            between[before * n_classes + after] = (uint8_t)border_between(a, can_fail, states, n,
                                                                          before, after);
    }
    mem_free(states);
    mem_free(is_seen);
    mem_free(can_fail);
    return ok;
}

/* ---------------------------------------------------------------------------- Three bytes ---- */

/* Whether an attempt that is in state s after `first` ends or fails between `first` and `second`,
 * although it reads on until `third`. */
static int ends_early(const pattern_automaton *a, int32_t s, int32_t second, int32_t third)
{
    uint16_t cell = cell_at(a, s, second), next = cell_at(a, state_of(cell), third);
    if (is_match(cell) != at_end(a, s)) return 0;
    return state_of(cell) == STATE_DEAD || next == STATE_DEAD;
}

/* Whether an attempt that is in state s after `first` never ends between `first` and `second`, but
 * ends or fails before `third`. */
static int ends_late(const pattern_automaton *a, int32_t s, int32_t second, int32_t third)
{
    uint16_t cell = cell_at(a, s, second), next = cell_at(a, state_of(cell), third);
    if (state_of(cell) == STATE_DEAD) return !is_match(cell);
    return state_of(next) == STATE_DEAD && is_match(next) == at_end(a, state_of(cell)) &&
           (is_match(next) || !is_match(cell));
}

/* Whether a piece always ends before the last of these characters (is_late) or before the second.
 * states[0..n-1] are the states after the first character. An attempt that begins at the first
 * character must end at the border, so the character is never part of a gap. */
static int ends_between(const pattern_automaton *a, const int32_t *states, int32_t n,
                        const uint8_t classes[3], int is_late)
{
    int32_t first = state_of(cell_at(a, STATE_START, classes[0]));
    uint16_t second = cell_at(a, first, classes[1]),
             third = cell_at(a, state_of(second), classes[2]);
    if (!is_match(is_late ? third : second)) return 0;
    for (int32_t i = 0; i < n; i++)
        if (!(is_late ? ends_late : ends_early)(a, states[i], classes[1], classes[2])) return 0;
    return 1;
}

/* A set of ASCII bytes as a list of their classes. */
typedef struct class_list {
    int32_t n;
    uint8_t classes[128];
} class_list;

static void list_class(class_list *list, const pattern *p, uint32_t byte)
{
    uint8_t class = pattern_class_of(p, byte);
    if (!memchr(list->classes, class, (size_t)list->n)) list->classes[list->n++] = class;
}

/* Whether ends_between() holds for all three characters of these classes. */
static int proves(pattern_build *b, const pattern_automaton *a, const class_list lists[3],
                  int is_late, int *ret)
{
    uint8_t *is_seen = mem_alloc((size_t)a->n_states);
    int32_t *states = mem_alloc((size_t)a->n_states * sizeof *states);
    int32_t n_pairs = lists[1].n * lists[2].n;
    int ok = (is_seen && states) || pattern_no_memory(b);
    *ret = 1;
    for (int32_t i = 0; ok && *ret && i < lists[0].n; i++) {
        int32_t n = states_after(a, lists[0].classes[i], is_seen, states);
        ok = pattern_spend(b, a->n_states + (int64_t)n * n_pairs);
        for (int32_t k = 0; ok && *ret && k < n_pairs; k++) {
            uint8_t three[3] = {lists[0].classes[i], lists[1].classes[k / lists[2].n],
                                lists[2].classes[k % lists[2].n]};
            *ret = ends_between(a, states, n, three, is_late);
        }
    }
    mem_free(states);
    mem_free(is_seen);
    return ok;
}

/* A pattern that always cuts between a mark and a letter does not need PATTERN_MARKS. */
int pattern_find_context(pattern_build *b, pattern *p)
{
    class_list blanks[3] = {{0}}, marks[3] = {{0}};
    int has_blanks, has_marks;
    for (uint8_t byte = 0; byte < 0x80; byte++) {
        list_class(&blanks[0], p, byte);
        if (is_blank(byte)) list_class(&blanks[1], p, byte);
        if (is_visible(byte)) list_class(&blanks[2], p, byte);
        if (is_mark(byte) || byte == ' ') list_class(&marks[0], p, byte);
        if (is_mark(byte)) list_class(&marks[1], p, byte);
        if (is_letter(byte)) list_class(&marks[2], p, byte);
    }
    if (!proves(b, &p->levels[0], blanks, 0, &has_blanks) ||
        !proves(b, &p->levels[0], marks, 1, &has_marks))
        return 0;
    if (pattern_between(p, pattern_class_of(p, '('), pattern_class_of(p, 'x')) == PATTERN_CUT)
        has_marks = 0;
    p->context = (has_blanks ? PATTERN_BLANKS : 0) | (has_marks ? PATTERN_MARKS : 0);
    return 1;
}
