/* array_hash.c - a small hash table of byte strings whose slots are contiguous arrays; array_hash.h
 * shows its layout
 *
 *     find " cat"      hash h ──▶ slots[h >> 32 & mask]     filter has bit h >> 58? no: absent
 *                                   └──▶ | 4 " dog" 17 | 6 " kitty" 3 | 4 " cat" 9 |
 *                                          length equal, bytes differ ──────▶ found: value 9
 *
 * A table is built with slots of the right size, or grows one key at a time; the hash of a key is
 * not stored, because keys are short and are hashed again only when a table is rebuilt. */

#include "structures/array_hash.h"

#include "ground/alloc.h"

#define VALUE_BYTES 8
#define SLOT_HEAD_BYTES 8 /* used, capacity */

/* A table doubles at 5 keys per slot. A slot is then a cache line of short keys on average, and its
 * filter of 64 bits rejects 19 absent keys in 20. Measured with the RWKV vocabulary: with 8 keys
 * per slot, a key takes 22 bytes in total and longest prefixes are found at 60 MB/s; with 5 keys,
 * 25 bytes and 74 MB/s; with 4 keys, 27 bytes and hardly more than 74 MB/s. */
#define KEYS_PER_SLOT_MAX 5

/* -------------------------------------------------------------------------------- One slot ---- */

/* The bytes in use and the bytes allocated, both including the 8-byte header. They are stored in
 * the array, not in the table, so that a slot takes 16 bytes in the table and four slots share a
 * cache line. */
static uint32_t slot_used(const uint8_t *bytes) { return load_u32(bytes); }

static uint32_t slot_capacity(const uint8_t *bytes) { return load_u32(bytes + 4); }

static void slot_set_used(uint8_t *bytes, uint32_t used) { memcpy(bytes, &used, 4); }

/* Nearly all keys have fewer than 255 bytes and need one byte for their length. */
static size_t entry_bytes(size_t n_bytes)
{
    return (n_bytes < 255 ? 1u : 5u) + n_bytes + VALUE_BYTES;
}

/* Skips the length of an entry: returns the start of its key and sets the key's length. */
INLINE const uint8_t *entry_key(const uint8_t *entry, size_t *ret_n_bytes)
{
    if (LIKELY(*entry < 255)) {
        *ret_n_bytes = *entry;
        return entry + 1;
    }
    *ret_n_bytes = load_u32(entry + 1);
    return entry + 5;
}

/* The upper bits of the hash, which array_hash_slot does not use, so keys in the same slot can
 * differ in them. */
static uint64_t filter_bit(uint64_t hash) { return UINT64_C(1) << (hash >> 58); }

/* Returns the key inside the slot, or NULL. The search reads memory in order, so it costs less
 * than following pointers would, as long as a slot is a few cache lines. */
static const uint8_t *slot_find(const struct slot *slot, const uint8_t *key, size_t n_bytes)
{
    const uint8_t *p = slot->bytes + SLOT_HEAD_BYTES;
    const uint8_t *end = slot->bytes + slot_used(slot->bytes);
    while (p < end) {
        size_t n;
        p = entry_key(p, &n);
        if (n == n_bytes && memcmp(p, key, n) == 0) return p;
        p += n + VALUE_BYTES;
    }
    return NULL;
}

/* Capacities are 8 less than a multiple of `step`, because many allocators return blocks of 16 k +
 * 8 bytes. Beyond 1 KiB, which only long keys or many colliding keys reach, a slot grows by an
 * eighth, so that filling it takes linear time. */
static uint32_t capacity_for(size_t need, size_t step)
{
    if (need >= 1024 && need / 8 > step) need += need / 8;
    return (uint32_t)(((need + 8 + step - 1) & ~(step - 1)) - 8);
}

/* Gives a slot this capacity, keeping its entries. Returns 0, with nothing changed, if an
 * allocation fails. */
static int slot_reserve(struct array_hash *table, struct slot *slot, uint32_t capacity)
{
    uint32_t used = slot->bytes ? slot_used(slot->bytes) : SLOT_HEAD_BYTES;
    uint32_t before = slot->bytes ? slot_capacity(slot->bytes) : 0;
    uint8_t *bytes = mem_realloc(slot->bytes, capacity);
    if (!bytes) return 0;
    slot->bytes = bytes;
    slot_set_used(bytes, used);
    memcpy(bytes + 4, &capacity, 4);
    table->memory_bytes += capacity - before;
    return 1;
}

/* Appends an entry. The slot must have enough capacity. */
static void slot_put(struct slot *slot, const uint8_t *key, size_t n_bytes, uint64_t hash,
                     int64_t value)
{
    uint32_t used = slot_used(slot->bytes);
    uint8_t *p = slot->bytes + used;
    if (n_bytes < 255) {
        *p++ = (uint8_t)n_bytes;
    } else {
        uint32_t n = (uint32_t)n_bytes;
        *p++ = 255;
        memcpy(p, &n, 4);
        p += 4;
    }
    memcpy(p, key, n_bytes);
    memcpy(p + n_bytes, &value, VALUE_BYTES);
    slot_set_used(slot->bytes, used + (uint32_t)entry_bytes(n_bytes));
    slot->filter |= filter_bit(hash);
}

/* ------------------------------------------------------------------------------- The table ---- */

/* The index in heads[] for keys that begin with these two bytes. Letters and continuation bytes of
 * UTF-8 differ in their low bits. */
INLINE unsigned head_of(const uint8_t *key)
{
    return (unsigned)(key[0] * 3 ^ key[1]) & (ARRAY_HASH_HEADS - 1);
}

/* Sets the bit of the key's length in heads[]. It is never cleared, because tables never lose keys.
 * A key of one byte can be followed by any byte, so its bit is set in all classes. */
static void note_length(struct array_hash *table, const uint8_t *key, size_t n_bytes)
{
    size_t length = n_bytes < ARRAY_HASH_LONG_BYTES ? n_bytes : ARRAY_HASH_LONG_BYTES;
    if (length > 1) {
        table->heads[head_of(key)] |= UINT64_C(1) << length;
        return;
    }
    /* any second byte may follow */
    for (int i = 0; i < ARRAY_HASH_HEADS; i++) table->heads[i] |= 2;
}

/* Creates a table without keys. Its slots are zeroed, so they have no arrays. */
static struct array_hash *table_new(uint32_t n_slots)
{
    size_t bytes = sizeof(struct array_hash) + n_slots * sizeof(struct slot);
    struct array_hash *table = mem_zalloc(1, bytes);
    if (!table) return NULL;
    table->n_slots = n_slots;
    table->memory_bytes = bytes;
    return table;
}

void array_hash_free(struct array_hash *table)
{
    if (!table) return;
    for (uint32_t i = 0; i < table->n_slots; i++) mem_free(table->slots[i].bytes);
    mem_free(table);
}

/* Allocates every slot with the capacity that its keys need. */
static int size_slots(struct array_hash *table, struct array_item *items, size_t n_items)
{
    for (size_t i = 0; i < n_items; i++) {
        items[i].mark = array_hash_of(items[i].key, items[i].n_bytes);
        /* until the slot is allocated, its filter counts bytes */
        table->slots[array_hash_slot(table, items[i].mark)].filter += entry_bytes(items[i].n_bytes);
    }
    for (uint32_t i = 0; i < table->n_slots; i++) {
        struct slot *slot = &table->slots[i];
        uint64_t need = slot->filter;
        slot->filter = 0;
        if (need && !slot_reserve(table, slot, capacity_for(SLOT_HEAD_BYTES + (size_t)need, 16)))
            return 0;
    }
    return 1;
}

/* Two passes: the first computes the size of every slot, so that each is allocated once with
 * exactly that size; the second fills them. Growing the slots entry by entry would move each
 * several times. */
struct array_hash *array_hash_build(struct array_item *items, size_t n_items)
{
    uint32_t n_slots = 1;
    struct array_hash *table;
    while ((size_t)n_slots * KEYS_PER_SLOT_MAX <= n_items) n_slots *= 2;
    table = table_new(n_slots);
    if (!table) return NULL;
    if (!size_slots(table, items, n_items)) {
        array_hash_free(table);
        return NULL;
    }
    for (size_t i = 0; i < n_items; i++) {
        const struct array_item *item = &items[i];
        struct slot *slot = &table->slots[array_hash_slot(table, item->mark)];
        slot_put(slot, item->key, item->n_bytes, item->mark, load_i64(item->key + item->n_bytes));
        note_length(table, item->key, item->n_bytes);
        table->n_entry_bytes += (uint32_t)entry_bytes(item->n_bytes);
    }
    table->n_keys = (uint32_t)n_items;
    return table;
}

void array_hash_items(const struct array_hash *table, struct array_item *items)
{
    for (uint32_t i = 0; i < table->n_slots; i++) {
        const uint8_t *p = table->slots[i].bytes;
        const uint8_t *end = p ? p + slot_used(p) : NULL;
        if (!p) continue;
        for (p += SLOT_HEAD_BYTES; p < end; items++) {
            size_t n;
            items->key = entry_key(p, &n);
            items->n_bytes = (uint32_t)n;
            items->mark = items->number = 0;
            p = items->key + n + VALUE_BYTES;
        }
    }
}

/* Replaces the table with one that has twice as many slots. The old one is freed last, because the
 * items point into it; it is unchanged if an allocation fails. */
static int table_grow(struct array_hash **table)
{
    struct array_hash *old = *table, *grown;
    struct array_item *items = mem_alloc(old->n_keys * sizeof *items);
    if (!items) return 0;
    array_hash_items(old, items);
    grown = array_hash_build(items, old->n_keys);
    mem_free(items);
    if (!grown) return 0;
    grown->node = old->node;
    array_hash_free(old);
    *table = grown;
    return 1;
}

uint8_t *array_hash_find(const struct array_hash *table, const uint8_t *key, size_t n_bytes,
                         uint64_t hash)
{
    const struct slot *slot = &table->slots[array_hash_slot(table, hash)];
    const uint8_t *found;
    if (!(slot->filter & filter_bit(hash))) return NULL;
    found = slot_find(slot, key, n_bytes);
    return found ? (uint8_t *)found + n_bytes : NULL;
}

int array_hash_add(struct array_hash **table, const uint8_t *key, size_t n_bytes, uint64_t hash,
                   int64_t value)
{
    struct slot *slot;
    size_t need = entry_bytes(n_bytes);
    if ((*table)->n_keys >= (*table)->n_slots * KEYS_PER_SLOT_MAX && !table_grow(table)) return 0;
    slot = &(*table)->slots[array_hash_slot(*table, hash)];
    need += slot->bytes ? slot_used(slot->bytes) : SLOT_HEAD_BYTES;
    if (!slot->bytes || need > slot_capacity(slot->bytes)) {
        if (!slot_reserve(*table, slot, capacity_for(need, 32))) return 0;
    }
    slot_put(slot, key, n_bytes, hash, value);
    note_length(*table, key, n_bytes);
    (*table)->n_keys++;
    (*table)->n_entry_bytes += (uint32_t)entry_bytes(n_bytes);
    return 1;
}

/* ---------------------------------------------------------------------- The longest prefix ---- */

/* The set of lengths that a key at the start of the text can have: bit L for L bytes. The last
 * bit stands for ARRAY_HASH_LONG_BYTES and more. Lengths beyond the text are masked out, so that
 * the pass over the text needs no other bound. */
INLINE uint64_t possible_lengths(const struct array_hash *table, const uint8_t *text,
                                 size_t n_bytes)
{
    if (n_bytes == 1) return table->heads[0] & 2;
    if (n_bytes >= ARRAY_HASH_LONG_BYTES) return table->heads[head_of(text)];
    return table->heads[head_of(text)] & ((UINT64_C(2) << n_bytes) - 1);
}

/* The value of the longest key of ARRAY_HASH_LONG_BYTES or more that is a prefix of the text; NULL
 * if there is none. Such keys all have the same hash, and so the same slot. */
static const uint8_t *find_long(const struct slot *slot, const uint8_t *text, size_t n_bytes,
                                size_t *ret_n_bytes)
{
    const uint8_t *p = slot->bytes + SLOT_HEAD_BYTES;
    const uint8_t *end = slot->bytes + slot_used(slot->bytes);
    const uint8_t *best = NULL;
    size_t n_best = 0;
    while (p < end) {
        size_t n;
        p = entry_key(p, &n);
        if (n >= ARRAY_HASH_LONG_BYTES && n > n_best && n <= n_bytes && memcmp(p, text, n) == 0) {
            best = p + n;
            n_best = n;
        }
        p += n + VALUE_BYTES;
    }
    *ret_n_bytes = n_best;
    return best;
}

/* A forward pass computes the hash of every length and checks the filters, without branches that
 * depend on the results. Then the few remaining lengths are looked up, longest first. */
size_t array_hash_longest_prefix(const struct array_hash *table, const uint8_t *text,
                                 size_t n_bytes, int64_t *ret_value)
{
    uint64_t lengths = possible_lengths(table, text, n_bytes), maybe = 0, hash = ARRAY_HASH_SEED;
    uint32_t indexes[ARRAY_HASH_LONG_BYTES + 1];
    int top = lengths ? highest_bit(lengths) : 0;
    for (int i = 1; i <= top; i++) {
        size_t index;
        hash = array_hash_step(hash, text[i - 1]);
        index = array_hash_slot(table, hash);
        indexes[i] = (uint32_t)index;
        maybe |= (table->slots[index].filter >> (hash >> 58) & 1) << i;
    }
    for (maybe &= lengths; maybe;) {
        int i = highest_bit(maybe);
        const struct slot *slot = &table->slots[indexes[i]];
        size_t n = (size_t)i;
        const uint8_t *value = i < ARRAY_HASH_LONG_BYTES ? slot_find(slot, text, n)
                                                         : find_long(slot, text, n_bytes, &n);
        if (value) {
            *ret_value = load_i64(i < ARRAY_HASH_LONG_BYTES ? value + n : value);
            return n;
        }
        maybe ^= UINT64_C(1) << i;
    }
    return 0;
}

/* --------------------------------------------------------------------------------- Sorting ---- */

/* The first eight bytes are compared as one number. They nearly always differ, so the keys
 * themselves, which are scattered in memory, are seldom read. */
INLINE int item_less(const struct array_item *a, const struct array_item *b)
{
    size_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
    int order;
    if (a->mark != b->mark) return a->mark < b->mark;
    order = n > 8 ? memcmp(a->key + 8, b->key + 8, n - 8) : 0;
    return order ? order < 0 : a->n_bytes < b->n_bytes;
}

/* Merges two sorted runs, from[begin..middle) and from[middle..end). */
static void merge_runs(const struct array_item *from, struct array_item *to, size_t begin,
                       size_t middle, size_t end)
{
    size_t left = begin, right = middle;
    for (size_t k = begin; k < end; k++) {
        int take_right = left == middle || (right < end && item_less(&from[right], &from[left]));
        to[k] = from[take_right ? right++ : left++];
    }
}

/* Insertion sort: faster than merging for a few items, which stay in the L1 cache. */
static void sort_run(struct array_item *items, size_t n_items)
{
    for (size_t i = 1; i < n_items; i++) {
        struct array_item item = items[i];
        size_t at = i;
        for (; at > 0 && item_less(&item, &items[at - 1]); at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

#define SORT_RUN 8

/* Merge sort: O(n log n) for any keys, without recursion. qsort may allocate without going through
 * alloc.h. */
void array_items_sort(struct array_item *items, struct array_item *buffer, size_t n_items)
{
    struct array_item *from = items, *to = buffer, *swap;
    for (size_t i = 0; i < n_items; i++)
        items[i].mark = first_eight(items[i].key, items[i].n_bytes);
    for (size_t i = 0; i < n_items; i += SORT_RUN) {
        sort_run(items + i, n_items - i < SORT_RUN ? n_items - i : SORT_RUN);
    }
    for (size_t run = SORT_RUN; run < n_items; run *= 2) {
        for (size_t i = 0; i < n_items; i += 2 * run) {
            size_t middle = n_items - i < run ? n_items : i + run;
            merge_runs(from, to, i, middle, n_items - middle < run ? n_items : middle + run);
        }
        swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n_items * sizeof *items);
}
