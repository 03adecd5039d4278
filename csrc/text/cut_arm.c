/* cut_arm.c - the scan of cut.h for NEON */

#include "ground/cpu.h"
#include "text/cut_simd.h"

#if defined(UNITOK_ARM64)

#include "ground/neon.h"

/* Blocks of 64 positions, as in cut_x86.c. Between two ASCII bytes, plane 0 decides. At all other
 * positions, the exact check decides, except that there is never a cut before a continuation byte.
 *
 *     text      i - 1   i   i + 1 …          prev: 64 bytes from i - 1 on;  x: 64 bytes from i on
 *     bit k     whether the text can be cut between prev[k] and x[k], before text[i + k]
 *
 * Bytes after text[n_bytes - 1] are readable (CUT_READ_BEYOND), and the positions there are masked
 * out. */
int64_t cut_scan_neon(const cut_table *t, const uint8_t *text, int64_t n_bytes, uint16_t *cuts)
{
    uint8x16x4_t left_first = vld1q_u8_x4(t->left[0]), left_second = vld1q_u8_x4(t->left[0] + 64);
    uint8x16x4_t right_first = vld1q_u8_x4(t->right[0]),
                 right_second = vld1q_u8_x4(t->right[0] + 64);
    uint16_t *out = cuts;
    for (int64_t i = 1; i < n_bytes; i += 64) {
        uint8x16_t apart[4], above[4], continues[4];
        for (int part = 0; part < 4; part++) {
            uint8x16_t x = vld1q_u8(text + i + part * 16),
                       prev = vld1q_u8(text + i + part * 16 - 1);
            uint8x16_t l = look_up_neon(prev, left_first, left_second);
            uint8x16_t r = look_up_neon(x, right_first, right_second);
            apart[part] = vceqzq_u8(vandq_u8(l, r));
            above[part] = vcgeq_u8(vorrq_u8(x, prev), vdupq_n_u8(0x80));
            continues[part] = vcltq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(-64));
        }
        uint64_t bits = bits_neon(apart) & low_bits(n_bytes - i), high = bits_neon(above);
        if (high)
            bits = (bits & ~high) | cut_bits(t, text, i, n_bytes, high & ~bits_neon(continues));
        out += write_positions(bits, i, out);
    }
    return out - cuts;
}

#endif
