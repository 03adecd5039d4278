/* pattern_parse.c - converts a regex to a tree: choices, sequences, groups and quantifiers
 *
 *     choice      sequence ( '|' sequence )*                    TREE_CHOICE
 *     sequence    ( atom quantifier? )*                         TREE_SEQUENCE
 *     quantifier  ( '*' | '+' | '?' | '{n,m}' ) ( '?' | '+' )?  TREE_REPEAT
 *     atom        '(' choice ')'   (?=…)   (?>…)                the node of the choice; TREE_ASSERT
 *                 '[' … ']'   '.'   a character or escape        TREE_SET
 *
 *     \p{L}+|'t     CHOICE ── REPEAT 1.. ── SET \p{L}
 *                      └───── SEQUENCE ── SET ' ── SET t
 *
 * A recursive-descent parser; PATTERN_DEPTH_MAX bounds the stack. Syntax is accepted only if its
 * meaning in the dialect is certain. Everything else is an error with a position: a pattern that is
 * read differently from the original would silently produce other tokens.
 *
 * Functions return the index of a node, or -1 after a failure, which pattern_refuse has recorded.
 * Since pattern_refuse returns 0, they use `return pattern_refuse(…) - 1`. Nodes move when one is
 * added, so pointers to them are not kept across calls that parse. */

#include "ground/grow.h"
#include "ground/utf8.h"
#include "text/pattern_build.h"

static int32_t parse_choice(pattern_parser *p);

/* ----------------------------------------------------------------------------------- Nodes ---- */

/* An assertion and an empty sequence match the empty string. A choice does only if one of its
 * children does; add_child updates the flag. */
static int32_t new_node(pattern_parser *p, int kind)
{
    pattern_tree *t = p->tree;
    if (!pattern_spend(p->b, 8)) return -1;
    if (!grow(&t->nodes, t->n_nodes, &t->capacity, sizeof *t->nodes))
        return pattern_no_memory(p->b) - 1;
    pattern_node *node = &t->nodes[t->n_nodes];
    *node = (pattern_node){.kind = (uint8_t)kind, .set = -1, .child = -1, .next = -1};
    node->is_nullable = kind == TREE_ASSERT || kind == TREE_SEQUENCE;
    return (int32_t)t->n_nodes++;
}

/* Adds a node for *set, which is freed or moved in any case; at_end is for TREE_ASSERT. */
static int32_t new_set_node(pattern_parser *p, int kind, char_set *set, int at_end)
{
    int32_t number, node = -1;
    if (pattern_add_set(p->b, set, &number) && (node = new_node(p, kind)) >= 0) {
        p->tree->nodes[node].set = number;
        p->tree->nodes[node].at_end = (uint8_t)at_end;
    }
    char_set_free(set);
    return node;
}

static int32_t new_repeat(pattern_parser *p, int32_t child, int32_t min, int32_t max, int greed)
{
    int32_t node = new_node(p, TREE_REPEAT);
    if (node < 0) return -1;
    pattern_node *n = &p->tree->nodes[node];
    n->child = child, n->min = min, n->max = max, n->greed = (uint8_t)greed;
    n->is_nullable = min == 0 || p->tree->nodes[child].is_nullable;
    return node;
}

/* Adds a child to a sequence or choice; *io_last is the child before it, or -1. */
static void add_child(pattern_parser *p, int32_t parent, int32_t child, int32_t *io_last)
{
    pattern_node *nodes = p->tree->nodes, *above = &nodes[parent];
    if (*io_last < 0) above->child = child;
    else nodes[*io_last].next = child;
    *io_last = child;
    if (above->kind == TREE_SEQUENCE) above->is_nullable &= nodes[child].is_nullable;
    else above->is_nullable |= nodes[child].is_nullable;
}

/* ------------------------------------------------------------------------------ Assertions ---- */

/* `$` matches at the end of the text, and in onig also at the end of a line. */
static int32_t parse_dollar(pattern_parser *p)
{
    char_set set = {0};
    p->at++;
    if (p->dialect == DIALECT_ONIG && !char_set_add(&set, '\n', '\n'))
        return pattern_no_memory(p->b) - 1;
    return new_set_node(p, TREE_ASSERT, &set, 1);
}

/* Adds the characters that `node` can match. Rejects nodes whose match cannot be decided by one
 * character. For a repetition with min = 1, the first character decides, as in (?=a+). */
static int add_lookahead(pattern_parser *p, int64_t start, int32_t node, char_set *set, int *at_end)
{
    const pattern_node *n = &p->tree->nodes[node];
    if (n->kind == TREE_CHOICE) {
        for (int32_t k = n->child; k >= 0; k = p->tree->nodes[k].next)
            if (!add_lookahead(p, start, k, set, at_end)) return 0;
        return 1;
    }
    if (n->kind == TREE_REPEAT && n->min == 1)
        return add_lookahead(p, start, n->child, set, at_end);
    if (n->kind != TREE_SET && n->kind != TREE_ASSERT)
        return pattern_refuse(p->b, start,
                              "a lookahead of more than one character is not supported");
    *at_end |= n->at_end;
    const char_set *more = &p->b->sets[n->set];
    if (!pattern_spend(p->b, set->n_borders + more->n_borders)) return 0;
    return char_set_combine(set, more, CHAR_SET_UNION) || pattern_no_memory(p->b);
}

/* Reads (?=body) or (?!body), from the body on. A lookahead of one character becomes a set of
 * characters and a flag for whether the end of the text satisfies it; the negative form is the
 * complement of both, so (?!\S) is "white space, or the end". */
static int32_t parse_lookahead(pattern_parser *p, int is_negative)
{
    int64_t start = p->at;
    int32_t body = parse_choice(p);
    if (body < 0) return -1;
    char_set set = {0};
    int at_end = 0;
    int ok = add_lookahead(p, start, body, &set, &at_end);
    if (ok && is_negative) {
        at_end = !at_end;
        ok = char_set_combine(&set, &(char_set){0}, CHAR_SET_NOT_A) || pattern_no_memory(p->b);
    }
    if (ok) return new_set_node(p, TREE_ASSERT, &set, at_end);
    char_set_free(&set);
    return -1;
}

/* ---------------------------------------------------------------------------------- Groups ---- */

/* Reads (?>body): the node is the body itself if that is one character, and possessive if it is a
 * repeated character. Other bodies would need backtracking to be forbidden across several
 * characters, which the program (pattern_program.c) cannot express. */
static int32_t parse_atomic(pattern_parser *p)
{
    int64_t start = p->at;
    int32_t body = parse_choice(p);
    if (body < 0) return -1;
    pattern_node *n = &p->tree->nodes[body];
    if (n->kind == TREE_SET) return body;
    if (n->kind == TREE_REPEAT && n->greed != LAZY && p->tree->nodes[n->child].kind == TREE_SET) {
        n->greed = POSSESSIVE;
        return body;
    }
    return pattern_refuse(p->b, start, "this atomic group is not supported") - 1;
}

/* Returns the kind of the group that begins at `at`, after its parenthesis; moves to its body. */
enum { GROUP_ERROR, GROUP_PLAIN, GROUP_LOOKAHEAD, GROUP_NOT_LOOKAHEAD, GROUP_ATOMIC, GROUP_OPTION };

static int parse_group_kind(pattern_parser *p)
{
    static const struct {
        const char *text;
        int kind, ignore_case; /* -1: unchanged */
    } KINDS[] = {
        {"?:", GROUP_PLAIN, -1},     {"?i:", GROUP_PLAIN, 1},         {"?-i:", GROUP_PLAIN, 0},
        {"?=", GROUP_LOOKAHEAD, -1}, {"?!", GROUP_NOT_LOOKAHEAD, -1}, {"?>", GROUP_ATOMIC, -1},
        {"?i)", GROUP_OPTION, 1},    {"?-i)", GROUP_OPTION, 0},
    };
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        if (!parser_sees(p, KINDS[k].text)) continue;
        p->at += (int64_t)strlen(KINDS[k].text);
        if (KINDS[k].ignore_case >= 0) p->ignore_case = KINDS[k].ignore_case;
        return KINDS[k].kind;
    }
    if (!parser_sees(p, "?") && !parser_sees(p, "*")) return GROUP_PLAIN;
    return pattern_refuse(p->b, p->at - 1, "this kind of group is not supported");
}

/* Reads a group, from its parenthesis on. The option (?i) changes the state of the parser. In onig,
 * it also begins a group that extends to the end of the enclosing group: a(?i)b|c means a(?i:b|c).
 * Returns TREE_NONE for an option that does not begin a group. */
#define TREE_NONE (-2)
static int32_t parse_group(pattern_parser *p)
{
    int64_t start = p->at++;
    int outer_case = p->ignore_case, kind = parse_group_kind(p);
    if (!kind) return -1;
    if (++p->depth > PATTERN_DEPTH_MAX)
        return pattern_refuse(p->b, start, "groups are nested too deeply") - 1;
    int32_t ret = -1;
    if (kind == GROUP_OPTION) {
        if (p->dialect == DIALECT_TIKTOKEN) ret = TREE_NONE;
        else ret = parse_choice(p), p->ignore_case = outer_case;
        p->depth--;
        return ret;
    }
    if (kind == GROUP_PLAIN) ret = parse_choice(p);
    if (kind == GROUP_ATOMIC) ret = parse_atomic(p);
    if (kind == GROUP_LOOKAHEAD || kind == GROUP_NOT_LOOKAHEAD)
        ret = parse_lookahead(p, kind == GROUP_NOT_LOOKAHEAD);
    if (ret < 0) return -1;
    if (!parser_sees(p, ")")) return pattern_refuse(p->b, start, "a ) is missing") - 1;
    p->at++;
    p->ignore_case = outer_case;
    p->depth--;
    return ret;
}

/* ----------------------------------------------------------------------------------- Atoms ---- */

/* In onig, (?i) makes some characters match two letters and vice versa, such as ß and "ss". Returns
 * whether there is such a character for these two letters. */
static int is_folded_pair(uint32_t a, uint32_t b)
{
    a |= 0x20, b |= 0x20;
    return (a == 's' && (b == 's' || b == 't')) || (a == 'f' && (b == 'f' || b == 'i' || b == 'l'));
}

/* Reads a literal or an escape outside brackets. With (?i), only ASCII letters are supported, and
 * in onig only where it would not fold two letters together. */
static int32_t parse_character(pattern_parser *p)
{
    int64_t start = p->at;
    char_set set = {0};
    uint32_t code = 0;
    int kind = ESCAPE_CODE;
    if (p->text[p->at] == '\\') {
        p->at++;
        kind = pattern_parse_escape(p, &set, &code);
    } else {
        code = pattern_parse_literal(p);
    }
    int ok = kind != ESCAPE_ERROR;
    if (ok && kind == ESCAPE_CODE) {
        ok = char_set_add(&set, code, code) || pattern_no_memory(p->b);
        if (ok && p->ignore_case && code >= 0x80)
            ok = pattern_refuse(p->b, start, "only ASCII letters are supported after (?i)");
        if (ok && p->ignore_case && p->dialect == DIALECT_ONIG && is_folded_pair(p->last, code))
            ok = pattern_refuse(p->b, start, "(?i) on these letters is not supported");
        if (ok && p->ignore_case) ok = pattern_fold(p, &set);
    }
    p->last = kind == ESCAPE_CODE ? code : 0;
    if (ok)
        return new_set_node(p, kind == ESCAPE_END ? TREE_ASSERT : TREE_SET, &set,
                            kind == ESCAPE_END);
    char_set_free(&set);
    return -1;
}

/* Reads a bracket expression, or a dot, which matches every character except a newline. */
static int32_t parse_any(pattern_parser *p)
{
    char_set set = {0};
    int is_dot = p->text[p->at++] == '.', ok;
    if (is_dot) {
        ok = (char_set_add(&set, '\n', '\n') &&
              char_set_combine(&set, &(char_set){0}, CHAR_SET_NOT_A)) ||
             pattern_no_memory(p->b);
    } else {
        ok = pattern_parse_bracket(p, &set);
    }
    p->last = 0;
    if (ok) return new_set_node(p, TREE_SET, &set, 0);
    char_set_free(&set);
    return -1;
}

static int32_t parse_atom(pattern_parser *p)
{
    switch (p->text[p->at]) {
    case '(':
        return parse_group(p);
    case '[':
    case '.':
        return parse_any(p);
    case '$':
        return parse_dollar(p);
    case '^':
        return pattern_refuse(p->b, p->at, "^ is not supported") - 1;
    case '*':
    case '+':
    case '?':
    case '{':
        return pattern_refuse(p->b, p->at, "there is nothing to repeat") - 1;
    default:
        return parse_character(p);
    }
}

/* ----------------------------------------------------------------------------- Quantifiers ---- */

/* Reads a number of at most 5 digits; otherwise returns -1. */
static int32_t parse_number(pattern_parser *p)
{
    int32_t n = -1;
    int64_t start = p->at;
    for (; p->at < p->n_bytes && p->at - start < 6; p->at++) {
        uint8_t c = p->text[p->at];
        if (c < '0' || c > '9') break;
        n = (n < 0 ? 0 : n * 10) + (c - '0');
    }
    return p->at - start > 5 ? -1 : n;
}

/* Reads {n}, {n,} or {n,m}. */
static int parse_interval(pattern_parser *p, int32_t *min, int32_t *max)
{
    int64_t start = p->at++;
    *max = *min = parse_number(p);
    if (*min >= 0 && parser_sees(p, ",")) {
        p->at++;
        *max = -1;
        if (!parser_sees(p, "}")) {
            *max = parse_number(p);
            if (*max < *min) *min = -1;
        }
    }
    if (*min < 0 || !parser_sees(p, "}"))
        return pattern_refuse(p->b, start, "the numbers in {} are not supported");
    p->at++;
    return 1;
}

/* strchr also finds the NUL at the end of its list, so NUL is excluded. */
static int is_quantifier(const pattern_parser *p)
{
    return p->at < p->n_bytes && strchr("*+?{", p->text[p->at]) != NULL && p->text[p->at];
}

/* Reads ? or + after a quantifier. After an interval, + is a separate quantifier in onig. */
static int32_t parse_greed(pattern_parser *p, int32_t atom, int32_t min, int32_t max,
                           int is_interval)
{
    int64_t start = p->at;
    int greed = parser_sees(p, "?") ? LAZY : parser_sees(p, "+") ? POSSESSIVE : GREEDY;
    if (greed != GREEDY) p->at++;
    int is_onig_interval = is_interval && p->dialect == DIALECT_ONIG;
    if (is_onig_interval && greed == LAZY && min == max)
        return pattern_refuse(p->b, start, "{n}? is not supported") - 1;
    if (is_onig_interval && greed == POSSESSIVE) {
        atom = new_repeat(p, atom, min, max, GREEDY);
        if (atom < 0) return -1;
        greed = GREEDY, min = 1, max = -1;
    }
    const pattern_node *n = &p->tree->nodes[atom];
    if (greed == POSSESSIVE && n->kind != TREE_SET)
        return pattern_refuse(p->b, start,
                              "a possessive quantifier is supported only after one character") -
               1;
    if (max < 0 && n->is_nullable)
        return pattern_refuse(p->b, start - 1, "the repeated part can be empty") - 1;
    return new_repeat(p, atom, min, max, greed);
}

/* Reads the quantifier after an atom. A repeated part that can be empty, without a limit, could be
 * matched forever at one position; engines resolve this differently, so parse_greed rejects it. */
static int32_t parse_quantifier(pattern_parser *p, int32_t atom)
{
    int64_t start = p->at;
    int32_t min = p->text[start] == '+', max = p->text[start] == '?' ? 1 : -1;
    int is_interval = p->text[start] == '{';
    if (p->tree->nodes[atom].kind == TREE_ASSERT)
        return pattern_refuse(p->b, start, "there is nothing to repeat") - 1;
    if (!is_interval) p->at++;
    else if (!parse_interval(p, &min, &max)) return -1;
    int32_t ret = parse_greed(p, atom, min, max, is_interval);
    if (ret >= 0 && is_quantifier(p))
        return pattern_refuse(p->b, p->at, "a quantifier after a quantifier is not supported") - 1;
    p->last = 0;
    return ret;
}

/* ------------------------------------------------------------------- Sequences and choices ---- */

/* A sequence of one item is replaced by the item, so that a repeated character is recognized as
 * such even in a group (parse_greed). The node of the sequence is then not used. */
static int32_t parse_sequence(pattern_parser *p)
{
    int32_t sequence = new_node(p, TREE_SEQUENCE), last = -1;
    while (sequence >= 0 && p->at < p->n_bytes && p->text[p->at] != '|' && p->text[p->at] != ')') {
        int32_t atom = parse_atom(p);
        if (atom == TREE_NONE) {
            if (!is_quantifier(p)) continue;
            return pattern_refuse(p->b, p->at, "there is nothing to repeat") - 1;
        }
        if (atom >= 0 && is_quantifier(p)) atom = parse_quantifier(p, atom);
        if (atom < 0) return -1;
        add_child(p, sequence, atom, &last);
    }
    if (sequence < 0) return -1;
    int32_t only = p->tree->nodes[sequence].child;
    return only >= 0 && p->tree->nodes[only].next < 0 ? only : sequence;
}

static int32_t parse_choice(pattern_parser *p)
{
    int32_t first = parse_sequence(p);
    if (first < 0 || !parser_sees(p, "|")) return first;
    int32_t choice = new_node(p, TREE_CHOICE), last = -1;
    if (choice < 0) return -1;
    add_child(p, choice, first, &last);
    while (parser_sees(p, "|")) {
        p->at++;
        p->last = 0;
        int32_t next = parse_sequence(p);
        if (next < 0) return -1;
        add_child(p, choice, next, &last);
    }
    return choice;
}

/* The text is checked once for valid UTF-8, so reading a literal needs no checks. A choice ends at
 * a parenthesis that closes no group. */
int pattern_parse(pattern_build *b, int dialect, const uint8_t *regex, int64_t n_bytes,
                  pattern_tree *tree)
{
    pattern_parser p = {
        .b = b, .text = regex, .n_bytes = n_bytes, .tree = tree, .dialect = dialect};
    if (!utf8_is_valid(regex, n_bytes)) return pattern_refuse(b, 0, "the pattern is invalid UTF-8");
    tree->root = parse_choice(&p);
    if (tree->root < 0) return 0;
    if (p.at < n_bytes) return pattern_refuse(b, p.at, "a ) has no matching (");
    return 1;
}
