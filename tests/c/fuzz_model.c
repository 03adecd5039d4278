/* fuzz_model.c - a libFuzzer target: damaged native images must be rejected or be usable, and must
 * never cause a crash
 *
 * Random bytes never pass the header checks, so the input is a list of changes to an image of a
 * small vocabulary: u8 section, u24 position, u8 width (1, 2, 4, 8 bytes), the new value. An input
 * that begins with FF is a complete image, and one that begins with FE truncates the image. */
#include "ground/common.h"
#include "text/cut.h"
#include "pieces.h"
#include "models.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static uint8_t *good;
static int64_t n_good;
/* The header, the double array, the cuts, the lengths, the pieces, and the end: see image.c. */
static int64_t sections[6];

static void make_image(void)
{
    static struct pieces p;
    static const char *const words[] = {"the",    " the",     "the cat",          "猫",
                                        "である", "\xe3\x81", "aaaaaaaaaaaaaaaa", "ab"};
    unitok_model *m = NULL;
    unitok_model_info info;
    pieces_clear(&p);
    pieces_add_bytes(&p);
    for (int k = 0; k < 8; k++) pieces_add(&p, words[k], (int64_t)strlen(words[k]));
    unitok_spec spec = longest_spec(p.data, p.offsets, p.ids, p.n, 0, 4000);
    CHECK(!build_complete(&spec, 0, 0, &m, NULL));
    n_good = unitok_model_save(m, NULL, 0);
    good = malloc((size_t)n_good);
    unitok_model_save(m, good, n_good);
    unitok_model_get_info(m, &info);
    sections[1] = 64;
    sections[2] = sections[1] + (info.trie_bytes - 65536 * 8); /* without the heads */
    sections[3] = sections[2] + (int64_t)sizeof(cut_table);
    sections[4] = n_good - (p.offsets[p.n] + 7) / 8 * 8;
    sections[5] = n_good;
    unitok_model_free(m);
}

static int64_t id_at(const unitok_model_info *info, const void *ids, int64_t k)
{
    return info->id_bytes == 2 ? ((const uint16_t *)ids)[k] : ((const uint32_t *)ids)[k];
}

/* Whatever the tables contain, ids are in range, no byte is skipped, and nothing is accessed out of
 * bounds. */
static void use(const unitok_model *m, const uint8_t *input, size_t n_input_bytes)
{
    static const char fixed[] =
        "the cat the cat the 猫である。aaaaaaaaaaaaaaaaaaaaaaaaaaaab \xe3\x81\xe3 ab  th\xff\x80";
    unitok_model_info info;
    unitok_model_get_info(m, &info);
    unitok_scratch *s = unitok_scratch_new(m);
    for (int pass = 0; pass < 2; pass++) {
        int64_t n_bytes = pass ? (int64_t)n_input_bytes : (int64_t)sizeof fixed;
        uint8_t *text = malloc((size_t)n_bytes + 1);
        int64_t room = n_bytes + UNITOK_ENCODE_SLACK;
        void *ids = malloc((size_t)(room * info.id_bytes));
        unitok_span *spans = malloc((size_t)(n_bytes + 1) * sizeof *spans);
        memcpy(text, pass ? (const void *)input : fixed, (size_t)n_bytes);
        int64_t n = unitok_encode(m, s, text, n_bytes, ids, room);
        CHECK(n >= 0 && n <= n_bytes);
        for (int64_t k = 0; k < n; k++) CHECK(id_at(&info, ids, k) < info.n_ids);
        n = unitok_encode_spans(m, s, text, n_bytes, spans, n_bytes);
        CHECK(n >= 0 && n <= n_bytes && (n == 0 ? n_bytes == 0 : spans[n - 1].end == n_bytes));
        for (int64_t k = 0; k < n; k++)
            CHECK(spans[k].id < info.n_ids && spans[k].begin == (k ? spans[k - 1].end : 0) &&
                  spans[k].end > spans[k].begin);
        int64_t split = unitok_split(m, text, n_bytes), bounds[2] = {0, n}, sizes[2], n_piece;
        CHECK(split >= 0 && split <= n_bytes);
        if (!unitok_decode_batch(m, ids, bounds, 1, 1, text, n_bytes ? 1 : 0, NULL, -1, sizes,
                                 NULL)) {
            uint8_t *back = malloc((size_t)sizes[1] + 1);
            CHECK(!unitok_decode_batch(m, ids, bounds, 1, 1, text, n_bytes ? 1 : 0, back, sizes[1],
                                       sizes, NULL));
            free(back);
        }
        for (int64_t k = 0; k < n; k++)
            unitok_model_find(m, text + spans[k].begin, spans[k].end - spans[k].begin);
        for (int64_t id = -1; id <= info.n_ids; id++) {
            const uint8_t *piece = unitok_model_piece(m, id, &n_piece);
            if (piece && n_piece < 64) CHECK(unitok_model_find(m, piece, n_piece) < info.n_ids);
        }
        free(spans);
        free(ids);
        free(text);
    }
    unitok_scratch_free(s);
}

static void try_image(const uint8_t *image, int64_t n_bytes, const uint8_t *input,
                      size_t n_input_bytes)
{
    for (int engine = 0; engine < 2; engine++) {
        unitok_model *m = NULL;
        unitok_error error = {0, 0, 0, NULL};
        int32_t cpu = n_input_bytes % 2 ? UNITOK_CPU_AUTO : UNITOK_CPU_PORTABLE;
        int32_t status = load_complete(image, n_bytes, engine, cpu, &m, &error);
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_FORMAT);
        CHECK((status == UNITOK_OK) == (m != NULL));
        CHECK(!status || (error.status == status && error.message && error.position >= 0 &&
                          error.position <= n_good));
        if (m) use(m, input, n_input_bytes);
        unitok_model_free(m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    running = "fuzz_model";
    if (!good) make_image();
    if (n_input_bytes == 0) return 0;
    int64_t n_bytes = n_good;
    if (input[0] == 0xFF) n_bytes = (int64_t)n_input_bytes - 1;
    if (input[0] == 0xFE && n_input_bytes >= 4)
        n_bytes = (input[1] | input[2] << 8 | input[3] << 16) % (n_good + 1);
    uint8_t *image = malloc((size_t)n_bytes + !n_bytes); /* malloc aligns to 16 */
    memcpy(image, input[0] == 0xFF ? input + 1 : good, (size_t)n_bytes);
    for (size_t at = 0; input[0] < 0xFE && at + 6 <= n_input_bytes;) {
        int section = input[at] % 5;
        int64_t place = input[at + 1] | input[at + 2] << 8 | input[at + 3] << 16;
        int64_t width = (int64_t)1 << input[at + 4] % 4;
        place = sections[section] +
                place * (section ? width : 1) % (sections[section + 1] - sections[section]);
        at += 5;
        for (int64_t k = 0; k < width && at < n_input_bytes && place + k < n_bytes; k++)
            image[place + k] = input[at++];
    }
    try_image(image, n_bytes, input, n_input_bytes);
    free(image);
    return 0;
}
