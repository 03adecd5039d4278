/* pattern_program.c - converts a tree to a program
 *
 *     a|b     0 split 1 3    1 set a    2 jump 4    3 set b    4
 *     a+      0 set a        1 split 0 2            2
 *     a*      0 split 1 3    1 set a    2 jump 0    3
 *     a++     0 set a        1 split 0 2            2 assert not a
 *
 *     a{1,3}  0 set a        1 split 2 5   2 set a   3 split 4 5   4 set a   5
 *
 * The program is that of a backtracking engine: a split tries x first, so its order of
 * alternatives is the order of preference. pattern_automaton.c follows all paths at once and keeps
 * that order, so nothing ever backtracks.
 *
 * A counted repetition is expanded. In a lazy repetition, the targets of the splits are swapped. A
 * possessive repetition may stop early only before a character that it cannot match.
 */

#include "ground/grow.h"
#include "text/pattern_build.h"

typedef struct emitter {
    pattern_build *b;
    const pattern_tree *tree;
    pattern_program *program;
} emitter;

static int emit_node(emitter *e, int32_t node);

/* Appends an instruction and stores its index in *ret. */
static int emit(emitter *e, pattern_op op, int32_t *ret)
{
    pattern_program *p = e->program;
    if (!pattern_spend(e->b, 8)) return 0;
    if (p->n_ops >= PATTERN_PROGRAM_MAX)
        return pattern_refuse(e->b, -1, "the pattern is too complex");
    if (!grow(&p->ops, p->n_ops, &p->capacity, sizeof *p->ops)) return pattern_no_memory(e->b);
    *ret = (int32_t)p->n_ops;
    p->ops[p->n_ops++] = op;
    return 1;
}

static int32_t end_of(const emitter *e) { return (int32_t)e->program->n_ops; }

/* Sets the two targets of a split. A lazy split prefers `after`, all others `body`. */
static void set_split(emitter *e, int32_t split, int32_t body, int32_t after, int greed)
{
    pattern_op *op = &e->program->ops[split];
    op->x = greed == LAZY ? after : body;
    op->y = greed == LAZY ? body : after;
}

/* Each alternative but the last has a split before it and a jump to the end after it. The end is
 * not known yet, so until then, the field x of each jump links it to the previous jump. */
static int emit_choice(emitter *e, int32_t child)
{
    int32_t jumps = -1; /* a list of the jumps to the end, linked by x */
    for (; child >= 0; child = e->tree->nodes[child].next) {
        int32_t split = -1, jump;
        int is_last = e->tree->nodes[child].next < 0;
        if (!is_last && !emit(e, (pattern_op){.op = OP_SPLIT}, &split)) return 0;
        if (!emit_node(e, child)) return 0;
        if (is_last) break;
        if (!emit(e, (pattern_op){.op = OP_JUMP, .x = jumps}, &jump)) return 0;
        jumps = jump;
        set_split(e, split, split + 1, end_of(e), GREEDY);
    }
    while (jumps >= 0) {
        int32_t next = e->program->ops[jumps].x;
        e->program->ops[jumps].x = end_of(e);
        jumps = next;
    }
    return 1;
}

/* Emits an unlimited repetition, except for the required bodies before the last one. */
static int emit_loop(emitter *e, const pattern_node *n)
{
    int32_t start = end_of(e), split, jump;
    if (n->min > 0) { /* the last required body is the loop */
        if (!emit_node(e, n->child) || !emit(e, (pattern_op){.op = OP_SPLIT}, &split)) return 0;
        set_split(e, split, start, end_of(e), n->greed);
        return 1;
    }
    if (!emit(e, (pattern_op){.op = OP_SPLIT}, &split) || !emit_node(e, n->child) ||
        !emit(e, (pattern_op){.op = OP_JUMP, .x = start}, &jump))
        return 0;
    set_split(e, split, split + 1, end_of(e), n->greed);
    return 1;
}

/* Emits `count` optional bodies; *splits becomes the list of the splits before them, linked by
 * y. */
static int emit_options(emitter *e, const pattern_node *n, int32_t count, int32_t *splits)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t split;
        if (!emit(e, (pattern_op){.op = OP_SPLIT, .y = *splits}, &split) || !emit_node(e, n->child))
            return 0;
        *splits = split;
    }
    return 1;
}

/* After a possessive repetition, a character that it could have matched must not follow. That is
 * equivalent to never giving a character back, because the body is a single character: a shorter
 * repetition is always followed by one that the body matches. The complement is added as a separate
 * set, so that the character classes distinguish it. */
static int emit_possession(emitter *e, const pattern_node *n)
{
    int32_t at, set;
    const char_set *body = &e->b->sets[e->tree->nodes[n->child].set];
    char_set others = {0};
    int ok = pattern_spend(e->b, body->n_borders) &&
             ((char_set_combine(&others, body, CHAR_SET_UNION) &&
               char_set_combine(&others, &(char_set){0}, CHAR_SET_NOT_A)) ||
              pattern_no_memory(e->b)) &&
             pattern_add_set(e->b, &others, &set) &&
             emit(e, (pattern_op){.op = OP_ASSERT, .set = set, .x = 1}, &at);
    char_set_free(&others);
    return ok;
}

/* The required bodies are copied; in an unlimited repetition, the last one is the loop itself. With
 * a limit, each optional body has a split that leaves the repetition early:
 *
 *     a{1,3} possessive     0 set a   1 split 2 6   2 set a   3 split 4 6   4 set a
 *                           5 jump 7   6 assert not a   7
 *
 * After the maximum, any character may follow, so the jump avoids the assertion. pattern_spend
 * bounds nested counts of an empty body, such as ((){999}){999}, which emit nothing. */
static int emit_repeat(emitter *e, const pattern_node *n)
{
    int is_possessive = n->greed == POSSESSIVE;
    int32_t n_required = n->max < 0 && n->min > 0 ? n->min - 1 : n->min;
    for (int32_t i = 0; i < n_required; i++)
        if (!pattern_spend(e->b, 1) || !emit_node(e, n->child)) return 0;
    if (n->max < 0) return emit_loop(e, n) && (!is_possessive || emit_possession(e, n));
    int32_t splits = -1, jump = -1, count = n->max - n->min;
    if (count == 0) return 1;
    if (!emit_options(e, n, count, &splits)) return 0;
    if (is_possessive && !emit(e, (pattern_op){.op = OP_JUMP}, &jump)) return 0;
    int32_t early = end_of(e);
    if (is_possessive && !emit_possession(e, n)) return 0;
    if (is_possessive) e->program->ops[jump].x = end_of(e);
    while (splits >= 0) {
        int32_t next = e->program->ops[splits].y;
        set_split(e, splits, splits + 1, early, n->greed);
        splits = next;
    }
    return 1;
}

static int emit_node(emitter *e, int32_t node)
{
    const pattern_node *n = &e->tree->nodes[node];
    int32_t at;
    switch (n->kind) {
    case TREE_SET:
        return emit(e, (pattern_op){.op = OP_SET, .set = n->set}, &at);
    case TREE_ASSERT:
        return emit(e, (pattern_op){.op = OP_ASSERT, .set = n->set, .x = n->at_end}, &at);
    case TREE_CHOICE:
        return emit_choice(e, n->child);
    case TREE_REPEAT:
        return pattern_spend(e->b, 1) && emit_repeat(e, n);
    default:
        for (int32_t k = n->child; k >= 0; k = e->tree->nodes[k].next)
            if (!pattern_spend(e->b, 1) || !emit_node(e, k)) return 0;
        return 1;
    }
}

int pattern_emit(pattern_build *b, const pattern_tree *tree, pattern_program *program)
{
    emitter e = {b, tree, program};
    int32_t at;
    return emit_node(&e, tree->root) && emit(&e, (pattern_op){.op = OP_MATCH}, &at);
}
