/* pick.h - conditional moves that compilers do not turn into branches */
#pragma once

#include "ground/cpu.h"

/* Returns `a` if test is 0, otherwise `b`. For tests that processors cannot predict: compilers may
 * turn `?:` into a branch. */
INLINE uint64_t pick(uint32_t test, uint64_t a, uint64_t b)
{
#if defined(UNITOK_X86) && defined(__GNUC__)
    __asm__("testl %1, %1\n\tcmovzq %2, %0" : "+r"(b) : "r"(test), "r"(a) : "cc");
    return b;
#else
    uint64_t mask = (uint64_t)((int64_t)((uint64_t)test - 1) >> 63);
    return b ^ ((a ^ b) & mask);
#endif
}

/* Returns x if a > b, otherwise y. */
INLINE uint32_t pick_above(float a, float b, uint32_t x, uint32_t y)
{
#if defined(UNITOK_X86) && defined(__GNUC__)
    __asm__("ucomiss %3, %2\n\tcmoval %1, %0" : "+r"(y) : "r"(x), "x"(a), "x"(b) : "cc");
    return y;
#else
    return y ^ ((x ^ y) & (0 - (uint32_t)(a > b)));
#endif
}
