/* fuzz_normalize.c - a libFuzzer target: the input is a charsmap, symbols and a text; normalizing
 * in parts must equal normalizing at once
 *
 * The input: u8 flags (the four normalization flags; 16: a raw charsmap, not one built from rules),
 * u8 where to split, u8 number of rules, and per rule a u8 with two lengths and the bytes of key
 * and replacement; u8 number of symbols, and per symbol a u8 length and its bytes. With flag 16,
 * the rules are replaced by changes to an empty charsmap, u16 unit and u32 value each. The rest is
 * the text. */
#include "charsmaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

#define CHECK(condition) ((condition) ? (void)0 : abort())

struct reader {
    const uint8_t *p;
    size_t n_bytes;
};

static uint8_t take_byte(struct reader *r)
{
    if (!r->n_bytes) return 0;
    r->n_bytes--;
    return *r->p++;
}

static const uint8_t *take(struct reader *r, size_t *io_n_bytes)
{
    const uint8_t *p = r->p;
    if (*io_n_bytes > r->n_bytes) *io_n_bytes = r->n_bytes;
    r->p += *io_n_bytes;
    r->n_bytes -= *io_n_bytes;
    return p;
}

static uint8_t *read_charsmap(struct reader *r, int is_raw, int64_t *ret_n_bytes)
{
    static struct charsmap_maker maker;
    maker_start(&maker);
    if (is_raw) maker.n_blocks = 6;
    for (size_t k = take_byte(r) % 16; k > 0 && !is_raw; k--) {
        uint8_t lengths = take_byte(r);
        size_t n_key = lengths & 15, n_to = lengths >> 4;
        const uint8_t *key = take(r, &n_key), *to = take(r, &n_to);
        if (!memchr(key, 0, n_key) && !memchr(to, 0, n_to)) maker_add(&maker, key, n_key, to, n_to);
    }
    for (size_t k = is_raw ? 16 : 0; k > 0; k--) {
        uint32_t at = (uint32_t)(take_byte(r) | take_byte(r) << 8) % (256 * maker.n_blocks),
                 unit = 0;
        for (int i = 0; i < 4; i++) unit = unit << 8 | take_byte(r);
        if (unit) maker.units[at] = unit;
    }
    memcpy(maker.strings + maker.n_string_bytes, " a\0\xE2\x96\x81", 7);
    if (is_raw) maker.n_string_bytes = 7;
    return maker_finish(&maker, ret_n_bytes);
}

/* Normalizes until text[0..n_bytes-1] is consumed; returns the size of the output. */
static int64_t feed(const unitok_normalizer *n, unitok_normalize_state *state, const uint8_t *text,
                    int64_t n_bytes, int last, uint8_t *out)
{
    unitok_normalizer_info info;
    unitok_normalizer_get_info(n, &info);
    int64_t n_room = info.step_bytes, consumed = 0, n_out = 0;
    uint8_t *copy = malloc((size_t)n_bytes + !n_bytes), *room = malloc((size_t)n_room);
    if (n_bytes) memcpy(copy, text, (size_t)n_bytes);
    while (consumed < n_bytes || (last && !state->is_ended)) {
        int64_t k = unitok_normalize_some(n, state, copy, n_bytes, &consumed, last, room, n_room);
        CHECK(k >= 0 && k <= n_room);
        memcpy(out + n_out, room, (size_t)k);
        n_out += k;
    }
    free(room);
    free(copy);
    return n_out;
}

static void check_text(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                       int64_t split_at)
{
    for (int compact = 0; compact < 2; compact++) {
        int64_t n_out = unitok_normalize(n, text, n_bytes, compact, NULL, NULL, 0);
        uint8_t *whole = malloc((size_t)n_out + 1), *parts = malloc((size_t)n_out + 1);
        int64_t *offsets = malloc((size_t)(n_out + 1) * sizeof *offsets);
        CHECK(unitok_normalize(n, text, n_bytes, compact, whole, offsets, n_out) == n_out);
        unitok_normalize_state state = {.is_verbatim = !compact};
        int64_t k = unitok_normalize_split(n, text, split_at);
        int64_t n_parts = feed(n, &state, text, k, 0, parts);
        n_parts += feed(n, &state, text + k, n_bytes - k, 1, parts + n_parts);
        CHECK(n_parts == n_out && !memcmp(whole, parts, (size_t)n_out));
        free(offsets);
        free(parts);
        free(whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    struct reader r = {input, n_input_bytes};
    uint8_t flags = take_byte(&r), split = take_byte(&r), types[16], symbols[16 * 32];
    int64_t offsets[17] = {0}, n_symbols = 0, n_blob_bytes;
    uint8_t *blob = read_charsmap(&r, flags & 16, &n_blob_bytes);
    for (size_t k = take_byte(&r) % 16; k > 0; k--) {
        size_t n_bytes = take_byte(&r) % 32;
        const uint8_t *symbol = take(&r, &n_bytes);
        if (!n_bytes) continue;
        memcpy(symbols + offsets[n_symbols], symbol, n_bytes);
        types[n_symbols++] = UNITOK_PIECE_USER_DEFINED;
        offsets[n_symbols] = offsets[n_symbols - 1] + (int64_t)n_bytes;
    }
    unitok_spec spec = {.flags = flags & 15,
                        .n_pieces = n_symbols,
                        .data = symbols,
                        .offsets = offsets,
                        .types = types,
                        .charsmap = blob,
                        .n_charsmap_bytes = n_blob_bytes};
    unitok_normalizer *n = NULL;
    if (!unitok_normalizer_new(&spec, UNITOK_CPU_AUTO, &n, NULL)) {
        uint8_t *text = malloc(r.n_bytes + !r.n_bytes);
        memcpy(text, r.p, r.n_bytes);
        check_text(n, text, (int64_t)r.n_bytes, (int64_t)r.n_bytes * split / 255);
        free(text);
        unitok_normalizer_free(n);
    }
    free(blob);
    return 0;
}
