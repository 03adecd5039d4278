/* counter.c - counts byte strings: see counter.h
 *
 * Keys may have any length, but nearly all have fewer than 16 bytes, and a counter holds millions
 * of keys. So the cost of an addition is the number of cache lines that it touches: one slot, one
 * entry, and the key itself only to confirm a match.
 *
 *     hash ──▶ slots[hash & mask] = 7 ──▶ entries[6] { count, key ──▶ bytes, n_bytes, hash }
 *              slots[... + 1]     = 0      the entry's hash and length are compared before its bytes
 */

#include "train/counter.h"

#include "ground/error.h"
#include "ground/grow.h"
#include "ground/packed.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define FIRST_BITS 12
#define ENTRIES_MAX INT64_C(0x7FFFFFFF)

/* A key of fewer than 8 bytes as a number, loaded without a loop over bytes. Two keys of the same
 * length have the same number only if they are equal. For 4 to 7 bytes, the two loads overlap; for
 * 1 to 3 bytes, the first, middle and last byte cover the key. */
INLINE uint64_t load_few(const uint8_t *key, int64_t n_bytes)
{
    if (n_bytes >= 4) return load_u32(key) | (uint64_t)load_u32(key + n_bytes - 4) << 32;
    if (n_bytes == 0) return 0;
    return key[0] | (uint64_t)key[n_bytes >> 1] << 8 | (uint64_t)key[n_bytes - 1] << 16;
}

/* Reads eight bytes at a time; the last eight overlap the previous ones, so no single bytes are
 * left over. The length is mixed in first, because load_few maps keys of different lengths to the
 * same number. */
uint32_t counter_hash(const uint8_t *key, int64_t n_bytes)
{
    uint64_t hash = (uint64_t)n_bytes * UINT64_C(0x9E3779B97F4A7C15);
    for (int64_t i = 0; i + 8 < n_bytes; i += 8) {
        hash = (hash ^ load_u64(key + i)) * UINT64_C(0xD6E8FEB86659FD93);
        hash ^= hash >> 32;
    }
    hash = (hash ^ (n_bytes >= 8 ? load_u64(key + n_bytes - 8) : load_few(key, n_bytes))) *
           UINT64_C(0xD6E8FEB86659FD93);
    hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(hash >> 32);
}

/* Compares two keys of the same length. Most have fewer than 16 bytes, for which two loads are
 * faster than a call to memcmp. */
static inline int same_bytes(const uint8_t *a, const uint8_t *b, int64_t n_bytes)
{
    if (n_bytes > 16) return memcmp(a, b, (size_t)n_bytes) == 0;
    if (n_bytes < 8) return load_few(a, n_bytes) == load_few(b, n_bytes);
    return load_u64(a) == load_u64(b) && load_u64(a + n_bytes - 8) == load_u64(b + n_bytes - 8);
}

/* An ordered counter never looks up a key, so it has no slots. */
int32_t unitok_counter_new(int32_t is_ordered, unitok_counter **ret, unitok_error *error)
{
    unitok_counter *counter = mem_zalloc(1, sizeof *counter);
    if (!counter) return fail_memory(error);
    counter->memory_bytes = (int64_t)sizeof *counter;
    if (!is_ordered) {
        counter->bits = FIRST_BITS;
        counter->slots = mem_zalloc((size_t)1 << FIRST_BITS, sizeof *counter->slots);
        if (!counter->slots) {
            mem_free(counter);
            return fail_memory(error);
        }
        counter->memory_bytes += (int64_t)(sizeof *counter->slots << FIRST_BITS);
    }
    *ret = counter;
    return UNITOK_OK;
}

/* The chunks are a linked list, newest first. Keys never move, so entries can point to them. */
static void free_chunks(unitok_counter *counter)
{
    while (counter->chunks) {
        struct counter_chunk *next = counter->chunks->next;
        counter->memory_bytes -= (int64_t)(sizeof *next + counter->chunks->capacity);
        mem_free(counter->chunks);
        counter->chunks = next;
    }
}

void unitok_counter_free(unitok_counter *counter)
{
    if (!counter) return;
    free_chunks(counter);
    mem_free(counter->slots);
    mem_free(counter->entries);
    mem_free(counter);
}

/* Keeps the slots at their current size: a cleared counter is usually filled with about as many
 * keys again. */
void unitok_counter_clear(unitok_counter *counter)
{
    free_chunks(counter);
    counter->memory_bytes -= counter->capacity * (int64_t)sizeof *counter->entries;
    mem_free(counter->entries);
    counter->entries = NULL;
    counter->n = counter->capacity = 0;
    counter->is_moved = 0;
    if (counter->slots) memset(counter->slots, 0, sizeof *counter->slots << counter->bits);
}

int64_t unitok_counter_count(const unitok_counter *counter) { return counter->n; }

int64_t unitok_counter_memory_bytes(const unitok_counter *counter) { return counter->memory_bytes; }

/* Replaces the slots with 1 << bits new ones, filled from the hashes of the entries: twice as many
 * when the table is full, the same number after entries have moved. Keys are not compared, because
 * they are known to be different, so the cost is one random write per key and no read of a key. */
static int rebuild_slots(unitok_counter *counter, int bits)
{
    uint32_t *slots = mem_zalloc((size_t)1 << bits, sizeof *slots);
    if (!slots) return 0;
    uint32_t mask = (UINT32_C(1) << bits) - 1;
    for (int64_t i = 0; i < counter->n; i++) {
        uint32_t at = counter->entries[i].hash;
        while (slots[at & mask]) at++;
        slots[at & mask] = (uint32_t)i + 1;
    }
    counter->memory_bytes += (int64_t)(sizeof *slots << bits) -
                             (int64_t)(sizeof *slots << counter->bits);
    mem_free(counter->slots);
    counter->slots = slots;
    counter->bits = bits;
    return 1;
}

/* Copies a key into the chunks; returns NULL if allocation fails. When a new chunk is opened, the
 * rest of the previous one stays unused; it is small compared with the chunk. */
static const uint8_t *keep_key(unitok_counter *counter, const uint8_t *key, size_t n_bytes)
{
    struct counter_chunk *chunk = counter->chunks;
    if (!chunk || chunk->capacity - chunk->n_used < n_bytes) {
        size_t capacity = n_bytes > CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
        /* Most counters stay small, so the first chunk is small. */
        if (!counter->chunks && n_bytes < CHUNK_BYTES / 16) capacity = CHUNK_BYTES / 16;
        chunk = mem_alloc(sizeof *chunk + capacity);
        if (!chunk) return NULL;
        chunk->next = counter->chunks;
        chunk->n_used = 0;
        chunk->capacity = capacity;
        counter->chunks = chunk;
        counter->memory_bytes += (int64_t)(sizeof *chunk + capacity);
    }
    uint8_t *kept = chunk->bytes + chunk->n_used;
    if (n_bytes) memcpy(kept, key, n_bytes);
    chunk->n_used += n_bytes;
    return kept;
}

/* The slot of a key, or the empty slot where it belongs. The hash is compared first, because the
 * entry contains it, while reading the bytes of the key costs another cache miss. */
INLINE uint32_t *slot_of(const unitok_counter *counter, const uint8_t *key, int64_t n_bytes,
                         uint32_t hash)
{
    uint32_t mask = (UINT32_C(1) << counter->bits) - 1, at = hash;
    for (; counter->slots[at & mask]; at++) {
        const struct counter_entry *entry = &counter->entries[counter->slots[at & mask] - 1];
        if (entry->hash == hash && entry->n_bytes == n_bytes &&
            same_bytes(entry->key, key, n_bytes))
            break;
    }
    return &counter->slots[at & mask];
}

/* An ordered counter needs no hash. */
int64_t counter_add(unitok_counter *counter, const uint8_t *key, int64_t n_bytes, uint64_t count)
{
    return counter_add_hashed(counter, key, n_bytes,
                              counter->slots ? counter_hash(key, n_bytes) : 0, count);
}

/* Everything that can fail comes before the first change, so a failure leaves the counter
 * unchanged: space for the entry, then a larger table, then the key. The slot is searched again
 * after the table has grown. */
int64_t counter_add_hashed(unitok_counter *counter, const uint8_t *key, int64_t n_bytes,
                           uint32_t hash, uint64_t count)
{
    uint32_t *slot = NULL;
    if (counter->slots) {
        if (counter->is_moved && !rebuild_slots(counter, counter->bits)) return -1;
        counter->is_moved = 0;
        slot = slot_of(counter, key, n_bytes, hash);
        if (*slot) {
            counter->entries[*slot - 1].count += count;
            return *slot - 1;
        }
    }
    int64_t capacity = counter->capacity;
    if (counter->n == ENTRIES_MAX ||
        !grow(&counter->entries, counter->n, &counter->capacity, sizeof *counter->entries))
        return -1;
    counter->memory_bytes += (counter->capacity - capacity) * (int64_t)sizeof *counter->entries;
    /* The table stays at most two thirds full, so a search passes few slots. */
    if (slot && 3 * (counter->n + 1) > INT64_C(2) << counter->bits) {
        if (!rebuild_slots(counter, counter->bits + 1)) return -1;
        slot = slot_of(counter, key, n_bytes, hash);
    }
    const uint8_t *kept = keep_key(counter, key, (size_t)n_bytes);
    if (!kept) return -1;
    counter->entries[counter->n] = (struct counter_entry){count, kept, (uint32_t)n_bytes, hash};
    if (slot) *slot = (uint32_t)counter->n + 1;
    return counter->n++;
}

/* An empty slot holds 0, which becomes -1. */
int64_t counter_find(const unitok_counter *counter, const uint8_t *key, int64_t n_bytes)
{
    return (int64_t)*slot_of(counter, key, n_bytes, counter_hash(key, n_bytes)) - 1;
}

/* If keys->counts is NULL, each key counts once. */
int32_t unitok_counter_add(unitok_counter *counter, const unitok_units *keys, unitok_error *error)
{
    const char *problem = check_offsets(keys->offsets, keys->n);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    for (int64_t i = 0; i < keys->n; i++) {
        int64_t n_bytes = keys->offsets[i + 1] - keys->offsets[i];
        uint64_t count = keys->counts ? keys->counts[i] : 1;
        if (n_bytes > UNITOK_KEY_MAX_BYTES)
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a key is too long");
        if (counter_add(counter, keys->data + keys->offsets[i], n_bytes, count) < 0)
            return fail(error, UNITOK_ERROR_MEMORY, i, -1, "not enough memory");
    }
    return UNITOK_OK;
}

#define ABSORBED_AHEAD 8 /* entries between prefetching an entry and reading it */

/* Threads call this for disjoint ranges of the same two counters. Each key of `other` has its own
 * entry in `counter`, so no two threads touch the same count, and no entry is added. */
int32_t unitok_counter_absorb(unitok_counter *counter, unitok_counter *other, int64_t begin,
                              int64_t end, unitok_error *error)
{
    if (!counter->slots || counter->is_moved || counter == other || begin < 0 || begin > end ||
        end > other->n)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a counter can absorb only another counter, and neither may be sorted");
    const struct counter_entry *entries = other->entries;
    for (int64_t i = begin; i < end; i++) {
        if (i + 2 * ABSORBED_AHEAD < end)
            counter_fetch_slot(counter, entries[i + 2 * ABSORBED_AHEAD].hash);
        if (i + ABSORBED_AHEAD < end)
            counter_fetch_entry(counter, entries[i + ABSORBED_AHEAD].hash);
        if (!entries[i].count) continue;
        uint32_t found = *slot_of(counter, entries[i].key, entries[i].n_bytes, entries[i].hash);
        if (!found) continue;
        counter->entries[found - 1].count += entries[i].count;
        other->entries[i].count = 0;
    }
    return UNITOK_OK;
}

/* Closes the gaps that absorbing has left. The slots still contain the old indexes, so they are
 * rebuilt before their next use. */
void unitok_counter_drop_absorbed(unitok_counter *counter)
{
    int64_t n = 0;
    for (int64_t i = 0; i < counter->n; i++)
        if (counter->entries[i].count) counter->entries[n++] = counter->entries[i];
    if (n < counter->n) counter->is_moved = 1;
    counter->n = n;
}

/* Does not use the hashes of the other counter, which has none if it is ordered. */
int counter_merge(unitok_counter *counter, const unitok_counter *other)
{
    for (int64_t i = 0; i < other->n; i++) {
        const struct counter_entry *entry = &other->entries[i];
        if (counter_add(counter, entry->key, entry->n_bytes, entry->count) < 0) return 0;
    }
    return 1;
}

/* The size of `data` for unitok_counter_export. */
int64_t unitok_counter_part_bytes(const unitok_counter *counter, int64_t begin, int64_t end)
{
    int64_t n_bytes = 0;
    for (int64_t i = begin; i < end; i++) n_bytes += counter->entries[i].n_bytes;
    return n_bytes;
}

/* Writes a range of the entries as a packed list, so that a large counter can be written to a file
 * in parts. */
void unitok_counter_export(const unitok_counter *counter, int64_t begin, int64_t end, uint8_t *data,
                           int64_t *offsets, uint64_t *counts)
{
    int64_t at = 0;
    for (int64_t i = begin; i < end; i++) {
        const struct counter_entry *entry = &counter->entries[i];
        offsets[i - begin] = at;
        counts[i - begin] = entry->count;
        if (entry->n_bytes) memcpy(data + at, entry->key, entry->n_bytes);
        at += entry->n_bytes;
    }
    offsets[end - begin] = at;
}
