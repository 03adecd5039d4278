/* kind_unigram.c - Unigram, as a kind of model: SentencePiece's, BytePiece's and Hugging Face's */

#include "ground/alloc.h"
#include "ground/error.h"
#include "model/build.h"
#include "model/image.h"
#include "model/kind.h"

/* unigram_new itself brings pieces into the form that texts have. */
static int32_t build(unitok_model *m, unitok_error *error)
{
    unitok_spec spec = m->spec;
    if (!m->compact) spec.flags &= ~UNITOK_ESCAPE_WHITESPACES;
    int32_t status = unigram_new(&spec, &m->unigram, error);
    return status ? status : lattice_model_init(m->unigram, &spec, &m->lattice, error);
}

static loop_kind loop(const unitok_model *m)
{
    return m->flags & UNITOK_FLOAT64 ? LOOP_DOUBLE_16 : LOOP_FLOAT_16;
}

static int64_t memory_bytes(const unitok_model *m)
{
    return unigram_memory_bytes(m->unigram);
}

static void free_tables(unitok_model *m)
{
    lattice_model_free(&m->lattice);
    unigram_free(m->unigram);
}

static int64_t encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens)
{
    unigram_path *path = &s->path;
    int64_t n = 0, given = 0; /* where the tokens given out so far end */
    unigram_begin(path, 0);
    for (int64_t done = 0; done < n_bytes;) {
        int64_t taken = unigram_advance(m->unigram, path, text + done, n_bytes - done, 1);
        if (taken < 0) return -1;
        done += taken;
        for (int64_t k = 0; k < path->n_tokens; k++)
            tokens[n++] = (token){path->tokens[k].id, path->tokens[k].end + (uint32_t)given};
        if (n) given = tokens[n - 1].end;
    }
    return n;
}

static int64_t draw_nbest(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                          uint64_t key, const uint8_t *text, int64_t n_bytes, token *tokens)
{
    lattice_paths_clear(&s->paths);
    if (!nbest_find(&s->nbest, &m->lattice, text, n_bytes, sampling->n_best, &s->paths)) return -1;
    int64_t k = nbest_choose(&s->paths, sampling->alpha, key);
    int64_t n = s->paths.offsets[k + 1] - s->paths.offsets[k];
    if (n) memcpy(tokens, s->paths.tokens + s->paths.offsets[k], (size_t)n * sizeof *tokens);
    return n;
}

/* Part by part where a document is split into texts. */
static int64_t draw(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                    uint64_t key, const uint8_t *text, int64_t n_bytes, int64_t position,
                    token *tokens)
{
    int64_t n = 0;
    if (sampling->method == UNITOK_SAMPLE_NBEST)
        return draw_nbest(m, s, sampling, key, text, n_bytes, tokens);
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = restart_next(m, text, begin, n_bytes);
        int64_t n_more = (sampling->method == UNITOK_SAMPLE_VITERBI ? sampler_draw_viterbi
                                                                    : sampler_draw)(
            &s->sampler, text + begin, end - begin, key, position + begin, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more && begin; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

const model_kind kind_unigram = {
    .flags = TEXT_FLAGS | UNITOK_FLOAT64 | UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE |
             UNITOK_BYTES | UNITOK_BYTE_PIECES_MATCH,
    .methods = 1 << UNITOK_SAMPLE_LATTICE | 1 << UNITOK_SAMPLE_NBEST | 1 << UNITOK_SAMPLE_VITERBI,
    .tokens_per_byte = 1,
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build,
    .loop = loop,
    .memory_bytes = memory_bytes,
    .free = free_tables,
    .encode = encode,
    .draw = draw,
    .find = build_find,
};
