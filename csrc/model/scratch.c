/* scratch.c - the functions of scratch.h, and the public ones on a scratch */

#include "model/scratch.h"

#include "ground/alloc.h"
#include "model/loops.h"
#include "text/normalize.h"

int scratch_buffer(unitok_scratch *s, const unitok_normalizer *normalizer, int64_t held)
{
    int64_t more = held > 2 * CUT_CHUNK_BYTES ? held : 2 * CUT_CHUNK_BYTES;
    int64_t wanted = held + more + normalizer->max_step_bytes + CUT_READ_BEYOND;
    if (wanted <= s->buffer_bytes) return 1;
    uint8_t *p = mem_realloc(s->buffer, (size_t)wanted);
    if (!p) return 0;
    s->buffer = p;
    s->buffer_bytes = wanted;
    return 1;
}

token *scratch_tokens(unitok_scratch *s, int64_t n)
{
    if (n <= s->tokens_room) return s->tokens;
    token *p = mem_realloc(s->tokens, (size_t)n * sizeof *p);
    if (!p) return NULL;
    s->tokens = p;
    s->tokens_room = n;
    return p;
}

unitok_scratch *unitok_scratch_new(const unitok_model *m)
{
    unitok_scratch *s = m->info.is_complete ? mem_zalloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->model = m;
    s->memo_bytes = loop_memo_bytes(m->loop);
    s->memo = mem_zalloc(1, (size_t)s->memo_bytes);
    if (m->longest.lanes) s->lanes = mem_alloc(sizeof *s->lanes);
    int with_automaton = m->unigram && m->unigram->automaton;
    if (with_automaton) s->automaton = mem_zalloc(1, sizeof *s->automaton);
    int with_charwise = m->unigram && m->unigram->charwise;
    if (with_charwise) s->charwise = mem_alloc(sizeof *s->charwise);
    if (s->charwise) s->charwise->left_bytes = 0;
    if (s->memo && (s->lanes || !m->longest.lanes) && (s->automaton || !with_automaton) &&
        (s->charwise || !with_charwise))
        return s;
    unitok_scratch_free(s);
    return NULL;
}

void unitok_scratch_free(unitok_scratch *s)
{
    if (!s) return;
    lattice_paths_free(&s->paths);
    nbest_free(&s->nbest);
    sampler_free(&s->sampler);
    bpe_scratch_free(&s->bpe);
    unigram_path_free(&s->path);
    long_window_free(&s->window);
    mem_free(s->charwise);
    mem_free(s->automaton);
    mem_free(s->lanes);
    mem_free(s->tokens);
    mem_free(s->buffer);
    mem_free(s->memo);
    mem_free(s);
}
