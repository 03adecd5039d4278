/* unigram.c - builds Unigram models, and includes the Viterbi templates for float and double
 * (unigram_dp.h, unigram_follow.h)
 *
 * A model has one trie of its pieces. Three other structures find the same pieces faster; a model
 * has at most one of them, chosen when it is built:
 *
 *     automaton    BytePiece: float64, bytes, every byte a piece          automaton.h
 *     endings      float32, many pieces cross a space                     endings.h
 *     charwise     float32, many pieces join Chinese or kana characters   charwise.h
 *
 * Values number the pieces that can match, 1..n_pieces in byte order. Tables are indexed by value
 * while encoding, and by id where the sum over the tokens of a memo entry is computed. */

#include "encoders/unigram.h"

#include <float.h>
#include <math.h>

#include "ground/error.h"
#include "ground/grow.h"
#include "structures/vocabulary.h"

#if FLT_EVAL_METHOD != 0
#error "sums must be rounded to their own type: on x86, compile for SSE2"
#endif

#define UNKNOWN_PENALTY 10
/* the score of a byte without a piece, which is used only if no path of pieces exists */
#define UNKNOWN_BYTE_SCORE (-1e200)

/* the text of one step of unigram_advance: its cells stay in the L1 cache */
#define PART_BYTES 4096
#define CHAR_BYTES_MAX 4
/* models with endings: one piece in 16 must cross a space */
#define CROSSING_SHARE 16
#define CHAR_BYTES_ONE 0x1111111111111111u /* of unigram.char_bytes: every size is 1 */
#define CHAR_BYTES_UTF8 0x4322111111111111u
#define UNIGRAM_ARCS_MAX                                                                           \
    ((UNIGRAM_SEGMENT_BYTES + 1) * UNIGRAM_SEGMENT_BYTES / 2 + UNIGRAM_SEGMENT_BYTES)

#define VALUE_UNKNOWN 0x1000000u /* above the trie's 23 bits */
#define VALUE_MARK 0x80000000u
#define VALUE_START 27 /* in a short segment: the shift of the start of the piece */
#define VALUE_MASK ((1u << VALUE_START) - 1)

/* If the largest score of a model is at most this, all segments use one bound: see unigram_dp.h. */
#define LARGEST_SCORE_USUAL 256.0
#define RESTART_ABOVE CHARWISE_RESTART_ABOVE
#define RESERVE (1.0 / 524288)

/* The size of the first character according to its lead byte, limited by the end of the text. The
 * sizes for all leads are nibbles of one number, so a shift replaces a load. */
INLINE int64_t first_char_bytes(const unigram *m, const uint8_t *text, int64_t n_bytes)
{
    int64_t n_char = (int64_t)(m->char_bytes >> (text[0] >> 4) * 4) & 15;
    return n_char < n_bytes ? n_char : n_bytes;
}

/* Cells of paths through the trie hold either the value of a piece or VALUE_UNKNOWN + the size of a
 * character; values of pieces fit below VALUE_UNKNOWN. */
INLINE int32_t value_id(const unigram *m, uint32_t value)
{
    return value & VALUE_UNKNOWN ? TOKEN_UNKNOWN : m->ids[value];
}

/* `follows`: cells hold the values of endings.h. */
INLINE int64_t value_bytes(const unigram *m, uint32_t value, int follows)
{
    if (follows) return endings_value_bytes(value);
    return value & VALUE_UNKNOWN ? (int64_t)(value & 15) : (int64_t)m->lengths[value];
}

/* Whether text[at] continues a character. */
INLINE int is_inside(const uint8_t *text, int64_t at) { return (text[at] & 0xC0) == 0x80; }

/* Whether no character extends past text[at - 1]. */
INLINE int is_char_end(const uint8_t *text, int64_t at, int64_t n_bytes)
{
    return at >= n_bytes || !is_inside(text, at);
}

/* Whether text[at] is inside a character and no piece of two or more bytes begins there. In Chinese
 * this is true of nearly two in three positions, which then need no walk. */
INLINE int is_lone(const unigram *m, const uint8_t *text, int64_t at, int64_t n_bytes)
{
    if (!is_inside(text, at) || at + 1 == n_bytes) return 0;
    return !(m->pairs_inside[text[at] - 0x80][text[at + 1] >> 6] >> (text[at + 1] & 63) & 1);
}

/* Whether text[0..n_bytes-1] is a piece. The walk starts with an imaginary unit whose base is that
 * of the root. The function is needed only where an unknown character wins over all pieces, so it
 * is not inlined. */
static NOINLINE int is_piece(const unigram *m, const uint8_t *text, int64_t n_bytes)
{
    uint64_t unit = (uint64_t)TRIE_ROOT_BASE << 32;
    for (int64_t i = 0; i < n_bytes; i++) {
        unit = m->trie.units[unit_base(unit) ^ text[i]];
        if (!unit_has_label(unit, text[i])) return 0;
    }
    return unit_value(unit) != 0;
}

/* Reserves space for n_tokens tokens. Returns 0 if allocation fails. */
static int reserve_tokens(unigram_path *path, int64_t n_tokens)
{
    return grow(&path->tokens, n_tokens - 1, &path->tokens_capacity, sizeof *path->tokens);
}

#define SUM float
#define NAME(x) x##32
#define SCORES scores32
#define RESTARTS 1
#define STARTS_INSIDE 0
/* 2^-25: half a unit in the last place of 24 bits */
#define ERROR_UNIT ((1 + RESERVE) / 33554432)
#define LEVELS {131072, 65536, 32768, 16384, 8192, 4096, 2048}
#include "encoders/unigram_dp.h"
#include "encoders/unigram_follow.h"

#undef SUM
#undef NAME
#undef SCORES
#undef RESTARTS
#undef STARTS_INSIDE
#undef ERROR_UNIT
#undef LEVELS

#define SUM double
#define NAME(x) x##64
#define SCORES scores64
#define RESTARTS 0
#define STARTS_INSIDE 1
#define ERROR_UNIT (8.0 / 18014398509481984) /* 2^-54: half a unit in the last place of 53 bits */
#define LEVELS {2 * UNIGRAM_SUM_MAX, 131072}
#include "encoders/unigram_dp.h"

int64_t unigram_exact(const unigram *m, const uint8_t *text, int64_t n_bytes, token *tokens,
                      uint32_t *ret_limit)
{
    ASSERT(n_bytes > 0 && n_bytes <= UNIGRAM_SEGMENT_BYTES);
    return m->is_float64 ? exact64(m, text, n_bytes, tokens, ret_limit)
                         : exact32(m, text, n_bytes, tokens, ret_limit);
}

int64_t unigram_segment(const unigram *m, const uint8_t *text, int64_t n_bytes, double *io_sum,
                        token *tokens)
{
    ASSERT(n_bytes > 0 && n_bytes <= UNIGRAM_SEGMENT_BYTES);
    return m->is_float64 ? segment64(m, text, n_bytes, io_sum, tokens)
                         : segment32(m, text, n_bytes, io_sum, tokens);
}

/* There has been no restart yet, so `restarted` is set far before any position. */
void unigram_begin(unigram_path *path, double sum)
{
    path->sum = sum;
    path->n_filled = path->at = path->reach = path->settle_at = 0;
    path->state = 0;
    path->restarted = INT64_MIN / 2;
}

/* Models with endings follow the automaton; all others walk the trie from every position. */
int64_t unigram_advance(const unigram *m, unigram_path *path, const uint8_t *text, int64_t n_bytes,
                        int is_last)
{
    if (m->endings) return follow(m, path, text, n_bytes, is_last);
    return m->is_float64 ? advance64(m, path, text, n_bytes, is_last)
                         : advance32(m, path, text, n_bytes, is_last);
}

void unigram_path_free(unigram_path *path)
{
    mem_free(path->cells);
    mem_free(path->tokens);
    mem_free(path->places);
    memset(path, 0, sizeof *path);
}

/* -------------------------------------------------------------------------------- Building ---- */

INLINE double piece_score(const unitok_spec *spec, int64_t k)
{
    return spec->scores ? spec->scores[k] : 0;
}

/* The score of a piece. A user-defined piece gets a score that beats those of shorter pieces: it
 * depends on the length, with spaces counted as U+2581. The reference computes it in its own
 * arithmetic, so the product is rounded to float32 for float32 models. */
static double matching_score(const unitok_spec *spec, int64_t k)
{
    if (piece_type(spec, k) != UNITOK_PIECE_USER_DEFINED) return piece_score(spec, k);
    double score = 0.1 * (double)(spec->offsets[k + 1] - spec->offsets[k] - 1);
    return spec->flags & UNITOK_FLOAT64 ? score : (double)(float)score;
}

/* Writes the piece in the form of compact text and returns its size, or 0 if it can never match. */
static int64_t compact(const unitok_spec *spec, int64_t k, uint8_t *out)
{
    const uint8_t *piece = spec->data + spec->offsets[k];
    int64_t n_bytes = spec->offsets[k + 1] - spec->offsets[k];
    int type = piece_type(spec, k);
    if (type == UNITOK_PIECE_BYTE && spec->flags & UNITOK_BYTE_PIECES_MATCH)
        type = UNITOK_PIECE_NORMAL;
    if (type != UNITOK_PIECE_NORMAL && type != UNITOK_PIECE_USER_DEFINED) return 0;
    if (!(spec->flags & UNITOK_ESCAPE_WHITESPACES)) {
        memcpy(out, piece, (size_t)n_bytes);
        return n_bytes;
    }
    return memchr(piece, SPACE_BYTE, (size_t)n_bytes) ? 0
                                                      : space_symbols_close(piece, n_bytes, out);
}

/* Checks the limits of scores and lengths, without which sums could overflow and walks would not
 * take linear time. */
static int32_t check_pieces(const unitok_spec *spec, unitok_error *error)
{
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        double score = piece_score(spec, k);
        if (!(score >= -UNIGRAM_SCORE_MAX && score <= UNIGRAM_SCORE_MAX))
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                        "its score is not a number in -1e30..1e30");
        if (spec->offsets[k + 1] - spec->offsets[k] > UNIGRAM_PIECE_BYTES_MAX)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                        "it is longer than 4096 bytes, the limit for Unigram");
    }
    return UNITOK_OK;
}

/* The score of an unknown character. sentencepiece subtracts the penalty in float, from the lowest
 * score of the NORMAL pieces, or from the largest float if there are none. tokenizers subtracts it
 * in double, from the lowest score of all pieces. */
static double unknown_score(const unitok_spec *spec)
{
    if (spec->flags & UNITOK_BYTES) return UNKNOWN_BYTE_SCORE;
    double least = spec->flags & UNITOK_FLOAT64 ? UNIGRAM_SCORE_MAX : FLT_MAX;
    for (int64_t k = 0; k < spec->n_pieces; k++)
        if (piece_type(spec, k) == UNITOK_PIECE_NORMAL || spec->flags & UNITOK_FLOAT64)
            if (piece_score(spec, k) < least) least = piece_score(spec, k);
    return spec->flags & UNITOK_FLOAT64 ? least - UNKNOWN_PENALTY
                                        : (double)((float)least - (float)UNKNOWN_PENALTY);
}

/* The score that a token with the id of piece k adds to the sum. An unknown character that becomes
 * byte pieces adds its score only once, with the piece of its first byte: a byte below 0x80 or from
 * 0xC0 on. */
static double token_score(const unigram *m, const unitok_spec *spec, int64_t k)
{
    int type = piece_type(spec, k), byte = -1;
    if (type == UNITOK_PIECE_BYTE)
        byte = vocabulary_byte(spec->data + spec->offsets[k],
                               spec->offsets[k + 1] - spec->offsets[k]);
    if (type == UNITOK_PIECE_NORMAL || type == UNITOK_PIECE_USER_DEFINED)
        return matching_score(spec, k);
    if (type == UNITOK_PIECE_UNKNOWN) return m->unknown_score;
    return byte >= 0 && (byte < 0x80 || byte >= 0xC0) ? m->unknown_score : 0;
}

/* Allocates the tables by value and by id. Returns 0 if allocation fails. */
static int allocate(unigram *m)
{
    size_t n_values = (size_t)m->n_pieces + 1, n_ids = (size_t)m->n_ids;
    m->ids = mem_zalloc(n_values, sizeof *m->ids);
    m->lengths = mem_zalloc(n_values, sizeof *m->lengths);
    m->heads = mem_alloc(TRIE_HEADS * sizeof *m->heads);
    m->singles = mem_alloc(256 * sizeof *m->singles);
    if (m->is_float64) {
        m->scores64 = mem_zalloc(n_values, sizeof *m->scores64);
        m->id_scores64 = mem_zalloc(n_ids, sizeof *m->id_scores64);
    } else {
        m->scores32 = mem_zalloc(n_values, sizeof *m->scores32);
        m->id_scores32 = mem_zalloc(n_ids, sizeof *m->id_scores32);
    }
    return m->ids && m->lengths && m->heads && m->singles &&
           (m->is_float64 ? m->scores64 && m->id_scores64 : m->scores32 && m->id_scores32);
}

/* Whether a text can contain unknown characters. If characters are bytes and all bytes are pieces,
 * it cannot, and the score of unknown characters, whose magnitude is huge, does not count as the
 * largest in the model. */
static int has_unknown(const unigram *m)
{
    int has_all = m->char_bytes == CHAR_BYTES_ONE;
    for (int byte = 0; byte < 256; byte++) has_all &= m->singles[byte] != 0;
    return !has_all;
}

/* Fills all tables except the trie. */
static void fill(unigram *m, const unitok_spec *spec, const sorted_pieces *sorted)
{
    m->unknown_is_low = 1;
    m->largest_score = has_unknown(m) ? fabs(m->unknown_score) : 0;
    /* value 0 is not a piece and never wins */
    if (m->is_float64) m->scores64[0] = -INFINITY;
    else m->scores32[0] = -INFINITY;
    for (int64_t i = 0; i < m->n_pieces; i++) {
        double score = matching_score(spec, sorted->ids[i]);
        int64_t n_bytes = sorted->offsets[i + 1] - sorted->offsets[i];
        if (score < m->unknown_score) m->unknown_is_low = 0;
        if (fabs(score) > m->largest_score) m->largest_score = fabs(score);
        if (m->is_float64) m->scores64[i + 1] = score;
        else m->scores32[i + 1] = (float)score;
        m->ids[i + 1] = (int32_t)spec->ids[sorted->ids[i]];
        m->lengths[i + 1] = (uint32_t)n_bytes;
        if (n_bytes > m->max_piece_bytes) m->max_piece_bytes = n_bytes;
    }
    /* a path with a larger score has the limit 0 */
    double largest = m->is_float64 ? 2 * UNIGRAM_SUM_MAX : 131072;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        double score = token_score(m, spec, k), size = fabs(score);
        if (m->is_float64) m->id_scores64[spec->ids[k]] = score;
        else m->id_scores32[spec->ids[k]] = (float)score;
        if (size <= largest && size > m->largest_step) m->largest_step = size;
    }
    m->largest_step += 1.0 / 128;
}

/* Sets the bits that is_lone tests. A position inside a character needs no walk if no piece of two
 * or more bytes can begin there. If bytes are not positions, no walk ever begins inside a
 * character, and all bits are set. */
static void fill_pairs_inside(unigram *m)
{
    for (int a = 0x80; a < 0xC0; a++)
        for (int b = 0; b < 256; b++)
            if (m->char_bytes != CHAR_BYTES_ONE || !m->singles[a] ||
                head_base(m->heads[a | b << 8]) || head_pair_value(m->heads[a | b << 8]))
                m->pairs_inside[a - 0x80][b >> 6] |= UINT64_C(1) << (b & 63);
}

/* Lays out the trie, in which the pieces have the values 1..n_pieces. */
static int32_t lay_out(unigram *m, const sorted_pieces *sorted, unitok_error *error)
{
    trie_parts parts = {NULL, 0};
    int32_t status = trie_build(sorted->data, sorted->offsets, NULL, sorted->n, &parts, error);
    if (status != UNITOK_OK) return status;
    m->units = parts.units;
    trie_build_heads(m->units, 0, m->heads, m->singles);
    fill_pairs_inside(m);
    m->trie = (trie){m->units, m->heads, m->singles, parts.n_units};
    return UNITOK_OK;
}

/* Whether many pieces cross a space, so that cuts are few and segments long. `follow` also requires
 * that sums restart at most once within the longest piece: see FOLLOW_SUM_MAX. */
static int is_for_endings(const unigram *m, const uint8_t *packed, const int64_t *offsets)
{
    int64_t n = 0;
    if (m->is_float64 || m->largest_score * (double)m->max_piece_bytes > FOLLOW_SUM_MAX) return 0;
    for (int64_t i = 0; i < m->n_pieces; i++) {
        const uint8_t *piece = packed + offsets[i];
        for (int64_t k = 1; k + 1 < offsets[i + 1] - offsets[i]; k++)
            if (piece[k] == ' ' && piece[k - 1] != ' ' && piece[k + 1] != ' ') {
                n++;
                break;
            }
    }
    return n * CROSSING_SHARE > m->n_pieces;
}

/* Sorts the pieces that can match, in the form of compact text. Their ids become indexes into the
 * spec. */
static int32_t collect(const unitok_spec *spec, sorted_pieces *ret, unitok_error *error)
{
    size_t n_pieces = (size_t)spec->n_pieces;
    int64_t n = 0, *offsets = mem_alloc((2 * n_pieces + 1) * sizeof *offsets);
    uint8_t *bytes = mem_alloc((size_t)(n_pieces ? spec->offsets[n_pieces] : 0) + 1);
    int32_t status = offsets && bytes ? UNITOK_OK : fail_memory(error);
    if (!status) {
        int64_t *indexes = offsets + n_pieces + 1;
        offsets[0] = 0;
        for (int64_t k = 0; k < spec->n_pieces; k++) {
            int64_t n_bytes = compact(spec, k, bytes + offsets[n]);
            if (n_bytes == 0) continue;
            indexes[n++] = k;
            offsets[n] = offsets[n - 1] + n_bytes;
        }
        status = vocabulary_sort(bytes, offsets, indexes, n, ret, error);
        if (status == UNITOK_ERROR_VOCABULARY && error) error->item = indexes[error->item];
    }
    mem_free(bytes);
    mem_free(offsets);
    return status;
}

/* The largest id of all pieces, including those that cannot match, or -1. */
static int64_t highest_id(const unitok_spec *spec)
{
    int64_t highest = -1;
    for (int64_t k = 0; k < spec->n_pieces; k++)
        if (spec->ids[k] > highest) highest = spec->ids[k];
    return highest;
}

/* Builds the automaton if the model can have one. Returns 0 if allocation fails. */
static int add_automaton(unigram *m, const unitok_spec *spec, const uint8_t *packed,
                         const int64_t *offsets)
{
    automaton_source from = {&m->trie, packed, offsets, m->n_pieces, m->scores64, m->ids};
    if (!m->is_float64 || m->char_bytes != CHAR_BYTES_ONE) return 1;
    if (!automaton_fits(&from, (spec->flags & UNITOK_RESTART_AFTER_NEWLINE) != 0)) return 1;
    m->automaton = automaton_new(&from);
    return m->automaton != NULL;
}

/* Sorts the pieces that can match; lays out their trie and the tables by value; then builds the
 * structure, if any, that makes this model faster: automaton, endings or charwise. */
int32_t unigram_new(const unitok_spec *spec, unigram **ret, unitok_error *error)
{
    sorted_pieces sorted = {0};
    int32_t status = check_pieces(spec, error);
    if (status != UNITOK_OK) return status;
    unigram *m = mem_zalloc(1, sizeof *m);
    status = m ? collect(spec, &sorted, error) : fail_memory(error);
    if (status != UNITOK_OK) goto done;
    const uint8_t *packed = sorted.data;
    const int64_t *offsets = sorted.offsets;
    m->n_pieces = sorted.n;
    m->n_ids = highest_id(spec) + 1;
    m->is_float64 = (spec->flags & UNITOK_FLOAT64) != 0;
    m->unknown_score = unknown_score(spec);
    m->char_bytes = spec->flags & UNITOK_BYTES ? CHAR_BYTES_ONE : CHAR_BYTES_UTF8;
    status = allocate(m) ? lay_out(m, &sorted, error) : fail_memory(error);
    if (status == UNITOK_OK) fill(m, spec, &sorted);
    if (status == UNITOK_OK && !add_automaton(m, spec, packed, offsets))
        status = fail_memory(error);
    if (status == UNITOK_OK && is_for_endings(m, packed, offsets)) {
        endings_pieces pieces = {packed, offsets, m->scores32, m->ids, m->n_pieces};
        if (!endings_new(&m->trie, &pieces, &m->endings)) status = fail_memory(error);
    }
    if (status == UNITOK_OK && !m->is_float64 && !m->endings && m->char_bytes == CHAR_BYTES_UTF8) {
        charwise_pieces pieces = {packed, offsets,     m->scores32,
                                  m->ids, m->n_pieces, (float)m->unknown_score};
        if (!charwise_new(&pieces, &m->charwise)) status = fail_memory(error);
    }
done:
    sorted_pieces_free(&sorted);
    if (status == UNITOK_OK) *ret = m;
    else unigram_free(m);
    return status;
}

void unigram_free(unigram *m)
{
    if (!m) return;
    mem_free(m->scores32);
    mem_free(m->scores64);
    mem_free(m->ids);
    mem_free(m->lengths);
    mem_free(m->id_scores32);
    mem_free(m->id_scores64);
    mem_free(m->units);
    mem_free(m->heads);
    mem_free(m->singles);
    automaton_free(m->automaton);
    endings_free(m->endings);
    charwise_free(m->charwise);
    mem_free(m);
}

int64_t unigram_memory_bytes(const unigram *m)
{
    int64_t score = m->is_float64 ? 8 : 4;
    return (int64_t)sizeof *m + (m->n_pieces + 1) * (score + 8) + m->n_ids * score +
           m->trie.n_units * 8 + TRIE_HEADS * 8 + 256 * 4 +
           (m->automaton ? m->automaton->memory_bytes : 0) + endings_memory_bytes(m->endings) +
           charwise_memory_bytes(m->charwise);
}
