/* fuzz_encode.c - a libFuzzer target: the input is a vocabulary and a text; all ways to encode must
 * return the same ids
 *
 * The input: u8 flags (1: all 256 bytes are pieces; 2: runs in the text; 4: the fallback is a
 * piece's id), u8 where to split, u8 number of pieces, and per piece a u8 length and its bytes. The
 * rest is the text; with flag 2, FE n b stands for 16 n copies of the byte b. */
#include "ground/common.h"
#include "text/cut.h"
#include "pieces.h"
#include "models.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

#define TEXT_MAX 16384
static struct pieces pieces;
static uint8_t text_buffer[TEXT_MAX];
static uint16_t expected[TEXT_MAX];
static int64_t expected_ends[TEXT_MAX];

static size_t read_pieces(const uint8_t *input, size_t n)
{
    size_t at = 3, n_pieces = input[2] % 64;
    pieces_clear(&pieces);
    for (size_t k = 0; k < n_pieces && at < n; k++) {
        size_t n_bytes = input[at++] % 40;
        if (n_bytes > n - at) n_bytes = n - at;
        pieces_add(&pieces, input + at, (int64_t)n_bytes);
        at += n_bytes;
    }
    if (input[0] & 1) pieces_add_bytes(&pieces);
    else pieces.fallback_id = input[0] & 4 && pieces.n ? pieces.ids[0] : 5000;
    return at;
}

static int64_t read_text(const uint8_t *input, size_t at, size_t n)
{
    int64_t n_bytes = 0;
    while (at < n && n_bytes < TEXT_MAX - 4096) {
        if (input[0] & 2 && input[at] == 0xFE && n - at >= 3) {
            memset(text_buffer + n_bytes, input[at + 2], 16u * input[at + 1]);
            n_bytes += 16 * input[at + 1];
            at += 3;
        } else {
            text_buffer[n_bytes++] = input[at++];
        }
    }
    return n_bytes;
}

/* Uses blocks of exactly the documented size, so that the sanitizer detects overruns. */
static void encode_one(const unitok_model *m, unitok_scratch *s, const uint8_t *text, int64_t begin,
                       int64_t end, const uint16_t *wanted, int64_t n_wanted)
{
    size_t n_bytes = (size_t)(end - begin);
    uint8_t *copy = malloc(n_bytes + !n_bytes);
    uint16_t *ids = malloc((n_bytes + UNITOK_ENCODE_SLACK) * sizeof *ids);
    if (n_bytes) memcpy(copy, text + begin, n_bytes);
    int64_t n = unitok_encode(m, s, copy, (int64_t)n_bytes, ids,
                              (int64_t)n_bytes + UNITOK_ENCODE_SLACK);
    CHECK(n == n_wanted && !memcmp(ids, wanted, (size_t)n * sizeof *ids));
    free(ids);
    free(copy);
}

static void check_model(const unitok_model *m, const uint8_t *text, int64_t n_bytes, int64_t n,
                        int64_t split_at)
{
    unitok_scratch *s = unitok_scratch_new(m);
    unitok_model_info info;
    unitok_model_get_info(m, &info);
    /* the second pass uses the memo */
    for (int pass = 0; pass < 2; pass++) encode_one(m, s, text, 0, n_bytes, expected, n);

    int64_t k = unitok_split(m, text, split_at), n_before = 0;
    CHECK(k >= 0 && k <= split_at &&
          (k > 0 || split_at == 0 || split_at < 2 * info.max_piece_bytes));
    while (n_before < n && expected_ends[n_before] <= k) n_before++;
    CHECK(k == 0 || (n_before > 0 && expected_ends[n_before - 1] == k));
    encode_one(m, s, text, 0, k, expected, n_before);
    encode_one(m, s, text, k, n_bytes, expected + n_before, n - n_before);

    int64_t offsets[4] = {0, k, k, n_bytes}, id_offsets[4];
    uint16_t *ids = malloc((size_t)(n_bytes + 3 + UNITOK_ENCODE_SLACK) * sizeof *ids);
    int64_t *ends = malloc((size_t)(n_bytes + 1) * sizeof *ends);
    for (int flags = 0; flags < 4; flags++) {
        CHECK(!unitok_encode_batch(m, s, text, offsets, 3, 65535, flags, NULL, ids,
                                   n_bytes + 3 + UNITOK_ENCODE_SLACK, id_offsets, NULL));
        CHECK(id_offsets[1] == n_before + 1 && id_offsets[2] == n_before + 2);
        CHECK(id_offsets[3] == n + 2 + !(flags & UNITOK_ENCODE_OPEN_END));
        CHECK(ids[n_before] == 65535 && ids[n_before + 1] == 65535 &&
              (flags & UNITOK_ENCODE_OPEN_END || ids[n + 2] == 65535));
        CHECK(!memcmp(ids, expected, (size_t)n_before * sizeof *ids));
        CHECK(
            !memcmp(ids + n_before + 2, expected + n_before, (size_t)(n - n_before) * sizeof *ids));
    }
    CHECK(encode_ends(m, s, text, n_bytes, ids, ends) == n &&
          !memcmp(ids, expected, (size_t)n * sizeof *ids));
    CHECK(!memcmp(ends, expected_ends, (size_t)n * sizeof *ends));
    if (pieces.fallback_id < 0) { /* lossless */
        int64_t bounds[2] = {0, n}, sizes[2];
        uint8_t *back = malloc((size_t)n_bytes + 1);
        CHECK(!unitok_decode_batch(m, ids, bounds, 1, 0, NULL, 0, back, n_bytes, sizes, NULL));
        CHECK(sizes[1] == n_bytes && !memcmp(back, text, (size_t)n_bytes));
        free(back);
    }
    free(ends);
    free(ids);
    unitok_scratch_free(s);
}

/* No scan may report a position that a piece could span. */
static void check_cuts(const uint8_t *text, int64_t n_bytes)
{
    static cut_table table;
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    if (n_bytes > 400) n_bytes = 400;
    uint8_t *copy = calloc(1, (size_t)n_bytes + CUT_READ_BEYOND);
    memcpy(copy, text, (size_t)n_bytes);
    CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, 0, &table));
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        int64_t n = cut_scan_for(cpu)(&table, copy, n_bytes, cuts);
        for (int64_t k = 0; k < n; k++) {
            CHECK(cuts[k] > (k ? cuts[k - 1] : 0) && cuts[k] < n_bytes);
            CHECK(!pieces_span(&pieces, text, n_bytes, cuts[k], 0));
        }
    }
    int64_t last = cut_last(&table, copy, n_bytes);
    CHECK(last == 0 || !pieces_span(&pieces, text, n_bytes, last, 1));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    unitok_model *built = NULL;
    running = "fuzz_encode";
    if (n_input_bytes < 3) return 0;
    int64_t n_bytes = read_text(input, read_pieces(input, n_input_bytes), n_input_bytes);
    int64_t n = pieces_encode(&pieces, text_buffer, n_bytes, expected, expected_ends);
    uint8_t *text = malloc((size_t)n_bytes + !n_bytes);
    memcpy(text, text_buffer, (size_t)n_bytes);
    unitok_spec spec = longest_spec(pieces.data, pieces.offsets, pieces.ids, pieces.n, -1,
                                    pieces.fallback_id);
    CHECK(!build_complete(&spec, 0, UNITOK_CPU_AUTO, &built, NULL));
    int64_t n_image_bytes = unitok_model_save(built, NULL, 0);
    uint8_t *image = malloc((size_t)n_image_bytes);
    CHECK(unitok_model_save(built, image, n_image_bytes) == n_image_bytes);
    for (int cpu = UNITOK_CPU_AUTO; cpu <= UNITOK_CPU_NEON; cpu++) {
        unitok_model *m = NULL;
        int engine = cpu == UNITOK_CPU_AUTO ? UNITOK_ENGINE_HAT : UNITOK_ENGINE_DOUBLE_ARRAY;
        if (cpu != UNITOK_CPU_AUTO && !unitok_cpu_supported(cpu)) continue;
        CHECK(!load_complete(image, n_image_bytes, engine, cpu, &m, NULL));
        check_model(m, text, n_bytes, n, n_bytes * input[1] / 255);
        unitok_model_free(m);
    }
    check_cuts(text, n_bytes);
    free(image);
    unitok_model_free(built);
    free(text);
    return 0;
}
