/* unigram_follow.h - Viterbi in float32 over the pieces that end at each position (endings.h); unigram.c includes it
 *
 * A cell is final when its position is reached: candidates come by ascending start, as the reference offers them, so
 * the first of equals is the same. Only a restart makes a difference. The reference subtracts at `restarted` from what has
 * been offered to later cells. Here the candidates from before it are compared first, and that is subtracted from the best:
 *
 *     cells   . . . . | restarted . . . . | restarted + longest piece
 *             sums as they were     candidates from both sides
 *
 * The value of a cell is that of its out; one without a piece, below 1 << ENDINGS_BYTES_BITS, is an unknown character.
 */

#define FOLLOW_BYTES 16384 /* of text in one call */
#define AHEAD 24           /* positions whose pieces are prefetched */
/* A sum restarts at most once within the longest piece. */
#define FOLLOW_SUM_MAX 90000.0

INLINE void offer_out(cell32 *best, const cell32 *cells, int64_t end, endings_out out)
{
    float sum = cells[end - (out.value & ENDINGS_PIECE_BYTES)].sum + out.score;
    best->value ^= (best->value ^ out.value) & (0 - (uint32_t)(sum > best->sum));
    best->sum = sum > best->sum ? sum : best->sum;
}

/* The best candidate for cells[end], where some start before the last restart. */
static NOINLINE cell32 best_restarted(const cell32 *cells, const endings_out *outs, int64_t n_outs, int64_t end,
                                      const unigram_path *path)
{
    cell32 best = {-INFINITY, 0};
    int64_t k = 0;
    for (; k < n_outs && end - (outs[k].value & ENDINGS_PIECE_BYTES) < path->restarted; k++)
        offer_out(&best, cells, end, outs[k]);
    best.sum -= (float)path->restarted_from;
    for (; k < n_outs; k++) offer_out(&best, cells, end, outs[k]);
    return best;
}

/* The sums of cells[0..n_bytes] of a part. Returns how much of it was taken: all, or up to its last whole character. */
static int64_t follow_part(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes, int is_end)
{
    const endings *a = m->endings;
    cell32 *cells = (cell32 *)path->cells + path->at; /* of text[0] */
    int64_t n = 0;
    path->restarted -= path->at;
    while (n < n_bytes) {
        int64_t n_char = first_char_bytes(m, text + n, is_end ? n_bytes - n : CHAR_BYTES_MAX), end = n + n_char;
        if (end > n_bytes) break;
        if (UNLIKELY(fabsf(cells[n].sum) > RESTART_ABOVE)) {
            path->restarted = n;
            path->restarted_from = (double)cells[n].sum;
            cells[n].sum = 0;
        }
        uint32_t list = path->places[end - 1].outs;
        const endings_out *outs = a->outs + (list >> 8);
        int64_t n_outs = list & 255;
        PREFETCH(a->outs + (path->places[end + AHEAD].outs >> 8));
        cell32 best = {-INFINITY, 0};
        if (UNLIKELY(end - path->restarted < a->max_piece_bytes)) best = best_restarted(cells, outs, n_outs, end, path);
        else
            for (int64_t k = 0; k < n_outs; k++) offer_out(&best, cells, end, outs[k]);
        float unknown = (float)m->unknown_score + cells[n].sum;
        if (UNLIKELY(unknown > best.sum) && (m->unknown_is_low || !is_piece(m, text + n, n_char)))
            best = (cell32){unknown, (uint32_t)n_char};
        cells[end] = best;
        n = end;
    }
    path->restarted += path->at;
    return n;
}

/* unigram_advance by the endings. The cells before `at` that a piece may still begin at are as open as `at`. */
static int64_t follow(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes, int is_last)
{
    const endings *a = m->endings;
    path->n_tokens = 0;
    if (path->settle_at < FOLLOW_BYTES) path->settle_at = FOLLOW_BYTES;
    int64_t n_part = path->settle_at - path->at;
    if (n_part > FOLLOW_BYTES) n_part = FOLLOW_BYTES;
    if (n_part > n_bytes) n_part = n_bytes;
    int is_end = is_last && n_part == n_bytes;
    if (!path->places) path->places = mem_zalloc(FOLLOW_BYTES + AHEAD + 1, sizeof *path->places);
    if (!path->places || !reserve32(path, path->at + n_part + 1)) return -1;
    endings_follow(a, path->state, text, n_part, path->places);
    int64_t n = follow_part(m, path, text, n_part, is_end);
    if (n == 0) return 0;
    path->state = path->places[n - 1].state;
    path->at += n;
    cell32 *cells = path->cells;
    if (is_end) {
        path->sum = (double)cells[path->at].sum;
        if (!give_out32(m, path, path->at, 1)) return -1;
        unigram_begin(path, path->sum);
    } else if (path->at + CHAR_BYTES_MAX > path->settle_at) {
        int64_t open = path->at - a->max_piece_bytes + 1, at = path->at;
        if (!give_out32(m, path, meeting32(m, cells, open > 0 ? open : 0, path->at, 1), 1)) return -1;
        path->restarted -= at - path->at;
        path->settle_at = path->at * 2;
    }
    return n;
}
