/* test_automaton.c - compares the automaton's paths and sums with Viterbi over the trie, with ties
 * and arbitrary initial sums */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include <math.h>

#include "guard.h"

#include "pieces.h"
#include "encoders/unigram.h"

enum { TEXT_MAX = AUTOMATON_CHUNK_BYTES };

static struct pieces pieces;
static double scores[PIECES_MAX];
static struct guard text_guard;
static uint8_t text[TEXT_MAX];
static int32_t flags;

static unitok_spec spec_of(void)
{
    return scored_spec(&pieces, UNITOK_KIND_UNIGRAM, flags, scores, NULL);
}

static unigram *build(void)
{
    unitok_spec spec = spec_of();
    unigram *m = NULL;
    CHECK(unigram_new(&spec, &m, NULL) == UNITOK_OK);
    return m;
}

/* Designed to cause ties, except style 3. */
static double random_score(int style)
{
    switch (style) {
    case 0:
        return -1;
    case 1:
        return -(double)(1 + random_below(4));
    case 2:
        return -0.1 * (double)(1 + random_below(20));
    case 3:
        return -2 - 10 * ((double)(random_u64() >> 11) / 9007199254740992.0);
    case 4:
        return random_below(2) ? 0.0 : -0.0;
    default:
        return -(random_below(9) ? 7.0 : 1e29) * (double)random_below(3);
    }
}

/* Adds pieces that are suffixes of one another, so that more pieces end at one byte than a record
 * can list. */
static void add_runs(void)
{
    uint8_t run[AUTOMATON_PIECE_BYTES_MAX];
    memset(run, 'a', sizeof run);
    for (int64_t n = 2 + random_below(3), step = 1 + random_below(3); n < 40; n += step)
        pieces_add(&pieces, run, n);
    if (random_below(2)) pieces_add(&pieces, run, sizeof run);
}

static int random_model(void)
{
    int set = (int)random_below(N_SYMBOL_SETS), style = (int)random_below(6);
    do random_pieces(&pieces, set);
    while (pieces.fallback_id >= 0);
    if (random_below(3) == 0) add_runs();
    for (int64_t k = 0; k < pieces.n; k++) scores[k] = random_score(style);
    flags = UNITOK_FLOAT64 | UNITOK_BYTES;
    return set;
}

/* Finds the best path by Viterbi over the trie. */
static int64_t walk(const unigram *m, unigram_path *path, const uint8_t *from, int64_t n_bytes,
                    double *io_sum, uint32_t *ids)
{
    int64_t n = 0;
    unigram_begin(path, *io_sum);
    for (int64_t at = 0, used; at < n_bytes; at += used) {
        used = unigram_advance(m, path, from + at, n_bytes - at, 1);
        CHECK(used > 0);
        for (int64_t k = 0; k < path->n_tokens; k++) ids[n++] = (uint32_t)path->tokens[k].id;
    }
    *io_sum = path->sum;
    return n;
}

static void check_text(const unigram *m, unigram_path *path, automaton_work *work, int64_t n_bytes)
{
    static uint32_t expected[TEXT_MAX];
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    double sum = random_below(2) ? 0 : -(double)random_below(100000) / 7, sum_here = sum;
    int64_t n = walk(m, path, at_end, n_bytes, &sum, expected);
    automaton_find(m->automaton, at_end, n_bytes, work);
    CHECK(automaton_path(m->automaton, at_end, 0, n_bytes, &sum_here, work) == n &&
          sum_here == sum);
    CHECK(!memcmp(work->ids + AUTOMATON_CHUNK_BYTES - n, expected, (size_t)n * sizeof *expected));
}

static void test_texts(void)
{
    unigram_path path = {0};
    automaton_work *work = calloc(1, sizeof *work);
    for (round_ = 0; round_ < 300; round_++) {
        static const int64_t lengths[] = {1, 2, 100, 700, 1500, TEXT_MAX - 1, TEXT_MAX};
        int set = random_model();
        unigram *m = build();
        if (!m->automaton) { /* a piece is too long */
            CHECK(m->max_piece_bytes > AUTOMATON_PIECE_BYTES_MAX);
            unigram_free(m);
            continue;
        }
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            random_symbols(set, text, lengths[k]);
            int64_t begin = random_below(lengths[k]), n_same = random_below(lengths[k] - begin);
            if (k % 2) memset(text + begin, 'a', (size_t)n_same);
            check_text(m, &path, work, lengths[k]);
        }
        unigram_path_free(&path);
        unigram_free(m);
    }
    free(work);
}

/* Encodes the lines of one chunk, each with its own initial sum. */
static void test_lines(void)
{
    unigram_path path = {0};
    automaton_work *work = calloc(1, sizeof *work);
    static uint32_t expected[TEXT_MAX];
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    pieces_add(&pieces, "ab", 2);
    pieces_add(&pieces, "bb\n", 3);
    pieces_add(&pieces, "\n\n", 2);
    for (int64_t k = 0; k < pieces.n; k++) scores[k] = random_score(3);
    flags = UNITOK_FLOAT64 | UNITOK_BYTES | UNITOK_RESTART_AFTER_NEWLINE;
    unigram *m = build();
    CHECK(m->automaton != NULL);
    for (int64_t i = 0; i < TEXT_MAX; i++) text[i] = (uint8_t)"aabbb\n"[random_below(6)];
    automaton_find(m->automaton, text, TEXT_MAX, work);
    for (int64_t begin = 0, end; begin < TEXT_MAX; begin = end) {
        for (end = begin + 1; end < TEXT_MAX && (text[end - 1] != '\n' || text[end] == '\n'); end++)
            continue;
        double sum = (double)random_below(50), sum_here = sum;
        int64_t n = walk(m, &path, text + begin, end - begin, &sum, expected);
        CHECK(automaton_path(m->automaton, text, begin, end, &sum_here, work) == n &&
              sum_here == sum);
        CHECK(
            !memcmp(work->ids + AUTOMATON_CHUNK_BYTES - n, expected, (size_t)n * sizeof *expected));
    }
    unigram_path_free(&path);
    unigram_free(m);
    free(work);
}

static int has_automaton(void)
{
    unigram *m = build();
    int has = m->automaton != NULL;
    unigram_free(m);
    return has;
}

static void test_fits(void)
{
    uint8_t piece[AUTOMATON_PIECE_BYTES_MAX + 1];
    memset(scores, 0, sizeof scores);
    memset(piece, 'x', sizeof piece);
    flags = UNITOK_FLOAT64 | UNITOK_BYTES;
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    CHECK(has_automaton());
    pieces_add(&pieces, "\n\n\x80", 3); /* a line cannot begin with 0x80 */
    flags |= UNITOK_RESTART_AFTER_NEWLINE;
    CHECK(has_automaton());
    pieces_add(&pieces, "\na", 2);
    CHECK(!has_automaton());
    flags &= ~UNITOK_RESTART_AFTER_NEWLINE;
    CHECK(has_automaton());
    flags &= ~UNITOK_BYTES;
    CHECK(!has_automaton());
    flags |= UNITOK_BYTES;
    pieces_add(&pieces, piece, AUTOMATON_PIECE_BYTES_MAX);
    CHECK(has_automaton());
    pieces_add(&pieces, piece, AUTOMATON_PIECE_BYTES_MAX + 1);
    CHECK(!has_automaton());
    pieces_clear(&pieces);
    for (int b = 1; b < 256; b++) {
        piece[0] = (uint8_t)b;
        pieces_add(&pieces, piece, 1);
    }
    CHECK(!has_automaton());
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    pieces.ids[7] = 1 << 24;
    CHECK(!has_automaton());
}

static void test_memory(void)
{
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    memset(scores, 0, sizeof scores);
    flags = UNITOK_FLOAT64 | UNITOK_BYTES;
    int32_t status = UNITOK_ERROR_MEMORY;
    unigram *m = NULL;
    int64_t n_failed = 0;
    for (; status == UNITOK_ERROR_MEMORY; n_failed++) {
        unitok_spec spec = spec_of();
        alloc_fail_at = n_failed + 1;
        status = unigram_new(&spec, &m, NULL);
        alloc_fail_at = 0;
        CHECK(status == UNITOK_OK || alloc_live_blocks == 0);
    }
    CHECK(status == UNITOK_OK && n_failed > 12);
    CHECK(unigram_memory_bytes(m) <= alloc_live_bytes &&
          unigram_memory_bytes(m) > alloc_live_bytes / 2);
    unigram_free(m);
}

int main(void)
{
    random_start(20261122);
    text_guard = guard_new(TEXT_MAX);
    RUN(test_texts());
    RUN(test_lines());
    RUN(test_fits());
    RUN(test_memory());
    guard_free(&text_guard);
    return 0;
}
