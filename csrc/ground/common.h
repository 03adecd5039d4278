/* common.h - fixed-width types, unaligned loads and compiler hints; every file includes it first
 *
 * Compilers other than GCC, Clang and MSVC get portable C: hints that expand to nothing and loops
 * instead of bit instructions, with the same results. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unitok.h"

/* Files and memory are little-endian throughout; a big-endian build would misread them. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "unitok supports little-endian processors only"
#endif

/* LIKELY and UNLIKELY keep jumps out of the usual path. INLINE forces inlining: many functions have
 * a parameter that selects a variant, and only inlining removes the branches that test it. NOINLINE
 * keeps rare code out of hot loops. PREFETCH starts to load a cache line that is needed later. */
#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(p) __builtin_prefetch(p)
#elif defined(_MSC_VER)
#include <intrin.h>
#include <stdlib.h>
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define NOINLINE __declspec(noinline)
#define INLINE static __forceinline
#define PREFETCH(p) ((void)(p))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define NOINLINE
#define INLINE static inline
#define PREFETCH(p) ((void)(p))
#endif

/* Checks of invariants that hold for any input; tests are built with them, releases without. */
#ifdef UNITOK_DEBUG
#include <assert.h>
#define ASSERT(condition) assert(condition)
#else
#define ASSERT(condition) ((void)0)
#endif

/* Loads from any address. memcpy of a constant size compiles to one instruction; a cast would be
 * undefined behaviour if the address is not aligned, and would violate the aliasing rules. */
INLINE uint64_t load_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

INLINE uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

INLINE uint16_t load_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

/* Reverses the order of the bytes, so that the byte that was first in memory becomes the most
 * significant one. */
INLINE uint64_t swap_bytes(uint64_t v)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_bswap64(v);
#elif defined(_MSC_VER)
    return _byteswap_uint64(v);
#else
    uint64_t swapped = 0;
    for (int i = 0; i < 8; i++) swapped = swapped << 8 | (v >> 8 * i & 0xFF);
    return swapped;
#endif
}

/* The first eight of n bytes as a big-endian number, padded with zeros, so that comparing numbers
 * compares bytes. */
INLINE uint64_t first_eight(const uint8_t *bytes, int64_t n)
{
    if (n >= 8) return swap_bytes(load_u64(bytes));
    uint64_t head = 0;
    for (int64_t i = 0; i < 8; i++) head = head << 8 | (i < n ? bytes[i] : 0);
    return head;
}

/* The index of the lowest set bit; v != 0. */
INLINE int lowest_bit(uint64_t v)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(v);
#elif defined(_MSC_VER) && defined(_WIN64)
    unsigned long n;
    _BitScanForward64(&n, v);
    return (int)n;
#else
    int n = 0;
    while (!(v & 1)) {
        v >>= 1;
        n++;
    }
    return n;
#endif
}

/* The index of the highest set bit; v != 0. */
INLINE int highest_bit(uint64_t v)
{
#if defined(__GNUC__) || defined(__clang__)
    return 63 - __builtin_clzll(v);
#else
    int n = 0;
    while (v >>= 1) n++;
    return n;
#endif
}

/* The number of set bits. The portable loop clears the lowest one each time. */
INLINE int count_bits(uint64_t v)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_popcountll(v);
#else
    int n = 0;
    for (; v; v &= v - 1) n++;
    return n;
#endif
}
