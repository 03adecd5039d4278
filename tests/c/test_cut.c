/* test_cut.c - every scan against what could span a position: random vocabularies, between guard pages
 *
 *   gcc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -I csrc tests/c/test_cut.c csrc/[a-z]*.c \
 *       -o test_cut && ./test_cut
 *   SEED=7 ./test_cut            another seed; the one in use is printed first
 *
 * NEON, on any machine (Debian: gcc-aarch64-linux-gnu, qemu-user):
 *   aarch64-linux-gnu-gcc -std=c11 -O2 -static -I csrc tests/c/test_cut.c csrc/[a-z]*.c -o test_cut_arm && \
 *       qemu-aarch64 ./test_cut_arm
 */
#define _DEFAULT_SOURCE

#include "guard.h"

#include "cut.h"
#include "pieces.h"

static cut_table table;
static struct pieces pieces;
static struct guard text_guard, cuts_guard;

/* Runs one scan with the text up against a guard page, before it or behind it, and the positions too. */
static int64_t scan_guarded(int cpu, const uint8_t *text, int64_t n_bytes, int at_start, uint16_t *cuts)
{
    size_t room = (CUT_CHUNK_BYTES + CUT_READ_BEYOND) * sizeof *cuts;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = at_start ? text_guard.start + page : text_guard.end - n_bytes - CUT_READ_BEYOND;
    uint16_t *out = (uint16_t *)(void *)guard_copy(&cuts_guard, NULL, room);
    if (n_bytes) memcpy(p, text, (size_t)n_bytes);
    for (int k = 0; k < CUT_READ_BEYOND; k++) p[n_bytes + k] = (uint8_t)random_u64(); /* readable, without a meaning */
    int64_t n = cut_scan_for(cpu)(&table, p, n_bytes, out);
    CHECK(n >= 0 && n < (n_bytes ? n_bytes : 1));
    memcpy(cuts, out, (size_t)n * sizeof *cuts);
    return n;
}

/* All levels on one text. `thorough`: ask for every position whether a piece could lie over it. */
static void check_text(const uint8_t *text, int64_t n_bytes, int thorough)
{
    static uint8_t is_cut[CUT_CHUNK_BYTES + 1];
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    memset(is_cut, 0, sizeof is_cut);
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        for (int at_start = 0; at_start < 2; at_start++) {
            int64_t n = scan_guarded(cpu, text, n_bytes, at_start, cuts);
            for (int64_t k = 0; k < n; k++) {
                CHECK(cuts[k] > (k ? cuts[k - 1] : 0) && cuts[k] < n_bytes);
                if (cpu == UNITOK_CPU_PORTABLE) {
                    is_cut[cuts[k]] = 1;
                    if (thorough || random_below(64) == 0) CHECK(!pieces_span(&pieces, text, n_bytes, cuts[k]));
                }
                CHECK(is_cut[cuts[k]]); /* the portable scan is the most exact */
            }
        }
    }
    /* cut_next and cut_last are the portable scan, asked for one position */
    int64_t last = 0;
    for (int64_t i = 1; i < n_bytes; i++) last = is_cut[i] ? i : last;
    CHECK(cut_last(&table, text, n_bytes) == last);
    for (int64_t begin = 0, next; begin < n_bytes; begin = next) {
        next = begin + 1;
        while (next < n_bytes && !is_cut[next]) next++;
        CHECK(cut_next(&table, text, begin, n_bytes) == next);
    }
}

static void test_random(int set)
{
    static uint8_t text[CUT_CHUNK_BYTES];
    running = "random vocabularies";
    for (int round = 0; round < 25; round++) {
        random_pieces(&pieces, set);
        CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, &table));
        for (int64_t n = 0; n < 140; n++) {
            random_symbols(random_below(4) ? set : N_SYMBOL_SETS - 1, text, n);
            check_text(text, n, 1);
        }
        int64_t n = CUT_CHUNK_BYTES - random_below(130);
        random_symbols(set, text, n);
        check_text(text, n, 0);
        random_symbols(set, text, CUT_CHUNK_BYTES);
        check_text(text, CUT_CHUNK_BYTES, 0);
    }
    printf("ok %s, symbols %d\n", running, set);
}

/* Pieces of one byte join nothing: every level must cut everywhere but inside characters, or it is of no use. */
static void test_finds_cuts(void)
{
    static uint8_t text[CUT_CHUNK_BYTES];
    static uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    running = "finds cuts";
    pieces_clear(&pieces);
    pieces_add_bytes(&pieces);
    CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, &table));
    random_symbols(N_SYMBOL_SETS - 1, text, CUT_CHUNK_BYTES);
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
        if (!unitok_cpu_supported(cpu)) continue;
        int64_t n = scan_guarded(cpu, text, CUT_CHUNK_BYTES, 0, cuts), k = 0;
        for (int64_t i = 1; i < CUT_CHUNK_BYTES; i++)
            if ((text[i] & 0xC0) != 0x80) CHECK(k < n && cuts[k++] == i);
        CHECK(k == n);
    }
    printf("ok %s\n", running);
}

/* Every pair of bytes, alone in a text and in a piece: the tables of all levels at every entry. */
static void test_every_pair(void)
{
    static uint8_t text[CUT_CHUNK_BYTES];
    running = "every pair";
    for (int round = 0; round < 8; round++) {
        pieces_clear(&pieces);
        for (int k = 0; k < 200; k++) {
            uint8_t piece[4];
            random_symbols(round % N_SYMBOL_SETS, piece, 4);
            pieces_add(&pieces, piece + 2, 2);
            if (round & 1) pieces_add(&pieces, piece, 4);
        }
        CHECK(cut_build(pieces.data, pieces.offsets, pieces.n, &table));
        for (int a = 0; a < 256; a++) {
            for (int b = 0; b < 256; b++) {
                text[2 * b] = (uint8_t)a;
                text[2 * b + 1] = (uint8_t)b;
            }
            check_text(text, 512, a % 16 == round);
            check_text(text + 1, 511, 0);
        }
    }
    printf("ok %s\n", running);
}

int main(void)
{
    const char *seed = getenv("SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : 20261120;
    printf("SEED=%llu\n", (unsigned long long)random_state);
    if (random_state == 0) random_state = 1; /* xorshift stays at 0 */
    for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++)
        if (unitok_cpu_supported(cpu)) printf("level %d is here\n", cpu);
    text_guard = guard_new(2 * CUT_CHUNK_BYTES);
    cuts_guard = guard_new(4 * CUT_CHUNK_BYTES);
    test_finds_cuts();
    test_every_pair();
    for (int set = 0; set < N_SYMBOL_SETS; set++) test_random(set);
    guard_free(&cuts_guard);
    guard_free(&text_guard);
    return 0;
}
