/* code_points_x86.c - code_points.h for SSE2 and AVX-512
 *
 * The lower and the upper byte of each code point are computed at the position of its first byte,
 * from that byte and the next two. The results are then compacted.
 */

#include "text/code_points.h"

#if defined(UNITOK_X86)

#include "ground/x86.h"

/* ------------------------------------------------------------------------------------ SSE2 ---- */

/* The bits of each byte of x that are set in `bits`. */
INLINE __m128i only_sse2(__m128i x, int bits)
{
    return _mm_and_si128(x, _mm_set1_epi8((char)bits));
}

INLINE __m128i equal_sse2(__m128i x, int byte)
{
    return _mm_cmpeq_epi8(x, _mm_set1_epi8((char)byte));
}

/* a where mask is set, otherwise b. */
INLINE __m128i pick_sse2(__m128i mask, __m128i a, __m128i b)
{
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}

/* Sixteen bytes at a time. a, b and c hold the text from this byte on, from the next byte on, and
 * from the byte after that, so each position has the three bytes of a character that may begin
 * there:
 *
 *     text      C3 A9 | E3 81 AB | 74
 *     two       x                           a leads two bytes and b continues
 *     three             x                   a leads three bytes, b and c continue, no surrogate or overlong form
 *     begins    x       x          x        not a second or third byte: these symbols are kept
 *     wide      00E9    306B       0074     low and high bytes, computed for each case and selected
 *
 * A character that begins in the block may end beyond it; the next block begins after it. */
int64_t code_points_sse2(const uint8_t *text, int64_t n_bytes, uint16_t *symbols)
{
    const __m128i zero = _mm_setzero_si128();
    uint16_t *out = symbols, wide[17] = {0};
    int64_t i = 0;
    while (n_bytes - i >= 18) {
        __m128i a = _mm_loadu_si128((const __m128i *)(text + i));
        uint32_t not_ascii = (uint32_t)_mm_movemask_epi8(a);
        if (!not_ascii) {
            _mm_storeu_si128((__m128i *)out, _mm_unpacklo_epi8(a, zero));
            _mm_storeu_si128((__m128i *)(out + 8), _mm_unpackhi_epi8(a, zero));
            out += 16;
            i += 16;
            continue;
        }
        __m128i b = _mm_loadu_si128((const __m128i *)(text + i + 1)),
                c = _mm_loadu_si128((const __m128i *)(text + i + 2));
        __m128i b_continues = _mm_cmplt_epi8(b, _mm_set1_epi8(-64)),
                c_continues = _mm_cmplt_epi8(c, _mm_set1_epi8(-64));
        __m128i b_high = _mm_cmpgt_epi8(b, _mm_set1_epi8((char)0x9F));
        __m128i two = _mm_and_si128(equal_sse2(only_sse2(a, 0xE0), 0xC0),
                                    _mm_cmpgt_epi8(a, _mm_set1_epi8((char)0xC1)));
        two = _mm_and_si128(two, b_continues);
        __m128i wrong = _mm_or_si128(_mm_andnot_si128(b_high, equal_sse2(a, 0xE0)),
                                     _mm_and_si128(b_high, equal_sse2(a, 0xED)));
        __m128i three = _mm_andnot_si128(wrong, equal_sse2(only_sse2(a, 0xF0), 0xE0));
        three = _mm_and_si128(three, _mm_and_si128(b_continues, c_continues));
        __m128i alone = _mm_andnot_si128(_mm_or_si128(two, three), _mm_cmplt_epi8(a, zero));

        __m128i b_low = only_sse2(b, 0x3F);
        __m128i low_of_two = _mm_or_si128(only_sse2(_mm_slli_epi16(a, 6), 0xC0), b_low);
        __m128i low_of_three = _mm_or_si128(only_sse2(_mm_slli_epi16(b, 6), 0xC0),
                                            only_sse2(c, 0x3F));
        __m128i low = pick_sse2(three, low_of_three, pick_sse2(two, low_of_two, a));
        __m128i high_of_two = only_sse2(_mm_srli_epi16(a, 2), 0x07);
        __m128i high_of_three = _mm_or_si128(only_sse2(_mm_slli_epi16(a, 4), 0xF0),
                                             _mm_srli_epi16(only_sse2(b, 0x3C), 2));
        __m128i high = _mm_and_si128(alone, _mm_set1_epi8((char)(CODE_POINT_OF_BYTE >> 8)));
        high = pick_sse2(three, high_of_three, pick_sse2(two, high_of_two, high));
        _mm_storeu_si128((__m128i *)wide, _mm_unpacklo_epi8(low, high));
        _mm_storeu_si128((__m128i *)(wide + 8), _mm_unpackhi_epi8(low, high));

        uint32_t twos = (uint32_t)_mm_movemask_epi8(two),
                 threes = (uint32_t)_mm_movemask_epi8(three);
        uint64_t begins = ~((twos | threes) << 1 | threes << 2) & 0xFFFF;
        int n = count_bits(begins);
        /* eight at a time, so that few branches are mispredicted */
        for (int done = 0; done < n; done += 8) {
            for (int k = 0; k < 8; k++) {
                /* symbols past the last one are arbitrary: they are overwritten or not counted */
                out[done + k] = wide[lowest_bit(begins | 1 << 16)];
                begins &= begins - 1;
            }
        }
        out += n;
        i += 16 + (int64_t)(twos >> 15 | (threes >> 14 & 1)) + 2 * (int64_t)(threes >> 15);
    }
    return out - symbols + code_points_portable(text + i, n_bytes - i, out);
}

/* --------------------------------------------------------------------------------- AVX-512 ---- */

#define AVX512 "avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt,bmi,bmi2"

/* The bits of each byte of x that are set in `bits`. */
TARGET(AVX512) INLINE __m512i only(__m512i x, int bits)
{
    return _mm512_and_si512(x, _mm512_set1_epi8((char)bits));
}

TARGET(AVX512) INLINE uint64_t equal(__m512i x, int byte)
{
    return _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8((char)byte));
}

TARGET(AVX512) INLINE uint64_t from(__m512i x, int byte)
{
    return _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8((char)byte));
}

/* As code_points_sse2, but for 64 bytes and with mask registers. AVX-512 can compact the bytes of the
 * symbols that are kept with one instruction. */
TARGET(AVX512) int64_t code_points_avx512(const uint8_t *text, int64_t n_bytes, uint16_t *symbols)
{
    uint16_t *out = symbols;
    int64_t i = 0;
    while (n_bytes - i >= 66) {
        __m512i a = _mm512_loadu_si512(text + i);
        if (!_mm512_movepi8_mask(a)) {
            _mm512_storeu_si512(out, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(a)));
            _mm512_storeu_si512(out + 32, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(a, 1)));
            out += 64;
            i += 64;
            continue;
        }
        __m512i b = _mm512_loadu_si512(text + i + 1), c = _mm512_loadu_si512(text + i + 2);
        uint64_t b_continues = equal(only(b, 0xC0), 0x80), c_continues = equal(only(c, 0xC0), 0x80),
                 b_high = from(b, 0xA0);
        uint64_t two = equal(only(a, 0xE0), 0xC0) & from(a, 0xC2) & b_continues;
        uint64_t wrong = (equal(a, 0xE0) & ~b_high) | (equal(a, 0xED) & b_high);
        uint64_t three = equal(only(a, 0xF0), 0xE0) & b_continues & c_continues & ~wrong;
        uint64_t begins = ~((two | three) << 1 | three << 2);
        uint64_t alone = _mm512_movepi8_mask(a) & ~(two | three);

        __m512i b_low = only(b, 0x3F);
        __m512i low_of_two = _mm512_or_si512(only(_mm512_slli_epi16(a, 6), 0xC0), b_low);
        __m512i low_of_three = _mm512_or_si512(only(_mm512_slli_epi16(b, 6), 0xC0), only(c, 0x3F));
        __m512i low = _mm512_mask_blend_epi8(three, _mm512_mask_blend_epi8(two, a, low_of_two),
                                             low_of_three);
        __m512i high = _mm512_maskz_mov_epi8(alone,
                                             _mm512_set1_epi8((char)(CODE_POINT_OF_BYTE >> 8)));
        __m512i high_of_two = only(_mm512_srli_epi16(a, 2), 0x07);
        __m512i high_of_three = _mm512_or_si512(only(_mm512_slli_epi16(a, 4), 0xF0),
                                                _mm512_srli_epi16(only(b, 0x3C), 2));
        high = _mm512_mask_blend_epi8(three, _mm512_mask_blend_epi8(two, high, high_of_two),
                                      high_of_three);

        low = _mm512_maskz_compress_epi8(begins, low);
        high = _mm512_maskz_compress_epi8(begins, high);
        /* The 16-bit values of bytes 0 to 31, and 32 to 63. */
        for (int half = 0; half < 2; half++) {
            __m256i l = half ? _mm512_extracti64x4_epi64(low, 1) : _mm512_castsi512_si256(low);
            __m256i h = half ? _mm512_extracti64x4_epi64(high, 1) : _mm512_castsi512_si256(high);
            __m512i both = _mm512_or_si512(_mm512_cvtepu8_epi16(l),
                                           _mm512_slli_epi16(_mm512_cvtepu8_epi16(h), 8));
            _mm512_storeu_si512(out + 32 * half, both);
        }
        out += count_bits(begins);
        i += 64 + (int64_t)(two >> 63 | (three >> 62 & 1)) + 2 * (int64_t)(three >> 63);
    }
    return out - symbols + code_points_portable(text + i, n_bytes - i, out);
}

#endif
