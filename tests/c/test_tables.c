/* test_tables.c - tests hash tables with keys constructed to collide: another factor is chosen, and
 * every key is found */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "encoders/symbols.h"
#include "random.h"
#include "structures/probing.h"
#include "structures/string_table.h"

enum { N = 4096, STRING_BYTES = 9, TRIES = 4000000 };

static uint8_t data[N * STRING_BYTES];
static int64_t offsets[N + 1];
static uint8_t take[N];

static void random_string(uint8_t *out)
{
    for (int i = 0; i < STRING_BYTES; i++) out[i] = (uint8_t)(random_u64() >> 20);
}

static void check_found(const string_table *t)
{
    uint8_t other[STRING_BYTES];
    for (int64_t k = 0; k < N; k++)
        CHECK(string_table_find(t, data + offsets[k], STRING_BYTES) == k);
    for (int k = 0; k < 1000; k++) {
        random_string(other);
        CHECK(string_table_find(t, other, STRING_BYTES) == -1);
    }
}

/* Strings that the first factor puts within 64 slots of 8,192, and strings that it spreads. */
static void test_strings(int is_hostile)
{
    string_table t = {.n_bits = 13}, first;
    int64_t twice;
    memset(take, 1, sizeof take);
    offsets[0] = 0;
    random_string(data);
    offsets[1] = STRING_BYTES;
    CHECK(!string_table_build(&first, data, offsets, 1, take, &twice, NULL));
    t.factor = first.factor;
    for (int64_t n = 0, k = 0; n < N; k++) {
        uint8_t *string = data + n * STRING_BYTES;
        CHECK(k < TRIES);
        random_string(string);
        if (is_hostile && string_table_place(&t, string_table_hash(&t, string, STRING_BYTES)) >= 64)
            continue;
        offsets[++n] = (int64_t)(string - data) + STRING_BYTES;
    }
    CHECK(!string_table_build(&t, data, offsets, N, take, &twice, NULL) && twice == -1);
    CHECK((t.factor == first.factor) == !is_hostile);
    check_found(&t);
    string_table_free(&t);
    string_table_free(&first);
}

static void test_twice(void)
{
    string_table t;
    int64_t twice;
    memcpy(data + 7 * STRING_BYTES, data + 3 * STRING_BYTES, STRING_BYTES);
    CHECK(!string_table_build(&t, data, offsets, N, take, &twice, NULL) && twice == 7);
    CHECK(string_table_find(&t, data + 3 * STRING_BYTES, STRING_BYTES) == 3);
    take[3] = 0;
    string_table_free(&t);
    CHECK(!string_table_build(&t, data, offsets, N, take, &twice, NULL) && twice == -1);
    CHECK(string_table_find(&t, data + 3 * STRING_BYTES, STRING_BYTES) == 7);
    string_table_free(&t);
}

/* The hash of a part, computed from those of two prefixes. */
static void test_parts(void)
{
    string_table t = {.factor = UINT64_C(0x123456789ABCDEF)};
    uint64_t hashes[201] = {0}, power = 1;
    uint8_t text[200];
    for (int i = 0; i < 200; i++) text[i] = i % 3 ? (uint8_t)random_u64() : 0xFF;
    for (int i = 0; i < 200; i++) hashes[i + 1] = string_table_hash_step(&t, hashes[i], text[i]);
    for (int n = 0; n < 200; n++, power = string_table_multiply_add(power, t.factor, 0))
        for (int i = 0; i + n <= 200; i++)
            CHECK(string_table_part_hash(hashes[i], hashes[i + n], power) ==
                  string_table_hash(&t, text + i, n));
}

static uint64_t key_of(const uint8_t character[4])
{
    return UINT64_C(4) << 32 | load_u32(character);
}

/* Characters of four bytes that the first factor puts next to each other. */
static void test_characters(void)
{
    symbols t, first;
    static uint8_t found[3000][4];
    int n = 0;
    CHECK(symbols_new(&t, 0) && symbols_new(&first, 0));
    first.n_bits = 13;
    for (int k = 0; n < 3000; k++) {
        uint32_t tail = (uint32_t)k;
        uint8_t character[4] = {(uint8_t)(0xF0 | (tail & 15)), (uint8_t)(tail >> 4),
                                (uint8_t)(tail >> 12), (uint8_t)(tail >> 20)};
        if (symbols_place(&first, key_of(character)) >= 64) continue;
        memcpy(found[n], character, 4);
        CHECK(symbols_add(&t, character, 4, (uint32_t)++n));
    }
    CHECK(symbols_settle(&t) && t.factor != probing_factor(0));
    CHECK(!probing_is_crowded(t.slots, 1, INT64_C(1) << t.n_bits, 0));
    for (int k = 0; k < 3000; k++) CHECK(symbols_find(&t, found[k], 4) == (uint32_t)k + 1);
    CHECK(symbols_find(&t, (const uint8_t *)"\xF0\x9F\x98\x81", 4) == SYMBOL_NONE);
    symbols_free(&t);
    symbols_free(&first);
}

static void test_runs(void)
{
    static uint64_t slots[2048];
    for (int k = 0; k < PROBING_RUN_MAX; k++) slots[(1800 + k) % 2048] = 1;
    CHECK(!probing_is_crowded(slots, 1, 2048, 0));
    /* the run wraps around from the end to the start */
    slots[(1800 + PROBING_RUN_MAX) % 2048] = 1;
    CHECK(probing_is_crowded(slots, 1, 2048, 0) && probing_is_crowded(slots, 1, 2048, 5));
}

int main(void)
{
    random_start(7);
    RUN(test_strings(0));
    RUN(test_strings(1));
    RUN(test_twice());
    RUN(test_parts());
    RUN(test_characters());
    RUN(test_runs());
    return 0;
}
