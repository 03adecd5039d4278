/* json_string_x86.c - reads JSON strings with SSE2, AVX2 and AVX-512
 *
 * Each level defines SPECIALS and includes json_string_run.h, which defines take and skip:
 *
 *     level      block     special bytes              UTF-8
 *     SSE2       32        comparisons, two halves     portable
 *     AVX2       64        comparisons, two halves     lookups, 32 bytes at a time
 *     AVX-512    64        comparisons to masks        that of AVX2
 *
 * `high` collects whether a byte outside ASCII occurred; only then is UTF-8 checked (json.c). */

#include "ground/cpu.h"

#if defined(UNITOK_X86)

#include "ground/x86.h"
#include "text/json.h"
#include "text/utf8_check.h"

#define FIRST(specials) lowest_bit(specials)

/* ------------------------------------------------------------------------------------ SSE2 ---- */

/* SSE2 compares only signed bytes, so x < 0x20 is computed as min(x, 0x1F) == x. */
INLINE uint64_t specials_sse2(const uint8_t *in, uint8_t *out, uint64_t *high)
{
    uint64_t specials = 0;
    for (int k = 0; k < 32; k += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(in + k));
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1F)), x);
        __m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"')),
                backslash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
        if (out) _mm_storeu_si128((__m128i *)(void *)(out + k), x);
        specials |= (uint64_t)(uint32_t)_mm_movemask_epi8(
                        _mm_or_si128(control, _mm_or_si128(quote, backslash)))
                    << k;
        *high |= (uint64_t)(uint32_t)_mm_movemask_epi8(x);
    }
    return specials;
}

#define LEVEL(name) name##_sse2
#define LEVEL_TARGET
#define BLOCK 32
#define SPECIALS specials_sse2
#include "text/json_string_run.h"
#undef LEVEL
#undef LEVEL_TARGET
#undef BLOCK
#undef SPECIALS

/* SSE2 has no byte lookup, so UTF-8 is checked by the portable code. */
static int check_sse2(const uint8_t *text, int64_t n) { return json_portable.check(text, n); }

/* ------------------------------------------------------------------------------------ AVX2 ---- */

#define AVX2 TARGET("avx2,bmi,bmi2,popcnt")

AVX2 INLINE uint64_t specials_avx2(const uint8_t *in, uint8_t *out, uint64_t *high)
{
    uint64_t specials = 0;
    for (int k = 0; k < 64; k += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(in + k));
        __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(x, _mm256_set1_epi8(0x1F)), x);
        __m256i quote = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('"'));
        __m256i backslash = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\'));
        __m256i special = _mm256_or_si256(control, _mm256_or_si256(quote, backslash));
        if (out) _mm256_storeu_si256((__m256i *)(void *)(out + k), x);
        specials |= (uint64_t)(uint32_t)_mm256_movemask_epi8(special) << k;
        *high |= (uint64_t)(uint32_t)_mm256_movemask_epi8(x);
    }
    return specials;
}

#define LEVEL(name) name##_avx2
#define LEVEL_TARGET AVX2
#define BLOCK 64
#define SPECIALS specials_avx2
#include "text/json_string_run.h"
#undef LEVEL
#undef LEVEL_TARGET
#undef SPECIALS

AVX2 INLINE __m256i table_avx2(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

/* Returns the last n bytes of `before`, followed by x without its last n bytes. */
#define BEFORE_AVX2(x, before, n)                                                                  \
    _mm256_alignr_epi8(x, _mm256_permute2x128_si256(before, x, 0x21), 16 - (n))

/* Returns nonzero bytes where x, which follows `before`, is invalid UTF-8. The three lookups find
 * pairs of bytes that must not be adjacent, and mark two continuations in a row; XORing these marks
 * with the positions where a third or fourth byte must be a continuation leaves the errors
 * (utf8_check.h). */
AVX2 INLINE __m256i errors_avx2(__m256i x, __m256i before)
{
    const __m256i low = _mm256_set1_epi8(0x0F);
    __m256i first = BEFORE_AVX2(x, before, 1), second = BEFORE_AVX2(x, before, 2),
            third = BEFORE_AVX2(x, before, 3);
    __m256i a = _mm256_shuffle_epi8(table_avx2(first_upper),
                                    _mm256_and_si256(_mm256_srli_epi16(first, 4), low));
    __m256i b = _mm256_shuffle_epi8(table_avx2(first_lower), _mm256_and_si256(first, low));
    __m256i c = _mm256_shuffle_epi8(table_avx2(second_upper),
                                    _mm256_and_si256(_mm256_srli_epi16(x, 4), low));
    /* 0x80 or more: the second byte after a lead of 3 or 4 bytes, or the third byte after a lead of
     * 4 */
    __m256i behind_3 = _mm256_subs_epu8(second, _mm256_set1_epi8(0xE0 - 0x80));
    __m256i behind_4 = _mm256_subs_epu8(third, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    __m256i must = _mm256_and_si256(_mm256_or_si256(behind_3, behind_4), _mm256_set1_epi8(-128));
    return _mm256_xor_si256(must, _mm256_and_si256(_mm256_and_si256(a, b), c));
}

/* A block of ASCII that follows ASCII cannot contain errors, so it is skipped. The last block is
 * padded with zeros, so an incomplete character at the end is an error. */
AVX2 static int check_avx2(const uint8_t *text, int64_t n)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i before = zero, errors = zero;
    int64_t i = 0;
    for (; n - i >= 32; i += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(text + i));
        if (_mm256_movemask_epi8(_mm256_or_si256(x, before)))
            errors = _mm256_or_si256(errors, errors_avx2(x, before));
        before = x;
    }
    /* the padding makes an incomplete character at the end an error, even if n is a multiple of
     * 32 */
    uint8_t rest[32] = {0};
    for (int64_t k = 0; k < n - i; k++) rest[k] = text[i + k];
    errors = _mm256_or_si256(
        errors, errors_avx2(_mm256_loadu_si256((const __m256i *)(const void *)rest), before));
    return _mm256_testz_si256(errors, errors);
}

/* --------------------------------------------------------------------------------- AVX-512 ---- */

#define AVX512 TARGET("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,popcnt")

/* AVX-512 compares unsigned bytes, and comparisons produce masks. */
AVX512 INLINE uint64_t specials_avx512(const uint8_t *in, uint8_t *out, uint64_t *high)
{
    __m512i x = _mm512_loadu_si512(in);
    if (out) _mm512_storeu_si512(out, x);
    *high |= _mm512_movepi8_mask(x);
    return _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8(0x20)) |
           _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('"')) |
           _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\\'));
}

#define LEVEL(name) name##_avx512
#define LEVEL_TARGET AVX512
#define SPECIALS specials_avx512
#include "text/json_string_run.h"

const json_level json_sse2 = {take_sse2, skip_sse2, check_sse2};
const json_level json_avx2 = {take_avx2, skip_avx2, check_avx2};
const json_level json_avx512 = {take_avx512, skip_avx512, check_avx2};

#endif
