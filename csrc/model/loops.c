/* loops.c - the instances of document.h, and the choice among them */

#include "model/loops.h"

#include "encoders/memo.h"
#include "model/kind.h"

_Static_assert(CUT_CHUNK_BYTES <= AUTOMATON_CHUNK_BYTES, "the automaton takes a chunk at once");
_Static_assert(CUT_CHUNK_BYTES <= CHARWISE_BYTES, "and so does the walk by characters");

/* See walk.h. Most entries serve up to 99,700 or so; a bound beyond FAR_WORD proves little. */
#define AHEAD_IDS 64
#define FAR_WORD ((98304 / UNIGRAM_LIMIT_STEP) << 4)

/* With endings (encoders/endings.h): where segments are longer than this on average, the memo holds
 * few of them, and so many bytes are encoded at once without it. */
#define FOLLOW_SEGMENT 6
#define FOLLOW_SPAN 16384

#define NAME(x) x##_greedy_16
#define ID uint16_t
#define SHORT_BITS 16
#define GREEDY 1
#include "model/document.h"

#define NAME(x) x##_greedy_32
#define ID uint32_t
#define SHORT_BITS 16
#define GREEDY 1
#include "model/document.h"

#define NAME(x) x##_alone_16
#define ID uint16_t
#define SHORT_BITS 16
#include "model/document.h"

#define NAME(x) x##_alone_32
#define ID uint32_t
#define SHORT_BITS 16
#include "model/document.h"

#define NAME(x) x##_float_16
#define ID uint16_t
#define SHORT_BITS 17
#define SUM float
#define SUM_SCORES id_scores32
#include "model/document.h"

#define NAME(x) x##_float_32
#define ID uint32_t
#define SHORT_BITS 17
#define SUM float
#define SUM_SCORES id_scores32
#include "model/document.h"

#define NAME(x) x##_double_16
#define ID uint16_t
#define SHORT_BITS 17
#define SUM double
#define SUM_SCORES id_scores64
#define SUM_RESTARTS 1
#include "model/document.h"

#define NAME(x) x##_double_32
#define ID uint32_t
#define SHORT_BITS 17
#define SUM double
#define SUM_SCORES id_scores64
#define SUM_RESTARTS 1
#include "model/document.h"

/* By loop_kind. */
static const struct {
    int64_t (*encode)(const unitok_model *m, unitok_scratch *s, const encode_job *job);
    int64_t memo_bytes;
} loops[] = {
    [LOOP_GREEDY_16] = {encode_greedy_16, sizeof(memo_greedy_16)},
    [LOOP_GREEDY_32] = {encode_greedy_32, sizeof(memo_greedy_32)},
    [LOOP_ALONE_16] = {encode_alone_16, sizeof(memo_alone_16)},
    [LOOP_ALONE_32] = {encode_alone_32, sizeof(memo_alone_32)},
    [LOOP_FLOAT_16] = {encode_float_16, sizeof(memo_float_16)},
    [LOOP_FLOAT_32] = {encode_float_32, sizeof(memo_float_32)},
    [LOOP_DOUBLE_16] = {encode_double_16, sizeof(memo_double_16)},
    [LOOP_DOUBLE_32] = {encode_double_32, sizeof(memo_double_32)},
};

int64_t loop_encode(const unitok_model *m, unitok_scratch *s, const encode_job *job)
{
    ASSERT(s->model == m);
    return loops[m->loop].encode(m, s, job);
}

int64_t loop_memo_bytes(loop_kind loop)
{
    return loops[loop].memo_bytes;
}
