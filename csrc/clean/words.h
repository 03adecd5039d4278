/* words.h - the words of a text, as they are compared: case-folded, without punctuation
 *
 *     The  co-op's  Straße   日本          text
 *     the  co op s  strasse  日 本         words, case-folded
 *
 * A word is one or more characters of the class `joined` or `mark`, or a character of the class `alone` with the marks
 * after it. Invalid bytes are not part of any word. The rules are one number for each character, in
 * pages of 256 characters; equal pages are stored once:
 *
 *     entry    class << 30 | fold        fold: a code point, or 0x110000 + k for three code points
 */
#pragma once

#include "ground/utf8.h"
#include "unitok_clean.h"

#define WORD_PAGES (UNITOK_WORD_CODE_POINTS >> 8)

struct unitok_word_rules {
    uint64_t seed; /* the seed of the hashes */
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

/* The entry of the character at text[i], and its size; an invalid byte is not part of a word. */
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

/* Two multiplications by odd constants make each bit of the hash depend on the word. */
#define WORD_FACTOR UINT64_C(0x9E3779B97F4A7C15)

INLINE uint64_t word_hash_step(uint64_t hash, uint32_t code_point)
{
    return (hash ^ code_point) * WORD_FACTOR;
}

INLINE uint64_t word_hash_end(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 29;
}

/* Adds a folded character to a hash. */
INLINE uint64_t word_hash_fold(const unitok_word_rules *rules, uint64_t hash, uint32_t fold)
{
    if (LIKELY(fold < UNITOK_WORD_CODE_POINTS)) return word_hash_step(hash, fold);
    const uint32_t *codes = rules->longer + 3 * (fold - UNITOK_WORD_CODE_POINTS);
    for (int k = 0; k < 3 && codes[k]; k++) hash = word_hash_step(hash, codes[k]);
    return hash;
}

/* A word: text[begin..end-1], and the hash of its folded form. */
typedef struct word {
    int64_t begin;
    int64_t end;
    uint64_t hash;
} word;

/* Finds the first word of text[i..n-1]; returns 0 if there is none. */
INLINE int word_next(const unitok_word_rules *rules, const uint8_t *text, int64_t n, int64_t i,
                     word *ret)
{
    uint32_t entry = 0;
    int64_t n_bytes = 0;
    while (i < n && !word_class(entry = word_entry_at(rules, text, n, i, &n_bytes))) i += n_bytes;
    if (i >= n) return 0;
    int is_alone = word_class(entry) == UNITOK_WORD_ALONE;
    uint64_t hash = word_hash_fold(rules, rules->seed, word_fold(entry));
    ret->begin = i;
    for (i += n_bytes; i < n; i += n_bytes) {
        entry = word_entry_at(rules, text, n, i, &n_bytes);
        uint32_t class = word_class(entry);
        if (class != UNITOK_WORD_MARK && (is_alone || class != UNITOK_WORD_JOINED)) break;
        hash = word_hash_fold(rules, hash, word_fold(entry));
    }
    ret->end = i;
    ret->hash = word_hash_end(hash);
    return 1;
}

/* The maximum size of a folded character, in bytes. */
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
