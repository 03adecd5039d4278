/* neon.h - shared by the NEON files: lookups in a table of 128 bytes, and masks of vectors */
#pragma once

#include "ground/common.h"

#include <arm_neon.h>

/* table[x] for ASCII bytes; 0 for the others, because vqtbl4q_u8 returns 0 for an index above
 * 63. */
INLINE uint8x16_t look_up_neon(uint8x16_t x, uint8x16x4_t first, uint8x16x4_t second)
{
    return vorrq_u8(vqtbl4q_u8(first, x), vqtbl4q_u8(second, vsubq_u8(x, vdupq_n_u8(64))));
}

/* Bit k of the result is set if byte k of the four vectors is 0xFF; all bytes are 0 or 0xFF. NEON
 * has no movemask. */
INLINE uint64_t bits_neon(const uint8x16_t v[4])
{
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t w = vld1q_u8(weights);
    uint8x16_t low = vpaddq_u8(vandq_u8(v[0], w), vandq_u8(v[1], w));
    uint8x16_t high = vpaddq_u8(vandq_u8(v[2], w), vandq_u8(v[3], w));
    uint8x16_t all = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}
