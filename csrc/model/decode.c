/* decode.c - decodes ids to bytes
 *
 * Greedy models and byte models concatenate the bytes of the pieces. Models with a normalizer
 * follow SentencePiece's rules, which undo what normalization did to spaces.
 *
 * A batch is decoded in two passes over the ids. The first checks every id and adds up the sizes,
 * so the second writes without any test, and an error leaves the output unchanged. If the capacity
 * is too small, only the sizes are computed, so that the caller can allocate enough. */

#include "ground/error.h"
#include "model/model.h"
#include "ground/packed.h"

static const uint8_t replacement[3] = {0xEF, 0xBF, 0xBD};

/* Ids have 16 or 32 bits. The branch takes the same direction throughout a call, so it is
 * predicted. */
INLINE int64_t id_at(const unitok_model *m, const void *ids, int64_t i)
{
    return m->info.id_bytes == 2 ? ((const uint16_t *)ids)[i] : ((const uint32_t *)ids)[i];
}

/* ------------------------------------------------------------------ Concatenated pieces ---- */

/* The bytes that an id decodes to; NULL if the model has no such id. An eod id without a piece
 * decodes to nothing, and a fallback id without a piece decodes to U+FFFD. Any other id without a
 * piece decodes to nothing in a model with types, and is an error in a greedy model. */
INLINE const uint8_t *decoded_bytes(const unitok_model *m, int64_t id, int64_t *ret_n_bytes)
{
    *ret_n_bytes = 0;
    if (LIKELY(id < m->info.n_ids)) {
        const uint8_t *piece = piece_of(m, id, ret_n_bytes);
        if (m->types && m->types[id] == UNITOK_PIECE_CONTROL) *ret_n_bytes = 0;
        else if (LIKELY(*ret_n_bytes > 0)) return piece;
        else if (id == m->info.fallback_id) *ret_n_bytes = 3;
        if (id == m->info.fallback_id || id == m->info.eod_id || m->types) return replacement;
    }
    return NULL;
}

/* Called with out = NULL to measure, and then again to write. The same loop does both, so the sizes
 * cannot differ. */
static int64_t decode_pieces(const unitok_model *m, const void *ids, int64_t begin, int64_t end,
                             uint8_t *out)
{
    int64_t total = 0, n;
    for (int64_t i = begin; i < end; i++, total += n) {
        const uint8_t *piece = decoded_bytes(m, id_at(m, ids, i), &n);
        if (out) memcpy(out + total, piece, (size_t)n);
    }
    return total;
}

/* ------------------------------------------------------------------- SentencePiece's rules ---- */

/* Decodes as SentencePieceProcessor::Decode does: removes a space symbol at the very beginning,
 * hides control symbols, and turns byte pieces into their bytes. Unlike Decode, it keeps invalid
 * UTF-8, which the caller can replace with U+FFFD. Once something has been written (n > 0), no
 * space is removed.
 *
 *     pieces     <s>   ▁the   ▁co   <0x6F>  p   </s>
 *     bytes            the    ␣co   o       p */
static int64_t decode_text(const unitok_model *m, const void *ids, int64_t begin, int64_t end,
                           uint8_t *out)
{
    int64_t n = 0;
    /* Normalization may have added a space at the front. */
    int at_start = (m->flags & (UNITOK_ADD_DUMMY_PREFIX | UNITOK_REMOVE_EXTRA_WHITESPACES)) != 0;
    for (int64_t i = begin; i < end; i++) {
        int64_t id = id_at(m, ids, i), n_bytes;
        const uint8_t *piece = piece_of(m, id, &n_bytes);
        uint8_t *to = out ? out + n : NULL;
        if (m->types[id] == UNITOK_PIECE_BYTE) {
            if (to) *to = m->byte_of_id[id];
            n++;
            continue;
        }
        if (m->types[id] == UNITOK_PIECE_CONTROL || m->types[id] == 0) continue;
        if (n > 0) at_start = 0;
        if (at_start && space_symbol_begins(piece, n_bytes)) {
            piece += 3;
            n_bytes -= 3;
            /* at most one space is removed */
            if (!(m->flags & UNITOK_REMOVE_EXTRA_WHITESPACES)) at_start = 0;
        }
        if (m->types[id] != UNITOK_PIECE_UNKNOWN) {
            n += space_symbols_close(piece, n_bytes, to);
            continue;
        }
        if (to) memcpy(to, m->spec.unknown_surface, (size_t)m->spec.n_unknown_surface_bytes);
        n += m->spec.n_unknown_surface_bytes;
    }
    return n;
}

/* ------------------------------------------------------------------------------- Documents ---- */

/* SentencePiece's rules apply if the model has a normalizer, which replaced spaces with U+2581. */
static int64_t decode(const unitok_model *m, const void *ids, int64_t begin, int64_t end,
                      uint8_t *out)
{
    return m->normalizer ? decode_text(m, ids, begin, end, out)
                         : decode_pieces(m, ids, begin, end, out);
}

/* In a model with a normalizer, the eod id need not have a piece: it ends a document and stands for
 * no text. */
static int can_decode(const unitok_model *m, int64_t id)
{
    int64_t n;
    if (!m->normalizer) return decoded_bytes(m, id, &n) != NULL;
    return id < m->info.n_ids && (m->types[id] != 0 || id == m->info.eod_id);
}

/* Fills byte_offsets, and checks every id, so that writing cannot fail. The `item` of an error is
 * the id, and its `position` is the index in the array. */
static int32_t measure_documents(const unitok_model *m, const void *ids, const int64_t *id_offsets,
                                 int64_t n_docs, int32_t drop_last, int64_t n_separator_bytes,
                                 int64_t *byte_offsets, unitok_error *error)
{
    int64_t total = 0;
    byte_offsets[0] = 0;
    for (int64_t k = 0; k < n_docs; k++) {
        int64_t end = id_offsets[k + 1] - drop_last;
        for (int64_t i = id_offsets[k]; i < end; i++)
            if (!can_decode(m, id_at(m, ids, i)))
                return fail(error, UNITOK_ERROR_ID, id_at(m, ids, i), i, "this id has no piece");
        total += decode(m, ids, id_offsets[k], end, NULL) + n_separator_bytes;
        byte_offsets[k + 1] = total;
    }
    return UNITOK_OK;
}

/* Makes two passes, because lengths are not known in advance. The first pass also finds invalid
 * ids, so nothing is written unless every document is valid. If the documents do not fit,
 * byte_offsets tell how much space they need. */
int32_t unitok_decode_batch(const unitok_model *m, const void *ids, const int64_t *id_offsets,
                            int64_t n_docs, int32_t drop_last, const uint8_t *separator,
                            int64_t n_separator_bytes, uint8_t *out, int64_t capacity,
                            int64_t *byte_offsets, unitok_error *error)
{
    const char *wrong = check_offsets(id_offsets, n_docs);
    if (wrong || drop_last < 0 || drop_last > 1 || n_separator_bytes < 0)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    wrong ? wrong : "drop_last or the separator is out of range");
    int32_t status = measure_documents(m, ids, id_offsets, n_docs, drop_last, n_separator_bytes,
                                       byte_offsets, error);
    if (status || byte_offsets[n_docs] > capacity) return status;
    for (int64_t k = 0; k < n_docs; k++) {
        out += decode(m, ids, id_offsets[k], id_offsets[k + 1] - drop_last, out);
        if (n_separator_bytes) memcpy(out, separator, (size_t)n_separator_bytes);
        out += n_separator_bytes;
    }
    return UNITOK_OK;
}

/* Whether a byte piece follows an id that can decode to nothing. The bytes on either side of such
 * an id belong to separate characters. A caller that replaces invalid UTF-8 in the result would not
 * see the id between them, and would join the two into one character. */
static int has_separated_bytes(const unitok_model *m, const void *ids, int64_t n_ids)
{
    int may_be_empty = 0;
    for (int64_t i = 0; i < n_ids; i++) {
        uint8_t type = m->types[id_at(m, ids, i)];
        if (may_be_empty && type == UNITOK_PIECE_BYTE) return 1;
        may_be_empty = type == UNITOK_PIECE_CONTROL || type == UNITOK_PIECE_UNKNOWN || type == 0;
    }
    return 0;
}

/* Errors: -1: an id does not exist in the model; -2: the array is too small; -3: see
 * has_separated_bytes. */
int64_t unitok_decode(const unitok_model *m, const void *ids, int64_t n_ids, uint8_t *out,
                      int64_t capacity)
{
    for (int64_t i = 0; i < n_ids; i++)
        if (!can_decode(m, id_at(m, ids, i))) return -1;
    if (m->flags & UNITOK_BYTE_FALLBACK && m->types && has_separated_bytes(m, ids, n_ids))
        return -3;
    if (decode(m, ids, 0, n_ids, NULL) > capacity) return -2;
    return decode(m, ids, 0, n_ids, out);
}
