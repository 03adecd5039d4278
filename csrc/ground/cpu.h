/* cpu.h - the instruction sets that this build contains and this processor supports
 *
 * UNITOK_X86 and UNITOK_ARM64 say what can be compiled; only a check at run time shows what the
 * processor supports. All levels give the same ids. */
#pragma once

#include "ground/common.h"

#if defined(__x86_64__) || defined(_M_X64)
#define UNITOK_X86 1
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define UNITOK_ARM64 1
#endif

/* Returns the best level that this build and this processor support, for UNITOK_CPU_AUTO. */
int32_t cpu_best(void);
