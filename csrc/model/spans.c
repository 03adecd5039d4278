/* spans.c - encodes one document with the span of every token, without cuts or the memo
 *
 * Spans are usually requested for single documents, so this path is simple rather than fast. The
 * document is normalized in one call and encoded as one text, and every token is mapped back to its
 * source bytes.
 *
 *     document      "Ａ b"                    bytes of the caller
 *     verbatim      "▁A▁b"  to_source[]       one entry per byte, with U+2581 in three bytes
 *     text          " A b"                    compact: what the encoder reads
 *
 * `at` is a position in the third form and `piece_at` one in the second, so a compact space
 * advances `at` by one and `piece_at` by three. */

#include "model/spans.h"

#include "ground/alloc.h"
#include "model/kind.h"

/* Clears the structure, so that freeing twice is harmless. */
void document_free(document *d)
{
    mem_free(d->to_source);
    mem_free(d->normalized);
    memset(d, 0, sizeof *d);
}

/* Normalizes twice, the first time only to find the size: a document is not kept for long, and
 * guessing the size would waste memory for long ones. The size is checked again after
 * normalization, which can make a text longer. */
int document_open(const unitok_model *m, const uint8_t *text, int64_t n_bytes, document *d)
{
    memset(d, 0, sizeof *d);
    d->text = text;
    d->n_bytes = n_bytes;
    if (n_bytes > TEXT_BYTES_MAX) return ENCODE_TOO_LONG;
    if (!m->normalizer) return 0;
    int64_t n = unitok_normalize(m->normalizer, text, n_bytes, 0, NULL, NULL, 0);
    if (n > TEXT_BYTES_MAX) return ENCODE_TOO_LONG;
    d->normalized = mem_alloc((size_t)n + 1);
    d->to_source = mem_alloc(((size_t)n + 1) * sizeof *d->to_source);
    if (!d->normalized || !d->to_source) {
        document_free(d);
        return ENCODE_NO_MEMORY;
    }
    unitok_normalize(m->normalizer, text, n_bytes, 0, d->normalized, d->to_source, n);
    d->text = d->normalized;
    d->n_bytes = m->compact ? space_symbols_close(d->normalized, n, d->normalized) : n;
    return 0;
}

/* ---------------------------------------------------------------------------------- tokens ---- */

/* The conversion of the tokens of a document into spans. It tracks three positions at once, because
 * the size of a token can differ in the three forms of the text. */
typedef struct sink {
    const unitok_model *m;
    const document *d;
    unitok_span *spans;
    int64_t capacity, n;
    int64_t at;       /* the start of the next token in d->text */
    int64_t piece_at; /* the same position in verbatim normalized text */
    int last_unknown;
} sink;

/* Without normalization every position is its own source. */
static int64_t source_of(const sink *s, int64_t piece_at)
{
    return s->d->to_source ? s->d->to_source[piece_at] : piece_at;
}

/* The array belongs to the caller, who chose its size, so it is checked at each span. */
static int put_span(sink *s, int64_t id, int64_t begin, int64_t end, int64_t piece_end)
{
    if (s->n == s->capacity) return 0;
    unitok_span span = {id, begin, end, piece_end};
    s->spans[s->n++] = span;
    return 1;
}

/* Adds the byte pieces of an unknown token, which is n_bytes long and ends at s->piece_at in
 * verbatim text. As in SentencePiece, all but the last have empty spans. The last one has the span
 * of the token, so that the spans of a document cover it exactly once. */
static int put_bytes(sink *s, const uint8_t *text, int64_t n_bytes, int64_t piece_at)
{
    int64_t begin = source_of(s, piece_at), end = source_of(s, s->piece_at);
    for (int64_t i = 0; i < n_bytes; i++) {
        int32_t ids[3];
        int n = byte_fallback(s->m, text + i, ids);
        for (int b = 0; b < n; b++) {
            piece_at++;
            if (!put_span(s, ids[b], begin, piece_at == s->piece_at ? end : begin, piece_at))
                return 0;
        }
    }
    return 1;
}

/* Adds the next token of the document; 0 if the array is full. The position in verbatim text
 * advances by two more for each space of compact text, which stands for three bytes. */
static int put_token(sink *s, int32_t id, int64_t n_bytes)
{
    const uint8_t *text = s->d->text + s->at;
    int64_t begin = s->piece_at;
    s->at += n_bytes;
    s->piece_at += n_bytes;
    for (int64_t i = 0; i < n_bytes && s->m->compact; i++)
        s->piece_at += text[i] == SPACE_BYTE ? 2 : 0;
    /* Three cases: an unknown character that becomes byte pieces; an unknown character after
     * another one, whose span grows; and everything else. */
    int is_unknown = id == TOKEN_UNKNOWN, was_unknown = s->last_unknown;
    s->last_unknown = is_unknown;
    if (is_unknown && s->m->flags & UNITOK_BYTE_FALLBACK) return put_bytes(s, text, n_bytes, begin);
    if (is_unknown && was_unknown && s->m->flags & UNITOK_MERGE_UNKNOWN) {
        s->spans[s->n - 1].end = source_of(s, s->piece_at);
        s->spans[s->n - 1].piece_end = s->piece_at;
        return 1;
    }
    return put_span(s, is_unknown ? s->m->unknown_id : id, source_of(s, begin),
                    source_of(s, s->piece_at), s->piece_at);
}

/* Adds the tokens of d->text from s->at on; 0 if the array is full. Ends count from the start of
 * this part, so their difference from s->at is the size of the token. */
static int put_tokens(sink *s, const token *tokens, int64_t n)
{
    int64_t begin = s->at;
    for (int64_t k = 0; k < n; k++)
        if (!put_token(s, tokens[k].id, begin + (int64_t)tokens[k].end - s->at)) return 0;
    return 1;
}

/* The tokens must cover the document from its start, because a position follows from all tokens
 * before it. */
int64_t spans_of_tokens(const unitok_model *m, const document *d, const token *tokens, int64_t n,
                        unitok_span *spans, int64_t capacity)
{
    sink s = {m, d, spans, capacity, 0, 0, 0, 0};
    return put_tokens(&s, tokens, n) ? s.n : ENCODE_CAPACITY;
}

/* -------------------------------------------------------------------------------- Encoding ---- */

/* Encodes a part of the document that is a separate text, because the sum restarts where the part
 * begins. The ends of its tokens count from its own start, which is s->at. Returns 0 or an ENCODE_
 * code. */
static int put_part(sink *s, unitok_scratch *scratch, const uint8_t *text, int64_t n_bytes)
{
    const model_kind *kind = s->m->kind;
    token *tokens = scratch_tokens(scratch, kind->tokens_per_byte * n_bytes);
    int64_t n = tokens ? kind->encode(s->m, scratch, text, n_bytes, tokens) : -1;
    return n < 0 ? ENCODE_NO_MEMORY : put_tokens(s, tokens, n) ? 0 : ENCODE_CAPACITY;
}

/* The parts between restarts of the sum are encoded one after another; their tokens are the same as
 * if each part were a document. */
int64_t unitok_encode_spans(const unitok_model *m, unitok_scratch *scratch, const uint8_t *text,
                            int64_t n_bytes, unitok_span *spans, int64_t capacity)
{
    document d;
    sink s = {m, &d, spans, capacity, 0, 0, 0, 0};
    int code = document_open(m, text, n_bytes, &d);
    for (int64_t begin = 0, end; begin < d.n_bytes && !code; begin = end) {
        end = restart_next(m, d.text, begin, d.n_bytes);
        code = put_part(&s, scratch, d.text + begin, end - begin);
    }
    document_free(&d);
    return code ? code : s.n;
}
