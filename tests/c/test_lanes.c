/* test_lanes.c - four walks in turn give the tokens of one: on texts that forget soon where they
 * started, and on runs that never do
 *
 *   gcc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -DUNITOK_TEST_ALLOC -I csrc \
 *       tests/c/test_lanes.c csrc/[a-z]*.c -lm -o test_lanes && ./test_lanes
 *   SEED=7 ./test_lanes          another seed; the one in use is printed first
 */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "guard.h"

#include "encoders/longest.h"
#include "pieces_trie.h"

enum { TEXT_MAX = 3 * LANES_SPAN_BYTES };

static struct pieces pieces;
static struct guard text_guard;
static uint8_t text[TEXT_MAX];
static uint16_t ids[TEXT_MAX + 1], expected[TEXT_MAX];
static int64_t ends[TEXT_MAX];

/* The whole text, span by span, between guard pages, in exactly the room that is documented. */
static void check_text(const lanes *l, int64_t n_bytes)
{
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    uint64_t *tokens = malloc(LANES_SPAN_BYTES * sizeof *tokens);
    int64_t n = pieces_encode(&pieces, text, n_bytes, expected, ends), n_ids = 0, done = 0, n_more;
    while (n_bytes - done >= LANES_LEAST_BYTES) {
        int64_t taken = lanes_encode(l, at_end + done, n_bytes - done, tokens, ids + n_ids,
                                     &n_more);
        CHECK(taken > 0 && taken <= n_bytes - done && taken <= LANES_SPAN_BYTES + pieces.n * 300);
        done += taken;
        n_ids += n_more;
        CHECK(n_ids > 0 && n_ids <= n && ends[n_ids - 1] == done);
    }
    CHECK(!memcmp(ids, expected, (size_t)n_ids * sizeof *ids));
    int64_t at = 0, token_bytes;
    for (int64_t k = 0; k < n; k++) {
        CHECK(lanes_next(l, at_end + at, n_bytes - at, &token_bytes) == expected[k]);
        at += token_bytes;
        CHECK(at == ends[k]);
    }
    free(tokens);
}

static void check_lengths(const lanes *l, int set)
{
    static const int64_t lengths[] = {
        LANES_LEAST_BYTES, LANES_LEAST_BYTES + 1, 1500,    4099, LANES_SPAN_BYTES - 1,
        LANES_SPAN_BYTES,  LANES_SPAN_BYTES + 1,  TEXT_MAX};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        if (lengths[k] > 5000 && round_ % 8) continue;
        random_symbols(set, text, lengths[k]);
        int64_t begin = random_below(lengths[k]), n_same = random_below(lengths[k] - begin);
        /* walks in a run may never meet */
        if (k % 2) memset(text + begin, text[begin], (size_t)n_same);
        check_text(l, lengths[k]);
    }
}

/* A trial of the memo that missed one byte in `missed` (0: none), then a chunk that only the trials
 * decide: for the lanes? */
static int try_memo(lanes_turn *turn, int64_t missed)
{
    turn->tried_bytes = LANES_TRIAL_BYTES;
    turn->missed_bytes = missed ? LANES_TRIAL_BYTES / missed : 0;
    return lanes_are_next(turn, 6000, 1000);
}

static void check_turns(void)
{
    lanes_turn turn = {0};
    CHECK(!lanes_are_next(&turn, 6000, 3000) && lanes_are_next(&turn, 6000, 10) &&
          !lanes_are_next(&turn, 6000, 1000));
    CHECK(!try_memo(&turn, 9) && try_memo(&turn, 6) && turn.left_bytes == LANES_TURN_BYTES);
    turn.left_bytes = -100; /* the last span of a turn is rarely the rest of it */
    CHECK(!lanes_are_next(&turn, 6000, 1000));
    CHECK(try_memo(&turn, 4) && turn.left_bytes == 2 * LANES_TURN_BYTES);
    turn.left_bytes = -100;
    CHECK(!try_memo(&turn, 8) && !try_memo(&turn, 0));
    CHECK(try_memo(&turn, 6) && turn.left_bytes == LANES_TURN_BYTES);
}

int main(void)
{
    random_start(20261122);
    running = "lanes";
    check_turns();
    text_guard = guard_new(TEXT_MAX);
    uint64_t *heads = malloc(TRIE_HEADS * sizeof *heads);
    uint32_t singles[256];
    for (round_ = 0; round_ < 8 * N_SYMBOL_SETS; round_++) {
        trie t;
        int set = round_ % N_SYMBOL_SETS;
        random_pieces(&pieces, set);
        if (pieces.fallback_id < 0) pieces_add_bytes(&pieces);
        trie_parts parts = pieces_trie(&pieces, &t, heads, singles);
        CHECK(lanes_fit(&t, 2) && !lanes_fit(&t, 4));
        alloc_fail_at = 1;
        CHECK(lanes_new(&t) == NULL);
        alloc_fail_at = 0;
        lanes *l = lanes_new(&t);
        CHECK(l != NULL);
        check_lengths(l, set);
        unitok_test_free(l);
        unitok_test_free(parts.units);
    }
    CHECK(alloc_live_blocks == 0);
    free(heads);
    guard_free(&text_guard);
    printf("ok %s\n", running);
    return 0;
}
