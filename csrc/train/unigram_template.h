/* unigram_template.h - finds best paths and the loss of a piece, for scores of one type; unigram.c
 * includes this file twice
 *
 *     REAL     float or double
 *     NAME(x)  x with a suffix for the type
 *
 * With float everything is computed in the same order as in sentencepiece, so that ties and
 * rounding are the same.
 *
 * Best paths are found by Viterbi over the lattice, from left to right. The cell of a position
 * stores the best score of a path that ends there, and its last piece. So a path is read from the
 * end to the start:
 *
 *     position    0     1     2     3        unit "the"
 *     cell        0     t     th    the      the last piece of the best path to here
 *     from        -     0     0     0 */

/* The best path to a position of the unit. */
typedef struct NAME(cell) {
    REAL best; /* the score of the best path to here */
    uint32_t from, piece;
} NAME(cell);

/* The best way to reach position `at` without the edge of piece `without`; `from` is `at` itself if
 * there is no other way. Of paths with the same score, the one with the longest last piece, which
 * comes first, is kept. */
INLINE NAME(cell) NAME(best_edge)(const unitok_lattice *lattice, int64_t at, uint32_t without)
{
    const NAME(cell) *cells = lattice->cells;
    const edge *edges = lattice->edges;
    const REAL *scores = lattice->scores;
    NAME(cell) best = {0, (uint32_t)at, EDGE_UNKNOWN};
    for (uint32_t k = lattice->edge_begin[at]; k < lattice->edge_begin[at + 1]; k++) {
        const edge *e = &edges[k];
        REAL score = cells[e->start].best + scores[k];
        if (best.from != at && !(score > best.best)) continue;
        if (e->piece == without && without != EDGE_UNKNOWN) continue;
        best = (NAME(cell)){score, e->start, e->piece};
    }
    return best;
}

/* Fills the lattice of a unit and its cells; returns 0 if allocation fails. */
static int NAME(best_paths)(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                            const REAL *scores, REAL unknown_score, const uint8_t *unit,
                            int64_t n_bytes)
{
    int64_t shared = NAME(lattice_fill)(lattice, lexicon, scores, -INFINITY, unknown_score, unit,
                                        n_bytes);
    if (shared < 0) return 0;
    NAME(cell) *cells = lattice->cells;
    cells[0] = (NAME(cell)){0, 0, EDGE_UNKNOWN};
    for (int64_t at = shared + 1; at <= n_bytes; at++)
        cells[at] = NAME(best_edge)(lattice, at, EDGE_UNKNOWN);
    return 1;
}

/* Adds up the uses of each piece in the best paths of the units, and the scores of these paths.
 * Uses are summed in the order of the units, in the type of the scores. */
int32_t NAME(unitok_unigram_paths)(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                   unitok_edges *record, const REAL *scores, REAL unknown_score,
                                   int64_t unknown_piece, const unitok_units *units, REAL *used,
                                   double *ret_score, int64_t *ret_tokens)
{
    double total = 0;
    int64_t n_tokens = 0;
    lattice_begin(lattice, record, lexicon);
    for (int64_t i = 0; i < units->n; i++) {
        int64_t n_bytes = units->offsets[i + 1] - units->offsets[i];
        if (n_bytes == 0) continue;
        if (!NAME(best_paths)(lexicon, lattice, scores, unknown_score,
                              units->data + units->offsets[i], n_bytes))
            return UNITOK_ERROR_MEMORY;
        const NAME(cell) *cells = lattice->cells;
        total += (double)cells[n_bytes].best * (double)units->counts[i];
        for (int64_t at = n_bytes; at > 0; at = cells[at].from) {
            uint32_t piece = cells[at].piece;
            n_tokens += (int64_t)units->counts[i];
            if (piece != EDGE_UNKNOWN) used[piece] += (REAL)units->counts[i];
            else if (unknown_piece >= 0) used[unknown_piece] += (REAL)units->counts[i];
        }
    }
    lattice_end(lattice);
    *ret_score += total;
    *ret_tokens += n_tokens;
    return UNITOK_OK;
}

/* Writes to alternatives[0..result) the best path that spells a piece without using that piece.
 * Returns 0 if there is none, -1 if it is better than the piece itself, -2 if allocation fails. No
 * path to a position inside the piece can use the piece itself, so it is enough to leave it out in
 * the last step. The path is read from its end, and then reversed. */
static int64_t NAME(alternative)(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const REAL *scores, REAL unknown_score, const uint8_t *piece,
                                 int64_t n_bytes, uint32_t number, uint32_t *alternatives)
{
    if (!NAME(best_paths)(lexicon, lattice, scores, unknown_score, piece, n_bytes)) return -2;
    const NAME(cell) *cells = lattice->cells;
    NAME(cell) last = NAME(best_edge)(lattice, n_bytes, number);
    if (last.from == n_bytes) return 0;
    if (last.best > scores[number]) return -1;
    int64_t n = 0;
    for (;; last = cells[last.from]) {
        alternatives[n++] = last.piece;
        if (last.from == 0) break;
    }
    for (int64_t i = 0; i < n / 2; i++) { /* reverse the list */
        uint32_t t = alternatives[i];
        alternatives[i] = alternatives[n - 1 - i];
        alternatives[n - 1 - i] = t;
    }
    return n;
}

/* The loss of a piece is how much the likelihood of the text falls if each use of the piece is
 * replaced by its best alternative: its share of all uses, times the difference between the log
 * probabilities of the piece and of its alternative, whose pieces inherit the count of the piece.
 * Let u be the number of uses of the piece, u_k the numbers for the n pieces of its alternative,
 * and U the sum over all pieces:
 *
 *     loss = u / U * (log(u / U) - sum over k of log((u_k + u) / (U + u * (n - 1))))
 *
 * The formula does not apply in three cases. A piece that is never used, or whose alternative is
 * better than the piece itself, has the loss -INFINITY and is dropped first. A piece without an
 * alternative has the loss INFINITY and is always kept. */
int32_t NAME(unitok_unigram_losses)(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                    const REAL *scores, REAL unknown_score, int64_t unknown_piece,
                                    const uint8_t *data, const int64_t *offsets, int64_t begin,
                                    int64_t end, const REAL *used, REAL sum, REAL *losses)
{
    uint32_t *alternatives = mem_alloc(((size_t)lexicon->max_piece_bytes + 1) *
                                       sizeof *alternatives);
    if (!alternatives) return UNITOK_ERROR_MEMORY;
    REAL log_sum = (REAL)log((double)sum);
    lattice_begin(lattice, NULL, lexicon);
    int32_t status = UNITOK_OK;
    for (int64_t i = begin; i < end; i++) {
        losses[i] = -INFINITY;
        if (used[i] == 0 || scores[i] == -INFINITY) continue;
        int64_t n = NAME(alternative)(lexicon, lattice, scores, unknown_score, data + offsets[i],
                                      offsets[i + 1] - offsets[i], (uint32_t)i, alternatives);
        if (n == -2) {
            status = UNITOK_ERROR_MEMORY;
            break;
        }
        if (n == -1) continue;
        losses[i] = INFINITY;
        if (n == 0) continue;
        /* Steps and precision are the same as in sentencepiece: logarithms in float64, and each
         * result rounded to the type of the scores. */
        REAL log_piece = (REAL)(log((double)used[i]) - (double)log_sum);
        REAL log_sum_after = (REAL)log((double)(REAL)(sum + used[i] * (REAL)(n - 1)));
        REAL log_path = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t piece = alternatives[k] == EDGE_UNKNOWN ? unknown_piece
                                                            : (int64_t)alternatives[k];
            REAL now = piece >= 0 ? used[piece] : 0;
            log_path = (REAL)(log_path +
                              (log((double)(REAL)(now + used[i])) - (double)log_sum_after));
        }
        REAL share = used[i] / sum;
        losses[i] = share * (log_piece - log_path);
    }
    mem_free(alternatives);
    return status;
}

/* The number of pieces in the best alternative of each piece, which determines how many more tokens
 * the text would have without the piece; 0 and -1 as in `alternative`. */
int32_t NAME(unitok_unigram_parts)(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                   const REAL *scores, REAL unknown_score, const uint8_t *data,
                                   const int64_t *offsets, int64_t begin, int64_t end,
                                   int32_t *parts)
{
    uint32_t *alternatives = mem_alloc(((size_t)lexicon->max_piece_bytes + 1) *
                                       sizeof *alternatives);
    if (!alternatives) return UNITOK_ERROR_MEMORY;
    int64_t n = 0;
    lattice_begin(lattice, NULL, lexicon);
    for (int64_t i = begin; i < end && n > -2; i++) {
        parts[i] = 0;
        if (scores[i] == -INFINITY) continue;
        n = NAME(alternative)(lexicon, lattice, scores, unknown_score, data + offsets[i],
                              offsets[i + 1] - offsets[i], (uint32_t)i, alternatives);
        parts[i] = (int32_t)n;
    }
    mem_free(alternatives);
    return n == -2 ? UNITOK_ERROR_MEMORY : UNITOK_OK;
}
