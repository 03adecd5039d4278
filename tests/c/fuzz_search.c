/* fuzz_search.c - a libFuzzer target: the input defines a shard and queries; counts must equal
 * those of a full scan
 *
 * The input: u8 which part is damaged (0: none), then the input of toy_shard, then queries: u8
 * length, letters. */
#include "shards.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static void require(int condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    struct bytes b = {input, n_input_bytes};
    struct toy toy;
    unitok_error error;
    int spoiled = take_byte(&b) % 4;
    toy_shard(&toy, &b);
    require(toy_pieces(&toy, &error) == UNITOK_OK &&
            unitok_search_check(&toy.shard, &error) == UNITOK_OK);
    for (int k = 0; k < 8 && spoiled && toy.shard.n; k++) {
        int64_t r = take_byte(&b) % toy.shard.n;
        if (spoiled == 1) toy.sa[r] = (uint32_t)take_byte(&b) << (take_byte(&b) % 25);
        if (spoiled == 2 && toy.left) ((uint8_t *)toy.left)[r] = (uint8_t)take_byte(&b);
        if (spoiled == 2 && !toy.left) ((uint8_t *)toy.stored)[r] = (uint8_t)take_byte(&b);
        if (spoiled == 3)
            toy.ends[take_byte(&b) % 6] = (uint64_t)take_byte(&b) << (take_byte(&b) % 50);
    }
    for (int k = 0; k < 8; k++) {
        uint8_t q[32], approx;
        int64_t offsets[2] = {0, 1 + take_byte(&b) % 24}, n, n_runs, total = 0;
        for (int64_t i = 0; i < offsets[1]; i++) q[i] = (uint8_t)"aab cd"[take_byte(&b) % 6];
        unitok_search_run *runs;
        require(unitok_search_count(toy.pieces, &toy.shard, q, offsets, 1, INT64_C(1) << 40, &n,
                                    &approx, &error) == UNITOK_OK);
        require(unitok_search_find(toy.pieces, &toy.shard, q, offsets[1], INT64_C(1) << 40,
                                   INT64_C(1) << 40, &runs, &n_runs, &approx, &error) == UNITOK_OK);
        for (int64_t r = 0; r < n_runs; r++) total += runs[r].hi - runs[r].lo;
        unitok_search_runs_free(runs);
        if (!spoiled) require(n == toy_count(&toy, q, offsets[1]) && total == n);
    }
    toy_free(&toy);
    return 0;
}
