/* json_merges.c - reads the merges of a tokenizer.json, the longest list in most of these files
 *
 *     [ "in g", "Ġ t", … ]   or   [ ["in", "g"], ["Ġ", "t"], … ]
 *
 *     text      i n g Ġ t …     the sides; the result of a merge is its two sides together
 *     bounds    0   2 3 5 6 …   merge k is text[bounds[2k]..bounds[2k + 2]), divided at bounds[2k + 1]
 *
 * Unusual lists are left to Python, which reads the list again and reports any error. A list is
 * unusual if it contains a lone surrogate, a comment, invalid UTF-8, or a merge without exactly one
 * space. */

#include "ground/error.h"
#include "structures/string_table.h"
#include "text/json.h"

#define MERGES_BATCH 16 /* the number of merges that are looked up together */

typedef struct merge_list {
    const json_level *level;
    const uint8_t *json;
    int64_t i, n_bytes;
    uint8_t *text;
    int64_t n_text;
} merge_list;

/* Returns the next byte that is not white space, or 0 at the end. */
static uint8_t peek(merge_list *l)
{
    while (l->i < l->n_bytes) {
        uint8_t c = l->json[l->i];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return c;
        l->i++;
    }
    return 0;
}

/* Skips white space, and then `wanted` if it is next. Returns whether it was. */
static int take(merge_list *l, uint8_t wanted)
{
    int is_next = peek(l) == wanted;
    l->i += is_next;
    return is_next;
}

/* Appends the next string to the text. The text is never longer than the JSON read so far, so there
 * is enough space after it for the bytes that `take` may overwrite. */
static int take_string(merge_list *l)
{
    json_string s;
    if (peek(l) != '"') return 0;
    l->level->take(l->json + l->i, l->n_bytes - l->i, l->text + l->n_text, &s);
    l->i += s.n_bytes;
    l->n_text += s.n_out;
    return s.n_bytes && !s.surrogate;
}

/* Takes "left right" and removes the space. Returns the position where it was, or -1. */
static int64_t take_joined(merge_list *l)
{
    static const char comment[] = "#version";
    int64_t begin = l->n_text;
    if (!take_string(l)) return -1;
    uint8_t *text = l->text + begin, *end = l->text + l->n_text;
    uint8_t *space = memchr(text, ' ', (size_t)(end - text));
    if (!space || memchr(space + 1, ' ', (size_t)(end - space - 1))) return -1;
    if (end - text >= 8 && memcmp(text, comment, 8) == 0) return -1;
    memmove(space, space + 1, (size_t)(end - space - 1));
    l->n_text--;
    return space - l->text;
}

/* Takes ["left", "right"]. Returns the position where the right side begins, or -1. */
static int64_t take_pair(merge_list *l)
{
    if (!take(l, '[') || !take_string(l) || !take(l, ',')) return -1;
    int64_t middle = l->n_text;
    return take_string(l) && take(l, ']') ? middle : -1;
}

/* Reads up to the closing bracket. UTF-8 is checked once, over the JSON instead of each string:
 * everything outside strings is ASCII, or was rejected. */
int64_t unitok_json_merges(const uint8_t *json, int64_t n_bytes, uint8_t *text, int64_t *bounds,
                           int64_t *ret_n_merges)
{
    merge_list l = {json_level_of(UNITOK_CPU_AUTO), json, 0, n_bytes, text, 0};
    int64_t n = 0;
    bounds[0] = 0;
    if (!take(&l, '[')) return 0;
    for (int is_first = 1; !take(&l, ']'); is_first = 0) {
        if (!is_first && !take(&l, ',')) return 0;
        int64_t middle = peek(&l) == '"' ? take_joined(&l) : take_pair(&l);
        if (middle < 0) return 0;
        bounds[++n] = middle;
        bounds[++n] = l.n_text;
    }
    *ret_n_merges = n / 2;
    return l.level->check(json, l.i) ? l.i : 0;
}

/* Computes the hashes of the left side, the right side, and both together. Prefetches their slots,
 * because waiting for these takes most of the time. */
static void hash_merge(const string_table *t, const uint8_t *text, const int64_t *bounds,
                       uint64_t hashes[3])
{
    hashes[0] = string_table_hash(t, text + bounds[0], bounds[1] - bounds[0]);
    hashes[1] = string_table_hash(t, text + bounds[1], bounds[2] - bounds[1]);
    hashes[2] = hashes[0];
    for (int64_t i = bounds[1]; i < bounds[2]; i++)
        hashes[2] = string_table_hash_step(t, hashes[2], text[i]);
    for (int k = 0; k < 3; k++) PREFETCH(&t->slots[string_table_place(t, hashes[k])]);
}

/* Looks up the left side, the right side and the result of each merge; `ret` has three columns of
 * n_merges. A string table needs no memory for the concatenation, since the hash of the result
 * continues that of its left side, and the two sides are adjacent in `text`. */
int32_t unitok_find_merges(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                           const uint8_t *text, const int64_t *bounds, int64_t n_merges,
                           int64_t *ret, unitok_error *error)
{
    string_table t;
    int64_t twice;
    uint64_t hashes[MERGES_BATCH][3];
    int32_t status = string_table_build(&t, data, offsets, n_pieces, NULL, &twice, error);
    for (int64_t k = 0; !status && k < n_merges; k++) {
        if (k % MERGES_BATCH == 0)
            for (int64_t j = k; j < k + MERGES_BATCH && j < n_merges; j++)
                hash_merge(&t, text, bounds + 2 * j, hashes[j % MERGES_BATCH]);
        const uint64_t *hash = hashes[k % MERGES_BATCH];
        const uint8_t *left = text + bounds[2 * k], *right = text + bounds[2 * k + 1];
        int64_t n_left = right - left, n_both = bounds[2 * k + 2] - bounds[2 * k];
        ret[k] = string_table_find_hashed(&t, left, n_left, hash[0]);
        ret[n_merges + k] = string_table_find_hashed(&t, right, n_both - n_left, hash[1]);
        ret[2 * n_merges + k] = string_table_find_hashed(&t, left, n_both, hash[2]);
        if ((ret[k] | ret[n_merges + k] | ret[2 * n_merges + k]) < 0)
            status = fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                          "a part of a merge is not a piece");
    }
    string_table_free(&t);
    return status;
}
