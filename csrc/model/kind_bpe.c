/* kind_bpe.c - byte pair encoding, as in SentencePiece and as in Hugging Face
 *
 * Both have the same encoder (encoders/bpe.h); they differ in where the merges come from.
 * In SentencePiece, the merges follow from the pieces: two pieces whose concatenation is a piece
 * can be merged, and the score of that piece gives the rank. Hugging Face lists its merges, and the
 * list need not produce every piece. */

#include "encoders/bpe.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"
#include "model/build.h"
#include "model/image.h"
#include "model/run.h"

/* Builds Hugging Face's BPE. Its encoder applies byte fallback and fuses unknown characters within
 * a segment. merge_unknown fuses those on the two sides of a cut. But if a merge can produce the
 * unknown piece, merge_unknown cannot distinguish such a piece, which is never fused, from an
 * unknown character. So such models encode a document as one segment, within which the encoder does
 * all the fusing. */
static int32_t build_merges(unitok_model *m, const unitok_spec *spec, bpe **ret,
                            unitok_error *error)
{
    int32_t flags = 0;
    int64_t n = spec->n_merges;
    if (m->spec.flags & UNITOK_BYTE_FALLBACK) flags |= BPE_BYTE_FALLBACK;
    if (m->flags & UNITOK_MERGE_UNKNOWN) flags |= BPE_FUSE_UNKNOWN;
    if (m->flags & UNITOK_IGNORE_MERGES) flags |= BPE_IGNORE_MERGES;
    if (m->compact) flags |= BPE_COMPACT;
    int32_t status = bpe_new_merges(spec, spec->merges, spec->merges + n, spec->merges + 2 * n, n,
                                    m->unknown_id, flags, ret, error);
    /* the error is in the file, not in the call */
    if (status == UNITOK_ERROR_ARGUMENT && error) error->status = UNITOK_ERROR_VOCABULARY;
    if (status) return status == UNITOK_ERROR_ARGUMENT ? UNITOK_ERROR_VOCABULARY : status;
    m->is_whole = (bpe_traits(*ret) & BPE_WHOLE) != 0;
    for (int64_t k = 0; k < n; k++) m->is_whole |= spec->merges[2 * n + k] == m->unknown_id;
    if (m->is_whole) m->flags &= ~UNITOK_MERGE_UNKNOWN;
    return UNITOK_OK;
}

/* Every piece of a pattern is merged by itself, so distant text does not matter. */
static int32_t build_pattern_cuts(unitok_model *m, const bpe *b, unitok_error *error)
{
    cut_pieces unmerged;
    unmerged.n = bpe_unmerged(b, &unmerged.data, &unmerged.offsets);
    m->is_whole = 0;
    return m->cuts || build_cuts(m, unmerged) ? UNITOK_OK : fail_memory(error);
}

/* The encoder copies what it needs, so the converted pieces are freed immediately. */
static int32_t build(unitok_model *m, unitok_error *error)
{
    text_pieces pieces;
    unitok_spec spec;
    int has_merges = (m->flags & UNITOK_LISTED_MERGES) != 0,
        only_matching = (m->flags & (UNITOK_LISTED_MERGES | UNITOK_BYTES)) != 0;
    int32_t status = text_pieces_of(m, only_matching, &pieces, &spec) ? UNITOK_OK
                                                                      : fail_memory(error);
    bpe *b = NULL;
    if (!status && has_merges) {
        status = build_merges(m, &spec, &b, error);
    } else if (!status) {
        status = bpe_new(&spec, &b, error);
        m->is_whole = !status && bpe_traits(b) & BPE_WHOLE;
    }
    if (!status && m->pattern) status = build_pattern_cuts(m, b, error);
    if (status) bpe_free(b);
    else m->state = b;
    text_pieces_free(&pieces);
    return status;
}

static int64_t memory_bytes(const unitok_model *m) { return bpe_memory_bytes(m->state); }

static void free_model(unitok_model *m) { bpe_free(m->state); }

static void free_scratch(void *state) { bpe_scratch_free(state); }

/* ---------------------------------------------------------------------------------- Pieces ---- */

static int64_t encode_piece(const unitok_model *m, unitok_scratch *s, const uint8_t *piece,
                            int64_t n_bytes, token *tokens)
{
    return bpe_segment(m->state, s->state, piece, n_bytes, tokens);
}

static int64_t encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens)
{
    if (!m->pattern) return encode_piece(m, s, text, n_bytes, tokens);
    pattern_state state = {{0}, {{0, 0}}};
    int64_t n = 0;
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = pattern_next(m->pattern, &state, text, begin, n_bytes);
        int64_t n_more = encode_piece(m, s, text + begin, end - begin, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

/* Whether these bytes, as a complete segment, are one piece of the pattern. Pieces of a longer text
 * nearly always are, but a pattern can divide such a piece if the text ends after it. */
static int is_one_piece(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    pattern_state state = {{0}, {{0, 0}}};
    return n_bytes <= MEMO_LONG_BYTES &&
           pattern_next(m->pattern, &state, text, 0, n_bytes) == n_bytes;
}

/* Encodes a segment of several pieces, the first of which ends at `end`, by looking up each piece
 * in the memo: pieces recur more often than segments. A piece that is too long for the memo is
 * encoded by itself, after those before it. The buffer is flushed as soon as it might not have
 * space for another piece that is short enough for the memo.
 *
 *     segment  | piece | piece | piece | a long piece ............ | piece |
 *     near     [ copies, with the bytes that the memo reads beyond ]   ── encode_segments ──▶ ids
 */
#define NEAR_BYTES 1024

static NOINLINE int64_t walk_pieces(run *r, pattern_state *state, const uint8_t *segment,
                                    int64_t end, int64_t n_bytes, void *ids)
{
    const unitok_model *m = r->m;
    uint8_t near[NEAR_BYTES + CUT_READ_BEYOND];
    uint16_t cuts[NEAR_BYTES];
    int64_t n = 0, n_near = 0, n_cuts = 0, begin = 0;
    for (;;) {
        int is_near = is_one_piece(m, segment + begin, end - begin);
        if (is_near) {
            memcpy(near + n_near, segment + begin, (size_t)(end - begin));
            cuts[n_cuts++] = (uint16_t)(n_near += end - begin);
        }
        if (n_cuts && (!is_near || end == n_bytes || n_near > NEAR_BYTES - MEMO_LONG_BYTES)) {
            n += m->width->encode_segments(r, near, cuts, n_cuts, id_at(m, ids, n));
            n_near = n_cuts = 0;
        }
        if (!is_near)
            n += walk_tokens(r, encode_piece, segment + begin, end - begin, id_at(m, ids, n));
        if (end == n_bytes || r->failed) return n;
        begin = end;
        end = pattern_next(m->pattern, state, segment, begin, n_bytes);
    }
}

static int64_t walk(run *r, const uint8_t *segment, int64_t n_bytes, void *ids)
{
    if (r->m->pattern) {
        pattern_state state = {{0}, {{0, 0}}};
        int64_t end = pattern_next(r->m->pattern, &state, segment, 0, n_bytes);
        if (end < n_bytes) return walk_pieces(r, &state, segment, end, n_bytes, ids);
    }
    return walk_tokens(r, encode_piece, segment, n_bytes, ids);
}

/* Samples a text segment by segment, or piece by piece of the pattern; the draws are independent.
 * Segments must depend only on the document, so this uses all exact cuts; the cuts that a scan
 * finds differ between instruction sets and chunks. Each segment has its own stream of random
 * numbers, derived from its position. */
static int64_t draw_tokens(const unitok_model *m, unitok_scratch *s,
                           const unitok_sampling *sampling, uint64_t key, const uint8_t *text,
                           int64_t n_bytes, int64_t position, token *tokens)
{
    int64_t n = 0;
    pattern_state state = {{0}, {{0, 0}}};
    (void)position; /* 0, because documents are drawn in one part */
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = m->pattern    ? pattern_next(m->pattern, &state, text, begin, n_bytes)
              : m->is_whole ? n_bytes
                            : m->kind->cutter->next(m, text, begin, n_bytes);
        uint64_t stream = rng_stream(key, (uint64_t)begin);
        int64_t n_more = bpe_segment_dropout(m->state, s->state, text + begin, end - begin,
                                             sampling->alpha, &stream, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

/* Models with listed merges are Hugging Face's BPE models; the flags that need such a list are
 * their options. */
static const flag_rule rules[] = {
    {UNITOK_RESTART_AT_SPACE, UNITOK_LISTED_MERGES, 0, "RESTART_AT_SPACE needs LISTED_MERGES"},
    {UNITOK_IGNORE_MERGES, UNITOK_LISTED_MERGES | UNITOK_BYTES, 0,
     "IGNORE_MERGES needs LISTED_MERGES or BYTES"},
    {UNITOK_BYTES, 0, TEXT_FLAGS | UNITOK_RESTART_AT_SPACE,
     "BYTES excludes every flag that works on characters"},
    {UNITOK_PATTERN, UNITOK_BYTES, 0, "PATTERN needs BYTES"},
    {0, 0, 0, NULL},
};

/* A character that no piece covers becomes up to three byte pieces, which the encoder itself
 * produces; hence tokens_per_byte. */
const model_kind kind_bpe = {
    .flags = TEXT_FLAGS | UNITOK_RESTART_AT_SPACE | UNITOK_LISTED_MERGES | UNITOK_IGNORE_MERGES |
             UNITOK_BYTES | UNITOK_PATTERN,
    .rules = rules,
    .methods = 1 << UNITOK_SAMPLE_DROPOUT,
    .tokens_per_byte = TOKENS_PER_BYTE_MAX, /* U+2581 as byte pieces */
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build,
    .memory_bytes = memory_bytes,
    .free = free_model,
    .scratch_bytes = sizeof(bpe_scratch),
    .free_scratch = free_scratch,
    .cutter = &cuts_by_table,
    .encode = encode,
    .walk = walk,
    .draw = draw_tokens,
    .find = build_find,
};
