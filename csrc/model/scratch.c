/* scratch.c - the functions of scratch.h, and the public functions on a scratch
 *
 * A scratch is made for one model and used by one thread at a time. The memo is its largest part,
 * and is allocated zeroed: a slot of zeros holds no segment, because the length of a segment is
 * part of its key. The operating system provides the zeroed pages only when they are first touched,
 * so a scratch for one short text costs little. */

#include "model/scratch.h"

#include "ground/alloc.h"
#include "ground/pages.h"
#include "model/run.h"
#include "text/normalize.h"

/* The buffer must have space for the held text, for one step of the normalizer, and for reads past
 * the end. The space added is at least as large as the held text, so a text without any cut, which
 * is held completely, is copied only O(log n) times. */
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

/* The array never shrinks. A long segment is usually followed by others of the same kind. */
token *scratch_tokens(unitok_scratch *s, int64_t n)
{
    if (n <= s->tokens_capacity) return s->tokens;
    token *p = mem_realloc(s->tokens, (size_t)n * sizeof *p);
    if (!p) return NULL;
    s->tokens = p;
    s->tokens_capacity = n;
    return p;
}

/* Allocates an empty memo, in huge pages if it takes several megabytes. Returns 0 if that fails. */
static int memo_new(const id_width *width, int bits, int long_bits, memo *ret)
{
    int64_t n_bytes = (width->short_bytes << bits) + (width->long_bytes << long_bits),
            align = n_bytes < HUGE_PAGE_BYTES ? 64 : HUGE_PAGE_BYTES;
    uint8_t *memory = mem_zalloc(1, (size_t)(n_bytes + align));
    if (!memory) return 0;
    memo m = {memory + (align - (int64_t)((uintptr_t)memory & (uintptr_t)(align - 1))), memory,
              bits, long_bits, 0};
    *ret = m;
    pages_prefer_huge(m.entries, n_bytes);
    return 1;
}

/* Models with a pattern begin with a small memo, since a scratch for a short text should be cheap,
 * and change to the large one after MEMO_SMALL_MISSES misses. Called between chunks, when no
 * pointer into the memo is held. */
void scratch_grow_memo(unitok_scratch *s)
{
    const id_width *width = s->model->width;
    memo larger, *now = &s->memo;
    if (LIKELY(now->bits > MEMO_BITS_SMALL) || now->n_missed < MEMO_SMALL_MISSES) return;
    now->n_missed = 0;
    if (!memo_new(width, MEMO_BITS_PATTERN, MEMO_BITS_PATTERN - 2, &larger)) return;
    width->move_memo(now, &larger);
    mem_free(now->memory);
    *now = larger;
}

/* The model must be complete, because the width and the number of the memo's entries depend on the
 * model's encoder. After a failure unitok_scratch_free frees what has been allocated. */
unitok_scratch *unitok_scratch_new(const unitok_model *m)
{
    unitok_scratch *s = m->info.is_complete ? mem_zalloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->model = m;
    s->kind = m->kind;
    int bits = m->pattern      ? MEMO_BITS_SMALL
               : has_scores(m) ? m->width->memo_bits_summing
                               : m->width->memo_bits;
    int has_memo = memo_new(m->width, bits, bits - 1, &s->memo);
    size_t n_bytes = (size_t)m->kind->scratch_bytes;
    if (n_bytes) s->state = mem_zalloc(1, n_bytes);
    if (has_memo && (s->state || !n_bytes)) return s;
    unitok_scratch_free(s);
    return NULL;
}

/* The kind is stored in the scratch, not read from the model, which may have been freed already. */
void unitok_scratch_free(unitok_scratch *s)
{
    if (!s) return;
    if (s->state && s->kind->free_scratch) s->kind->free_scratch(s->state);
    mem_free(s->state);
    mem_free(s->tokens);
    mem_free(s->buffer);
    mem_free(s->memo.memory);
    mem_free(s);
}
