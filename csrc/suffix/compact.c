/* compact.c - opens and checks a compact index, and searches its lists: see compact.h
 *
 * A search in the list of a symbol, for the first row with a Psi of at least `a`:
 *
 *     directory    in memory        binary search    ──▶ the bundle
 *     places       in the bundle    counted          ──▶ the block
 *     gaps         in the bundle    added one after the other, up to `a`
 *
 * Opening an index reads the directory and the starts of the lists, but no bundle. */

#include "suffix/compact.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/pages.h"

const uint8_t compact_magic[8] = {0x89, 'U', 'T', 'C', 0x0D, 0x0A, 0x1A, 0x0A};

_Static_assert(sizeof(compact_footer) == UNITOK_COMPACT_FOOTER_BYTES, "the footer has no padding");

/* --------------------------------------------------------------------------------- opening ---- */

static int is_power_of_two(uint64_t v) { return v && !(v & (v - 1)); }

/* All arithmetic is in 64 bits; n and the intervals are checked first, so no product overflows. */
int compact_lay_out(const compact_footer *f, compact_layout *ret)
{
    if (f->n > UNITOK_SUFFIX_MAX_32 || f->n_symbols < 1 || f->n_symbols > UNITOK_COMPACT_SYMBOLS ||
        (f->block != 64 && f->block != 128) ||
        (f->symbol_bytes != 1 && f->symbol_bytes != 2 && f->symbol_bytes != 4))
        return 0;
    if (f->locate_every > 1024 || (f->locate_every && !is_power_of_two(f->locate_every)) ||
        f->extract_every > 1024)
        return 0;
    int64_t n = (int64_t)f->n, s = f->locate_every, e = f->extract_every;
    memset(ret, 0, sizeof *ret);
    ret->n_blocks = (n + f->block - 1) / f->block;
    ret->n_bundles = (ret->n_blocks + BUNDLE_BLOCKS - 1) / BUNDLE_BLOCKS;
    ret->bytes[SECTION_DIRECTORY] = 8 * (ret->n_bundles + 1);
    ret->bytes[SECTION_FIRST] = 4 * ((int64_t)f->n_symbols + 1);
    if (s) {
        ret->n_samples = (n + s - 1) / s;
        ret->n_groups = (n + COMPACT_GROUP * s - 1) / (COMPACT_GROUP * s);
        ret->lower_bits = packed_bits((uint64_t)s - 1);
        ret->sample_bits = packed_bits(n ? (uint64_t)(n - 1) / (uint64_t)s : 0);
        ret->bytes[SECTION_GROUPS] = 4 * (ret->n_groups + 1);
        ret->bytes[SECTION_UPPER] = (ret->n_groups * COMPACT_GROUP + ret->n_samples + 7) / 8 +
                                    COMPACT_SPARE_BYTES;
        ret->bytes[SECTION_LOWER] = (ret->n_samples * ret->lower_bits + 7) / 8 +
                                    COMPACT_SPARE_BYTES;
        ret->bytes[SECTION_SAMPLES] = (ret->n_samples * ret->sample_bits + 7) / 8 +
                                      COMPACT_SPARE_BYTES;
    }
    if (e) {
        ret->n_starts = (n + e - 1) / e;
        ret->start_bits = packed_bits(n ? (uint64_t)n - 1 : 0);
        ret->bytes[SECTION_STARTS] = (ret->n_starts * ret->start_bits + 7) / 8 +
                                     COMPACT_SPARE_BYTES;
    }
    return 1;
}

/* Checks everything except the contents of the sections. */
static const char *check_footer(const uint8_t *image, int64_t n_bytes, compact_footer *f,
                                compact_layout *layout)
{
    if (n_bytes < (int64_t)(COMPACT_PREFIX_BYTES + sizeof *f))
        return "the file is too short for a compact index";
    memcpy(f, image + n_bytes - sizeof *f, sizeof *f);
    if (memcmp(image, compact_magic, 8) != 0) return "this is not a compact index";
    if (load_u32(image + 8) != COMPACT_VERSION)
        return "this release does not support this version of compact indexes; build the index "
               "again";
    if (memcmp(f->magic, compact_magic, 8) != 0) return "the file is truncated";
    if (!compact_lay_out(f, layout)) return "a number in the footer is out of range";
    if (f->n ? f->first_row >= f->n : f->first_row) return "the first row is out of range";
    if (f->offsets[0] != COMPACT_PREFIX_BYTES ||
        f->offsets[COMPACT_SECTIONS] != (uint64_t)n_bytes - sizeof *f)
        return "the sections do not fill the file";
    for (int k = 0; k < COMPACT_SECTIONS; k++) {
        uint64_t begin = f->offsets[k], end = f->offsets[k + 1];
        if (begin % 8 || end < begin || end > (uint64_t)n_bytes)
            return "the offset of a section is out of range";
        if (k != SECTION_BUNDLES && end - begin != ((uint64_t)layout->bytes[k] + 7) / 8 * 8)
            return "the size of a section does not match the footer";
    }
    if (f->offsets[1] - f->offsets[0] > UINT32_MAX) return "the bundles are too large";
    if (!codes_are_complete(&f->codes, 2)) return "a code is not complete";
    return NULL;
}

/* The starts of the lists are used as indexes without further checks. */
static const char *check_first(const uint32_t *first, const compact_footer *f)
{
    if (first[0] != 0 || first[f->n_symbols] != f->n) return "the lists do not span the tokens";
    for (uint32_t k = 0; k < f->n_symbols; k++)
        if (first[k + 1] < first[k]) return "the starts of the lists decrease";
    return NULL;
}

/* Every search reads the directory and the starts of the lists, so they stay in memory even if the
 * pages of the file do not. */
static void *copy_section(const uint8_t *image, const compact_footer *f, int section)
{
    const uint8_t *from = image + f->offsets[section];
    size_t n_bytes = (size_t)(f->offsets[section + 1] - f->offsets[section]);
    uint8_t *ret = mem_alloc(n_bytes);
    if (!ret) return NULL;
    for (size_t at = 0; at < n_bytes; at += PAGES_AT_ONCE)
        pages_read_ahead(from + at,
                         (int64_t)(n_bytes - at < PAGES_AT_ONCE ? n_bytes - at : PAGES_AT_ONCE));
    memcpy(ret, from, n_bytes);
    return ret;
}

/* symbols[k] is the last symbol whose list begins at row k << symbol_shift or before it. There are
 * at most 65,536 entries, and two neighbouring entries leave few symbols to search. */
static int open_symbols(compact *c)
{
    while (c->n >> c->symbol_shift >= 65536) c->symbol_shift++;
    int64_t n = (c->n >> c->symbol_shift) + 1;
    c->symbols = mem_alloc((size_t)n * sizeof *c->symbols);
    if (!c->symbols) return 0;
    uint32_t symbol = 0;
    for (int64_t k = 0; k < n; k++) {
        while ((int64_t)symbol < c->n_symbols - 1 &&
               (int64_t)c->first[symbol + 1] <= k << c->symbol_shift)
            symbol++;
        c->symbols[k] = symbol;
    }
    return 1;
}

/* The large sections are used where they are, in the mapped file. */
static void take_sections(compact *c, const uint8_t *image, const compact_footer *f,
                          const compact_layout *layout)
{
    c->n = (int64_t)f->n;
    c->n_bundles = layout->n_bundles;
    c->n_symbols = f->n_symbols;
    c->block = (int32_t)f->block;
    c->block_shift = highest_bit(f->block);
    c->first_row = f->first_row;
    c->symbol_bytes = (int32_t)f->symbol_bytes;
    c->bundles = image + f->offsets[SECTION_BUNDLES];
    c->bundles_bytes = f->offsets[SECTION_BUNDLES + 1] - f->offsets[SECTION_BUNDLES];
    c->locate_every = (int32_t)f->locate_every;
    c->locate_shift = f->locate_every ? highest_bit(f->locate_every) : 0;
    c->n_samples = layout->n_samples;
    c->sample_bits = layout->sample_bits;
    c->upper_bits = layout->n_groups * COMPACT_GROUP + layout->n_samples;
    c->groups = (const uint32_t *)(const void *)(image + f->offsets[SECTION_GROUPS]);
    c->upper = image + f->offsets[SECTION_UPPER];
    c->lower = image + f->offsets[SECTION_LOWER];
    c->samples = image + f->offsets[SECTION_SAMPLES];
    c->extract_every = (int32_t)f->extract_every;
    c->n_starts = layout->n_starts;
    c->start_bits = layout->start_bits;
    c->starts = image + f->offsets[SECTION_STARTS];
}

/* Sections begin at multiples of 8 bytes, so in an aligned file their numbers are aligned and are
 * read in place. */
int32_t unitok_compact_open(const uint8_t *image, int64_t n_bytes, compact **ret,
                            unitok_error *error)
{
    compact_footer f;
    compact_layout layout;
    if ((uintptr_t)image % 8)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a compact index must be aligned");
    const char *wrong = check_footer(image, n_bytes, &f, &layout);
    if (!wrong)
        wrong = check_first((const uint32_t *)(const void *)(image + f.offsets[SECTION_FIRST]), &f);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, -1, wrong);
    compact *c = mem_zalloc(1, sizeof *c);
    if (!c) return fail_memory(error);
    take_sections(c, image, &f, &layout);
    codes_to_entries(&f.codes, &c->entries);
    c->directory = copy_section(image, &f, SECTION_DIRECTORY);
    c->first = copy_section(image, &f, SECTION_FIRST);
    if (!c->directory || !c->first || !open_symbols(c)) {
        unitok_compact_free(c);
        return fail_memory(error);
    }
    *ret = c;
    return UNITOK_OK;
}

void unitok_compact_free(compact *c)
{
    if (!c) return;
    mem_free(c->directory);
    mem_free(c->first);
    mem_free(c->symbols);
    mem_free(c);
}

void unitok_compact_get_info(const compact *c, unitok_compact_info *ret)
{
    unitok_compact_info info = {
        c->n,     c->n_symbols,    c->first,        c->first_row, c->symbol_bytes,
        c->block, c->locate_every, c->extract_every};
    *ret = info;
}

/* ----------------------------------------------------------------------------------- lists ---- */

/* Prefetches the gaps of a block before it is known where they begin: the blocks of a bundle take
 * about the same space. */
INLINE void prefetch_gaps(const compact *c, int64_t b)
{
    int64_t k = b >> BUNDLE_SHIFT, within = b & (BUNDLE_BLOCKS - 1);
    int64_t begin = (int64_t)bundle_offset(c, k) + PLACES_BYTES,
            end = (int64_t)bundle_offset(c, k + 1);
    const uint8_t *guess = c->bundles + begin + (end - begin) * within / BUNDLE_BLOCKS;
    PREFETCH(guess);
    PREFETCH(guess + 64); /* the next cache line */
}

/* Adds the gaps from the first row of the block on. A block can contain the end of one list and the
 * start of the next one, where Psi decreases; gaps are modulo n + 1, so the sum is correct there,
 * too. */
uint64_t compact_psi(const compact *c, int64_t r)
{
    int64_t b = r >> c->block_shift;
    prefetch_gaps(c, b);
    uint64_t v = block_first(c, b);
    gap_reader g = gaps_of(c, b);
    return wrapped(c, v + sum_gaps(&g, r & (c->block - 1)));
}

void compact_prefetch_directory(const compact *c, int64_t r)
{
    PREFETCH(c->directory + (r >> c->block_shift >> BUNDLE_SHIFT));
}

void compact_prefetch_block(const compact *c, int64_t r)
{
    int64_t b = r >> c->block_shift;
    PREFETCH(c->bundles + bundle_offset(c, b >> BUNDLE_SHIFT));
    prefetch_gaps(c, b);
}

/* The table narrows the search to the symbols between two of its entries. */
uint32_t compact_symbol(const compact *c, int64_t r)
{
    int64_t k = r >> c->symbol_shift;
    uint32_t lo = c->symbols[k], hi = (uint32_t)c->n_symbols - 1;
    if (k < c->n >> c->symbol_shift) hi = c->symbols[k + 1];
    while (lo < hi) {
        uint32_t mid = hi - (hi - lo) / 2;
        if ((int64_t)c->first[mid] <= r) lo = mid;
        else hi = mid - 1;
    }
    return lo;
}

INLINE rows list_of(const compact *c, uint32_t symbol)
{
    rows ret = {c->first[symbol], c->first[symbol + 1]};
    return ret;
}

/* Blocks or bundles lo..hi, which contain all rows of a list. A search narrows this range to the
 * last block or bundle whose first Psi is below a given value or, if there is none, to the first
 * one. The first row whose Psi is at least that value is in the block or bundle found, or is the
 * first row of the next one. */
typedef struct span {
    int64_t lo, hi;
} span;

INLINE span span_of(rows list, int shift)
{
    span ret = {list.lo >> shift, (list.hi - 1) >> shift};
    return ret;
}

INLINE int64_t middle(span in) { return in.hi - (in.hi - in.lo) / 2; }

/* Makes one step of the binary search; `first` is the Psi with which the middle block or bundle
 * begins. */
INLINE void narrow(span *io, uint32_t first, uint64_t a)
{
    int64_t mid = middle(*io);
    if (first < a) io->lo = mid;
    else io->hi = mid - 1;
}

INLINE span bundles_of(const compact *c, rows list)
{
    return span_of(list, c->block_shift + BUNDLE_SHIFT);
}

INLINE int64_t bundle_with(const compact *c, rows list, uint64_t a)
{
    span in = bundles_of(c, list);
    while (in.lo < in.hi) narrow(&in, c->directory[middle(in)].first, a);
    return in.lo;
}

/* The list's blocks in a bundle. */
INLINE span blocks_in(const compact *c, rows list, int64_t k)
{
    span ret = span_of(list, c->block_shift);
    int64_t first = k << BUNDLE_SHIFT, last = first + BUNDLE_BLOCKS - 1;
    if (ret.lo < first) ret.lo = first;
    if (ret.hi > last) ret.hi = last;
    return ret;
}

/* The row of bundle k at which the scan for a Psi of at least `a` starts. Counting the blocks that
 * begin below `a` takes no unpredictable branch. */
INLINE int64_t scan_from(const compact *c, rows list, int64_t k, uint64_t a)
{
    span in = blocks_in(c, list, k);
    const uint8_t *place = place_of(c, bundle_offset(c, k), in.lo);
    int64_t block = in.lo;
    for (int64_t n = in.hi - in.lo; n > 0; n--) {
        place += PLACE_BYTES;
        block += place_first(place) < a;
    }
    int64_t row = block << c->block_shift;
    return row > list.lo ? row : list.lo;
}

/* Finds, in rows from..list.hi-1, the first row whose Psi is at least `a` and the first whose Psi
 * is at least `b`, a <= b. Scans one block; if that block does not contain the second row, another
 * search finds the row. */
static rows scan(const compact *c, rows list, int64_t from, uint64_t a, uint64_t b);

/* The rows of a list whose Psi is at least `a` and below `b`. */
static rows list_between(const compact *c, rows list, uint64_t a, uint64_t b)
{
    return scan(c, list, scan_from(c, list, bundle_with(c, list, a), a), a, b);
}

/* Whether the block after this one begins with a Psi below `b`. */
INLINE int next_is_below(const compact *c, int64_t block, uint64_t b)
{
    int64_t next = block + 1;
    if (next & (BUNDLE_BLOCKS - 1)) return block_first(c, next) < b;
    return c->directory[next >> BUNDLE_SHIFT].first < b;
}

/* Advances from entry *io_r, whose Psi is v, to the first one with a Psi of at least `least`, or to
 * `stop`. Returns the Psi of that entry. As long as v stays below `least`, adds up to four gaps at
 * once, whose classes were read together; then single gaps. */
INLINE uint64_t skip_below(gap_reader *g, uint64_t v, uint64_t least, int64_t *io_r, int64_t stop)
{
    int64_t r = *io_r, low;
    while (v < least) {
        if (g->n_classes == 0) {
            next_classes(g);
            uint64_t group = group_sum(g, &low);
            if (group && v + group < least && r + g->n_classes < stop) {
                v += group;
                r += g->n_classes;
                g->low = low;
                g->n_classes = 0;
                continue;
            }
        }
        if (++r == stop) break;
        v += next_gap(g);
    }
    *io_r = r;
    return v;
}

static rows scan(const compact *c, rows list, int64_t from, uint64_t a, uint64_t b)
{
    int64_t block = from >> c->block_shift, r = block << c->block_shift,
            stop = r + c->block < list.hi ? r + c->block : list.hi;
    uint64_t v = block_first(c, block);
    gap_reader g = gaps_of(c, block);
    v = wrapped(c, v + sum_gaps(&g, from - r));
    r = from;
    v = skip_below(&g, v, a, &r, stop);
    rows ret = {r, r};
    if (r < stop) skip_below(&g, v, b, &r, stop);
    ret.hi = r;
    if (r == stop && a < b && stop < list.hi && next_is_below(c, block, b)) {
        rows rest = {stop, list.hi};
        ret.hi = list_between(c, rest, b, b).lo;
    }
    return ret;
}

/* Psi is 1 + the next row, hence the bounds. */
rows compact_before(const compact *c, uint32_t symbol, rows in)
{
    rows list = list_of(c, symbol);
    if (list.lo == list.hi || in.lo >= in.hi) {
        list.hi = list.lo;
        return list;
    }
    return list_between(c, list, (uint64_t)in.lo + 1, (uint64_t)in.hi + 1);
}

INLINE int is_empty(const compact *c, const compact_query *query)
{
    return compact_frequency(c, query->symbol) == 0 || query->in.lo >= query->in.hi;
}

/* As in search.c, each round prefetches for all lanes before it reads for any of them. Once the
 * bundles are known, the places of their blocks are prefetched, and then the gaps. The gaps of a
 * block take about 120 bytes, and the first and the last bytes are read first. */
static void before_lanes(const compact *c, compact_query *queries, int n)
{
    span at[COMPACT_LANES];
    int n_active = n;
    for (int i = 0; i < n; i++) at[i] = bundles_of(c, list_of(c, queries[i].symbol));
    while (n_active) {
        n_active = 0;
        for (int i = 0; i < n; i++)
            if (at[i].lo < at[i].hi) PREFETCH(c->directory + middle(at[i]));
        for (int i = 0; i < n; i++) {
            if (at[i].lo >= at[i].hi) continue;
            narrow(&at[i], c->directory[middle(at[i])].first, (uint64_t)queries[i].in.lo + 1);
            n_active += at[i].lo < at[i].hi;
        }
    }
    for (int i = 0; i < n; i++)
        if (!is_empty(c, &queries[i])) PREFETCH(c->bundles + bundle_offset(c, at[i].lo));
    int64_t from[COMPACT_LANES];
    for (int i = 0; i < n; i++) {
        if (is_empty(c, &queries[i])) continue;
        rows list = list_of(c, queries[i].symbol);
        from[i] = scan_from(c, list, at[i].lo, (uint64_t)queries[i].in.lo + 1);
        gap_reader g = gaps_of(c, from[i] >> c->block_shift);
        PREFETCH(g.gaps + (g.at >> 3));
        PREFETCH(g.gaps + (g.low >> 3) - 1);
    }
    for (int i = 0; i < n; i++) {
        rows list = list_of(c, queries[i].symbol), none = {0, 0};
        rows *in = &queries[i].in;
        if (is_empty(c, &queries[i])) *in = none;
        else *in = scan(c, list, from[i], (uint64_t)in->lo + 1, (uint64_t)in->hi + 1);
    }
}

void compact_before_many(const compact *c, compact_query *queries, int64_t n)
{
    for (int64_t at = 0; at < n; at += COMPACT_LANES)
        before_lanes(c, queries + at, (int)(n - at < COMPACT_LANES ? n - at : COMPACT_LANES));
}

/* ------------------------------------------------------------------------------- from disk ---- */

INLINE void read_bundle_ahead(const compact *c, int64_t k)
{
    uint64_t begin = bundle_offset(c, k), end = bundle_offset(c, k + 1);
    pages_read_ahead(c->bundles + begin, (int64_t)end - (int64_t)begin);
}

void compact_read_ahead(const compact *c, const compact_query *queries, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (is_empty(c, &queries[i])) continue;
        rows list = list_of(c, queries[i].symbol);
        int64_t a = bundle_with(c, list, (uint64_t)queries[i].in.lo + 1),
                b = bundle_with(c, list, (uint64_t)queries[i].in.hi + 1);
        read_bundle_ahead(c, a);
        if (b != a) read_bundle_ahead(c, b);
    }
}
