/* grams_find.c - finds n-grams in documents
 *
 *     units       … │ the │ cat │ sat │ on │ the │ mat │
 *                          ▲                 ▲      ▲ unit n: hashed; filter prefetched
 *                          │                 │
 *                          │                 n - DELAY / 2: if keys pass, slots prefetched
 *                          n - DELAY: those that pass the filter are looked up
 *
 * The keys of the n-grams that end with a unit are looked up DELAY units later, when their part of
 * the filter and, if they pass it, their slots have arrived in the cache. A ring keeps these units
 * and those of the longest n-gram:
 *
 *     ring        │ n - DELAY - longest + 1 … n - DELAY │ … │ n │       indexed by unit & ring_mask
 *                 └─ the n-gram being looked up ────────┘
 *
 * For each document and each length there is one rolling hash. The three kinds of units share the
 * code below, which is compiled once for each: `kind` is always a constant. */

#include "clean/grams.h"
#include "ground/alloc.h"
#include "ground/error.h"

#define DELAY 32

/* The documents being searched: bytes, or ids. */
typedef struct documents {
    const uint8_t *bytes;
    const uint32_t *ids;
    const int64_t *offsets;
} documents;

typedef struct search {
    const unitok_grams *grams;
    documents from;
    word *ring; /* [0..ring_mask]: the last units of the document */
    int64_t ring_mask;
    /* The keys of n-grams that end with the last units: the key of unit k is at k & (DELAY - 1),
     * until unit k + DELAY replaces it. */
    uint64_t keys[UNITOK_GRAMS_MAX_LENGTHS][DELAY];
    uint64_t hashes[UNITOK_GRAMS_MAX_LENGTHS];
    unitok_gram_hit *hits;
    int64_t n_hits;
    int64_t capacity;
    /* The last hit: its last unit, and the position and length of its n-gram. */
    int64_t hit_last, hit_at, hit_length;
} search;

/* Reads the unit after `end` bytes or ids of a document; returns 0 at its end. */
INLINE int unit_next(enum gram_kind kind, const search *s, int64_t document, int64_t end, word *ret)
{
    int64_t begin = s->from.offsets[document], n = s->from.offsets[document + 1] - begin;
    if (kind == GRAM_WORDS) return word_next(s->grams->rules, s->from.bytes + begin, n, end, ret);
    if (end == n) return 0;
    ret->begin = end;
    ret->end = end + 1;
    ret->hash = gram_number_hash(s->grams, kind == GRAM_BYTES ? s->from.bytes[begin + end]
                                                              : s->from.ids[begin + end]);
    return 1;
}

/* Whether a unit of a document equals a unit of the n-grams. Words are compared by text as well,
 * since equal 64-bit hashes of different words are possible. */
INLINE int unit_is(enum gram_kind kind, const search *s, int64_t document, const word *unit,
                   uint32_t id)
{
    const unitok_grams *grams = s->grams;
    int64_t begin = s->from.offsets[document];
    if (kind == GRAM_BYTES) return s->from.bytes[begin + unit->begin] == id;
    if (kind == GRAM_IDS) return s->from.ids[begin + unit->begin] == id;
    const gram_word *known = &grams->distinct[id];
    int64_t known_begin = id ? known[-1].end : 0;
    return known->hash == unit->hash &&
           word_is(grams->rules, s->from.bytes + begin, unit->begin, unit->end,
                   grams->words + known_begin, known->end - known_begin);
}

/* Finds the n-gram of this length with this key that ends with unit `last`, and records it. Not
 * inlined: few n-grams pass the filter, and the loop that calls this should stay small.
 *
 * A document that copies an item has a hit at each of its units. Every hit after the first
 * continues the previous hit, so a copied passage is compared once, not once for each of its
 * n-grams. */
NOINLINE static void look_up(enum gram_kind kind, search *s, int64_t document, int64_t last,
                             int64_t length, uint64_t key)
{
    const unitok_grams *grams = s->grams;
    int64_t n = grams->lengths[length].n_units, first = last - n + 1;
    uint64_t head = gram_slot_head(key, length), at = gram_slot_of(grams, key), slot;
    while ((slot = grams->slots[at]) != GRAM_FREE) {
        /* If the n-gram continues the last hit by one unit, only that unit must be compared. */
        int continues = last == s->hit_last + 1 && (uint32_t)slot == s->hit_at + 1 &&
                        length == s->hit_length;
        int64_t k = continues ? n - 1 : 0;
        if ((slot ^ head) >> 32 == 0)
            while (k < n && unit_is(kind, s, document, &s->ring[(first + k) & s->ring_mask],
                                    grams->ids[(uint32_t)slot + k]))
                k++;
        if (k == n) {
            if (s->n_hits < s->capacity) {
                unitok_gram_hit *hit = &s->hits[s->n_hits];
                hit->document = document;
                hit->unit = first;
                hit->begin = s->ring[first & s->ring_mask].begin;
                hit->end = s->ring[last & s->ring_mask].end;
                hit->gram = (uint32_t)slot;
            }
            s->n_hits++;
            s->hit_last = last;
            s->hit_at = (uint32_t)slot;
            s->hit_length = length;
            return;
        }
        if (++at == grams->n_slots) at = 0;
    }
}

/* Prefetches the slots of n-grams that end with unit `last` and pass the filter. At the beginning
 * of a document the keys are those of incomplete windows; prefetching their slots does no harm. */
INLINE void prefetch_slots(const search *s, int64_t last)
{
    for (int64_t l = 0; l < s->grams->n_lengths; l++) {
        uint64_t key = s->keys[l][last & (DELAY - 1)], mask = gram_filter_mask(key);
        if (UNLIKELY((*gram_filter_word(s->grams, key) & mask) == mask))
            PREFETCH(&s->grams->slots[gram_slot_of(s->grams, key)]);
    }
}

/* Looks up all n-grams that end with unit `last`. The first units of a document end no n-gram if
 * there are too few units before them. */
INLINE void look_up_all(enum gram_kind kind, search *s, int64_t document, int64_t last)
{
    for (int64_t l = 0; l < s->grams->n_lengths; l++) {
        uint64_t key = s->keys[l][last & (DELAY - 1)], mask = gram_filter_mask(key);
        if (last + 1 >= s->grams->lengths[l].n_units &&
            UNLIKELY((*gram_filter_word(s->grams, key) & mask) == mask))
            look_up(kind, s, document, last, l, key);
    }
}

/* Reads the units of a document once. Unit n - DELAY is looked up before unit n overwrites its
 * keys; the last DELAY units are looked up after the loop. */
INLINE void search_document(enum gram_kind kind, search *s, int64_t document)
{
    const unitok_grams *grams = s->grams;
    int64_t n = 0; /* units read so far */
    word unit = {0, 0, 0};
    memset(s->hashes, 0, sizeof s->hashes);
    s->hit_last = -2; /* no hit in this document yet */
    while (unit_next(kind, s, document, unit.end, &unit)) {
        if (n >= DELAY) look_up_all(kind, s, document, n - DELAY);
        if (n >= DELAY / 2) prefetch_slots(s, n - DELAY / 2);
        s->ring[n & s->ring_mask] = unit;
        for (int64_t l = 0; l < grams->n_lengths; l++) {
            const gram_length *length = &grams->lengths[l];
            uint64_t hash = gram_hash_step(grams, s->hashes[l], unit.hash);
            if (n >= length->n_units)
                hash -= length->power * s->ring[(n - length->n_units) & s->ring_mask].hash;
            s->hashes[l] = hash;
            s->keys[l][n & (DELAY - 1)] = gram_key(hash, l);
            PREFETCH(gram_filter_word(grams, s->keys[l][n & (DELAY - 1)]));
        }
        n++;
    }
    for (int64_t last = n < DELAY ? 0 : n - DELAY; last < n; last++)
        look_up_all(kind, s, document, last);
}

/* Searches all documents. The size of the ring is a power of two, so that a mask gives the index;
 * the ring is the only allocation, at most 24 bytes for each of 8,192 units. */
static int32_t search_all(const unitok_grams *grams, documents from, int64_t n_documents,
                          unitok_gram_hit *hits, int64_t capacity, int64_t *ret_n,
                          unitok_error *error)
{
    search s = {.grams = grams, .from = from, .hits = hits, .capacity = capacity};
    int64_t longest = 1, n_ring = 1;
    for (int64_t l = 0; l < grams->n_lengths; l++)
        if (grams->lengths[l].n_units > longest) longest = grams->lengths[l].n_units;
    while (n_ring < longest + DELAY + 1) n_ring *= 2;
    s.ring_mask = n_ring - 1;
    s.ring = mem_alloc((size_t)n_ring * sizeof *s.ring);
    *ret_n = 0;
    if (!s.ring) return fail_memory(error);
    for (int64_t k = 0; k < n_documents && grams->n_lengths; k++) {
        if (grams->kind == GRAM_WORDS) search_document(GRAM_WORDS, &s, k);
        else if (grams->kind == GRAM_BYTES) search_document(GRAM_BYTES, &s, k);
        else search_document(GRAM_IDS, &s, k);
    }
    mem_free(s.ring);
    *ret_n = s.n_hits;
    return UNITOK_OK;
}

int32_t unitok_grams_find(const unitok_grams *grams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_documents, unitok_gram_hit *hits, int64_t capacity,
                          int64_t *ret_n, unitok_error *error)
{
    if (grams->kind == GRAM_IDS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "these n-grams consist of ids");
    documents from = {data, NULL, offsets};
    return search_all(grams, from, n_documents, hits, capacity, ret_n, error);
}

int32_t unitok_grams_find_ids(const unitok_grams *grams, const uint32_t *ids,
                              const int64_t *offsets, int64_t n_documents, unitok_gram_hit *hits,
                              int64_t capacity, int64_t *ret_n, unitok_error *error)
{
    if (grams->kind != GRAM_IDS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "these n-grams do not consist of ids");
    documents from = {NULL, ids, offsets};
    return search_all(grams, from, n_documents, hits, capacity, ret_n, error);
}
