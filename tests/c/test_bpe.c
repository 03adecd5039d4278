/* test_bpe.c - compares BPE, character and word models with slow implementations: random models
 * with pieces of every type, hostile bytes at guard pages, failing allocations, long segments */
#define _DEFAULT_SOURCE

#include "guard.h"
#include "test_alloc.h"

#include "encoders/bpe.h"
#include "pieces.h"
#include "ground/rng.h"
#include "encoders/words.h"

#define TEXT_MAX 4096

static struct pieces pieces;
static double scores[PIECES_MAX];
static uint8_t types[PIECES_MAX];
static struct guard text_guard, token_guard;
static token slow_tokens[TEXT_MAX];

static unitok_spec spec_of(int kind) { return scored_spec(&pieces, kind, 0, scores, types); }

static bpe *build(void)
{
    unitok_spec spec = spec_of(UNITOK_KIND_BPE);
    bpe *m = NULL;
    CHECK(bpe_new(&spec, &m, NULL) == UNITOK_OK);
    return m;
}

/* ---------------------------------------------------------------------- Slow version ---- */

typedef struct slow_symbol {
    int64_t begin, end, merge; /* merge: the piece that this symbol and the next form, or -1 */
    int is_frozen;
} slow_symbol;

static slow_symbol slow[TEXT_MAX];
/* the size of the left part when the lookup last found the piece; 0: never */
static int64_t n_slow, split_at[PIECES_MAX];

static int can_merge(int64_t k)
{
    return types[k] == UNITOK_PIECE_NORMAL || types[k] == UNITOK_PIECE_UNUSED ||
           types[k] == UNITOK_PIECE_USER_DEFINED;
}

/* Cuts the longest user-defined symbol at each position, or else a character. */
static void slow_cut(const uint8_t *text, int64_t n_bytes)
{
    n_slow = 0;
    for (int64_t i = 0; i < n_bytes; i = slow[n_slow++].end) {
        int64_t length = 0;
        for (int64_t k = 0; k < pieces.n; k++) {
            int64_t n = pieces.offsets[k + 1] - pieces.offsets[k];
            if (types[k] == UNITOK_PIECE_USER_DEFINED && n > length && n <= n_bytes - i &&
                !memcmp(pieces.data + pieces.offsets[k], text + i, (size_t)n))
                length = n;
        }
        slow[n_slow].is_frozen = length > 0;
        if (!length) length = text[i] < 0xC0 ? 1 : text[i] < 0xE0 ? 2 : text[i] < 0xF0 ? 3 : 4;
        slow[n_slow].begin = i;
        slow[n_slow].end = i + length < n_bytes ? i + length : n_bytes;
        slow[n_slow].merge = -1;
    }
}

static void slow_look(const uint8_t *text, int64_t i)
{
    if (i < 0 || i >= n_slow) return;
    slow[i].merge = -1;
    if (i + 1 == n_slow || slow[i].is_frozen || slow[i + 1].is_frozen) return;
    int64_t k = pieces_find(&pieces, text + slow[i].begin, slow[i + 1].end - slow[i].begin);
    if (k < 0 || !can_merge(k)) return;
    slow[i].merge = k;
    split_at[k] = slow[i].end - slow[i].begin;
}

static int64_t slow_put(const uint8_t *text, int64_t begin, int64_t end, int depth, int64_t n)
{
    int64_t k = pieces_find(&pieces, text + begin, end - begin);
    if (k >= 0 && types[k] == UNITOK_PIECE_UNUSED && depth <= 100 && split_at[k]) {
        n = slow_put(text, begin, begin + split_at[k], depth + 1, n);
        return slow_put(text, begin + split_at[k], end, depth + 1, n);
    }
    int is_known = k >= 0 && can_merge(k) && (types[k] != UNITOK_PIECE_UNUSED || depth > 100);
    slow_tokens[n].id = is_known ? (int32_t)pieces.ids[k] : TOKEN_UNKNOWN;
    slow_tokens[n].end = (uint32_t)end;
    return n + 1;
}

/* With a stream, each merge is skipped with probability `dropout`. */
static int64_t slow_dropout(const uint8_t *text, int64_t n_bytes, double dropout, uint64_t *stream)
{
    int64_t n = 0;
    memset(split_at, 0, sizeof split_at);
    slow_cut(text, n_bytes);
    for (int64_t i = 0; i + 1 < n_slow; i++) slow_look(text, i);
    for (;;) {
        int64_t best = -1;
        for (int64_t i = 0; i < n_slow; i++)
            if (slow[i].merge >= 0 &&
                (best < 0 || scores[slow[i].merge] > scores[slow[best].merge]))
                best = i;
        if (best < 0) break;
        if (stream && rng_unit(stream) < dropout) {
            slow[best].merge = -1;
            continue;
        }
        slow[best].end = slow[best + 1].end;
        memmove(&slow[best + 1], &slow[best + 2], (size_t)(n_slow - best - 2) * sizeof *slow);
        n_slow--;
        slow_look(text, best - 1);
        slow_look(text, best);
    }
    for (int64_t i = 0; i < n_slow; i++) n = slow_put(text, slow[i].begin, slow[i].end, 0, n);
    return n;
}

static int64_t slow_encode(const uint8_t *text, int64_t n_bytes)
{
    return slow_dropout(text, n_bytes, 0, NULL);
}

/* --------------------------------------------------------------------------- Random models ---- */

static int64_t random_text(uint8_t *text, int64_t n_bytes, int set)
{
    static const char *const sets[] = {"ab", "abc", "a\xC3\xA9\xE6\x97\xA5", "ab ",
                                       "\xF0\x9F\x98\x80\x61\xE6"};
    size_t n_set = strlen(sets[set]);
    for (int64_t i = 0; i < n_bytes; i++)
        text[i] = (uint8_t)sets[set][random_below((int64_t)n_set)];
    return n_bytes;
}

static void random_model(int set)
{
    uint8_t piece[256];
    int64_t n = random_below(60), unused = random_below(3), user = random_below(3),
            score_kind = random_below(4);
    pieces_clear(&pieces);
    for (int64_t k = 0; k < n; k++) {
        int64_t n_bytes = random_text(piece, 1 + random_below(5), set);
        if (pieces.n > 4 && random_below(2)) { /* two others, for chains of merges */
            int64_t a = random_below(pieces.n), b = random_below(pieces.n);
            int64_t n_a = pieces.offsets[a + 1] - pieces.offsets[a],
                    n_b = pieces.offsets[b + 1] - pieces.offsets[b];
            if (n_a + n_b > (int64_t)sizeof piece) continue;
            memcpy(piece, pieces.data + pieces.offsets[a], (size_t)n_a);
            memcpy(piece + n_a, pieces.data + pieces.offsets[b], (size_t)n_b);
            n_bytes = n_a + n_b;
        }
        pieces_add(&pieces, piece, n_bytes);
    }
    for (int64_t k = 0; k < pieces.n; k++) {
        int64_t r = random_below(20);
        types[k] = UNITOK_PIECE_NORMAL;
        if (r < 3 * unused) types[k] = UNITOK_PIECE_UNUSED;
        else if (r < 3 * unused + user) types[k] = UNITOK_PIECE_USER_DEFINED;
        if (random_below(30) == 0) types[k] = UNITOK_PIECE_CONTROL;
        scores[k] = score_kind == 0
                        ? -(double)k
                        : (double)random_below(score_kind == 1 ? 4 : 9) - 4 * (score_kind == 2);
        if (score_kind == 3) scores[k] = 1 + (double)random_below(1000);
    }
}

/* Puts the text and the tokens, one per byte, against guard pages. */
static int64_t guarded(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                       token **tokens)
{
    const uint8_t *p = guard_copy(&text_guard, text, (size_t)n_bytes);
    *tokens = (token *)(void *)guard_copy(&token_guard, NULL, (size_t)n_bytes * sizeof(token));
    return bpe_segment(m, s, p, n_bytes, *tokens);
}

static void check_equal(const token *tokens, int64_t n, int64_t n_expected)
{
    CHECK(n == n_expected);
    for (int64_t k = 0; k < n; k++)
        CHECK(tokens[k].id == slow_tokens[k].id && tokens[k].end == slow_tokens[k].end);
}

/* A dropout that skips nothing looks up all pairs without the filter; bpe_segment must find the
 * same merges. */
static void check_all_pairs(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes)
{
    static token tokens[3 * TEXT_MAX], all[3 * TEXT_MAX];
    uint64_t stream = random_u64();
    int64_t n = bpe_segment(m, s, text, n_bytes, tokens);
    CHECK(n == bpe_segment_dropout(m, s, text, n_bytes, 1e-300, &stream, all));
    CHECK(!memcmp(tokens, all, (size_t)n * sizeof *tokens));
}

static void test_random(void)
{
    static uint8_t text[TEXT_MAX];
    for (int round = 0; round < 400; round++) {
        int set = round % 5;
        bpe_scratch scratch = {0};
        random_model(set);
        bpe *m = build();
        for (int k = 0; k < 30; k++) {
            token *tokens;
            int64_t n_bytes = random_text(text, random_below(random_below(8) ? 30 : 300), set);
            int64_t n = guarded(m, &scratch, text, n_bytes, &tokens);
            check_equal(tokens, n, slow_encode(text, n_bytes));
            check_all_pairs(m, &scratch, text, n_bytes);
        }
        bpe_scratch_free(&scratch);
        bpe_free(m);
        CHECK(alloc_live_blocks == 0);
    }
}

/* Tests pairs of 400 characters, more than the dense square holds, and pairs of pieces. */
static void many_characters(void)
{
    pieces_clear(&pieces);
    while (pieces.n < PIECES_MAX) {
        uint8_t piece[64];
        int64_t n_bytes = 0;
        for (int half = 0; half < 2; half++) {
            int64_t i = random_below(400), k = pieces.n ? random_below(pieces.n) : 0;
            if (pieces.n < 300) {
                piece[n_bytes++] = (uint8_t)(0xC4 + i / 64);
                piece[n_bytes++] = (uint8_t)(0x80 + i % 64);
            } else if (n_bytes + pieces.offsets[k + 1] - pieces.offsets[k] <=
                       (int64_t)sizeof piece) {
                int64_t n_half = pieces.offsets[k + 1] - pieces.offsets[k];
                memcpy(piece + n_bytes, pieces.data + pieces.offsets[k], (size_t)n_half);
                n_bytes += n_half;
            }
        }
        types[pieces.n] = UNITOK_PIECE_NORMAL;
        scores[pieces.n] = random_below(8) ? -(double)pieces.n : (double)random_below(4);
        pieces_add(&pieces, piece, n_bytes);
    }
}

static void test_many_characters(void)
{
    static uint8_t text[TEXT_MAX];
    for (int round = 0; round < 5; round++) {
        bpe_scratch scratch = {0};
        many_characters();
        bpe *m = build();
        for (int k = 0; k < 100; k++) {
            token *tokens;
            int64_t n_bytes = 0;
            for (int64_t n = random_below(random_below(8) ? 5 : 40); n > 0; n--) {
                int64_t p = random_below(pieces.n),
                        n_piece = pieces.offsets[p + 1] - pieces.offsets[p];
                memcpy(text + n_bytes, pieces.data + pieces.offsets[p], (size_t)n_piece);
                n_bytes += n_piece;
            }
            int64_t n = guarded(m, &scratch, text, n_bytes, &tokens);
            check_equal(tokens, n, slow_encode(text, n_bytes));
            check_all_pairs(m, &scratch, text, n_bytes);
        }
        bpe_scratch_free(&scratch);
        bpe_free(m);
    }
}

/* The slow version must draw the same tokens. Dropout 0 gives the tokens of bpe_segment, and
 * dropout 1 gives characters. */
static void test_dropout(void)
{
    static uint8_t text[TEXT_MAX];
    static token tokens[TEXT_MAX];
    for (int round = 0; round < 100; round++) {
        bpe_scratch scratch = {0};
        uint64_t stream = random_u64(), same = stream;
        random_model(round % 5);
        bpe *m = build();
        int64_t n, n_bytes = 0;
        for (int k = 0; k < 20; k++) {
            n_bytes = random_text(text, random_below(k % 4 ? 30 : 300), round % 5);
            n = bpe_segment_dropout(m, &scratch, text, n_bytes, 0.3, &stream, tokens);
            check_equal(tokens, n, slow_dropout(text, n_bytes, 0.3, &same));
            CHECK(stream == same);
        }
        n = bpe_segment_dropout(m, &scratch, text, n_bytes, 0, &stream, tokens);
        check_equal(tokens, n, slow_encode(text, n_bytes));
        slow_cut(text, n_bytes);
        CHECK(bpe_segment_dropout(m, &scratch, text, n_bytes, 1, &stream, tokens) == n_slow);
        bpe_scratch_free(&scratch);
        bpe_free(m);
    }
}

/* --------------------------------------------------------------------------- Long segments ---- */

static void add_run(int64_t n_bytes, double score, int type)
{
    uint8_t run[256];
    memset(run, 'a', sizeof run);
    scores[pieces.n] = score;
    types[pieces.n] = (uint8_t)type;
    pieces_add(&pieces, run, n_bytes);
}

/* If the pieces are a, aa, aaaa, ... in this order, a run of `a` is encoded as the binary digits of
 * its length, as far as the longest piece allows. */
static void test_long(void)
{
    int64_t n_bytes = 1000003;
    uint8_t *text = malloc((size_t)n_bytes);
    token *tokens = malloc((size_t)n_bytes * sizeof *tokens);
    bpe_scratch scratch = {0};
    memset(text, 'a', (size_t)n_bytes);
    pieces_clear(&pieces);
    for (int k = 0; k < 6; k++) add_run(INT64_C(1) << k, -k, UNITOK_PIECE_NORMAL);
    bpe *m = build();
    int64_t n = bpe_segment(m, &scratch, text, n_bytes, tokens);
    CHECK(n == n_bytes / 32 + 2); /* 1000003 = 31250 * 32 + 3 */
    for (int64_t k = 0; k < n - 2; k++)
        CHECK(tokens[k].id == pieces.ids[5] && tokens[k].end == 32 * (k + 1));
    CHECK(tokens[n - 2].id == pieces.ids[1] && tokens[n - 1].id == pieces.ids[0] &&
          tokens[n - 1].end == n_bytes);
    bpe_scratch_free(&scratch);
    bpe_free(m);
    free(tokens);
    free(text);
}

/* Tests a chain of unused pieces that is deeper than the reference can split. */
static void test_deep(void)
{
    static uint8_t text[400];
    memset(text, 'a', sizeof text);
    for (int up = 0; up < 2; up++) {
        bpe_scratch scratch = {0};
        pieces_clear(&pieces);
        add_run(1, 0, UNITOK_PIECE_NORMAL);
        for (int64_t k = 2; k <= 180; k++)
            add_run(k, up ? (double)k : (double)-k, UNITOK_PIECE_UNUSED);
        bpe *m = build();
        CHECK(bpe_traits(m) == BPE_WHOLE);
        for (int64_t n_bytes = 0; n_bytes <= 400; n_bytes += 1 + n_bytes / 9) {
            token *tokens;
            int64_t n = guarded(m, &scratch, text, n_bytes, &tokens);
            check_equal(tokens, n, slow_encode(text, n_bytes));
        }
        bpe_scratch_free(&scratch);
        bpe_free(m);
    }
}

/* -------------------------------------------------------------------------------- Failures ---- */

static void test_refused(void)
{
    bpe *m = NULL;
    unitok_error error;
    pieces_clear(&pieces);
    add_run(1, 0, UNITOK_PIECE_NORMAL);
    add_run(2, 0, UNITOK_PIECE_NORMAL);
    unitok_spec spec = spec_of(UNITOK_KIND_BPE);
    int64_t twice[3] = {0, 1, 2};
    spec.offsets = twice;
    CHECK(bpe_new(&spec, &m, &error) == UNITOK_ERROR_VOCABULARY && error.item == 1 && !m);
    spec.offsets = pieces.offsets;
    int64_t a = pieces.ids[0], aa = pieces.ids[1], none = 4000000;
    CHECK(bpe_new_merges(&spec, &a, &a, &none, 1, -1, 0, &m, &error) == UNITOK_ERROR_ARGUMENT &&
          error.item == 0);
    CHECK(bpe_new_merges(&spec, &a, &aa, &aa, 1, -1, 0, &m, &error) == UNITOK_ERROR_ARGUMENT &&
          error.item == 0);
    CHECK(bpe_new_merges(&spec, &a, &a, &aa, 1, none, 0, &m, &error) == UNITOK_ERROR_VOCABULARY &&
          !m);
}

/* Tests lists of merges made from the splits of random pieces. There is no slow model here
 * (tests/oracle has one), but every text size is tested against guard pages, and every allocation
 * fails once. */
static int64_t random_merges(int64_t *left, int64_t *right, int64_t *merged)
{
    int64_t n = 0;
    for (int64_t k = 0; k < pieces.n; k++) {
        const uint8_t *piece = pieces.data + pieces.offsets[k];
        int64_t n_bytes = pieces.offsets[k + 1] - pieces.offsets[k];
        for (int64_t at = 1; at < n_bytes; at++) {
            int64_t l = pieces_find(&pieces, piece, at),
                    r = pieces_find(&pieces, piece + at, n_bytes - at);
            if (l < 0 || r < 0) continue;
            left[n] = pieces.ids[l];
            right[n] = pieces.ids[r];
            merged[n++] = pieces.ids[k];
        }
    }
    return n;
}

static void encode_guarded(const bpe *m, int set)
{
    uint8_t text[300];
    bpe_scratch scratch = {0};
    for (int k = 0; k < 20; k++) {
        int64_t n_bytes = random_text(text, random_below(k < 15 ? 20 : 300), set);
        uint64_t stream = random_u64();
        const uint8_t *p = guard_copy(&text_guard, text, (size_t)n_bytes);
        token *tokens = (token *)(void *)guard_copy(&token_guard, NULL,
                                                    (size_t)(3 * n_bytes) * sizeof *tokens);
        int64_t n = k % 3 ? bpe_segment(m, &scratch, p, n_bytes, tokens)
                          : bpe_segment_dropout(m, &scratch, p, n_bytes, 0.5, &stream, tokens);
        if (n < 0) CHECK(alloc_failures);
        for (int64_t i = 1; i < n; i++) CHECK(tokens[i].end >= tokens[i - 1].end);
        if (n > 0) CHECK(tokens[n - 1].end <= n_bytes);
    }
    bpe_scratch_free(&scratch);
}

static void compare_all_pairs(const bpe *m, int set)
{
    uint8_t text[300];
    bpe_scratch scratch = {0};
    for (int k = 0; k < 20; k++) {
        int64_t n_bytes = random_text(text, random_below(k < 15 ? 20 : 300), set);
        for (int64_t i = 0; i < n_bytes && k % 2; i++) /* not in any piece, so encoded as bytes */
            if (random_below(3)) text[i] = (uint8_t)('x' + random_below(2));
        check_all_pairs(m, &scratch, text, n_bytes);
    }
    bpe_scratch_free(&scratch);
}

static void test_merges(void)
{
    static int64_t left[PIECES_BYTES_MAX], right[PIECES_BYTES_MAX], merged[PIECES_BYTES_MAX];
    for (int round = 0; round < 60; round++) {
        int flags = (int)random_below(16), set = round % 5;
        random_model(set);
        for (int byte = 0; byte < 256 && round % 2; byte++) {
            char name[8];
            snprintf(name, sizeof name, "<0x%02X>", byte);
            if (round % 4 == 1 || random_below(3)) pieces_add(&pieces, name, 6);
        }
        for (int k = 0; k < round % 8; k++) { /* bytes that merge: see BPE_WHOLE */
            static const char *const names[] = {"<0x78><0x78>", "<0x78><0x79>",
                                                "<0x78><0x78><0x79>", "<0x79><0x78>"};
            pieces_add(&pieces, names[k % 4], (int64_t)strlen(names[k % 4]));
        }
        unitok_spec spec = spec_of(UNITOK_KIND_BPE);
        spec.scores = NULL;
        spec.types = NULL;
        int64_t n = random_merges(left, right, merged),
                unknown = pieces.n && random_below(2) ? pieces.ids[0] : -1;
        for (int64_t fail_at = round < 10 ? 1 : 0;; fail_at++) {
            bpe *m = NULL;
            unitok_error error;
            alloc_failures = 0;
            alloc_fail_at = fail_at;
            int32_t status = bpe_new_merges(&spec, left, right, merged, n, unknown, flags, &m,
                                            &error);
            if (status == UNITOK_OK) encode_guarded(m, set);
            else CHECK(status == UNITOK_ERROR_MEMORY && alloc_failures && !m);
            if (status == UNITOK_OK && !fail_at && !(flags & BPE_IGNORE_MERGES))
                compare_all_pairs(m, set);
            alloc_fail_at = 0;
            bpe_free(m);
            CHECK(alloc_live_blocks == 0);
            if (!alloc_failures) break;
        }
    }
}

static void test_memory(void)
{
    for (int round = 0; round < 10; round++) {
        random_model(round % 5);
        unitok_spec spec = spec_of(UNITOK_KIND_BPE);
        for (int64_t fail_at = 1;; fail_at++) {
            bpe *m = NULL;
            words w;
            characters c;
            alloc_failures = 0;
            alloc_fail_at = fail_at;
            int32_t status = bpe_new(&spec, &m, NULL);
            if (status == UNITOK_OK) encode_guarded(m, round % 5);
            else CHECK(status == UNITOK_ERROR_MEMORY && !m);
            if (words_new(&spec, &w, NULL) == UNITOK_OK) words_free(&w);
            if (characters_new(&spec, &c, NULL) == UNITOK_OK) characters_free(&c);
            alloc_fail_at = 0;
            bpe_free(m);
            CHECK(alloc_live_blocks == 0);
            if (!alloc_failures) break;
        }
    }
}

/* -------------------------------------------------------------------- Characters and words ---- */

static void test_characters(void)
{
    static uint8_t text[TEXT_MAX];
    for (int round = 0; round < 200; round++) {
        characters c;
        words w;
        random_model(round % 5);
        unitok_spec spec = spec_of(UNITOK_KIND_CHAR);
        CHECK(characters_new(&spec, &c, NULL) == UNITOK_OK &&
              words_new(&spec, &w, NULL) == UNITOK_OK);
        for (int k = 0; k < 20; k++) {
            int64_t n_bytes = random_text(text, 1 + random_below(60), round % 5), n_expected = 0;
            const uint8_t *p = guard_copy(&text_guard, text, (size_t)n_bytes);
            token *tokens = (token *)(void *)guard_copy(&token_guard, NULL,
                                                        (size_t)n_bytes * sizeof *tokens),
                  word;
            int64_t n = characters_segment(&c, p, n_bytes, tokens);
            slow_cut(text, n_bytes);
            for (int64_t i = 0; i <= n_slow; i++) { /* last: the complete text as a word */
                int64_t begin = i < n_slow ? slow[i].begin : 0,
                        end = i < n_slow ? slow[i].end : n_bytes;
                int64_t piece = pieces_find(&pieces, text + begin, end - begin);
                int is_known = piece >= 0 && can_merge(piece) &&
                               types[piece] != UNITOK_PIECE_UNUSED;
                slow_tokens[n_expected].id = is_known ? (int32_t)pieces.ids[piece] : TOKEN_UNKNOWN;
                slow_tokens[n_expected++].end = (uint32_t)end;
            }
            check_equal(tokens, n, n_expected - 1);
            CHECK(words_segment(&w, p, n_bytes, &word) == 1 &&
                  word.id == slow_tokens[n_expected - 1].id);
            CHECK(word.end == n_bytes);
        }
        characters_free(&c);
        words_free(&w);
        CHECK(alloc_live_blocks == 0);
    }
}

int main(void)
{
    random_start(20261120);
    text_guard = guard_new(TEXT_MAX);
    token_guard = guard_new(3 * TEXT_MAX * sizeof(token));
    RUN(test_random());
    RUN(test_many_characters());
    RUN(test_dropout());
    RUN(test_long());
    RUN(test_deep());
    RUN(test_refused());
    RUN(test_merges());
    RUN(test_memory());
    RUN(test_characters());
    guard_free(&token_guard);
    guard_free(&text_guard);
    return 0;
}
