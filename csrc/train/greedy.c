/* greedy.c - counts uses, values and pairs: see greedy.h
 *
 * The vocabulary is trained in rounds. A round encodes a sample of text with its pieces and counts;
 * the trainer, in Python, then removes pieces of little value and adds joined pairs, and starts the
 * next round:
 *
 *     unitok_greedy_new            the pieces of the round, in a trie
 *     unitok_greedy_counts_new     one for each thread
 *         unitok_greedy_count      any number of documents of a source, then
 *         unitok_greedy_end_source     its counts, damped and weighted, are added to the totals
 *     unitok_greedy_merge          the totals of the threads
 *
 * All totals are integers, so they do not depend on the order in which threads and sources add to
 * them. */

#include "train/greedy.h"

#include <math.h>
#include <string.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/utf8.h"

#define FIRST_BITS 12
/* If the detour has not met the encoding after this many tokens, the piece gets no value here. */
#define MAX_DETOUR 64

/* ------------------------------------------------------------- which strings may be pieces ---- */

/* C's isspace in the C locale: six characters. */
static int is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* Whether a piece of at least two bytes consists of complete characters, or is the beginning or the
 * end of one character. Single bytes are always pieces. Other strings, such as the end of one
 * character and the beginning of the next, are never pieces. */
static int is_complete_or_part(const uint8_t *piece, int64_t n_bytes)
{
    if (utf8_is_valid(piece, n_bytes)) return 1;
    uint8_t lead = piece[0];
    int wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (is_continuation(lead)) wanted = 4;
    if (n_bytes >= wanted) return 0;
    for (int64_t i = 1; i < n_bytes; i++)
        if (!is_continuation(piece[i])) return 0;
    if (is_continuation(lead)) return 1;
    /* The second bytes that a lead byte allows are a range that begins with 0x80 or ends with 0xBF,
     * so any valid beginning is completed by one of the two. */
    uint8_t low[4] = {0x80, 0x80, 0x80, 0x80}, high[4] = {0xBF, 0xBF, 0xBF, 0xBF};
    memcpy(low, piece, (size_t)n_bytes);
    memcpy(high, piece, (size_t)n_bytes);
    return utf8_is_valid(low, wanted) || utf8_is_valid(high, wanted);
}

/* ASCII only: is_closed handles the bytes from 0x80 on itself. */
static int is_letter(uint8_t byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

static int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* See closed_words in unitok_train.h. Whether `byte` may follow `before`: a non-ASCII byte may
 * follow anything. After a letter or a non-ASCII byte, an ASCII byte must be a letter; after a
 * digit, it must be a digit. After a space, any byte may follow; after any other byte, all except
 * digits. */
static int is_closed(uint8_t before, uint8_t byte)
{
    if (byte >= 0x80) return 1;
    if (before >= 0x80 || is_letter(before)) return is_letter(byte);
    if (is_digit(before)) return is_digit(byte);
    return !is_digit(byte) || is_space(before);
}

/* A run repeats one byte, such as a space or a hyphen, and may be longer than other pieces. */
static int is_run(const uint8_t *piece, int64_t n_bytes)
{
    return n_bytes > 0 && memcmp(piece, piece + 1, (size_t)(n_bytes - 1)) == 0;
}

/* Counts consecutive digits, words and newlines in one pass. No word may follow a blank line, so
 * that no piece contains text of two paragraphs. Checks bytes, because greedy pieces need not be
 * complete characters. */
int32_t unitok_greedy_allows(const unitok_greedy_rules *rules, const uint8_t *piece,
                             int64_t n_bytes)
{
    if (n_bytes <= 1) return n_bytes;
    if (n_bytes > (is_run(piece, n_bytes) ? rules->max_run_bytes : rules->max_piece_bytes))
        return 0;
    if (!is_complete_or_part(piece, n_bytes)) return 0;
    /* Counts so far: words begun, consecutive digits, and newlines since the last word. */
    int64_t n_words = 0, n_digits = 0, n_newlines = 0;
    int in_word = 0, has_blank_line = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        uint8_t byte = piece[i];
        n_digits = is_digit(byte) ? n_digits + 1 : 0;
        if (n_digits > rules->max_digits) return 0;
        if (rules->closed_words && i && !is_closed(piece[i - 1], byte)) return 0;
        if (is_space(byte)) {
            /* A space begins a word, so in a piece of one word, it can only be first. */
            if (in_word && rules->max_words == 1) return 0;
            if (byte == '\n' && n_newlines++) has_blank_line = 1;
            in_word = 0;
        } else {
            if (has_blank_line) return 0;
            if (!in_word && ++n_words > rules->max_words) return 0;
            in_word = 1;
            n_newlines = 0;
        }
    }
    return !(rules->leading_spaces && n_words && piece[n_bytes - 1] == ' ');
}

/* ------------------------------------------------------------------- the pieces of a round ---- */

/* The pieces are borrowed. They are sorted by bytes, as the trie requires, and include every single
 * byte, so that encoding never fails. */
int32_t unitok_greedy_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                          const unitok_greedy_rules *rules, unitok_greedy **ret,
                          unitok_error *error)
{
    if (n_pieces < 256 || n_pieces > UNITOK_WIDE_ID_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, n_pieces, -1,
                    "the number of pieces is not 256..4,194,303");
    unitok_greedy *g = mem_zalloc(1, sizeof *g);
    int64_t *ids = mem_alloc((size_t)n_pieces * sizeof *ids);
    int32_t status = UNITOK_ERROR_MEMORY;
    trie_parts parts = {NULL, 0};
    if (!g || !ids) goto failed;
    for (int64_t k = 0; k < n_pieces; k++) ids[k] = k;
    *g = (unitok_greedy){.data = data, .offsets = offsets, .n_pieces = n_pieces, .rules = *rules};
    if ((status = trie_build(data, offsets, ids, n_pieces, &parts, error))) goto failed_with_error;
    g->units = parts.units;
    g->heads = mem_alloc(TRIE_HEADS * sizeof *g->heads);
    g->singles = mem_alloc(256 * sizeof *g->singles);
    status = UNITOK_ERROR_MEMORY;
    if (!g->heads || !g->singles) goto failed;
    trie_build_heads(g->units, 0, g->heads, g->singles);
    for (int byte = 0; byte < 256; byte++) {
        if (g->singles[byte]) continue;
        status = fail(error, UNITOK_ERROR_VOCABULARY, -1, byte, "every byte must be a piece");
        goto failed_with_error;
    }
    g->trie = (trie){g->units, g->heads, g->singles, parts.n_units};
    mem_free(ids);
    *ret = g;
    return UNITOK_OK;
failed:
    fail_memory(error);
failed_with_error:
    mem_free(ids);
    unitok_greedy_free(g);
    return status;
}

void unitok_greedy_free(unitok_greedy *g)
{
    if (!g) return;
    mem_free(g->units);
    mem_free(g->heads);
    mem_free(g->singles);
    mem_free(g);
}

/* ------------------------------------------------------------------------- tables of pairs ---- */

/* The upper bits of the second product select the slot. Keys are pairs of small numbers, so the
 * halves are mixed before that product. */
static uint64_t slot_of(uint64_t key, int bits)
{
    key *= UINT64_C(0x9E3779B97F4A7C15);
    key ^= key >> 32;
    return key * UINT64_C(0xD6E8FEB86659FD93) >> (64 - bits);
}

/* The slot of a key, or the free slot where it belongs. */
static greedy_pair *find_pair(const greedy_pairs *pairs, uint64_t key)
{
    uint64_t mask = (UINT64_C(1) << pairs->bits) - 1, at = slot_of(key, pairs->bits);
    while (pairs->slots[at].key && pairs->slots[at].key != key) at = (at + 1) & mask;
    return &pairs->slots[at];
}

/* All slots are free, because a free slot has key 0. */
static int init_pairs(greedy_pairs *pairs, int bits)
{
    *pairs = (greedy_pairs){.slots = mem_zalloc((size_t)1 << bits, sizeof *pairs->slots),
                            .bits = bits};
    return pairs->slots != NULL;
}

/* Doubles the table. The old table is kept until the new one is complete, so a failure loses
 * nothing. */
static int grow_pairs(greedy_pairs *pairs)
{
    greedy_pairs grown;
    if (!init_pairs(&grown, pairs->bits + 1)) return 0;
    grown.n = pairs->n;
    for (int64_t i = 0; i < INT64_C(1) << pairs->bits; i++)
        if (pairs->slots[i].key) *find_pair(&grown, pairs->slots[i].key) = pairs->slots[i];
    mem_free(pairs->slots);
    *pairs = grown;
    return 1;
}

/* Adds to the entry of a pair; returns 0 if allocation fails. The table never gets more than two
 * thirds full. When it grows, the slot must be searched again. */
static int add_pair(greedy_pairs *pairs, uint64_t key, int64_t gain, int64_t n_sources)
{
    greedy_pair *pair = find_pair(pairs, key);
    if (!pair->key) {
        if (3 * (pairs->n + 1) > INT64_C(2) << pairs->bits) {
            if (!grow_pairs(pairs)) return 0;
            pair = find_pair(pairs, key);
        }
        pair->key = key;
        pairs->n++;
    }
    pair->gain += gain;
    pair->n_sources += n_sources;
    return 1;
}

/* Adds 1, because 0 marks a free slot. */
static uint64_t key_of(uint32_t left, uint32_t right) { return ((uint64_t)left << 32 | right) + 1; }

/* -------------------------------------------------------------------- a pass over the text ---- */

/* The five arrays of counts are one allocation: `uses` owns it, and the others point into it. */
int32_t unitok_greedy_counts_new(const unitok_greedy *greedy, unitok_greedy_counts **ret,
                                 unitok_error *error)
{
    unitok_greedy_counts *c = mem_zalloc(1, sizeof *c);
    if (!c) return fail_memory(error);
    size_t n = (size_t)greedy->n_pieces;
    c->greedy = greedy;
    c->uses = mem_zalloc(5 * n, sizeof *c->uses);
    if (!c->uses || !init_pairs(&c->source_pairs, FIRST_BITS) ||
        !init_pairs(&c->pairs, FIRST_BITS)) {
        unitok_greedy_counts_free(c);
        return fail_memory(error);
    }
    c->values = c->uses + n;
    c->n_sources = c->uses + 2 * n;
    c->source_uses = c->uses + 3 * n;
    c->source_values = c->uses + 4 * n;
    *ret = c;
    return UNITOK_OK;
}

void unitok_greedy_counts_free(unitok_greedy_counts *c)
{
    if (!c) return;
    mem_free(c->uses);
    mem_free(c->source_pairs.slots);
    mem_free(c->pairs.slots);
    mem_free(c->tokens);
    mem_free(c->ends);
    mem_free(c);
}

/* Discards the contents, because each document is encoded from its start. */
static int reserve_tokens(unitok_greedy_counts *c, int64_t n)
{
    if (n <= c->tokens_capacity) return 1;
    mem_free(c->tokens);
    mem_free(c->ends);
    c->tokens = mem_alloc((size_t)n * sizeof *c->tokens);
    c->ends = mem_alloc((size_t)n * sizeof *c->ends);
    c->tokens_capacity = c->tokens && c->ends ? n : 0;
    return c->tokens_capacity > 0;
}

/* Encodes a text; returns the number of tokens. The trie is larger than the caches, so the first
 * steps of the next walks are prefetched. */
static int64_t encode(const unitok_greedy *g, const uint8_t *text, int64_t n_bytes,
                      uint32_t *tokens, int64_t *ends)
{
    int64_t n = 0;
    for (int64_t at = 0, length; at < n_bytes; n++) {
        trie_fetch_ahead(&g->trie, text + at, n_bytes - at);
        tokens[n] = trie_longest(&g->trie, text + at, n_bytes - at, &length) - 1;
        ends[n] = at += length;
    }
    return n;
}

/* How many more tokens the text takes if the piece of token k is forbidden from that token on. The
 * detour is the encoding without that piece: it takes the next shorter piece instead. Both
 * encodings are followed until they have a boundary in common. MAX_DETOUR bounds the cost if they
 * do not meet.
 *
 *     tokens       │ in the │ same │            without " in the"
 *     detour       │ in │ the │ same │          both meet after " the": one more token
 *
 * Only the detour must be encoded here; the tokens of the text are already known. */
static int64_t value_of(const unitok_greedy_counts *c, const uint8_t *text, int64_t n_bytes,
                        int64_t k)
{
    const trie *t = &c->greedy->trie;
    uint32_t forbidden = c->tokens[k];
    int64_t at = k ? c->ends[k - 1] : 0, first = k, n_other = 0, length;
    if (c->ends[k] - at == 1) return 0; /* single bytes are never removed */
    /* The encoding that is behind takes the next token, until both end at the same position. */
    do {
        if (at < c->ends[k]) {
            /* The detour takes the longest piece that is allowed. */
            uint32_t token = trie_longest(t, text + at, n_bytes - at, &length) - 1;
            if (token == forbidden && length > 1) trie_longest(t, text + at, length - 1, &length);
            at += length;
            if (++n_other > MAX_DETOUR) return 0;
        } else {
            k++;
        }
    } while (at != c->ends[k]);
    return n_other - (k - first + 1);
}

/* Values and pairs are expensive, so each is counted only if a flag requests it; uses are always
 * counted. */
int32_t unitok_greedy_count(unitok_greedy_counts *c, const uint8_t *data, const int64_t *offsets,
                            int64_t n_docs, int32_t flags, unitok_error *error)
{
    for (int64_t doc = 0; doc < n_docs; doc++) {
        const uint8_t *text = data + offsets[doc];
        int64_t n_bytes = offsets[doc + 1] - offsets[doc];
        if (n_bytes && !reserve_tokens(c, n_bytes)) return fail_memory(error);
        int64_t n = encode(c->greedy, text, n_bytes, c->tokens, c->ends);
        c->n_tokens += n;
        c->n_bytes += n_bytes;
        for (int64_t k = 0; k < n; k++) {
            c->source_uses[c->tokens[k]]++;
            if (flags & UNITOK_GREEDY_VALUES)
                c->source_values[c->tokens[k]] += value_of(c, text, n_bytes, k);
            if (flags & UNITOK_GREEDY_PAIRS && k &&
                !add_pair(&c->source_pairs, key_of(c->tokens[k - 1], c->tokens[k]), 1, 0))
                return fail_memory(error);
        }
    }
    return UNITOK_OK;
}

/* Above `damping`, a count grows only logarithmically, so that repetition in one source counts
 * less. The result is multiplied by the weight of the source and rounded. For example, with damping
 * 100 and weight 1, 100 uses give 100, and 1,000 uses give 100 * (1 + ln 10) = 330. */
static int64_t damped(int64_t count, int64_t weight, int64_t damping)
{
    int64_t size = count < 0 ? -count : count;
    double ret = (double)size;
    if (damping > 0 && size > damping)
        ret = (double)damping * (1 + log((double)size / (double)damping));
    ret = floor(ret * (double)weight + .5);
    return count < 0 ? -(int64_t)ret : (int64_t)ret;
}

/* Whether the rules allow the joined pair. Called once per pair and source, when the source ends,
 * because most pairs occur many times. */
static int is_allowed(const unitok_greedy *g, uint64_t key)
{
    uint8_t piece[UNITOK_GREEDY_MAX_BYTES];
    int64_t parts[2] = {(int64_t)((key - 1) >> 32), (int64_t)((key - 1) & UINT32_MAX)}, n_bytes = 0;
    for (int i = 0; i < 2; i++) {
        int64_t begin = g->offsets[parts[i]], size = g->offsets[parts[i] + 1] - begin;
        if (n_bytes + size > UNITOK_GREEDY_MAX_BYTES) return 0;
        memcpy(piece + n_bytes, g->data + begin, (size_t)size);
        n_bytes += size;
    }
    return unitok_greedy_allows(&g->rules, piece, n_bytes);
}

/* Pairs that occur only once in a source are not worth joining and are dropped, so that they do not
 * fill the totals. The same loops clear the arrays for the next source. */
int32_t unitok_greedy_end_source(unitok_greedy_counts *c, int64_t weight, int64_t damping,
                                 unitok_error *error)
{
    for (int64_t k = 0; k < c->greedy->n_pieces; k++) {
        if (!c->source_uses[k]) continue;
        c->uses[k] += damped(c->source_uses[k], weight, damping);
        c->values[k] += damped(c->source_values[k], weight, damping);
        c->n_sources[k]++;
        c->source_uses[k] = c->source_values[k] = 0;
    }
    for (int64_t i = 0; i < INT64_C(1) << c->source_pairs.bits; i++) {
        greedy_pair pair = c->source_pairs.slots[i];
        if (pair.gain > 1 && is_allowed(c->greedy, pair.key) &&
            !add_pair(&c->pairs, pair.key, damped(pair.gain, weight, damping), 1))
            return fail_memory(error);
        c->source_pairs.slots[i] = (greedy_pair){0, 0, 0};
    }
    c->source_pairs.n = 0;
    return UNITOK_OK;
}

/* Called by one thread when all other threads are done. */
int32_t unitok_greedy_merge(unitok_greedy_counts *into, const unitok_greedy_counts *from,
                            unitok_error *error)
{
    for (int64_t k = 0; k < into->greedy->n_pieces; k++) {
        into->uses[k] += from->uses[k];
        into->values[k] += from->values[k];
        into->n_sources[k] += from->n_sources[k];
    }
    into->n_tokens += from->n_tokens;
    into->n_bytes += from->n_bytes;
    for (int64_t i = 0; i < INT64_C(1) << from->pairs.bits; i++) {
        greedy_pair pair = from->pairs.slots[i];
        if (pair.key && !add_pair(&into->pairs, pair.key, pair.gain, pair.n_sources))
            return fail_memory(error);
    }
    return UNITOK_OK;
}

/* The arrays are borrowed from the counts. */
void unitok_greedy_get_sums(const unitok_greedy_counts *c, unitok_greedy_sums *ret)
{
    *ret = (unitok_greedy_sums){c->uses, c->values, c->n_sources, c->n_tokens, c->n_bytes};
}

/* Writes as many pairs as fit, in table order, and returns the number of all pairs. Call it with
 * capacity 0 first to learn that number. */
int64_t unitok_greedy_pairs(const unitok_greedy_counts *c, uint32_t *lefts, uint32_t *rights,
                            int64_t *gains, int64_t *n_sources, int64_t capacity)
{
    int64_t n = 0;
    for (int64_t i = 0; i < INT64_C(1) << c->pairs.bits; i++) {
        greedy_pair pair = c->pairs.slots[i];
        if (!pair.key) continue;
        if (n < capacity) {
            lefts[n] = (uint32_t)((pair.key - 1) >> 32);
            rights[n] = (uint32_t)((pair.key - 1) & UINT32_MAX);
            gains[n] = pair.gain;
            n_sources[n] = pair.n_sources;
        }
        n++;
    }
    return n;
}
