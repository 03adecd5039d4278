/* cpu.c - detects the instruction sets of the processor; nothing is cached, because a model checks
 * only once */

#include "ground/cpu.h"

#if defined(UNITOK_X86) && defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>

static int x86_has(int32_t level)
{
    int leaf[4];
    __cpuid(leaf, 0);
    if (leaf[0] < 7) return level <= UNITOK_CPU_SSE2;
    __cpuid(leaf, 1);
    /* OSXSAVE not set: the system does not save wide registers */
    if (!(leaf[2] >> 27 & 1)) return level <= UNITOK_CPU_SSE2;
    unsigned long long saved = _xgetbv(0);
    __cpuidex(leaf, 7, 0);
    unsigned ebx = (unsigned)leaf[1], ecx = (unsigned)leaf[2];
    const unsigned avx2 = 1u << 3 | 1u << 5 | 1u << 8; /* BMI, AVX2, BMI2 */
    /* F, DQ, BW, VL */
    const unsigned avx512 = avx2 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    if (level == UNITOK_CPU_AVX2) return (saved & 6) == 6 && (ebx & avx2) == avx2;
    if (level == UNITOK_CPU_AVX512) /* and VBMI, VBMI2 */
        return (saved & 0xE6) == 0xE6 && (ebx & avx512) == avx512 && (ecx >> 1 & 1) &&
               (ecx >> 6 & 1);
    return 1;
}
#elif defined(UNITOK_X86)
static int x86_has(int32_t level)
{
    int bmi = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("popcnt");
    if (level == UNITOK_CPU_AVX2) return bmi && __builtin_cpu_supports("avx2");
    if (level == UNITOK_CPU_AVX512)
        return bmi && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
    return 1; /* SSE2 is part of x86-64 */
}
#endif

/* Levels of other processor families count as unsupported, so a setting that names one is an error
 * instead of a silent fallback. */
int32_t unitok_cpu_supported(int32_t cpu)
{
    if (cpu == UNITOK_CPU_PORTABLE) return 1;
#if defined(UNITOK_X86)
    if (cpu == UNITOK_CPU_SSE2 || cpu == UNITOK_CPU_AVX2 || cpu == UNITOK_CPU_AVX512)
        return x86_has(cpu) != 0;
#elif defined(UNITOK_ARM64)
    if (cpu == UNITOK_CPU_NEON) return 1;
#endif
    return 0;
}

/* Tries the levels from best to worst. */
int32_t cpu_best(void)
{
    static const int32_t order[] = {UNITOK_CPU_NEON, UNITOK_CPU_AVX512, UNITOK_CPU_AVX2,
                                    UNITOK_CPU_SSE2};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (unitok_cpu_supported(order[i])) return order[i];
    return UNITOK_CPU_PORTABLE;
}
