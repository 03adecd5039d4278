/* spans.c - encoding with the place of every token: one document at a time, without cuts and memo */

#include "model/spans.h"

#include "ground/alloc.h"
#include "ground/packed.h"

enum { SPANS_NO_MEMORY = -1, SPANS_NO_ROOM = -2 };

void document_free(document *d)
{
    mem_free(d->to_source);
    mem_free(d->normalized);
    memset(d, 0, sizeof *d);
}

/* Closes up the space symbols of normalized text, in place; returns its new size. */
static int64_t make_compact(uint8_t *text, int64_t n_bytes)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_bytes; i++, n++) {
        int is_space = n_bytes - i >= 3 && !memcmp(text + i, space_symbol, 3);
        text[n] = is_space ? SPACE_BYTE : text[i];
        if (is_space) i += 2;
    }
    return n;
}

int document_open(const unitok_model *m, const uint8_t *text, int64_t n_bytes, document *d)
{
    memset(d, 0, sizeof *d);
    d->text = text;
    d->n_bytes = n_bytes;
    if (n_bytes > TEXT_BYTES_MAX) return 0;
    if (!m->normalizer) return 1;
    int64_t n = unitok_normalize(m->normalizer, text, n_bytes, 0, NULL, NULL, 0);
    if (n > TEXT_BYTES_MAX) return 0;
    d->normalized = mem_alloc((size_t)n + 1);
    d->to_source = mem_alloc(((size_t)n + 1) * sizeof *d->to_source);
    if (!d->normalized || !d->to_source) {
        document_free(d);
        return 0;
    }
    unitok_normalize(m->normalizer, text, n_bytes, 0, d->normalized, d->to_source, n);
    d->text = d->normalized;
    d->n_bytes = m->compact ? make_compact(d->normalized, n) : n;
    return 1;
}

/* -------------------------------------------------------------------------------------------------- tokens ---- */

typedef struct sink {
    const unitok_model *m;
    const document *d;
    unitok_span *spans;
    int64_t capacity, n;
    int64_t at;           /* in d->text: where the next token begins */
    int64_t piece_at;     /* the same in verbatim normalized text */
    int last_unknown;
} sink;

static int64_t source_of(const sink *s, int64_t piece_at)
{
    return s->d->to_source ? s->d->to_source[piece_at] : piece_at;
}

static int put_span(sink *s, int64_t id, int64_t begin, int64_t end, int64_t piece_end)
{
    if (s->n == s->capacity) return 0;
    unitok_span span = {id, begin, end, piece_end};
    s->spans[s->n++] = span;
    return 1;
}

/* The next n_bytes of the document, unknown, as byte pieces up to s->piece_at: all but the last are empty, as SentencePiece
 * has them. */
static int put_bytes(sink *s, const uint8_t *text, int64_t n_bytes, int64_t piece_at)
{
    int64_t begin = source_of(s, piece_at), end = source_of(s, s->piece_at);
    for (int64_t i = 0; i < n_bytes; i++) {
        int is_space = s->m->compact && text[i] == SPACE_BYTE;
        for (int b = 0; b < (is_space ? 3 : 1); b++) {
            int32_t id = s->m->byte_ids[is_space ? space_symbol[b] : text[i]];
            piece_at++;
            if (!put_span(s, id, begin, piece_at == s->piece_at ? end : begin, piece_at)) return 0;
        }
    }
    return 1;
}

/* The next token of the document; 0 when there is no room. */
static int put_token(sink *s, int32_t id, int64_t n_bytes)
{
    const uint8_t *text = s->d->text + s->at;
    int64_t begin = s->piece_at;
    s->at += n_bytes;
    s->piece_at += n_bytes;
    for (int64_t i = 0; i < n_bytes && s->m->compact; i++) s->piece_at += text[i] == SPACE_BYTE ? 2 : 0;
    int is_unknown = id == TOKEN_UNKNOWN, was_unknown = s->last_unknown;
    s->last_unknown = is_unknown;
    if (is_unknown && s->m->flags & UNITOK_BYTE_FALLBACK)
        return put_bytes(s, text, n_bytes, begin);
    if (is_unknown && was_unknown && s->m->flags & UNITOK_MERGE_UNKNOWN) {
        s->spans[s->n - 1].end = source_of(s, s->piece_at);
        s->spans[s->n - 1].piece_end = s->piece_at;
        return 1;
    }
    return put_span(s, is_unknown ? s->m->unknown_id : id, source_of(s, begin), source_of(s, s->piece_at), s->piece_at);
}

int64_t spans_of_tokens(const unitok_model *m, const document *d, const token *tokens, int64_t n, unitok_span *spans,
                        int64_t capacity)
{
    sink s = {m, d, spans, capacity, 0, 0, 0, 0};
    for (int64_t k = 0; k < n; k++)
        if (!put_token(&s, tokens[k].id, (int64_t)tokens[k].end - s.at)) return SPANS_NO_ROOM;
    return s.n;
}

/* ------------------------------------------------------------------------------------------------ encoding ---- */

static int longest_spans(const unitok_model *m, unitok_scratch *scratch, sink *s, const uint8_t *text, int64_t n_bytes,
                         int *ret_memory)
{
    int64_t token_bytes;
    scratch->window.end = 0;
    for (int64_t i = 0; i < n_bytes; i += token_bytes) {
        int32_t id = longest_at(&m->longest, &scratch->window, text, n_bytes, i, &token_bytes);
        if (id < 0) return *ret_memory = 0;
        if (!put_token(s, id, token_bytes)) return 0;
    }
    return 1;
}

static int unigram_spans(const unitok_model *m, unitok_scratch *scratch, sink *s, const uint8_t *text, int64_t n_bytes,
                         int *ret_memory)
{
    unigram_path *path = &scratch->path;
    unigram_begin(path, 0);
    for (int64_t done = 0; done < n_bytes;) {
        int64_t taken = unigram_advance(m->unigram, path, text + done, n_bytes - done, 1), begin = 0;
        if (taken < 0) return *ret_memory = 0;
        done += taken;
        for (int64_t k = 0; k < path->n_tokens; begin = path->tokens[k++].end)
            if (!put_token(s, path->tokens[k].id, (int64_t)path->tokens[k].end - begin)) return 0;
    }
    return 1;
}

/* A part of a document that is a text of its own. */
static int part_spans(const unitok_model *m, unitok_scratch *scratch, sink *s, const uint8_t *text, int64_t n_bytes,
                      int *ret_memory)
{
    if (m->kind == UNITOK_KIND_LONGEST) return longest_spans(m, scratch, s, text, n_bytes, ret_memory);
    if (m->kind == UNITOK_KIND_UNIGRAM) return unigram_spans(m, scratch, s, text, n_bytes, ret_memory);
    token *tokens = scratch_tokens(scratch, 3 * n_bytes);
    int64_t n = tokens ? encode_alone(m, scratch, text, n_bytes, tokens) : -1;
    if (n < 0) return *ret_memory = 0;
    int64_t begin = 0;
    for (int64_t k = 0; k < n; begin = tokens[k++].end)
        if (!put_token(s, tokens[k].id, (int64_t)tokens[k].end - begin)) return 0;
    return 1;
}

int64_t unitok_encode_spans(const unitok_model *m, unitok_scratch *scratch, const uint8_t *text, int64_t n_bytes,
                            unitok_span *spans, int64_t capacity)
{
    document d;
    if (!document_open(m, text, n_bytes, &d)) return SPANS_NO_MEMORY;
    sink s = {m, &d, spans, capacity, 0, 0, 0, 0};
    int has_room = 1, has_memory = 1;
    for (int64_t begin = 0, end; begin < d.n_bytes && has_room; begin = end) {
        for (end = begin + 1; end < d.n_bytes && !restarts(m, d.text[end - 1], d.text[end]); end++) continue;
        has_room = part_spans(m, scratch, &s, d.text + begin, end - begin, &has_memory);
    }
    document_free(&d);
    return !has_memory ? SPANS_NO_MEMORY : !has_room ? SPANS_NO_ROOM : s.n;
}
