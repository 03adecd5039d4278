/* compact_codes.h - prefix codes for the gaps in the lists of a compact index
 *
 * A gap g >= 1 is written as its class, floor(log2(g)), and the bits of g below the highest one.
 * Most gaps of a frequent token are small and those of a rare token are large, so there are
 * CODE_TABLES different codes for the classes, and each block uses the code that makes it smallest.
 *
 * A code is canonical: it follows from the lengths of its codewords. Codewords have at most CODE_BITS
 * bits and are written with their first bit lowest, so the next CODE_BITS bits of a block select an
 * entry of a table, which holds up to four classes at once:
 *
 *     entry     | class | class | class | class | number of classes (3 bits) | number of bits (4 bits)
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

/* The lengths of the codewords of all tables, as a file stores them; 0 for a class without a
 * codeword. */
typedef struct code_lengths {
    uint8_t bits[CODE_TABLES][CODE_CLASSES];
} code_lengths;

/* The encoder's tables: each codeword, its first bit lowest; and the lengths again, with those of
 * all tables for a class side by side, so that they are added with a few vector instructions. */
typedef struct code_words {
    uint16_t word[CODE_TABLES][CODE_CLASSES];
    uint16_t bits[CODE_CLASSES][CODE_TABLES];
} code_words;

/* The decoder's tables: 128 KB. */
typedef struct code_entries {
    uint32_t entry[CODE_TABLES][1 << CODE_BITS];
} code_entries;

/* The number of occurrences of each class in a block, at most 255. */
typedef struct code_counts {
    uint8_t of[CODE_CLASSES];
} code_counts;

/* Whether every table is a complete prefix code for classes 0..n_classes-1, and possibly others.
 * Every sequence of bits is then a sequence of codewords. */
int codes_are_complete(const code_lengths *lengths, int n_classes);

/* Both require complete codes. */
void codes_to_words(const code_lengths *lengths, code_words *ret);
void codes_to_entries(const code_lengths *lengths, code_entries *ret);

/* Chooses codes for blocks with these counts, of classes below n_classes >= 2. The result depends
 * only on the arguments. Takes about 3 microseconds per block. label[0..n-1] is scratch memory. */
void codes_choose(const code_counts *counts, int64_t n, int n_classes, uint8_t *label,
                  code_lengths *ret);

/* The table that makes a block with these classes smallest, and the number of bits that its
 * codewords take. n <= 256. */
int codes_best(const code_words *words, const uint8_t *classes, int64_t n, uint32_t *ret_bits);
