/* width.c - instantiates segments.h for 16-bit and 32-bit ids
 *
 * Everything else in the library reads ids through the functions of the table id_width, so the
 * width is chosen once, when a model is opened. */

#include "encoders/unigram.h"
#include "model/run.h"

/* Most entries of the memo are valid for sums up to about 99,700. FAR_WORD stands for a slightly
 * smaller sum; a larger bound validates few entries (look_ahead in segments.h). */
#define AHEAD_IDS 64
#define FAR_WORD ((98304 / UNIGRAM_LIMIT_STEP) << 4)

/* Base-2 logarithms of the number of short entries (memo.h). */
#define MEMO_BITS_SUMMING 17

#define MEMO_BITS 16
#define NAME(x) x##_16
#define ID uint16_t
#include "model/segments.h"
#undef MEMO_BITS

#define MEMO_BITS 17
#define NAME(x) x##_32
#define ID uint32_t
#include "model/segments.h"
