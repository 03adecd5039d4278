/* shards.h - small shards made from arbitrary bytes, in buffers of exactly the documented sizes,
 * and counts from a scan of every position */
#pragma once

#include <stdlib.h>

#include "ground/common.h"
#include "unitok_search.h"

enum { TOY_IDS = 24, TOY_TOKENS = 160, TOY_PIECE_BYTES = 6 };

/* A stream of bytes, followed by an endless run of zeros. */
struct bytes {
    const uint8_t *p;
    size_t n;
};

static inline int take_byte(struct bytes *b)
{
    if (b->n == 0) return 0;
    b->n--;
    return *b->p++;
}

struct toy {
    int n_ids, n_documents;
    uint8_t data[TOY_IDS * TOY_PIECE_BYTES];
    int64_t offsets[TOY_IDS + 1];
    uint8_t drops[TOY_IDS];
    int id_bytes; /* 2 or 4: the size of an id in `stored` and `left` */
    void *stored, *left;
    uint32_t *ids, *rank, *sa, *order;
    uint64_t *first, ends[8];
    uint8_t *top;
    unitok_search_shard shard;
    unitok_search_pieces *pieces;
};

/* allocates exactly n items */
#define EXACTLY(n, type) ((type *)malloc((n) > 0 ? (size_t)(n) * sizeof(type) : 1))

/* Stores n ids in an array of exactly n ids of 2 or 4 bytes. */
static inline void *stored_ids(const uint32_t *ids, int64_t n, int id_bytes)
{
    uint8_t *ret = EXACTLY(n * id_bytes, uint8_t);
    for (int64_t k = 0; k < n; k++) {
        uint16_t narrow = (uint16_t)ids[k];
        memcpy(ret + k * id_bytes, id_bytes == 2 ? (const void *)&narrow : &ids[k],
               (size_t)id_bytes);
    }
    return ret;
}

static inline int64_t toy_id_count(const struct toy *toy)
{
    return toy->id_bytes == 2 ? UNITOK_SEARCH_IDS_16 : UNITOK_SEARCH_IDS_32;
}

static inline void sort_suffixes(const uint32_t *keys, int64_t n, uint32_t *sa)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        for (; at > 0; at--) {
            int64_t a = sa[at - 1], b = k, t = 0;
            while (a + t < n && b + t < n && keys[a + t] == keys[b + t]) t++;
            if (a + t == n || (b + t < n && keys[a + t] < keys[b + t])) break;
            sa[at] = sa[at - 1];
        }
        sa[at] = (uint32_t)k;
    }
}

static inline const uint8_t *toy_piece(const struct toy *toy, int id, int64_t *ret_n)
{
    *ret_n = toy->offsets[id + 1] - toy->offsets[id];
    return toy->data + toy->offsets[id];
}

/* Whether piece a precedes piece b in byte order, or equals it and has a smaller number. */
static inline int toy_before(const struct toy *toy, int a, int b)
{
    int64_t n, m;
    const uint8_t *x = toy_piece(toy, a, &n), *y = toy_piece(toy, b, &m);
    int order = memcmp(x, y, (size_t)(n < m ? n : m));
    return order < 0 || (order == 0 && (n < m || (n == m && a < b)));
}

static inline void toy_free(struct toy *toy)
{
    unitok_search_pieces_free(toy->pieces);
    free(toy->ids);
    free(toy->stored);
    free(toy->left);
    free(toy->rank);
    free(toy->sa);
    free(toy->order);
    free(toy->first);
    free(toy->top);
}

/* Fills everything except the tables of pieces, which toy_pieces fills. */
static inline void toy_shard(struct toy *toy, struct bytes *b)
{
    memset(toy, 0, sizeof *toy);
    static const char letters[] = "aab cd";
    int n_letters = 1 + take_byte(b) % 6, is_by_bytes = take_byte(b) & 1, columns = take_byte(b),
        has_left = columns & 1;
    int eod_kind = take_byte(b) % 3, n = 0;
    toy->id_bytes = columns & 2 ? 4 : 2;
    toy->n_ids = 1 + take_byte(b) % (TOY_IDS - 1);
    for (int id = 0; id < toy->n_ids; id++) {
        int64_t at = toy->offsets[id];
        for (int k = take_byte(b) % TOY_PIECE_BYTES; k > 0; k--)
            toy->data[at++] = (uint8_t)letters[take_byte(b) % n_letters];
        if (eod_kind == 1 && id == 0) at = toy->offsets[id]; /* a separator */
        toy->offsets[id + 1] = at;
        toy->drops[id] = at > toy->offsets[id] && toy->data[toy->offsets[id]] == ' ' &&
                         take_byte(b) % 4;
    }
    toy->n_documents = 1 + take_byte(b) % 6;
    uint32_t ids[TOY_TOKENS];
    for (int d = 0; d < toy->n_documents; d++) {
        for (int k = take_byte(b) % 25; k > 0; k--) {
            int id = take_byte(b) % toy->n_ids;
            ids[n] = (uint32_t)(id == 0 && eod_kind == 1 ? toy->n_ids - 1 : id);
            /* the separator occurs only at ends of documents */
            if (ids[n] == 0 && eod_kind == 1) continue;
            n++;
        }
        if (eod_kind) ids[n++] = 0;
        toy->ends[d] = 1000 + (uint64_t)n;
    }
    int64_t n_all = toy_id_count(toy);
    toy->rank = EXACTLY(n_all, uint32_t);
    for (int64_t id = 0; id < n_all; id++) toy->rank[id] = (uint32_t)id;
    for (int id = 0; id < toy->n_ids && is_by_bytes; id++) {
        toy->rank[id] = 0;
        for (int other = 0; other < toy->n_ids; other++)
            toy->rank[id] += (uint32_t)toy_before(toy, other, id);
    }
    toy->ids = EXACTLY(n, uint32_t);
    toy->sa = EXACTLY(n, uint32_t);
    toy->first = EXACTLY(n_all + 1, uint64_t);
    size_t top_bytes = 4 + 8 * (size_t)toy->id_bytes;
    toy->top = EXACTLY(n ? top_bytes : 0, uint8_t);
    uint32_t keys[TOY_TOKENS], left[TOY_TOKENS];
    memset(toy->first, 0, ((size_t)n_all + 1) * sizeof *toy->first);
    for (int i = 0; i < n; i++) {
        toy->ids[i] = ids[i];
        keys[i] = toy->rank[ids[i]];
        toy->first[keys[i] + 1]++;
    }
    for (int64_t k = 0; k < n_all; k++) toy->first[k + 1] += toy->first[k];
    sort_suffixes(keys, n, toy->sa);
    if (n) {
        memset(toy->top, 0, top_bytes);
        memcpy(toy->top, toy->sa, 4);
        for (int k = 0; k < 8 && (int)toy->sa[0] + k < n; k++)
            memcpy(toy->top + 4 + toy->id_bytes * k, keys + toy->sa[0] + k, (size_t)toy->id_bytes);
    }
    for (int r = 0; r < n; r++) left[r] = toy->ids[toy->sa[r] ? toy->sa[r] - 1 : (uint32_t)n - 1];
    if (has_left) toy->left = stored_ids(left, n, toy->id_bytes);
    toy->stored = stored_ids(ids, n, toy->id_bytes);
    unitok_search_shard shard = {
        n,
        toy->stored,
        toy->id_bytes,
        toy->sa,
        toy->first,
        toy->top,
        n > 0,
        toy->left,
        toy->rank,
        toy->ends,
        toy->n_documents,
        1000,
        eod_kind ? 0 : -1,
        NULL,
    };
    toy->shard = shard;
}

static inline int32_t toy_pieces(struct toy *toy, unitok_error *error)
{
    uint32_t symbols[TOY_IDS * (TOY_PIECE_BYTES + 1)];
    int64_t n = 0;
    for (int id = 0; id < toy->n_ids; id++) {
        for (int64_t k = toy->offsets[id]; k < toy->offsets[id + 1]; k++)
            symbols[n++] = (uint32_t)toy->data[k] + 1;
        symbols[n++] = 0;
    }
    if (!toy->order) {
        toy->order = EXACTLY(n, uint32_t);
        sort_suffixes(symbols, n, toy->order);
    }
    return unitok_search_pieces_new(toy->data, toy->offsets, toy->drops, toy->n_ids,
                                    toy_id_count(toy), toy->rank, toy->order, &toy->pieces, error);
}

/* Counts the occurrences of q by a scan of every position of every document. */
static inline int64_t toy_count(const struct toy *toy, const uint8_t *q, int64_t m)
{
    int64_t total = 0;
    for (int d = 0; d < toy->n_documents && m > 0; d++) {
        uint8_t text[TOY_TOKENS * (TOY_PIECE_BYTES + 1)];
        int64_t n = 0, begin = d ? (int64_t)toy->ends[d - 1] - 1000 : 0;
        int64_t end = (int64_t)toy->ends[d] - 1000 - (toy->shard.eod >= 0);
        for (int64_t i = begin; i < end; i++) {
            int64_t n_piece;
            const uint8_t *piece = toy_piece(toy, (int)toy->ids[i], &n_piece);
            int drop = i == begin && toy->drops[toy->ids[i]];
            if (n_piece == 0) text[n++] = 0; /* no query contains this byte */
            else memcpy(text + n, piece + drop, (size_t)(n_piece - drop));
            n += n_piece - drop;
        }
        for (int64_t i = 0; i + m <= n; i++) total += memcmp(text + i, q, (size_t)m) == 0;
    }
    return total;
}
