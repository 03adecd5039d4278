/* compact_codes.c - chooses the codes of a compact index, and builds their tables: see
 * compact_codes.h
 *
 * The codes are found by clustering, as in k-means: blocks are assigned to the table that makes
 * them smallest, each table becomes the best code for its blocks, and so on. Initially, the blocks
 * are sorted by the sums of their classes and divided into parts of equal size, one for each
 * table. All arithmetic is in integers, so the result is the same on every machine. */

#include "suffix/compact_codes.h"

enum { ROUNDS = 8, MAX_SUM = 255 * CODE_CLASSES };

/* ------------------------------------------------------------------------------ one code ---- */

/* Computes the lengths of a Huffman code for n >= 2 weights > 0. Joins the two lightest nodes until
 * one node is left; n is at most 32, so a linear search finds them. Returns the length of the
 * longest codeword.
 *
 *     weights    8   4   2   1          nodes 0..3
 *     joined     node 4 = 3 + 2 (weight 3), node 5 = 4 + 1 (7), node 6 = 5 + 0 (15)
 *     lengths    1   2   3   3
 *
 * Ties are broken by the number of the node, so the same weights always give the same lengths. */
static int huffman_lengths(const uint64_t *weights, int n, uint8_t *ret)
{
    uint64_t weight[2 * CODE_CLASSES];
    uint8_t parent[2 * CODE_CLASSES] = {0}, depth[2 * CODE_CLASSES] = {0};
    int n_nodes = n, longest = 0;
    memcpy(weight, weights, (size_t)n * sizeof *weights);
    while (n_nodes < 2 * n - 1) {
        int a = -1, b = -1; /* the lightest and the next lightest node without a parent */
        for (int i = 0; i < n_nodes; i++) {
            if (parent[i]) continue;
            if (a < 0 || weight[i] < weight[a]) {
                b = a;
                a = i;
            } else if (b < 0 || weight[i] < weight[b]) {
                b = i;
            }
        }
        parent[a] = parent[b] = (uint8_t)n_nodes;
        weight[n_nodes++] = weight[a] + weight[b];
    }
    /* Parents have higher numbers than their children. */
    for (int i = 2 * n - 3; i >= 0; i--) {
        depth[i] = (uint8_t)(depth[parent[i]] + 1);
        if (i < n) ret[i] = depth[i];
        if (i < n && depth[i] > longest) longest = depth[i];
    }
    return longest;
}

/* The code for classes that occur `counts` times. Every class gets a codeword. If the longest has
 * more than CODE_BITS bits, retries with the counts of rare classes raised, at first to 1 in 8,192,
 * which costs less than a thousandth of a bit per gap. */
static void best_code(const uint64_t *counts, int n_classes, uint8_t *ret)
{
    uint64_t weights[CODE_CLASSES], total = 0;
    for (int k = 0; k < n_classes; k++) total += counts[k];
    for (int shift = 13; shift >= 0; shift--) {
        for (int k = 0; k < n_classes; k++) weights[k] = counts[k] + (total >> shift) + 1;
        if (huffman_lengths(weights, n_classes, ret) <= CODE_BITS) return;
    }
}

/* -------------------------------------------------------------------------- all the codes ---- */

/* The sum of the classes of a block, which is also the number of low bits of its gaps. */
static int sum_of(const code_counts *counts)
{
    int sum = 0;
    for (int k = 1; k < CODE_CLASSES; k++) sum += k * counts->of[k];
    return sum;
}

/* Labels the blocks by their sums: the n / CODE_TABLES smallest get 0, and so on. Blocks with equal
 * sums get the same label. */
static void label_by_sum(const code_counts *counts, int64_t n, uint8_t *label)
{
    static const int64_t tables = CODE_TABLES;
    int64_t n_with[MAX_SUM + 1] = {0}, before = 0;
    for (int64_t b = 0; b < n; b++) n_with[sum_of(&counts[b])]++;
    for (int sum = 0; sum <= MAX_SUM; sum++) {
        int64_t here = n_with[sum];
        n_with[sum] = before * tables / (n > 0 ? n : 1);
        before += here;
    }
    for (int64_t b = 0; b < n; b++) label[b] = (uint8_t)n_with[sum_of(&counts[b])];
}

/* The table with the fewest bits; the first one if several are equal. */
static int least_of(const uint16_t *bits)
{
    int best = 0;
    for (int t = 1; t < CODE_TABLES; t++)
        if (bits[t] < bits[best]) best = t;
    return best;
}

int codes_best(const code_words *words, const uint8_t *classes, int64_t n, uint32_t *ret_bits)
{
    uint16_t bits[CODE_TABLES] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int t = 0; t < CODE_TABLES; t++)
            bits[t] = (uint16_t)(bits[t] + words->bits[classes[i]][t]);
    int best = least_of(bits);
    *ret_bits = bits[best];
    return best;
}

/* The same, for a block whose classes have been counted. */
static int best_for_counts(const code_lengths *lengths, const code_counts *counts)
{
    uint16_t bits[CODE_TABLES] = {0};
    for (int t = 0; t < CODE_TABLES; t++)
        for (int k = 0; k < CODE_CLASSES; k++)
            bits[t] = (uint16_t)(bits[t] + counts->of[k] * lengths->bits[t][k]);
    return least_of(bits);
}

void codes_choose(const code_counts *counts, int64_t n, int n_classes, uint8_t *label,
                  code_lengths *ret)
{
    memset(ret, 0, sizeof *ret);
    label_by_sum(counts, n, label);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t sums[CODE_TABLES][CODE_CLASSES] = {{0}};
        for (int64_t b = 0; b < n; b++)
            for (int k = 0; k < CODE_CLASSES; k++) sums[label[b]][k] += counts[b].of[k];
        for (int t = 0; t < CODE_TABLES; t++) best_code(sums[t], n_classes, ret->bits[t]);
        if (round == ROUNDS - 1) return;
        for (int64_t b = 0; b < n; b++) label[b] = (uint8_t)best_for_counts(ret, &counts[b]);
    }
}

/* --------------------------------------------------------------------------------- tables ---- */

/* Of all strings of CODE_BITS bits, 2^(CODE_BITS - k) begin with a given codeword of k bits. In a
 * complete code, every string begins with exactly one codeword. */
int codes_are_complete(const code_lengths *lengths, int n_classes)
{
    for (int t = 0; t < CODE_TABLES; t++) {
        int n_strings = 0;
        for (int k = 0; k < CODE_CLASSES; k++) {
            int bits = lengths->bits[t][k];
            if (bits > CODE_BITS || (bits == 0 && k < n_classes)) return 0;
            if (bits) n_strings += 1 << (CODE_BITS - bits);
        }
        if (n_strings != 1 << CODE_BITS) return 0;
    }
    return 1;
}

/* Codewords of the same length are consecutive numbers, in the order of their classes. Reverses
 * each number, because its first bit is written first:
 *
 *     lengths      class 0: 1    1: 2    2: 2
 *     codewords    0             10      11         as numbers, from the highest bit
 *     words        0             01      11         as written, the first bit lowest */
void codes_to_words(const code_lengths *lengths, code_words *ret)
{
    memset(ret, 0, sizeof *ret);
    for (int t = 0; t < CODE_TABLES; t++) {
        uint32_t next = 0;
        for (int k = 0; k < CODE_CLASSES; k++) ret->bits[k][t] = lengths->bits[t][k];
        for (int bits = 1; bits <= CODE_BITS; bits++, next <<= 1)
            for (int k = 0; k < CODE_CLASSES; k++) {
                if (lengths->bits[t][k] != bits) continue;
                for (int i = 0; i < bits; i++)
                    ret->word[t][k] |= (uint16_t)((next >> i & 1) << (bits - 1 - i));
                next++;
            }
    }
}

/* Fills class_of[v] with the class of the codeword with which the string v begins. */
static void first_classes(const uint8_t *lengths, const uint16_t *words, uint8_t *class_of)
{
    for (int k = 0; k < CODE_CLASSES; k++)
        for (uint32_t v = words[k]; lengths[k] && v < 1 << CODE_BITS; v += 1u << lengths[k])
            class_of[v] = (uint8_t)k;
}

/* An entry decodes as many codewords as fit completely in CODE_BITS bits, at most CODE_AT_ONCE.
 * With the code above, the bits 0 10 0 11 0 …, in the order in which they were written, give the
 * classes 0 1 0 2 and use 6 bits. A codeword has at most CODE_BITS bits, so every entry has at
 * least one class, and decoding always advances, even in a damaged block. */
void codes_to_entries(const code_lengths *lengths, code_entries *ret)
{
    code_words words;
    uint8_t class_of[1 << CODE_BITS] = {0};
    codes_to_words(lengths, &words);
    for (int t = 0; t < CODE_TABLES; t++) {
        first_classes(lengths->bits[t], words.word[t], class_of);
        for (uint32_t v = 0; v < 1 << CODE_BITS; v++) {
            uint32_t classes = 0, n = 0, used = 0;
            for (; n < CODE_AT_ONCE; n++) {
                uint32_t k = class_of[v >> used], bits = lengths->bits[t][k];
                if (used + bits > CODE_BITS) break;
                classes |= k << 5 * n;
                used += bits;
            }
            ret->entry[t][v] = classes | n << 20 | used << 24;
        }
    }
}
