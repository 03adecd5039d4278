/* surfaces.c - the text of SentencePiece's ids: spaces, the dummy prefix, byte pieces, the unknown piece
 *
 * What a piece gives is laid out once, by id: its bytes with every U+2581 made a space, one byte for a byte piece, the
 * unknown surface for the unknown piece. At the start of a text one rule is added: a piece's first U+2581 is left out
 *   - as long as nothing was put out, with REMOVE_EXTRA_WHITESPACES
 *   - once, with ADD_DUMMY_PREFIX alone
 */

#include "alloc.h"
#include "error.h"
#include "utf8.h"

enum {
    SURFACE_IS = 1,      /* there is such a piece */
    SURFACE_SPACED = 2,  /* it begins with U+2581 */
    SURFACE_UNKNOWN = 4, /* what it gives is not its own text: nothing is left out of it */
    SURFACE_CONTROL = 8,
    SURFACE_BYTE = 16
};

struct unitok_surfaces {
    int32_t flags; /* of enum unitok_model_flags */
    int64_t n_ids;
    uint8_t *data;
    int64_t *offsets; /* [n_ids + 1] */
    uint8_t *kinds;   /* [n_ids], of the enum above */
};

static int is_u2581(const uint8_t *p, int64_t n_bytes)
{
    return n_bytes >= 3 && p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81;
}

/* The text with spaces for U+2581; returns its length. */
static int64_t write_spaced(const uint8_t *piece, int64_t n_bytes, uint8_t *out)
{
    int64_t n_out = 0;
    for (int64_t i = 0; i < n_bytes;) {
        int is_space = is_u2581(piece + i, n_bytes - i);
        out[n_out++] = is_space ? ' ' : piece[i];
        i += is_space ? 3 : 1;
    }
    return n_out;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of "<0x41>"; -1 if it is no byte piece. */
static int piece_byte(const uint8_t *piece, int64_t n_bytes)
{
    if (n_bytes != 6 || memcmp(piece, "<0x", 3) || piece[5] != '>') return -1;
    int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static int32_t check_pieces(const unitok_spec *spec, unitok_surfaces *s, unitok_error *error)
{
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int64_t id = spec->ids[k], n_bytes = spec->offsets[k + 1] - spec->offsets[k];
        if (id < 0 || id > UNITOK_WIDE_ID_MAX) {
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "the id is out of range");
        }
        int is_byte = spec->types && spec->types[k] == UNITOK_PIECE_BYTE;
        if (is_byte && piece_byte(spec->data + spec->offsets[k], n_bytes) < 0) {
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "it is no byte piece: they are <0x00> to <0xFF>");
        }
        if (id >= s->n_ids) s->n_ids = id + 1;
    }
    return UNITOK_OK;
}

/* Kinds by id, and in order[id] the piece. */
static int32_t sort_pieces(const unitok_spec *spec, unitok_surfaces *s, int64_t *order, unitok_error *error)
{
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int64_t id = spec->ids[k], n_bytes = spec->offsets[k + 1] - spec->offsets[k];
        uint8_t type = spec->types ? spec->types[k] : UNITOK_PIECE_NORMAL;
        if (s->kinds[id]) return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "another piece has this id");
        order[id] = k;
        s->kinds[id] = SURFACE_IS;
        if (is_u2581(spec->data + spec->offsets[k], n_bytes)) s->kinds[id] |= SURFACE_SPACED;
        if (type == UNITOK_PIECE_UNKNOWN) s->kinds[id] |= SURFACE_UNKNOWN;
        if (type == UNITOK_PIECE_CONTROL) s->kinds[id] |= SURFACE_CONTROL;
        if (type == UNITOK_PIECE_BYTE) s->kinds[id] |= SURFACE_BYTE;
    }
    return UNITOK_OK;
}

/* Lays out what each id gives; data has room. */
static void write_surfaces(const unitok_spec *spec, unitok_surfaces *s, const int64_t *order, const uint8_t *unknown,
                           int64_t n_unknown_bytes)
{
    uint8_t *out = s->data;
    for (int64_t id = 0; id < s->n_ids; id++) {
        uint8_t kind = s->kinds[id];
        s->offsets[id] = out - s->data;
        if (!kind || kind & SURFACE_CONTROL) continue;
        const uint8_t *piece = spec->data + spec->offsets[order[id]];
        int64_t n_bytes = spec->offsets[order[id] + 1] - spec->offsets[order[id]];
        if (kind & SURFACE_BYTE) {
            *out++ = (uint8_t)piece_byte(piece, n_bytes);
        } else if (kind & SURFACE_UNKNOWN) {
            if (n_unknown_bytes) memcpy(out, unknown, (size_t)n_unknown_bytes);
            out += n_unknown_bytes;
        } else {
            out += write_spaced(piece, n_bytes, out);
        }
    }
    s->offsets[s->n_ids] = out - s->data;
}

int32_t unitok_surfaces_new(const unitok_spec *spec, const uint8_t *unknown_surface, int64_t n_unknown_surface_bytes,
                            unitok_surfaces **ret, unitok_error *error)
{
    if (spec->n_pieces < 0 || n_unknown_surface_bytes < 0) {
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a size is negative");
    }
    unitok_surfaces *s = mem_zalloc(1, sizeof *s);
    if (!s) return fail_memory(error);
    int64_t *order = NULL, room = 1;
    s->flags = spec->flags;
    int32_t status = check_pieces(spec, s, error);
    for (int64_t k = 0; k < spec->n_pieces && !status; k++) {
        int is_unknown = spec->types && spec->types[k] == UNITOK_PIECE_UNKNOWN;
        room += is_unknown ? n_unknown_surface_bytes : spec->offsets[k + 1] - spec->offsets[k];
    }
    if (!status) {
        s->data = mem_alloc((size_t)room);
        s->offsets = mem_zalloc((size_t)s->n_ids + 1, sizeof *s->offsets);
        s->kinds = mem_zalloc((size_t)s->n_ids + 1, 1);
        order = mem_zalloc((size_t)s->n_ids + 1, sizeof *order);
        if (!s->data || !s->offsets || !s->kinds || !order) status = fail_memory(error);
    }
    if (!status) status = sort_pieces(spec, s, order, error);
    if (!status) write_surfaces(spec, s, order, unknown_surface, n_unknown_surface_bytes);
    mem_free(order);
    if (status) unitok_surfaces_free(s);
    else *ret = s;
    return status;
}

void unitok_surfaces_free(unitok_surfaces *surfaces)
{
    if (!surfaces) return;
    mem_free(surfaces->kinds);
    mem_free(surfaces->offsets);
    mem_free(surfaces->data);
    mem_free(surfaces);
}

int64_t unitok_surfaces_memory_bytes(const unitok_surfaces *surfaces)
{
    return (int64_t)sizeof *surfaces + surfaces->offsets[surfaces->n_ids] + surfaces->n_ids * 9;
}

/* ------------------------------------------------------------------------------------------------- Decode ---- */

/* Counts, and writes where `out` is not NULL. */
typedef struct sink {
    uint8_t *out;
    int64_t n_bytes;
} sink;

INLINE void put(sink *to, const uint8_t *bytes, int64_t n_bytes)
{
    if (to->out && n_bytes) memcpy(to->out + to->n_bytes, bytes, (size_t)n_bytes);
    to->n_bytes += n_bytes;
}

/* The characters that n_ids byte pieces spell. */
static void put_bytes(const unitok_surfaces *s, const uint32_t *ids, int64_t n_ids, int is_raw, sink *to)
{
    for (int64_t i = 0; i < n_ids;) {
        uint8_t bytes[4];
        int n_bytes = n_ids - i < 4 ? (int)(n_ids - i) : 4;
        for (int k = 0; k < n_bytes; k++) bytes[k] = s->data[s->offsets[ids[i + k]]];
        int length = is_raw ? 1 : utf8_length(bytes, n_bytes);
        put(to, length ? bytes : (const uint8_t *)"\xEF\xBF\xBD", length ? length : 3);
        i += length ? length : 1;
    }
}

static void decode_document(const unitok_surfaces *s, const uint32_t *ids, int64_t n_ids, int is_raw, sink *to)
{
    int removes = s->flags & UNITOK_REMOVE_EXTRA_WHITESPACES, strips = removes || s->flags & UNITOK_ADD_DUMMY_PREFIX;
    int is_start = 1;
    int64_t from = to->n_bytes;
    for (int64_t i = 0; i < n_ids;) {
        if (s->kinds[ids[i]] & SURFACE_BYTE) {
            int64_t end = i + 1;
            while (end < n_ids && s->kinds[ids[end]] & SURFACE_BYTE) end++;
            put_bytes(s, ids + i, end - i, is_raw, to);
            i = end;
            continue;
        }
        uint8_t kind = s->kinds[ids[i]];
        const uint8_t *text = s->data + s->offsets[ids[i]];
        int64_t n_bytes = s->offsets[ids[i] + 1] - s->offsets[ids[i]];
        i++;
        if (to->n_bytes > from) is_start = 0;
        if (kind & SURFACE_CONTROL) continue;
        int is_stripped = is_start && strips && kind & SURFACE_SPACED;
        int n_left_out = is_stripped && !(kind & SURFACE_UNKNOWN);
        put(to, text + n_left_out, n_bytes - n_left_out);
        if (is_stripped && !removes) is_start = 0;
    }
}

static int32_t check_ids(const unitok_surfaces *s, const uint32_t *ids, const int64_t *id_offsets, int64_t n_docs,
                         int drop_last, unitok_error *error)
{
    for (int64_t k = 0; k < n_docs; k++) {
        for (int64_t i = id_offsets[k]; i < id_offsets[k + 1] - drop_last; i++) {
            if ((int64_t)ids[i] < s->n_ids && s->kinds[ids[i]]) continue;
            return fail(error, UNITOK_ERROR_ID, ids[i], i, "there is no piece with this id");
        }
    }
    return UNITOK_OK;
}

int32_t unitok_surfaces_decode(const unitok_surfaces *surfaces, const uint32_t *ids, const int64_t *id_offsets,
                               int64_t n_docs, int32_t flags, const uint8_t *separator, int64_t n_separator_bytes,
                               uint8_t *out, int64_t capacity, int64_t *byte_offsets, unitok_error *error)
{
    int drop_last = (flags & UNITOK_SURFACE_DROP_LAST) != 0, is_raw = flags & UNITOK_SURFACE_RAW_BYTES;
    int is_wrong = n_docs < 0 || n_separator_bytes < 0 || id_offsets[0] < 0;
    for (int64_t k = 0; k < n_docs && !is_wrong; k++) is_wrong = id_offsets[k] > id_offsets[k + 1];
    if (is_wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the offsets decrease, or a size is negative");
    int32_t status = check_ids(surfaces, ids, id_offsets, n_docs, drop_last, error);
    for (int pass = 0; pass < 2 && !status; pass++) {
        sink to = {pass ? out : NULL, 0};
        byte_offsets[0] = 0;
        for (int64_t k = 0; k < n_docs; k++) {
            int64_t n_ids = id_offsets[k + 1] - id_offsets[k];
            decode_document(surfaces, ids + id_offsets[k], n_ids - (drop_last && n_ids), is_raw, &to);
            put(&to, separator, n_separator_bytes);
            byte_offsets[k + 1] = to.n_bytes;
        }
        if (to.n_bytes > capacity || !out) break;
    }
    return status;
}
