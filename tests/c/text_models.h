/* text_models.h - small models of the kinds that encode text, built from bytes, for a test and a
 * fuzzer
 *
 * The stream contains the kind, the flags and the options, then the type and score, n_bytes and
 * bytes of each piece, and the number of a pattern, if the flags require one. */
#pragma once

#include "patterns.h"
#include "pieces.h"

enum { MERGES_ROOM = 2000 };

struct text_model {
    unitok_spec spec;
    struct pieces pieces;
    double scores[PIECES_MAX];
    uint8_t types[PIECES_MAX];
    int64_t merges[3 * MERGES_ROOM];
};

/* A stream of bytes, followed by an endless run of zeros. */
struct bytes {
    const uint8_t *at, *end;
};

static inline uint8_t next_byte(struct bytes *b) { return b->at < b->end ? *b->at++ : 0; }

static inline void text_model_add(struct text_model *t, const void *piece, int64_t n_bytes,
                                  uint8_t type, double score)
{
    int64_t before = t->pieces.n;
    pieces_add(&t->pieces, piece, n_bytes);
    if (t->pieces.n == before) return;
    t->types[before] = type;
    t->scores[before] = score;
}

/* Flags that a model reader sets, or sometimes arbitrary flags, which the library may reject. */
static inline int32_t read_flags(struct bytes *in, int kind)
{
    int32_t flags = next_byte(in) & 31;
    uint8_t more = next_byte(in), how = next_byte(in);
    flags |= more & 1 ? UNITOK_MERGE_UNKNOWN : 0;
    if (how % 16 == 15) return (flags | more << 5) & UNITOK_FLAGS_ALL;
    if (kind == UNITOK_KIND_BPE && how & 1) {
        flags |= UNITOK_LISTED_MERGES | (more & 2 ? UNITOK_IGNORE_MERGES : 0);
        if (flags & UNITOK_ESCAPE_WHITESPACES && more & 4) flags |= UNITOK_RESTART_AT_SPACE;
        int32_t bytes = UNITOK_BYTES | (more & 2 ? UNITOK_IGNORE_MERGES : 0) |
                        (more & 4 ? UNITOK_PATTERN : 0);
        if (how % 16 == 13) return bytes | UNITOK_LISTED_MERGES;
        if (how % 16 == 11) return bytes;
    }
    if (kind != UNITOK_KIND_UNIGRAM || !(how & 6)) return flags;
    if (how % 16 == 14)
        return UNITOK_BYTES | UNITOK_FLOAT64 | (more & 2 ? UNITOK_RESTART_AFTER_NEWLINE : 0);
    flags |= UNITOK_FLOAT64 | (more & 4 ? UNITOK_RESTART_AT_SPACE : 0);
    return flags | (more & 2 && flags & UNITOK_BYTE_FALLBACK ? UNITOK_BYTE_PIECES_MATCH : 0);
}

/* Lists most ways to form a piece from two others, as ids, in a shuffled order. */
static inline void list_merges(struct text_model *t, uint8_t seed)
{
    const struct pieces *p = &t->pieces;
    static int64_t ways[MERGES_ROOM][3];
    int64_t n = 0;
    for (int64_t k = 0; k < p->n; k++) {
        const uint8_t *piece = p->data + p->offsets[k];
        int64_t n_bytes = p->offsets[k + 1] - p->offsets[k];
        for (int64_t at = 1; at < n_bytes && n < MERGES_ROOM; at++) {
            int64_t left = pieces_find(p, piece, at),
                    right = pieces_find(p, piece + at, n_bytes - at);
            if (left < 0 || right < 0 || (k + at + seed) % 5 == 0) continue;
            int64_t way[3] = {p->ids[left], p->ids[right], p->ids[k]};
            memcpy(ways[n++], way, sizeof way);
        }
    }
    for (int64_t k = 0; k < n; k++)
        for (int side = 0; side < 3; side++)
            t->merges[side * n + k] = ways[(k * 7 + seed) % n][side];
    t->spec.merges = t->merges;
    t->spec.n_merges = n;
}

static inline void add_all_bytes(struct text_model *t, uint8_t type)
{
    for (int b = 0; b < 256; b++) {
        char name[8];
        uint8_t byte = (uint8_t)b;
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        if (type == UNITOK_PIECE_BYTE) text_model_add(t, name, 6, type, 0);
        else text_model_add(t, &byte, 1, type, -9);
    }
}

/* Chooses one of PATTERNS, or a pattern that leaves most text between its matches. */
static inline void choose_pattern(struct text_model *t, int seed)
{
    const char *parts = seed % (N_PATTERNS + 1) ? PATTERNS[seed % (N_PATTERNS + 1) - 1] : "oa+b?\0";
    t->spec.pattern = (const uint8_t *)parts;
    t->spec.n_pattern_bytes = pattern_length(parts);
}

static inline void text_model_read(struct text_model *t, struct bytes *in)
{
    static const double scale[] = {0, -0.5, -1e-6, -1000.1, -33333.3, 0.25, -1, -0.1};
    static const uint8_t type_of[] = {1, 1, 1, 1, 1, 4, 5, 3};
    int kind = UNITOK_KIND_UNIGRAM + next_byte(in) % 4;
    int32_t flags = read_flags(in, kind);
    uint8_t more = next_byte(in);
    pieces_clear(&t->pieces);
    if (more % 8) text_model_add(t, "<unk>", 5, UNITOK_PIECE_UNKNOWN, 0);
    text_model_add(t, "</s>", 4, UNITOK_PIECE_CONTROL, 0);
    if (flags & UNITOK_BYTE_FALLBACK) add_all_bytes(t, UNITOK_PIECE_BYTE);
    if (flags & UNITOK_BYTES && more % 16) add_all_bytes(t, UNITOK_PIECE_NORMAL);
    for (int n = next_byte(in) % 64; n > 0 && in->at < in->end; n--) {
        uint8_t piece[32], head = next_byte(in);
        int64_t n_bytes = 1 + next_byte(in) % (head & 128 ? 31 : 7);
        for (int64_t k = 0; k < n_bytes; k++) piece[k] = next_byte(in);
        text_model_add(t, piece, n_bytes, type_of[head & 7], scale[head >> 3 & 7] * (1 + head % 5));
    }
    if (more & 16) /* ids above 65,535 */
        for (int64_t k = 0; k < t->pieces.n; k++) t->pieces.ids[k] += 70000;
    t->spec = longest_spec(t->pieces.data, t->pieces.offsets, t->pieces.ids, t->pieces.n, -1, -1);
    t->spec.kind = kind;
    t->spec.flags = flags;
    t->spec.types = t->types;
    t->spec.scores = t->scores;
    t->spec.unknown_surface = (const uint8_t *)" ?";
    t->spec.n_unknown_surface_bytes = more & 32 ? 2 : 0;
    if (flags & UNITOK_LISTED_MERGES) list_merges(t, more);
    if (flags & UNITOK_PATTERN) choose_pattern(t, next_byte(in));
}

static inline int64_t text_id(const unitok_model_info *info, const void *ids, int64_t k)
{
    return info->id_bytes == 2 ? (int64_t)((const uint16_t *)ids)[k]
                               : (int64_t)((const uint32_t *)ids)[k];
}

/* Encodes text in two parts if it can be split; returns the number of ids, or -1 if allocation
 * fails. */
static inline int64_t encode_halves(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                                    int64_t n_bytes, const unitok_sampling *sampling, void *ids,
                                    int64_t room)
{
    unitok_model_info info;
    unitok_state state;
    int64_t split = unitok_split(m, text, n_bytes), bounds[2] = {0, split}, ends[2], done;
    CHECK(split >= 0 && split <= n_bytes);
    unitok_model_get_info(m, &info);
    memset(&state, 0, sizeof state);
    for (int part = 0; part < 2; part++) {
        int32_t flags = part ? UNITOK_ENCODE_OPEN_START : UNITOK_ENCODE_OPEN_END, status;
        void *at = (uint8_t *)ids + (part ? done : 0) * info.id_bytes;
        int64_t left = room - (part ? done : 0);
        const uint8_t *data = text + (part ? split : 0);
        bounds[1] = part ? n_bytes - split : split;
        if (sampling)
            status = unitok_sample_batch(m, s, sampling, data, bounds, 1, -1, flags, &state, at,
                                         left, ends, NULL);
        else
            status = unitok_encode_batch(m, s, data, bounds, 1, -1, flags, &state, at, left, ends,
                                         NULL);
        if (status == UNITOK_ERROR_MEMORY) return -1;
        CHECK(status == UNITOK_OK);
        done = part ? done + ends[1] : ends[1];
    }
    return done;
}

/* Calls every function on a model. Returns 0 if an allocation failed, or 1 if all calls
 * succeeded and agreed. */
static inline int use_text_model(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    unitok_model_info info;
    unitok_model_get_info(m, &info);
    unitok_scratch *s = unitok_scratch_new(m);
    if (!s) return 0;
    int64_t room = 64 * n_bytes + 100000, bounds[2] = {0, n_bytes}, ends[2], sizes[2], n, ok = 0;
    uint8_t *ids = malloc((size_t)(room * info.id_bytes)),
            *other = malloc((size_t)(room * info.id_bytes));
    unitok_span *spans = malloc((size_t)room * sizeof *spans);
    unitok_paths *paths = NULL;
    size_t width = (size_t)info.id_bytes;
    CHECK(unitok_encode(m, s, text, n_bytes, ids, 0) != 1 || n_bytes);
    n = unitok_encode(m, s, text, n_bytes, ids, room);
    if (n < 0) goto end;
    for (int64_t k = 0; k < n; k++) CHECK(text_id(&info, ids, k) < info.n_ids);
    int32_t again = unitok_encode_batch(m, s, text, bounds, 1, -1, 0, NULL, other, room, ends,
                                        NULL);
    if (again == UNITOK_ERROR_MEMORY) goto end; /* otherwise the ids come from the memo */
    CHECK(!again && ends[1] == n && !memcmp(ids, other, (size_t)n * width));
    int64_t n_halves = encode_halves(m, s, text, n_bytes, NULL, other, room);
    if (n_halves < 0) goto end;
    CHECK(n_halves == n && !memcmp(ids, other, (size_t)n * width));
    int64_t n_spans = unitok_encode_spans(m, s, text, n_bytes, spans, room);
    if (n_spans == -1) goto end;
    CHECK(n_spans == n);
    for (int64_t k = 0; k < n; k++) {
        CHECK(spans[k].id == text_id(&info, ids, k) && spans[k].begin <= spans[k].end &&
              spans[k].end <= n_bytes);
        CHECK(spans[k].piece_end >= (k ? spans[k - 1].piece_end : 0));
    }
    bounds[1] = n;
    CHECK(!unitok_decode_batch(m, ids, bounds, 1, 0, NULL, 0, NULL, -1, sizes, NULL));
    uint8_t *back = malloc((size_t)sizes[1] + 1);
    CHECK(!unitok_decode_batch(m, ids, bounds, 1, 0, NULL, 0, back, sizes[1], sizes, NULL));
    for (int64_t room_left = sizes[1]; room_left >= 0; room_left -= 1 + sizes[1] / 2) {
        uint8_t *few = malloc((size_t)room_left);
        int64_t n_few = unitok_decode(m, ids, n, few, room_left);
        CHECK(n_few == -3 || n_few == (room_left == sizes[1] ? sizes[1] : -2));
        CHECK(n_few < 0 || !memcmp(few, back, (size_t)n_few));
        free(few);
    }
    free(back);
    bounds[1] = n_bytes;
    for (int32_t method = UNITOK_SAMPLE_LATTICE; method <= UNITOK_SAMPLE_DROPOUT; method++) {
        unitok_sampling how = {method, 3, 0.3, 7, 0, 5, NULL};
        int32_t status = unitok_sample_batch(m, s, &how, text, bounds, 1, -1, 0, NULL, ids, room,
                                             ends, NULL);
        if (status == UNITOK_ERROR_MEMORY) goto end;
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_ARGUMENT);
        if (status || method == UNITOK_SAMPLE_NBEST || method == UNITOK_SAMPLE_DROPOUT) continue;
        n_halves = encode_halves(m, s, text, n_bytes, &how, other, room);
        if (n_halves < 0) goto end;
        CHECK(n_halves == ends[1] && !memcmp(ids, other, (size_t)n_halves * width));
    }
    for (int k = 0; k < 4; k++) {
        unitok_sampling how = {0, 0, 0.3, 7, 0, 5, NULL};
        int64_t few = n_bytes < 40 ? n_bytes : 40;
        int32_t status = k < 2
                             ? unitok_nbest(m, s, text, few, 1 + 4 * k, &paths, NULL)
                             : unitok_sample_paths(m, s, &how, text, few, 3, k == 3, &paths, NULL);
        if (status == UNITOK_ERROR_MEMORY) goto end;
        CHECK((status == UNITOK_OK) == (paths != NULL));
        for (int64_t i = 0; paths && i < unitok_paths_count(paths); i++) {
            const unitok_span *path;
            double score;
            int64_t n_path = unitok_paths_get(paths, i, &path, &score);
            for (int64_t j = 0; j < n_path; j++) CHECK(path[j].id >= 0 && path[j].id < info.n_ids);
        }
        unitok_paths_free(paths);
        paths = NULL;
    }
    double entropy;
    ok = unitok_entropy(m, s, text, n_bytes < 40 ? n_bytes : 40, 0.5, &entropy, NULL) !=
         UNITOK_ERROR_MEMORY;
end:
    free(spans);
    free(other);
    free(ids);
    unitok_scratch_free(s);
    return (int)ok;
}
