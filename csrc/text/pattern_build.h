/* pattern_build.h - the steps that compile one level of a pattern, and the data they exchange
 *
 *     regex ──parse──▶ tree ──emit──▶ program ──determinize──▶ automaton ──check──▶ between
 *               │                        │                        ▲
 *               └──────▶ sets ───────────┴──partition──▶ classes ─┘
 *
 * All functions return 0 after a failure, which is recorded in the pattern_build. Every loop whose
 * length depends on the pattern is charged to n_work, so no pattern takes long to compile.
 */
#pragma once

#include "text/char_set.h"
#include "text/pattern.h"

#define PATTERN_BYTES_MAX 16384
#define PATTERN_SETS_MAX 512
#define PATTERN_PROGRAM_MAX 8192
#define PATTERN_STATES_MAX 8192
#define PATTERN_CELLS_MAX 262144 /* the size of one automaton: states times classes */
#define PATTERN_DEPTH_MAX 100    /* the depth of nested groups and brackets */

typedef struct pattern_build {
    unitok_error *error;
    int32_t status;
    int64_t item;   /* the level that is being compiled */
    int64_t n_work; /* steps left */
    char_set *sets; /* the distinct sets of all levels */
    int64_t n_sets, sets_capacity;
} pattern_build;

/* Record the first failure and return 0. `position` is a byte of the level's regex, or -1. */
int pattern_refuse(pattern_build *b, int64_t position, const char *message);
int pattern_no_memory(pattern_build *b);

/* Charges n steps. */
INLINE int pattern_spend(pattern_build *b, int64_t n)
{
    b->n_work -= n;
    if (LIKELY(b->n_work >= 0)) return 1;
    return pattern_refuse(b, -1, "the pattern is too complex");
}

/* Moves *set into b->sets, unless an equal set is already there, and stores the index in *ret. */
int pattern_add_set(pattern_build *b, char_set *set, int32_t *ret);

/* ------------------------------------------------------------------------------------ Tree ---- */

enum {
    TREE_SET,      /* one character of `set` */
    TREE_SEQUENCE, /* all children, one after another */
    TREE_CHOICE,   /* the first child that leads to a match */
    TREE_REPEAT,   /* the child, min to max times */
    TREE_ASSERT    /* the next character is in `set`, or, with at_end, the text ends here */
};
enum { GREEDY, LAZY, POSSESSIVE };

typedef struct pattern_node {
    uint8_t kind;
    uint8_t greed;       /* REPEAT; POSSESSIVE only if the child is a SET */
    uint8_t at_end;      /* ASSERT */
    uint8_t is_nullable; /* the node can match the empty string */
    int32_t set;
    int32_t child, next; /* the first child and the next sibling, or -1 */
    int32_t min, max;    /* REPEAT; max is -1 if there is no limit */
} pattern_node;

typedef struct pattern_tree {
    pattern_node *nodes;
    int64_t n_nodes, capacity;
    int32_t root;
} pattern_tree;

enum { DIALECT_ONIG, DIALECT_TIKTOKEN };

/* Parses regex[0..n_bytes-1]. The caller frees tree->nodes, even after a failure. */
int pattern_parse(pattern_build *b, int dialect, const uint8_t *regex, int64_t n_bytes,
                  pattern_tree *tree);

/* The state of the parser. */
typedef struct pattern_parser {
    pattern_build *b;
    const uint8_t *text;
    int64_t n_bytes, at;
    pattern_tree *tree;
    int dialect;
    int ignore_case;
    int depth;
    int n_brackets; /* how many of the levels in `depth` are brackets */
    uint32_t last;  /* the literal just before `at`, or 0: see is_folded_pair */
} pattern_parser;

INLINE int parser_sees(const pattern_parser *p, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    return p->n_bytes - p->at >= n && !memcmp(p->text + p->at, text, (size_t)n);
}

/* The meaning of an escape. */
enum { ESCAPE_ERROR, ESCAPE_CODE, ESCAPE_SET, ESCAPE_END };

/* Parse the text after a backslash, or after an opening bracket. *set must be empty. */
int pattern_parse_escape(pattern_parser *p, char_set *set, uint32_t *code);
int pattern_parse_bracket(pattern_parser *p, char_set *set);

/* Reads a literal character. */
uint32_t pattern_parse_literal(pattern_parser *p);

/* Adds the other case of each letter in an ASCII set. */
int pattern_fold(pattern_parser *p, char_set *set);

/* --------------------------------------------------------------------------------- Program ---- */

/* Control passes to the next instruction unless stated otherwise. */
enum {
    OP_SET,    /* reads a character of `set` */
    OP_SPLIT,  /* goes to x or, if that leads to no match, to y */
    OP_JUMP,   /* goes to x */
    OP_ASSERT, /* continues if the next character is in `set`, or the text ends here and x is 1 */
    OP_MATCH
};

typedef struct pattern_op {
    int32_t op, set, x, y;
} pattern_op;

typedef struct pattern_program {
    pattern_op *ops;
    int64_t n_ops, capacity;
} pattern_program;

/* The caller frees program->ops, even after a failure. */
int pattern_emit(pattern_build *b, const pattern_tree *tree, pattern_program *program);

/* --------------------------------------------------------------------------------- Classes ---- */

/* Fills *ret from the sets of all levels, and *ret_member: (*ret_member)[set * n_classes + class]
 * tells whether the class is in the set. The caller frees *ret_member, even after a failure. */
int pattern_partition(pattern_build *b, pattern_classes *ret, uint8_t **ret_member);

/* ------------------------------------------------------------------------------- Automaton ---- */

/* The caller frees ret->next, even after a failure. */
int pattern_determinize(pattern_build *b, const pattern_program *program, int32_t n_classes,
                        const uint8_t *member, pattern_automaton *ret);
/* Merges equivalent states. */
int pattern_minimize(pattern_build *b, pattern_automaton *a);

/* ---------------------------------------------------------------------------------- Checks ---- */

/* Rejects automata that match the empty string. */
int pattern_check_nonempty(pattern_build *b, const pattern_automaton *a);
/* Fills can_fail[0..n_states-1]: whether an attempt may report no match from this state on. */
int pattern_find_failing(pattern_build *b, const pattern_automaton *a, uint8_t *can_fail);
/* Rejects automata whose matches can leave gaps. */
int pattern_check_total(pattern_build *b, const pattern_automaton *a);
/* Sets a->loop. Rejects automata that take quadratic time on some texts. */
int pattern_check_linear(pattern_build *b, pattern_automaton *a);
/* Fills p->context from the first level, whose borders are in p->between. */
int pattern_find_context(pattern_build *b, pattern *p);
/* Fills between[before * n_classes + after] with the enum pattern_border of this level. */
int pattern_find_cuts(pattern_build *b, const pattern_automaton *a, uint8_t *between);
