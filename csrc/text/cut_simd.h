/* cut_simd.h - shared by the SIMD scans: exact checks next to non-ASCII bytes, and the conversion of
 * masks to positions */
#pragma once

#include "text/cut.h"

/* Bits 0..n-1, for n <= 64. */
INLINE uint64_t low_bits(int64_t n) { return n >= 64 ? ~0ULL : (1ULL << n) - 1; }

/* Returns which of the `candidates` are cuts, checked one by one; bit k is position i + k.
 * Callers leave out continuation bytes, before which there is no cut. */
INLINE uint64_t cut_bits(const cut_table *t, const uint8_t *text, int64_t i, int64_t n_bytes,
                         uint64_t candidates)
{
    uint64_t bits = 0;
    candidates &= low_bits(n_bytes - i);
    if (i < 3) { /* the windows of these two may begin before the text */
        for (int k = 0; k < 2; k++)
            if (candidates >> k & 1) bits |= (uint64_t)!joined(t, text, i + k, n_bytes) << k;
        candidates &= ~3ULL;
    }
    for (; candidates; candidates &= candidates - 1) {
        int k = lowest_bit(candidates);
        bits |= (uint64_t)!joined_inside(t, text, i + k, n_bytes) << k;
    }
    return bits;
}

/* The marks (is_mark), and the marks and spaces, of the block before the current one. */
typedef struct marks_before {
    uint64_t marks, open;
} marks_before;

/* The block before the first consists of one byte. */
INLINE marks_before marks_of_first(uint8_t byte)
{
    marks_before first = {(uint64_t)is_mark(byte) << 63, (uint64_t)(is_mark(byte) || byte == ' ')
                                                             << 63};
    return first;
}

/* The cuts of CUTS_MARKS in a block with these bytes. */
INLINE uint64_t mark_cuts(marks_before *before, uint64_t letters, uint64_t marks, uint64_t spaces)
{
    uint64_t open = marks | spaces;
    uint64_t cuts = letters & (marks << 1 | before->marks >> 63) & (open << 2 | before->open >> 62);
    before->marks = marks;
    before->open = open;
    return cuts;
}

/* Writes i + k to cuts for every bit k that is set, and returns their number. Positions are written
 * in rounds of eight: most words need the same number of rounds, so the branch is predicted. Up to
 * 7 excess positions are written after the last. */
INLINE int64_t write_positions(uint64_t bits, int64_t i, uint16_t *cuts)
{
    int count = count_bits(bits);
    for (int done = 0; done < count; done += 8) {
        for (int k = 0; k < 8; k++) {
            /* positions past the last bit are arbitrary: the next word overwrites them, or they are
             * not counted */
            cuts[done + k] = (uint16_t)(i + lowest_bit(bits | 1ULL << 63));
            bits &= bits - 1;
        }
    }
    return count;
}
