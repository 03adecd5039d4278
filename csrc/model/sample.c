/* sample.c - the public functions for random paths, the n best paths and the entropy of one
 * document
 *
 * The functions that return paths work on one complete document, whose paths are all in one
 * lattice. A model that restarts its sum divides a document into several texts, which have no
 * common lattice, so these functions reject it.
 *
 *     unitok_nbest           the n best paths, best first
 *     unitok_sample_paths    n random paths, drawn independently or all distinct
 *     unitok_entropy         the entropy of the distribution over all paths, without drawing any
 *
 * All begin with open_lattice and end with close_lattice:
 *
 *     text ──document_open──▶ normalized text ──search or draw──▶ tokens ──spans_of_tokens──▶ spans
 *
 * Tokens refer to the normalized text, spans to the caller's. */

#include "model/sample.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"
#include "model/spans.h"

/* The methods that a kind supports are bits in its table, so a new kind needs no change here. */
static const char *check_sampling(const unitok_model *m, const unitok_sampling *sampling)
{
    int32_t method = sampling->method;
    if (method < UNITOK_SAMPLE_LATTICE || method > UNITOK_SAMPLE_DROPOUT)
        return "unknown sampling method";
    if (!(m->kind->methods >> method & 1))
        return "this kind of model does not support this sampling method: Unigram supports "
               "lattice, nbest and viterbi; BPE supports dropout";
    if (!isfinite(sampling->alpha)) return "alpha is not a finite number";
    if (method == UNITOK_SAMPLE_DROPOUT && !(sampling->alpha >= 0 && sampling->alpha <= 1))
        return "dropout takes an alpha of 0 to 1";
    if (method == UNITOK_SAMPLE_VITERBI && !(sampling->alpha > 0))
        return "Viterbi Sampling takes an alpha above 0";
    if (method == UNITOK_SAMPLE_NBEST && (sampling->n_best < 2 || sampling->n_best > NBEST_MAX))
        return "the number of best paths must be 2 to 1024";
    if (method == UNITOK_SAMPLE_NBEST && m->flags & RESTART_FLAGS)
        return "n-best needs a SentencePiece model: this one splits texts first";
    return NULL;
}

/* Only the methods that draw from the lattice piece by piece have weights to prepare. Dropout and
 * n-best work without them. */
int32_t sample_prepare(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                       unitok_error *error)
{
    const char *wrong = check_sampling(m, sampling);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    if (sampling->method == UNITOK_SAMPLE_DROPOUT || sampling->method == UNITOK_SAMPLE_NBEST)
        return UNITOK_OK;
    lattice_work *work = m->kind->lattice(m, s);
    return sampler_prepare(&work->sampler, work->model, sampling->alpha, error);
}

/* ----------------------------------------------------------------------------------- paths ---- */

/* Paths as a packed list:
 *
 *     spans      | path 0 ... | path 1 ...... | path 2 . |
 *     offsets    0            4               9          11
 *     scores     one for each path */
struct unitok_paths {
    int64_t n;
    int64_t *offsets; /* [0..n] */
    double *scores;
    unitok_span *spans;
};

/* Paths are complete copies, so they remain valid after the scratch is reused or freed. */
void unitok_paths_free(unitok_paths *paths)
{
    if (!paths) return;
    mem_free(paths->spans);
    mem_free(paths->scores);
    mem_free(paths->offsets);
    mem_free(paths);
}

int64_t unitok_paths_count(const unitok_paths *paths) { return paths->n; }

int64_t unitok_paths_get(const unitok_paths *paths, int64_t k, const unitok_span **ret_spans,
                         double *ret_score)
{
    *ret_spans = paths->spans + paths->offsets[k];
    *ret_score = paths->scores[k];
    return paths->offsets[k + 1] - paths->offsets[k];
}

/* The maximum number of spans of all paths. An unknown character has up to three spans per byte: a
 * compact space becomes three byte pieces, and any other unknown byte becomes one. */
static int64_t spans_capacity(const lattice_paths *found)
{
    int64_t capacity = 1;
    for (int64_t k = 0; k < found->n_paths; k++) {
        int64_t begin = 0;
        for (int64_t i = found->offsets[k]; i < found->offsets[k + 1];
             begin = found->tokens[i++].end)
            capacity += found->tokens[i].id == TOKEN_UNKNOWN
                            ? 3 * ((int64_t)found->tokens[i].end - begin)
                            : 1;
    }
    return capacity;
}

/* Converts paths to the public form; NULL if allocation fails. Spans refer to the caller's
 * document, but tokens refer to the normalized text. */
static unitok_paths *make_paths(const unitok_model *m, const document *d,
                                const lattice_paths *found)
{
    unitok_paths *paths = mem_zalloc(1, sizeof *paths);
    int64_t capacity = spans_capacity(found);
    if (!paths) return NULL;
    paths->offsets = mem_zalloc((size_t)found->n_paths + 1, sizeof *paths->offsets);
    paths->scores = mem_alloc(((size_t)found->n_paths + 1) * sizeof *paths->scores);
    paths->spans = mem_alloc((size_t)capacity * sizeof *paths->spans);
    if (!paths->offsets || !paths->scores || !paths->spans) {
        unitok_paths_free(paths);
        return NULL;
    }
    for (int64_t k = 0; k < found->n_paths; k++) {
        /* Each path is written after the previous one, so the end of a path is the start of the
         * next. */
        int64_t at = paths->offsets[k];
        const token *tokens = found->tokens + found->offsets[k];
        at += spans_of_tokens(m, d, tokens, found->offsets[k + 1] - found->offsets[k],
                              paths->spans + at, capacity - at);
        paths->offsets[k + 1] = at;
        paths->scores[k] = found->scores[k];
    }
    paths->n = found->n_paths;
    return paths;
}

/* The first step of all functions below: checks that the model has a lattice, opens the document
 * and clears `ret`. *ret is the scratch's own lattice, whose paths the caller converts before the
 * next call. */
static int32_t open_lattice(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                            int64_t n_bytes, document *d, lattice_work **ret, unitok_error *error)
{
    if (!(m->kind->methods >> UNITOK_SAMPLE_LATTICE & 1) || m->flags & RESTART_FLAGS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "only SentencePiece's Unigram models have n-best and scored samples");
    *ret = m->kind->lattice(m, s);
    lattice_paths_clear(&(*ret)->paths);
    int code = document_open(m, text, n_bytes, d);
    if (code == ENCODE_TOO_LONG)
        return fail(error, UNITOK_ERROR_LENGTH, -1, -1, "the text is longer than 2^29 bytes");
    return code ? fail_memory(error) : UNITOK_OK;
}

/* The last step of these functions: converts the paths that were found, and always frees the
 * document. `ok` is 0 if allocation failed during the search. */
static int32_t close_lattice(const unitok_model *m, lattice_work *work, document *d, int ok,
                             unitok_paths **ret, unitok_error *error)
{
    unitok_paths *paths = ok ? make_paths(m, d, &work->paths) : NULL;
    document_free(d);
    if (!paths) return fail_memory(error);
    *ret = paths;
    return UNITOK_OK;
}

/* Adds the path that the encoder finds, so that the best path for n = 1 and the encoder's path
 * never differ through rounding. Its score is 0, as in sentencepiece. */
static int find_best(const unitok_model *m, unitok_scratch *s, const document *d,
                     lattice_paths *paths)
{
    token *tokens = lattice_paths_add(paths, d->n_bytes + 1, 0);
    int64_t n = tokens ? m->kind->encode(m, s, d->text, d->n_bytes, tokens) : -1;
    if (n < 0) return 0;
    paths->offsets[paths->n_paths] = paths->offsets[paths->n_paths - 1] + n;
    return 1;
}

/* For n = 1 the encoder is used, as in sentencepiece; it is also faster than a search. */
int32_t unitok_nbest(const unitok_model *m, unitok_scratch *s, const uint8_t *text, int64_t n_bytes,
                     int64_t n, unitok_paths **ret, unitok_error *error)
{
    document d;
    lattice_work *work;
    if (n < 1 || n > NBEST_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "n is not in 1..1024");
    int32_t status = open_lattice(m, s, text, n_bytes, &d, &work, error);
    if (status) return status;
    int ok = n == 1 ? find_best(m, s, &d, &work->paths)
                    : nbest_find(&work->nbest, work->model, d.text, d.n_bytes, n, &work->paths);
    return close_lattice(m, work, &d, ok, ret, error);
}

/* Distinct samples come from a search backwards through the lattice (encoders/nbest.h), and
 * independent ones from the sampler. Only distinct samples can include the best path. */
int32_t unitok_sample_paths(const unitok_model *m, unitok_scratch *s,
                            const unitok_sampling *sampling, const uint8_t *text, int64_t n_bytes,
                            int64_t n, int32_t flags, unitok_paths **ret, unitok_error *error)
{
    document d;
    lattice_work *work;
    int distinct = (flags & UNITOK_SAMPLE_DISTINCT) != 0,
        with_best = (flags & UNITOK_SAMPLE_INCLUDE_BEST) != 0;
    if (n < 1 || n > 1 << 20 || !isfinite(sampling->alpha) || (with_best && !distinct))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the number of samples, alpha or the flags are out of range");
    int32_t status = open_lattice(m, s, text, n_bytes, &d, &work, error);
    if (status) return status;
    /* The key depends on the seed and the document, so repeating a call gives the same paths. */
    uint64_t key = rng_document_key(sampling->seed, sampling->input, sampling->document);
    if (!distinct) status = sampler_prepare(&work->sampler, work->model, sampling->alpha, error);
    if (status) {
        document_free(&d);
        return status;
    }
    int ok = distinct
                 ? nbest_draw_distinct(&work->nbest, work->model, d.text, d.n_bytes, n,
                                       sampling->alpha, with_best, key, &work->paths)
                 : sampler_draw_scored(&work->sampler, d.text, d.n_bytes, n, key, &work->paths);
    return close_lattice(m, work, &d, ok, ret, error);
}

/* The sampler's pass over the text gives the entropy along with the sums, so no path is listed. */
int32_t unitok_entropy(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                       int64_t n_bytes, double alpha, double *ret, unitok_error *error)
{
    document d;
    lattice_work *work;
    double log_sum;
    if (!isfinite(alpha))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "alpha is not a finite number");
    int32_t status = open_lattice(m, s, text, n_bytes, &d, &work, error);
    if (status) return status;
    status = sampler_prepare(&work->sampler, work->model, alpha, error);
    if (!status && !sampler_entropy(&work->sampler, d.text, d.n_bytes, ret, &log_sum))
        status = fail_memory(error);
    document_free(&d);
    return status;
}
