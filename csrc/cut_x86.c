/* cut_x86.c - the scans of cut.h for SSE2, AVX2 and AVX-512 */

#include "cpu.h"
#include "cut_simd.h"

#if defined(UNITOK_X86)

#include <immintrin.h>

#if defined(__GNUC__) || defined(__clang__)
#define TARGET(features) __attribute__((target(features)))
#else
#define TARGET(features) /* MSVC compiles any intrinsic anywhere */
#endif

/* ----------------------------------------------------------------------------------------------------- SSE2 ---- */

typedef struct kinds_sse2 {
    __m128i own, before; /* a byte's kind bit; the kinds that may precede it */
} kinds_sse2;

/* Kinds by comparison (see kind_of in cut.c). Bytes from 0x80 on get anything: their words are looked up one by one. */
INLINE kinds_sse2 kinds_of_sse2(__m128i x, const __m128i own[N_KINDS], const __m128i before[N_KINDS])
{
    __m128i lower = _mm_or_si128(x, _mm_set1_epi8(0x20));
    __m128i is[N_KINDS];
    is[KIND_LETTER] = _mm_and_si128(_mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)),
                                    _mm_cmplt_epi8(lower, _mm_set1_epi8('z' + 1)));
    is[KIND_DIGIT] = _mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8('0' - 1)), _mm_cmplt_epi8(x, _mm_set1_epi8('9' + 1)));
    is[KIND_SPACE] = _mm_cmpeq_epi8(x, _mm_set1_epi8(' '));
    is[KIND_CONTROL] = _mm_cmplt_epi8(x, _mm_set1_epi8(' '));
    is[KIND_QUOTE] = _mm_cmpeq_epi8(x, _mm_set1_epi8('\''));
    is[KIND_HYPHEN] = _mm_cmpeq_epi8(x, _mm_set1_epi8('-'));
    /* own[k] and before[k] hold the difference to KIND_OTHER, so that what is no other kind comes out as that one. */
    kinds_sse2 r = {own[KIND_OTHER], before[KIND_OTHER]};
    for (int k = KIND_OTHER + 1; k < N_KINDS; k++) {
        r.own = _mm_xor_si128(r.own, _mm_and_si128(is[k], own[k]));
        r.before = _mm_xor_si128(r.before, _mm_and_si128(is[k], before[k]));
    }
    return r;
}

int64_t cut_scan_sse2(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    __m128i own[N_KINDS], before[N_KINDS];
    for (int k = 0; k < N_KINDS; k++) {
        int base_own = k ? 1 << KIND_OTHER : 0, base_before = k ? t->kind_before[KIND_OTHER] : 0;
        own[k] = _mm_set1_epi8((char)(1 << k ^ base_own));
        before[k] = _mm_set1_epi8((char)(t->kind_before[k] ^ base_before));
    }
    uint16_t *out = cuts;
    for (int64_t i = 1; i < n_bytes; i += 64) {
        uint64_t bits = 0, high = 0, continued = 0;
        for (int part = 0; part < 64; part += 16) {
            __m128i x = _mm_loadu_si128((const __m128i *)(text + i + part));
            __m128i prev = _mm_loadu_si128((const __m128i *)(text + i + part - 1));
            kinds_sse2 kx = kinds_of_sse2(x, own, before), kp = kinds_of_sse2(prev, own, before);
            __m128i joins = _mm_and_si128(kp.own, kx.before);
            bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(joins, _mm_setzero_si128())) << part;
            high |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(x, prev)) << part;
            continued |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmplt_epi8(x, _mm_set1_epi8(-64))) << part;
        }
        bits &= low_bits(n_bytes - i);
        if (high) bits = (bits & ~high) | cut_bits(t, text, i, n_bytes, high & ~continued);
        out += write_positions(bits, i, out);
    }
    return out - cuts;
}

/* ----------------------------------------------------------------------------------------------------- AVX2 ---- */

/* table[x] for ASCII bytes; 0 for the others. Row r of the table is asked for bytes 16 r .. 16 r + 15: adding 0x70 with
 * saturation to x XOR 16 r leaves bit 7 clear for these alone, and a set bit 7 makes the shuffle give 0. */
TARGET("avx2") INLINE __m256i look_up_avx2(__m256i x, const __m256i rows[8])
{
    __m256i r = _mm256_setzero_si256();
    for (int k = 0; k < 8; k++) {
        __m256i index = _mm256_adds_epu8(_mm256_xor_si256(x, _mm256_set1_epi8((char)(k * 16))), _mm256_set1_epi8(0x70));
        r = _mm256_or_si256(r, _mm256_shuffle_epi8(rows[k], index));
    }
    return r;
}

TARGET("avx2") int64_t cut_scan_avx2(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    __m256i left[8], right[8];
    for (int k = 0; k < 8; k++) {
        left[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(t->left[0] + k * 16)));
        right[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(t->right[0] + k * 16)));
    }
    uint16_t *out = cuts;
    for (int64_t i = 1; i < n_bytes; i += 64) {
        uint64_t bits = 0, high = 0, continued = 0;
        for (int part = 0; part < 64; part += 32) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(text + i + part));
            __m256i prev = _mm256_loadu_si256((const __m256i *)(text + i + part - 1));
            __m256i joins = _mm256_and_si256(look_up_avx2(prev, left), look_up_avx2(x, right));
            __m256i apart = _mm256_cmpeq_epi8(joins, _mm256_setzero_si256());
            __m256i continues = _mm256_cmpgt_epi8(_mm256_set1_epi8(-64), x);
            bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(apart) << part;
            high |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_or_si256(x, prev)) << part;
            continued |= (uint64_t)(uint32_t)_mm256_movemask_epi8(continues) << part;
        }
        bits &= low_bits(n_bytes - i);
        if (high) bits = (bits & ~high) | cut_bits(t, text, i, n_bytes, high & ~continued);
        out += write_positions(bits, i, out);
    }
    return out - cuts;
}

/* -------------------------------------------------------------------------------------------------- AVX-512 ---- */

#define AVX512 "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt"

typedef struct table_avx512 {
    __m512i part[4]; /* 256 entries */
} table_avx512;

TARGET(AVX512) INLINE table_avx512 load_avx512(const uint8_t *bytes)
{
    table_avx512 r;
    for (int k = 0; k < 4; k++) r.part[k] = _mm512_loadu_si512(bytes + 64 * k);
    return r;
}

/* table[x] for all bytes; `high` has the bits of those from 0x80 on. */
TARGET(AVX512) INLINE __m512i look_up_avx512(__m512i x, __mmask64 high, const table_avx512 *t)
{
    __m512i low_half = _mm512_permutex2var_epi8(t->part[0], x, t->part[1]);
    __m512i high_half = _mm512_permutex2var_epi8(t->part[2], x, t->part[3]);
    return _mm512_mask_blend_epi8(high, low_half, high_half);
}

/* The positions of `bits`, without a loop: compress the numbers 0..63, widen, add i. */
TARGET(AVX512) INLINE int64_t write_positions_avx512(uint64_t bits, int64_t i, __m512i numbers, uint16_t *cuts)
{
    int count = count_bits(bits);
    __m512i packed = _mm512_maskz_compress_epi8(bits, numbers), base = _mm512_set1_epi16((short)i);
    __m512i low_half = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed));
    _mm512_storeu_si512(cuts, _mm512_add_epi16(low_half, base));
    if (UNLIKELY(count > 32)) {
        __m512i high_half = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(packed, 1));
        _mm512_storeu_si512(cuts + 32, _mm512_add_epi16(high_half, base));
    }
    return count;
}

TARGET(AVX512) int64_t cut_scan_avx512(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    __m512i left_low = _mm512_loadu_si512(t->left[0]), left_high = _mm512_loadu_si512(t->left[0] + 64);
    __m512i right_low = _mm512_loadu_si512(t->right[0]), right_high = _mm512_loadu_si512(t->right[0] + 64);
    table_avx512 left = load_avx512(t->left[1]), right = load_avx512(t->right[1]), verify = load_avx512(t->verify);
    uint8_t iota[64];
    for (int k = 0; k < 64; k++) iota[k] = (uint8_t)k;
    __m512i numbers = _mm512_loadu_si512(iota);
    uint16_t *out = cuts;
    for (int64_t i = 1; i < n_bytes; i += 64) {
        __m512i x = _mm512_loadu_si512(text + i), prev = _mm512_loadu_si512(text + i - 1);
        __m512i l = _mm512_permutex2var_epi8(left_low, prev, left_high);
        __m512i r = _mm512_permutex2var_epi8(right_low, x, right_high);
        __mmask64 joins = _mm512_test_epi8_mask(l, r);
        __mmask64 x_high = _mm512_movepi8_mask(x), prev_high = _mm512_movepi8_mask(prev), high = x_high | prev_high;
        if (high) {
            __mmask64 continued = _mm512_cmplt_epi8_mask(x, _mm512_set1_epi8(-64));
            l = look_up_avx512(prev, prev_high, &left);
            r = look_up_avx512(x, x_high, &right);
            joins = (joins & ~high) | _mm512_test_epi8_mask(l, r) | continued;
            __m512i doubtful = look_up_avx512(x, x_high, &verify);
            __mmask64 look = joins & high & ~continued & _mm512_movepi8_mask(doubtful);
            joins &= ~cut_bits(t, text, i, n_bytes, look);
        }
        out += write_positions_avx512(~joins & low_bits(n_bytes - i), i, numbers, out);
    }
    return out - cuts;
}

#endif
