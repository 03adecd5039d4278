/* wide.h - 128-bit products, for hashes modulo 2^61 - 1 and for scaling a hash to a range without a
 * division */
#pragma once

#include "ground/common.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

/* The low half of a * b; *ret_high is the high half. The portable version multiplies halves of 32
 * bits; no sum overflows, because (2^32 - 1)^2 + 2 (2^32 - 1) < 2^64.
 *
 *                      a1  a0
 *                  ×   b1  b0
 *     ────────────────────────
 *                   a0*b0           contributes its upper half to the next column
 *           a1*b0 + a0*b1
 *     a1*b1 */
INLINE uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t *ret_high)
{
#if defined(__SIZEOF_INT128__)
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    *ret_high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#elif defined(_MSC_VER) && defined(_M_X64)
    return _umul128(a, b, ret_high);
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    *ret_high = a1 * b1 + (middle >> 32) + (other >> 32);
    return other << 32 | (uint32_t)(a0 * b0);
#endif
}
