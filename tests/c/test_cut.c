/* test_cut.c - compares every scan with the pieces that could span a position, for random
 * vocabularies, between guard pages; with patterns, also with the pieces of the pattern */
#define _DEFAULT_SOURCE

#include "guard.h"

#include "text/cut.h"
#include "patterns.h"
#include "pieces.h"

static cut_table table;
static const cut_table *scanned = &table; /* the table that scan_guarded uses */
static struct pieces pieces;
static struct guard text_guard, cuts_guard;

/* Scans text[0..n_bytes-1], followed by n_beyond more bytes of the document. Both the readable
 * bytes and the positions touch a guard page, before or after them. */
static int64_t scan_guarded(int cpu, const uint8_t *text, int64_t n_bytes, int64_t n_beyond,
                            int at_start, uint16_t *cuts)
{
    size_t room = (CUT_CHUNK_BYTES + CUT_READ_BEYOND) * sizeof *cuts;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = at_start ? text_guard.start + page : text_guard.end - n_bytes - CUT_READ_BEYOND;
    uint16_t *out = (uint16_t *)(void *)guard_copy(&cuts_guard, NULL, room);
    /* bytes after the document are readable but must not matter */
    for (int64_t k = 0; k < n_bytes + CUT_READ_BEYOND; k++)
        p[k] = k < n_bytes + n_beyond ? text[k] : (uint8_t)random_u64();
    int64_t n = cut_scan_for(cpu)(scanned, p, n_bytes, out);
    CHECK(n >= 0 && n < (n_bytes ? n_bytes : 1));
    memcpy(cuts, out, (size_t)n * sizeof *cuts);
    return n;
}

/* Tests all levels on one text. `thorough`: checks for every position whether a piece could span
 * it. */
static void check_text(const uint8_t *text, int64_t n_bytes, int64_t n_beyond, int thorough)
{
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        for (int at_start = 0; at_start < 2; at_start++) {
            int64_t n = scan_guarded(cpu, text, n_bytes, n_beyond, at_start, cuts);
            for (int64_t k = 0; k < n; k++) {
                CHECK(cuts[k] > (k ? cuts[k - 1] : 0) && cuts[k] < n_bytes);
                if (thorough || random_below(64) == 0 || cuts[k] > n_bytes - 4)
                    CHECK(!pieces_span(&pieces, text, n_bytes + n_beyond, cuts[k], 0));
            }
        }
    }
    if (!thorough) return;
    /* cut_last and cut_next ignore the bytes after the text. */
    int64_t last = cut_last(&table, text, n_bytes);
    CHECK(last == 0 || (last < n_bytes && !pieces_span(&pieces, text, n_bytes, last, 1)));
    for (int64_t begin = 0, next; begin < n_bytes; begin = next) {
        next = cut_next(&table, text, begin, n_bytes);
        CHECK(next > begin && next <= n_bytes);
        CHECK(next == n_bytes || (next <= last && !pieces_span(&pieces, text, n_bytes, next, 1)));
        if (next == n_bytes) CHECK(begin == last);
    }
}

static void test_random(int set)
{
    static uint8_t text[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    for (int round = 0; round < 25; round++) {
        random_pieces(&pieces, set);
        CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, 0, &table));
        for (int64_t n = 0; n < 140; n++) {
            int64_t n_beyond = random_below(2) ? 0 : random_below(CUT_READ_BEYOND + 1);
            random_symbols(random_below(4) ? set : N_SYMBOL_SETS - 1, text, n + n_beyond);
            check_text(text, n, n_beyond, 1);
        }
        for (int k = 0; k < 2; k++) {
            int64_t n = k ? CUT_CHUNK_BYTES - random_below(130) : CUT_CHUNK_BYTES;
            random_symbols(set, text, CUT_CHUNK_BYTES + CUT_READ_BEYOND);
            check_text(text, n, CUT_READ_BEYOND * (round % 2), 0);
        }
    }
}

/* Pieces of one byte join nothing, so every level must cut everywhere except inside characters. */
static void test_finds_cuts(void)
{
    static uint8_t text[CUT_CHUNK_BYTES];
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, 0, &table));
    random_symbols(N_SYMBOL_SETS - 1, text, CUT_CHUNK_BYTES);
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        int64_t n = scan_guarded(cpu, text, CUT_CHUNK_BYTES, 0, 0, cuts), k = 0;
        for (int64_t i = 1; i < CUT_CHUNK_BYTES; i++)
            if ((text[i] & 0xC0) != 0x80) CHECK(k < n && cuts[k++] == i);
        CHECK(k == n);
    }
}

/* There are nine sets of bytes that can follow a byte, but only eight slots, so two sets are
 * merged, and some pairs that no piece contains count as joined. A letter before a space must not
 * be such a pair, because it is frequent in all text, even though it is only one pair and each
 * alternative joins several. */
static void test_keeps_frequent_cuts(void)
{
    static const char text[] = "ba ab ac";
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    for (int k = 0; k < 8; k++) {
        uint8_t after_space[2] = {' ', (uint8_t)('a' + k)},
                after_letter[2] = {'a', (uint8_t)('a' + k)};
        pieces_add(&pieces, after_space, 2);
        pieces_add(&pieces, after_letter, 2);
    }
    pieces_add(&pieces, "  ", 2);
    for (int k = 0; k < 14; k++) {
        uint8_t rare[2] = {(uint8_t)(1 + k / 2), (uint8_t)(14 + k)};
        pieces_add(&pieces, rare, 2);
    }
    CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, 0, &table));
    for (int cpu = UNITOK_CPU_AVX2; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        int64_t n = scan_guarded(cpu, (const uint8_t *)text, 8, 0, 0, cuts), has_space = 0;
        for (int64_t k = 0; k < n; k++) has_space += text[cuts[k]] == ' ';
        CHECK(has_space == 2);
    }
}

/* Every pair of bytes occurs in a text, which tests every entry of every level's tables. */
static void test_every_pair(void)
{
    static uint8_t text[CUT_CHUNK_BYTES];
    for (int round = 0; round < 8; round++) {
        pieces_clear(&pieces);
        for (int k = 0; k < 200; k++) {
            uint8_t piece[4];
            random_symbols(round % N_SYMBOL_SETS, piece, 4);
            pieces_add(&pieces, piece + 2, 2);
            if (round & 1) pieces_add(&pieces, piece, 4);
        }
        CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, 0, &table));
        for (int a = 0; a < 256; a++) {
            for (int b = 0; b < 256; b++) {
                text[2 * b] = (uint8_t)a;
                text[2 * b + 1] = (uint8_t)b;
            }
            check_text(text, 512, 0, a % 16 == round);
            check_text(text + 1, 511, 0, 0);
        }
    }
}

/* -------------------------------------------------------------------------------- Patterns ---- */

enum { PATTERN_TEXT_MAX = 300, N_ATOMS = sizeof PATTERN_ATOMS / sizeof *PATTERN_ATOMS };

static struct pieces unmerged; /* some of `pieces` */

/* Writes up to `most` atoms, chosen from a few that are near each other in the list. Returns the
 * length. */
static int64_t random_atoms(uint8_t *ret, int64_t most)
{
    int64_t n = 0, n_used = 1 + random_below(N_ATOMS), first = random_below(N_ATOMS);
    for (int64_t k = 1 + random_below(most); k > 0; k--) {
        const char *atom = PATTERN_ATOMS[(first + random_below(n_used)) % N_ATOMS];
        int64_t n_bytes = *atom ? (int64_t)strlen(atom) : 1;
        if (n + n_bytes > PATTERN_TEXT_MAX) break;
        memcpy(ret + n, atom, (size_t)n_bytes);
        n += n_bytes;
    }
    return n;
}

/* Encoding the segments between cuts must give the ids of the complete text:
 *
 * - the pattern divides each segment where it divides the text;
 * - inside a piece of the pattern, no piece of the vocabulary spans a cut;
 * - an unmerged piece matches only a complete piece of the pattern: no piece of the pattern that
 *   equals an unmerged one is cut, and no part that a cut creates equals one. */
static void check_cuts_of_pattern(const pattern *p, const uint8_t *text, int64_t n_bytes,
                                  const uint16_t *cuts, int64_t n)
{
    uint8_t whole[PATTERN_TEXT_MAX + 1], part[PATTERN_TEXT_MAX + 1];
    int64_t begin = 0;
    find_ends(p, text, n_bytes, whole);
    for (int64_t k = 0; k <= n; k++) {
        int64_t end = k < n ? cuts[k] : n_bytes;
        CHECK(end > begin || !n_bytes);
        find_ends(p, text + begin, end - begin, part);
        for (int64_t at = begin, from = begin; at < end; at++) {
            CHECK(part[at + 1 - begin] == (whole[at + 1] || at + 1 == end));
            if (!part[at + 1 - begin]) continue;
            int is_whole = whole[at + 1] && (from == 0 || whole[from]);
            CHECK(is_whole || pieces_find(&unmerged, text + from, at + 1 - from) < 0);
            from = at + 1;
        }
        if (end < n_bytes && !whole[end]) {
            int64_t first = end, last = end;
            while (first && !whole[first]) first--;
            while (!whole[last]) last++;
            CHECK(!pieces_span(&pieces, text + first, last - first, end - first, 0));
            CHECK(pieces_find(&unmerged, text + first, last - first) < 0);
        }
        begin = end;
    }
}

static void random_vocabulary(void)
{
    uint8_t piece[PATTERN_TEXT_MAX];
    pieces_clear(&pieces);
    pieces_clear(&unmerged);
    pieces_add_bytes(&pieces);
    for (int64_t k = random_below(40); k > 0; k--) {
        int64_t n = random_atoms(piece, 4);
        if (random_below(4) == 0 && pieces_find(&pieces, piece, n) < 0)
            pieces_add(&unmerged, piece, n);
        pieces_add(&pieces, piece, n);
    }
}

static void test_patterns(void)
{
    static cut_pattern with_pattern;
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    uint8_t text[PATTERN_TEXT_MAX];
    int64_t n_inside = 0;
    scanned = &with_pattern.table;
    for (int round = 0; round < 12 * N_PATTERNS; round++) {
        const char *parts = PATTERNS[round % N_PATTERNS];
        pattern *p = NULL;
        CHECK(!pattern_new((const uint8_t *)parts, pattern_length(parts), &p, NULL));
        random_vocabulary();
        cut_pieces all = {pieces.data, pieces.offsets, pieces.n},
                   few = {unmerged.data, unmerged.offsets, unmerged.n};
        with_pattern.pattern = p;
        CHECK(cut_build_pattern(all, few, p, &with_pattern));
        for (int k = 0; k < 40; k++) {
            int64_t n_bytes = random_atoms(text, 60), n = 0;
            for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
                if (!unitok_cpu_supported(cpu)) continue;
                n = scan_guarded(cpu, text, n_bytes, 0, k % 2, cuts);
                check_cuts_of_pattern(p, text, n_bytes, cuts, n);
            }
            n = 0;
            for (int64_t at = 0; (at = cut_next(scanned, text, at, n_bytes)) < n_bytes;)
                cuts[n++] = (uint16_t)at;
            check_cuts_of_pattern(p, text, n_bytes, cuts, n);
            CHECK(cut_last(scanned, text, n_bytes) == (n ? cuts[n - 1] : 0));
            n_inside += n;
        }
        pattern_free(p);
    }
    CHECK(n_inside > 10000);
    scanned = &table;
}

int main(void)
{
    random_start(20261120);
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++)
        if (unitok_cpu_supported(cpu)) printf("level %d is supported\n", cpu);
    text_guard = guard_new(2 * CUT_CHUNK_BYTES);
    cuts_guard = guard_new(4 * CUT_CHUNK_BYTES);
    RUN(test_finds_cuts());
    RUN(test_keeps_frequent_cuts());
    RUN(test_every_pair());
    for (int set = 0; set < N_SYMBOL_SETS; set++) RUN(test_random(set));
    RUN(test_patterns());
    guard_free(&cuts_guard);
    guard_free(&text_guard);
    return 0;
}
