/* pattern.c - finds the pieces of a text
 *
 * An automaton is run from the beginning of each piece until its state is dead; the last match that
 * it reported is the piece. A match is reported by the cell for the character after it, because
 * assertions examine that character:
 *
 *     text      d o n ' t            level \p{L}+|'t
 *     attempt 0 → → → match at '     the cell for ' reports the match that ends before it
 *     attempt 3       → → match      at the end of the text, the last column reports it
 *
 * The checks of pattern_check.c and pattern_linear.c have proved that this takes linear time. */

#include "text/pattern.h"

#include "ground/utf8.h"

/* Returns the class of the character at text[0], and its length. */
INLINE uint8_t read_class(const pattern *p, const uint8_t *text, int64_t n_bytes, int *ret_length)
{
    int length = utf8_length(text, n_bytes);
    *ret_length = length ? length : 1;
    return pattern_class_of(p, length ? utf8_code_point(text, length) : 0xFFFD);
}

/* Returns the end of the match that begins at text[begin], or -1. Stopping at a dead state loses no
 * match, because no continuation of the text leads to one. */
static int64_t find_match(const pattern *p, const pattern_automaton *a, const uint8_t *text,
                          int64_t begin, int64_t end)
{
    int64_t at = begin, match = -1;
    int32_t state = STATE_START;
    const uint16_t *row = a->next + STATE_START * a->n_columns;
    while (at < end) {
        int length;
        uint8_t class = read_class(p, text + at, end - at, &length);
        uint16_t cell = row[class];
        if (cell & CELL_MATCH) match = at;
        at += length;
        if ((cell & CELL_STATE) == state) continue;
        state = cell & CELL_STATE;
        if (state == STATE_DEAD) return match;
        row = a->next + state * a->n_columns;
    }
    return row[a->n_columns - 1] & CELL_MATCH ? end : match;
}

/* Like find_match, but stops where an earlier attempt was in the loop state and failed. The matches
 * that an attempt reports after a position depend only on its state there, so this attempt would
 * not find a later match either. One interval is enough: an attempt that leaves the loop state
 * returns to it only after a match (pattern_linear.c), which begins a new interval. */
static int64_t find_match_once(const pattern *p, const pattern_automaton *a, const uint8_t *text,
                               int64_t begin, int64_t end, struct pattern_run *failed)
{
    int64_t at = begin, match = -1;
    int32_t state = STATE_START;
    struct pattern_run run = {0, 0}; /* the text read in the loop state since the last match */
    while (state != STATE_DEAD && at < end) {
        int length;
        uint8_t class = read_class(p, text + at, end - at, &length);
        uint16_t cell = a->next[state * a->n_columns + class];
        if (state == a->loop) {
            if (at >= failed->begin && at < failed->end) return match;
            if (run.end == 0) run.begin = at;
            run.end = at + 1;
        }
        if (cell & CELL_MATCH) match = at, run.end = 0;
        state = cell & CELL_STATE;
        at += length;
    }
    if (state != STATE_DEAD && a->next[(state + 1) * a->n_columns - 1] & CELL_MATCH) return end;
    if (run.end > 0) *failed = run;
    return match;
}

static int64_t find_any_match(const pattern *p, const pattern_automaton *a, const uint8_t *text,
                              int64_t begin, int64_t end, struct pattern_run *failed)
{
    return a->loop == STATE_DEAD ? find_match(p, a, text, begin, end)
                                 : find_match_once(p, a, text, begin, end, failed);
}

/* Returns the end of a level's piece that begins at text[begin]: a match, or the gap before the
 * next match. For most characters in a gap, one lookup shows that no match begins there. The
 * attempt at `begin` comes first; if it fails, it is not repeated. */
static int64_t find_end(const pattern *p, const pattern_automaton *a, const uint8_t *text,
                        int64_t begin, int64_t end, struct pattern_run *failed)
{
    int64_t at = begin, match = find_any_match(p, a, text, begin, end, failed);
    if (match >= 0) return match;
    while (at < end) {
        int length;
        uint8_t class = read_class(p, text + at, end - at, &length);
        int may_match = at > begin && a->next[STATE_START * a->n_columns + class] != STATE_DEAD;
        if (may_match && find_any_match(p, a, text, at, end, failed) >= 0) return at;
        at += length;
    }
    return end;
}

/* Each level keeps the end of its current piece, so that a piece of level k is found once, although
 * the levels after it divide it into many pieces. The text of level k + 1 ends there. */
int64_t pattern_next(const pattern *p, pattern_state *s, const uint8_t *text, int64_t begin,
                     int64_t n_bytes)
{
    int64_t end = n_bytes;
    for (int32_t k = 0; k < p->n_levels; k++) {
        if (s->ends[k] <= begin)
            s->ends[k] = find_end(p, &p->levels[k], text, begin, end, &s->failed[k]);
        end = s->ends[k];
    }
    return end;
}

int32_t unitok_pattern_new(const uint8_t *parts, int64_t n_bytes, unitok_pattern **ret,
                           unitok_error *error)
{
    return pattern_new(parts, n_bytes, ret, error);
}

void unitok_pattern_free(unitok_pattern *p) { pattern_free(p); }

int64_t unitok_pattern_memory_bytes(const unitok_pattern *p) { return pattern_memory_bytes(p); }

int64_t unitok_pattern_split(const unitok_pattern *p, const uint8_t *text, int64_t n_bytes,
                             int64_t *offsets, int64_t capacity)
{
    pattern_state state = {.ends = {0}};
    int64_t n = 0;
    if (capacity > 0) offsets[0] = 0;
    for (int64_t at = 0; at < n_bytes;) {
        at = pattern_next(p, &state, text, at, n_bytes);
        if (++n < capacity) offsets[n] = at;
    }
    return n;
}
