/* compact_build.c - builds a compact index from a text and its suffix array, in steps: see
 * compact_build.h for the passes, and compact.h for the file
 *
 * The text and the suffix array are the only large blocks of memory: the symbol before each suffix
 * replaces the text, and Psi replaces the suffix array. Gaps are written as they are encoded.
 * Everything else stays in memory and takes a quarter to a third of a byte per token if every 32nd
 * and every 64th position is sampled. */

#include "suffix/compact_build.h"

#include "ground/alloc.h"
#include "ground/error.h"

enum {
    MAX_CHOSEN = 20000, /* the number of blocks sampled to choose the codes */
    /* the largest block: COMPACT_BEHIND and COMPACT_AHEAD include loads of 8 bytes, so there is
     * also enough spare memory for stores of 8 bytes */
    MAX_BLOCK_BYTES = COMPACT_BEHIND + COMPACT_AHEAD,
    MAX_BUNDLE_BYTES = PLACES_BYTES + BUNDLE_BLOCKS * MAX_BLOCK_BYTES
};

/* ORs a number of `bits` bits into zeros at bit `at`. */
INLINE void put_bits(uint8_t *p, uint64_t at, uint64_t value, int32_t bits)
{
    uint64_t word = load_u64(p + (at >> 3)) | (value & ((UINT64_C(1) << bits) - 1)) << (at & 7);
    memcpy(p + (at >> 3), &word, 8);
}

/* ---------------------------------------------------------------------------------- passes ---- */

/* Stands for a position that is not sampled. Positions are at most UNITOK_SUFFIX_MAX_32. */
#define NO_SAMPLE UINT32_MAX

/* A row can be a sample for locating, for extracting, for both, or for neither. */
INLINE void take_sample(compact_builder *b, int64_t r, uint32_t position)
{
    uint32_t s = b->footer.locate_every, e = b->footer.extract_every;
    if (s && (position & (s - 1)) == 0 && b->n_samples < b->layout.n_samples) {
        int64_t k = b->n_samples++;
        uint64_t at = (uint64_t)(r / s + k);
        b->upper[at >> 3] |= (uint8_t)(1 << (at & 7));
        put_bits(b->lower, (uint64_t)(k * b->layout.lower_bits), (uint64_t)(r % s),
                 b->layout.lower_bits);
        put_bits(b->samples, (uint64_t)(k * b->layout.sample_bits), position / s,
                 b->layout.sample_bits);
    }
    if (e && position % e == 0)
        put_bits(b->starts, (uint64_t)(position / e) * (uint64_t)b->layout.start_bits, (uint64_t)r,
                 b->layout.start_bits);
}

/* The number of positions whose rows are given. */
INLINE int64_t n_rows(const compact_builder *b)
{
    return b->n ? ((b->n - 1) >> b->rows_shift) + 1 : 0;
}

/* The rows are in the order of their positions; the samples must be in the order of the rows. */
static const char *spread_rows(compact_builder *b, int64_t stop)
{
    for (; b->at < stop; b->at++) {
        if (b->rows[b->at] >= b->n) return "a row is out of range";
        b->sa[b->rows[b->at]] = (uint32_t)(b->at << b->rows_shift);
    }
    return NULL;
}

/* Takes the samples of all rows, in order, and notes how many come before each group of buckets. */
static const char *take_samples(compact_builder *b, int64_t stop)
{
    const uint32_t *positions = b->sa;
    int64_t group = b->footer.locate_every ? COMPACT_GROUP * (int64_t)b->footer.locate_every : b->n;
    for (int64_t r = b->at; r < stop; r++) {
        if (b->footer.locate_every && (r & (group - 1)) == 0)
            b->groups[r / group] = (uint32_t)b->n_samples;
        if (positions[r] != NO_SAMPLE) take_sample(b, r, positions[r]);
    }
    b->at = stop;
    return NULL;
}

#define TEMPLATE "suffix/compact_lists.h"
#define POSITION_BITS 32
#include "suffix/widths.h"
#undef POSITION_BITS

/* Converts counts into the starts of lists. The row of position 0 has been counted with a symbol 0,
 * although no symbol precedes it, and the last symbol of the text precedes no suffix. The list of
 * the latter begins with its Psi, 0, which end_pass stores. */
static void begin_lists(compact_builder *b)
{
    for (uint32_t k = 0; k < b->footer.n_symbols; k++) b->first[k + 1] += b->heads[k];
    if (b->n > 0) {
        b->first[1]--;
        b->first[b->last_symbol + 1]++;
    }
    for (uint32_t k = 0; k < b->footer.n_symbols; k++) b->first[k + 1] += b->first[k];
    memcpy(b->heads, b->first, b->footer.n_symbols * sizeof *b->heads);
}

/* Indexed by the width of symbols: 1, 2 and 4 bytes. */
static const char *(*const build_passes[])(compact_builder *, int64_t) = {
    NULL, build_pass_8_32, build_pass_16_32, NULL, build_pass_32_32};

/* ----------------------------------------------------------------------------------- codes ---- */

/* The gap before row r, which must not be the first row of a block. */
INLINE uint32_t gap_at(const compact_builder *b, int64_t r)
{
    uint32_t v = b->sa[r], before = b->sa[r - 1];
    return v > before ? v - before : v + (uint32_t)b->n + 1 - before;
}

/* The rows of block k, which begins with row b->footer.block * k, without its first row. */
INLINE rows gap_rows(const compact_builder *b, int64_t k)
{
    rows ret = {k * b->footer.block + 1, (k + 1) * b->footer.block};
    if (ret.hi > b->n) ret.hi = b->n;
    return ret;
}

static code_counts count_classes(const compact_builder *b, int64_t k)
{
    code_counts ret = {{0}};
    rows in = gap_rows(b, k);
    for (int64_t r = in.lo; r < in.hi; r++) ret.of[highest_bit(gap_at(b, r))]++;
    return ret;
}

/* Looks at no more than MAX_CHOSEN blocks, at equal distances, so the time does not grow with the
 * text. Each class gets a codeword even if none of these blocks has it, so every block can be
 * encoded. A gap is at most n, which bounds the classes. */
static int32_t choose_codes(compact_builder *b)
{
    int64_t n_blocks = b->layout.n_blocks, n = n_blocks < MAX_CHOSEN ? n_blocks : MAX_CHOSEN;
    code_counts *counts = mem_alloc((size_t)(n + 1) * sizeof *counts);
    uint8_t *label = mem_alloc((size_t)n + 1);
    if (counts && label) {
        int n_classes = packed_bits((uint64_t)b->n);
        for (int64_t k = 0; k < n; k++) counts[k] = count_classes(b, k * n_blocks / n);
        codes_choose(counts, n, n_classes < 2 ? 2 : n_classes, label, &b->footer.codes);
        codes_to_words(&b->footer.codes, &b->words);
    }
    int is_done = counts && label;
    mem_free(counts);
    mem_free(label);
    return is_done ? UNITOK_OK : UNITOK_ERROR_MEMORY;
}

/* ------------------------------------------------------------------------------------ gaps ---- */

/* Writes numbers of up to 32 bits, one after another, from a given bit on. */
typedef struct bit_writer {
    uint8_t *p;
    uint64_t bits; /* not written yet, or only in part */
    int32_t n;     /* their number, at most 7 between two numbers */
} bit_writer;

/* Starts at bit `at`; the bits before it in the same byte are kept. */
INLINE bit_writer write_from(uint8_t *p, uint64_t at)
{
    bit_writer ret = {p + (at >> 3), p[at >> 3], (int32_t)(at & 7)};
    return ret;
}

/* Writes complete words, so up to 8 bytes after the number become 0. */
INLINE void write_bits(bit_writer *w, uint64_t value, int32_t bits)
{
    w->bits |= value << w->n;
    w->n += bits;
    memcpy(w->p, &w->bits, 8);
    w->p += w->n >> 3;
    w->bits >>= w->n & ~7;
    w->n &= 7;
}

/* Encodes block k into `out` and returns its size. Classes are written from the start, and low bits
 * from the end:
 *
 *     table | class 1 | class 2 | class 3 | ……… | low bits 3 | low bits 2 | low bits 1
 *     at ──────▶                                                        ◀────── low
 *
 * So the codewords of several gaps are adjacent, and one lookup decodes them all; the same is true
 * of their low bits. The last gap has the first low bits, so these are written forward as well, in
 * a second loop. */
static int64_t encode_block(const compact_builder *b, int64_t k, uint8_t *out)
{
    uint32_t gaps[COMPACT_MAX_BLOCK], code_bits, low_bits = 0;
    uint8_t classes[COMPACT_MAX_BLOCK] = {0};
    rows in = gap_rows(b, k);
    int64_t n = in.hi - in.lo;
    for (int64_t i = 0; i < n; i++) {
        gaps[i] = gap_at(b, in.lo + i);
        classes[i] = (uint8_t)highest_bit(gaps[i]);
        low_bits += classes[i];
    }
    int table = codes_best(&b->words, classes, n, &code_bits);
    int64_t n_bytes = (4 + code_bits + low_bits + 7) / 8;
    const uint8_t *lengths = b->footer.codes.bits[table];
    const uint16_t *words = b->words.word[table];
    bit_writer w = {out, 0, 0};
    write_bits(&w, (uint64_t)table, 4);
    for (int64_t i = 0; i < n; i++) write_bits(&w, words[classes[i]], lengths[classes[i]]);
    w = write_from(out, (uint64_t)n_bytes * 8 - low_bits);
    for (int64_t i = n - 1; i >= 0; i--) write_bits(&w, gaps[i] - (1u << classes[i]), classes[i]);
    return n_bytes;
}

/* Encodes bundle k into `out`, which begins with PLACES_BYTES zeros, and returns its size. */
static int64_t encode_bundle(const compact_builder *b, int64_t k, uint8_t *out)
{
    int64_t n_bytes = PLACES_BYTES;
    for (int64_t i = 0; i < BUNDLE_BLOCKS; i++) {
        int64_t at = k * BUNDLE_BLOCKS + i;
        put_bits(out, (uint64_t)(8 * PLACE_BYTES * i), (uint64_t)n_bytes, 16);
        if (at >= b->layout.n_blocks) continue;
        put_bits(out, (uint64_t)(8 * (PLACE_BYTES * i + 2)), b->sa[at * b->footer.block], 32);
        n_bytes += encode_block(b, at, out + n_bytes);
    }
    put_bits(out, 8 * PLACE_BYTES * BUNDLE_BLOCKS, (uint64_t)n_bytes, 16);
    return n_bytes;
}

/* Writes bundles until the budget is used up or `out` has no space for another one. */
static const char *write_bundles(compact_builder *b, int64_t stop, uint8_t *out, int64_t capacity,
                                 int64_t *ret_bytes)
{
    while (b->at < stop && capacity - *ret_bytes >= MAX_BUNDLE_BYTES) {
        bundle head = {b->sa[b->at * BUNDLE_BLOCKS * b->footer.block], (uint32_t)b->bundles_bytes};
        if (b->bundles_bytes + MAX_BUNDLE_BYTES > UINT32_MAX)
            return "the gaps take more than 4 GiB; use smaller shards";
        b->directory[b->at] = head;
        memset(out + *ret_bytes, 0, PLACES_BYTES);
        int64_t n_bytes = encode_bundle(b, b->at++, out + *ret_bytes);
        b->bundles_bytes += (uint64_t)n_bytes;
        *ret_bytes += n_bytes;
    }
    return NULL;
}

/* The last entry of the directory, and padding after the bundles. */
static void finish_bundles(compact_builder *b, uint8_t *out, int64_t *ret_bytes)
{
    bundle end = {0, (uint32_t)b->bundles_bytes};
    b->directory[b->layout.n_bundles] = end;
    for (; b->bundles_bytes % 8; b->bundles_bytes++) out[(*ret_bytes)++] = 0;
}

/* Called after the bundles have been written, because their size is not known before; the sizes of
 * the other sections follow from the footer. */
static void lay_out_file(compact_builder *b)
{
    uint64_t at = COMPACT_PREFIX_BYTES;
    for (int k = 0; k < COMPACT_SECTIONS; k++) {
        b->footer.offsets[k] = at;
        at += k == SECTION_BUNDLES ? b->bundles_bytes : ((uint64_t)b->layout.bytes[k] + 7) / 8 * 8;
    }
    b->footer.offsets[COMPACT_SECTIONS] = at;
    memcpy(b->footer.magic, compact_magic, sizeof compact_magic);
}

/* Copies the next bytes of a table, with padding; at its end, continues with the next table. */
static void write_table(compact_builder *b, uint8_t *out, int64_t capacity, int64_t *ret_bytes)
{
    const void *tables[COMPACT_SECTIONS + 1] = {NULL,       b->directory, b->first,
                                                b->groups,  b->upper,     b->lower,
                                                b->samples, b->starts,    &b->footer};
    int is_footer = b->section == COMPACT_SECTIONS;
    int64_t size = is_footer ? (int64_t)sizeof b->footer : b->layout.bytes[b->section];
    int64_t padded = (size + 7) / 8 * 8, n = padded - b->at < capacity ? padded - b->at : capacity;
    int64_t n_copied = size - b->at < n ? size - b->at : n;
    if (n_copied > 0) memcpy(out, (const uint8_t *)tables[b->section] + b->at, (size_t)n_copied);
    if (n_copied < 0) n_copied = 0;
    memset(out + n_copied, 0, (size_t)(n - n_copied));
    *ret_bytes = n;
    b->at += n;
    if (b->at < padded) return;
    b->at = 0;
    if (b->section++ == COMPACT_SECTIONS) b->pass = BUILD_DONE;
}

/* ----------------------------------------------------------------------------------- steps ---- */

/* The largest power of two that divides the distances of both samples. */
static int64_t sampled_every(const compact_footer *f)
{
    uint64_t both = f->locate_every | f->extract_every | UINT64_C(1) << 31;
    return (int64_t)(both & (~both + 1));
}

static int divides_samples(int64_t every, const compact_footer *f)
{
    return every > 0 && !(every & (every - 1)) && every <= sampled_every(f);
}

/* Packed numbers and bits are ORed into their tables, which therefore begin as zeros. */
static int allocate(compact_builder *b)
{
    const compact_layout *layout = &b->layout;
    b->first = mem_zalloc((size_t)b->footer.n_symbols + 1, sizeof *b->first);
    b->heads = mem_zalloc((size_t)b->footer.n_symbols, sizeof *b->heads);
    b->directory = mem_alloc((size_t)layout->bytes[SECTION_DIRECTORY]);
    if (!b->rows) {
        b->rows = b->own_rows = mem_zalloc((size_t)n_rows(b) + 1, sizeof *b->rows);
        if (!b->rows) return 0;
    }
    if (!b->first || !b->heads || !b->directory) return 0;
    if (b->footer.locate_every) {
        b->groups = mem_alloc((size_t)layout->bytes[SECTION_GROUPS]);
        b->upper = mem_zalloc((size_t)layout->bytes[SECTION_UPPER], 1);
        b->lower = mem_zalloc((size_t)layout->bytes[SECTION_LOWER], 1);
        b->samples = mem_zalloc((size_t)layout->bytes[SECTION_SAMPLES], 1);
        if (!b->groups || !b->upper || !b->lower || !b->samples) return 0;
    }
    if (b->footer.extract_every) b->starts = mem_zalloc((size_t)layout->bytes[SECTION_STARTS], 1);
    return b->footer.extract_every ? b->starts != NULL : 1;
}

int32_t unitok_compact_builder_new(void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                                   uint32_t *sa, uint32_t *rows, int64_t rows_every, int32_t block,
                                   int32_t locate_every, int32_t extract_every,
                                   compact_builder **ret, unitok_error *error)
{
    compact_layout layout;
    compact_footer footer = {.n = (uint64_t)n,
                             .n_symbols = (uint32_t)n_symbols,
                             .block = (uint32_t)block,
                             .locate_every = (uint32_t)locate_every,
                             .extract_every = (uint32_t)extract_every,
                             .symbol_bytes = (uint32_t)symbol_bytes};
    if (n < 0 || n_symbols < 1 || n_symbols > UNITOK_COMPACT_SYMBOLS ||
        !compact_lay_out(&footer, &layout))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a parameter of the compact index is out of range");
    if (rows && !divides_samples(rows_every, &footer))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "rows_every must be a power of two and divide the distances of samples");
    compact_builder *b = mem_zalloc(1, sizeof *b);
    if (!b) return fail_memory(error);
    b->text = text;
    b->sa = sa;
    b->n = n;
    b->footer = footer;
    b->layout = layout;
    b->rows = rows;
    b->rows_shift = highest_bit((uint64_t)(rows ? rows_every : sampled_every(&footer)));
    b->pass = rows ? BUILD_MOVE : BUILD_BEFORE;
    if (!allocate(b)) {
        unitok_compact_builder_free(b);
        return fail_memory(error);
    }
    *ret = b;
    return UNITOK_OK;
}

void unitok_compact_builder_free(compact_builder *b)
{
    if (!b) return;
    mem_free(b->own_rows);
    mem_free(b->first);
    mem_free(b->heads);
    mem_free(b->directory);
    mem_free(b->groups);
    mem_free(b->upper);
    mem_free(b->lower);
    mem_free(b->samples);
    mem_free(b->starts);
    mem_free(b);
}

/* Finishes a pass. */
static int32_t end_pass(compact_builder *b, uint8_t *out, int64_t *ret_bytes)
{
    int32_t status = UNITOK_OK;
    b->at = 0;
    switch (b->pass++) {
    case BUILD_MOVE:
        begin_lists(b);
        break;
    case BUILD_SAMPLE:
        if (b->footer.locate_every) b->groups[b->layout.n_groups] = (uint32_t)b->n_samples;
        if (b->n > 0) b->sa[b->heads[b->last_symbol]++] = 0;
        break;
    case BUILD_CODES:
        status = choose_codes(b);
        memset(out, 0, COMPACT_PREFIX_BYTES);
        memcpy(out, compact_magic, sizeof compact_magic);
        out[sizeof compact_magic] = COMPACT_VERSION;
        *ret_bytes = COMPACT_PREFIX_BYTES;
        break;
    case BUILD_BUNDLES:
        finish_bundles(b, out, ret_bytes);
        lay_out_file(b);
        b->section = SECTION_DIRECTORY;
        break;
    default:
        break;
    }
    return status;
}

/* The number of rows, samples or bundles that a pass visits. */
static int64_t pass_length(const compact_builder *b)
{
    if (b->pass == BUILD_BUNDLES) return b->layout.n_bundles;
    if (b->pass == BUILD_SPREAD) return n_rows(b);
    return b->n;
}

/* The share of the total time that the passes before the current pass take. */
static double progress(const compact_builder *b)
{
    static const double shares[BUILD_DONE + 1] = {0, 0.35, 0.43, 0.46, 0.5, 0.73, 0.75, 0.98, 1};
    if (b->pass == BUILD_TABLES) return shares[BUILD_TABLES];
    double length = (double)pass_length(b);
    double share = length > 0 ? (double)b->at / length : 0;
    return shares[b->pass] + share * (shares[b->pass + (b->pass < BUILD_DONE)] - shares[b->pass]);
}

/* The budget is a number of rows; a bundle uses up as many rows as it contains. Choosing the codes
 * is one step. */
int32_t unitok_compact_builder_step(compact_builder *b, int64_t budget, uint8_t *out,
                                    int64_t capacity, int64_t *ret_bytes, int32_t *ret_section,
                                    double *ret_progress, unitok_error *error)
{
    const char *wrong = NULL;
    int32_t status = UNITOK_OK;
    int64_t end = pass_length(b);
    int64_t stop = b->at + (b->pass == BUILD_BUNDLES
                                ? budget / (BUNDLE_BLOCKS * b->footer.block) + 1
                                : budget);
    if (stop > end || b->pass == BUILD_CODES) stop = end;
    *ret_bytes = 0;
    *ret_section = b->pass == BUILD_CODES ? -1 : b->section;
    if (capacity < UNITOK_COMPACT_MIN_CAPACITY)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the buffer is too small");
    if (b->pass == BUILD_TABLES) write_table(b, out, capacity, ret_bytes);
    else if (b->pass == BUILD_BUNDLES) wrong = write_bundles(b, stop, out, capacity, ret_bytes);
    else if (b->pass == BUILD_CODES) b->at = stop;
    else if (b->pass < BUILD_CODES) wrong = build_passes[b->footer.symbol_bytes](b, stop);
    if (!wrong && b->pass < BUILD_TABLES && b->at == end) status = end_pass(b, out, ret_bytes);
    *ret_progress = progress(b);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, b->at, wrong);
    return status ? fail_memory(error) : UNITOK_OK;
}
