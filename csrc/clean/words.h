/* words.h - the words of a text, as they are compared: case-folded, without punctuation
 *
 *     The  co-op's  Straße   日本          text
 *     the  co op s  strasse  日 本         words, case-folded
 *
 * A word is one or more characters of the class `joined` or `mark`, or a character of the class
 * `alone` with the marks after it. Invalid bytes are not part of any word. The rules are one number
 * for each character, in pages of 256 characters; equal pages are stored once:
 *
 *     entry    class << 30 | fold        fold: a code point, or 0x110000 + k for three code points
 *
 *     U+00DF   pages[0x00] ──▶ entries[256 * page + 0xDF]  joined │ 0x110000 + k
 *                              longer[3 * k ..]            's', 's', 0
 *
 * pyunitok/corpus/words.py computes the classes from Unicode categories and the folds by
 * str.casefold(). Used by the n-grams (grams.h) and the anchors (anchors.h) of words.
 *
 * Words are compared by a 64-bit hash of their folded UTF-8 first, and then exactly (word_is). The
 * functions are inline, because they run for each character of a corpus; ASCII letters and digits
 * are hashed eight bytes at a time. */
#pragma once

#include "ground/utf8.h"
#include "ground/wide.h"
#include "unitok_clean.h"

#define WORD_PAGES (UNITOK_WORD_CODE_POINTS >> 8)

struct unitok_word_rules {
    uint64_t seed; /* the seed of the hashes */
    int is_plain;  /* ASCII letters and digits are joined, and letters fold to lower case */
    uint32_t ascii[128];
    uint32_t *longer;
    uint32_t *entries; /* [0..256 * n_pages - 1] */
    int64_t n_pages;
    uint16_t pages[WORD_PAGES];
};

INLINE uint32_t word_entry(const unitok_word_rules *rules, uint32_t code_point)
{
    return rules->entries[rules->pages[code_point >> 8] * 256 + (code_point & 255)];
}

INLINE uint32_t word_class(uint32_t entry) { return entry >> 30; }
INLINE uint32_t word_fold(uint32_t entry) { return entry & 0x3FFFFFFF; }

/* The entry of the character at text[i], and its size; an invalid byte is not part of a word. ASCII
 * has a table of its own, which needs one load instead of two. i < n. */
INLINE uint32_t word_entry_at(const unitok_word_rules *rules, const uint8_t *text, int64_t n,
                              int64_t i, int64_t *ret_n_bytes)
{
    if (text[i] < 0x80) {
        *ret_n_bytes = 1;
        return rules->ascii[text[i]];
    }
    int length = utf8_length(text + i, n - i);
    *ret_n_bytes = length ? length : 1;
    return length ? word_entry(rules, utf8_code_point(text + i, length)) : 0;
}

#define WORD_FACTOR UINT64_C(0x9E3779B97F4A7C15)

/* A hash of the UTF-8 of folded characters, eight bytes at a time; the last bytes are padded with
 * zeros. `waiting` holds n < 8 bytes that are not hashed yet, the first in the low bits, and zeros
 * above them. So the hash depends only on the bytes, not on how many were added at a time. */
typedef struct word_hash {
    uint64_t hash;
    uint64_t waiting;
    int n;
} word_hash;

/* Adds the low n <= 8 bytes of a number, whose other bytes are 0. */
INLINE void word_hash_add(word_hash *to, uint64_t bytes, int n)
{
    to->waiting |= bytes << 8 * to->n;
    to->n += n;
    if (to->n < 8) return;
    uint64_t high, low = multiply_wide(to->hash ^ to->waiting, WORD_FACTOR, &high);
    to->hash = low ^ high;
    to->n -= 8;
    /* the bytes that did not fit; if there are none, a shift by 64 would be undefined */
    to->waiting = to->n ? bytes >> 8 * (n - to->n) : 0;
}

/* Adds the remaining bytes, and mixes: some users take the low bits of the hash, others the high
 * ones, so each must depend on all bytes. */
INLINE uint64_t word_hash_end(const word_hash *from)
{
    uint64_t hash = (from->hash ^ from->waiting) * WORD_FACTOR;
    hash ^= hash >> 32;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 29;
}

INLINE void word_hash_add_code(word_hash *to, uint32_t code_point)
{
    uint8_t bytes[8] = {0};
    int n = utf8_encode(code_point, bytes);
    word_hash_add(to, load_u64(bytes), n);
}

/* Adds a folded character. */
INLINE void word_hash_add_fold(word_hash *to, const unitok_word_rules *rules, uint32_t fold)
{
    if (LIKELY(fold < 0x80)) {
        word_hash_add(to, fold, 1);
    } else if (LIKELY(fold < UNITOK_WORD_CODE_POINTS)) {
        word_hash_add_code(to, fold);
    } else {
        const uint32_t *codes = rules->longer + 3 * (fold - UNITOK_WORD_CODE_POINTS);
        for (int k = 0; k < 3 && codes[k]; k++) word_hash_add_code(to, codes[k]);
    }
}

#define WORD_EACH UINT64_C(0x0101010101010101)

/* Sets bit 0x80 of each of the eight bytes that is in first..last; both limits are below 0x80.
 *
 *     b + (0x80 - first)     has bit 0x80 if b >= first
 *     b + (0x7F - last)      has bit 0x80 if b > last
 *
 * Both sums of the low seven bits stay below 0x100, so no byte carries into the next one. Bytes
 * that are not ASCII are removed at the end. */
INLINE uint64_t word_bytes_between(uint64_t bytes, uint8_t first, uint8_t last)
{
    uint64_t low = bytes & WORD_EACH * 0x7F;
    return (low + WORD_EACH * (uint8_t)(0x80 - first)) &
           ~(low + WORD_EACH * (uint8_t)(0x7F - last)) & ~bytes & WORD_EACH * 0x80;
}

/* Adds ASCII letters and digits from text[i..n-1], eight bytes at a time, as long as eight are
 * left. Returns the end of the bytes added. Only for is_plain rules, under which a letter folds
 * to itself | 0x20 and every other character folds to itself. Setting 0x20 converts upper-case
 * letters to lower case, and turns no other character into a letter: '@' becomes '`', and '['
 * becomes '{'. */
INLINE int64_t word_hash_add_ascii(word_hash *to, const uint8_t *text, int64_t n, int64_t i)
{
    while (i + 8 <= n) {
        uint64_t bytes = load_u64(text + i);
        uint64_t letters = word_bytes_between(bytes | WORD_EACH * 0x20, 'a', 'z');
        uint64_t others = ~(letters | word_bytes_between(bytes, '0', '9')) & WORD_EACH * 0x80;
        bytes |= letters >> 2; /* 0x20, lower case */
        int n_bytes = others ? lowest_bit(others) / 8 : 8;
        if (others) bytes &= (UINT64_C(1) << 8 * n_bytes) - 1;
        word_hash_add(to, bytes, n_bytes);
        i += n_bytes;
        if (others) break;
    }
    return i;
}

/* A word: text[begin..end-1], and the hash of its folded form. */
typedef struct word {
    int64_t begin;
    int64_t end;
    uint64_t hash;
} word;

/* Finds the first word of text[i..n-1]; returns 0 if there is none. Takes time linear in the bytes
 * up to its end. A word that begins with ASCII letters may continue with other characters, so the
 * loop at the end always runs. */
INLINE int word_next(const unitok_word_rules *rules, const uint8_t *text, int64_t n, int64_t i,
                     word *ret)
{
    uint32_t entry = 0;
    int64_t n_bytes = 0;
    while (i < n && !word_class(entry = word_entry_at(rules, text, n, i, &n_bytes))) i += n_bytes;
    if (i >= n) return 0;
    int is_alone = word_class(entry) == UNITOK_WORD_ALONE;
    word_hash hash = {rules->seed, 0, 0};
    ret->begin = i;
    if (rules->is_plain && text[i] < 0x80) i = word_hash_add_ascii(&hash, text, n, i);
    if (i == ret->begin) {
        word_hash_add_fold(&hash, rules, word_fold(entry));
        i += n_bytes;
    }
    for (; i < n; i += n_bytes) {
        entry = word_entry_at(rules, text, n, i, &n_bytes);
        uint32_t class = word_class(entry);
        if (class != UNITOK_WORD_MARK && (is_alone || class != UNITOK_WORD_JOINED)) break;
        word_hash_add_fold(&hash, rules, word_fold(entry));
    }
    ret->end = i;
    ret->hash = word_hash_end(&hash);
    return 1;
}

/* The maximum size of a folded character, in bytes: three code points of four bytes. */
#define WORD_FOLD_BYTES 12

/* Writes the folded character of an entry as UTF-8; returns its size. */
INLINE int word_fold_encode(const unitok_word_rules *rules, uint32_t entry, uint8_t *ret)
{
    uint32_t fold = word_fold(entry);
    if (LIKELY(fold < UNITOK_WORD_CODE_POINTS)) return utf8_encode(fold, ret);
    const uint32_t *codes = rules->longer + 3 * (fold - UNITOK_WORD_CODE_POINTS);
    int n = 0;
    for (int k = 0; k < 3 && codes[k]; k++) n += utf8_encode(codes[k], ret + n);
    return n;
}

/* Whether the folded form of the word text[begin..end-1] is folded[0..n_folded-1]. */
int word_is(const unitok_word_rules *rules, const uint8_t *text, int64_t begin, int64_t end,
            const uint8_t *folded, int64_t n_folded);
