/* code_points.c - the portable version of code_points.h, and the choice of a version */

#include "text/code_points.h"

#include "ground/utf8.h"

/* Each character of one to three bytes becomes one symbol; every other byte becomes a symbol by
 * itself. */
int64_t code_points_portable(const uint8_t *text, int64_t n_bytes, uint16_t *symbols)
{
    uint16_t *out = symbols;
    for (int64_t i = 0; i < n_bytes;) {
        int n = utf8_length(text + i, n_bytes - i);
        if (LIKELY(n > 0 && n < 4)) {
            *out++ = (uint16_t)utf8_code_point(text + i, n);
            i += n;
        } else {
            *out++ = (uint16_t)(CODE_POINT_OF_BYTE | text[i++]);
        }
    }
    return out - symbols;
}

code_points_read code_points_for(int32_t cpu)
{
#if defined(UNITOK_X86)
    if (cpu == UNITOK_CPU_AVX512) return code_points_avx512;
    if (cpu == UNITOK_CPU_SSE2 || cpu == UNITOK_CPU_AVX2) return code_points_sse2;
#endif
    (void)cpu;
    return code_points_portable;
}
