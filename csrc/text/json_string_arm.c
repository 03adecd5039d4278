/* json_string_arm.c - reads JSON strings with NEON
 *
 * take and skip come from json_string_run.h with blocks of 64 bytes; only the search for special
 * bytes and the validation of UTF-8 are written here. Results equal those of the portable
 * level. */

#include "ground/cpu.h"

#if defined(UNITOK_ARM64)

#include "ground/neon.h"
#include "text/json.h"
#include "text/utf8_check.h"

/* Four vectors are converted to one 64-bit mask together, because converting each by itself is slow
 * (neon.h). */
INLINE uint64_t specials_neon(const uint8_t *in, uint8_t *out, uint64_t *high)
{
    uint8x16_t special[4], any = vdupq_n_u8(0);
    for (int k = 0; k < 4; k++) {
        uint8x16_t x = vld1q_u8(in + 16 * k);
        uint8x16_t marks = vorrq_u8(vceqq_u8(x, vdupq_n_u8('"')), vceqq_u8(x, vdupq_n_u8('\\')));
        special[k] = vorrq_u8(marks, vcltq_u8(x, vdupq_n_u8(0x20)));
        any = vorrq_u8(any, x);
        if (out) vst1q_u8(out + 16 * k, x);
    }
    *high |= vmaxvq_u8(any) & 0x80;
    return bits_neon(special);
}

#define LEVEL(name) name##_neon
#define LEVEL_TARGET
#define BLOCK 64
#define SPECIALS specials_neon
#define FIRST(specials) lowest_bit(specials)
#include "text/json_string_run.h"

/* Returns nonzero bytes where x, which follows `before`, is invalid UTF-8: see utf8_check.h. The
 * bytes before each byte of x come from both vectors:
 *
 *     before    … b13 b14 b15 │ x     x0  x1 x2 …
 *     first       b15 x0 x1 …         the byte before each byte of x; second and third precede it
 *
 * An unsigned saturating subtraction leaves 0x80 or more only after the lead of a character of 3
 * bytes (from 0xE0 on) or 4 bytes (from 0xF0 on). */
INLINE uint8x16_t errors_neon(uint8x16_t x, uint8x16_t before)
{
    uint8x16_t first = vextq_u8(before, x, 15), second = vextq_u8(before, x, 14),
               third = vextq_u8(before, x, 13);
    uint8x16_t a = vqtbl1q_u8(vld1q_u8(first_upper), vshrq_n_u8(first, 4));
    uint8x16_t b = vqtbl1q_u8(vld1q_u8(first_lower), vandq_u8(first, vdupq_n_u8(0x0F)));
    uint8x16_t c = vqtbl1q_u8(vld1q_u8(second_upper), vshrq_n_u8(x, 4));
    uint8x16_t behind_3 = vqsubq_u8(second, vdupq_n_u8(0xE0 - 0x80));
    uint8x16_t behind_4 = vqsubq_u8(third, vdupq_n_u8(0xF0 - 0x80));
    uint8x16_t must = vandq_u8(vorrq_u8(behind_3, behind_4), vdupq_n_u8(0x80));
    return veorq_u8(must, vandq_u8(vandq_u8(a, b), c));
}

/* ASCII that follows ASCII cannot contain an error, so only other blocks are checked. Errors are
 * collected without a branch, and the result is read once. */
static int check_neon(const uint8_t *text, int64_t n)
{
    uint8x16_t before = vdupq_n_u8(0), errors = vdupq_n_u8(0);
    int64_t i = 0;
    for (; n - i >= 16; i += 16) {
        uint8x16_t x = vld1q_u8(text + i);
        if (vmaxvq_u8(vorrq_u8(x, before)) & 0x80)
            errors = vorrq_u8(errors, errors_neon(x, before));
        before = x;
    }
    /* the padding makes an incomplete character at the end an error, even if n is a multiple of
     * 16 */
    uint8_t rest[16] = {0};
    for (int64_t k = 0; k < n - i; k++) rest[k] = text[i + k];
    errors = vorrq_u8(errors, errors_neon(vld1q_u8(rest), before));
    return vmaxvq_u8(errors) == 0;
}

const json_level json_neon = {take_neon, skip_neon, check_neon};

#endif
