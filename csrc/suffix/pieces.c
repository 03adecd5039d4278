/* pieces.c - builds and searches the sorted pieces of a model: see pieces.h
 *
 * The caller computes the order with the suffix sorter: it sorts the text
 * "<piece 0> 0 <piece 1> 0 ...", in which the suffixes that begin at the start of a piece or inside
 * a piece are the strings to be listed:
 *
 *     text        t h e 0 | h e 0 | a 0        bytes are incremented, so that 0 is the separator
 *     order       the separators, then a 0, e 0 a .., e 0 h .., h e 0 a .., h e 0 h .., t h e 0 ..
 */

#include "suffix/pieces.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"

void unitok_search_pieces_free(pieces *p)
{
    if (!p) return;
    mem_free(p->data);
    mem_free(p->begin);
    mem_free(p->drops_space);
    mem_free(p->starts);
    mem_free(p->inner);
    mem_free(p->inner_id);
    mem_free(p);
}

/* Collects the complete pieces and the inner strings from order[], which sorts the text described
 * above. Returns 0 if it does not sort that text: order[] comes from a file, so every entry is
 * checked, and a list that would overflow is an error. First bytes are counted at index c + 1, so
 * that a running sum turns the counts into starts:
 *
 *     start_first     c:  …  'a'  'b'  'c'       pieces that begin with 'b' are
 *                         …   0    5    9        starts[5..8] */
static int take_order(pieces *p, const uint32_t *order, int64_t n_order, const uint32_t *owner)
{
    for (int64_t k = 0; k < n_order; k++) {
        if (order[k] >= n_order) return 0;
        uint32_t id = owner[order[k]];
        /* the position in data, which has no separators */
        uint32_t at = order[k] - id;
        if (at == p->begin[id + 1]) continue; /* the separator itself */
        if (at == p->begin[id]) {
            if (p->n_starts == p->n_ids) return 0;
            p->starts[p->n_starts++] = id;
            if (piece_bytes(p, id) > p->longest) p->longest = piece_bytes(p, id);
            p->start_first[p->data[at] + 1]++;
        } else {
            if (p->n_inner == p->begin[p->n_ids]) return 0;
            p->inner[p->n_inner] = at;
            p->inner_id[p->n_inner++] = id;
            p->inner_first[p->data[at] + 1]++;
        }
    }
    for (int c = 0; c < 256; c++) {
        p->start_first[c + 1] += p->start_first[c];
        p->inner_first[c + 1] += p->inner_first[c];
    }
    return 1;
}

/* Whether two ids stand for the same bytes. */
static int same_piece(const pieces *p, uint32_t a, uint32_t b)
{
    uint32_t n = piece_bytes(p, a);
    return piece_bytes(p, b) == n && memcmp(piece_data(p, a), piece_data(p, b), n) == 0;
}

/* Sorts ids with the same bytes, such as a byte piece and a character, by rank, and sets in_order,
 * which lets a search treat all pieces with a common prefix as one interval. Ties are few and
 * short, so an insertion sort is fast enough. */
static void settle_ties(pieces *p, const uint32_t *rank)
{
    for (int64_t k = 1; k < p->n_starts; k++) {
        uint32_t id = p->starts[k];
        int64_t at = k;
        for (; at > 0 && rank[p->starts[at - 1]] > rank[id] && same_piece(p, p->starts[at - 1], id);
             at--)
            p->starts[at] = p->starts[at - 1];
        p->starts[at] = id;
    }
    p->in_order = 1;
    for (int64_t k = 1; k < p->n_starts; k++)
        if (rank[p->starts[k]] != rank[p->starts[k - 1]] + 1) p->in_order = 0;
}

/* owner[] maps each symbol of the sorted text to its piece. It is needed only while the order is
 * read. Each piece is followed by a separator, so a piece of n bytes owns n + 1 symbols, and the
 * position of a symbol minus its piece's number is the position in `data`. */
static int fill(pieces *p, const uint8_t *data, const int64_t *offsets, const uint8_t *drops_space,
                int64_t n_pieces, const uint32_t *rank, const uint32_t *order, uint32_t *owner)
{
    int64_t n_bytes = offsets[n_pieces] - offsets[0], at = 0;
    memcpy(p->data, data + offsets[0], (size_t)n_bytes);
    for (int64_t id = 0; id <= p->n_ids; id++)
        p->begin[id] = (uint32_t)(offsets[id < n_pieces ? id : n_pieces] - offsets[0]);
    for (int64_t id = 0; id < n_pieces; id++) {
        p->drops_space[id] = drops_space[id];
        for (int64_t k = piece_bytes(p, (uint32_t)id); k >= 0; k--) owner[at++] = (uint32_t)id;
    }
    if (!take_order(p, order, n_bytes + n_pieces, owner)) return 0;
    settle_ties(p, rank);
    return 1;
}

/* The inner lists are allocated for the total number of bytes, which is an upper bound; their sizes
 * are known only after the order is read. */
int32_t unitok_search_pieces_new(const uint8_t *data, const int64_t *offsets,
                                 const uint8_t *drops_space, int64_t n_pieces, int64_t n_ids,
                                 const uint32_t *rank, const uint32_t *order, pieces **ret,
                                 unitok_error *error)
{
    const char *wrong = n_ids != UNITOK_SEARCH_IDS_16 && n_ids != UNITOK_SEARCH_IDS_32
                            ? "the number of ids must be 65,536 or 262,144"
                        : n_pieces < 0 || n_pieces > n_ids ? "there are more pieces than ids"
                                                           : check_offsets(offsets, n_pieces);
    if (!wrong && offsets[n_pieces] - offsets[0] > INT32_MAX) wrong = "the pieces are too long";
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    size_t n_bytes = (size_t)(offsets[n_pieces] - offsets[0]);
    pieces *p = mem_zalloc(1, sizeof *p);
    uint32_t *owner = mem_alloc((n_bytes + (size_t)n_pieces + 1) * sizeof *owner);
    if (!p || !owner) goto no_memory;
    p->n_ids = n_ids;
    p->begin = mem_alloc(((size_t)n_ids + 1) * sizeof *p->begin);
    p->drops_space = mem_zalloc((size_t)n_ids, 1);
    p->data = mem_alloc(n_bytes + 1);
    p->starts = mem_alloc((size_t)n_ids * sizeof *p->starts);
    p->inner = mem_alloc((n_bytes + 1) * sizeof *p->inner);
    p->inner_id = mem_alloc((n_bytes + 1) * sizeof *p->inner_id);
    if (!p->begin || !p->drops_space || !p->data || !p->starts || !p->inner || !p->inner_id)
        goto no_memory;
    int is_filled = fill(p, data, offsets, drops_space, n_pieces, rank, order, owner);
    mem_free(owner);
    if (!is_filled) {
        unitok_search_pieces_free(p);
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the order of the pieces is not a suffix array");
    }
    *ret = p;
    return UNITOK_OK;
no_memory:
    mem_free(owner);
    unitok_search_pieces_free(p);
    return fail_memory(error);
}

/* ---------------------------------------------------------------------------------- ranges ---- */

/* The byte at `depth` of the k-th string. The string must be longer than that. */
INLINE uint8_t start_byte(const pieces *p, uint32_t k, uint32_t depth)
{
    return p->data[p->begin[p->starts[k]] + depth];
}

INLINE uint8_t inner_byte(const pieces *p, uint32_t k, uint32_t depth)
{
    return p->data[p->inner[k] + depth];
}

/* The two lists differ only in how a byte is read, so one macro defines both searches. The upper
 * bound of a byte value is the lower bound of the next byte value. */
#define DEFINE_NARROW(NAME, BYTE)                                                                  \
    static uint32_t NAME##_lower(const pieces *p, range in, uint32_t depth, int c)                 \
    {                                                                                              \
        while (in.lo < in.hi) {                                                                    \
            uint32_t mid = in.lo + (in.hi - in.lo) / 2;                                            \
            if (BYTE(p, mid, depth) < c) in.lo = mid + 1;                                          \
            else in.hi = mid;                                                                      \
        }                                                                                          \
        return in.lo;                                                                              \
    }                                                                                              \
    range NAME##_narrow(const pieces *p, range in, uint32_t depth, uint8_t c)                      \
    {                                                                                              \
        range ret;                                                                                 \
        ret.lo = NAME##_lower(p, in, depth, c);                                                    \
        in.lo = ret.lo;                                                                            \
        ret.hi = NAME##_lower(p, in, depth, c + 1);                                                \
        return ret;                                                                                \
    }

/* starts_narrow and inner_narrow: two binary searches each, by the byte at `depth`. */
DEFINE_NARROW(starts, start_byte)
DEFINE_NARROW(inner, inner_byte)

/* Strings that end at `depth` precede all longer ones, so a binary search finds where they end. */
uint32_t inner_equal_end(const pieces *p, range in, uint32_t depth)
{
    while (in.lo < in.hi) {
        uint32_t mid = in.lo + (in.hi - in.lo) / 2;
        if (p->begin[p->inner_id[mid] + 1] - p->inner[mid] == depth) in.lo = mid + 1;
        else in.hi = mid;
    }
    return in.lo;
}
