/* test_lanes.c - compares eight interleaved walks with a single one, for vocabularies and texts
 * with complete, partial and stray characters; tests reading text as code points */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "guard.h"

#include "encoders/compact.h"
#include "encoders/lanes.h"
#include "ground/utf8.h"
#include "pieces_trie.h"

enum { TEXT_MAX = 3 * LANES_SPAN_BYTES };

static struct pieces pieces;
static struct guard text_guard;
static uint8_t text[TEXT_MAX];
static uint16_t ids[TEXT_MAX + 1], expected[TEXT_MAX];
static int64_t ends[TEXT_MAX];
static lanes_work work;

/* Whether the piece breaks a rule of lanes.h. */
static int is_unfit(const uint8_t *piece, int64_t n)
{
    int n_rests = 0;
    for (int64_t k = 0; k < n; k++) n_rests += is_continuation(piece[k]);
    if (is_continuation(piece[0]) && n_rests < n) return 1;
    if (n > 1 && piece[n - 1] >= 0xC2 && piece[n - 1] < 0xF0) return 1;
    if (n > 2) {
        const uint8_t character[3] = {piece[n - 2], piece[n - 1], 0x80};
        if (utf8_length(character, 3) == 3) return 1;
    }
    return 0;
}

static int any_unfit(void)
{
    for (int64_t k = 0; k < pieces.n; k++)
        if (is_unfit(pieces.data + pieces.offsets[k], pieces.offsets[k + 1] - pieces.offsets[k]))
            return 1;
    return 0;
}

static void drop_unfit(void)
{
    static struct pieces all;
    all = pieces;
    pieces_clear(&pieces);
    pieces.fallback_id = all.fallback_id;
    for (int64_t k = 0; k < all.n; k++) {
        int64_t n = all.offsets[k + 1] - all.offsets[k];
        if (!is_unfit(all.data + all.offsets[k], n))
            pieces_add(&pieces, all.data + all.offsets[k], n);
    }
}

/* Encodes the complete text, span by span, between guard pages. */
static void check_text(const lanes *l, int64_t n_bytes)
{
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    int64_t n = pieces_encode(&pieces, text, n_bytes, expected, ends), n_ids = 0, done = 0, n_more;
    while (n_bytes - done >= LANES_LEAST_BYTES) {
        int64_t taken = lanes_encode(l, at_end + done, n_bytes - done, &work, ids + n_ids, &n_more);
        CHECK(taken > 0 && taken <= n_bytes - done && taken <= LANES_SPAN_BYTES + 300);
        done += taken;
        n_ids += n_more;
        CHECK(n_ids > 0 && n_ids <= n && ends[n_ids - 1] == done);
    }
    CHECK(!memcmp(ids, expected, (size_t)n_ids * sizeof *ids));
}

static void check_lengths(const lanes *l, int set)
{
    static const int64_t lengths[] = {
        LANES_LEAST_BYTES, LANES_LEAST_BYTES + 1, 4099,    LANES_SPAN_BYTES - 1,
        LANES_SPAN_BYTES,  LANES_SPAN_BYTES + 1,  TEXT_MAX};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        if (lengths[k] > 5000 && round_ % 8) continue;
        random_symbols(set, text, lengths[k]);
        int64_t begin = random_below(lengths[k]), n_same = random_below(lengths[k] - begin);
        /* walks in a run may never meet */
        if (k % 2) memset(text + begin, text[begin], (size_t)n_same);
        for (int strays = round_ % 4; strays > 0; strays--)
            text[random_below(lengths[k])] = (uint8_t)(0x80 | random_below(64));
        check_text(l, lengths[k]);
    }
}

/* Checks that symbols convert back to the text, and that all instruction sets produce the same. */
static void check_code_points(int set)
{
    static uint16_t symbols[4096 + CODE_POINTS_BEYOND], same[4096 + CODE_POINTS_BEYOND];
    int64_t n_bytes = random_below(4097), n, at = 0;
    random_symbols(set, text, n_bytes);
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    n = code_points_portable(at_end, n_bytes, symbols);
    for (int64_t k = 0; k < n; k++) {
        uint8_t bytes[4] = {(uint8_t)symbols[k]};
        int length = code_point_bytes(symbols[k]), whole = utf8_length(at_end + at, n_bytes - at);
        if (length > 1) utf8_encode(symbols[k], bytes);
        CHECK(length == (whole > 0 && whole < 4 ? whole : 1) &&
              !memcmp(bytes, at_end + at, (size_t)length));
        at += length;
    }
    CHECK(at == n_bytes);
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        CHECK(code_points_for(cpu)(at_end, n_bytes, same) == n &&
              !memcmp(same, symbols, (size_t)n * sizeof *same));
    }
}

/* Checks the compact trie: a single walk with units of half the size. */
static void check_compact(const trie *t, int set)
{
    int64_t n_bytes = 1500, at = 0, token_bytes;
    alloc_fail_at = 1;
    CHECK(compact_fits(t) && compact_new(t) == NULL);
    alloc_fail_at = 0;
    compact_trie *c = compact_new(t);
    CHECK(c != NULL);
    random_symbols(set, text, n_bytes);
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    int64_t n = pieces_encode(&pieces, text, n_bytes, expected, ends);
    for (int64_t k = 0; k < n; k++) {
        CHECK(compact_next(c, at_end + at, n_bytes - at, &token_bytes) == expected[k]);
        at += token_bytes;
        CHECK(at == ends[k]);
    }
    unitok_test_free(c);
}

static void check_set(int set, uint64_t *heads, uint32_t *singles)
{
    int32_t cpu = round_ % 2 ? UNITOK_CPU_PORTABLE : cpu_best();
    trie t;
    lanes *l;
    random_pieces(&pieces, set);
    if (round_ / N_SYMBOL_SETS % 4) drop_unfit();
    if (pieces.fallback_id < 0) pieces_add_bytes(&pieces);
    trie_parts parts = pieces_trie(&pieces, &t, heads, singles);
    check_compact(&t, set);
    int64_t n_calls = alloc_calls;
    CHECK(lanes_new(&t, cpu, &l) && (l == NULL) == any_unfit());
    n_calls = alloc_calls - n_calls;
    if (l) check_lengths(l, set);
    lanes_free(l);
    for (int64_t k = 1; k <= n_calls && round_ < N_SYMBOL_SETS; k++) {
        alloc_fail_at = k;
        CHECK(!lanes_new(&t, cpu, &l) && l == NULL);
        alloc_fail_at = 0;
    }
    unitok_test_free(parts.units);
}

/* Tests walks that start at different offsets in a period and do not meet before a span ends. */
static void check_periods(uint64_t *heads, uint32_t *singles)
{
    uint8_t period[120];
    int64_t n = 2 + random_below(39), turn = 1 + random_below(n - 1);
    trie t;
    lanes *l;
    for (int64_t k = 0; k < n; k++) period[k] = (uint8_t)('A' + k);
    memcpy(period + n, period, (size_t)n);
    memcpy(period + 2 * n, period, (size_t)n);
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    pieces_add(&pieces, period, n * (1 + random_below(3)));
    pieces_add(&pieces, period + turn, n);
    trie_parts parts = pieces_trie(&pieces, &t, heads, singles);
    CHECK(lanes_new(&t, UNITOK_CPU_PORTABLE, &l) && l);
    for (int64_t k = 0; k < TEXT_MAX; k++) text[k] = period[k % n];
    check_text(l, TEXT_MAX);
    lanes_free(l);
    unitok_test_free(parts.units);
}

/* Tests the longest piece that fits in a unit, and one that is a byte too long. */
static void check_long_piece(uint64_t *heads, uint32_t *singles)
{
    for (int64_t n = LANES_PIECE_BYTES; n <= LANES_PIECE_BYTES + 1; n++) {
        trie t;
        lanes *l;
        memset(text, 'a', TEXT_MAX);
        pieces_clear(&pieces);
        pieces_add_bytes(&pieces);
        pieces_add(&pieces, text, n);
        trie_parts parts = pieces_trie(&pieces, &t, heads, singles);
        CHECK(lanes_new(&t, UNITOK_CPU_PORTABLE, &l) && (l != NULL) == (n == LANES_PIECE_BYTES));
        if (l) check_text(l, TEXT_MAX);
        lanes_free(l);
        unitok_test_free(parts.units);
    }
}

/* After a trial in which the memo missed one of every `missed` bytes (0: none), returns whether the
 * lanes take a chunk for which only the trial decides. */
static int try_memo(lanes_turn *turn, int64_t missed)
{
    memo_use trial = {LANES_TRIAL_BYTES, missed ? LANES_TRIAL_BYTES / missed : 0};
    int takes = lanes_take(turn, &trial, 6000, 1000);
    CHECK(trial.tried_bytes == 0 && trial.missed_bytes == 0);
    return takes;
}

static void check_turns(void)
{
    lanes_turn turn = {0};
    memo_use none = {0, 0};
    CHECK(!lanes_take(&turn, &none, 6000, 3000) && lanes_take(&turn, &none, 6000, 10) &&
          !lanes_take(&turn, &none, 6000, 1000));
    CHECK(!try_memo(&turn, 9) && try_memo(&turn, 6) && turn.left_bytes == LANES_TURN_BYTES);
    turn.left_bytes = -100; /* the last span usually extends past the turn */
    CHECK(!lanes_take(&turn, &none, 6000, 1000));
    CHECK(try_memo(&turn, 4) && turn.left_bytes == 2 * LANES_TURN_BYTES);
    turn.left_bytes = -100;
    CHECK(!try_memo(&turn, 8) && !try_memo(&turn, 0));
    CHECK(try_memo(&turn, 6) && turn.left_bytes == LANES_TURN_BYTES);
}

int main(void)
{
    random_start(20261123);
    check_turns();
    running = "lanes";
    text_guard = guard_new(TEXT_MAX);
    uint64_t *heads = malloc(TRIE_HEADS * sizeof *heads);
    uint32_t singles[256];
    for (round_ = 0; round_ < 8 * N_SYMBOL_SETS; round_++) {
        check_set(round_ % N_SYMBOL_SETS, heads, singles);
        for (int k = 0; k < 50; k++) check_code_points(round_ % N_SYMBOL_SETS);
    }
    for (round_ = 0; round_ < 16; round_++) check_periods(heads, singles);
    check_long_piece(heads, singles);
    free(heads);
    guard_free(&text_guard);
    return 0;
}
