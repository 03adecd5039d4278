/* widths.h - templates over the widths of symbols and positions
 *
 * A template is a file of functions that is compiled once for each pair of widths: 8, 16 or 32 bits
 * per symbol and 32 or 64 bits per position. To use one, define TEMPLATE, the name of the file, and
 * POSITION_BITS, and include this file; without TEMPLATE, this file only defines the macros. In
 * the template, SYMBOL and POSITION are the types, and
 *
 *     BY_WIDTHS(sort)      is sort_16_32            where symbols have 16 bits and positions 32
 *     BY_POSITION(sort)    is sort_32
 *     ALL_WIDTHS(sort)     is {{sort_8_32, sort_8_64}, {sort_16_32, ...}, ...}, a table of all
 */
#ifndef SYMBOL
#define UINT_OF(bits) uint##bits##_t
#define UINT(bits) UINT_OF(bits)
#define JOIN_NOW(a, b) a##_##b
#define JOIN(a, b) JOIN_NOW(a, b)
#define SYMBOL UINT(SYMBOL_BITS)
#define POSITION UINT(POSITION_BITS)
#define BY_POSITION(name) JOIN(name, POSITION_BITS)
#define BY_WIDTHS(name) JOIN(JOIN(name, SYMBOL_BITS), POSITION_BITS)
#define ALL_WIDTHS(name)                                                                           \
    {                                                                                              \
        {name##_8_32, name##_8_64}, {name##_16_32, name##_16_64}, { name##_32_32, name##_32_64 }   \
    }
#endif

#ifdef TEMPLATE
#define SYMBOL_BITS 8
#include TEMPLATE
#undef SYMBOL_BITS
#define SYMBOL_BITS 16
#include TEMPLATE
#undef SYMBOL_BITS
#define SYMBOL_BITS 32
#include TEMPLATE
#undef SYMBOL_BITS
#endif
