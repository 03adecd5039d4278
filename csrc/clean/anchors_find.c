/* anchors_find.c - finds anchors, windows and documents
 *
 * The anchor of a window is the last of its k-grams with the smallest hash. It stays the same
 * until a k-gram with an equal or smaller hash follows, or until it is no longer in the window.
 *
 * Bytes. K-grams have a rolling hash. The context of an anchor is hashed from scratch, because
 * there are few anchors. Only the bytes around marks are searched for windows.
 *
 * Words only determine where windows begin and end: the text of two windows is compared exactly,
 * with the separators between their words. Rings hold the units that a window or a context still
 * needs, so that a document is read once:
 *
 *     prefixes[i]    hash of units 0..i-1, each with the separator after it
 *     lasts[i]       hash of unit i alone
 *     grams[i]       hash of the k-gram that begins with unit i
 *     bounds[i]      where unit i begins and ends
 *
 * An anchor becomes a record when its context is complete: n - 1 units later, or at the end of the
 * document.
 */

#include "clean/anchors.h"
#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"

void unitok_anchors_free(unitok_anchors *anchors)
{
    if (!anchors) return;
    mem_free(anchors->powers);
    mem_free(anchors);
}

INLINE uint64_t rotated(uint64_t v, int n) { return v << n | v >> (-n & 63); }

/* A random number below the prime, excluding small numbers. */
static uint64_t random_factor(uint64_t seed, uint64_t n) { return (rng_key(seed, n) >> 4) + 1024; }

int32_t unitok_anchors_new(const unitok_word_rules *rules, int64_t n_units, uint64_t seed,
                           unitok_anchors **ret, unitok_error *error)
{
    *ret = NULL;
    if (n_units < 1 || n_units > UNITOK_ANCHORS_MAX_UNITS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the size of windows is out of range");
    unitok_anchors *anchors = mem_zalloc(1, sizeof *anchors);
    if (!anchors) return fail_memory(error);
    anchors->rules = rules;
    anchors->n = n_units;
    /* Longer k-grams give more anchors, but k-grams of different windows are less often equal. With
     * n / 2, n / 3 and n / 4, the measured times are within 10 % of each other, and n / 3 takes
     * less disk space than n / 2. */
    anchors->k = n_units / 3 + 1;
    anchors->before = (n_units - anchors->k + 1) / 2;
    anchors->factor = random_factor(seed, 0);
    anchors->seed = rng_key(seed, 1);
    for (uint64_t byte = 0; byte < 256; byte++) {
        anchors->bytes[byte] = rng_key(seed, byte + 2);
        anchors->gone[byte] = rotated(anchors->bytes[byte], (int)(anchors->k & 63));
    }
    anchors->powers = mem_alloc((size_t)(2 * n_units + 1) * sizeof *anchors->powers);
    if (!anchors->powers) {
        unitok_anchors_free(anchors);
        return fail_memory(error);
    }
    anchors->powers[0] = 1;
    for (int64_t i = 1; i <= 2 * n_units; i++)
        anchors->powers[i] = string_table_multiply_add(anchors->powers[i - 1], anchors->factor, 0);
    *ret = anchors;
    return UNITOK_OK;
}

/* ----------------------------------------------------------------------------------- Bytes ---- */

typedef struct bounds {
    int64_t begin;
    int64_t end;
} bounds;

typedef struct scan {
    const unitok_anchors *anchors;
    const uint8_t *text; /* the text of the document */
    int64_t n_bytes;
    int64_t at; /* the position of the document */
    int64_t mask;
    uint64_t *prefixes, *lasts, *grams;
    bounds *bounds;
    int64_t *waiting; /* for words: a ring of the anchors whose context is not complete yet */
    int64_t n_waited, n_done;
    const int64_t *marks;
    int64_t n_marks;
    unitok_anchor *ret;
    int64_t capacity, n;
} scan;

/* The size of a ring is a power of two, so that a mask gives the index. A window needs n + 1
 * prefixes, and the context of an anchor 2 n - k units, so 2 n + 2 entries are enough for
 * either. */
static int new_scan(scan *s)
{
    int64_t n_ring = 4;
    while (n_ring < 2 * s->anchors->n + 2) n_ring *= 2;
    size_t n_bytes = (size_t)n_ring;
    s->mask = n_ring - 1;
    s->prefixes = mem_alloc(n_bytes * sizeof *s->prefixes);
    s->lasts = mem_alloc(n_bytes * sizeof *s->lasts);
    s->grams = mem_alloc(n_bytes * sizeof *s->grams);
    s->bounds = mem_alloc(n_bytes * sizeof *s->bounds);
    s->waiting = mem_alloc(n_bytes * sizeof *s->waiting);
    return s->prefixes && s->lasts && s->grams && s->bounds && s->waiting;
}

static void free_scan(scan *s)
{
    mem_free(s->prefixes);
    mem_free(s->lasts);
    mem_free(s->grams);
    mem_free(s->bounds);
    mem_free(s->waiting);
}

/* Records beyond the capacity are only counted, so that the caller can repeat the call with more
 * memory. */
static void put(scan *s, uint64_t key, uint64_t value, uint64_t place)
{
    if (s->n < s->capacity) s->ret[s->n] = (unitok_anchor){key, value, place};
    s->n++;
}

INLINE uint64_t folded(uint64_t a, uint64_t b)
{
    uint64_t high, low = multiply_wide(a, b, &high);
    return low ^ high;
}

/* Hashes 16 bytes at a time; the last 16 may overlap the previous ones. The length is part of the
 * initial state, so the overlap does not make different texts collide. Each step multiplies two
 * numbers that depend on the key, so nobody can choose texts with equal hashes without knowing the
 * key. */
INLINE uint64_t hash_bytes(const unitok_anchors *anchors, const uint8_t *text, int64_t n)
{
    uint64_t key = anchors->seed, hash = key ^ (uint64_t)n * RNG_GAMMA;
    if (n < 16) {
        uint64_t last = n > 8 ? first_eight(text + 8, n - 8) : 0;
        return folded(first_eight(text, n) ^ key, last ^ hash ^ RNG_MULTIPLIER);
    }
    for (int64_t i = 0; i + 16 < n; i += 16)
        hash = folded(load_u64(text + i) ^ key, load_u64(text + i + 8) ^ hash);
    hash = folded(load_u64(text + n - 16) ^ key, load_u64(text + n - 8) ^ hash);
    return folded(hash ^ RNG_MULTIPLIER, key);
}

/* Reduces a hash to 16 bits. They are never 0, because 0 means that there are too few units on this
 * side. Anchors with equal sides are examined further, so 16 bits are enough. */
INLINE uint64_t side(uint64_t hash) { return 1 + (hash ^ hash >> 32) % 65535; }

/* The value of text[begin..end-1]. It contains a hash of only the first and the last eight bytes,
 * so it can still differ when the hashes of two complete texts collide. */
static uint64_t value_of(const uint8_t *text, int64_t begin, int64_t end)
{
    uint64_t first = first_eight(text + begin, end - begin), last = 0;
    if (end - begin >= 8) last = load_u64(text + end - 8);
    return rng_key(first, last) >> 32 << 32 | (uint32_t)(end - begin);
}

INLINE int64_t mark_place(int64_t mark) { return mark / UNITOK_MARKS_PER_BYTE; }

static void skip_marks(scan *s, int64_t position)
{
    while (s->n_marks && mark_place(*s->marks) < position) {
        s->marks++;
        s->n_marks--;
    }
}

/* Whether the anchor at this position is marked for windows that begin `before` units before the
 * anchor. Positions must not decrease from call to call. */
INLINE int is_marked(scan *s, int64_t position, int64_t before)
{
    skip_marks(s, position);
    if (!s->n_marks || mark_place(*s->marks) != position) return 0;
    return (*s->marks & (before >= s->anchors->before ? MARK_LEFT : MARK_RIGHT)) != 0;
}

/* Emits the anchor that begins with byte i. The context is shorter at the ends of a document.
 * Contexts with equal bytes but anchors at different offsets must not form one class, so the number
 * of units on the left is added to the value. */
NOINLINE static void put_byte_anchor(scan *s, int64_t i, uint64_t gram)
{
    const unitok_anchors *anchors = s->anchors;
    int64_t n = anchors->n, k = anchors->k, before = anchors->before, n_after = n - k + 1 - before;
    int64_t left = i < n - k ? i : n - k, right = s->n_bytes - i < n ? s->n_bytes - i : n;
    uint64_t value = hash_bytes(anchors, s->text + i - left, left + right);
    uint64_t before_hash = 0, after_hash = 0;
    if (i >= before) before_hash = side(hash_bytes(anchors, s->text + i - before, before));
    if (before && i + k + n_after <= s->n_bytes)
        after_hash = side(hash_bytes(anchors, s->text + i + k, n_after));
    put(s, gram >> ANCHOR_SIDE_BITS << ANCHOR_SIDE_BITS | before_hash,
        value + (uint64_t)left * RNG_GAMMA,
        after_hash << ANCHOR_PLACE_BITS | (uint64_t)(s->at + i));
}

/* Emits the window that begins with byte i. */
INLINE void put_byte_window(scan *s, int64_t i)
{
    int64_t end = i + s->anchors->n;
    uint64_t hash = string_table_part_hash(s->prefixes[i & s->mask], s->prefixes[end & s->mask],
                                           s->anchors->powers[s->anchors->n]);
    put(s, hash << 3, value_of(s->text, i, end), (uint64_t)(s->at + i));
}

/* Returns the last k-gram with the smallest hash among those from i to `last`. Called when the
 * anchor has left the window; until then, each step compares only the newest k-gram with the
 * anchor. The smallest hash is found first, and then where it occurs last: comparing positions as
 * well would need branches, which hashes make unpredictable. */
NOINLINE static int64_t smallest_gram(const uint64_t *grams, int64_t mask, int64_t i, int64_t last)
{
    uint64_t least = grams[last & mask], other = least;
    for (; i + 1 < last; i += 2) { /* two independent minima, without branches */
        uint64_t a = grams[i & mask], b = grams[(i + 1) & mask];
        least = least < a ? least : a;
        other = other < b ? other : b;
    }
    if (i < last && grams[i & mask] < least) least = grams[i & mask];
    if (other < least) least = other;
    while (grams[last & mask] != least) last--;
    return last;
}

/* At step j, byte j is added: it completes the k-gram `newest` and the window `first`. The hash of
 * a k-gram is cyclic: a step rotates it by one bit, adds the new byte, and removes the byte that
 * leaves, which has been rotated k times by then.
 *
 *     bytes       … │ first ........................ newest ....... j │
 *                     ├───────────────── window of n ─────────────────┤
 *                                                    ├─── k-gram ─────┤
 *
 * `best` is the anchor of the window, -1 before the first one. A new anchor is emitted once, and
 * not again for the windows that follow with the same anchor. */
INLINE void scan_bytes(scan *s, int32_t kind)
{
    const unitok_anchors *anchors = s->anchors;
    const uint8_t *text = s->text;
    uint64_t *grams = s->grams, gram = 0, least = 0, prefix = 0;
    int64_t n = anchors->n, k = anchors->k, mask = s->mask, n_bytes = s->n_bytes, best = -1;
    if (n_bytes < n) return;
    s->prefixes[0] = 0;
    for (int64_t j = 0; j < n_bytes; j++) {
        int64_t newest = j - k + 1, first = j - n + 1, was = best;
        gram = rotated(gram, 1) ^ anchors->bytes[text[j]];
        if (newest > 0) gram ^= anchors->gone[text[newest - 1]];
        if (kind == UNITOK_ANCHOR_WINDOWS) {
            prefix = string_table_multiply_add(prefix, anchors->factor, (uint64_t)text[j] + 1);
            s->prefixes[(j + 1) & mask] = prefix;
        }
        if (newest < 0) continue;
        grams[newest & mask] = gram;
        if (first < 0) continue;
        if (UNLIKELY(best < first)) {
            best = smallest_gram(grams, mask, first, newest);
            least = grams[best & mask];
        } else if (UNLIKELY(gram <= least)) {
            best = newest;
            least = gram;
        }
        if (kind == UNITOK_ANCHOR_GRAMS) {
            if (UNLIKELY(best != was)) put_byte_anchor(s, best, least);
        } else if (is_marked(s, s->at + best, best - first)) {
            put_byte_window(s, first);
        }
    }
}

/* Scans the bytes around the marks in a document. A mark's windows lie within the n - k bytes
 * before it and the n bytes that start at it; marks that are so close that these stretches overlap
 * are scanned as one. Each stretch is scanned as a separate document, with its marks. */
static void scan_marked_bytes(scan *s)
{
    const unitok_anchors *anchors = s->anchors;
    scan whole = *s;
    int64_t before = anchors->n - anchors->k, end = s->at + s->n_bytes;
    while (s->n_marks && mark_place(*s->marks) < end) {
        int64_t begin = mark_place(*s->marks) - before, m = 0, stop, next;
        do {
            stop = mark_place(s->marks[m]) + anchors->n;
            next = ++m < s->n_marks ? mark_place(s->marks[m]) : end;
        } while (next < end && next - before <= stop);
        const int64_t *marks = s->marks + m;
        int64_t n_marks = s->n_marks - m;
        if (begin < whole.at) begin = whole.at;
        if (stop > end) stop = end;
        s->text = whole.text + (begin - whole.at);
        s->n_bytes = stop - begin;
        s->at = begin;
        scan_bytes(s, UNITOK_ANCHOR_WINDOWS);
        s->marks = marks;
        s->n_marks = n_marks;
    }
}

/* ----------------------------------------------------------------------------------- Words ---- */

/* The hash of units i..i+n-1, n >= 1, without the separator after the last one. */
static uint64_t hash_units(const scan *s, int64_t i, int64_t n)
{
    uint64_t part = string_table_part_hash(
        s->prefixes[i & s->mask], s->prefixes[(i + n - 1) & s->mask], s->anchors->powers[n - 1]);
    return string_table_multiply_add(part, s->anchors->factor, s->lasts[(i + n - 1) & s->mask]);
}

/* Reads word j, the next one, from the document; returns 0 at its end. */
static int take_word(scan *s, int64_t j)
{
    const unitok_anchors *anchors = s->anchors;
    word next = {0, 0, 0};
    if (j) next.end = s->bounds[(j - 1) & s->mask].end;
    if (!word_next(anchors->rules, s->text, s->n_bytes, next.end, &next)) return 0;
    s->prefixes[j & s->mask] = 0;
    if (j) {
        int64_t begin = s->bounds[(j - 1) & s->mask].begin;
        uint64_t hash = hash_bytes(anchors, s->text + begin, next.begin - begin) >> 4;
        s->prefixes[j & s->mask] = string_table_multiply_add(s->prefixes[(j - 1) & s->mask],
                                                             anchors->factor, hash);
    }
    s->bounds[j & s->mask] = (bounds){next.begin, next.end};
    s->lasts[j & s->mask] = hash_bytes(anchors, s->text + next.begin, next.end - next.begin) >> 4;
    return 1;
}

/* Emits the anchor that begins with word i. n_units is the number of words read so far. The value
 * is 0, because anchors of words are never grouped into classes (group_key). */
static void put_word_anchor(scan *s, int64_t i, int64_t n_units)
{
    const unitok_anchors *anchors = s->anchors;
    int64_t n = anchors->n, k = anchors->k, before = anchors->before, n_after = n - k + 1 - before;
    uint64_t place = (uint64_t)(s->at + s->bounds[i & s->mask].begin);
    uint64_t before_hash = 0, after_hash = 0, key = s->grams[i & s->mask] << 3;
    if (i >= before) before_hash = side(before ? hash_units(s, i - before, before) : 0);
    if (before && i + k + n_after <= n_units) after_hash = side(hash_units(s, i + k, n_after));
    put(s, key >> ANCHOR_SIDE_BITS << ANCHOR_SIDE_BITS | before_hash, 0,
        after_hash << ANCHOR_PLACE_BITS | place);
}

/* Emits the window of words i..i+n-1. */
static void put_word_window(scan *s, int64_t i)
{
    int64_t n = s->anchors->n, begin = s->bounds[i & s->mask].begin;
    int64_t end = s->bounds[(i + n - 1) & s->mask].end;
    if (end - begin > UINT32_MAX) return;
    put(s, hash_units(s, i, n) << 3, value_of(s->text, begin, end), (uint64_t)(s->at + begin));
}

/* Like scan_bytes, unit by unit. Anchors wait in a ring until the words on their right have been
 * read: anchor i is complete when a window with `first` >= i has been read, or at the end of the
 * document. */
static void scan_words(scan *s, int32_t kind)
{
    int64_t n = s->anchors->n, k = s->anchors->k, best = -1, j = 0;
    s->n_waited = s->n_done = 0;
    for (; take_word(s, j); j++) {
        int64_t newest = j - k + 1, first = j - n + 1, was = best;
        if (newest < 0) continue;
        s->grams[newest & s->mask] = hash_units(s, newest, k);
        if (first < 0) continue;
        if (best < first) best = smallest_gram(s->grams, s->mask, first, newest);
        else if (s->grams[newest & s->mask] <= s->grams[best & s->mask]) best = newest;
        if (kind == UNITOK_ANCHOR_WINDOWS) {
            if (is_marked(s, s->at + s->bounds[best & s->mask].begin, best - first))
                put_word_window(s, first);
            continue;
        }
        if (best != was) s->waiting[s->n_waited++ & s->mask] = best;
        while (s->n_done < s->n_waited && s->waiting[s->n_done & s->mask] <= first)
            put_word_anchor(s, s->waiting[s->n_done++ & s->mask], j + 1);
    }
    while (s->n_done < s->n_waited) put_word_anchor(s, s->waiting[s->n_done++ & s->mask], j);
}

/* ------------------------------------------------------------------------------- Documents ---- */

/* Whether a mark is in the document. Skips the marks before the document. */
static int has_mark(scan *s)
{
    skip_marks(s, s->at);
    return s->n_marks && mark_place(*s->marks) < s->at + s->n_bytes;
}

static void put_document(scan *s)
{
    if (s->n_bytes == 0) return;
    put(s, hash_bytes(s->anchors, s->text, s->n_bytes), value_of(s->text, 0, s->n_bytes),
        (uint64_t)s->at);
}

/* If units are words, a document with a mark is read completely, because it is not known where the
 * n - k words before a mark begin. If units are bytes, only the bytes around the marks are read. */
int32_t unitok_anchors_find(const unitok_anchors *anchors, int32_t kind, const uint8_t *data,
                            const int64_t *offsets, int64_t n_documents, int64_t at,
                            const int64_t *marks, int64_t n_marks, unitok_anchor *ret,
                            int64_t capacity, int64_t *ret_n, unitok_error *error)
{
    scan s = {
        .anchors = anchors, .marks = marks, .n_marks = n_marks, .ret = ret, .capacity = capacity};
    int32_t status = new_scan(&s) ? UNITOK_OK : fail_memory(error);
    for (int64_t d = 0; d < n_documents && status == UNITOK_OK; d++) {
        s.text = data + offsets[d];
        s.n_bytes = offsets[d + 1] - offsets[d];
        s.at = at + offsets[d] - offsets[0];
        if (kind == UNITOK_ANCHOR_DOCUMENTS) put_document(&s);
        else if (kind == UNITOK_ANCHOR_WINDOWS && !has_mark(&s)) continue;
        else if (anchors->rules) scan_words(&s, kind);
        else if (kind == UNITOK_ANCHOR_WINDOWS) scan_marked_bytes(&s);
        else scan_bytes(&s, UNITOK_ANCHOR_GRAMS);
    }
    free_scan(&s);
    *ret_n = s.n;
    return status;
}
