/* cut_x86.c - the scans of cut.h for SSE2, AVX2 and AVX-512
 *
 * All handle 64 positions at a time. Position i + k lies between prev[k] = text[i + k - 1] and
 * x[k] = text[i + k]; its bit in a mask is k:
 *
 *     prev        t  h  e  ␣  c  a  t            left[t], left[h], …   the rectangles of each byte
 *     x           h  e  ␣  c  a  t  .            right[h], right[e], …
 *     left & right = 0        →  bit k is 1: no piece contains the two bytes, so this is a cut
 *
 *     SSE2       kinds of ASCII bytes by comparison
 *     AVX2       plane 0 by eight lookups of 16 entries
 *     AVX-512    both planes by lookups of 128 entries, and windows with gathers
 *
 * With SSE2 and AVX2, positions next to a byte >= 0x80 are checked one by one (cut_simd.h). */

#include "ground/cpu.h"
#include "text/cut_simd.h"

#if defined(UNITOK_X86)

#include "ground/x86.h"

/* ------------------------------------------------------------------------------------ SSE2 ---- */

/* SSE2 has no byte lookup, so comparisons assign a kind to each byte. A set of kinds is a mask:
 *
 *     text      t  h  e  SP c             own       bit of the byte's kind
 *     own       L  L  L  S  L             before    the kinds that may be joined to the byte
 *     joined    own of t & before of h    is not 0
 */
typedef struct kinds_sse2 {
    __m128i own, before; /* a byte's kind bit; the kinds that may precede it */
} kinds_sse2;

/* Computes kinds by comparison (see kind_of in cut.c). Bytes from 0x80 on get an arbitrary kind,
 * because the positions next to them are checked one at a time. */
INLINE kinds_sse2 kinds_of_sse2(__m128i x, const __m128i own[N_KINDS],
                                const __m128i before[N_KINDS])
{
    __m128i lower = _mm_or_si128(x, _mm_set1_epi8(0x20));
    __m128i is[N_KINDS];
    is[KIND_LETTER] = _mm_and_si128(_mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)),
                                    _mm_cmplt_epi8(lower, _mm_set1_epi8('z' + 1)));
    is[KIND_DIGIT] = _mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8('0' - 1)),
                                   _mm_cmplt_epi8(x, _mm_set1_epi8('9' + 1)));
    is[KIND_SPACE] = _mm_cmpeq_epi8(x, _mm_set1_epi8(' '));
    is[KIND_CONTROL] = _mm_cmplt_epi8(x, _mm_set1_epi8(' '));
    is[KIND_QUOTE] = _mm_cmpeq_epi8(x, _mm_set1_epi8('\''));
    is[KIND_HYPHEN] = _mm_cmpeq_epi8(x, _mm_set1_epi8('-'));
    /* own[k] and before[k] hold the values of kind k XOR those of KIND_OTHER, the kind of all bytes
     * that match no other. */
    kinds_sse2 r = {own[KIND_OTHER], before[KIND_OTHER]};
    for (int k = KIND_OTHER + 1; k < N_KINDS; k++) {
        r.own = _mm_xor_si128(r.own, _mm_and_si128(is[k], own[k]));
        r.before = _mm_xor_si128(r.before, _mm_and_si128(is[k], before[k]));
    }
    return r;
}

/* XORing the differences from KIND_OTHER selects the kind without a blend instruction, which SSE2
 * also lacks. Each byte matches at most one other kind. */
int64_t cut_scan_sse2(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    __m128i own[N_KINDS], before[N_KINDS];
    for (int k = 0; k < N_KINDS; k++) {
        int base_own = k ? 1 << KIND_OTHER : 0, base_before = k ? t->kind_before[KIND_OTHER] : 0;
        own[k] = _mm_set1_epi8((char)(1 << k ^ base_own));
        before[k] = _mm_set1_epi8((char)(t->kind_before[k] ^ base_before));
    }
    __m128i newline = _mm_set1_epi8('\n'),
            forced = _mm_set1_epi8((char)-(t->kind_before[FLAGS_AT] & CUTS_NEWLINES));
    uint16_t *out = cuts;
    for (int64_t i = 1; i < n_bytes; i += 64) {
        uint64_t bits = 0, high = 0, continued = 0;
        for (int part = 0; part < 64; part += 16) {
            __m128i x = _mm_loadu_si128((const __m128i *)(text + i + part));
            __m128i prev = _mm_loadu_si128((const __m128i *)(text + i + part - 1));
            kinds_sse2 kx = kinds_of_sse2(x, own, before), kp = kinds_of_sse2(prev, own, before);
            __m128i joins = _mm_and_si128(kp.own, kx.before);
            __m128i after_newline = _mm_andnot_si128(_mm_cmpeq_epi8(x, newline),
                                                     _mm_cmpeq_epi8(prev, newline));
            joins = _mm_andnot_si128(_mm_and_si128(after_newline, forced), joins);
            bits |=
                (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(joins, _mm_setzero_si128()))
                << part;
            high |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(x, prev)) << part;
            continued |=
                (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmplt_epi8(x, _mm_set1_epi8(-64)))
                << part;
        }
        bits &= low_bits(n_bytes - i);
        if (high) bits = (bits & ~high) | cut_bits(t, text, i, n_bytes, high & ~continued);
        out += write_positions(bits, i, out);
    }
    return out - cuts;
}

/* ------------------------------------------------------------------------------------ AVX2 ---- */

/* table[x] for ASCII bytes; 0 for the others. Row r of the table covers the bytes 16 r to 16 r +
 * 15: adding 0x70 with saturation to x XOR 16 r leaves bit 7 clear only for these bytes, and the
 * shuffle gives 0 where bit 7 is set. */
TARGET("avx2,bmi,bmi2,popcnt") INLINE __m256i look_up_avx2(__m256i x, const __m256i rows[8])
{
    __m256i r = _mm256_setzero_si256();
    for (int k = 0; k < 8; k++) {
        __m256i index = _mm256_adds_epu8(_mm256_xor_si256(x, _mm256_set1_epi8((char)(k * 16))),
                                         _mm256_set1_epi8(0x70));
        r = _mm256_or_si256(r, _mm256_shuffle_epi8(rows[k], index));
    }
    return r;
}

/* The bytes in first..last, both ASCII. */
TARGET("avx2,bmi,bmi2,popcnt") INLINE __m256i in_range_avx2(__m256i x, char first, char last)
{
    return _mm256_and_si256(_mm256_cmpgt_epi8(x, _mm256_set1_epi8((char)(first - 1))),
                            _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(last + 1)), x));
}

TARGET("avx2,bmi,bmi2,popcnt") INLINE uint64_t bits_avx2(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

/* The cuts of is_cut_by_context in the block text[i..i + 63]. */
TARGET("avx2,bmi,bmi2,popcnt")
INLINE uint64_t context_cuts_avx2(int flags, marks_before *before, const uint8_t *text, int64_t i,
                                  int64_t n_bytes)
{
    __m256i blanks[2], next[2], ascii[2], letters[2], marks[2], spaces[2];
    for (int k = 0; k < 2; k++) {
        const uint8_t *at = text + i + k * 32;
        __m256i x = _mm256_loadu_si256((const __m256i *)at), space = _mm256_set1_epi8(' ');
        spaces[k] = _mm256_cmpeq_epi8(x, space);
        blanks[k] = _mm256_or_si256(spaces[k], _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\t')));
        next[k] = _mm256_cmpgt_epi8(_mm256_loadu_si256((const __m256i *)(at + 1)), space);
        ascii[k] = _mm256_cmpgt_epi8(_mm256_loadu_si256((const __m256i *)(at - 1)),
                                     _mm256_set1_epi8(-1));
        letters[k] = in_range_avx2(_mm256_or_si256(x, space), 'a', 'z');
        marks[k] = _mm256_andnot_si256(_mm256_or_si256(letters[k], in_range_avx2(x, '/', '9')),
                                       _mm256_cmpgt_epi8(x, space));
    }
    uint64_t cuts = 0;
    if (flags & CUTS_BLANKS)
        cuts = bits_avx2(blanks[0], blanks[1]) & bits_avx2(next[0], next[1]) &
               bits_avx2(ascii[0], ascii[1]) & low_bits(n_bytes - 1 - i);
    if (flags & CUTS_MARKS)
        cuts |= mark_cuts(before, bits_avx2(letters[0], letters[1]), bits_avx2(marks[0], marks[1]),
                          bits_avx2(spaces[0], spaces[1]));
    return cuts & low_bits(n_bytes - i);
}

/* As in the scan for NEON, plane 0 determines whether two ASCII bytes are cut apart; next to other
 * bytes, the exact check does. */
TARGET("avx2,bmi,bmi2,popcnt")
int64_t cut_scan_avx2(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    __m256i left[8], right[8];
    for (int k = 0; k < 8; k++) {
        left[k] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(t->left[0] + k * 16)));
        right[k] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(t->right[0] + k * 16)));
    }
    int flags = t->kind_before[FLAGS_AT] & (CUTS_BLANKS | CUTS_MARKS);
    marks_before before = marks_of_first(text[0]);
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
        if (flags) bits |= context_cuts_avx2(flags, &before, text, i, n_bytes);
        out += write_positions(bits, i, out);
    }
    return out - cuts;
}

/* --------------------------------------------------------------------------------- AVX-512 ---- */

#define AVX512 "avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt,bmi,bmi2"

/* A table of 256 bytes in four registers. VBMI looks up bytes in tables of up to 128 entries. */
typedef struct table_avx512 {
    __m512i part[4]; /* 256 entries */
} table_avx512;

TARGET(AVX512) INLINE table_avx512 load_avx512(const uint8_t *bytes)
{
    table_avx512 r;
    for (int k = 0; k < 4; k++) r.part[k] = _mm512_loadu_si512(bytes + 64 * k);
    return r;
}

/* table[x] for all bytes; `high` marks the bytes from 0x80 on. */
TARGET(AVX512) INLINE __m512i look_up_avx512(__m512i x, __mmask64 high, const table_avx512 *t)
{
    __m512i low_half = _mm512_permutex2var_epi8(t->part[0], x, t->part[1]);
    __m512i high_half = _mm512_permutex2var_epi8(t->part[2], x, t->part[3]);
    return _mm512_mask_blend_epi8(high, low_half, high_half);
}

/* Writes the positions of `bits` without a loop: compresses the numbers 0..63, widens them, adds
 * i. The second half is written only if there are more than 32 cuts, which is rare. */
TARGET(AVX512)
INLINE int64_t write_positions_avx512(uint64_t bits, int64_t i, __m512i numbers, uint16_t *cuts)
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

/* Returns which of up to 64 `candidates` are cuts, according to their windows. Handles eight at a
 * time in lanes of 64 bits: selects their windows from text[i - 3 .. i + 68], hashes them, and
 * looks up the bits. */
TARGET(AVX512)
INLINE uint64_t window_cuts_avx512(const cut_table *t, const uint8_t *text, int64_t i,
                                   __m512i numbers, uint64_t candidates)
{
    const __m512i bytes_0_to_7 = _mm512_set1_epi64(0x0706050403020100);
    const __m512i lane = _mm512_set_epi64(
        0x0707070707070707, 0x0606060606060606, 0x0505050505050505, 0x0404040404040404,
        0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
    const __m512i hash_factor = _mm512_set1_epi64((long long)0x9E3779B97F4A7C15u);
    __m512i near_text = _mm512_loadu_si512(text + i - 3),
            far_text = _mm512_maskz_loadu_epi8(0xFF, text + i + 61);
    __m512i positions = _mm512_maskz_compress_epi8(candidates, numbers);
    uint64_t apart = 0;
    for (int done = 0, count = count_bits(candidates); done < count; done += 8) {
        __m512i index = _mm512_add_epi8(_mm512_permutexvar_epi8(lane, positions), bytes_0_to_7);
        /* x[i-3] .. x[i+4]; x[i] is byte 3 */
        __m512i around = _mm512_permutex2var_epi8(near_text, index, far_text);
        __m512i three = _mm512_and_si512(around, _mm512_set1_epi64(0xFFFFFFFFFFFF));
        __m512i two = _mm512_and_si512(_mm512_srli_epi64(around, 8), _mm512_set1_epi64(0xFFFFFFFF));
        __m512i after = _mm512_and_si512(around, _mm512_set1_epi64(0xFF000000));
        __mmask8 is_two = _mm512_cmplt_epu64_mask(after, _mm512_set1_epi64(0xE0000000));
        __m512i hash = _mm512_mullo_epi64(_mm512_mask_blend_epi64(is_two, three, two), hash_factor);
        __m512i bit = _mm512_srli_epi64(hash, 64 - CUT_WINDOW_BITS);
        __m512i words = _mm512_i64gather_epi64(_mm512_srli_epi64(bit, 6),
                                               (const long long *)t->windows, 8);
        __m512i found = _mm512_srlv_epi64(words, _mm512_and_si512(bit, _mm512_set1_epi64(63)));
        apart |= (uint64_t)(uint8_t)_mm512_testn_epi64_mask(found, _mm512_set1_epi64(1)) << done;
        positions = _mm512_permutexvar_epi8(_mm512_add_epi8(numbers, _mm512_set1_epi8(8)),
                                            positions);
    }
    return _pdep_u64(apart, candidates);
}

/* The cuts of CUTS_BLANKS at text[i..i + 63] = x. */
TARGET(AVX512)
INLINE uint64_t blank_cuts_avx512(const uint8_t *text, int64_t i, int64_t n_bytes, __m512i x,
                                  uint64_t prev_high)
{
    __m512i next = _mm512_loadu_si512(text + i + 1), space = _mm512_set1_epi8(' ');
    uint64_t blank = _mm512_cmpeq_epi8_mask(x, space) |
                     _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\t'));
    return blank & ~prev_high & _mm512_cmpgt_epi8_mask(next, space) & low_bits(n_bytes - 1 - i);
}

TARGET(AVX512) INLINE uint64_t mark_cuts_avx512(marks_before *before, __m512i x)
{
    __m512i space = _mm512_set1_epi8(' '), lower = _mm512_or_si512(x, space);
    uint64_t letters = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(lower, _mm512_set1_epi8('a')),
                                              _mm512_set1_epi8(26)),
             others = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8('/')),
                                             _mm512_set1_epi8(11)),
             marks = _mm512_cmpgt_epi8_mask(x, space) & ~(letters | others);
    return mark_cuts(before, letters, marks, _mm512_cmpeq_epi8_mask(x, space));
}

/* Both planes are looked up here, so non-ASCII text needs the exact check only where `look`
 * requests one; windows are checked eight at a time. */
TARGET(AVX512)
int64_t cut_scan_avx512(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    __m512i left_low = _mm512_loadu_si512(t->left[0]),
            left_high = _mm512_loadu_si512(t->left[0] + 64);
    __m512i right_low = _mm512_loadu_si512(t->right[0]),
            right_high = _mm512_loadu_si512(t->right[0] + 64);
    table_avx512 left = load_avx512(t->left[1]), right = load_avx512(t->right[1]),
                 look = load_avx512(t->look);
    uint8_t iota[64];
    for (int k = 0; k < 64; k++) iota[k] = (uint8_t)k;
    __m512i numbers = _mm512_loadu_si512(iota), pair_asked = _mm512_set1_epi8(LOOK_PAIR),
            ascii_asked = _mm512_set1_epi8(LOOK_ASCII);
    int cuts_blanks = t->kind_before[FLAGS_AT] & CUTS_BLANKS,
        cuts_marks = t->kind_before[FLAGS_AT] & CUTS_MARKS;
    marks_before before = marks_of_first(text[0]);
    uint16_t *out = cuts;
    for (int64_t i = 1; i < n_bytes; i += 64) {
        __m512i x = _mm512_loadu_si512(text + i), prev = _mm512_loadu_si512(text + i - 1);
        __m512i l = _mm512_permutex2var_epi8(left_low, prev, left_high);
        __m512i r = _mm512_permutex2var_epi8(right_low, x, right_high);
        __mmask64 joins = _mm512_test_epi8_mask(l, r);
        __mmask64 x_high = _mm512_movepi8_mask(x), prev_high = _mm512_movepi8_mask(prev),
                  high = x_high | prev_high;
        if (high) {
            __mmask64 continued = _mm512_cmplt_epi8_mask(x, _mm512_set1_epi8(-64));
            l = look_up_avx512(prev, prev_high, &left);
            r = look_up_avx512(x, x_high, &right);
            joins = (joins & ~high) | _mm512_test_epi8_mask(l, r) | continued;
            __m512i asked = look_up_avx512(x, x_high, &look);
            __mmask64 by_window = joins & prev_high & _mm512_movepi8_mask(asked);
            __mmask64 by_pair = joins & ((prev_high & _mm512_test_epi8_mask(asked, pair_asked)) |
                                         (~prev_high & _mm512_test_epi8_mask(asked, ascii_asked)));
            if (UNLIKELY(i < 3)) { /* the first windows begin before the text */
                by_pair |= by_window;
                by_window = 0;
            }
            if (by_window) joins &= ~window_cuts_avx512(t, text, i, numbers, by_window);
            if (by_pair) joins &= ~cut_bits(t, text, i, n_bytes, by_pair);
        }
        if (cuts_blanks) joins &= ~blank_cuts_avx512(text, i, n_bytes, x, prev_high);
        if (cuts_marks) joins &= ~mark_cuts_avx512(&before, x);
        out += write_positions_avx512(~joins & low_bits(n_bytes - i), i, numbers, out);
    }
    return out - cuts;
}

#endif
