/* words.c - builds the rules of words, and compares words
 *
 * The two arrays that describe all characters take 5.6 MB and are read once, here. They consist of
 * 4,352 pages of 256 characters. All pages without a word character are equal and are stored once,
 * so mainly the pages of scripts written with letters take memory:
 *
 *     pages     │ 0 │ 1 │ … │ 7 │ 7 │ 7 │ … │            one uint16 for each page
 *                 │   │       └───┴───┴── unassigned, symbols: one page of zeros
 *     entries   │ 256 entries │ 256 entries │ … │        one uint32 for each character */

#include "clean/words.h"

#include "ground/alloc.h"
#include "ground/error.h"

void unitok_word_rules_free(unitok_word_rules *rules)
{
    if (!rules) return;
    mem_free(rules->entries);
    mem_free(rules->longer);
    mem_free(rules);
}

/* Appends a page unless an equal one exists; returns its number. Compares with the last pages
 * first: runs of equal pages, such as unassigned ones, are then found at once. */
static uint16_t add_page(unitok_word_rules *rules, const uint32_t *page)
{
    for (int64_t k = rules->n_pages - 1; k >= 0; k--)
        if (!memcmp(rules->entries + 256 * k, page, 256 * sizeof *page)) return (uint16_t)k;
    memcpy(rules->entries + 256 * rules->n_pages, page, 256 * sizeof *page);
    return (uint16_t)rules->n_pages++;
}

/* Whether the rules treat ASCII letters and digits as word_hash_add_ascii does. Other ASCII
 * characters may have any class: that function stops at them. */
static int is_plain(const uint32_t *ascii)
{
    for (uint32_t c = 0; c < 128; c++) {
        int is_upper = c >= 'A' && c <= 'Z';
        int is_in_word = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        uint32_t fold = is_upper ? c + 32 : c;
        if (is_in_word && ascii[c] != ((uint32_t)UNITOK_WORD_JOINED << 30 | fold)) return 0;
    }
    return 1;
}

int32_t unitok_word_rules_new(const uint8_t *classes, const uint32_t *folds, const uint32_t *longer,
                              int64_t n_longer, uint64_t seed, unitok_word_rules **ret,
                              unitok_error *error)
{
    *ret = NULL;
    for (int64_t c = 0; c < UNITOK_WORD_CODE_POINTS; c++)
        if (classes[c] > UNITOK_WORD_ALONE || folds[c] >= UNITOK_WORD_CODE_POINTS + n_longer)
            return fail(error, UNITOK_ERROR_ARGUMENT, c, -1,
                        "the class or fold of a character is out of range");
    for (int64_t k = 0; k < 3 * n_longer; k++)
        if (longer[k] >= UNITOK_WORD_CODE_POINTS)
            return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "not a code point");
    unitok_word_rules *rules = mem_zalloc(1, sizeof *rules);
    if (!rules) return fail_memory(error);
    rules->seed = seed;
    rules->entries = mem_alloc((size_t)UNITOK_WORD_CODE_POINTS * sizeof *rules->entries);
    rules->longer = mem_alloc((size_t)(3 * n_longer + 1) * sizeof *rules->longer);
    if (!rules->entries || !rules->longer) {
        unitok_word_rules_free(rules);
        return fail_memory(error);
    }
    if (n_longer) memcpy(rules->longer, longer, (size_t)(3 * n_longer) * sizeof *longer);
    for (uint32_t p = 0; p < WORD_PAGES; p++) {
        uint32_t page[256];
        for (uint32_t k = 0; k < 256; k++)
            page[k] = (uint32_t)classes[p << 8 | k] << 30 | folds[p << 8 | k];
        /* characters outside words are not compared, so their folds need not fill a page */
        for (uint32_t k = 0; k < 256; k++)
            if (!word_class(page[k])) page[k] = 0;
        rules->pages[p] = add_page(rules, page);
    }
    memcpy(rules->ascii, rules->entries + 256 * rules->pages[0], sizeof rules->ascii);
    rules->is_plain = is_plain(rules->ascii);
    void *shorter = mem_realloc(rules->entries,
                                (size_t)rules->n_pages * 256 * sizeof *rules->entries);
    if (shorter) rules->entries = shorter;
    *ret = rules;
    return UNITOK_OK;
}

/* Folds the word one character at a time and compares as it goes, so it needs no buffer for a word
 * of any length, and stops at the first difference. */
int word_is(const unitok_word_rules *rules, const uint8_t *text, int64_t begin, int64_t end,
            const uint8_t *folded, int64_t n_folded)
{
    int64_t at = 0, n_bytes;
    for (int64_t i = begin; i < end; i += n_bytes) {
        uint8_t bytes[WORD_FOLD_BYTES];
        uint32_t entry = word_entry_at(rules, text, end, i, &n_bytes);
        int n = word_fold_encode(rules, entry, bytes);
        if (n_folded - at < n || memcmp(folded + at, bytes, (size_t)n)) return 0;
        at += n;
    }
    return at == n_folded;
}
