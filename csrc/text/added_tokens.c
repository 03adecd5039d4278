/* added_tokens.c - finds the added tokens of a tokenizer.json in texts, as Hugging Face's
 * tokenizers does
 *
 *     text      hello   <mask> world</s>          <mask> strips the spaces on its left
 *     sections  hello | ␣␣<mask> | ␣world | </s>
 *     given     -1      50264      -1       2
 *
 * Matches are found from left to right. At each position the longest token matches, and the search
 * resumes after that token, regardless of how its flags affect the match:
 *
 *     SPECIAL       the match is ignored if special tokens are hidden
 *     SINGLE_WORD   the match is ignored if a word character precedes or follows it
 *     LSTRIP        the match is extended over the white space before it, up to the previous match
 *     RSTRIP        the match is extended over the white space after it
 *
 * Few texts contain tokens, so most of the time is spent searching for positions where one may
 * begin. Tokens begin with few distinct pairs of bytes, such as "<|", so all bytes of a block are
 * compared with each of these pairs, in a loop that compilers vectorize. */

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "ground/utf8.h"
#include "structures/trie.h"
#include "structures/vocabulary.h"
#include "text/unicode.h"

#define PAIRS_MAX 8
#define BLOCK_BYTES 64

struct unitok_finder {
    trie trie; /* the values are token indices + 1, or no_token if no token matches */
    uint32_t no_token;
    uint64_t *heads;
    uint32_t *singles;
    trie_parts parts;
    int64_t *ids;
    uint8_t *flags;
    char_set spaces, words;
    uint8_t begins[256]; /* whether a token begins with this byte */
    int64_t longest;     /* bytes of the longest token */
    int strips;          /* whether a token has the flag LSTRIP or RSTRIP */
    int n_pairs;         /* 0: there are too many pairs; `begins` is used instead */
    struct {
        uint8_t first, second, any; /* any: 0xFF if the second byte can be any byte */
    } pairs[PAIRS_MAX];
};

void unitok_finder_free(unitok_finder *f)
{
    if (!f) return;
    mem_free(f->heads);
    mem_free(f->singles);
    mem_free(f->parts.units);
    mem_free(f->ids);
    mem_free(f->flags);
    char_set_free(&f->spaces);
    char_set_free(&f->words);
    mem_free(f);
}

/* -------------------------------------------------------------------------------- Building ---- */

/* Adds the pair (first, second); second = -1 means any byte. Returns 0 if there are too many. */
static int add_pair(unitok_finder *f, uint8_t first, int second)
{
    for (int k = 0; k < f->n_pairs; k++)
        if (f->pairs[k].first == first && (f->pairs[k].any || f->pairs[k].second == second))
            return 1;
    if (f->n_pairs == PAIRS_MAX) return 0;
    f->pairs[f->n_pairs].first = first;
    f->pairs[f->n_pairs].second = second < 0 ? 0 : (uint8_t)second;
    f->pairs[f->n_pairs++].any = second < 0 ? 0xFF : 0;
    return 1;
}

/* Collects the distinct pairs of first bytes or, if there are too many, the distinct first bytes.
 * Each pair costs two comparisons per byte of text, hence the limit. */
static void find_pairs(unitok_finder *f, const uint8_t *data, const int64_t *offsets, int64_t n)
{
    int fits = 1;
    for (int64_t k = 0; k < n; k++) {
        const uint8_t *token = data + offsets[k];
        f->begins[token[0]] = 1;
        fits &= add_pair(f, token[0], offsets[k + 1] - offsets[k] > 1 ? token[1] : -1);
    }
    if (fits) return;
    f->n_pairs = 0;
    fits = 1;
    for (int byte = 0; byte < 256; byte++)
        if (f->begins[byte]) fits &= add_pair(f, (uint8_t)byte, -1);
    if (!fits) f->n_pairs = 0;
}

/* The trie needs its strings in byte order; the values are token numbers, which lead to the flags
 * and ids. */
static int32_t build_trie(unitok_finder *f, const uint8_t *data, const int64_t *offsets, int64_t n,
                          unitok_error *error)
{
    sorted_pieces sorted = {0};
    int64_t *numbers = mem_alloc(((size_t)n + 1) * sizeof *numbers);
    f->heads = mem_alloc(TRIE_HEADS * sizeof *f->heads);
    f->singles = mem_alloc(256 * sizeof *f->singles);
    f->no_token = (uint32_t)n + 1;
    int32_t status = numbers && f->heads && f->singles ? UNITOK_OK : fail_memory(error);
    if (!status) {
        for (int64_t k = 0; k < n; k++) numbers[k] = k;
        status = vocabulary_sort(data, offsets, numbers, n, &sorted, error);
        if (!status)
            status = trie_build(sorted.data, sorted.offsets, sorted.ids, n, &f->parts, error);
        sorted_pieces_free(&sorted);
    }
    mem_free(numbers);
    if (status) return status;
    trie_build_heads(f->parts.units, f->no_token, f->heads, f->singles);
    f->trie.units = f->parts.units;
    f->trie.n_units = f->parts.n_units;
    f->trie.heads = f->heads;
    f->trie.singles = f->singles;
    return UNITOK_OK;
}

static const char *check_tokens(const int64_t *offsets, const int64_t *ids, int64_t n)
{
    const char *wrong = check_offsets(offsets, n);
    if (n >= TRIE_VALUE_MAX - 1) return "there are too many tokens";
    for (int64_t k = 0; k < n && !wrong; k++) {
        if (offsets[k + 1] == offsets[k]) wrong = "a token is empty";
        if (ids[k] < 0 || ids[k] > UNITOK_WIDE_ID_MAX) wrong = "the id of a token is out of range";
    }
    return wrong;
}

int32_t unitok_finder_new(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                          const uint8_t *flags, int64_t n_tokens, unitok_finder **ret,
                          unitok_error *error)
{
    const char *wrong = check_tokens(offsets, ids, n_tokens);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    unitok_finder *f = mem_zalloc(1, sizeof *f);
    if (!f) return fail_memory(error);
    f->ids = mem_alloc(((size_t)n_tokens + 1) * sizeof *f->ids);
    f->flags = mem_alloc((size_t)n_tokens + 1);
    int32_t status = f->ids && f->flags && unicode_white_space(&f->spaces) &&
                             unicode_word(WORD_RUST, &f->words)
                         ? build_trie(f, data, offsets, n_tokens, error)
                         : fail_memory(error);
    if (status) {
        unitok_finder_free(f);
        return status;
    }
    memcpy(f->ids, ids, (size_t)n_tokens * sizeof *ids);
    memcpy(f->flags, flags, (size_t)n_tokens);
    for (int64_t k = 0; k < n_tokens; k++) {
        int64_t n_bytes = offsets[k + 1] - offsets[k];
        if (n_bytes > f->longest) f->longest = n_bytes;
        f->strips |= flags[k] & (UNITOK_TOKEN_LSTRIP | UNITOK_TOKEN_RSTRIP);
    }
    find_pairs(f, data, offsets, n_tokens);
    *ret = f;
    return UNITOK_OK;
}

/* ------------------------------------------------------------------------------- Searching ---- */

/* Returns a mask of the positions in text[0..63] at which a token may begin; reads text[0..64].
 * Usually there is none, so the bytes of `hits` are converted to bits only if one is set. */
INLINE uint64_t candidates(const unitok_finder *f, const uint8_t *text)
{
    uint8_t hits[BLOCK_BYTES] = {0};
    for (int k = 0; k < f->n_pairs; k++) {
        uint8_t first = f->pairs[k].first, second = f->pairs[k].second, any = f->pairs[k].any;
        for (int i = 0; i < BLOCK_BYTES; i++)
            hits[i] |= (uint8_t)(-(text[i] == first) & (-(text[i + 1] == second) | any));
    }
    uint64_t words[8], all = 0, mask = 0;
    memcpy(words, hits, sizeof words);
    for (int k = 0; k < 8; k++) all |= words[k];
    if (LIKELY(!all)) return 0;
    /* the product gathers the lowest bits of eight bytes in the highest byte */
    for (int k = 0; k < 8; k++)
        mask |= ((words[k] & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56)
                << 8 * k;
    return mask;
}

/* Returns the first position from `at` on where a token may begin, or n_bytes. */
static int64_t next_candidate(const unitok_finder *f, const uint8_t *text, int64_t at,
                              int64_t n_bytes)
{
    for (; f->n_pairs && n_bytes - at > BLOCK_BYTES; at += BLOCK_BYTES) {
        uint64_t mask = candidates(f, text + at);
        if (mask) return at + lowest_bit(mask);
    }
    while (at < n_bytes && !f->begins[text[at]]) at++;
    return at;
}

/* Whether the character that begins at text[0], n_bytes >= 1, is in the set. */
static int begins_with(const char_set *set, const uint8_t *text, int64_t n_bytes, int *ret_length)
{
    *ret_length = utf8_length(text, n_bytes);
    return *ret_length && char_set_has(set, utf8_code_point(text, *ret_length));
}

/* Whether the character that ends before text[end], end > begin, is in the set. */
static int ends_with(const char_set *set, const uint8_t *text, int64_t begin, int64_t end,
                     int *ret_length)
{
    int64_t at = end - 1;
    while (at > begin && end - at < 4 && is_continuation(text[at])) at--;
    return begins_with(set, text + at, end - at, ret_length) && *ret_length == end - at;
}

/* A list of sections under construction: section k is [offsets[k], offsets[k + 1]). More sections
 * than `capacity` are counted but not written, so that the caller can repeat the call with more
 * memory. */
typedef struct sections {
    const unitok_finder *f;
    const uint8_t *data;
    int64_t n_bytes;   /* the size of all items */
    int64_t candidate; /* the next position at which a token may begin */
    int hide_special;
    int64_t *offsets, *given, n, capacity;
} sections;

static void put_section(sections *s, int64_t begin, int64_t given)
{
    if (s->n < s->capacity) {
        s->offsets[s->n] = begin;
        s->given[s->n] = given;
    }
    s->n++;
}

/* Whether a match at data[start..stop), in the item data[begin..end), counts for a token with these
 * flags. */
static int is_used(const sections *s, uint8_t flags, int64_t begin, int64_t start, int64_t stop,
                   int64_t end)
{
    int length;
    if (flags & UNITOK_TOKEN_SPECIAL && s->hide_special) return 0;
    if (!(flags & UNITOK_TOKEN_SINGLE_WORD)) return 1;
    const char_set *words = &s->f->words;
    return !(start > begin && ends_with(words, s->data, begin, start, &length)) &&
           !(stop < end && begins_with(words, s->data + stop, end - stop, &length));
}

/* Divides an item into sections. The item is data[begin..end), and `done` is the end of the
 * sections written so far.
 *
 *     │ sections   │ plain text  │␣<mask>␣␣│ …       <mask> has LSTRIP and RSTRIP
 *     begin        done          start     stop      `at`: after the >
 *
 * `candidate` is kept from item to item, because the search for candidates runs over all items at
 * once: if few items contain a token, a block is searched once and not once for each of its items.
 * A token must not cross the end of its item, so the trie sees only the text of the item. `at`
 * stays at the end of the match itself, as in the reference, so a later match may begin before
 * `done`; that match is then shortened. */
static void split_item(sections *s, int64_t begin, int64_t end)
{
    const unitok_finder *f = s->f;
    int64_t done = begin, at = begin, n_bytes;
    int length;
    for (;;) {
        if (s->candidate < at) s->candidate = next_candidate(f, s->data, at, s->n_bytes);
        if (s->candidate >= end) break;
        int64_t start = s->candidate;
        uint32_t value = trie_longest(&f->trie, s->data + start, end - start, &n_bytes);
        at = start + (value == f->no_token ? 1 : n_bytes);
        if (value == f->no_token) continue;
        uint8_t flags = f->flags[value - 1];
        int64_t stop = at;
        if (!is_used(s, flags, begin, start, stop, end)) continue;
        while (flags & UNITOK_TOKEN_LSTRIP && start > done &&
               ends_with(&f->spaces, s->data, done, start, &length))
            start -= length;
        while (flags & UNITOK_TOKEN_RSTRIP && stop < end &&
               begins_with(&f->spaces, s->data + stop, end - stop, &length))
            stop += length;
        if (start < done) start = done;
        if (stop < start) stop = start;
        if (done < start) put_section(s, done, -1);
        put_section(s, start, f->ids[value - 1]);
        done = stop;
    }
    if (done < end || begin == end) put_section(s, done, -1);
}

int64_t unitok_finder_split(const unitok_finder *f, const uint8_t *data, const int64_t *offsets,
                            const int64_t *given, int64_t n_items, int32_t hide_special,
                            int64_t *ret_offsets, int64_t *ret_given, int64_t *ret_starts,
                            int64_t capacity)
{
    sections s = {f, data, offsets[n_items], -1, hide_special, ret_offsets, ret_given, 0, capacity};
    for (int64_t k = 0; k < n_items; k++) {
        ret_starts[k] = s.n;
        if (given && given[k] >= 0) put_section(&s, offsets[k], given[k]);
        else split_item(&s, offsets[k], offsets[k + 1]);
    }
    ret_starts[n_items] = s.n;
    if (s.n <= capacity) ret_offsets[s.n] = offsets[n_items];
    return s.n;
}

int32_t unitok_finder_matches(const unitok_finder *f, const uint8_t *data, int64_t n_bytes)
{
    int64_t length;
    for (int64_t at = -1; (at = next_candidate(f, data, at + 1, n_bytes)) < n_bytes;)
        if (trie_longest(&f->trie, data + at, n_bytes - at, &length) != f->no_token) return 1;
    return 0;
}

/* A token that ends or begins at text[at] counts, because its flags may examine or strip the
 * character on the other side. A token further away strips nothing across position `at`, unless
 * text[at - 1] is a space. If the text ends too early to tell, the answer is yes: callers then do
 * not cut here. */
int32_t unitok_finder_reaches(const unitok_finder *f, const uint8_t *text, int64_t n_bytes,
                              int64_t at)
{
    int64_t length, begin = at > f->longest ? at - f->longest : 0;
    int n_before;
    if (f->strips && ends_with(&f->spaces, text, 0, at, &n_before)) return 1;
    if (at + f->longest > n_bytes) return 1;
    for (int64_t i = begin; i <= at; i++)
        if (f->begins[text[i]] &&
            trie_longest(&f->trie, text + i, n_bytes - i, &length) != f->no_token &&
            i + length >= at)
            return 1;
    return 0;
}
