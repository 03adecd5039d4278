/* x86.h - what the x86 files share: the intrinsics, and functions for a processor better than the
 * build's */
#pragma once

#include "ground/common.h"

#include <immintrin.h>

#if defined(__GNUC__) || defined(__clang__)
#define TARGET(features) __attribute__((target(features)))
#else
#define TARGET(features) /* MSVC compiles any intrinsic anywhere */
#endif
