/* test_unigram.c - compares Viterbi (by segments, in parts, with a memo) to the plain definition,
 * applied to the complete document */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include <float.h>
#include <math.h>

#include "guard.h"

#include "pieces.h"
#include "encoders/unigram.h"
#include "ground/utf8.h"

enum { TEXT_MAX = 24000, SYMBOLS = N_SYMBOL_SETS };

static struct pieces pieces;
static uint8_t types[PIECES_MAX];
static double scores[PIECES_MAX];
static int32_t flags;
static unitok_error error;
static struct guard text_guard;

static unitok_spec spec_of(void)
{
    return scored_spec(&pieces, UNITOK_KIND_UNIGRAM, flags, scores, types);
}

static unigram *build(void)
{
    unitok_spec spec = spec_of();
    unigram *m = NULL;
    error.message = NULL;
    CHECK(unigram_new(&spec, &m, &error) == UNITOK_OK);
    return m;
}

/* ------------------------------------------------------------------------------ Definition ---- */

/* A cell as in sentencepiece 0.2.3: whether it is set does not depend on its sum. Float sums are
 * stored as doubles. */
struct slow_cell {
    double sum;
    int64_t start; /* -1: not set */
    int32_t id;
};

static struct slow_cell slow_cells[TEXT_MAX + 1];

static double slow_add(double a, double b)
{
    return flags & UNITOK_FLOAT64 ? a + b : (double)((float)a + (float)b);
}

static double slow_score(int64_t k)
{
    double bonus = 0.1 * (double)(pieces.offsets[k + 1] - pieces.offsets[k] - 1);
    double score = types[k] == UNITOK_PIECE_USER_DEFINED ? bonus : scores[k];
    return flags & UNITOK_FLOAT64 ? score : (double)(float)score;
}

static double slow_unknown(void)
{
    double least = flags & UNITOK_FLOAT64 ? 1e30 : FLT_MAX;
    if (flags & UNITOK_BYTES) return -1e200;
    for (int64_t k = 0; k < pieces.n; k++)
        if (scores[k] < least && (types[k] == UNITOK_PIECE_NORMAL || flags & UNITOK_FLOAT64))
            least = scores[k];
    return slow_add(least, -10);
}

static int64_t slow_char(const uint8_t *text, int64_t at, int64_t n_bytes)
{
    int64_t n = flags & UNITOK_BYTES ? 1 : char_bytes(text[at]);
    return n < n_bytes - at ? n : n_bytes - at;
}

static void slow_offer(int64_t start, int64_t end, double score, int32_t id)
{
    struct slow_cell *cell = &slow_cells[end];
    double sum = slow_add(score, slow_cells[start].sum);
    if (cell->start >= 0 && !(sum > cell->sum)) return;
    *cell = (struct slow_cell){sum, start, id};
}

/* Pieces in these tests contain no U+2581, and no space if spaces are escaped: another test covers
 * escaping. */
static int64_t slow_encode(const uint8_t *text, int64_t n_bytes, double *io_sum, token *tokens)
{
    double unknown = slow_unknown();
    int64_t frontier = 0, n = 0;
    for (int64_t i = 0; i <= n_bytes; i++) slow_cells[i] = (struct slow_cell){0, -1, -1};
    slow_cells[0].sum = *io_sum;
    for (int64_t at = 0; at < n_bytes; at += slow_char(text, at, n_bytes)) {
        int64_t n_char = slow_char(text, at, n_bytes);
        int has_single = 0;
        double offset = slow_cells[at].sum;
        if (!(flags & UNITOK_FLOAT64) && fabs(offset) > 100000)
            for (int64_t i = at; i <= frontier; i++)
                if (i == at || slow_cells[i].start >= 0)
                    slow_cells[i].sum = slow_add(slow_cells[i].sum, -offset);
        for (int64_t k = 0; k < pieces.n; k++) {
            int64_t n_piece = pieces.offsets[k + 1] - pieces.offsets[k];
            if (pieces.data[pieces.offsets[k]] != text[at]) continue;
            if (types[k] != UNITOK_PIECE_NORMAL && types[k] != UNITOK_PIECE_USER_DEFINED) continue;
            if (n_piece > n_bytes - at ||
                memcmp(pieces.data + pieces.offsets[k], text + at, (size_t)n_piece))
                continue;
            slow_offer(at, at + n_piece, slow_score(k), (int32_t)pieces.ids[k]);
            if (n_piece == n_char) has_single = 1;
            if (at + n_piece > frontier) frontier = at + n_piece;
        }
        if (!has_single) {
            slow_offer(at, at + n_char, unknown, TOKEN_UNKNOWN);
            if (at + n_char > frontier) frontier = at + n_char;
        }
    }
    *io_sum = slow_cells[n_bytes].sum;
    for (int64_t end = n_bytes; end > 0; end = slow_cells[end].start) n++;
    int64_t k = n;
    for (int64_t end = n_bytes; end > 0; end = slow_cells[end].start)
        tokens[--k] = (token){slow_cells[end].id, (uint32_t)end};
    return n;
}

static int same(const token *a, int64_t n_a, const token *b, int64_t n_b)
{
    if (n_a != n_b) return 0;
    for (int64_t i = 0; i < n_a; i++)
        if (a[i].id != b[i].id || a[i].end != b[i].end) return 0;
    return 1;
}

/* --------------------------------------------------------------------------- Random models ---- */

static double random_unit(void) { return (double)(random_u64() >> 11) / 9007199254740992.0; }

/* Designed to cause ties: equal scores, small integers, tiny scores next to large ones, sums near
 * the restart. */
static double random_score(int style)
{
    switch (style) {
    case 0:
        return -1;
    case 1:
        return -(double)(1 + random_below(4));
    case 2:
        return -1e-3 * (double)random_below(9);
    case 3:
        return -2 - 10 * random_unit();
    case 4:
        return (random_unit() - 0.7) * 150000;
    case 5:
        return 0;
    case 6:
        return -ldexp(1, (int)random_below(25) - 20);
    case 7:
        return 3 * random_unit();
    case 8:
        return -3 - ldexp((double)random_below(8), -20);
    case 9:
        return -1000 - (double)random_below(3);
    case 10:
        return -0.1 * (double)(1 + random_below(20));
    case 11:
        return -3 - ldexp((double)random_below(64), -26);
    default:
        return -(random_unit() < 0.1 ? 1e29 : 7) * random_unit();
    }
}

static int64_t n_endings; /* the number of random models with endings */

/* Returns the set of symbols for texts. */
static int random_model(unigram **ret)
{
    int set = (int)random_below(SYMBOLS), style = (int)random_below(13);
    int n_kinds = (int)random_below(3) ? 1 : 7;
    random_pieces(&pieces, set);
    flags = random_below(3) ? 0 : UNITOK_FLOAT64 | (random_below(2) ? UNITOK_BYTES : 0);
    for (int64_t k = 0; k < pieces.n; k++) {
        static const uint8_t kinds[] = {UNITOK_PIECE_NORMAL,  UNITOK_PIECE_USER_DEFINED,
                                        UNITOK_PIECE_UNUSED,  UNITOK_PIECE_NORMAL,
                                        UNITOK_PIECE_CONTROL, UNITOK_PIECE_USER_DEFINED,
                                        UNITOK_PIECE_BYTE};
        types[k] = kinds[random_below(n_kinds)];
        scores[k] = random_score(style);
        if (!(flags & UNITOK_FLOAT64)) scores[k] = (double)(float)scores[k];
    }
    /* no piece is NORMAL */
    if (pieces.n && random_below(40) == 0) memset(types, UNITOK_PIECE_USER_DEFINED, sizeof types);
    *ret = build();
    n_endings += (*ret)->endings != NULL;
    return set;
}

static double random_sum(void)
{
    static const double sizes[] = {0, 1, 100, 5000, 70000, 99990, 101000};
    double sum = sizes[random_below(7)] * (random_below(2) ? -random_unit() : random_unit() - 0.2);
    if (random_below(4) == 0)
        sum = ldexp(random_below(2) ? 1 : -1, (int)random_below(18)) + random_unit() - 0.5;
    return flags & UNITOK_FLOAT64 ? sum * (random_below(2) ? 1 : 60000) : (double)(float)sum;
}

/* ----------------------------------------------------------------------------------- Tests ---- */

/* how many paths of unigram_exact were valid, and how many had to be computed again */
static int64_t n_kept, n_redone;

/* Encodes a segment as the memo does. */
static int64_t from_memory(const unigram *m, const uint8_t *text, int64_t n_bytes, double *io_sum,
                           token *tokens)
{
    uint32_t limit;
    int64_t n = unigram_exact(m, text, n_bytes, tokens, &limit);
    CHECK(limit <= UNIGRAM_LIMIT_ALWAYS);
    if (unigram_steps(*io_sum) >= limit) {
        n_redone++;
        return unigram_segment(m, text, n_bytes, io_sum, tokens);
    }
    n_kept++;
    for (int64_t i = 0; i < n; i++) {
        double score = m->unknown_score;
        if (tokens[i].id >= 0)
            score = m->is_float64 ? m->id_scores64[tokens[i].id]
                                  : (double)m->id_scores32[tokens[i].id];
        *io_sum = slow_add(*io_sum, score);
    }
    return n;
}

static void test_segments(int64_t rounds)
{
    token expected[UNIGRAM_SEGMENT_BYTES], tokens[UNIGRAM_SEGMENT_BYTES];
    uint8_t bytes[UNIGRAM_SEGMENT_BYTES];
    for (int64_t round = 0; round < rounds; round++) {
        unigram *m = NULL;
        int set = random_model(&m);
        for (int k = 0; k < 60; k++) {
            int64_t n_bytes = 1 + random_below(UNIGRAM_SEGMENT_BYTES);
            random_symbols(set, bytes, n_bytes);
            const uint8_t *text = guard_copy(&text_guard, bytes, (size_t)n_bytes);
            double start = random_sum(), sum = start, sum_here = start, sum_kept = start;
            int64_t n = slow_encode(text, n_bytes, &sum, expected);
            CHECK(same(expected, n, tokens, unigram_segment(m, text, n_bytes, &sum_here, tokens)));
            CHECK(sum_here == sum);
            CHECK(same(expected, n, tokens, from_memory(m, text, n_bytes, &sum_kept, tokens)));
            CHECK(sum_kept == sum);
        }
        unigram_free(m);
    }
}

static int64_t part_max = TEXT_MAX; /* the maximum bytes of text that in_parts adds at a time */

/* Encodes a text from the state `path`, in parts of random size; ends of tokens count from the
 * text's start. */
static int64_t in_parts(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes,
                        token *tokens)
{
    int64_t at = 0, known = 0, n = 0, settled = 0;
    while (at < n_bytes) {
        int64_t n_more = n_bytes - known < part_max ? n_bytes - known : part_max;
        known += random_below(3) ? n_more : random_below(n_more + 1);
        const uint8_t *part = guard_copy(&text_guard, text + at, (size_t)(known - at));
        int64_t used = known > at ? unigram_advance(m, path, part, known - at, known == n_bytes)
                                  : 0;
        CHECK(used >= 0 && used <= known - at);
        at += used;
        if (known == at && at == 0) continue;
        int64_t base = settled;
        for (int64_t i = 0; used && i < path->n_tokens; i++) {
            settled = base + path->tokens[i].end;
            tokens[n++] = (token){path->tokens[i].id, (uint32_t)settled};
        }
    }
    CHECK(settled == n_bytes);
    return n;
}

/* Cuts at positions that no piece spans, and encodes the segments as the library does. */
static int64_t by_cuts(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes,
                       token *tokens)
{
    int64_t begin = 0, n = 0, clear = 0;
    double sum = 0;
    for (int64_t at = 0; at < n_bytes;) {
        for (int64_t k = 0; k < pieces.n; k++) {
            int64_t n_piece = pieces.offsets[k + 1] - pieces.offsets[k];
            if (pieces.data[pieces.offsets[k]] != text[at]) continue;
            if (n_piece > n_bytes - at ||
                memcmp(pieces.data + pieces.offsets[k], text + at, (size_t)n_piece))
                continue;
            if (at + n_piece > clear) clear = at + n_piece;
        }
        at += slow_char(text, at, n_bytes);
        if (at < clear || (at < n_bytes && random_below(8) == 0)) continue;
        int64_t n_segment = at - begin, n_here;
        if (n_segment <= UNIGRAM_SEGMENT_BYTES) {
            n_here = from_memory(m, text + begin, n_segment, &sum, tokens + n);
        } else {
            unigram_begin(path, sum);
            n_here = in_parts(m, path, text + begin, n_segment, tokens + n);
            sum = path->sum;
        }
        for (int64_t i = 0; i < n_here; i++) tokens[n + i].end += (uint32_t)begin;
        n += n_here;
        begin = at;
    }
    return n;
}

static void test_documents(int64_t rounds)
{
    static uint8_t text[TEXT_MAX];
    static token expected[TEXT_MAX], tokens[TEXT_MAX];
    unigram_path path = {0};
    for (int64_t round = 0; round < rounds; round++) {
        unigram *m = NULL;
        int set = random_model(&m);
        for (int k = 0; k < 6; k++) {
            int64_t n_bytes = 1 + random_below(k == 5 && round % 50 == 0 ? TEXT_MAX : 300);
            double sum = 0;
            random_symbols(set, text, n_bytes);
            if (random_below(8) == 0) memset(text, text[0], (size_t)n_bytes);
            int64_t n = slow_encode(text, n_bytes, &sum, expected);
            unigram_begin(&path, 0);
            CHECK(same(expected, n, tokens, in_parts(m, &path, text, n_bytes, tokens)));
            CHECK(path.sum == sum);
            CHECK(same(expected, n, tokens, by_cuts(m, &path, text, n_bytes, tokens)));
        }
        unigram_path_free(&path);
        unigram_free(m);
    }
}

/* Paths that meet only at the end: there are two ways to tile a long text, and its last bytes
 * decide between them. */
static void test_never_meeting(void)
{
    static uint8_t text[TEXT_MAX];
    static token expected[TEXT_MAX], tokens[TEXT_MAX];
    unigram_path path = {0};
    flags = UNITOK_FLOAT64;
    pieces_clear(&pieces);
    pieces_add(&pieces, "aa", 2);
    pieces_add(&pieces, "b", 1);
    pieces_add(&pieces, "ba", 2);
    memset(types, UNITOK_PIECE_NORMAL, sizeof types);
    scores[0] = scores[1] = scores[2] = -1;
    unigram *m = build();
    for (int64_t n_bytes = TEXT_MAX - 5; n_bytes < TEXT_MAX; n_bytes++) {
        double sum = 0;
        memset(text, 'a', (size_t)n_bytes);
        text[0] = 'b';
        int64_t n = slow_encode(text, n_bytes, &sum, expected);
        unigram_begin(&path, 0);
        CHECK(same(expected, n, tokens, in_parts(m, &path, text, n_bytes, tokens)) &&
              path.sum == sum);
    }
    unigram_path_free(&path);
    unigram_free(m);
}

/* Encodes a text to its end and returns the number of tokens. */
static int64_t count_tokens(const unigram *m, unigram_path *path, const uint8_t *text,
                            int64_t n_bytes)
{
    int64_t n = 0;
    unigram_begin(path, 0);
    for (int64_t at = 0, used; at < n_bytes; at += used) {
        used = unigram_advance(m, path, text + at, n_bytes - at, 1);
        CHECK(used > 0);
        n += path->n_tokens;
    }
    return n;
}

/* If paths meet, 4 MB of text needs a few thousand cells. In a long run of one character, they do
 * not meet: all tokens but one are the longest piece, and the shorter one could be anywhere without
 * changing the score. The shorter one comes first, but its length is not known before the end of
 * the run. */
static void test_memory(void)
{
    enum { N_BYTES = 1 << 22 };
    uint8_t *text = malloc(N_BYTES);
    unigram_path path = {0};
    memset(text, 'a', N_BYTES);
    flags = 0;
    pieces_clear(&pieces);
    for (int64_t n_piece = 1; n_piece < 8; n_piece++) {
        scores[pieces.n] = -1 - 0.5 * (double)n_piece;
        pieces_add(&pieces, text, n_piece);
    }
    pieces_add(&pieces, "b", 1);
    memset(types, UNITOK_PIECE_NORMAL, sizeof types);
    unigram *m = build();
    CHECK(unigram_memory_bytes(m) <= alloc_live_bytes &&
          unigram_memory_bytes(m) > alloc_live_bytes / 2);
    for (int64_t i = 100; i < N_BYTES; i += 1 + random_below(200)) text[i] = 'b';
    count_tokens(m, &path, text, N_BYTES);
    CHECK(path.capacity < 20000 && path.tokens_capacity < 20000);
    memset(text, 'a', N_BYTES);
    CHECK(count_tokens(m, &path, text, N_BYTES) == (N_BYTES + 6) / 7);
    unigram_path_free(&path);
    unigram_free(m);
    free(text);
}

/* Escaped spaces count as one byte in pieces and text, and as three in the bonus of a user-defined
 * piece. */
static void test_escaped_spaces(void)
{
    const uint8_t text[] = "a b a";
    token tokens[5];
    double sum = 0;
    flags = UNITOK_ESCAPE_WHITESPACES;
    pieces_clear(&pieces);
    pieces_add(&pieces, "a", 1);
    pieces_add(&pieces,
               "\xe2\x96\x81"
               "b\xe2\x96\x81",
               7);
    pieces_add(&pieces, " ", 1); /* matches nothing */
    pieces_add(&pieces, "<0x20>", 6);
    pieces_add(&pieces, "<0xE2>", 6);
    pieces_add(&pieces, "<0x96>", 6);
    memset(types, UNITOK_PIECE_NORMAL, sizeof types);
    types[1] = UNITOK_PIECE_USER_DEFINED;
    types[3] = types[4] = types[5] = UNITOK_PIECE_BYTE;
    for (int k = 0; k < 6; k++) scores[k] = -2;
    unigram *m = build();
    CHECK(m->n_pieces == 2 && m->max_piece_bytes == 3);
    CHECK(unigram_segment(m, text, 5, &sum, tokens) == 3 && tokens[1].end == 4 &&
          tokens[1].id == pieces.ids[1]);
    CHECK(sum == (double)(-2.0f + (float)(0.1 * 6) + -2.0f));
    CHECK(unigram_segment(m, text + 1, 1, &sum, tokens) == 1 && tokens[0].id == TOKEN_UNKNOWN);
    CHECK(m->id_scores32[pieces.ids[3]] == -12 && m->id_scores32[pieces.ids[4]] == -12);
    CHECK(m->id_scores32[pieces.ids[5]] == 0);
    unigram_free(m);
}

static void check_refused(int64_t item)
{
    unitok_spec spec = spec_of();
    unigram *m = NULL;
    error.message = NULL;
    CHECK(unigram_new(&spec, &m, &error) == UNITOK_ERROR_VOCABULARY && !m && error.message &&
          error.item == item);
}

static void test_refused(void)
{
    flags = 0;
    pieces_clear(&pieces);
    pieces_add(&pieces, "ab", 2);
    pieces_add(&pieces, "cd", 2);
    memset(types, UNITOK_PIECE_NORMAL, sizeof types);
    scores[0] = -1;
    scores[1] = NAN;
    check_refused(1);
    scores[1] = -INFINITY;
    check_refused(1);
    scores[1] = -2e30;
    check_refused(1);
    scores[1] = -1;
    memcpy(pieces.data + 2, "ab", 2);
    check_refused(1);
    pieces.offsets[2] = 2 + UNIGRAM_PIECE_BYTES_MAX;
    unitok_spec spec = spec_of();
    unigram *m = NULL;
    CHECK(!unigram_new(&spec, &m, NULL));
    unigram_free(m);
    pieces.offsets[2]++;
    check_refused(1);
}

static void test_failing_memory(int64_t rounds)
{
    static uint8_t text[9000];
    static token expected[9000], tokens[9000];
    int64_t live = alloc_live_blocks;
    for (int64_t round = 0; round < rounds; round++) {
        unigram *m = NULL;
        int set = random_model(&m);
        unigram_free(m);
        unitok_spec spec = spec_of();
        for (int64_t k = 1, status = UNITOK_ERROR_MEMORY; status != UNITOK_OK; k++) {
            m = NULL;
            alloc_fail_at = k;
            status = unigram_new(&spec, &m, &error);
            CHECK(status == UNITOK_OK ||
                  (status == UNITOK_ERROR_MEMORY && !m && alloc_live_blocks == live));
        }
        alloc_fail_at = 0;
        random_symbols(set, text, sizeof text);
        double sum = 0;
        int64_t n = slow_encode(text, sizeof text, &sum, expected), n_failed = 0;
        unigram_path path = {0};
        for (int64_t at = 0, n_here = 0, settled = 0; at < (int64_t)sizeof text;) {
            if (at == 0) unigram_begin(&path, 0);
            alloc_fail_every = n_failed < 20 ? 2 : 0;
            int64_t used = unigram_advance(m, &path, text + at, (int64_t)sizeof text - at, 1);
            alloc_fail_every = 0;
            if (used < 0) {
                n_failed++;
                at = n_here = settled = 0;
                continue;
            }
            at += used;
            for (int64_t i = 0, base = settled; i < path.n_tokens; i++) {
                settled = base + path.tokens[i].end;
                tokens[n_here++] = (token){path.tokens[i].id, (uint32_t)settled};
            }
            if (at == (int64_t)sizeof text) CHECK(same(expected, n, tokens, n_here));
        }
        unigram_path_free(&path);
        unigram_free(m);
        CHECK(alloc_live_blocks == live);
    }
}

/* A model whose pieces cross spaces: slices of up to n_bytes_max of `from`, with scores that
 * endings support. */
static unigram *crossing_model(const uint8_t *from, int64_t n_from, int64_t n_bytes_max)
{
    flags = 0;
    pieces_clear(&pieces);
    for (int k = 0; k < 4; k++) pieces_add(&pieces, &"a a b b a"[2 * k], 3);
    for (int64_t n_left = random_below(60); n_left > 0; n_left--) {
        int64_t n_bytes = 1 + random_below(pieces.n < 8 ? 3 : n_bytes_max);
        pieces_add(&pieces, from + random_below(n_from - n_bytes), n_bytes);
    }
    for (int64_t k = 0; k < pieces.n; k++)
        scores[k] = -(double)(1 + random_below(8)) * 80000 / (double)(8 * n_bytes_max);
    memset(types, UNITOK_PIECE_NORMAL, sizeof types);
    unigram *m = build();
    CHECK(m->endings);
    return m;
}

static void random_letters(uint8_t *text, int64_t n_bytes)
{
    for (int64_t i = 0; i < n_bytes; i++) text[i] = (uint8_t)"aab "[random_below(4)];
}

/* Slices of `from`, and sometimes a character that is not in any piece. */
static void random_slices(const uint8_t *from, int64_t n_from, uint8_t *text, int64_t n_bytes)
{
    for (int64_t at = 0; at < n_bytes;) {
        int64_t n = 1 + random_below(n_from - 1);
        if (n > n_bytes - at) n = n_bytes - at;
        memcpy(text + at, from + random_below(n_from - n), (size_t)n);
        if (random_below(8) == 0) text[at] = random_below(2) ? 'z' : 0;
        at += n;
    }
}

/* Compares lanes with a walk of one byte at a time, across the borders of parts. */
static void check_following(const endings *a, const uint8_t *bytes, int64_t n_bytes)
{
    static endings_place places[TEXT_MAX];
    int64_t half = random_below(n_bytes);
    const uint8_t *text = guard_copy(&text_guard, bytes, (size_t)n_bytes);
    endings_follow(a, 0, text, half, places);
    endings_follow(a, half ? places[half - 1].state : 0, text + half, n_bytes - half,
                   places + half);
    for (int64_t i = 0; i < n_bytes; i++) {
        endings_place expected;
        endings_follow(a, i ? places[i - 1].state : 0, text + i, 1, &expected);
        CHECK(places[i].state == expected.state && places[i].list == expected.list);
    }
}

static void test_following(int64_t rounds)
{
    static uint8_t text[TEXT_MAX], from[400];
    for (int64_t round = 0; round < rounds; round++) {
        unigram *m = NULL;
        int set = random_model(&m);
        int64_t n_bytes = 1 + random_below(TEXT_MAX);
        random_symbols(set, text, n_bytes);
        if (m->endings) check_following(m->endings, text, n_bytes);
        unigram_free(m);
        random_letters(from, sizeof from);
        /* states deeper than the number of bytes that a lane reads before its part */
        m = crossing_model(from, sizeof from, 250);
        random_slices(from, sizeof from, text, n_bytes);
        check_following(m->endings, text, n_bytes);
        unigram_free(m);
    }
}

static const char *const letters[] = {"日", "本", "語", "の", "は", "。", "a",
                                      " ",  "é",  "😀", "가", "\0", "漢", "Z"};
enum { LETTERS = 12 }; /* the others are not in any piece */

/* Writes n_chars random letters, preferring the first of `letters`; returns their bytes. "\0" is a
 * letter too. */
static int64_t random_word(uint8_t *out, int64_t n_chars, int64_t n_letters)
{
    int64_t n = 0;
    for (int64_t k = 0; k < n_chars; k++) {
        const char *letter =
            letters[random_below(random_below(3) ? 1 + random_below(6) : n_letters)];
        int64_t n_bytes = *letter ? (int64_t)strlen(letter) : 1;
        memcpy(out + n, letter, (size_t)n_bytes);
        n += n_bytes;
    }
    return n;
}

/* A model of Japanese; n_others characters occur in one piece each. */
static unigram *japanese_model(int style, int64_t n_others)
{
    uint8_t word[4 * 300];
    pieces_clear(&pieces);
    flags = 0;
    for (int64_t k = 0; k < LETTERS; k++)
        if (random_below(8))
            pieces_add(&pieces, letters[k], *letters[k] ? (int64_t)strlen(letters[k]) : 1);
    for (int64_t k = 0, n = random_below(300); k < n; k++)
        pieces_add(&pieces, word,
                   random_word(word, 2 + random_below(random_below(9) ? 4 : 12), LETTERS));
    if (random_below(4) == 0)
        pieces_add(&pieces, word, random_word(word, 255 + random_below(2), 3));
    for (int64_t k = 0; k < n_others; k++) {
        int64_t n = random_word(word, 1 + random_below(2), 6);
        pieces_add(&pieces, word,
                   n + utf8_encode((uint32_t)(0x5000 + random_below(0x4000)), word + n));
    }
    for (int64_t k = 0; k < pieces.n; k++) {
        types[k] = random_below(20) ? UNITOK_PIECE_NORMAL : UNITOK_PIECE_USER_DEFINED;
        scores[k] = (double)(float)random_score(style);
    }
    return build();
}

/* Encodes by characters, from any running sum; texts that do not allow it are rejected. */
static void test_charwise(int64_t rounds)
{
    static charwise_work work;
    static uint8_t bytes[TEXT_MAX];
    static token expected[CHARWISE_BYTES], tokens[UNIGRAM_SEGMENT_BYTES];
    int64_t n_models = 0;
    for (int64_t round = 0; round < rounds; round++) {
        unigram *m = japanese_model((int)random_below(13), random_below(3) ? 0 : random_below(400));
        n_models += m->charwise != NULL;
        for (int64_t k = 1, status = UNITOK_OK;
             round < 10 && (k == 1 || status == UNITOK_ERROR_MEMORY); k++) {
            unigram *other = NULL;
            unitok_spec spec = spec_of();
            alloc_fail_at = k;
            status = unigram_new(&spec, &other, &error);
            CHECK(status == UNITOK_OK || !other);
            unigram_free(other);
        }
        alloc_fail_at = 0;
        for (int64_t k = 0; k < 5 && m->charwise; k++) {
            int64_t n_bytes = random_word(
                bytes, 1 + random_below(random_below(4) ? 20 : CHARWISE_BYTES / 4),
                sizeof letters / sizeof *letters);
            double before = random_sum(), expected_sum = before;
            float sum = (float)before;
            const uint8_t *text = guard_copy(&text_guard, bytes, (size_t)n_bytes);
            int64_t n_expected = slow_encode(text, n_bytes, &expected_sum, expected);
            int64_t n = charwise_path(m->charwise, text, n_bytes, &sum, &work);
            CHECK(same(expected, n_expected, work.tokens + CHARWISE_BYTES - n, n));
            CHECK((double)sum == expected_sum);
            if (n_bytes <= UNIGRAM_SEGMENT_BYTES) {
                double memory_sum = before;
                CHECK(from_memory(m, text, n_bytes, &memory_sum, tokens) == n_expected);
                CHECK(same(expected, n_expected, tokens, n_expected) && memory_sum == expected_sum);
            }
            bytes[random_below(n_bytes)] = (uint8_t)(0x80 + random_below(128));
            n = charwise_path(m->charwise, guard_copy(&text_guard, bytes, (size_t)n_bytes), n_bytes,
                              &sum, &work);
            CHECK(utf8_is_valid(bytes, n_bytes) == (n > 0));
        }
        unigram_free(m);
    }
    CHECK(n_models > rounds / 4);
    pieces_clear(&pieces);
    pieces_add(&pieces, "日本", 6);
    pieces_add(&pieces, "本\xE6", 4);
    scores[0] = scores[1] = -1;
    unigram *m = build();
    CHECK(!m->charwise);
    unigram_free(m);
}

/* Sums that restart every few tokens, with pieces that span the restart. */
static void test_restarts(int64_t rounds)
{
    static uint8_t text[2000], from[60];
    static token expected[sizeof text], tokens[sizeof text];
    unigram_path path = {0};
    for (int64_t round = 0; round < rounds; round++) {
        random_letters(from, sizeof from);
        unigram *m = crossing_model(from, sizeof from, 4 + random_below(13));
        double sum = 0;
        random_slices(from, sizeof from, text, sizeof text);
        int64_t n = slow_encode(text, sizeof text, &sum, expected);
        part_max = 1 + random_below(60);
        unigram_begin(&path, 0);
        CHECK(same(expected, n, tokens, in_parts(m, &path, text, sizeof text, tokens)));
        CHECK(path.sum == sum);
        unigram_path_free(&path);
        unigram_free(m);
    }
    part_max = TEXT_MAX;
}

int main(void)
{
    int64_t rounds = rounds_factor();
    random_start(20261120);
    text_guard = guard_new(TEXT_MAX);
    RUN(test_refused());
    RUN(test_escaped_spaces());
    RUN(test_never_meeting());
    RUN(test_memory());
    RUN(test_segments(2000 * rounds));
    CHECK(n_kept > n_redone && n_redone > 1000);
    RUN(test_documents(300 * rounds));
    RUN(test_following(60 * rounds));
    CHECK(n_endings > 100);
    RUN(test_charwise(400 * rounds));
    RUN(test_restarts(200 * rounds));
    RUN(test_failing_memory(20 * rounds));
    guard_free(&text_guard);
    printf("paths kept %lld, recomputed %lld: ok\n", (long long)n_kept, (long long)n_redone);
    return 0;
}
