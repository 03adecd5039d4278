/* unigram_follow.h - Viterbi in float32 over the pieces that end at each position (endings.h);
 * included by unigram.c
 *
 * A cell is final when its position is reached. Candidates are tried in ascending order of start,
 * the order in which the reference offers them, so ties have the same winner. Only a restart makes
 * a difference: at `restarted`, the reference subtracts an offset from the sums that it has already
 * offered to later cells. Here the best of the candidates that begin before `restarted` is found
 * first, and the offset is subtracted from its sum:
 *
 *     cells   . . . . | restarted . . . . | restarted + longest piece
 *             sums as they were     candidates from both sides
 *
 * The value of a cell is that of its last piece; an unknown character has the id TOKEN_UNKNOWN, so
 * its id + 1 is 0. */

#include "ground/pick.h"

#if defined(UNITOK_X86)
#include <emmintrin.h>
#endif

#define FOLLOW_BYTES 16384 /* the maximum number of bytes in one call */
#define AHEAD 48           /* how many positions ahead pieces are prefetched */
/* A sum restarts at most once within the longest piece. */
#define FOLLOW_SUM_MAX 90000.0

/* The cell in which the piece of `value` that ends at `end` begins. */
INLINE const cell32 *piece_begin(const cell32 *end, uint32_t value)
{
    return end - 255 + (value & 255);
}

/* The best of a record's pieces, which end at *end; ties go to the first. With SSE2, bit k of
 * `which` tells whether piece k has the best sum; at least one bit is set. */
#if defined(UNITOK_X86)
#define SUM_BEFORE(k) _mm_load_ss(&piece_begin(end, list->values[k])->sum)
INLINE cell32 best_of(const endings_list *list, const cell32 *end)
{
    __m128 two = _mm_unpacklo_ps(SUM_BEFORE(0), SUM_BEFORE(1)),
           other = _mm_unpacklo_ps(SUM_BEFORE(2), SUM_BEFORE(3));
    __m128 sums = _mm_add_ps(_mm_movelh_ps(two, other), _mm_load_ps(list->scores));
    __m128 best = _mm_max_ps(sums, _mm_movehl_ps(sums, sums));
    best = _mm_max_ss(best, _mm_shuffle_ps(best, best, 1));
    int which = _mm_movemask_ps(_mm_cmpeq_ps(sums, _mm_shuffle_ps(best, best, 0)));
    return (cell32){_mm_cvtss_f32(best), list->values[lowest_bit((uint64_t)which)]};
}
#else
INLINE cell32 best_of(const endings_list *list, const cell32 *end)
{
    cell32 best = {-INFINITY, list->values[0]};
    for (int k = 0; k < ENDINGS_OUTS; k++) {
        uint32_t value = list->values[k];
        float sum = piece_begin(end, value)->sum + list->scores[k];
        best.value ^= (best.value ^ value) & (0 - (uint32_t)(sum > best.sum));
        best.sum = sum > best.sum ? sum : best.sum;
    }
    return best;
}
#endif

/* The better of two candidates, or the first if they tie, without a branch. */
INLINE cell32 better(cell32 a, cell32 b)
{
    return (cell32){b.sum > a.sum ? b.sum : a.sum, (uint32_t)pick(b.sum > a.sum, a.value, b.value)};
}

/* The best of a list. Nearly all lists have one record. */
INLINE cell32 best_in(const endings *a, uint32_t list, const cell32 *end)
{
    const endings_list *lists = a->lists + (list >> 8);
    cell32 best = best_of(lists, end);
    for (uint32_t n = list & 255; UNLIKELY(n > 0); n--) best = better(best, best_of(++lists, end));
    return best;
}

/* The best candidate for *end if some candidates begin before cells[restarted], the last
 * restart.
 *
 * Lists have the longest piece first, so candidates are tried in ascending order of start. When the
 * reference subtracted the offset, it had already offered the candidates that begin before the
 * restart. So their best is computed in the same order here: sum, comparison, subtraction. The
 * offset is subtracted where is_before changes. */
static NOINLINE cell32 best_restarted(const endings *a, uint32_t list, const cell32 *end,
                                      const cell32 *restarted, const unigram_path *path)
{
    cell32 best = {-INFINITY, 0};
    const endings_list *lists = a->lists + (list >> 8);
    int is_before = 1;
    for (uint32_t k = 0; list && k < ENDINGS_OUTS * ((list & 255) + 1); k++) {
        uint32_t value = lists[k / ENDINGS_OUTS].values[k % ENDINGS_OUTS];
        if (k && value == lists->values[0]) break;
        const cell32 *begin = piece_begin(end, value);
        if (is_before && begin >= restarted) best.sum -= (float)path->restarted_from;
        is_before = begin < restarted;
        best = better(
            best, (cell32){begin->sum + lists[k / ENDINGS_OUTS].scores[k % ENDINGS_OUTS], value});
    }
    if (is_before) best.sum -= (float)path->restarted_from;
    return best;
}

/* Processes positions whose character is ASCII and a piece, while no restart is near. Returns their
 * number. The previous sum stays in a register, and no character can be unknown, so on most English
 * text this loop does less work than follow_part. */
INLINE int64_t follow_ascii(const endings *a, const endings_place *places, const uint8_t *text,
                            int64_t n_bytes, cell32 *cells)
{
    float sum = cells[0].sum;
    int64_t n = 0;
    for (; n < n_bytes && !(fabsf(sum) > RESTART_ABOVE); n++) {
        endings_piece single = a->singles[text[n]];
        if (UNLIKELY(!single.value)) break;
        PREFETCH(a->lists + (places[n + AHEAD].list >> 8));
        cell32 best = best_in(a, places[n].list, cells + n + 1);
        best = better(best, (cell32){sum + single.score, single.value});
        sum = best.sum;
        cells[n + 1] = best;
    }
    return n;
}

/* Computes the sums of cells[0..n_bytes] of a part. Returns how much of it was processed: all, or
 * up to its last complete character. */
static int64_t follow_part(const unigram *m, unigram_path *path, const uint8_t *text,
                           int64_t n_bytes, int is_end)
{
    const endings *a = m->endings;
    cell32 *cells = (cell32 *)path->cells + path->at; /* the cell of text[0] */
    int64_t n = 0;
    path->restarted -= path->at;
    while (n < n_bytes) {
        if (LIKELY(n - path->restarted >= a->max_piece_bytes))
            n += follow_ascii(a, path->places + n, text + n, n_bytes - n, cells + n);
        if (n == n_bytes) break;
        int64_t n_char = first_char_bytes(m, text + n, is_end ? n_bytes - n : CHAR_BYTES_MAX),
                end = n + n_char;
        if (end > n_bytes) break;
        if (UNLIKELY(fabsf(cells[n].sum) > RESTART_ABOVE)) {
            path->restarted = n;
            path->restarted_from = (double)cells[n].sum;
            cells[n].sum = 0;
        }
        uint32_t list = path->places[end - 1].list;
        endings_piece single = a->singles[text[n]];
        PREFETCH(a->lists + (path->places[end + AHEAD].list >> 8));
        cell32 best;
        if (UNLIKELY(end - path->restarted < a->max_piece_bytes))
            best = best_restarted(a, list, cells + end, cells + path->restarted, path);
        else best = best_in(a, list, cells + end);
        if (single.value) best = better(best, (cell32){cells[n].sum + single.score, single.value});
        float unknown = (float)m->unknown_score + cells[n].sum;
        if (UNLIKELY(unknown > best.sum) && (m->unknown_is_low || !is_piece(m, text + n, n_char)))
            best = (cell32){unknown, (uint32_t)(255 - n_char)};
        cells[end] = best;
        n = end;
    }
    path->restarted += path->at;
    return n;
}

/* Like emit_tokens32, in one pass: space for as many tokens as bytes is reserved, and the tokens
 * are written from its end. */
static int follow_emit(unigram_path *path, int64_t end)
{
    const cell32 *cells = path->cells;
    if (end == 0) return 1;
    if (!reserve_tokens(path, end)) return 0;
    token *first = path->tokens + end;
    for (int64_t at = end; at > 0; at -= endings_value_bytes(cells[at].value))
        *--first = (token){(int32_t)(cells[at].value >> 8) - 1, (uint32_t)at};
    path->n_tokens = path->tokens + end - first;
    memmove(path->tokens, first, (size_t)path->n_tokens * sizeof *first);
    drop_cells32(path, end);
    return 1;
}

/* unigram_advance for models with endings. Cells before `at` in which a longer piece can begin are
 * open too. */
static int64_t follow(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes,
                      int is_last)
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
        if (!follow_emit(path, path->at)) return -1;
        unigram_begin(path, path->sum);
    } else if (path->at + CHAR_BYTES_MAX > path->settle_at) {
        int64_t open = path->at - a->max_piece_bytes + 1, at = path->at;
        if (!follow_emit(path, meeting32(m, cells, open > 0 ? open : 0, path->at, 1))) return -1;
        path->restarted -= at - path->at;
        path->settle_at = path->at * 2;
    }
    return n;
}
