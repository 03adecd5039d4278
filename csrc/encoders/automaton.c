/* automaton.c - the functions of automaton.h */

#include "encoders/automaton.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/pick.h"
#include "ground/utf8.h"
#include "structures/suffix_links.h"

#if defined(UNITOK_X86)
#include <emmintrin.h>
#endif

/* The fields of a unit (see the diagram in automaton.h). (unit ^ c) & FITS is 0 only if the label
 * is c and bit 8, which marks a free unit, is clear. A base occupies the bits from BASE_SHIFT up to
 * LONGEST_SHIFT, so BASE_MAX bounds the number of units. A packed piece has 256 minus its length in
 * the bits from PIECE_SHIFT up, and its id below. */
#define FITS 0x1FF
#define FREE 0x100
#define BASE_SHIFT 9
#define LONGEST_SHIFT 32
#define BASE_MAX (1 << (32 - BASE_SHIFT))
#define PIECE_SHIFT 24
#define ID_MAX ((1 << PIECE_SHIFT) - 1)
#define LANES 4
#define LINE_BYTES 64 /* the bytes of a cache line */

/* ---------------------------------------------------------------------------------- tables ---- */

/* A sum restarts at a byte that follows a newline and is neither a newline nor a continuation:
 * the same positions that CUT_AFTER_NEWLINE turns into cuts (cut.h). A piece that crosses one would
 * join two sums that must be independent. Every byte must be a piece so that a path always exists
 * and the root has a child for every byte, which guarantees that lane_step eventually advances. */
int automaton_fits(const automaton_source *from, int restarts)
{
    if (from->trie->n_units > BASE_MAX) return 0;
    for (int byte = 0; byte < 256; byte++)
        if (!from->trie->singles[byte]) return 0;
    for (int64_t k = 0; k < from->n_pieces; k++) {
        const uint8_t *piece = from->data + from->offsets[k];
        int64_t n_bytes = from->offsets[k + 1] - from->offsets[k];
        if (n_bytes > AUTOMATON_PIECE_BYTES_MAX || from->ids[k + 1] > ID_MAX) return 0;
        for (int64_t i = 1; restarts && i < n_bytes; i++)
            if (piece[i - 1] == '\n' && piece[i] != '\n' && !is_continuation(piece[i])) return 0;
    }
    return 1;
}

INLINE uint32_t unit_base_of(uint64_t unit) { return (uint32_t)unit >> BASE_SHIFT; }

/* A missing piece has length 256, so the sum before it is one that was stored long ago. Reading a
 * sum that was just stored would stall for longer than all other work at the position takes. */
static uint32_t packed_piece(const automaton_source *from, uint32_t value)
{
    if (!value) return 0;
    int64_t n_bytes = from->offsets[value] - from->offsets[value - 1];
    return (uint32_t)(256 - n_bytes) << PIECE_SHIFT | (uint32_t)from->ids[value];
}

/* Writes the record of a piece. The list continues with the pieces of `next`, whose record must
 * already be written.
 *
 * `shorter` chains the pieces with a common ending: "SP the" leads to "the", which leads to "he". A
 * record holds the first AUTOMATON_ENDS of its chain. `more` is the first piece of the chain that
 * does not fit; its record continues the list, because every record begins with its own piece. */
static void put_ends(automaton *a, const automaton_source *from, uint32_t *shorter, uint32_t value,
                     uint32_t next)
{
    automaton_ends *ends = &a->ends[value];
    shorter[value] = next;
    for (int k = 0; k < AUTOMATON_ENDS; k++) {
        ends->scores[k] = value ? from->scores[value] : -INFINITY;
        ends->pieces[k] = packed_piece(from, value);
        if (value) value = shorter[value];
    }
    ends->more = value;
}

typedef struct builder {
    automaton *a;
    const automaton_source *from;
    uint32_t *shorter; /* by value: the longest proper suffix that is also a piece */
} builder;

/* Fills the unit of a node. Nodes are visited in order of depth, so the unit of the suffix is
 * complete.
 *
 * A node without children takes over the base of its suffix; if the suffix has no children either,
 * its unit already holds the base of a shorter suffix. Pieces of a single byte get no record and
 * occupy no entries of other records, because automaton_path takes them from `singles`. */
static int put_state(void *context, const suffix_link *x)
{
    builder *b = context;
    automaton *a = b->a;
    uint64_t unit = b->from->trie->units[x->unit];
    uint32_t suffix = x->suffix, value = unit_value(unit), base = unit_base(unit);
    uint32_t next_base = suffix ? unit_base_of(a->units[suffix]) : TRIE_ROOT_BASE;
    uint32_t longest = suffix ? (uint32_t)(a->units[suffix] >> LONGEST_SHIFT) : 0;
    if (value && !x->parent) {
        a->single_scores[unit & 0xFF] = b->from->scores[value];
        a->singles[unit & 0xFF] = packed_piece(b->from, value);
    } else if (value) {
        put_ends(a, b->from, b->shorter, value, longest);
        longest = value;
    }
    if (base) a->suffix_bases[base] = next_base;
    a->units[x->unit] = (uint64_t)longest << LONGEST_SHIFT |
                        (base ? base : next_base) << BASE_SHIFT | (uint8_t)unit;
    return 1;
}

/* Fills all tables. Returns 0 if allocation fails. */
static int put_all(automaton *a, const automaton_source *from)
{
    builder b = {a, from, mem_alloc((size_t)(from->n_pieces + 1) * sizeof *b.shorter)};
    if (!b.shorter) return 0;
    for (int64_t i = 0; i < from->trie->n_units; i++) a->units[i] = FREE;
    a->suffix_bases[TRIE_ROOT_BASE] = TRIE_ROOT_BASE;
    put_ends(a, from, b.shorter, 0, 0);
    int ok = suffix_links_visit(from->trie, from->data, from->offsets, from->n_pieces, put_state,
                                &b);
    mem_free(b.shorter);
    return ok;
}

/* Each record fills one cache line. malloc does not guarantee that alignment, so the records are
 * aligned by hand. */
automaton *automaton_new(const automaton_source *from)
{
    size_t n_units = (size_t)from->trie->n_units, n_ends = (size_t)from->n_pieces + 1;
    automaton *a = mem_zalloc(1, sizeof *a);
    if (!a) return NULL;
    a->units = mem_alloc(n_units * sizeof *a->units);
    a->suffix_bases = mem_zalloc(n_units, sizeof *a->suffix_bases);
    a->block = mem_alloc(n_ends * sizeof *a->ends + LINE_BYTES);
    if (a->block)
        a->ends = (automaton_ends *)(((uintptr_t)a->block + LINE_BYTES - 1) &
                                     ~(uintptr_t)(LINE_BYTES - 1));
    for (int64_t k = 0; k < from->n_pieces; k++) {
        int64_t n_bytes = from->offsets[k + 1] - from->offsets[k];
        if (n_bytes > a->max_piece_bytes) a->max_piece_bytes = n_bytes;
    }
    a->memory_bytes = (int64_t)(sizeof *a + n_units * (sizeof *a->units + sizeof *a->suffix_bases));
    a->memory_bytes += (int64_t)(n_ends * sizeof *a->ends);
    if (a->units && a->suffix_bases && a->block && put_all(a, from)) return a;
    automaton_free(a);
    return NULL;
}

void automaton_free(automaton *a)
{
    if (!a) return;
    mem_free(a->units);
    mem_free(a->suffix_bases);
    mem_free(a->block);
    mem_free(a);
}

/* ------------------------------------------------------------------------------ The states ---- */

typedef struct lane {
    uint64_t at, base;
} lane;

/* One step of a lane. Either the byte at x->at leads to a child and `at` grows by 1, or the same
 * byte is tried next with the base of the longest suffix. Both outcomes are computed, and `pick`
 * selects one, because processors cannot predict the outcome.
 *
 * longest[at] is written in either case. The last write, by the step that consumes the byte, is
 * the valid one. The record of the pieces that end there is prefetched, since automaton_path
 * reads it about a thousand bytes later. */
INLINE void lane_step(const automaton *a, const uint8_t *text, uint32_t *longest, lane *x)
{
    uint64_t c = text[x->at], unit = a->units[x->base ^ c];
    uint32_t differs = ((uint32_t)unit ^ (uint32_t)c) & FITS;
    uint64_t ends = pick(differs, unit >> LONGEST_SHIFT, 0);
    x->base = pick(differs, unit_base_of(unit), a->suffix_bases[x->base]);
    longest[x->at] = (uint32_t)ends;
    PREFETCH(&a->ends[ends]);
    x->at += differs == 0;
}

/* Starts a lane at the root, at any position. */
INLINE lane lane_begin(int64_t at) { return (lane){(uint64_t)at, TRIE_ROOT_BASE}; }

/* Runs four lanes, so that the cache misses at four positions overlap. The chunk is divided into
 * quarters:
 *
 *     lane x   |----------|
 *     lane y           ..|----------|              a lane begins max_piece_bytes early (the dots),
 *     lane z                      ..|----------|   where its states can be wrong
 *     lane w                                 ..|----------|
 *
 * A state is a suffix of at most max_piece_bytes, so a lane is correct from the start of its
 * quarter on. A lane leaves its early stretch within two steps per byte. The previous lane must
 * reach that stretch later, to overwrite the wrong states; so a quarter must be longer than three
 * times the stretch.
 *
 * The inner loop has no checks: n_left steps advance no lane by more than n_left bytes. The
 * tables are copied to a local variable, so that their addresses stay in registers while the
 * loop stores states. */
void automaton_find(const automaton *shared, const uint8_t *text, int64_t n_bytes,
                    automaton_work *work)
{
    const automaton tables = *shared, *a = &tables;
    uint32_t *longest = work->longest;
    int64_t early = a->max_piece_bytes, q = n_bytes / LANES, n_left;
    lane x = lane_begin(0);
    if (q <= 3 * early) {
        while ((int64_t)x.at < n_bytes) lane_step(a, text, longest, &x);
        return;
    }
    lane y = lane_begin(q - early), z = lane_begin(2 * q - early), w = lane_begin(3 * q - early);
    for (;;) {
        int64_t xy = q - (int64_t)x.at, yz = 2 * q - (int64_t)y.at;
        int64_t zw = 3 * q - (int64_t)z.at, w_end = n_bytes - (int64_t)w.at;
        n_left = xy < yz ? xy : yz;
        n_left = zw < n_left ? zw : n_left;
        n_left = w_end < n_left ? w_end : n_left;
        if (n_left <= 0) break;
        for (; n_left > 0; n_left--) {
            lane_step(a, text, longest, &x);
            lane_step(a, text, longest, &y);
            lane_step(a, text, longest, &z);
            lane_step(a, text, longest, &w);
        }
    }
    while ((int64_t)x.at < q) lane_step(a, text, longest, &x);
    while ((int64_t)y.at < 2 * q) lane_step(a, text, longest, &y);
    while ((int64_t)z.at < 3 * q) lane_step(a, text, longest, &z);
    while ((int64_t)w.at < n_bytes) lane_step(a, text, longest, &w);
}

/* -------------------------------------------------------------------------------- The path ---- */

/* Takes the better candidate without a branch, because the comparison is unpredictable. */
INLINE void take_better(double *best, uint32_t *piece, double sum, uint32_t other)
{
    *piece ^= (*piece ^ other) & (0 - (uint32_t)(sum > *best));
    *best = sum > *best ? sum : *best;
}

/* The best of the record's pieces; ties go to the first. sum_at points to the sum at the position
 * where they end. With SSE2, bit k of `which` tells whether piece k has the best sum, and the
 * lowest bit is the first such piece. Bit 4 is always set: if none of the first four pieces is the
 * best, the fifth is. */
#if defined(UNITOK_X86)
#define SUM_BEFORE(k) (sum_at - 256 + (ends->pieces[k] >> PIECE_SHIFT))
INLINE uint32_t best_end(const automaton_ends *ends, const double *sum_at, double *ret)
{
    /* SSE2, which every x86-64 processor has: 5 % faster */
    __m128d two = _mm_loadh_pd(_mm_load_sd(SUM_BEFORE(0)), SUM_BEFORE(1));
    __m128d four = _mm_loadh_pd(_mm_load_sd(SUM_BEFORE(2)), SUM_BEFORE(3));
    __m128d five = _mm_add_sd(_mm_load_sd(SUM_BEFORE(4)), _mm_load_sd(ends->scores + 4));
    two = _mm_add_pd(two, _mm_load_pd(ends->scores));
    four = _mm_add_pd(four, _mm_load_pd(ends->scores + 2));
    __m128d best = _mm_max_pd(two, four);
    best = _mm_max_sd(_mm_max_sd(best, _mm_unpackhi_pd(best, best)), five);
    *ret = _mm_cvtsd_f64(best);
    best = _mm_unpacklo_pd(best, best);
    int which = _mm_movemask_pd(_mm_cmpeq_pd(two, best)) | _mm_movemask_pd(_mm_cmpeq_pd(four, best))
                                                               << 2;
    return ends->pieces[lowest_bit((uint64_t)which | 1 << 4)];
}
#else
INLINE uint32_t best_end(const automaton_ends *ends, const double *sum_at, double *ret)
{
    double best = -INFINITY;
    uint32_t piece = ends->pieces[0];
    for (int k = 0; k < AUTOMATON_ENDS; k++) {
        uint32_t other = ends->pieces[k];
        take_better(&best, &piece, sum_at[(int32_t)(other >> PIECE_SHIFT) - 256] + ends->scores[k],
                    other);
    }
    *ret = best;
    return piece;
}
#endif

/* The sum of each position is final once it is reached, since all pieces that end there begin
 * before it. No piece crosses a cut, so candidates begin at `begin` or later. An earlier sum is
 * read only for the missing pieces of a record, 256 positions back; any finite sum works there,
 * because the score of a missing piece is -INFINITY.
 *
 * The sum of the previous position stays in a register for the piece of one byte; loading a sum
 * that was just stored would cost more than the comparison. */
int64_t automaton_path(const automaton *a, const uint8_t *text, int64_t begin, int64_t end,
                       double *io_sum, automaton_work *work)
{
    double *sums = work->sums + AUTOMATON_PIECE_BYTES_MAX + 1, sum = *io_sum;
    sums[begin] = sum;
    for (int64_t i = begin; i < end; i++) {
        const automaton_ends *ends = &a->ends[work->longest[i]];
        double best, less;
        uint32_t piece = best_end(ends, sums + i + 1, &best);
        while (UNLIKELY(ends->more)) {
            ends = &a->ends[ends->more];
            uint32_t other = best_end(ends, sums + i + 1, &less);
            take_better(&best, &piece, less, other);
        }
        take_better(&best, &piece, sum + a->single_scores[text[i]], a->singles[text[i]]);
        sum = best;
        sums[i + 1] = best;
        work->last[i + 1] = piece;
    }
    *io_sum = sum;
    uint32_t *ids = work->ids + AUTOMATON_CHUNK_BYTES;
    int64_t n = 0;
    for (int64_t at = end; at > begin;) {
        uint32_t piece = work->last[at];
        ids[--n] = piece & ID_MAX;
        at -= 256 - (piece >> PIECE_SHIFT);
    }
    return -n;
}
