/* recount.c - segments texts again with a Unigram model over bytes and counts the uses of each
 * piece, by which BytePiece prunes its pieces
 *
 * Each unit is segmented only once, so recording its edges would not pay off. Walks of the trie
 * from each byte need no lattice (lattice.h). */

#include <math.h>

#include "train/lattice.h"

/* The best path to a position: its score, the beginning of its last piece, and the number of that
 * piece. */
typedef struct cell {
    double best;
    uint32_t from, piece;
} cell;

/* The best path to each position. Of paths with the same score, the one with the longest last piece
 * is kept: it is found first, and an equal score does not replace it. Pieces that are not alive are
 * skipped, and a walk ends where it leaves the trie. */
static void best_path(const unitok_lexicon *lexicon, const uint8_t *alive, const double *scores,
                      const uint8_t *text, int64_t n_bytes, cell *cells)
{
    const uint64_t *units = lexicon->units;
    for (int64_t i = 1; i <= n_bytes; i++) cells[i].best = -INFINITY;
    cells[0].best = 0;
    for (int64_t at = 0; at < n_bytes; at++) {
        /* A walk from a position that no path reaches adds nothing, because its sum is -INFINITY.
         */
        double sum = cells[at].best;
        uint32_t base = TRIE_ROOT_BASE;
        for (int64_t i = at; i < n_bytes;) {
            uint64_t u = units[base ^ text[i]];
            if (!unit_has_label(u, text[i])) break;
            base = unit_base(u);
            i++;
            uint32_t value = unit_value(u);
            if (!value || !alive[value - 1]) continue;
            double score = sum + scores[value - 1];
            if (score > cells[i].best) cells[i] = (cell){score, (uint32_t)at, value - 1};
        }
    }
}

/* Follows the best path of each unit from its end, and adds the unit's count to every piece on it.
 * Each thread counts into its own array. */
int32_t unitok_unigram_recount(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                               const uint8_t *alive, const double *scores,
                               const unitok_units *units, uint64_t *used)
{
    for (int64_t i = 0; i < units->n; i++) {
        int64_t n_bytes = units->offsets[i + 1] - units->offsets[i];
        if (units->counts[i] == 0) continue;
        if (!lattice_reserve(lattice, n_bytes)) return UNITOK_ERROR_MEMORY;
        cell *cells = lattice->cells;
        best_path(lexicon, alive, scores, units->data + units->offsets[i], n_bytes, cells);
        for (int64_t at = n_bytes; at > 0; at = cells[at].from) {
            /* No sequence of pieces spells the unit up to here. */
            if (cells[at].best == -INFINITY) return UNITOK_ERROR_ARGUMENT;
            used[cells[at].piece] += units->counts[i];
        }
    }
    return UNITOK_OK;
}
