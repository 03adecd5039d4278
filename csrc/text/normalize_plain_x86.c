/* normalize_plain_x86.c - the fast path of normalization for AVX2; AVX-512 would not be faster in
 * blocks with lookups */

#include "ground/cpu.h"

#if defined(UNITOK_X86)

#include "text/normalize_plain_run.h"
#include "ground/x86.h"

#define AVX2 TARGET("avx2,bmi,bmi2,popcnt")

/* A set of bytes, repeated in both halves of a register, because the shuffle works on halves. */
AVX2 INLINE __m256i load_set(const uint8_t *set)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)set));
}

AVX2 INLINE uint64_t mask_32(__m256i x, int shift)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(x) << shift;
}

/* A byte is in a set if bit (upper half & 7) of the set's entry for its lower half is set:
 *
 *     byte 6E     lower half E: set[E] = 01010000        upper half 6: bit 6 is 1: in the set
 *
 * The shuffle gives 0 for bytes from 0x80 on, so one lookup handles ASCII, and another, with the
 * highest bit inverted, all other bytes. Leads and continuation bytes are found only if the block
 * contains bytes from 0x80 on. */
AVX2 INLINE masks look_at_block_avx2(const plain_tables *t, const uint8_t *block)
{
    const __m256i zero = _mm256_setzero_si256(),
                  bits = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    __m256i ascii_look = load_set(t->ascii_look), high_look = load_set(t->high_look),
            spaces = load_set(t->spaces);
    masks m = {0, 0, 0};
    high_masks h = {0, 0, 0, 0};
    uint64_t calm = 0, others = 0;
    for (int k = 0; k < 64; k += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(block + k));
        __m256i half = _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(7));
        __m256i bit = _mm256_shuffle_epi8(bits, half), high_bit = _mm256_set1_epi8(-128);
        /* a byte >= 0x80 selects 0 */
        __m256i look = _mm256_or_si256(
            _mm256_shuffle_epi8(ascii_look, x),
            _mm256_shuffle_epi8(high_look, _mm256_xor_si256(x, high_bit)));
        calm |= mask_32(_mm256_cmpeq_epi8(_mm256_and_si256(look, bit), zero), k);
        others |= mask_32(
            _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(spaces, x), bit), zero), k);
        h.high |= mask_32(x, k);
    }
    for (int k = 0; k < 64 && h.high; k += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(block + k));
        h.continued |= mask_32(_mm256_cmpgt_epi8(_mm256_set1_epi8(-64), x), k);
        h.lead_3 |= mask_32(_mm256_cmpgt_epi8(x, _mm256_set1_epi8(-33)), k);
        h.lead_4 |= mask_32(_mm256_cmpgt_epi8(x, _mm256_set1_epi8(-17)), k);
    }
    h.lead_3 &= h.high;
    h.lead_4 &= h.high;
    m.look = ~calm;
    m.spaces = ~others;
    if (h.high) look_at_continued(&m, &h);
    return m;
}

AVX2 plain_run plain_normalize_avx2(const unitok_normalizer *n, const uint8_t *text,
                                    int64_t n_bytes, int is_after_space, uint8_t *out, int64_t room)
{
    RUN_PLAIN(look_at_block_avx2);
}

#endif
