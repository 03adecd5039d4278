/* test_pattern.c - tests pre-tokenizer patterns on texts between guard pages: texts divided where
 * the pattern allows it, hostile patterns, failing allocations
 *
 * tests/test_pattern.py compares the pieces with tokenizers and tiktoken. */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include <time.h>

#include "guard.h"
#include "patterns.h"
#include "random.h"

static size_t random_below(size_t n) { return (size_t)((random_u64() >> 33) % n); }

static pattern *compile(const char *parts)
{
    pattern *p = NULL;
    unitok_error error = {0};
    if (pattern_new((const uint8_t *)parts, pattern_length(parts), &p, &error))
        printf("%s: %s at %d of %d\n", parts, error.message, (int)error.position, (int)error.item);
    CHECK(p != NULL);
    return p;
}

/* -------------------------------------------------------------------------------- Borders ---- */

#define TEXT_MAX 400
#define PARTS_MAX 65536

static size_t random_text(uint8_t *ret, size_t n_atoms)
{
    size_t n_bytes = 0;
    size_t n_kinds = sizeof PATTERN_ATOMS / sizeof *PATTERN_ATOMS;
    size_t n_used = 1 + random_below(n_kinds); /* a random subset, so that atoms repeat */
    size_t first = random_below(n_kinds);
    for (size_t i = 0; i < n_atoms; i++) {
        const char *atom = PATTERN_ATOMS[(first + random_below(n_used)) % n_kinds];
        size_t n = *atom ? strlen(atom) : 1;
        memcpy(ret + n_bytes, atom, n);
        n_bytes += n;
    }
    return n_bytes;
}

static void test_borders(void)
{
    struct guard guard = guard_new(TEXT_MAX);
    uint8_t text[TEXT_MAX];
    running = "borders";
    for (size_t k = 0; k < N_PATTERNS; k++) {
        pattern *p = compile(PATTERNS[k]);
        int64_t counts[3] = {0};
        for (round_ = 0; round_ < 2000; round_++) {
            size_t n_bytes = random_text(text, 1 + random_below(40));
            check_borders(p, guard_copy(&guard, text, n_bytes), (int64_t)n_bytes, counts);
        }
        printf("pattern %d: %lld bound, %lld free, %lld cut\n", (int)k, (long long)counts[0],
               (long long)counts[1], (long long)counts[2]);
        CHECK(counts[PATTERN_FREE] > 0 || counts[PATTERN_CUT] > 0);
        pattern_free(p);
    }
    guard_free(&guard);
}

/* ---------------------------------------------------------------------------------- Memory ---- */

static void test_memory(void)
{
    running = "memory";
    for (size_t k = 0; k < N_PATTERNS; k++) {
        int64_t live = alloc_live_blocks;
        for (round_ = 1;; round_++) {
            pattern *p = NULL;
            alloc_fail_at = round_;
            int32_t status = pattern_new((const uint8_t *)PATTERNS[k], pattern_length(PATTERNS[k]),
                                         &p, NULL);
            if (alloc_fail_at > 0) { /* every allocation succeeded */
                CHECK(status == UNITOK_OK);
                alloc_fail_at = 0;
                pattern_free(p);
                break;
            }
            CHECK(status == UNITOK_ERROR_MEMORY && p == NULL);
            CHECK(alloc_live_blocks == live);
        }
        CHECK(alloc_live_blocks == live);
    }
}

/* --------------------------------------------------------------------------------- Hostile ---- */

static char *repeated(const char *head, const char *body, int n, const char *tail)
{
    char *ret = malloc(strlen(head) + (size_t)n * strlen(body) + strlen(tail) + 2), *end = ret;
    end += sprintf(end, "%s", head);
    for (int i = 0; i < n; i++) end += sprintf(end, "%s", body);
    end += sprintf(end, "%s", tail);
    (void)end;
    return ret;
}

static void test_hostile(void)
{
    running = "hostile";
    static const struct {
        const char *head, *body;
        int n;
        const char *tail;
    } HOSTILE[] = {
        {"o", "(", 16000, ""},
        {"o", "(?:", 90, ""},
        {"o", "[", 16000, ""},
        {"o", "[[a]", 4000, ""},
        {"oa", "{1000}", 2, ""},
        {"o(a{1000}){1000}", "", 0, ""},
        {"o((((((a{9}){9}){9}){9}){9}){9}){9}", "", 0, ""},
        {"o(()){99999}", "", 0, ""},
        {"o((((((){99999}){99999}){99999}){99999}){99999}){99999}a", "", 0, ""},
        {"o", "(?:a|b|", 90, "c"},
        {"o(?:", "a?", 4000, ")a"},
        {"ox", "a?", 2000, "b"},
        {"o(?:a|b)*a", "(?:a|b)", 30, "c"},
        {"o", "(?:a?b?)", 2000, "c"},
        {"o", "\\p{L}\\p{N}?", 1000, "c"},
        {"o[", "\\p{L}", 3000, "]"},
        {"o[", "\\P{L}&&", 2000, "a]"},
        {"t", "\\pL", 5000, ""},
        {"t", "\\pL|\\PN", 2000, ""},
        {"o", "\\w{1,30}\\W{1,30}", 60, "x"},
        {"o\\s{0,500}", "", 0, "\\p{L}{0,500}[a-z]{0,500}"},
        {"o", "a|", 8000, "b"},
        {"o", "(a|", 90, "b"},
        {"oa{99999}", "", 0, ""},
        {"oa{0,8000}b", "", 0, ""},
        {"o[^a]{0,2000}[^b]{0,2000}c", "", 0, ""},
        {"o(?:.{0,40}a.{0,40}b){1,9}", "", 0, ""},
        {"o", "(?!a)", 3000, "b"},
        {"o(?:x", "(?!a)?", 3000, ")"},
        {"o(?:", "(?!a)|", 3000, "$)+b"},
        {"o\\", "", 0, ""},
        {"o[\\", "", 0, ""},
        {"o[a-", "", 0, ""},
        {"o[a&&", "", 0, ""},
        {"o\\p{", "", 0, ""},
        {"o\\x{", "", 0, ""},
        {"o\\u12", "", 0, ""},
        {"oa{", "", 0, ""},
        {"oa{1,", "", 0, ""},
        {"o(?", "", 0, ""},
        {"o(?=", "", 0, ""},
        {"o(?i", "", 0, ""},
        {"o(?i)", "", 0, ""},
        {"o", "", 0, ""},
        {"", "", 0, ""},
        {"o\xFF", "", 0, ""},
        {"o\xE4\xB8", "", 0, ""},
        {"x", "a", 1, ""},
    };
    struct guard guard = guard_new(PARTS_MAX);
    for (size_t k = 0; k < sizeof HOSTILE / sizeof *HOSTILE; k++) {
        round_ = (int)k;
        char *parts = repeated(HOSTILE[k].head, HOSTILE[k].body, HOSTILE[k].n, HOSTILE[k].tail);
        size_t n_bytes = strlen(parts);
        int64_t live = alloc_live_blocks;
        pattern *p = NULL;
        unitok_error error = {0};
        clock_t start = clock();
        int32_t status = pattern_new(guard_copy(&guard, parts, n_bytes), (int64_t)n_bytes, &p,
                                     &error);
        double ms = (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;
        printf("%6.1f ms  %.40s: %s\n", ms, parts, status ? error.message : "compiled");
        CHECK(status == UNITOK_OK ||
              (status == UNITOK_ERROR_PATTERN && p == NULL && error.message));
        CHECK(error.position < (int64_t)n_bytes + 1);
        pattern_free(p);
        CHECK(alloc_live_blocks == live);
        free(parts);
    }
    guard_free(&guard);
}

/* Parts of patterns in random order: most are invalid, and none may crash. */
static void test_random_patterns(void)
{
    static const char *const ATOMS[] = {
        "a",  "b",   "\\p{L}", "\\s",  "\\S",  "[",     "]",    "[^", "(",   ")",          "|",
        "*",  "+",   "?",      "{2}",  "{1,}", "{0,3}", "(?!",  "$",  ".",   "&&",         "-",
        "^",  "(?:", "(?i:",   "(?i)", "(?=",  "\\",    "x",    " ",  "'",   "+?",         "??",
        "++", "(?>", "[a-c]",  "é",    "\n",   "\\d",   "[^a]", "a+", "a|b", "[[:space:]]"};
    struct guard guard = guard_new(PARTS_MAX), text_guard = guard_new(TEXT_MAX);
    char parts[512];
    uint8_t text[TEXT_MAX];
    int64_t n_compiled = 0, counts[3] = {0};
    running = "random patterns";
    for (round_ = 0; round_ < 100000; round_++) {
        size_t n_bytes = 0;
        parts[n_bytes++] = "oit"[random_below(3)];
        for (size_t k = random_below(12); k > 0; k--) {
            const char *atom = ATOMS[random_below(sizeof ATOMS / sizeof *ATOMS)];
            memcpy(parts + n_bytes, atom, strlen(atom));
            n_bytes += strlen(atom);
        }
        pattern *p = NULL;
        int32_t status = pattern_new(guard_copy(&guard, parts, n_bytes), (int64_t)n_bytes, &p,
                                     NULL);
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_PATTERN);
        for (int i = 0; p && i < 4; i++) {
            size_t n_text = random_text(text, 1 + random_below(20));
            check_borders(p, guard_copy(&text_guard, text, n_text), (int64_t)n_text, counts);
        }
        n_compiled += p != NULL;
        pattern_free(p);
    }
    printf("%lld of %d random patterns compiled\n", (long long)n_compiled, round_);
    guard_free(&text_guard);
    guard_free(&guard);
}

/* The rules of three bytes hold for the families that need them, and not for a pattern whose pieces
 * they would divide. test_cut.c compares the cuts with the pieces of random texts. */
static void test_context(void)
{
    const struct {
        const char *parts;
        int32_t context;
    } rows[] = {
        {PATTERNS[0], PATTERN_BLANKS},
        {PATTERNS[1], PATTERN_BLANKS | PATTERN_MARKS},
        {PATTERNS[2], PATTERN_BLANKS | PATTERN_MARKS},
        {PATTERNS[3], PATTERN_BLANKS | PATTERN_MARKS},
        {PATTERNS[4], 0},
        {"o\\s+|\\S+\0", 0},
        {"o\\s+(?!\\S)|\\s+|[^\\s\\p{L}]?\\p{L}+|[^\\s\\p{L}]\0", PATTERN_BLANKS},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        pattern *p = NULL;
        CHECK(
            !pattern_new((const uint8_t *)rows[k].parts, pattern_length(rows[k].parts), &p, NULL));
        CHECK(p->context == rows[k].context);
        pattern_free(p);
    }
}

int main(void)
{
    setbuf(stdout, NULL);
    random_start(20261127);
    test_hostile();
    test_borders();
    test_memory();
    test_random_patterns();
    test_context();
    CHECK(alloc_live_blocks == 0);
    puts("ok");
    return 0;
}
