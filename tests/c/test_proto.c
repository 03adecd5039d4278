/* test_proto.c - reads random SentencePiece model files, complete, truncated and changed, between
 * guard pages
 *
 * Reading a valid file must return what was written, and no input may cause an access out of
 * bounds. */
#define _DEFAULT_SOURCE

#include <math.h>

#include "check.h"
#include "guard.h"
#include "pieces.h"
#include "structures/distinct.h"
#include "test_alloc.h"

#define FILE_MAX 4096
#define PIECES_ROOM (FILE_MAX / UNITOK_PROTO_PIECE_BYTES_MIN)

typedef struct found {
    uint8_t pieces[FILE_MAX], types[PIECES_ROOM], rest[FILE_MAX];
    int64_t offsets[PIECES_ROOM + 1], n_rest;
    float scores[PIECES_ROOM];
    unitok_proto info;
} found;

static struct guard file_guard;
static uint8_t file[FILE_MAX];
static int64_t n_file;
static found written, got;

static void put(const void *bytes, int64_t n)
{
    memcpy(file + n_file, bytes, (size_t)n);
    n_file += n;
}

static void put_byte(int byte) { file[n_file++] = (uint8_t)byte; }

static void put_varint(int64_t value)
{
    for (; value >= 128; value >>= 7) put_byte((int)(value & 127) | 128);
    put_byte((int)value);
}

static void put_piece(int64_t k, int64_t n_bytes)
{
    const uint8_t *piece = written.pieces + written.offsets[k];
    int has_type = written.types[k] != UNITOK_PIECE_NORMAL || random_below(2),
        type_first = random_below(2) == 0;
    int64_t n_length = n_bytes < 128 ? 1 : 2;
    put_byte(0x0A);
    put_varint(1 + n_length + n_bytes + 5 + 2 * has_type);
    if (has_type && type_first) put_byte(0x18), put_byte(written.types[k]);
    put_byte(0x0A);
    put_varint(n_bytes);
    put(piece, n_bytes);
    put_byte(0x15);
    put(&written.scores[k], 4);
    if (has_type && !type_first) put_byte(0x18), put_byte(written.types[k]);
}

/* A field other than a piece, which the reader copies to `rest`. */
static void put_other(void)
{
    int64_t begin = n_file, n_bytes = random_below(200);
    if (random_below(2)) put_byte(0xC2), put_byte(0x0C); /* field 200 */
    else put_byte(random_below(2) ? 0x12 : 0x2A);
    put_varint(n_bytes);
    for (int64_t i = 0; i < n_bytes; i++) put_byte((int)random_below(256));
    memcpy(written.rest + written.n_rest, file + begin, (size_t)(n_file - begin));
    written.n_rest += n_file - begin;
}

/* A normalizer_spec with a name, a charsmap and a number; the rest excludes the charsmap. */
static void put_normalizer(void)
{
    int64_t n_name = random_below(20), n_charsmap = random_below(300),
            n_length = n_charsmap < 128 ? 1 : 2;
    put_byte(0x1A);
    put_varint(2 + n_name + 1 + n_length + n_charsmap + 2);
    put_byte(0x0A), put_varint(n_name);
    for (int64_t i = 0; i < n_name; i++) put_byte('n');
    put_byte(0x12), put_varint(n_charsmap);
    written.info.charsmap_at = n_file;
    written.info.n_charsmap_bytes = n_charsmap;
    for (int64_t i = 0; i < n_charsmap; i++) put_byte((int)random_below(256));
    put_byte(0x18), put_byte(1);
    uint8_t *rest = written.rest + written.n_rest;
    *rest++ = 0x1A, *rest++ = (uint8_t)(4 + n_name), *rest++ = 0x0A, *rest++ = (uint8_t)n_name;
    memset(rest, 'n', (size_t)n_name);
    rest[n_name] = 0x18, rest[n_name + 1] = 1;
    written.n_rest += 6 + n_name;
}

/* A piece of 2 bytes or more, and its type, in a form that SentencePiece can write. */
static int64_t write_piece(uint8_t *piece, int64_t k)
{
    static const uint8_t text_types[] = {UNITOK_PIECE_NORMAL, UNITOK_PIECE_USER_DEFINED,
                                         UNITOK_PIECE_UNUSED};
    int64_t n_bytes = 2 + random_below(random_below(8) ? 10 : 300);
    uint8_t *type = &written.types[k];
    if (random_below(8) == 0) {
        *type = UNITOK_PIECE_BYTE;
        memcpy(piece, "<0x  >", 6);
        piece[3] = (uint8_t)"0123456789ABCDEF"[k / 16];
        piece[4] = (uint8_t)"0123456789ABCDEF"[k % 16];
        written.info.n_byte_pieces++;
        return 6;
    }
    for (int64_t i = 0; i < n_bytes; i++) piece[i] = (uint8_t)(1 + random_below(255));
    piece[0] = (uint8_t)(k + 1);
    piece[1] = 1;
    *type = random_below(4) ? text_types[random_below(3)] : UNITOK_PIECE_CONTROL;
    if (random_below(8) == 0 && written.info.unknown_id < 0) {
        *type = UNITOK_PIECE_UNKNOWN;
        written.info.unknown_id = k;
    }
    if (*type != UNITOK_PIECE_CONTROL && *type != UNITOK_PIECE_UNKNOWN) written.info.has_texts = 1;
    return n_bytes;
}

/* Returns the number of pieces. Each begins with its number, so that all differ. */
static int64_t write_file(void)
{
    int64_t n = 0, wanted = random_below(40), normalizer_at = random_below(50);
    n_file = written.n_rest = 0;
    written.info = (unitok_proto){.unknown_id = -1, .is_finite = 1};
    while (n < wanted && n_file < FILE_MAX - 1000) {
        int64_t n_bytes = write_piece(written.pieces + written.offsets[n], n);
        written.scores[n] = random_below(100) ? (float)random_below(1000) / 8 - 100 : INFINITY;
        if (isinf(written.scores[n])) written.info.is_finite = 0;
        written.offsets[n + 1] = written.offsets[n] + n_bytes;
        put_piece(n++, n_bytes);
        if (random_below(10) == 0) put_other();
        if (n == normalizer_at) put_normalizer();
    }
    return n;
}

static int64_t read_file(int64_t n_bytes)
{
    uint8_t *bytes = guard_copy(&file_guard, file, (size_t)n_bytes);
    int64_t n = unitok_proto_read(bytes, n_bytes, got.pieces, got.offsets, got.scores, got.types,
                                  got.rest, &got.info);
    got.n_rest = got.info.n_rest_bytes;
    CHECK(n < 0 || got.n_rest <= n_bytes);
    return n;
}

static void test_files(int64_t n_rounds)
{
    for (int64_t round = 0; round < n_rounds; round++) {
        int64_t n = write_file();
        CHECK(read_file(n_file) == n && got.n_rest == written.n_rest);
        CHECK(!memcmp(got.offsets, written.offsets, (size_t)(n + 1) * 8));
        CHECK(!memcmp(got.pieces, written.pieces, (size_t)got.offsets[n]));
        CHECK(!memcmp(got.scores, written.scores, (size_t)n * 4) &&
              !memcmp(got.types, written.types, (size_t)n));
        CHECK(!memcmp(got.rest, written.rest, (size_t)got.n_rest));
        written.info.n_rest_bytes = written.n_rest;
        CHECK(!memcmp(&got.info, &written.info,
                      offsetof(unitok_proto, is_finite) + sizeof got.info.is_finite));
        for (int k = 0; k < 20; k++) CHECK(read_file(random_below(n_file + 1)) <= n);
        for (int k = 0; k < 40 && n_file; k++) {
            uint8_t *place = &file[random_below(n_file)], was = *place;
            *place = random_below(2) ? (uint8_t)random_u64()
                                     : (uint8_t)(was ^ 1 << random_below(8));
            CHECK(read_file(n_file) <= n_file / UNITOK_PROTO_PIECE_BYTES_MIN);
            if (random_below(2)) *place = was;
        }
        CHECK(alloc_live_blocks == 0);
    }
    alloc_fail_at = 1;
    CHECK(read_file(0) == -2);
    alloc_fail_at = 0;
}

/* Short strings of few letters, with duplicates. */
static void test_distinct(int64_t n_rounds)
{
    for (int64_t round = 0; round < n_rounds; round++) {
        int64_t n = random_below(12), is_twice = 0, *offsets = written.offsets;
        for (int64_t k = 0; k < n; k++) {
            offsets[k + 1] = offsets[k] + random_below(round % 2 ? 20 : 5);
            for (int64_t i = offsets[k]; i < offsets[k + 1]; i++)
                written.pieces[i] = (uint8_t)('a' + random_below(2));
            for (int64_t j = 0; j < k; j++)
                is_twice |= offsets[j + 1] - offsets[j] == offsets[k + 1] - offsets[k] &&
                            !memcmp(written.pieces + offsets[j], written.pieces + offsets[k],
                                    (size_t)(offsets[k + 1] - offsets[k]));
        }
        uint8_t *data = guard_copy(&file_guard, written.pieces, (size_t)offsets[n]);
        CHECK(distinct_check(data, offsets, n) == (is_twice ? DISTINCT_MAYBE : DISTINCT_YES));
    }
}

int main(void)
{
    int64_t rounds = rounds_factor();
    random_start(20261122);
    file_guard = guard_new(FILE_MAX);
    RUN(test_files(300 * rounds));
    RUN(test_distinct(2000 * rounds));
    guard_free(&file_guard);
    return 0;
}
