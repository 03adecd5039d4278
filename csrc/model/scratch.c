/* scratch.c - the functions of scratch.h, and the public functions on a scratch */

#include "model/scratch.h"

#include "ground/alloc.h"
#include "model/run.h"
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
    if (n <= s->tokens_capacity) return s->tokens;
    token *p = mem_realloc(s->tokens, (size_t)n * sizeof *p);
    if (!p) return NULL;
    s->tokens = p;
    s->tokens_capacity = n;
    return p;
}

unitok_scratch *unitok_scratch_new(const unitok_model *m)
{
    unitok_scratch *s = m->info.is_complete ? mem_zalloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->model = m;
    s->kind = m->kind;
    s->memo = mem_zalloc(
        1, (size_t)(has_scores(m) ? m->width->summing_memo_bytes : m->width->memo_bytes));
    size_t n_bytes = (size_t)m->kind->scratch_bytes;
    if (n_bytes) s->state = mem_zalloc(1, n_bytes);
    if (s->memo && (s->state || !n_bytes)) return s;
    unitok_scratch_free(s);
    return NULL;
}

void unitok_scratch_free(unitok_scratch *s)
{
    if (!s) return;
    if (s->state && s->kind->free_scratch) s->kind->free_scratch(s->state);
    mem_free(s->state);
    mem_free(s->tokens);
    mem_free(s->buffer);
    mem_free(s->memo);
    mem_free(s);
}
