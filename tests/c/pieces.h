/* pieces.h - a vocabulary for C tests, with slow and obvious reference functions */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ground/common.h"
#include "random.h"

#define PIECES_MAX 600
#define PIECES_BYTES_MAX 65536

struct pieces {
    uint8_t data[PIECES_BYTES_MAX];
    int64_t offsets[PIECES_MAX + 1], ids[PIECES_MAX], n;
    int64_t fallback_id; /* -1: all 256 bytes are pieces */
};

/* A spec for greedy longest-prefix encoding with these pieces. */
static inline unitok_spec longest_spec(const uint8_t *data, const int64_t *offsets,
                                       const int64_t *ids, int64_t n, int64_t eod_id,
                                       int64_t fallback_id)
{
    unitok_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.kind = UNITOK_KIND_LONGEST;
    spec.n_pieces = n;
    spec.data = data;
    spec.offsets = offsets;
    spec.ids = ids;
    spec.eod_id = eod_id;
    spec.fallback_id = fallback_id;
    return spec;
}

/* A spec with these pieces for a kind with scores and types; without types, all pieces are
 * normal. */
static inline unitok_spec scored_spec(const struct pieces *p, int32_t kind, int32_t flags,
                                      const double *scores, const uint8_t *types)
{
    unitok_spec spec = longest_spec(p->data, p->offsets, p->ids, p->n, -1, -1);
    spec.kind = kind;
    spec.flags = flags;
    spec.scores = scores;
    spec.types = types;
    return spec;
}

static inline void pieces_clear(struct pieces *p)
{
    p->n = 0;
    p->offsets[0] = 0;
    p->fallback_id = -1;
}

static inline int64_t pieces_find(const struct pieces *p, const uint8_t *piece, int64_t n_bytes)
{
    for (int64_t k = 0; k < p->n; k++)
        if (p->offsets[k + 1] - p->offsets[k] == n_bytes &&
            !memcmp(p->data + p->offsets[k], piece, (size_t)n_bytes))
            return k;
    return -1;
}

/* Adds a piece with the next id, unless it is empty, a duplicate or too large. */
static inline void pieces_add(struct pieces *p, const void *piece, int64_t n_bytes)
{
    int64_t end = p->offsets[p->n];
    if (n_bytes <= 0 || p->n == PIECES_MAX || end + n_bytes > PIECES_BYTES_MAX) return;
    if (pieces_find(p, piece, n_bytes) >= 0) return;
    memcpy(p->data + end, piece, (size_t)n_bytes);
    p->ids[p->n] = p->n * 7 % 4001 + 1; /* neither ascending nor starting at 0 */
    p->offsets[++p->n] = end + n_bytes;
}

static inline void pieces_add_bytes(struct pieces *p)
{
    for (int b = 0; b < 256; b++) {
        uint8_t byte = (uint8_t)b;
        pieces_add(p, &byte, 1);
    }
}

/* Encodes by definition: takes the longest piece at every position, or the fallback id if no piece
 * matches. ids and ends have space for n_bytes. */
static inline int64_t pieces_encode(const struct pieces *p, const uint8_t *text, int64_t n_bytes,
                                    uint16_t *ids, int64_t *ends)
{
    int64_t n = 0, length;
    for (int64_t i = 0; i < n_bytes; i += length) {
        int64_t id = p->fallback_id;
        length = 0;
        for (int64_t k = 0; k < p->n; k++) {
            int64_t n_piece = p->offsets[k + 1] - p->offsets[k];
            if (n_piece <= length || n_piece > n_bytes - i) continue;
            if (p->data[p->offsets[k]] != text[i] ||
                memcmp(p->data + p->offsets[k], text + i, (size_t)n_piece))
                continue;
            length = n_piece;
            id = p->ids[k];
        }
        if (length == 0) length = 1;
        ends[n] = i + length;
        ids[n++] = (uint16_t)id;
    }
    return n;
}

/* Whether a piece could span position i. No piece spans position 0, where a segment begins. If
 * `continues` is set, a piece could extend past the end of the text, because any text can
 * follow. */
static inline int pieces_span(const struct pieces *p, const uint8_t *text, int64_t n_bytes,
                              int64_t i, int continues)
{
    for (int64_t k = 0; k < p->n; k++) {
        const uint8_t *piece = p->data + p->offsets[k];
        int64_t n_piece = p->offsets[k + 1] - p->offsets[k];
        for (int64_t before = 1; before < n_piece && before <= i; before++) {
            int64_t n_known = n_bytes - (i - before);
            if (n_known < n_piece && !continues) continue;
            if (n_known > n_piece) n_known = n_piece;
            if (piece[before] == text[i] && !memcmp(piece, text + i - before, (size_t)n_known))
                return 1;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------------------------- Random ---- */

static inline int64_t random_below(int64_t n)
{
    return (int64_t)((random_u64() >> 33) % (uint64_t)n);
}

/* Pieces and texts are made from the same symbols, so that pieces match. */
static const char *const symbol_sets[][12] = {
    {"a", "b", NULL},
    {"a", "Z", " ", "0", "'", "-", "\n", ".", "@", "{", NULL},
    {"猫", "は", "で", "あ", "る", "。", "a", " ", NULL},
    {"я", "ж", "ع", "é", "猫", "😀", "\xe7\x8c", "\xab", "\xd1", "\xf0\x9f", NULL},
    {"\x80", "\xbf", "\xc0", "\xdf", "\xe0", "\xef", "\xf0", "\xff", "\x7f", NULL},
    {NULL}, /* any byte, including NUL */
};
enum { N_SYMBOL_SETS = sizeof symbol_sets / sizeof *symbol_sets };

/* Fills out[0..n_bytes-1] with random symbols of a set. */
static inline void random_symbols(int set, uint8_t *out, int64_t n_bytes)
{
    int n_symbols = 0;
    while (symbol_sets[set][n_symbols]) n_symbols++;
    for (int64_t at = 0; at < n_bytes;) {
        uint8_t byte = (uint8_t)random_u64();
        const char *symbol = n_symbols ? symbol_sets[set][random_below(n_symbols)]
                                       : (const char *)&byte;
        int64_t n = n_symbols ? (int64_t)strlen(symbol) : 1;
        if (n > n_bytes - at) n = n_bytes - at;
        memcpy(out + at, symbol, (size_t)n);
        at += n;
    }
}

static inline void random_pieces(struct pieces *p, int set)
{
    uint8_t piece[300];
    int64_t n = random_below(60);
    pieces_clear(p);
    if (random_below(2)) pieces_add_bytes(p);
    else p->fallback_id = 5000;
    for (int64_t k = 0; k < n; k++) {
        int64_t n_bytes = random_below(30) == 0 ? 1 + random_below(300) : 1 + random_below(9);
        random_symbols(set, piece, n_bytes);
        pieces_add(p, piece, n_bytes);
    }
}

/* The ids and ends from unitok_encode_spans; -1 unless the spans cover text[0..n_bytes) piece by
 * piece. */
static inline int64_t encode_ends(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                                  int64_t n_bytes, uint16_t *ids, int64_t *ends)
{
    unitok_span *spans = malloc(((size_t)n_bytes + 1) * sizeof *spans);
    int64_t n = unitok_encode_spans(m, s, text, n_bytes, spans, n_bytes);
    for (int64_t k = 0; k < n; k++) {
        if (spans[k].begin != (k ? spans[k - 1].end : 0) || spans[k].end != spans[k].piece_end)
            n = -1;
        ids[k] = (uint16_t)spans[k].id;
        ends[k] = spans[k].end;
    }
    free(spans);
    return n;
}
