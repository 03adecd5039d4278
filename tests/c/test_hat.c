/* test_hat.c - compares the HAT-trie with a sorted array of keys, between guard pages, with failing
 * allocations */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "guard.h"
#include "random.h"

#include "structures/hat.h"

static size_t random_below(size_t n) { return (size_t)((random_u64() >> 33) % n); }

/* ---------------------------------------------------------------------------------- Oracle ---- */

/* The oracle: keys in a sorted array. */
struct entry {
    uint8_t *key;
    size_t n_bytes;
    int64_t value;
};

struct oracle {
    struct entry *entries;
    size_t n, capacity;
};

static int compare_bytes(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
    size_t n = n_a < n_b ? n_a : n_b;
    int order = n ? memcmp(a, b, n) : 0;
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* The index of the first key that is not less than `key`. */
static size_t oracle_at(const struct oracle *oracle, const uint8_t *key, size_t n_bytes)
{
    size_t low = 0, high = oracle->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct entry *entry = &oracle->entries[middle];
        if (compare_bytes(entry->key, entry->n_bytes, key, n_bytes) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static struct entry *oracle_find(const struct oracle *oracle, const uint8_t *key, size_t n_bytes)
{
    size_t i = oracle_at(oracle, key, n_bytes);
    struct entry *entry;
    if (i == oracle->n) return NULL;
    entry = &oracle->entries[i];
    return compare_bytes(entry->key, entry->n_bytes, key, n_bytes) == 0 ? entry : NULL;
}

static void oracle_put(struct oracle *oracle, const uint8_t *key, size_t n_bytes, int64_t value)
{
    size_t i = oracle_at(oracle, key, n_bytes);
    struct entry entry = {malloc(n_bytes + 1), n_bytes, value};
    if (n_bytes) memcpy(entry.key, key, n_bytes);
    if (oracle->n == oracle->capacity) {
        oracle->capacity = oracle->capacity * 2 + 16;
        oracle->entries = realloc(oracle->entries, oracle->capacity * sizeof entry);
    }
    memmove(&oracle->entries[i + 1], &oracle->entries[i], (oracle->n++ - i) * sizeof entry);
    oracle->entries[i] = entry;
}

static void oracle_free(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->n; i++) free(oracle->entries[i].key);
    free(oracle->entries);
    memset(oracle, 0, sizeof *oracle);
}

/* -------------------------------------------------------------------------- Key generators ---- */

enum { KEY_ROOM = 4096 };

static size_t key_random(uint8_t *key)
{
    size_t n = random_below(12);
    for (size_t i = 0; i < n; i++) key[i] = (uint8_t)random_u64();
    return n;
}

static size_t key_small_alphabet(uint8_t *key)
{
    size_t n = random_below(14);
    for (size_t i = 0; i < n; i++) key[i] = (uint8_t)('a' + random_below(3));
    return n;
}

static size_t key_chain(uint8_t *key)
{
    size_t n = random_below(700);
    memset(key, 'a', n);
    return n;
}

/* Makes keys of lengths around 63, the longest part that is hashed, and 255, the first length that
 * takes five bytes to store. */
static size_t key_shared_prefix(uint8_t *key)
{
    static const size_t lengths[] = {1, 7, 8, 9, 60, 62, 63, 64, 65, 250, 254, 255, 256, 3000};
    size_t n = lengths[random_below(14)];
    /* most keys have the complete prefix, some diverge earlier */
    size_t leaves = random_below(4) ? n : random_below(n + 1);
    size_t more = random_below(4);
    for (size_t i = 0; i < n; i++) key[i] = (uint8_t)(i * 7 + 1);
    if (leaves < n) key[leaves] = (uint8_t)random_u64();
    for (size_t i = 0; i < more; i++) key[n + i] = (uint8_t)random_below(8);
    return n + more;
}

static size_t key_zeros(uint8_t *key)
{
    size_t n = random_below(40);
    memset(key, 0, n);
    if (n && random_below(2)) key[random_below(n)] = (uint8_t)random_below(3);
    return n;
}

static size_t key_pairs(uint8_t *key)
{
    size_t n = random_below(3);
    for (size_t i = 0; i < n; i++) key[i] = (uint8_t)random_u64();
    return n;
}

/* Each key leaves a long path at a random byte, so that the prefixes of branches split at every
 * position. */
static size_t key_caterpillar(uint8_t *key)
{
    size_t n = random_below(900);
    for (size_t i = 0; i < n; i++) key[i] = (uint8_t)(i >> 3);
    key[n] = (uint8_t)random_u64();
    return n + 1;
}

typedef size_t key_generator(uint8_t *key);

static const struct shape {
    const char *name;
    key_generator *generate;
} shapes[] = {
    {"random", key_random},
    {"small alphabet", key_small_alphabet},
    {"chain", key_chain},
    {"shared prefix", key_shared_prefix},
    {"zeros", key_zeros},
    {"pairs", key_pairs},
    {"caterpillar", key_caterpillar},
};

enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* -------------------------------------------------------------------------------- Checks ---- */

static int32_t insert_one(unitok_hat *hat, const uint8_t *key, size_t n_bytes, int64_t value,
                          int32_t mode)
{
    int64_t offsets[2] = {0, (int64_t)n_bytes};
    return unitok_hat_insert(hat, key, offsets, &value, 1, mode, NULL);
}

/* Returns whether the trie contains the key, and sets *value (to 0 if it does not). */
static int find_one(const unitok_hat *hat, const uint8_t *key, size_t n_bytes, int64_t *value)
{
    int found = unitok_hat_longest_prefix(hat, key, (int64_t)n_bytes, value) == (int64_t)n_bytes;
    if (!found) *value = 0;
    return found;
}

/* Compares the longest prefix of a text with the one found by trying every length. */
static void check_text(const unitok_hat *hat, const struct oracle *oracle, const uint8_t *text,
                       size_t n_bytes)
{
    int64_t value = -7, longest = -1, longest_value = -7;
    for (size_t k = 0; k <= n_bytes; k++) {
        const struct entry *entry = oracle_find(oracle, text, k);
        if (!entry) continue;
        longest = (int64_t)k;
        longest_value = entry->value;
    }
    CHECK(unitok_hat_longest_prefix(hat, text, (int64_t)n_bytes, &value) == longest);
    CHECK(value == longest_value);
}

static int begins_with(const struct entry *entry, const uint8_t *prefix, size_t n_bytes)
{
    return entry->n_bytes >= n_bytes && (!n_bytes || memcmp(entry->key, prefix, n_bytes) == 0);
}

/* Checks that a walk returns exactly the oracle's keys with the prefix; small capacities and
 * failing allocations only slow it down. */
static void check_walk(const unitok_hat *hat, const struct oracle *oracle, const uint8_t *prefix,
                       size_t n_bytes)
{
    static uint8_t data[8 * KEY_ROOM];
    static int64_t offsets[1001], values[1000];
    size_t at = oracle_at(oracle, prefix, n_bytes);
    int64_t n;
    unitok_hat_walk *walk = NULL;
    if (unitok_hat_walk_new(hat, prefix, (int64_t)n_bytes, &walk, NULL) != UNITOK_OK) {
        CHECK(walk == NULL && alloc_failures > 0);
        return;
    }
    for (int64_t capacity = 4;;) {
        n = unitok_hat_walk_next(walk, data, capacity, offsets, values,
                                 1 + (int64_t)random_below(1000));
        if (n == 0) break;
        if (n == -1) CHECK(oracle->entries[at].n_bytes > (size_t)capacity);
        if (n == -2) CHECK(alloc_failures > 0);
        capacity = n < 0 ? (int64_t)sizeof data : (int64_t)random_below(sizeof data);
        for (int64_t i = 0; i < n; i++, at++) {
            const struct entry *entry = &oracle->entries[at];
            CHECK(at < oracle->n && begins_with(entry, prefix, n_bytes) &&
                  values[i] == entry->value);
            size_t n_key = (size_t)(offsets[i + 1] - offsets[i]);
            CHECK(compare_bytes(entry->key, entry->n_bytes, data + offsets[i], n_key) == 0);
        }
    }
    CHECK(at == oracle->n || !begins_with(&oracle->entries[at], prefix, n_bytes));
    unitok_hat_walk_free(walk);
}

static void check_all(const unitok_hat *hat, const struct oracle *oracle)
{
    int64_t value;
    CHECK(unitok_hat_count(hat) == (int64_t)oracle->n);
    CHECK(unitok_hat_memory_bytes(hat) == alloc_live_bytes);
    for (size_t i = 0; i < oracle->n; i++) {
        CHECK(find_one(hat, oracle->entries[i].key, oracle->entries[i].n_bytes, &value));
        CHECK(value == oracle->entries[i].value);
    }
    check_walk(hat, oracle, NULL, 0);
}

/* --------------------------------------------------------------------------------- Tests ---- */

/* Inserts one key, in a random mode, into the trie and the oracle. If an allocation fails, the trie
 * must report it and stay unchanged. */
static void insert_both(unitok_hat *hat, struct oracle *oracle, const uint8_t *key, size_t n_bytes)
{
    int64_t value = (int64_t)random_u64();
    int32_t mode = (int32_t)random_below(3), status = insert_one(hat, key, n_bytes, value, mode);
    struct entry *entry = oracle_find(oracle, key, n_bytes);
    if (status == UNITOK_ERROR_MEMORY) {
        CHECK(alloc_failures > 0 && !entry); /* changing a value allocates nothing */
    } else if (!entry) {
        CHECK(status == UNITOK_OK);
        oracle_put(oracle, key, n_bytes, value);
    } else if (mode == UNITOK_HAT_UNIQUE) {
        CHECK(status == UNITOK_ERROR_ARGUMENT);
    } else {
        CHECK(status == UNITOK_OK);
        entry->value = mode == UNITOK_HAT_SET ? value
                                              : (int64_t)((uint64_t)entry->value + (uint64_t)value);
    }
}

static void one_operation(unitok_hat *hat, struct oracle *oracle, const struct guard *guard,
                          key_generator *generate)
{
    uint8_t key[KEY_ROOM];
    size_t n_bytes = generate(key);
    const uint8_t *p = guard_copy(guard, key, n_bytes);
    int64_t value;
    struct entry *entry = oracle_find(oracle, key, n_bytes);
    switch (random_below(15)) {
    case 0:
        CHECK(find_one(hat, p, n_bytes, &value) == (entry != NULL));
        CHECK(value == (entry ? entry->value : 0));
        break;
    case 1:
        check_text(hat, oracle, p, n_bytes);
        break;
    case 2:
        if (random_below(32) == 0)
            check_walk(hat, oracle, p, n_bytes ? random_below(n_bytes + 1) : 0);
        break;
    default:
        insert_both(hat, oracle, p, n_bytes);
    }
}

/* Tests one shape of key or, if it is NULL, all shapes in one trie. */
static void test_shape(const struct shape *shape, int n_operations, int64_t fail_every)
{
    struct guard guard = guard_new(KEY_ROOM);
    struct oracle oracle = {NULL, 0, 0};
    unitok_hat *hat = NULL;
    running = shape ? shape->name : "mixed shapes";
    CHECK(unitok_hat_new(&hat, NULL) == UNITOK_OK);
    alloc_fail_every = fail_every;
    for (int i = 0; i < n_operations; i++) {
        one_operation(hat, &oracle, &guard,
                      shape ? shape->generate : shapes[random_below(N_SHAPES)].generate);
        CHECK(unitok_hat_count(hat) == (int64_t)oracle.n);
        CHECK(unitok_hat_memory_bytes(hat) == alloc_live_bytes);
    }
    alloc_fail_every = 0;
    check_all(hat, &oracle);
    for (size_t i = 0; i < oracle.n; i++) {
        int64_t value;
        CHECK(find_one(hat, oracle.entries[i].key, oracle.entries[i].n_bytes, &value));
    }
    unitok_hat_free(hat);
    CHECK(alloc_live_blocks == 0 && alloc_live_bytes == 0);
    oracle_free(&oracle);
    guard_free(&guard);
}

/* Fails exactly the k-th allocation of building and of walking, for k = 1, 2, ... until none
 * fails. */
static void test_fail_each(const struct shape *shape)
{
    enum { N_KEYS = 1500 };
    static uint8_t data[N_KEYS * 1024];
    static int64_t offsets[N_KEYS + 1], values[N_KEYS];
    int64_t step = 1;
    running = shape->name;
    for (int i = 0; i < N_KEYS; i++) {
        uint8_t key[KEY_ROOM];
        size_t n = shape->generate(key);
        n = n > 1024 ? 1024 : n;
        memcpy(data + offsets[i], key, n);
        offsets[i + 1] = offsets[i] + (int64_t)n;
        values[i] = i;
    }
    for (int64_t k = 1;; k += step, step += k / 200) {
        unitok_hat *hat = NULL;
        unitok_error error = {0, -1, -1, NULL};
        struct oracle oracle = {NULL, 0, 0};
        int64_t done = N_KEYS;
        alloc_fail_at = k;
        if (unitok_hat_new(&hat, &error) == UNITOK_OK) {
            if (unitok_hat_insert(hat, data, offsets, values, N_KEYS, UNITOK_HAT_SET, &error) !=
                UNITOK_OK) {
                CHECK(error.status == UNITOK_ERROR_MEMORY && error.message != NULL);
                done = error.item;
            }
            for (int64_t i = 0; i < done; i++) {
                size_t n = (size_t)(offsets[i + 1] - offsets[i]);
                struct entry *entry = oracle_find(&oracle, data + offsets[i], n);
                if (entry) entry->value = i;
                else oracle_put(&oracle, data + offsets[i], n, i);
            }
            check_all(hat, &oracle); /* the walk fails if building did not */
            done = alloc_fail_at > 0;
            alloc_fail_at = 0;
            check_all(hat, &oracle);
            CHECK(unitok_hat_insert(hat, data, offsets, values, N_KEYS, UNITOK_HAT_SET, NULL) ==
                  UNITOK_OK);
            unitok_hat_free(hat);
        } else {
            CHECK(hat == NULL);
            done = 0;
        }
        oracle_free(&oracle);
        CHECK(alloc_live_blocks == 0 && alloc_live_bytes == 0);
        if (done) break;
    }
}

/* 600 keys share 200,000 bytes, which are stored only once, and without recursion. */
static void test_long_prefix(void)
{
    enum { N_SHARED = 200000, N_KEYS = 600 };
    uint8_t *key = malloc(UNITOK_HAT_KEY_MAX_BYTES + 1);
    unitok_hat *hat = NULL;
    int64_t value;
    memset(key, 'x', UNITOK_HAT_KEY_MAX_BYTES + 1);
    CHECK(unitok_hat_new(&hat, NULL) == UNITOK_OK);
    for (size_t i = 0; i < N_KEYS; i++) {
        key[N_SHARED] = (uint8_t)i;
        key[N_SHARED + 1] = (uint8_t)(i >> 8);
        CHECK(insert_one(hat, key, N_SHARED + 2, (int64_t)i, UNITOK_HAT_UNIQUE) == UNITOK_OK);
    }
    CHECK(unitok_hat_memory_bytes(hat) < 2 * N_SHARED);
    for (size_t i = 0; i < N_KEYS; i++) {
        key[N_SHARED] = (uint8_t)i;
        key[N_SHARED + 1] = (uint8_t)(i >> 8);
        CHECK(unitok_hat_longest_prefix(hat, key, N_SHARED + 100, &value) == N_SHARED + 2 &&
              value == (int64_t)i);
    }
    memset(key, 'x', N_SHARED + 2);
    CHECK(insert_one(hat, key, UNITOK_HAT_KEY_MAX_BYTES, 5, UNITOK_HAT_SET) == UNITOK_OK);
    CHECK(insert_one(hat, key, UNITOK_HAT_KEY_MAX_BYTES + 1, 5, UNITOK_HAT_SET) ==
          UNITOK_ERROR_ARGUMENT);
    CHECK(find_one(hat, key, UNITOK_HAT_KEY_MAX_BYTES, &value) && value == 5);
    CHECK(!find_one(hat, key, UNITOK_HAT_KEY_MAX_BYTES - 1, &value));
    CHECK(unitok_hat_count(hat) == N_KEYS + 1);
    unitok_hat_free(hat);
    CHECK(alloc_live_blocks == 0);
    free(key);
}

/* A chain a, aa, aaa ... of 4,000 keys creates thousands of nested branches, without recursion. */
static void test_deep_chain(void)
{
    enum { N_KEYS = 4000 };
    static uint8_t key[N_KEYS], data[N_KEYS];
    unitok_hat *hat = NULL;
    unitok_hat_walk *walk = NULL;
    int64_t value, offsets[2];
    memset(key, 'a', sizeof key);
    CHECK(unitok_hat_new(&hat, NULL) == UNITOK_OK);
    for (size_t n = 0; n <= N_KEYS; n++)
        CHECK(insert_one(hat, key, n, (int64_t)n, UNITOK_HAT_UNIQUE) == UNITOK_OK);
    for (int64_t n = 0; n <= N_KEYS; n++)
        CHECK(unitok_hat_longest_prefix(hat, key, n, &value) == n && value == n);
    CHECK(unitok_hat_walk_new(hat, key, 10, &walk, NULL) == UNITOK_OK);
    for (int64_t n = 10; n <= N_KEYS; n++) {
        CHECK(unitok_hat_walk_next(walk, data, n - 1, offsets, &value, 1) == -1);
        CHECK(unitok_hat_walk_next(walk, data, n, offsets, &value, 1) == 1 && offsets[1] == n &&
              value == n);
    }
    CHECK(unitok_hat_walk_next(walk, data, N_KEYS, offsets, &value, 1) == 0);
    unitok_hat_walk_free(walk);
    unitok_hat_free(hat);
}

static void test_arguments(void)
{
    unitok_hat *hat = NULL;
    unitok_error error = {0, 0, 0, NULL};
    int64_t offsets[4] = {0, 1, 2, 3}, values[3] = {1, 2, 3}, value = 9;
    CHECK(unitok_hat_new(&hat, NULL) == UNITOK_OK);
    CHECK(unitok_hat_longest_prefix(hat, (const uint8_t *)"", 0, &value) == -1 && value == 9);
    CHECK(unitok_hat_insert(hat, (const uint8_t *)"aba", offsets, values, 3, UNITOK_HAT_UNIQUE,
                            &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(error.item == 2 && error.message && unitok_hat_count(hat) == 2);
    CHECK(unitok_hat_insert(hat, (const uint8_t *)"aba", offsets, values, 3, 3, &error) ==
          UNITOK_ERROR_ARGUMENT);
    offsets[2] = 0; /* a length of -1 */
    CHECK(unitok_hat_insert(hat, (const uint8_t *)"xba", offsets, values, 3, UNITOK_HAT_ADD,
                            &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(error.item == 1 && unitok_hat_count(hat) == 3);
    CHECK(find_one(hat, (const uint8_t *)"x", 1, &value) && value == 1);
    unitok_hat_free(hat);
    unitok_hat_free(NULL);
    unitok_hat_walk_free(NULL);
}

int main(void)
{
    random_start(20240607);
    RUN(test_arguments());
    for (int i = 0; i < N_SHAPES; i++) RUN(test_shape(&shapes[i], 12000, 0));
    RUN(test_shape(NULL, 30000, 0));
    for (int i = 0; i < N_SHAPES; i++) RUN(test_shape(&shapes[i], 6000, 20));
    RUN(test_shape(NULL, 20000, 7));
    for (int i = 0; i < N_SHAPES; i++) RUN(test_fail_each(&shapes[i]));
    RUN(test_long_prefix());
    RUN(test_deep_chain());
    return 0;
}
