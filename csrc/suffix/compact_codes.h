/* compact_codes.h - prefix codes for the gaps in the lists of a compact index
 *
 * A gap g >= 1 is written as its class, floor(log2(g)), and the bits of g below the highest one. Most
 * gaps of a frequent token are small and those of a rare token are large, so the classes have
 * CODE_TABLES different codes, and each block names the one that makes it smallest.
 *
 * A code is canonical: it follows from the lengths of its codewords. Codewords have at most CODE_BITS
 * bits and are written with their first bit lowest, so the next CODE_BITS bits of a block select an
 * entry of a table, which holds up to four classes at once:
 *
 *     entry     | class | class | class | class | number of classes (3 bits) | bits they take (4 bits)
 *               0       5       10      15      20                           24
 */
#pragma once

#include "ground/common.h"

enum {
    CODE_TABLES = 16,
    CODE_CLASSES = 32,
    CODE_BITS = 11,
    CODE_AT_ONCE = 4 /* classes in an entry */
};

/* The lengths of the codewords of all tables; 0 for a class without one. This is what a file
 * stores. */
typedef struct code_lengths {
    uint8_t bits[CODE_TABLES][CODE_CLASSES];
} code_lengths;

/* What the encoder needs: each codeword, its first bit lowest. */
typedef struct code_words {
    uint16_t word[CODE_TABLES][CODE_CLASSES];
} code_words;

/* What the decoder needs: 128 KB. */
typedef struct code_entries {
    uint32_t entry[CODE_TABLES][1 << CODE_BITS];
} code_entries;

/* How often each class occurs in a block, at most 255 times. */
typedef struct code_counts {
    uint8_t of[CODE_CLASSES];
} code_counts;

/* Whether every table is a complete prefix code for classes 0..n_classes-1, and perhaps others:
 * each sequence of bits is then a sequence of codewords. */
int codes_are_complete(const code_lengths *lengths, int n_classes);

/* Both require complete codes. */
void codes_to_words(const code_lengths *lengths, code_words *ret);
void codes_to_entries(const code_lengths *lengths, code_entries *ret);

/* Chooses codes for blocks with these counts, of classes below n_classes >= 2. The result depends on
 * the arguments only. Takes about 3 microseconds per block. label[0..n-1] is scratch memory. */
void codes_choose(const code_counts *counts, int64_t n, int n_classes, uint8_t *label,
                  code_lengths *ret);

/* The table that makes a block smallest, and how many bits its codewords take. */
int codes_best(const code_lengths *lengths, const code_counts *counts, uint32_t *ret_bits);
