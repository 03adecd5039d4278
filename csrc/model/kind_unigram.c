/* kind_unigram.c - the Unigram models of SentencePiece, BytePiece and Hugging Face
 *
 * The fastest way depends on the pieces and on the text, so a model has at most one path besides
 * the memo, chosen when it is built:
 *
 *     path_charwise     models with pieces that join characters of three bytes: Japanese and
 *                       Chinese
 *     path_endings      models with pieces that cross spaces, whose segments are too long for the
 *                       memo
 *     path_automaton    byte models: BytePiece
 *     path_memo         all other models, and texts for which the model's own path is not faster
 *
 * All paths maintain the running sum of scores: a path begins with the sum of the ids before it,
 * and leaves the sum at its end. */

#include "encoders/unigram.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "model/build.h"
#include "model/image.h"
#include "model/run.h"

_Static_assert(CUT_CHUNK_BYTES <= AUTOMATON_CHUNK_BYTES, "the automaton processes a chunk at once");
_Static_assert(CUT_CHUNK_BYTES <= CHARWISE_BYTES, "a walk by characters processes a chunk at once");

/* If segments are longer than this on average, the memo holds few of them. Models with endings
 * (encoders/endings.h) then bypass it for the next FOLLOW_SPAN bytes. */
#define FOLLOW_SEGMENT 6
#define FOLLOW_SPAN 16384

/* The encoder, and the tables of scores for sampling and n-best. */
typedef struct unigram_model {
    unigram *unigram;
    lattice_model lattice;
} unigram_model;

/* The lattice, and one member for each way to encode, of which a model uses at most two. */
typedef struct unigram_scratch {
    unigram_path path;
    automaton_work automaton;
    charwise_work charwise;
    lattice_work lattice;
} unigram_scratch;

/* The part of the state that encoding uses; the lattice is for sampling and n-best. */
static const unigram *unigram_of(const unitok_model *m)
{
    return ((const unigram_model *)m->state)->unigram;
}

/* Sets the state to NULL, because building can be repeated after a failure halfway. */
static void free_model(unitok_model *m)
{
    unigram_model *state = m->state;
    if (!state) return;
    lattice_model_free(&state->lattice);
    unigram_free(state->unigram);
    mem_free(state);
    m->state = NULL;
}

static int64_t memory_bytes(const unitok_model *m) { return unigram_memory_bytes(unigram_of(m)); }

/* Of the four members, only the work of charwise and of the automaton has a fixed size. */
static void free_scratch(void *state)
{
    unigram_scratch *s = state;
    lattice_paths_free(&s->lattice.paths);
    nbest_free(&s->lattice.nbest);
    sampler_free(&s->lattice.sampler);
    unigram_path_free(&s->path);
}

/* ------------------------------------------------------------------------------- paths ---- */

/* Chooses the walk by characters for Japanese and Chinese: see charwise.h. Once chosen, it is used
 * for some time without computing the cuts, which it does not need. */
static int charwise_takes(run *r, chunk *c)
{
    charwise_work *work = &((unigram_scratch *)r->s->state)->charwise;
    if (work->left_bytes > 0 && charwise_is_for(c->padded, c->n_bytes)) return 1;
    int64_t n_cuts = chunk_cuts(r, c);
    return n_cuts > 0 && charwise_is_next(work, c->padded, r->s->cuts[n_cuts - 1], n_cuts);
}

/* Encodes from a cut to the last one in the chunk; returns 0 if the text is not UTF-8. If the cuts
 * have not been computed, the last one is searched for from the end. The result is at the end of
 * work->tokens, because the path is traced backwards. */
static int64_t encode_charwise(run *r, chunk *c, void *ids, int64_t *ret_n_ids)
{
    const unitok_model *m = r->m;
    charwise_work *work = &((unigram_scratch *)r->s->state)->charwise;
    int64_t n_done = c->n_bytes, n = 0;
    if (c->n_cuts > 0) n_done = r->s->cuts[c->n_cuts - 1];
    else if (!c->is_closed || c->n_bytes < c->n_text)
        n_done = m->kind->cutter->last(m, c->padded, c->n_bytes);
    m->width->catch_up(r, ids);
    float sum = (float)r->sum;
    if (n_done) n = charwise_path(unigram_of(m)->charwise, c->padded, n_done, &sum, work);
    if (n == 0) return work->left_bytes = 0;
    work->left_bytes -= n_done;
    n = m->width->emit(m, c->padded, work->tokens + CHARWISE_BYTES - n, n, ids);
    run_set_sum(r, sum, id_at(m, ids, n));
    r->last_byte = c->text[n_done - 1];
    *ret_n_ids = n;
    return n_done;
}

static const encode_path path_charwise = {charwise_takes, encode_charwise};
static const encode_path *const paths_charwise[] = {&path_charwise, &path_memo, &path_walk, NULL};

/* Chooses the automaton of endings.h, for pieces that cross spaces. */
static int endings_take(run *r, chunk *c) { return chunk_cuts(r, c) * FOLLOW_SEGMENT < c->n_bytes; }

/* The span ends at a cut, because the memo may encode the text after it. FOLLOW_SPAN is several
 * chunks long, because following the automaton is faster on long stretches. */
static int64_t encode_by_endings(run *r, chunk *c, void *ids, int64_t *ret_n_ids)
{
    int64_t n_done = c->n_seen < FOLLOW_SPAN ? c->n_seen : FOLLOW_SPAN;
    if (!c->is_closed || n_done < c->n_text)
        n_done = r->m->kind->cutter->last(r->m, c->text, n_done);
    if (n_done) *ret_n_ids = run_walk(r, c->text, n_done, ids);
    return n_done;
}

static const encode_path path_endings = {endings_take, encode_by_endings};
static const encode_path *const paths_by_endings[] = {&path_endings, &path_memo, &path_walk, NULL};

/* Chooses BytePiece's automaton: see automaton.h. The automaton needs a cut at which it can end. */
static int automaton_takes(run *r, chunk *c)
{
    unigram_scratch *s = r->s->state;
    int64_t n_cuts = chunk_cuts(r, c);
    return n_cuts > 0 && automaton_is_next(&s->automaton.turn, r->s->cuts[n_cuts - 1], n_cuts);
}

/* Returns where the sum restarts next, after text[begin]. In these models, it restarts only at the
 * start of a line. */
static int64_t line_end(const unitok_model *m, const uint8_t *text, int64_t begin, int64_t n_bytes)
{
    while (m->flags & UNITOK_RESTART_AFTER_NEWLINE && begin < n_bytes) {
        const uint8_t *newline = memchr(text + begin, '\n', (size_t)(n_bytes - begin));
        if (!newline) break;
        begin = newline - text + 1;
        if (begin < n_bytes && restarts(m, '\n', text[begin])) return begin;
    }
    return n_bytes;
}

/* Finds all states of the chunk at once, then encodes each line from its own sum. The ids and the
 * sum are exact, so the lazy sum of segments.h must be computed beforehand and is complete
 * afterwards. The states are found for all lines together, because the automaton processes several
 * positions of the text at once, and lines may be short. */
static int64_t encode_by_automaton(run *r, chunk *c, void *ids, int64_t *ret_n_ids)
{
    const unitok_model *m = r->m;
    const automaton *a = unigram_of(m)->automaton;
    automaton_work *work = &((unigram_scratch *)r->s->state)->automaton;
    /* Encodes the chunk up to its last cut, line by line. The ids of a line are at the end of
     * work->ids, where tracing back has left them. */
    int64_t n_done = r->s->cuts[c->n_cuts - 1], n_ids = 0;
    m->width->catch_up(r, ids);
    automaton_find(a, c->padded, n_done, work);
    for (int64_t begin = 0, end; begin < n_done; begin = end) {
        end = line_end(m, c->padded, begin, n_done);
        run_restart(r, c->padded[begin], id_at(m, ids, n_ids));
        double sum = r->sum;
        int64_t n = automaton_path(a, c->padded, begin, end, &sum, work);
        m->width->put(work->ids + AUTOMATON_CHUNK_BYTES - n, n, id_at(m, ids, n_ids));
        n_ids += n;
        run_set_sum(r, sum, id_at(m, ids, n_ids));
        r->last_byte = c->padded[end - 1];
    }
    *ret_n_ids = n_ids;
    return n_done;
}

static const encode_path path_automaton = {automaton_takes, encode_by_automaton};
static const encode_path *const paths_by_automaton[] = {&path_automaton, &path_memo, &path_walk,
                                                        NULL};

/* unigram_new converts pieces to the form of texts. The conditions for the three faster paths are
 * mutually exclusive, so at most one of the assignments at the end is made. */
static int32_t build(unitok_model *m, unitok_error *error)
{
    unitok_spec spec = m->spec;
    if (!m->compact) spec.flags &= ~UNITOK_ESCAPE_WHITESPACES;
    unigram_model *state = m->state = mem_zalloc(1, sizeof *state);
    int32_t status = state ? unigram_new(&spec, &state->unigram, error) : fail_memory(error);
    if (!status) status = lattice_model_init(state->unigram, &spec, &state->lattice, error);
    if (status) {
        free_model(m);
        return status;
    }
    const unigram *u = state->unigram;
    m->scores = (id_scores){u->id_scores32, u->id_scores64, u->largest_step};
    if (u->charwise) m->paths = paths_charwise;
    if (u->endings) m->paths = paths_by_endings;
    if (u->automaton) m->paths = paths_by_automaton;
    return UNITOK_OK;
}

/* ---------------------------------------------------------------------------- segments ---- */

/* Whether the sum can be computed from the ids instead of the tokens. It cannot if a byte piece has
 * matched as text, or if the segment is invalid UTF-8. In both cases an id could add a score that
 * differs from the token's, and the lazy sum would differ from that of the reference. */
static int ids_tell_scores(const unitok_model *m, const uint8_t *segment, const token *tokens,
                           int64_t n)
{
    int64_t begin = 0;
    for (int64_t k = 0; k < n; begin = tokens[k++].end) {
        if (tokens[k].id != TOKEN_UNKNOWN) {
            if (m->flags & UNITOK_BYTE_PIECES_MATCH && m->types[tokens[k].id] == UNITOK_PIECE_BYTE)
                return 0;
            continue;
        }
        if ((segment[begin] & 0xC0) == 0x80) return 0;
        for (int64_t i = begin + 1; i < tokens[k].end; i++)
            if ((segment[i] & 0xC0) != 0x80) return 0;
    }
    return 1;
}

/* Called for a segment that is not in the memo. The path is certain for sums below the limit; an
 * entry whose limit is 0 is never valid, so its segment is encoded again each time. */
static int64_t solve(const unitok_model *m, const uint8_t *segment, int64_t n_bytes, void *ids,
                     uint32_t *ret_limit)
{
    token tokens[UNIGRAM_SEGMENT_BYTES];
    int64_t n = unigram_exact(unigram_of(m), segment, n_bytes, tokens, ret_limit);
    if (!ids_tell_scores(m, segment, tokens, n)) *ret_limit = 0;
    return m->width->emit(m, segment, tokens, n, ids);
}

/* Encodes a text of any length, part by part, from the running sum `sum`, and leaves the sum after
 * it in *path. The tokens go to `tokens`, or as ids to `ids` if `tokens` is NULL, so that the
 * tokens of a long segment are never all in memory. Returns their number, or -1 if allocation
 * fails. */
INLINE int64_t encode_parts(const unitok_model *m, unigram_path *path, double sum,
                            const uint8_t *text, int64_t n_bytes, token *tokens, void *ids)
{
    int64_t n = 0, given = 0; /* the end of the tokens that earlier parts settled */
    unigram_begin(path, sum);
    for (int64_t done = 0; done < n_bytes;) {
        int64_t taken = unigram_advance(unigram_of(m), path, text + done, n_bytes - done, 1);
        if (taken < 0) return -1;
        done += taken;
        if (!tokens)
            n += m->width->emit(m, text + given, path->tokens, path->n_tokens, id_at(m, ids, n));
        for (int64_t k = 0; k < path->n_tokens && tokens; k++)
            tokens[n++] = (token){path->tokens[k].id, path->tokens[k].end + (uint32_t)given};
        if (path->n_tokens) given += path->tokens[path->n_tokens - 1].end;
    }
    return n;
}

/* A short segment is solved on the stack, from the exact sum. A longer one goes through the
 * scratch, part by part. */
static int64_t walk(run *r, const uint8_t *segment, int64_t n_bytes, void *ids)
{
    const unitok_model *m = r->m;
    m->width->catch_up(r, ids);
    double sum = r->sum;
    if (n_bytes <= UNIGRAM_SEGMENT_BYTES) {
        token few[UNIGRAM_SEGMENT_BYTES];
        int64_t n = unigram_segment(unigram_of(m), segment, n_bytes, &sum, few);
        n = m->width->emit(m, segment, few, n, ids);
        run_set_sum(r, sum, id_at(m, ids, n));
        return n;
    }
    unigram_path *path = &((unigram_scratch *)r->s->state)->path;
    int64_t n = encode_parts(m, path, sum, segment, n_bytes, NULL, ids);
    if (n < 0) {
        r->failed = ENCODE_NO_MEMORY;
        return 0;
    }
    run_set_sum(r, path->sum, id_at(m, ids, n));
    return n;
}

/* For spans and n-best: encodes a complete text from a sum of 0, without the memo or cuts. */
static int64_t encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens)
{
    unigram_path *path = &((unigram_scratch *)s->state)->path;
    return encode_parts(m, path, 0, text, n_bytes, tokens, NULL);
}

/* ---------------------------------------------------------------------------- sampling ---- */

/* The lattice's tables belong to the model, and everything that changes belongs to the scratch. */
static lattice_work *lattice(const unitok_model *m, unitok_scratch *s)
{
    lattice_work *work = &((unigram_scratch *)s->state)->lattice;
    work->model = &((const unigram_model *)m->state)->lattice;
    return work;
}

/* Finds the n best paths, and draws one of them by its score. The draw has no position because it
 * is made once for the document. */
static int64_t draw_nbest(lattice_work *work, const unitok_sampling *sampling, uint64_t key,
                          const uint8_t *text, int64_t n_bytes, token *tokens)
{
    lattice_paths *found = &work->paths;
    lattice_paths_clear(found);
    if (!nbest_find(&work->nbest, work->model, text, n_bytes, sampling->n_best, found)) return -1;
    int64_t k = nbest_choose(found, sampling->alpha, key);
    int64_t n = found->offsets[k + 1] - found->offsets[k];
    if (n) memcpy(tokens, found->tokens + found->offsets[k], (size_t)n * sizeof *tokens);
    return n;
}

/* Draws the parts between restarts one by one. The draws depend on the position of the part in the
 * document, so that the parts of a text are drawn independently. */
static int64_t draw_tokens(const unitok_model *m, unitok_scratch *s,
                           const unitok_sampling *sampling, uint64_t key, const uint8_t *text,
                           int64_t n_bytes, int64_t position, token *tokens)
{
    lattice_work *work = lattice(m, s);
    int64_t n = 0;
    if (sampling->method == UNITOK_SAMPLE_NBEST)
        return draw_nbest(work, sampling, key, text, n_bytes, tokens);
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = restart_next(m, text, begin, n_bytes);
        int64_t n_more = (sampling->method == UNITOK_SAMPLE_VITERBI ? sampler_draw_viterbi
                                                                    : sampler_draw)(
            &work->sampler, text + begin, end - begin, key, position + begin, tokens + n);
        if (n_more < 0) return -1;
        for (int64_t k = 0; k < n_more && begin; k++) tokens[n + k].end += (uint32_t)begin;
        n += n_more;
    }
    return n;
}

/* The flags of byte models and of Hugging Face's Unigram require float64 sums, because both
 * references compute in float64. */
static const flag_rule rules[] = {
    {UNITOK_BYTES, UNITOK_FLOAT64, TEXT_FLAGS | UNITOK_RESTART_AT_SPACE | UNITOK_BYTE_PIECES_MATCH,
     "BYTES needs FLOAT64 and excludes every flag that works on characters"},
    {UNITOK_RESTART_AFTER_NEWLINE, UNITOK_BYTES, 0, "RESTART_AFTER_NEWLINE needs BYTES"},
    {UNITOK_RESTART_AT_SPACE, UNITOK_FLOAT64, 0, "RESTART_AT_SPACE needs FLOAT64"},
    {UNITOK_BYTE_PIECES_MATCH, UNITOK_FLOAT64, 0, "BYTE_PIECES_MATCH needs FLOAT64"},
    {UNITOK_BYTE_PIECES_MATCH, UNITOK_BYTE_FALLBACK, 0, "BYTE_PIECES_MATCH needs BYTE_FALLBACK"},
    {0, 0, 0, NULL},
};

/* The only kind with a running sum, and therefore the only one with its own `walk` and `solve`. */
const model_kind kind_unigram = {
    .flags = TEXT_FLAGS | UNITOK_FLOAT64 | UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE |
             UNITOK_BYTES | UNITOK_BYTE_PIECES_MATCH,
    .rules = rules,
    .methods = 1 << UNITOK_SAMPLE_LATTICE | 1 << UNITOK_SAMPLE_NBEST | 1 << UNITOK_SAMPLE_VITERBI,
    .tokens_per_byte = 1,
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build,
    .memory_bytes = memory_bytes,
    .free = free_model,
    .scratch_bytes = sizeof(unigram_scratch),
    .free_scratch = free_scratch,
    .cutter = &cuts_by_table,
    .encode = encode,
    .walk = walk,
    .solve = solve,
    .draw = draw_tokens,
    .lattice = lattice,
    .find = build_find,
};
