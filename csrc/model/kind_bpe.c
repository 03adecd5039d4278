/* kind_bpe.c - byte pair encoding, both SentencePiece's and Hugging Face's
 *
 * Both have the same encoder (encoders/bpe.h); they differ in where the merges come from.
 * SentencePiece's follow from the pieces: two pieces that join to a third can be merged, and its
 * score is the rank. Hugging Face lists its merges, and a piece may be left out of the list. */

#include "encoders/bpe.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"
#include "model/build.h"
#include "model/image.h"
#include "model/run.h"

/* Builds Hugging Face's BPE. Its encoder applies byte fallback and fuses unknown characters within
 * a segment. merge_unknown fuses those on both sides of a cut, unless merges can produce the
 * unknown piece, which is never fused. If a merge can produce the unknown piece, merge_unknown
 * cannot tell such a piece, which is never fused, from an unknown character. So these models encode
 * a document as one segment, in which the encoder fuses what it should. */
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

/* The encoder copies what it needs, so the converted pieces are freed at once. */
static int32_t build(unitok_model *m, unitok_error *error)
{
    text_pieces pieces;
    unitok_spec spec;
    int has_merges = (m->flags & UNITOK_LISTED_MERGES) != 0;
    int32_t status = text_pieces_of(m, has_merges, &pieces, &spec) ? UNITOK_OK : fail_memory(error);
    bpe *b = NULL;
    if (!status && has_merges) {
        status = build_merges(m, &spec, &b, error);
    } else if (!status) {
        status = bpe_new(&spec, &b, error);
        m->is_whole = !status && bpe_traits(b) & BPE_WHOLE;
    }
    m->state = b;
    text_pieces_free(&pieces);
    return status;
}

static int64_t memory_bytes(const unitok_model *m) { return bpe_memory_bytes(m->state); }

static void free_model(unitok_model *m) { bpe_free(m->state); }

static void free_scratch(void *state) { bpe_scratch_free(state); }

static int64_t encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens)
{
    return bpe_segment(m->state, s->state, text, n_bytes, tokens);
}

/* Samples a text segment by segment; segments draw independently. Segments must depend only on the
 * document, so this uses all exact cuts instead of those that a scan finds, which differ between
 * instruction sets and chunks. Each segment has its own stream of random numbers, from its
 * position. */
static int64_t draw_tokens(const unitok_model *m, unitok_scratch *s,
                           const unitok_sampling *sampling, uint64_t key, const uint8_t *text,
                           int64_t n_bytes, int64_t position, token *tokens)
{
    int64_t n = 0;
    (void)position; /* 0, because documents are drawn in one part */
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = m->is_whole ? n_bytes : m->kind->cutter->next(m, text, begin, n_bytes);
        uint64_t stream = rng_stream(key, (uint64_t)begin);
        int64_t n_more = bpe_segment_dropout(m->state, s->state, text + begin, end - begin,
                                             sampling->alpha, &stream, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

/* Listed merges are Hugging Face's BPE, and the flags that need them are its options. */
static const flag_rule rules[] = {
    {UNITOK_RESTART_AT_SPACE, UNITOK_LISTED_MERGES, 0, "RESTART_AT_SPACE needs LISTED_MERGES"},
    {UNITOK_IGNORE_MERGES, UNITOK_LISTED_MERGES, 0, "IGNORE_MERGES needs LISTED_MERGES"},
    {UNITOK_BYTES, UNITOK_LISTED_MERGES,
     TEXT_FLAGS | UNITOK_RESTART_AT_SPACE | UNITOK_IGNORE_MERGES,
     "BYTES needs LISTED_MERGES and excludes every flag that works on characters"},
    {0, 0, 0, NULL},
};

/* A character that no piece covers becomes up to three byte pieces, which the encoder itself
 * produces; hence tokens_per_byte. */
const model_kind kind_bpe = {
    .flags = TEXT_FLAGS | UNITOK_RESTART_AT_SPACE | UNITOK_LISTED_MERGES | UNITOK_IGNORE_MERGES |
             UNITOK_BYTES,
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
    .walk = walk_tokens,
    .draw = draw_tokens,
    .find = build_find,
};
