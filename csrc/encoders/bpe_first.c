/* bpe_first.c - the functions of bpe_first.h */

#include "encoders/bpe_first.h"

#include "encoders/bpe.h"
#include "ground/alloc.h"
#include "structures/heap.h"

#define RANK_NONE UINT32_MAX

/* Symbol i is text[i..ends[i]), named by its first byte; a symbol that went into the one before has
 * no meaning. */
typedef struct work {
    const unitok_spec *spec;
    const distinct_table *pieces;
    const symbols *users;
    const uint8_t *text;
    int64_t n_bytes, max_piece_bytes, n_heap;
    uint32_t *ends;   /* [0..n_bytes) */
    uint32_t *begins; /* [0..n_bytes]: of the symbol that ends here */
    /* [0..n_bytes): of the symbol and the next, RANK_NONE where they may not merge */
    uint32_t *ranks;
    /* [0..n_bytes): the user-defined piece + 1 that the symbol is, which never merges; 0: none */
    uint32_t *whole;
    /* rank << 32 | symbol; outdated if that is not its rank: bpe.c says why this is enough */
    uint64_t *heap;
} work;

int bpe_first_begin(const unitok_spec *spec, symbols *ret_users)
{
    const int32_t flags = UNITOK_LISTED_MERGES | UNITOK_RESTART_AT_SPACE |
                          UNITOK_RESTART_AFTER_NEWLINE;
    int64_t n = spec->types ? spec->n_pieces : 0, n_users = 0;
    if (spec->flags & flags) return 0;
    for (int64_t k = 0; k < n; k++) {
        if (spec->types[k] == UNITOK_PIECE_UNUSED) return 0;
        n_users += spec->types[k] == UNITOK_PIECE_USER_DEFINED;
    }
    if (!n_users) return 1;
    uint8_t *take = mem_alloc((size_t)n);
    uint32_t *numbers = mem_alloc((size_t)n * sizeof *numbers);
    int ok = take && numbers;
    for (int64_t k = 0; k < n && ok; k++) {
        take[k] = spec->types[k] == UNITOK_PIECE_USER_DEFINED;
        numbers[k] = (uint32_t)k;
    }
    ok = ok && symbols_add_user(ret_users, spec, take, numbers, NULL) == UNITOK_OK;
    mem_free(numbers);
    mem_free(take);
    return ok;
}

/* The NORMAL piece that is text[begin..end), or -1. */
static int64_t find_piece(const work *w, int64_t begin, int64_t end)
{
    if (end - begin > w->max_piece_bytes) return -1;
    int64_t k = distinct_find(w->pieces, w->text + begin, end - begin);
    return k >= 0 && w->spec->types && w->spec->types[k] != UNITOK_PIECE_NORMAL ? -1 : k;
}

/* Looks up what `left` and the symbol after it would be. */
static void set_pair(work *w, uint32_t left)
{
    uint32_t right = w->ends[left];
    w->ranks[left] = RANK_NONE;
    if (right == w->n_bytes || w->whole[left] || w->whole[right]) return;
    int64_t k = find_piece(w, left, w->ends[right]);
    if (k < 0) return;
    w->ranks[left] = bpe_rank_of_score(w->spec->scores ? w->spec->scores[k] : 0);
    heap_push(w->heap, &w->n_heap, (uint64_t)w->ranks[left] << 32 | left);
}

/* Makes the text symbols: the longest user-defined piece, else a character. */
static void cut_text(work *w)
{
    for (uint32_t i = 0, n; i < w->n_bytes; i += n) {
        uint32_t piece = 0;
        n = 0;
        if (w->users->user_leads[w->text[i]])
            n = (uint32_t)symbols_match_user(w->users, w->text + i, w->n_bytes - i, &piece);
        w->whole[i] = n ? piece + 1 : 0;
        if (!n) n = (uint32_t)char_bytes(w->text[i]);
        if (n > w->n_bytes - i) n = (uint32_t)(w->n_bytes - i);
        w->ends[i] = i + n;
        w->begins[i + n] = i;
    }
}

static void merge_all(work *w)
{
    for (uint32_t i = 0; i < w->n_bytes; i = w->ends[i]) set_pair(w, i);
    while (w->n_heap) {
        uint64_t key = heap_pop(w->heap, &w->n_heap);
        uint32_t left = (uint32_t)key;
        if (w->ranks[left] != key >> 32) continue;
        uint32_t right = w->ends[left], end = w->ends[right];
        w->ends[left] = end;
        w->begins[end] = left;
        w->ranks[right] = RANK_NONE;
        if (left) set_pair(w, w->begins[left]);
        set_pair(w, left);
    }
}

int64_t bpe_first(const unitok_spec *spec, const distinct_table *pieces, const symbols *users,
                  const uint8_t *text, int64_t n_bytes, int64_t max_piece_bytes, token *tokens)
{
    size_t room = (size_t)n_bytes + 1;
    work w = {spec, pieces, users, text, n_bytes, max_piece_bytes, 0, NULL, NULL, NULL, NULL, NULL};
    /* each pair at first, and two for every merge, which takes one out */
    w.heap = mem_alloc(room * 2 * sizeof *w.heap);
    w.ends = mem_alloc(room * 4 * sizeof *w.ends);
    int64_t n = w.heap && w.ends ? 0 : -1;
    if (n == 0) {
        w.begins = w.ends + room;
        w.ranks = w.begins + room;
        w.whole = w.ranks + room;
        cut_text(&w);
        merge_all(&w);
        for (uint32_t i = 0; i < n_bytes; i = w.ends[i]) {
            int64_t k = w.whole[i] ? (int64_t)w.whole[i] - 1 : find_piece(&w, i, w.ends[i]);
            tokens[n++] = (token){k < 0 ? TOKEN_UNKNOWN : (int32_t)spec->ids[k], w.ends[i]};
        }
    }
    mem_free(w.ends);
    mem_free(w.heap);
    return n;
}
