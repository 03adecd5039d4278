/* unigram_dp.h - a template of Viterbi for one type of sums; unigram.c includes it for float32 and
 * for float64
 *
 *     SUM        float, double
 *     NAME(x)    x with a suffix
 *     SCORES     the member of unigram that holds the scores
 *     RESTARTS   1: sums restart where they pass RESTART_ABOVE (sentencepiece 0.2.3)
 *     STARTS_INSIDE  1: positions may be bytes (UNITOK_BYTES)
 *     ERROR_UNIT, LEVELS   the error of one addition as a fraction of the bound on sums, and the bounds to try
 *
 * The |S| for which the path stays the same (unigram_exact) --------------------------------------
 *
 * P is the best path in exact sums D from 0; its positions are p[0] = 0 < p[1] < .... F are the
 * reference's rounded sums from S. Suppose that every sum the reference computes has a magnitude of
 * at most 2^e. Then rounding changes each by at most h = half the spacing of floats just below 2^e:
 * 2^(e-25) for float32, 2^(e-54) for float64. Binades and the sign do not matter, because floats
 * nearer to 0 are closer together.
 *
 *   Claim: at every p[i], the reference takes P's own last piece if, for each other candidate there,
 *
 *     (1)    X(start) + score + h  <  D(p[i]) - i h
 *
 *     where  X(p[j]) = D(p[j]) - j h                                  on P
 *            X(s)    = the largest X(start) + score + h of all candidates at s    off P
 *
 * Proof by induction over positions. Let f[i] be the sum of P's own pieces as the reference adds
 * them; F(p[j]) = f[j] for all p[j] so far. Off P, X(s) = D(p[j]) - j h + Q, where Q is the sum of
 * a detour from some p[j], with an h for each of its pieces. So F(s) is at most the largest f[j] +
 * Q there. On P, f[i] >= f[j] + D(p[i]) - D(p[j]) - (i - j) h for all j < i. A candidate from s is
 * at most f[j] + Q + score + h for some j, which (1) puts below f[i]. So P's own candidate is
 * strictly the largest, and neither ties nor the order of candidates matter. Only the pieces of a
 * detour between two positions on P count, usually two or three.
 *
 * All sums are at most |S| + B in magnitude, where B = the largest |D| + the largest |score| + the
 * rounding errors (n h, far below the RESERVE of 2^e that is set aside). This is because a
 * candidate is F(start) + score, and F(start) is S + D(start) except for rounding, and rounded
 * addition is monotone. The sums here are computed in double: each is off by at most 2^(e-53),
 * which the reserve in h covers (float64: h is taken eight times).
 *
 * Usually (1) follows without a check of the arcs. With at most n pieces, X(start) + score + h is
 * at most the candidate's exact sum + n h, so (1) holds wherever P's own piece leads the second
 * best candidate by more than 2 n h.
 *
 * A restart happens at the first position, on P or off it, whose sum exceeds 100,000 in magnitude;
 * |S| + B <= 100,000 rules this out in the complete segment. If a restart is possible, the sum is
 * beyond the limit, and the reference's own arithmetic is used. */

typedef struct NAME(cell) {
    /* -INFINITY: no path ends here (no sum gets so low, as scores are at most UNIGRAM_SCORE_MAX) */
    SUM sum;
    uint32_t value; /* the value of the last piece; or VALUE_UNKNOWN + the size of the character */
} NAME(cell);

/* Takes a candidate if its sum is larger; ties keep the first. It has no branch, since the outcome
 * is as unpredictable as the text. */
INLINE void NAME(offer)(NAME(cell) *cell, SUM sum, uint32_t value)
{
    SUM old = cell->sum;
    cell->value ^= (cell->value ^ value) & (0 - (uint32_t)(sum > old));
    cell->sum = sum > old ? sum : old;
}

#if RESTARTS
/* Restarts the sum at cells[0]. The open paths end at cells[1..n_reach]. */
static NOINLINE void NAME(restart)(NAME(cell) *cells, int64_t n_reach)
{
    SUM offset = cells[0].sum;
    for (int64_t i = 0; i <= n_reach; i++) cells[i].sum -= offset;
}
#endif

/* Offers all pieces that are prefixes of text[0..n_bytes-1] to the cells in which they end;
 * cells[0] is their start. Returns the size of the first character. *io_reach, counted from
 * cells[0], increases to the end of the walk. */
INLINE int64_t NAME(start)(const unigram *m, const uint8_t *text, int64_t n_bytes,
                           NAME(cell) *cells, int64_t *io_reach)
{
    const uint64_t *units = m->trie.units;
    const SUM *scores = m->SCORES;
    int64_t n_char = first_char_bytes(m, text, n_bytes), i = 1;
#if RESTARTS
    if (UNLIKELY(cells[0].sum > RESTART_ABOVE || cells[0].sum < -RESTART_ABOVE))
        NAME(restart)(cells, *io_reach);
#endif
    SUM sum = cells[0].sum, unknown;
    uint32_t value = m->trie.singles[text[0]];
    NAME(offer)(&cells[1], scores[value] + sum, value);
    if (n_bytes > 1) {
        uint64_t head = m->trie.heads[text[0] | text[1] << 8];
        uint32_t base = head_base(head);
        value = head_pair_value(head);
        NAME(offer)(&cells[2], scores[value] + sum, value);
        for (i = 2; i < n_bytes; i++) {
            uint64_t unit = units[base ^ text[i]];
            if (!unit_has_label(unit, text[i])) break;
            base = unit_base(unit);
            value = unit_value(unit);
            NAME(offer)(&cells[i + 1], scores[value] + sum, value);
        }
    }
    /* An unknown character is a candidate only if no piece equals it. Such a piece usually wins
     * anyway, so the sums are compared first. */
    unknown = (SUM)m->unknown_score + sum;
    if (UNLIKELY(unknown > cells[n_char].sum) && (m->unknown_is_low || !is_piece(m, text, n_char)))
        NAME(offer)(&cells[n_char], unknown, VALUE_UNKNOWN + (uint32_t)n_char);
    if (i < n_char) i = n_char;
    if (*io_reach < i) *io_reach = i;
    return n_char;
}

/* The number of tokens on the path from cells[0] to cells[end]. A path can only be followed
 * backwards, so it is counted before its tokens are written from the last to the first. */
INLINE int64_t NAME(count)(const unigram *m, const NAME(cell) *cells, int64_t end)
{
    int64_t n = 0;
    for (; end > 0; end -= value_bytes(m, cells[end].value, 0)) n++;
    return n;
}

/* Writes the n_tokens tokens of that path. */
INLINE void NAME(trace)(const unigram *m, const NAME(cell) *cells, int64_t end, token *tokens,
                        int64_t n_tokens)
{
    for (; end > 0; end -= value_bytes(m, cells[end].value, 0))
        tokens[--n_tokens] = (token){value_id(m, cells[end].value), (uint32_t)end};
    ASSERT(n_tokens == 0);
}

/* Viterbi over a segment whose cells fit on the stack. */
static int64_t NAME(segment)(const unigram *m, const uint8_t *text, int64_t n_bytes, double *io_sum,
                             token *tokens)
{
    NAME(cell) cells[UNIGRAM_SEGMENT_BYTES + 1];
    int64_t reach = 0;
    for (int64_t i = 0; i <= n_bytes; i++) cells[i] = (NAME(cell)){-INFINITY, 0};
    cells[0].sum = (SUM)*io_sum;
    for (int64_t at = 0; at < n_bytes;) {
        int64_t from_here = reach - at;
        int64_t n_char = NAME(start)(m, text + at, n_bytes - at, cells + at, &from_here);
        reach = at + from_here;
        at += n_char;
    }
    *io_sum = (double)cells[n_bytes].sum;
    int64_t n = NAME(count)(m, cells, n_bytes);
    NAME(trace)(m, cells, n_bytes, tokens, n);
    return n;
}

/* -------------------------------------------------------------------------------- In parts ---- */

/* Grows the cells to `n_cells` and marks the new ones unused. Returns 0 if allocation fails. */
static int NAME(reserve)(unigram_path *path, int64_t n_cells)
{
    if (n_cells > path->capacity) {
        int64_t capacity = n_cells + n_cells / 4;
        void *cells = mem_realloc(path->cells, (size_t)capacity * sizeof(NAME(cell)));
        if (!cells) return 0;
        path->cells = cells;
        path->capacity = capacity;
    }
    NAME(cell) *cells = path->cells;
    if (path->n_filled == 0) cells[path->n_filled++] = (NAME(cell)){(SUM)path->sum, 0};
    while (path->n_filled < n_cells) cells[path->n_filled++] = (NAME(cell)){-INFINITY, 0};
    return 1;
}

/* Returns the last cell on every path that can still win. Each of these paths passes one of the
 * cells set from `at` on. All of these cells are marked. Then the furthest mark moves back by the
 * last piece of its cell, until only one mark is left:
 *
 *     cells      0 . . 3 . 5 6 7 | 8 9 10     at = 8: open paths end in 8, 9 and 10
 *     marks                        x x x
 *     marks                  x     x x      10 moves to 6
 *     marks                x x              9 moves to 5, 8 to 6
 *     marks                x                6 moves to 5: cells[5] is on all paths
 *
 * Marks are the highest bits of the values, and all are clear afterwards. */
INLINE int64_t NAME(meeting)(const unigram *m, NAME(cell) *cells, int64_t at, int64_t reach,
                             int follows)
{
    int64_t n_marks = 0, i;
    for (i = at; i <= reach; i++) {
        if (cells[i].sum == -INFINITY) continue;
        cells[i].value |= VALUE_MARK;
        n_marks++;
    }
    for (i = reach; n_marks > 1; i--) {
        if (!(cells[i].value & VALUE_MARK)) continue;
        cells[i].value ^= VALUE_MARK;
        NAME(cell) *before = &cells[i - value_bytes(m, cells[i].value, follows)];
        if (before->value & VALUE_MARK) n_marks--;
        before->value |= VALUE_MARK;
    }
    while (!(cells[i].value & VALUE_MARK)) i--;
    cells[i].value ^= VALUE_MARK;
    return i;
}

/* Shifts the cells so that cells[end] becomes cells[0]. */
INLINE void NAME(drop_cells)(unigram_path *path, int64_t end)
{
    NAME(cell) *cells = path->cells;
    memmove(cells, cells + end, (size_t)(path->n_filled - end) * sizeof *cells);
    path->n_filled -= end;
    path->at -= end;
    path->reach -= end;
}

/* Emits the tokens up to cells[end], which becomes cells[0]. Returns 0 if allocation fails. */
INLINE int NAME(emit_tokens)(const unigram *m, unigram_path *path, int64_t end)
{
    NAME(cell) *cells = path->cells;
    if (end == 0) return 1;
    int64_t n = NAME(count)(m, cells, end);
    if (!reserve_tokens(path, n)) return 0;
    NAME(trace)(m, cells, end, path->tokens, n);
    path->n_tokens = n;
    NAME(drop_cells)(path, end);
    return 1;
}

/* One call: walks from up to PART_BYTES positions, then emits the tokens that are settled.
 *
 *     cells[0]         ... at                reach
 *     |--- settled ---|--- open paths ---|--- ends of pieces that have begun ---|
 *
 * Without `is_last`, no walk starts where a piece could extend beyond the text. Finding the cell
 * where the open paths meet takes O(open cells), so the search waits until the number of open cells
 * has doubled: O(1) per byte, at the cost of at most twice the memory. */
static int64_t NAME(advance)(const unigram *m, unigram_path *path, const uint8_t *text,
                             int64_t n_bytes, int is_last)
{
    int64_t max_reach = m->max_piece_bytes > CHAR_BYTES_MAX ? m->max_piece_bytes : CHAR_BYTES_MAX;
    int64_t n_starts = is_last ? n_bytes : n_bytes - max_reach + 1, n = 0;
    path->n_tokens = 0;
    if (path->settle_at < PART_BYTES) path->settle_at = PART_BYTES;
    if (n_starts <= 0) return 0;
    if (n_starts > path->settle_at - path->at) n_starts = path->settle_at - path->at;
    int64_t n_ahead = n_starts + CHAR_BYTES_MAX + max_reach;
    if (!NAME(reserve)(path, path->at + (n_ahead < n_bytes ? n_ahead : n_bytes) + 1)) return -1;
    NAME(cell) *cells = path->cells;
    int64_t at = path->at, reach = path->reach;
    while (n < n_starts) {
        if (STARTS_INSIDE && is_lone(m, text, n, n_bytes)) {
            uint32_t value = m->trie.singles[text[n]];
            NAME(offer)(&cells[at + n + 1], m->SCORES[value] + cells[at + n].sum, value);
            n++;
            if (reach < at + n) reach = at + n;
            continue;
        }
        trie_fetch_ahead(&m->trie, text + n, n_bytes - n);
        int64_t from_here = reach - (at + n);
        int64_t n_char = NAME(start)(m, text + n, n_bytes - n, cells + at + n, &from_here);
        reach = at + n + from_here;
        n += n_char;
    }
    path->at = at + n;
    path->reach = reach;
    if (is_last && n == n_bytes) {
        path->sum = (double)cells[path->at].sum;
        if (!NAME(emit_tokens)(m, path, path->at)) return -1;
        unigram_begin(path, path->sum);
    } else if (path->at >= path->settle_at) {
        if (!NAME(emit_tokens)(m, path, NAME(meeting)(m, cells, path->at, path->reach, 0)))
            return -1;
        path->settle_at = path->at * 2;
    }
    return n;
}

/* ----------------------------------------------------------------------------------- Exact ---- */

typedef struct NAME(arc) {
    double score;
    uint32_t value;
    uint8_t start, end;
} NAME(arc);

/* The arcs of a segment in ascending order of start, and the exact sums. */
typedef struct NAME(lattice) {
    double sums[UNIGRAM_SEGMENT_BYTES + 1];
    /* the second best sums; -INFINITY: none */
    double seconds[UNIGRAM_SEGMENT_BYTES + 1];
    /* ORed with the start of the piece << VALUE_START */
    uint32_t values[UNIGRAM_SEGMENT_BYTES + 1];
    NAME(arc) arcs[UNIGRAM_ARCS_MAX];
    int64_t n_arcs;
    double size; /* B: the largest |sum| plus the largest |score| */
} NAME(lattice);

/* Offers an arc to its end, keeping the best and the second best sum there. Comparing bits
 * avoids unpredictable branches. A score of -INFINITY changes nothing. */
INLINE void NAME(arc_add)(NAME(lattice) *l, int64_t start, int64_t end, double score,
                          uint32_t value, int keeps)
{
    double sum = l->sums[start] + score, best = l->sums[end], second = l->seconds[end];
    double more = best < sum ? sum : best, less = sum < best ? sum : best;
    uint64_t more_bits, best_bits;
    int is_arc = value != 0;
    value |= (uint32_t)start << VALUE_START;
    memcpy(&more_bits, &more, 8);
    memcpy(&best_bits, &best, 8);
    if (keeps && is_arc)
        l->arcs[l->n_arcs++] = (NAME(arc)){score, value, (uint8_t)start, (uint8_t)end};
    l->values[end] ^= (l->values[end] ^ value) & (0 - (uint32_t)(more_bits != best_bits));
    l->sums[end] = more;
    l->seconds[end] = second < less ? less : second;
}

/* Adds the arcs from a position and returns the size of the first character, as start() does for
 * cells. A branch on whether a prefix is a piece would be unpredictable, so prefixes that are not
 * pieces are added too, except those that end inside a character, where the branch is
 * predictable. */
INLINE int64_t NAME(arcs_from)(const unigram *m, const uint8_t *text, int64_t at, int64_t n_bytes,
                               NAME(lattice) *l, int keeps)
{
    const SUM *scores = m->SCORES;
    int64_t n_left = n_bytes - at, n_char = first_char_bytes(m, text + at, n_left);
    uint32_t value = m->trie.singles[text[at]], single = n_char == 1 ? value : 0;
    if (value) NAME(arc_add)(l, at, at + 1, (double)scores[value], value, keeps);
    if (n_left > 1) {
        uint64_t head = m->trie.heads[text[at] | text[at + 1] << 8];
        uint32_t base = head_base(head);
        value = head_pair_value(head);
        if (n_char == 2) single = value;
        if (value || is_char_end(text, at + 2, n_bytes))
            NAME(arc_add)(l, at, at + 2, (double)scores[value], value, keeps);
        for (int64_t i = at + 2; i < n_bytes; i++) {
            uint64_t unit = m->trie.units[base ^ text[i]];
            if (!unit_has_label(unit, text[i])) break;
            base = unit_base(unit);
            value = unit_value(unit);
            if (!value && !is_char_end(text, i + 1, n_bytes)) continue;
            NAME(arc_add)(l, at, i + 1, (double)scores[value], value, keeps);
            if (i + 1 - at == n_char) single = value;
        }
    }
    if (UNLIKELY(!single))
        NAME(arc_add)(l, at, at + n_char, m->unknown_score, VALUE_UNKNOWN + (uint32_t)n_char,
                      keeps);
    return n_char;
}

/* Prefetches the first units that the walks from all starts read, so that their cache misses
 * overlap: a segment that missed the memo is rare, and so are its pieces. With these
 * prefetches, BytePiece encodes Chinese 20 % faster. */
INLINE void NAME(prefetch_starts)(const unigram *m, const uint8_t *text, int64_t n_bytes)
{
    for (int64_t i = 0; i + 2 < n_bytes; i++) trie_fetch_unit(&m->trie, text + i);
}

/* Without `keeps`, no arcs are stored, and B is computed with the largest score of the model.
 * Usually the lead is large enough without arcs, and the slightly lower limit is sufficient. */
INLINE void NAME(lattice_build)(const unigram *m, const uint8_t *text, int64_t n_bytes,
                                NAME(lattice) *l, int keeps)
{
    double largest_sum = 0, largest_score = keeps ? 0 : m->largest_score;
    l->n_arcs = 0;
    l->sums[0] = 0;
    /* a fixed count needs no branch */
    for (int64_t i = 1; i <= UNIGRAM_SEGMENT_BYTES; i++) {
        l->sums[i] = l->seconds[i] = -INFINITY;
        l->values[i] = 0;
    }
    for (int64_t at = 0; at < n_bytes;) {
        if (STARTS_INSIDE && is_lone(m, text, at, n_bytes)) {
            uint32_t value = m->trie.singles[text[at]];
            NAME(arc_add)(l, at, at + 1, (double)m->SCORES[value], value, keeps);
            at++;
        } else {
            at += NAME(arcs_from)(m, text, at, n_bytes, l, keeps);
        }
        if (fabs(l->sums[at]) > largest_sum) largest_sum = fabs(l->sums[at]);
    }
    for (int64_t k = 0; k < l->n_arcs; k++)
        if (fabs(l->arcs[k].score) > largest_score) largest_score = fabs(l->arcs[k].score);
    l->size = largest_sum + largest_score;
}

static NOINLINE void NAME(lattice_keep)(const unigram *m, const uint8_t *text, int64_t n_bytes,
                                        NAME(lattice) *l)
{
    NAME(lattice_build)(m, text, n_bytes, l, 1);
}

/* Whether (1) holds with this h. places[i] is the number of pieces on P before position i, or -1
 * off P. Comparing values identifies P's own piece, because pieces of the same length that end at
 * the same position are the same piece. The loop has no branches because they would be
 * unpredictable. */
static int NAME(is_clear)(const NAME(lattice) *l, const int8_t *places, int64_t n_bytes, double h)
{
    double x[UNIGRAM_SEGMENT_BYTES + 1];
    int is_beaten = 0;
    for (int64_t i = 0; i <= n_bytes; i++)
        x[i] = places[i] < 0 ? -INFINITY : l->sums[i] - places[i] * h;
    for (int64_t k = 0; k < l->n_arcs; k++) {
        const NAME(arc) *arc = &l->arcs[k];
        double sum = x[arc->start] + arc->score + h, old = x[arc->end];
        int is_on_path = places[arc->end] >= 0, is_larger = sum >= old;
        is_beaten |= is_on_path & is_larger & (l->values[arc->end] != arc->value);
        x[arc->end] = (is_larger & !is_on_path) ? sum : old;
    }
    return !is_beaten;
}

/* The limit of a path that is correct while all sums are at most `level`: `level` minus B. */
static uint32_t NAME(limit_at)(double size, double level)
{
    double bound = level * (1 - RESERVE);
#if RESTARTS
    if (bound > RESTART_ABOVE * (1 - RESERVE)) bound = RESTART_ABOVE * (1 - RESERVE);
#endif
    bound -= size;
    if (bound >= UNIGRAM_SUM_MAX) return UNIGRAM_LIMIT_ALWAYS;
    if (bound >= (UNIGRAM_LIMIT_ALWAYS - 1) * UNIGRAM_LIMIT_STEP) return UNIGRAM_LIMIT_ALWAYS - 1;
    return bound > 0 ? (uint32_t)bound / UNIGRAM_LIMIT_STEP : 0;
}

/* The limit of P, tokens[0..n-1], in a lattice with arcs: the limit for the largest level at which
 * (1) holds. */
static NOINLINE uint32_t NAME(limit_of)(const NAME(lattice) *l, const token *tokens, int64_t n,
                                        int64_t n_bytes)
{
    static const double levels[] = LEVELS;
    int8_t places[UNIGRAM_SEGMENT_BYTES + 1];
    memset(places, -1, sizeof places);
    places[0] = 0;
    for (int64_t k = 0; k < n; k++) places[tokens[k].end] = (int8_t)(k + 1);
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
        if (NAME(is_clear)(l, places, n_bytes, levels[k] * ERROR_UNIT))
            return NAME(limit_at)(l->size, levels[k]);
    return 0;
}

/* Makes three attempts, from cheap to thorough:
 *
 * 1. Without storing arcs. If the best path leads the second best by more than the possible errors
 *    at every position on it, and scores are in the usual range, the limit follows from the
 *    largest level.
 * 2. With arcs. The largest score of this segment replaces that of the model.
 * 3. If the lead is too small, condition (1) is checked arc by arc, for smaller and smaller
 *    levels. */
static int64_t NAME(exact)(const unigram *m, const uint8_t *text, int64_t n_bytes, token *tokens,
                           uint32_t *ret_limit)
{
    static const double levels[] = LEVELS;
    NAME(lattice) l;
    double gap = INFINITY;
    int64_t n = 0;
    NAME(prefetch_starts)(m, text, n_bytes);
    NAME(lattice_build)(m, text, n_bytes, &l, 0);
    for (int64_t end = n_bytes; end > 0; end = l.values[end] >> VALUE_START) {
        tokens[n_bytes - ++n] = (token){value_id(m, l.values[end] & VALUE_MASK), (uint32_t)end};
        double lead = l.sums[end] - l.seconds[end];
        gap = lead < gap ? lead : gap;
    }
    memmove(tokens, tokens + n_bytes - n, (size_t)n * sizeof *tokens);
    if (LIKELY(gap > 2 * (double)n_bytes * levels[0] * ERROR_UNIT &&
               m->largest_score <= LARGEST_SCORE_USUAL)) {
        *ret_limit = NAME(limit_at)(l.size, levels[0]);
        return n;
    }
    NAME(lattice_keep)(m, text, n_bytes, &l);
    if (gap > 2 * (double)n_bytes * levels[0] * ERROR_UNIT)
        *ret_limit = NAME(limit_at)(l.size, levels[0]);
    else *ret_limit = NAME(limit_of)(&l, tokens, n, n_bytes);
    return n;
}
