/* state.c - serializes an encoder's state between two parts of a document
 *
 * All numbers are little-endian:
 *
 *      0  u8  version = 1
 *      1  f64 sum
 *      9  i64 position
 *     17  i64 n_held_bytes
 *     25  u8  bits: 1 is_started, 2 is_after_space, 4 last_unknown
 *     26  u8  last_byte
 *
 * The state is saved in checkpoints, which later versions must be able to read, so its layout is
 * fixed and has its own version number. Of the text that the normalizer is holding, only the number
 * of bytes is stored, because this text consists of spaces. */

#include <math.h>

#include "ground/common.h"
#include "ground/error.h"

enum { STATE_VERSION = 1, IS_STARTED = 1, IS_AFTER_SPACE = 2, LAST_UNKNOWN = 4 };

/* Both fields count bytes of text read so far, so no valid state reaches these limits. */
#define HELD_BYTES_LIMIT (INT64_C(1) << 40)
#define POSITION_LIMIT (INT64_C(1) << 62)

static int64_t load_i64(const uint8_t *p) { return (int64_t)load_u64(p); }

static double load_f64(const uint8_t *p)
{
    double v;
    memcpy(&v, p, 8);
    return v;
}

/* Numbers are copied byte by byte, because they are not aligned. All supported processors are
 * little-endian: ground/common.h refuses to compile on others. */
void unitok_state_save(const unitok_state *state, uint8_t *out)
{
    const unitok_normalize_state *n = &state->normalize;
    out[0] = STATE_VERSION;
    memcpy(out + 1, &state->sum, 8);
    memcpy(out + 9, &state->position, 8);
    memcpy(out + 17, &n->n_held_bytes, 8);
    out[25] = (uint8_t)((n->is_started ? IS_STARTED : 0) |
                        (n->is_after_space ? IS_AFTER_SPACE : 0) |
                        (state->last_unknown ? LAST_UNKNOWN : 0));
    out[26] = (uint8_t)state->last_byte;
}

/* Rejects unknown bits, because a later version may give them a meaning. */
static int read_state(const uint8_t *bytes, unitok_state *ret)
{
    if (bytes[0] != STATE_VERSION || bytes[25] & ~(IS_STARTED | IS_AFTER_SPACE | LAST_UNKNOWN))
        return 0;
    ret->sum = load_f64(bytes + 1);
    ret->position = load_i64(bytes + 9);
    ret->normalize.n_held_bytes = load_i64(bytes + 17);
    ret->normalize.is_started = (bytes[25] & IS_STARTED) != 0;
    ret->normalize.is_after_space = (bytes[25] & IS_AFTER_SPACE) != 0;
    ret->last_unknown = (bytes[25] & LAST_UNKNOWN) != 0;
    ret->last_byte = bytes[26];
    return 1;
}

/* The bytes come from a file and may be damaged. Values out of range are rejected here, because
 * later additions would overflow. *ret is set only if the state is valid. */
int32_t unitok_state_load(const uint8_t *bytes, int64_t n_bytes, unitok_state *ret,
                          unitok_error *error)
{
    unitok_state state;
    memset(&state, 0, sizeof state);
    int is_read = n_bytes == UNITOK_STATE_BYTES && read_state(bytes, &state);
    int64_t n_held = state.normalize.n_held_bytes;
    if (!is_read || !isfinite(state.sum) || state.position < 0 || state.position > POSITION_LIMIT ||
        n_held < 0 || n_held > HELD_BYTES_LIMIT)
        return fail(error, UNITOK_ERROR_FORMAT, -1, -1, "these bytes are not an encoder state");
    *ret = state;
    return UNITOK_OK;
}
