/* bpe.c - merges pairs: scans all symbols if they are few, otherwise uses a heap (bpe.h) */

#include "ground/alloc.h"
#include "encoders/bpe_tables.h"
#include "ground/rng.h"
#include "structures/heap.h"

/* The largest number of symbols for which a scan finds the best pair; each is marked by one bit of
 * a word. The scan is twice as fast as the heap at 64 symbols, and three times as fast at 32. */
#define SHORT_SYMBOLS 64

/* The pair with the smallest key merges first. */
INLINE uint64_t key_of(uint32_t merge, int64_t at) { return (uint64_t)merge << 32 | (uint64_t)at; }

/* --------------------------------------------------------------------------- Unused pieces ---- */

/* The two symbols into which an unused piece is split. */
typedef struct split {
    uint32_t left, right;
    uint32_t call; /* the call that recorded this split */
} split;

/* The reference's limit: an unused piece at a greater depth is emitted unsplit. */
#define SPLIT_DEPTH_MAX 100

/* Where tokens are written. `end` is the end of the last token; only the parts of a split piece
 * need it, because the ends of other tokens follow from the starts of the symbols. */
typedef struct output {
    const bpe *m;
    const split *splits;
    token *tokens;
    int64_t n;
    uint32_t end, call;
} output;

/* Emits a symbol. An unused piece is emitted as the two symbols that made it, each split again if
 * it is unused too. As in the reference, a piece at a depth of more than SPLIT_DEPTH_MAX is not
 * split and keeps its id. An unused piece that no pair of this call made is an unknown
 * character. */
static void put_split(output *out, uint32_t symbol, int depth)
{
    const split *way = &out->splits[symbol];
    int is_unused = out->m->is_unused[symbol];
    if (depth <= SPLIT_DEPTH_MAX && is_unused && way->call == out->call) {
        put_split(out, way->left, depth + 1);
        put_split(out, way->right, depth + 1);
        return;
    }
    token *t = &out->tokens[out->n++];
    t->id = depth <= SPLIT_DEPTH_MAX && is_unused ? TOKEN_UNKNOWN : out->m->ids[symbol];
    t->end = out->end += out->m->lengths[symbol];
}

/* Emits the symbol that covers [start, end) of the segment. */
INLINE void put_token(output *out, uint32_t symbol, uint32_t start, uint32_t end)
{
    if (UNLIKELY(out->m->is_unused != NULL) && out->m->is_unused[symbol]) {
        out->end = start;
        put_split(out, symbol, 0);
        return;
    }
    token *t = &out->tokens[out->n++];
    t->id = out->m->ids[symbol];
    t->end = end;
}

/* Allocates the splits and starts a new call. Returns 0 if allocation fails. Each split carries the
 * number of its call, so splits of earlier calls are cleared only when this number would
 * overflow. */
static int begin_splits(const bpe *m, bpe_scratch *s)
{
    if (!s->splits || s->n_calls == UINT32_MAX) {
        mem_free(s->splits);
        s->splits = mem_zalloc(m->n_symbols, sizeof(split));
        s->n_calls = 0;
    }
    s->n_calls++;
    return s->splits != NULL;
}

/* --------------------------------------------------------------------------------- Pairs ---- */

/* The state of pair lookups in one call. */
typedef struct finder {
    const bpe *m;
    split *splits;
    uint32_t call;
    int drops; /* with dropout: pairs of both tables can occur */
} finder;

/* Returns the merge of two neighbours, from the square of dense symbols or from the table of
 * pairs.
 *
 * The reference records how an unused piece can be made whenever it looks up a pair that can merge,
 * even if the pair then does not merge. So this must be called for the same pairs as in the
 * reference, in the same order. `try_dense` is a hint that both symbols are probably characters; it
 * never changes the result. m->rest holds the pairs that occur only with dropout (bpe_tables.h). */
INLINE uint32_t look_up(finder f, uint32_t left, uint32_t right, int try_dense)
{
    const bpe *m = f.m;
    uint32_t merge;
    if (try_dense && (left | right) < BPE_DENSE) merge = m->dense[left * BPE_DENSE + right];
    else merge = bpe_find_merge(&m->pairs, left, right);
    if (f.drops && merge == BPE_NO_MERGE && m->rest.slots)
        merge = bpe_find_merge(&m->rest, left, right);
    if (UNLIKELY(f.splits != NULL) && merge != BPE_NO_MERGE &&
        m->is_unused[m->made[merge].symbol]) {
        split way = {left, right, f.call};
        f.splits[m->made[merge].symbol] = way;
    }
    return merge;
}

/* The rank of a merge; BPE_NO_MERGE ranks last. Merges are numbered best first, so the number is
 * the rank unless several merges have the same priority, which only happens from m->tied_from on.
 * One comparison checks both bounds, tied_from <= merge < n_merges, because the difference wraps
 * around. */
INLINE uint32_t rank_of(const bpe *m, uint32_t merge)
{
    return UNLIKELY(merge - m->tied_from < m->n_merges - m->tied_from) ? m->made[merge].rank
                                                                       : merge;
}

/* Returns the symbol that a merge makes. With dropout, the merge need not be in the main table. */
INLINE uint32_t symbol_of(finder f, uint32_t merge)
{
    return LIKELY(f.m->first_made && !f.drops) ? f.m->first_made + merge : f.m->made[merge].symbol;
}

/* ----------------------------------------------------------------------------- Few symbols ---- */

/* The key of a pair in a short text contains its rank, position and merge. BPE_NO_MERGE is the
 * largest rank.
 *
 *     49 .. 28 | 27 .... 22 | 21 .. 0
 *     rank     | position   | merge
 */
#define SHORT_NO_KEY ((uint64_t)BPE_NO_MERGE << 28)

/* The number of keys whose minimum is computed at a time, without a branch. */
#define SHORT_STEP 8

typedef struct short_text {
    /* SYMBOL_NONE after the last */
    uint32_t symbols[SHORT_SYMBOLS + SHORT_STEP], starts[SHORT_SYMBOLS];
    /* the key of the pair that begins here; >= SHORT_NO_KEY if it cannot merge */
    uint64_t keys[SHORT_SYMBOLS];
} short_text;

/* The key of the pair at this position. Comparing keys compares ranks, then positions, so the
 * smallest key belongs to the leftmost of the best pairs. */
INLINE uint64_t short_key(const bpe *m, uint32_t merge, int at)
{
    return (uint64_t)rank_of(m, merge) << 28 | (uint64_t)at << BPE_MERGE_BITS | merge;
}

/* Looks up a pair that a merge has created. */
INLINE void set_key(finder f, short_text *t, int left, int right)
{
    uint32_t merge = look_up(f, t->symbols[left], t->symbols[right], 0);
    t->keys[left] = short_key(f.m, merge, left);
}

/* Sets the keys of all pairs before any merge, followed by SHORT_NO_KEY. is_dense: all symbols are
 * below BPE_DENSE. Then every key takes one load from the square, without a branch; the symbols
 * after the last one are SYMBOL_NONE, which never merges. */
INLINE void set_keys(finder f, short_text *t, int n, int is_dense)
{
    for (int i = 0; i < SHORT_STEP; i++) t->symbols[n + i] = SYMBOL_NONE;
    if (LIKELY(is_dense && !f.splits)) {
        for (int i = 0; i < n; i += SHORT_STEP)
            for (int k = i; k < i + SHORT_STEP; k++)
                t->keys[k] = short_key(
                    f.m, f.m->dense[t->symbols[k] * BPE_DENSE + t->symbols[k + 1]], k);
        return;
    }
    for (int i = 0; i < n || i % SHORT_STEP; i++) {
        uint32_t merge = i + 1 < n ? look_up(f, t->symbols[i], t->symbols[i + 1], 1) : BPE_NO_MERGE;
        t->keys[i] = short_key(f.m, merge, i);
    }
}

INLINE uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The smallest of the keys. The processor computes the four independent minima in parallel. */
INLINE uint64_t least_key(const short_text *t, int n)
{
    uint64_t a = SHORT_NO_KEY, b = a, c = a, d = a;
    for (int i = 0; i < n; i += SHORT_STEP) {
        const uint64_t *k = t->keys + i;
        a = lesser(lesser(k[0], k[4]), a);
        b = lesser(lesser(k[1], k[5]), b);
        c = lesser(lesser(k[2], k[6]), c);
        d = lesser(lesser(k[3], k[7]), d);
    }
    return lesser(lesser(a, b), lesser(c, d));
}

/* Merges t->symbols[0..n-1], 1 <= n <= SHORT_SYMBOLS; returns a bit mask of the symbols that
 * remain. Unless ret_last is NULL, *ret_last becomes the pair that merged last.
 *
 * A merged pair keeps the place of its left symbol, so positions never move, and the bits of
 * `alive` find the neighbours:
 *
 *     place      0  1  2  3  4
 *     symbols    l  o  w  e  r       alive 11111 (place 0 on the right)
 *     symbols    l  o  w  er .       alive 01111      (e,r) merged: place 4 is gone
 *     symbols    lo .  w  er .       alive 01101      (l,o) merged: place 1 is gone
 *
 * A removed place keeps SHORT_NO_KEY, so the scan for the smallest key can read all n places
 * without a branch. */
INLINE uint64_t merge_short(finder f, short_text *t, int n, int is_dense, double dropout,
                            uint64_t *stream, uint64_t *ret_last)
{
    uint64_t alive = n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1, best;
    set_keys(f, t, n, is_dense);
    while ((best = least_key(t, n)) < SHORT_NO_KEY) {
        int at = (int)(best >> BPE_MERGE_BITS & (SHORT_SYMBOLS - 1));
        t->keys[at] = SHORT_NO_KEY;
        if (f.drops && rng_unit(stream) < dropout) continue;
        uint64_t after = alive & (~UINT64_C(1) << at), before = alive & ((UINT64_C(1) << at) - 1);
        int gone = lowest_bit(after);
        alive ^= UINT64_C(1) << gone;
        after &= after - 1;
        if (ret_last) *ret_last = bpe_pair_key(t->symbols[at], t->symbols[gone]);
        t->symbols[at] = symbol_of(f, (uint32_t)best & BPE_NO_MERGE);
        t->keys[gone] = SHORT_NO_KEY;
        if (before) {
            int left = highest_bit(before);
            set_key(f, t, left, at);
        }
        if (after) set_key(f, t, at, lowest_bit(after));
    }
    return alive;
}

/* Merges, then emits what remains from left to right. */
INLINE int64_t merge_few(finder f, short_text *t, int n, int is_dense, uint32_t n_bytes,
                         double dropout, uint64_t *stream, token *tokens, uint64_t *ret_last)
{
    output out = {f.m, f.splits, tokens, 0, 0, f.call};
    uint64_t alive = merge_short(f, t, n, is_dense, dropout, stream, ret_last);
    while (alive) {
        int at = lowest_bit(alive);
        alive &= alive - 1;
        put_token(&out, t->symbols[at], t->starts[at],
                  alive ? t->starts[lowest_bit(alive)] : n_bytes);
    }
    return out.n;
}

/* ---------------------------------------------------------------------------- Many symbols ---- */

/* One allocation of 36 bytes per symbol. Keys in the heap hold ranks. A key is outdated if the pair
 * at its position no longer has that rank. Symbols only grow, so a pair that has disappeared never
 * reappears, and equal keys are interchangeable. There are at most 2 n keys at a time, because a
 * merge removes one key and adds two. The keys that Hugging Face's dropout skips are kept at the
 * other end of the heap's array. */
typedef struct long_text {
    uint64_t *heap;             /* [0..2 n): the keys, in heap order (heap.h) */
    uint32_t *symbols, *starts; /* [0..n) */
    /* [0..n): the merge of the pair that begins here; BPE_NO_MERGE if it cannot merge */
    uint32_t *merges;
    uint32_t *next, *before; /* [0..n); n: none */
    int64_t n, n_heap, n_skipped;
} long_text;

/* Divides the scratch's memory into the arrays for a text of n symbols. Returns 0 if allocation
 * fails. */
static int begin_long(bpe_scratch *s, long_text *t, int64_t n)
{
    size_t need = (size_t)n * (2 * sizeof *t->heap + 5 * sizeof *t->symbols);
    if (need > s->n_work_bytes) {
        mem_free(s->work);
        s->n_work_bytes = 0;
        s->work = mem_alloc(need);
        if (!s->work) return 0;
        s->n_work_bytes = need;
    }
    t->heap = s->work;
    t->symbols = (uint32_t *)(void *)(t->heap + 2 * n);
    t->starts = t->symbols + n;
    t->merges = t->starts + n;
    t->next = t->merges + n;
    t->before = t->next + n;
    t->n = n;
    t->n_heap = t->n_skipped = 0;
    return 1;
}

static void set_merge(finder f, long_text *t, uint32_t left, uint32_t right)
{
    t->merges[left] = look_up(f, t->symbols[left], t->symbols[right], 1);
}

/* Looks up a pair that a merge has created, and adds it to the heap if it can merge. */
static void add_key(finder f, long_text *t, uint32_t left, uint32_t right)
{
    set_merge(f, t, left, right);
    if (t->merges[left] != BPE_NO_MERGE)
        heap_push(t->heap, &t->n_heap, key_of(rank_of(f.m, t->merges[left]), left));
}

/* Links all symbols and makes a heap of all pairs that can merge, in O(n). */
static void fill_heap(finder f, long_text *t)
{
    uint32_t n = (uint32_t)t->n;
    for (uint32_t i = 0; i < n; i++) {
        t->before[i] = i ? i - 1 : n;
        t->next[i] = i + 1;
        t->merges[i] = BPE_NO_MERGE;
        if (i + 1 < n) set_merge(f, t, i, i + 1);
        if (t->merges[i] != BPE_NO_MERGE)
            t->heap[t->n_heap++] = key_of(rank_of(f.m, t->merges[i]), i);
    }
    heap_make(t->heap, t->n_heap);
}

/* Merges with a heap. Returns the pair that merged last, or BPE_FREE. Places work as in
 * merge_short, but linked lists give the neighbours.
 *
 * Keys are never removed from the middle of the heap. When a pair disappears, the entry of its
 * place in merges[] changes, and its key is recognized as outdated when it is popped. So each merge
 * costs O(log n).
 *
 * The two references draw for dropout at different times. SentencePiece draws when a valid pair is
 * due, and forgets a skipped pair. Hugging Face draws for every key that it pops, outdated or not,
 * and returns all skipped keys to the heap after the next draw that does not skip. */
static uint64_t merge_long(finder f, long_text *t, double dropout, uint64_t *stream)
{
    int skips = f.drops && f.m->has_merges; /* Hugging Face's dropout */
    uint32_t n = (uint32_t)t->n;
    uint64_t last = BPE_FREE;
    fill_heap(f, t);
    while (t->n_heap) {
        uint64_t key = heap_pop(t->heap, &t->n_heap);
        uint32_t at = (uint32_t)key, merge = t->merges[at];
        if (skips && rng_unit(stream) < dropout) {
            t->heap[2 * t->n - ++t->n_skipped] = key;
            continue;
        }
        while (t->n_skipped) heap_push(t->heap, &t->n_heap, t->heap[2 * t->n - t->n_skipped--]);
        if (rank_of(f.m, merge) != key >> 32) continue;
        t->merges[at] = BPE_NO_MERGE;
        if (f.drops && !skips && rng_unit(stream) < dropout) continue;
        uint32_t gone = t->next[at], after = t->next[gone], before = t->before[at];
        last = bpe_pair_key(t->symbols[at], t->symbols[gone]);
        t->symbols[at] = symbol_of(f, merge);
        t->merges[gone] = BPE_NO_MERGE;
        t->next[at] = after;
        if (after < n) t->before[after] = at;
        if (before < n) add_key(f, t, before, at);
        if (after < n) add_key(f, t, at, after);
    }
    return last;
}

/* ------------------------------------------------------------------------- Text to symbols ---- */

/* Where symbols are written. If `symbols` is NULL, they are only counted. */
typedef struct cut_output {
    uint32_t *symbols, *starts;
    int64_t n;
    uint32_t start, any;        /* any: the OR of all symbols */
    const uint64_t *characters; /* as in the model; NULL: every byte is a symbol */
} cut_output;

INLINE void put_symbol(cut_output *out, uint32_t symbol, int64_t n_bytes)
{
    if (out->symbols) {
        out->symbols[out->n] = symbol;
        out->starts[out->n] = out->start;
    }
    out->start += (uint32_t)n_bytes;
    out->any |= symbol;
    out->n++;
}

/* Writes the bytes of an unknown character, if all of them have symbols. */
static int put_bytes(const bpe *m, cut_output *out, const uint8_t *character, int64_t n_bytes)
{
    const uint8_t *bytes;
    int64_t n = space_symbol_open((m->flags & BPE_COMPACT) != 0, character, &bytes);
    int is_space = n == 3;
    if (!is_space) n = n_bytes;
    for (int64_t i = 0; i < n; i++)
        if (m->bytes[bytes[i]] == SYMBOL_NONE) return 0;
    for (int64_t i = 0; i < n; i++) put_symbol(out, m->bytes[bytes[i]], is_space ? i == 0 : 1);
    return 1;
}

/* Reproduces Hugging Face's order: an unknown character is emitted before the next known one, but
 * after the bytes that lie between the two. */
static void cut_merges_text(const bpe *m, const uint8_t *text, int64_t n_bytes, cut_output *out)
{
    int64_t n, n_waiting = 0;
    for (int64_t i = 0; i < n_bytes; i += n) {
        uint32_t symbol;
        n = symbols_next(&m->symbols, text + i, n_bytes - i, &symbol);
        if (symbol == SYMBOL_NONE && put_bytes(m, out, text + i, n)) continue;
        if (n_waiting && (symbol || !(m->flags & BPE_FUSE_UNKNOWN))) {
            put_symbol(out, m->unknown, n_waiting);
            n_waiting = 0;
        }
        if (symbol) put_symbol(out, symbol, n);
        else if (m->unknown) n_waiting += n;
    }
    if (n_waiting) put_symbol(out, m->unknown, n_waiting);
}

/* If the bytes of the character at text[i] always merge into that character here, returns its
 * symbol and sets *ret_n to its length. Otherwise returns SYMBOL_NONE. */
INLINE uint32_t whole_character(const uint64_t *characters, const uint8_t *text, int64_t i,
                                int64_t n_bytes, int64_t *ret_n)
{
    int n = utf8_length(text + i, n_bytes - i);
    if (n < 2 || n > 3 || (i + n < n_bytes && is_continuation(text[i + n]))) return SYMBOL_NONE;
    uint64_t entry = characters[utf8_code_point(text + i, n)];
    if (i && entry & bpe_before_bit(text[i - 1])) return SYMBOL_NONE;
    *ret_n = n;
    return (uint32_t)entry & (BPE_SYMBOLS_MAX - 1);
}

/* Every byte becomes a symbol, except in characters that are symbols themselves
 * (whole_character). */
static void cut_bytes(const bpe *m, const uint8_t *text, int64_t n_bytes, cut_output *out)
{
    int64_t n;
    for (int64_t i = 0; i < n_bytes; i += n) {
        uint32_t symbol = SYMBOL_NONE;
        if (text[i] >= 0xC2 && out->characters)
            symbol = whole_character(out->characters, text, i, n_bytes, &n);
        if (!symbol) {
            symbol = m->symbols.singles[text[i]];
            n = 1;
        }
        put_symbol(out, symbol, n);
    }
}

/* Divides a text into symbols. SentencePiece has one symbol for each character or user-defined
 * piece; Hugging Face's order and byte fallback need a slower loop. */
static void cut_text(const bpe *m, const uint8_t *text, int64_t n_bytes, cut_output *out)
{
    int64_t n;
    if (m->has_all_bytes) {
        cut_bytes(m, text, n_bytes, out);
        return;
    }
    if (UNLIKELY(m->has_merges)) {
        cut_merges_text(m, text, n_bytes, out);
        return;
    }
    for (int64_t i = 0; i < n_bytes; i += n) {
        uint32_t symbol;
        n = symbols_next(&m->symbols, text + i, n_bytes - i, &symbol);
        put_symbol(out, symbol, n);
    }
}

/* -------------------------------------------------------------------------------- Segments ---- */

/* Encodes a segment of many symbols, which the caller has counted. With Hugging Face's dropout it
 * encodes short segments too, because only merge_long reproduces the order of its draws. */
static NOINLINE int64_t encode_many(finder f, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                                    int64_t n, double dropout, uint64_t *stream, token *tokens,
                                    uint64_t *ret_last)
{
    long_text t;
    if (!begin_long(s, &t, n)) return -1;
    cut_output cut = {t.symbols, t.starts, 0, 0, 0, stream ? NULL : f.m->characters};
    cut_text(f.m, text, n_bytes, &cut);
    uint64_t last = merge_long(f, &t, dropout, stream);
    if (ret_last) *ret_last = last;
    output out = {f.m, f.splits, tokens, 0, 0, f.call};
    for (uint32_t i = 0; i < n; i = t.next[i])
        put_token(&out, t.symbols[i], t.starts[i], t.next[i] < n ? t.starts[t.next[i]] : cut.start);
    return out.n;
}

static NOINLINE int64_t count_symbols(const bpe *m, const uint8_t *text, int64_t n_bytes,
                                      const uint64_t *characters)
{
    cut_output cut = {NULL, NULL, 0, 0, 0, characters};
    cut_text(m, text, n_bytes, &cut);
    return cut.n;
}

/* Encodes a segment by merging. The symbols are counted first only if there can be more than
 * SHORT_SYMBOLS of them: one per byte, or three per byte if a byte can stand for U+2581, which
 * falls back to three bytes. */
INLINE int64_t encode(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                      double dropout, uint64_t *stream, token *tokens, uint64_t *ret_last)
{
    if (UNLIKELY(m->is_unused != NULL) && !begin_splits(m, s)) return -1;
    finder f = {m, s->splits, s->n_calls, stream != NULL};
    int skips = stream && m->has_merges; /* see merge_long */
    if (UNLIKELY(skips ||
                 n_bytes > ((m->flags & BPE_COMPACT) ? SHORT_SYMBOLS / 3 : SHORT_SYMBOLS))) {
        int64_t n = count_symbols(m, text, n_bytes, stream ? NULL : m->characters);
        if (n && (skips || n > SHORT_SYMBOLS))
            return encode_many(f, s, text, n_bytes, n, dropout, stream, tokens, ret_last);
    }
    short_text t;
    cut_output cut = {t.symbols, t.starts, 0, 0, 0, stream ? NULL : m->characters};
    cut_text(m, text, n_bytes, &cut);
    return cut.n ? merge_few(f, &t, (int)cut.n, cut.any < BPE_DENSE, cut.start, dropout, stream,
                             tokens, ret_last)
                 : 0;
}

int64_t bpe_last_pair(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                      token *tokens, uint64_t *ret_last)
{
    *ret_last = BPE_FREE;
    return encode(m, s, text, n_bytes, 0, NULL, tokens, ret_last);
}

/* Two exact lookups come before merging. m->direct holds the pieces that were shown, when the model
 * was built, to be the result of merging their own text. m->pieces holds the other pieces if the
 * model looks up complete segments first (BPE_IGNORE_MERGES). */
int64_t bpe_segment(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                    token *tokens)
{
    if (m->direct && n_bytes - 1 < BPE_DIRECT_BYTES && n_bytes > 0) {
        bpe_direct key = bpe_direct_key(text, n_bytes);
        const bpe_direct *slot = bpe_may_be_direct(m, key) ? bpe_find_direct(m, key) : NULL;
        if (slot && slot->high) {
            tokens[0].id = (int32_t)(slot->high >> 36);
            tokens[0].end = (uint32_t)n_bytes;
            return 1;
        }
    }
    if (UNLIKELY(m->pieces.data != NULL) && n_bytes) {
        words_segment(&m->pieces, text, n_bytes, tokens);
        if (tokens[0].id != TOKEN_UNKNOWN) return 1;
    }
    return encode(m, s, text, n_bytes, 0, NULL, tokens, NULL);
}

int64_t bpe_segment_dropout(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                            double dropout, uint64_t *stream, token *tokens)
{
    if (!(dropout > 0)) return bpe_segment(m, s, text, n_bytes, tokens);
    return encode(m, s, text, n_bytes, dropout, stream, tokens, NULL);
}

int32_t bpe_traits(const bpe *m) { return m->traits; }

int64_t bpe_unmerged(const bpe *m, const uint8_t **ret_data, const int64_t **ret_offsets)
{
    *ret_data = m->pieces.data;
    *ret_offsets = m->pieces.offsets;
    return m->n_unmerged;
}

int64_t bpe_memory_bytes(const bpe *m)
{
    size_t slots = (size_t)1 << m->pairs.n_bits, n_bytes = sizeof *m;
    if (m->rest.slots) slots += (size_t)1 << m->rest.n_bits;
    n_bytes += slots * sizeof *m->pairs.slots + (slots << BPE_FILTER_BITS >> 3);
    n_bytes += sizeof(uint64_t) << m->symbols.n_bits;
    n_bytes += BPE_DENSE * BPE_DENSE * sizeof *m->dense + m->n_merges * sizeof *m->made;
    n_bytes += m->n_symbols * (sizeof *m->ids + (m->lengths ? sizeof *m->lengths + 1 : 0));
    if (m->direct) n_bytes += sizeof *m->direct << m->direct_bits;
    if (m->characters) n_bytes += BPE_CHARACTERS * sizeof *m->characters;
    if (m->direct_filter) n_bytes += (size_t)1 << (m->direct_bits + BPE_FILTER_BITS - 3);
    return (int64_t)n_bytes;
}

void bpe_scratch_free(bpe_scratch *s)
{
    mem_free(s->work);
    mem_free(s->splits);
    memset(s, 0, sizeof *s);
}
