/* code_points.h - a text as 16-bit symbols, one for each character below U+10000
 *
 *     text      c   a   E3 81 AB   0A   F0 9F 98 80             FF
 *     symbols   63  61  306B       0A   D8F0 D89F D898 D880     D8FF
 *
 * Every other byte (of a longer character, or of malformed text) becomes a symbol by itself, in the
 * range of the surrogates, which do not occur in valid text. So any text, valid or not, can be
 * converted to symbols and restored from them.
 */
#pragma once

#include "ground/cpu.h"

#define CODE_POINT_OF_BYTE 0xD800 /* ORed with the byte, 0x80 or more */
#define CODE_POINTS_BEYOND 64     /* how many symbols may be written after the last one */

/* Writes the symbols of text[0..n_bytes-1] and returns their number. `symbols` must hold n_bytes +
 * CODE_POINTS_BEYOND. If a text is read in parts, each must end at a character border. */
typedef int64_t (*code_points_read)(const uint8_t *text, int64_t n_bytes, uint16_t *symbols);

/* Returns the version for an instruction set that this processor supports. */
code_points_read code_points_for(int32_t cpu);

int64_t code_points_portable(const uint8_t *text, int64_t n_bytes, uint16_t *symbols);
int64_t code_points_sse2(const uint8_t *text, int64_t n_bytes, uint16_t *symbols);
int64_t code_points_avx512(const uint8_t *text, int64_t n_bytes, uint16_t *symbols);

/* Returns the number of bytes for which a symbol stands. */
INLINE int code_point_bytes(uint32_t symbol)
{
    if (symbol < 0x80 || (symbol & 0xFF00) == CODE_POINT_OF_BYTE) return 1;
    return symbol < 0x800 ? 2 : 3;
}
