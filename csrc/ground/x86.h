/* x86.h - shared by the x86 files: intrinsics, and functions compiled for newer processors than the
 * build targets */
#pragma once

#include "ground/common.h"

#include <immintrin.h>

#if defined(__GNUC__) || defined(__clang__)
#define TARGET(features) __attribute__((target(features)))
#else
#define TARGET(features) /* MSVC compiles any intrinsic anywhere */
#endif
