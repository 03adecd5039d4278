/* test_normalize.c - tests normalization of texts between guard pages: in parts and at once, with
 * damaged charsmaps and failing allocations
 *
 * tests/test_normalize.py compares the results with the oracle. */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "charsmaps.h"
#include "check.h"
#include "guard.h"
#include "random.h"

static unitok_normalizer_info info_of(const unitok_normalizer *n)
{
    unitok_normalizer_info info;
    unitok_normalizer_get_info(n, &info);
    return info;
}

static size_t random_below(size_t n) { return (size_t)((random_u64() >> 33) % n); }

#define TEXT_MAX 6000
static const char *const ATOMS[] = {
    "a",
    "b",
    " ",
    "  ",
    "\n",
    "hello world ",
    "the end",
    "\xE2\x96\x81",
    "\xE2\x96\x81\xE2\x96\x81",
    "\xC3\xA9",
    "e\xCC\x81",
    "\xD1\x8F",
    "\xE3\x81\x8B\xE3\x82\x99",
    "\xE7\x8C\xAB",
    "\xF0\x9F\x98\x80",
    "\xE2",
    "\x96",
    "\x81",
    "\xE2\x96",
    "\xFF",
    "\xED\xA0\x80",
    "\xC0\x80",
    "\xF4\x90\x80\x80",
    "\xE3\x80\x80",
    "\t",
    "\xEF\xBC\x8C",
    ",",
    "z",
};

static size_t random_string(uint8_t *ret, size_t n_atoms, size_t max_bytes)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < n_atoms; i++) {
        const char *atom = ATOMS[random_below(sizeof ATOMS / sizeof *ATOMS)];
        if (n_bytes + strlen(atom) > max_bytes) break;
        memcpy(ret + n_bytes, atom, strlen(atom));
        n_bytes += strlen(atom);
    }
    return n_bytes;
}

static uint8_t *random_charsmap(int64_t *ret_n_bytes)
{
    static struct charsmap_maker maker;
    uint8_t key[64], to[64];
    maker_start(&maker);
    for (size_t k = random_below(8); k > 0; k--) {
        size_t n_key = random_string(key, 1 + random_below(3), sizeof key);
        size_t n_to = random_string(to, random_below(4), sizeof to);
        maker_add(&maker, key, n_key, to, n_to);
    }
    return maker_finish(&maker, ret_n_bytes);
}

/* A specification with random user-defined pieces. */
struct pieces {
    uint8_t data[1024], types[8];
    int64_t offsets[9];
};

static unitok_spec random_spec(struct pieces *p, const uint8_t *blob, int64_t n_blob_bytes)
{
    int64_t n = (int64_t)random_below(5);
    p->offsets[0] = 0;
    for (int64_t k = 0; k < n; k++) {
        size_t n_bytes = random_string(p->data + p->offsets[k], 1 + random_below(3), 100);
        p->offsets[k + 1] = p->offsets[k] + (int64_t)n_bytes;
        p->types[k] = random_below(4) ? UNITOK_PIECE_USER_DEFINED : UNITOK_PIECE_NORMAL;
    }
    return (unitok_spec){.flags = (int32_t)random_below(16),
                         .n_pieces = n,
                         .data = p->data,
                         .offsets = p->offsets,
                         .types = p->types,
                         .charsmap = blob,
                         .n_charsmap_bytes = n_blob_bytes};
}

/* Normalizes text in parts that end at split points; each call gets little output space. */
static int64_t in_parts(const unitok_normalizer *n, const struct guard *in,
                        const struct guard *room, const uint8_t *text, int64_t n_bytes,
                        int is_verbatim, uint8_t *out, int64_t capacity)
{
    unitok_normalize_state state = {.is_verbatim = is_verbatim};
    int64_t done = 0, seen = 0, n_out = 0;
    while (!state.is_ended) {
        int last = seen == n_bytes;
        const uint8_t *part = guard_copy(in, text + done, (size_t)(seen - done));
        int64_t end = last ? n_bytes - done : unitok_normalize_split(n, part, seen - done),
                consumed = 0;
        CHECK(end >= 0 && end <= seen - done);
        do {
            int64_t n_room = info_of(n).step_bytes + (int64_t)random_below(40);
            uint8_t *to = guard_copy(room, NULL, (size_t)n_room);
            int64_t n_new = unitok_normalize_some(n, &state, part, end, &consumed, last, to,
                                                  n_room);
            CHECK(n_new >= 0 && n_new <= n_room && n_out + n_new <= capacity);
            memcpy(out + n_out, to, (size_t)n_new);
            n_out += n_new;
        } while (consumed < end || (last && !state.is_ended));
        done += end;
        seen += (int64_t)random_below(600);
        if (seen > n_bytes) seen = n_bytes;
    }
    return n_out;
}

static void check_text(const unitok_normalizer *n, const struct guard *guards, const uint8_t *text,
                       int64_t n_bytes)
{
    static uint8_t parts[80 * TEXT_MAX];
    for (int compact = 0; compact < 2; compact++) {
        const uint8_t *in = guard_copy(&guards[0], text, (size_t)n_bytes);
        int64_t n_out = unitok_normalize(n, in, n_bytes, compact, NULL, NULL, 0);
        CHECK(n_out >= 0 && n_out <= (int64_t)sizeof parts);
        uint8_t *whole = guard_copy(&guards[1], NULL, (size_t)n_out);
        int64_t *offsets = malloc((size_t)(n_out + 1) * sizeof *offsets);
        CHECK(unitok_normalize(n, in, n_bytes, compact, whole, offsets, n_out) == n_out);
        for (int64_t i = 0; i < n_out; i++) CHECK(offsets[i] >= 0 && offsets[i] <= offsets[i + 1]);
        CHECK(offsets[n_out] <= n_bytes);
        free(offsets);
        CHECK(in_parts(n, &guards[0], &guards[2], text, n_bytes, !compact, parts, sizeof parts) ==
              n_out);
        CHECK(!n_out || !memcmp(parts, whole, (size_t)n_out));
    }
}

/* Changes some units; the result must be rejected or work safely. */
static void damage(uint8_t *blob, int64_t n_bytes)
{
    for (size_t k = 1 + random_below(4); k > 0; k--) {
        uint32_t at = (uint32_t)random_below((size_t)n_bytes / 4) * 4, unit;
        memcpy(&unit, blob + at, 4);
        unit ^= 1u << random_below(32);
        if (random_below(4) == 0) unit = (uint32_t)random_u64();
        if (at + 4 <= n_bytes) memcpy(blob + at, &unit, 4);
    }
}

/* Returns the supported instruction sets in turn. */
static int32_t next_cpu(void)
{
    static int32_t cpu = UNITOK_CPU_NEON;
    do cpu = cpu == UNITOK_CPU_NEON ? UNITOK_CPU_PORTABLE : cpu + 1;
    while (!unitok_cpu_supported(cpu));
    return cpu;
}

static void check_one(const struct guard *guards, int is_damaged)
{
    static uint8_t text[TEXT_MAX];
    struct pieces pieces;
    int64_t n_blob_bytes;
    uint8_t *blob = random_charsmap(&n_blob_bytes);
    if (is_damaged) damage(blob, n_blob_bytes);
    const uint8_t *guarded = guard_copy(&guards[3], blob, (size_t)n_blob_bytes);
    unitok_spec spec = random_spec(&pieces, guarded, random_below(8) ? n_blob_bytes : 0);
    unitok_normalizer *n = NULL;
    unitok_error error = {0};
    int32_t status = unitok_normalizer_new(&spec, next_cpu(), &n, &error);
    CHECK(status == UNITOK_OK ? n != NULL
                              : is_damaged && status == UNITOK_ERROR_VOCABULARY && error.message);
    if (n) {
        CHECK(info_of(n).memory_bytes <= alloc_live_bytes);
        size_t n_bytes = random_string(text, random_below(60), sizeof text);
        check_text(n, guards, text, (int64_t)n_bytes);
        if (random_below(20) == 0) { /* many held spaces, released or not */
            n_bytes = random_string(text, 5, 100);
            for (int i = 0; i < 500; i++, n_bytes += 3) memcpy(text + n_bytes, "\xE2\x96\x81", 3);
            n_bytes += random_string(text + n_bytes, random_below(3), 100);
            check_text(n, guards, text, (int64_t)n_bytes);
        }
    }
    unitok_normalizer_free(n);
    free(blob);
    CHECK(alloc_live_blocks == 0);
}

/* Rules of every class for text that is copied in blocks; their keys are placed at every offset of
 * a block and across its edges. */
static const char *const RULES[][2] = {
    {"\n", " "},
    {"\t", " "},
    {"\x01", ""},
    {"A", "a"},
    {"\xEF\xBC\x8C", ","},
    {"\xE3\x80\x80", " "},
    {"e\xCC\x81", "\xC3\xA9"},
    {"\xD0\xB8\xCC\x86", "\xD0\xB9"},
    {"\xE3\x81\x8B\xE3\x82\x99", "\xE3\x81\x8C"},
    {"q,", "Q"},
    {"\xE2\x80\xA6", "..."},
};
static const char *const IN_BLOCKS[] = {
    " ",
    "  ",
    "   ",
    "\n",
    " \n",
    "\n ",
    "\n\n ",
    "\t\x01 ",
    " \x01 ",
    "A",
    "q,",
    "qe",
    "\xEF\xBC\x8C",
    "\xEF\xBC\x8C ",
    " \xE3\x80\x80",
    "\xE3\x80\x80 ",
    "e\xCC\x81",
    "e\xCC\x80",
    "\xCC\x81",
    "\xD0\xB8\xCC\x86",
    "\xD0\xB8\xCC\x87",
    "\xE3\x81\x8B\xE3\x82\x99",
    "\xE3\x82\x99",
    "\xE2\x80\xA6",
    "\xE2\x96\x81",
    " \xE2\x96\x81 ",
    "\xE7\x8C\xAB",
    "\xF0\x9F\x98\x80",
    "\xE2\x96",
    "\xF0\x9F\x98",
    "\xE7\xE7\x8C\xAB",
    "\xD0\xD0\xB8",
    "\xC3",
    "\x81",
    "\xE7\x8C\xAB\x81",
    "\xF0\x9F\xE7\x8C\xAB",
};

static unitok_normalizer *block_normalizer(int32_t flags, int32_t cpu)
{
    static struct charsmap_maker maker;
    maker_start(&maker);
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        const char *from = RULES[i][0], *to = RULES[i][1];
        maker_add(&maker, (const uint8_t *)from, strlen(from), (const uint8_t *)to, strlen(to));
    }
    int64_t n_bytes;
    uint8_t *blob = maker_finish(&maker, &n_bytes);
    unitok_spec spec = {.flags = flags, .charsmap = blob, .n_charsmap_bytes = n_bytes};
    unitok_normalizer *n = NULL;
    CHECK(unitok_normalizer_new(&spec, cpu, &n, NULL) == UNITOK_OK);
    free(blob);
    return n;
}

/* Checks a text of n_bytes that repeats `sort`, with the string `it` at every offset around the
 * edges of blocks. */
static void check_offsets(const unitok_normalizer *n, const struct guard *guards, const char *sort,
                          int64_t n_bytes, const uint8_t *it, int64_t n_it)
{
    uint8_t text[300];
    int64_t n_sort = (int64_t)strlen(sort);
    for (int64_t i = 0; i < n_bytes; i++) text[i] = (uint8_t)sort[i % n_sort];
    for (int64_t at = 0; at + n_it <= n_bytes; at += at == 3    ? 28
                                                     : at == 35 ? 24
                                                     : at == 68 ? 54
                                                                : 1) {
        uint8_t with[300];
        memcpy(with, text, (size_t)n_bytes);
        memcpy(with + at, it, (size_t)n_it);
        check_text(n, guards, with, n_bytes);
    }
}

static void check_blocks(const struct guard *guards, int32_t flags, int32_t cpu)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 16, 32, 63, 64, 65, 127, 128, 129, 192};
    static const char *const sorts[] = {"x", "and so on ", "\xD1\x8F", "\xE7\x8C\xAB"};
    unitok_normalizer *n = block_normalizer(flags, cpu);
    for (int byte = 0; byte < 256; byte++) {
        check_offsets(n, guards, "and \xD1\x8F\xE7\x8C\xAB", 130, &(uint8_t){(uint8_t)byte}, 1);
    }
    for (size_t k = 0; k < sizeof IN_BLOCKS / sizeof *IN_BLOCKS; k++) {
        const uint8_t *it = (const uint8_t *)IN_BLOCKS[k];
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            check_offsets(n, guards, sorts[(k + l) % 4], lengths[l], it,
                          (int64_t)strlen(IN_BLOCKS[k]));
        }
    }
    unitok_normalizer_free(n);
}

/* Each allocation fails once. */
static void check_memory(void)
{
    struct pieces pieces;
    int64_t n_blob_bytes;
    uint8_t *blob = random_charsmap(&n_blob_bytes);
    unitok_spec spec = random_spec(&pieces, blob, n_blob_bytes);
    for (int64_t k = 1;; k++) {
        unitok_normalizer *n = NULL;
        unitok_error error = {0};
        int64_t before = alloc_failures;
        alloc_fail_at = k;
        int32_t status = unitok_normalizer_new(&spec, UNITOK_CPU_AUTO, &n, &error);
        alloc_fail_at = 0;
        CHECK(status == (alloc_failures > before ? UNITOK_ERROR_MEMORY : UNITOK_OK));
        CHECK((n != NULL) == (status == UNITOK_OK));
        unitok_normalizer_free(n);
        CHECK(alloc_live_blocks == 0);
        if (status == UNITOK_OK) break;
    }
    free(blob);
}

int main(void)
{
    random_start(20240711);
    struct guard guards[4] = {guard_new(TEXT_MAX), guard_new(80 * TEXT_MAX), guard_new(1 << 16),
                              guard_new(1 << 20)};
    for (int i = 0; i < 20000; i++) check_one(guards, i % 3 == 2);
    for (int32_t cpu = UNITOK_CPU_PORTABLE; cpu <= UNITOK_CPU_NEON; cpu++) {
        for (int32_t flags = 0; flags < 8 && unitok_cpu_supported(cpu); flags += 2)
            check_blocks(guards, flags, cpu);
        if (unitok_cpu_supported(cpu)) check_blocks(guards, 7, cpu);
    }
    for (int i = 0; i < 50; i++) check_memory();
    for (int i = 0; i < 4; i++) guard_free(&guards[i]);
    puts("ok");
    return 0;
}
