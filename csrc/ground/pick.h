/* pick.h - a conditional move that compilers leave one */
#pragma once

#include "ground/cpu.h"

/* a where test is 0, else b, for a test that no processor predicts: compilers turn `?:` into branches. */
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
