/* fuzz_compact.c - a libFuzzer target: damaged compact indexes are rejected or return answers, and
 * are never read out of bounds
 *
 * The input: u8 number of tokens, u8 symbols, u8 options, the tokens, of one byte each, then
 * changes to the file: u8 section (COMPACT_SECTIONS: the footer), u16 position, u8 value. */
#include "compacts.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    static uint8_t built[COMPACT_MAX_BYTES];
    uint16_t ids[256];
    uint32_t sa[256];
    unitok_error error;
    unitok_compact *c;
    compact_footer f;
    int64_t n_bytes, n = 0;
    running = "fuzz_compact";
    if (n_input_bytes < 3) return 0;
    int64_t k = 1 + input[1] % 40;
    int32_t options = input[2];
    size_t at = 3;
    for (; n < input[0] && at < n_input_bytes; at++) ids[n++] = (uint16_t)(input[at] % k);
    sort_rows(ids, n, sa);
    CHECK(!make_compact(ids, sa, n, k, options & 1 ? 64 : 128, options & 2 ? 4 : 32 * (options & 4),
                        options & 8 ? 7 : (options & 16) * 4, 1000, built, &n_bytes, &error));
    memcpy(&f, built + n_bytes - sizeof f, sizeof f);
    for (; at + 4 <= n_input_bytes; at += 4) {
        size_t section = input[at] % (COMPACT_SECTIONS + 1);
        uint64_t begin = f.offsets[section], end = (uint64_t)n_bytes;
        if (section < COMPACT_SECTIONS) end = f.offsets[section + 1];
        if (begin == end) continue;
        built[begin + (input[at + 1] | input[at + 2] << 8) % (end - begin)] = input[at + 3];
    }
    uint8_t *image = malloc((size_t)n_bytes);
    memcpy(image, built, (size_t)n_bytes);
    if (!unitok_compact_open(image, n_bytes, &c, &error)) {
        use_compact(c);
        unitok_compact_free(c);
    } else {
        CHECK(error.status == UNITOK_ERROR_FORMAT);
    }
    free(image);
    return 0;
}
