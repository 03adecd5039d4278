/* pattern_automaton.c - converts a program to an automaton
 *
 * A state is an ordered list of instructions: the instructions at which a backtracking engine would
 * continue, in order of preference. The list contains only sets, assertions and MATCH; splits and
 * jumps are followed immediately. An assertion depends on the next character, so it stays in the
 * list until that character is read. Reading a character
 *
 *     1. follows the assertions that it satisfies, at their position in the list;
 *     2. reports a match on reaching MATCH, and drops all instructions after it;
 *     3. advances past the sets that contain it.
 *
 * So a match is reported when the character after it, or the end of the text, is read. For a+|b
 * (m: the cell reports a match):
 *
 *     program    0 split 1 4   1 set a   2 split 1 3   3 jump 5   4 set b   5 match
 *
 *     state      list          next on a     on b     on other characters, and at the end
 *     1          1 4           2             3        0
 *     2          1 5           2 m           0 m      0 m
 *     3          5             0 m           0 m      0 m
 *
 * In state 2, another "a" reports the match so far and continues, because set a precedes MATCH in
 * the list: the repetition is greedy. With a+?, the list would be 5 alone, since nothing after
 * MATCH is kept. */

#include "ground/grow.h"
#include "text/pattern_build.h"

typedef struct determinizer {
    pattern_build *b;
    const pattern_program *program;
    int32_t n_classes;
    const uint8_t *member;
    int32_t *lists; /* the lists of all states, one after another */
    int64_t n_lists, lists_capacity;
    int64_t *offsets; /* state s is lists[offsets[s]..offsets[s + 1] - 1] */
    int64_t n_states, offsets_capacity;
    int32_t *slots; /* a hash table of the states; -1: an empty slot */
    int32_t n_slots;
    int32_t *stack;  /* a stack of instructions, each pushed once for each path to it */
    uint32_t *seen;  /* by instruction: the last walk that reached it */
    uint32_t *moved; /* by instruction: the last walk that listed it */
    uint32_t walk;
} determinizer;

/* Pushes the targets of a jump or split, with the preferred one on top. Returns 0 for all other
 * instructions. */
static int push_targets(determinizer *d, const pattern_op *o, int32_t *io_n)
{
    if (o->op != OP_JUMP && o->op != OP_SPLIT) return 0;
    if (o->op == OP_SPLIT) d->stack[(*io_n)++] = o->y;
    d->stack[(*io_n)++] = o->x;
    return 1;
}

/* Appends the instructions reached from `op` without reading a character to the list that is being
 * built, using the stack from `bottom` on. Returns 1 if the list then ends with MATCH, after which
 * nothing matters; -1 after a failure. The stack is popped in order of preference, and an
 * instruction is listed at its first, most preferred place: `moved` drops later paths to it,
 * because an engine would already have tried the first one. */
static int follow(determinizer *d, int32_t bottom, int32_t op)
{
    int32_t n = bottom;
    d->stack[n++] = op;
    while (n > bottom) {
        int32_t at = d->stack[--n];
        const pattern_op *o = &d->program->ops[at];
        if (!pattern_spend(d->b, 4)) return -1;
        if (d->moved[at] == d->walk) continue;
        d->moved[at] = d->walk;
        if (push_targets(d, o, &n)) continue;
        if (!grow(&d->lists, d->n_lists, &d->lists_capacity, sizeof *d->lists))
            return pattern_no_memory(d->b) - 1;
        d->lists[d->n_lists++] = at;
        if (o->op == OP_MATCH) return 1;
    }
    return 0;
}

/* Whether the next character, or the end of the text (class n_classes), satisfies a set or
 * assertion.
 */
static int is_satisfied(const determinizer *d, const pattern_op *o, int32_t class)
{
    if (class == d->n_classes) return o->op == OP_ASSERT && o->x;
    return d->member[o->set * d->n_classes + class];
}

/* Walks from an instruction of a state's list with a character of this class, and appends to the
 * list of the next state. Sets *is_done once that list ends with MATCH. Returns 1 on reaching
 * MATCH, -1 after a failure. */
static int step(determinizer *d, int32_t op, int32_t class, int *is_done)
{
    int32_t n = 0;
    d->stack[n++] = op;
    while (n > 0) {
        int32_t at = d->stack[--n];
        const pattern_op *o = &d->program->ops[at];
        if (!pattern_spend(d->b, 4)) return -1;
        if (d->seen[at] == d->walk) continue;
        d->seen[at] = d->walk;
        if (push_targets(d, o, &n)) continue;
        if (o->op == OP_MATCH) return 1;
        if (!is_satisfied(d, o, class)) continue;
        if (o->op == OP_ASSERT) d->stack[n++] = at + 1;
        else if (!*is_done) *is_done = follow(d, n, at + 1);
        if (*is_done < 0) return -1;
    }
    return 0;
}

static uint32_t hash_list(const int32_t *list, int64_t n)
{
    uint32_t h = 2166136261u;
    for (int64_t i = 0; i < n; i++) h = (h ^ (uint32_t)list[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Returns the number of the state with the list just built, lists[offsets[n_states]..n_lists - 1].
 * The list becomes a new state unless a state already has it. Returns -1 after a failure. */
static int32_t find_state(determinizer *d)
{
    int64_t begin = d->offsets[d->n_states], n = d->n_lists - begin;
    uint32_t mask = (uint32_t)d->n_slots - 1, slot = hash_list(d->lists + begin, n) & mask;
    if (!pattern_spend(d->b, n + 4)) return -1;
    for (; d->slots[slot] >= 0; slot = (slot + 1) & mask) {
        int64_t other = d->offsets[d->slots[slot]];
        if (d->offsets[d->slots[slot] + 1] - other != n ||
            memcmp(d->lists + other, d->lists + begin, (size_t)n * sizeof *d->lists) != 0)
            continue;
        d->n_lists = begin;
        return d->slots[slot];
    }
    if (d->n_states >= PATTERN_STATES_MAX || d->n_states * (d->n_classes + 1) >= PATTERN_CELLS_MAX)
        return pattern_refuse(d->b, -1, "the pattern is too complex") - 1;
    d->slots[slot] = (int32_t)d->n_states++;
    if (!grow(&d->offsets, d->n_states, &d->offsets_capacity, sizeof *d->offsets))
        return pattern_no_memory(d->b) - 1;
    d->offsets[d->n_states] = d->n_lists;
    return d->slots[slot];
}

/* Returns the cell for a state and a class, or -1 after a failure. A new `walk` number makes all
 * marks in `seen` and `moved` stale without clearing them. The instructions after a MATCH that is
 * reached are less preferred than this match, so they are dropped. */
static int32_t find_cell(determinizer *d, int64_t state, int32_t class)
{
    int found = 0, is_done = 0;
    d->walk++;
    for (int64_t i = d->offsets[state]; i < d->offsets[state + 1] && found == 0; i++)
        found = step(d, d->lists[i], class, &is_done);
    int32_t next = found < 0 ? -1 : find_state(d);
    return next < 0 ? -1 : next | (found ? CELL_MATCH : 0);
}

/* State 0 is the empty list, STATE_DEAD, from which nothing is reached. State 1 is the list before
 * the first character of an attempt. In each of two nested walks, an instruction pushes its
 * successors (at most two) only once, which bounds the stack. */
static int start(determinizer *d)
{
    size_t n_ops = (size_t)d->program->n_ops;
    d->n_slots = 2 * PATTERN_STATES_MAX;
    d->slots = mem_alloc((size_t)d->n_slots * sizeof *d->slots);
    d->stack = mem_alloc((4 * n_ops + 4) * sizeof *d->stack);
    d->seen = mem_zalloc(n_ops, sizeof *d->seen);
    d->moved = mem_zalloc(n_ops, sizeof *d->moved);
    if (!d->slots || !d->stack || !d->seen || !d->moved ||
        !grow(&d->offsets, 1, &d->offsets_capacity, sizeof *d->offsets) ||
        !grow(&d->lists, 0, &d->lists_capacity, sizeof *d->lists))
        return pattern_no_memory(d->b);
    memset(d->slots, 0xFF, (size_t)d->n_slots * sizeof *d->slots);
    d->offsets[0] = 0;
    if (find_state(d) != STATE_DEAD) return 0; /* the empty list */
    d->walk++;
    if (follow(d, 0, 0) < 0) return 0;
    int32_t first = find_state(d);
    ASSERT(first < 0 || first == STATE_START);
    return first >= 0;
}

/* States are numbered as they are found, so the loop ends when no cell leads to a new one. Their
 * number can be exponential in the size of the program; PATTERN_STATES_MAX and PATTERN_CELLS_MAX
 * reject such patterns. */
int pattern_determinize(pattern_build *b, const pattern_program *program, int32_t n_classes,
                        const uint8_t *member, pattern_automaton *ret)
{
    determinizer d = {.b = b, .program = program, .n_classes = n_classes, .member = member};
    int64_t capacity = 0;
    ret->n_columns = n_classes + 1;
    int ok = start(&d);
    for (int64_t s = 0; ok && s < d.n_states; s++) {
        for (int32_t c = 0; ok && c < ret->n_columns; c++) {
            int32_t cell = find_cell(&d, s, c);
            if (cell < 0) ok = 0;
            else
                ok = grow(&ret->next, s * ret->n_columns + c, &capacity, sizeof *ret->next) ||
                     pattern_no_memory(b);
            if (ok) ret->next[s * ret->n_columns + c] = (uint16_t)cell;
        }
    }
    ret->n_states = (int32_t)d.n_states;
    mem_free(d.moved);
    mem_free(d.seen);
    mem_free(d.stack);
    mem_free(d.slots);
    mem_free(d.offsets);
    mem_free(d.lists);
    return ok;
}
