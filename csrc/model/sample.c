/* sample.c - samples, n best and entropy of one document: the public functions, and what encode.c draws by */

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"
#include "model/spans.h"

static const char *check_sampling(const unitok_model *m, const unitok_sampling *sampling)
{
    int is_lattice = sampling->method >= UNITOK_SAMPLE_LATTICE && sampling->method <= UNITOK_SAMPLE_VITERBI;
    if (!is_lattice && sampling->method != UNITOK_SAMPLE_DROPOUT) return "there is no such method of sampling";
    if (is_lattice != (m->kind == UNITOK_KIND_UNIGRAM) || (!is_lattice && m->kind != UNITOK_KIND_BPE))
        return "this kind of model cannot be sampled so: Unigram has a lattice, BPE has dropout, others have nothing";
    if (!isfinite(sampling->alpha)) return "alpha is no finite number";
    if (sampling->method == UNITOK_SAMPLE_DROPOUT && !(sampling->alpha >= 0 && sampling->alpha <= 1))
        return "dropout takes an alpha within 0..1";
    if (sampling->method == UNITOK_SAMPLE_VITERBI && !(sampling->alpha > 0)) return "Viterbi Sampling takes an alpha over 0";
    if (sampling->method == UNITOK_SAMPLE_NBEST && (sampling->n_best < 2 || sampling->n_best > NBEST_MAX))
        return "the number of best paths is not within 2..1024";
    if (sampling->method == UNITOK_SAMPLE_NBEST && m->flags & (UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE))
        return "n-best is for SentencePiece models: the texts of this one are cut before";
    return NULL;
}

int32_t sample_prepare(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, unitok_error *error)
{
    const char *wrong = check_sampling(m, sampling);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    if (sampling->method == UNITOK_SAMPLE_DROPOUT || sampling->method == UNITOK_SAMPLE_NBEST) return UNITOK_OK;
    return sampler_prepare(&s->sampler, &m->lattice, sampling->alpha, error);
}

/* -------------------------------------------------------------------------------------------------- tokens ---- */

/* Merges of different segments draw independently. Where segments begin must not depend on anything but the document: so
 * the exact cuts count, not those that a scan finds. */
static int64_t draw_dropout(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, uint64_t key,
                            const uint8_t *text, int64_t n_bytes, token *tokens)
{
    int64_t n = 0;
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = m->whole ? n_bytes : cut_next(m->cuts, text, begin, n_bytes);
        uint64_t stream = rng_stream(key, (uint64_t)begin);
        int64_t n_more = bpe_segment_dropout(m->bpe, &s->bpe, text + begin, end - begin, sampling->alpha, &stream, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

static int64_t draw_nbest(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, uint64_t key,
                          const uint8_t *text, int64_t n_bytes, token *tokens)
{
    lattice_paths_clear(&s->paths);
    if (!nbest_find(&s->nbest, &m->lattice, text, n_bytes, sampling->n_best, &s->paths)) return -1;
    int64_t k = nbest_choose(&s->paths, sampling->alpha, key);
    int64_t n = s->paths.offsets[k + 1] - s->paths.offsets[k];
    if (n) memcpy(tokens, s->paths.tokens + s->paths.offsets[k], (size_t)n * sizeof *tokens);
    return n;
}

/* Part by part where texts begin anew inside a document. */
static int64_t draw_lattice(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, uint64_t key,
                            const uint8_t *text, int64_t n_bytes, int64_t position, token *tokens)
{
    int64_t n = 0;
    int whole = !(m->flags & (UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE));
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = whole ? n_bytes : begin + 1;
        while (end < n_bytes && !restarts(m, text[end - 1], text[end])) end++;
        int64_t n_more = (sampling->method == UNITOK_SAMPLE_VITERBI ? sampler_draw_viterbi : sampler_draw)(
            &s->sampler, text + begin, end - begin, key, position + begin, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more && begin; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

int64_t sample_tokens(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, uint64_t key,
                      const uint8_t *text, int64_t n_bytes, int64_t position, token *tokens)
{
    switch (sampling->method) {
    case UNITOK_SAMPLE_DROPOUT: return draw_dropout(m, s, sampling, key, text, n_bytes, tokens);
    case UNITOK_SAMPLE_NBEST: return draw_nbest(m, s, sampling, key, text, n_bytes, tokens);
    default: return draw_lattice(m, s, sampling, key, text, n_bytes, position, tokens);
    }
}

/* --------------------------------------------------------------------------------------------------- paths ---- */

struct unitok_paths {
    int64_t n;
    int64_t *offsets; /* [0..n] */
    double *scores;
    unitok_span *spans;
};

void unitok_paths_free(unitok_paths *paths)
{
    if (!paths) return;
    mem_free(paths->spans);
    mem_free(paths->scores);
    mem_free(paths->offsets);
    mem_free(paths);
}

int64_t unitok_paths_count(const unitok_paths *paths)
{
    return paths->n;
}

int64_t unitok_paths_get(const unitok_paths *paths, int64_t k, const unitok_span **ret_spans, double *ret_score)
{
    *ret_spans = paths->spans + paths->offsets[k];
    *ret_score = paths->scores[k];
    return paths->offsets[k + 1] - paths->offsets[k];
}

/* How many spans the tokens of all paths may become: an unknown character up to three for each byte. */
static int64_t spans_room(const lattice_paths *found)
{
    int64_t room = 1;
    for (int64_t k = 0; k < found->n_paths; k++) {
        int64_t begin = 0;
        for (int64_t i = found->offsets[k]; i < found->offsets[k + 1]; begin = found->tokens[i++].end)
            room += found->tokens[i].id == TOKEN_UNKNOWN ? 3 * ((int64_t)found->tokens[i].end - begin) : 1;
    }
    return room;
}

/* The paths as the caller gets them; NULL when memory is short. */
static unitok_paths *make_paths(const unitok_model *m, const document *d, const lattice_paths *found)
{
    unitok_paths *paths = mem_zalloc(1, sizeof *paths);
    int64_t room = spans_room(found);
    if (!paths) return NULL;
    paths->offsets = mem_zalloc((size_t)found->n_paths + 1, sizeof *paths->offsets);
    paths->scores = mem_alloc(((size_t)found->n_paths + 1) * sizeof *paths->scores);
    paths->spans = mem_alloc((size_t)room * sizeof *paths->spans);
    if (!paths->offsets || !paths->scores || !paths->spans) {
        unitok_paths_free(paths);
        return NULL;
    }
    for (int64_t k = 0; k < found->n_paths; k++) {
        int64_t at = paths->offsets[k];
        const token *tokens = found->tokens + found->offsets[k];
        at += spans_of_tokens(m, d, tokens, found->offsets[k + 1] - found->offsets[k], paths->spans + at, room - at);
        paths->offsets[k + 1] = at;
        paths->scores[k] = found->scores[k];
    }
    paths->n = found->n_paths;
    return paths;
}

/* What the functions below share: the model has a lattice, the document is opened, `ret` filled from scratch->paths. */
static int32_t open_lattice(const unitok_model *m, const uint8_t *text, int64_t n_bytes, document *d, unitok_error *error)
{
    if (m->kind != UNITOK_KIND_UNIGRAM || m->flags & (UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "only SentencePiece's Unigram models have n-best and scored samples");
    return document_open(m, text, n_bytes, d) ? UNITOK_OK : fail_memory(error);
}

static int32_t close_lattice(const unitok_model *m, unitok_scratch *s, document *d, int ok, unitok_paths **ret,
                             unitok_error *error)
{
    unitok_paths *paths = ok ? make_paths(m, d, &s->paths) : NULL;
    document_free(d);
    if (!paths) return fail_memory(error);
    *ret = paths;
    return UNITOK_OK;
}

/* The best path as encoding finds it. Its score is 0, as sentencepiece has it. */
static int find_best(const unitok_model *m, unitok_scratch *s, const document *d)
{
    token *tokens = lattice_paths_add(&s->paths, d->n_bytes + 1, 0);
    if (!tokens) return 0;
    int64_t n = 0, given = 0;
    unigram_begin(&s->path, 0);
    for (int64_t done = 0; done < d->n_bytes;) {
        int64_t taken = unigram_advance(m->unigram, &s->path, d->text + done, d->n_bytes - done, 1);
        if (taken < 0) return 0;
        done += taken;
        for (int64_t k = 0; k < s->path.n_tokens; k++, n++) {
            tokens[n].id = s->path.tokens[k].id;
            tokens[n].end = s->path.tokens[k].end + (uint32_t)given;
        }
        if (n) given = tokens[n - 1].end;
    }
    s->paths.offsets[s->paths.n_paths] = s->paths.offsets[s->paths.n_paths - 1] + n;
    return 1;
}

int32_t unitok_nbest(const unitok_model *m, unitok_scratch *s, const uint8_t *text, int64_t n_bytes, int64_t n,
                     unitok_paths **ret, unitok_error *error)
{
    document d;
    if (n < 1 || n > NBEST_MAX) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "n is not within 1..1024");
    int32_t status = open_lattice(m, text, n_bytes, &d, error);
    if (status) return status;
    lattice_paths_clear(&s->paths);
    int ok = n == 1 ? find_best(m, s, &d) : nbest_find(&s->nbest, &m->lattice, d.text, d.n_bytes, n, &s->paths);
    return close_lattice(m, s, &d, ok, ret, error);
}

int32_t unitok_sample_paths(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                            const uint8_t *text, int64_t n_bytes, int64_t n, int32_t flags, unitok_paths **ret,
                            unitok_error *error)
{
    document d;
    int distinct = (flags & UNITOK_SAMPLE_DISTINCT) != 0, with_best = (flags & UNITOK_SAMPLE_INCLUDE_BEST) != 0;
    if (n < 1 || n > 1 << 20 || !isfinite(sampling->alpha) || (with_best && !distinct))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the number of samples, alpha or the flags are out of range");
    int32_t status = open_lattice(m, text, n_bytes, &d, error);
    if (status) return status;
    uint64_t key = rng_document_key(sampling->seed, sampling->input, sampling->document);
    lattice_paths_clear(&s->paths);
    if (!distinct) status = sampler_prepare(&s->sampler, &m->lattice, sampling->alpha, error);
    if (status) {
        document_free(&d);
        return status;
    }
    int ok = distinct ? nbest_draw_distinct(&s->nbest, &m->lattice, d.text, d.n_bytes, n, sampling->alpha, with_best, key,
                                            &s->paths)
                      : sampler_draw_scored(&s->sampler, d.text, d.n_bytes, n, key, &s->paths);
    return close_lattice(m, s, &d, ok, ret, error);
}

int32_t unitok_entropy(const unitok_model *m, unitok_scratch *s, const uint8_t *text, int64_t n_bytes, double alpha,
                       double *ret, unitok_error *error)
{
    document d;
    double log_sum;
    if (!isfinite(alpha)) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "alpha is no finite number");
    int32_t status = open_lattice(m, text, n_bytes, &d, error);
    if (status) return status;
    status = sampler_prepare(&s->sampler, &m->lattice, alpha, error);
    if (!status && !sampler_entropy(&s->sampler, d.text, d.n_bytes, ret, &log_sum)) status = fail_memory(error);
    document_free(&d);
    return status;
}
