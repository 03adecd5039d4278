/* model.c - the public functions on models: build, open, save, encode and decode batches
 *
 * A model is always the native image, whether just built or mapped from a file: unitok_model_new lays the image out in
 * memory and opens it like any other. All numbers little-endian, every section 8-byte aligned:
 *
 *      0  magic[8]            89 'U' 'T' 'K' 0D 0A 1A 0A
 *      8  u32 version = 1     12  u32 kind = 1 (greedy longest prefix)
 *     16  u64 checksum        XXH64 of every byte from 24 to the end of the file (0 as unitok_model_save writes it)
 *     24  u64 image_bytes     what may follow the image is not the library's business
 *     32  u32 n_ids           36  u32 n_pieces       40  u32 eod_id, or FFFFFFFF     44  u32 fallback_id, or FFFFFFFF
 *     48  u32 max_piece_bytes 52  u32 n_units        56  u64 piece_bytes
 *     64  u64[n_units]        the double array (trie.h)
 *         u64[65536]          its heads
 *         u32[256]            its single bytes
 *         cut_table           cut.h
 *         u32[n_ids + 1]      where piece `id` begins in the next section (padded to 8); an id without a piece is empty
 *         u8[piece_bytes]     the pieces by id (padded to 8)
 */

#include "alloc.h"
#include "cpu.h"
#include "error.h"
#include "longest.h"

#define NATIVE_VERSION 1
#define KIND_LONGEST 1
#define NO_ID 0xFFFFFFFFu
#define PIECE_BYTES_MAX (1 << 28)

static const uint8_t magic[8] = {0x89, 'U', 'T', 'K', 0x0D, 0x0A, 0x1A, 0x0A};

typedef struct image_header {
    uint8_t magic[8];
    uint32_t version, kind;
    uint64_t checksum, image_bytes;
    uint32_t n_ids, n_pieces, eod_id, fallback_id, max_piece_bytes, n_units;
    uint64_t piece_bytes;
} image_header;

/* Where the sections begin, and where the image ends. */
typedef struct image_layout {
    uint64_t units, heads, singles, cuts, piece_offsets, pieces, end;
} image_layout;

struct unitok_model {
    const uint8_t *image;
    uint8_t *owned; /* the image, where this model built it */
    unitok_hat *hat;
    const uint32_t *piece_offsets;
    const uint8_t *pieces;
    longest longest;
    unitok_model_info info;
};

struct unitok_scratch {
    const unitok_model *model; /* whose ids the memo holds */
    longest_scratch longest;
};

static image_layout lay_out_image(const image_header *h)
{
    image_layout at;
    at.units = sizeof(image_header);
    at.heads = at.units + (uint64_t)h->n_units * 8;
    at.singles = at.heads + (uint64_t)TRIE_HEADS * 8;
    at.cuts = at.singles + 256 * 4;
    at.piece_offsets = at.cuts + sizeof(cut_table);
    at.pieces = at.piece_offsets + (((uint64_t)h->n_ids + 1) * 4 + 7) / 8 * 8;
    at.end = at.pieces + (h->piece_bytes + 7) / 8 * 8;
    return at;
}

/* -------------------------------------------------------------------------------------------------- opening ---- */

static const char *check_header(const image_header *h, int64_t n_bytes, int64_t *position)
{
    *position = 0;
    if (n_bytes < (int64_t)sizeof *h) return "the file is too short for a native model";
    if (memcmp(h->magic, magic, sizeof magic)) return "this is no native model";
    *position = 8;
    if (h->version != NATIVE_VERSION) return "this native model has a version that this release does not read";
    *position = 12;
    if (h->kind != KIND_LONGEST) return "this native model is of a kind that this release does not read";
    *position = 32;
    if (h->n_ids > UNITOK_ID_MAX + 1 || h->n_pieces > h->n_ids) return "the number of ids is out of range";
    if (h->eod_id != NO_ID && h->eod_id >= h->n_ids) return "the eod id is out of range";
    if (h->fallback_id != NO_ID && h->fallback_id >= h->n_ids) return "the fallback id is out of range";
    *position = 52;
    if (h->n_units % TRIE_BLOCK || h->n_units < 2 * TRIE_BLOCK) return "the size of the double array is out of range";
    if (h->piece_bytes > PIECE_BYTES_MAX || h->max_piece_bytes > h->piece_bytes ||
        h->max_piece_bytes > UNITOK_HAT_KEY_MAX_BYTES)
        return "the size of the pieces is out of range";
    *position = 24;
    if (h->image_bytes != lay_out_image(h).end) return "the size in the header does not fit the sections";
    if (h->image_bytes > (uint64_t)n_bytes) return "the file is cut short";
    return NULL;
}

static const char *check_pieces(const unitok_model *m, const image_header *h, int64_t *position)
{
    uint32_t longest_piece = 0, n_pieces = 0;
    for (uint32_t id = 0; id < h->n_ids; id++) {
        *position = (const uint8_t *)(m->piece_offsets + id) - m->image;
        if (m->piece_offsets[id + 1] < m->piece_offsets[id]) return "the pieces are out of order";
        uint32_t n = m->piece_offsets[id + 1] - m->piece_offsets[id];
        n_pieces += n > 0;
        if (n > longest_piece) longest_piece = n;
    }
    if (m->piece_offsets[0] != 0 || m->piece_offsets[h->n_ids] != h->piece_bytes)
        return "the pieces do not fill their section";
    if (longest_piece != h->max_piece_bytes || n_pieces != h->n_pieces) return "the pieces are not those of the header";
    return NULL;
}

static int32_t check_trie(const unitok_model *m, const image_header *h, unitok_error *error)
{
    const void *at = m->image;
    const char *wrong = trie_check(&m->longest.trie, h->n_ids, &at);
    if (!wrong) {
        uint32_t *owners = mem_zalloc(h->n_units, sizeof *owners);
        uint8_t *seen = mem_zalloc(h->n_units, 1);
        int ok = owners && seen;
        if (ok) wrong = trie_check_shape(&m->longest.trie, owners, seen, &at);
        mem_free(seen);
        mem_free(owners);
        if (!ok) return fail_memory(error);
    }
    return wrong ? fail(error, UNITOK_ERROR_FORMAT, -1, (const uint8_t *)at - m->image, wrong) : UNITOK_OK;
}

/* The growable trie of the same pieces, for UNITOK_ENGINE_HAT. */
static int32_t open_hat(unitok_model *m, unitok_error *error)
{
    int32_t status = unitok_hat_new(&m->hat, error);
    for (int64_t id = 0; !status && id < m->info.n_ids; id++) {
        int64_t bounds[2] = {m->piece_offsets[id], m->piece_offsets[id + 1]};
        if (bounds[0] < bounds[1])
            status = unitok_hat_insert(m->hat, m->pieces, bounds, &id, 1, UNITOK_HAT_SET, error);
    }
    m->longest.hat = m->hat;
    return status;
}

static void fill_info(unitok_model *m, const image_header *h, int32_t engine, int32_t cpu)
{
    unitok_model_info *info = &m->info;
    info->n_pieces = h->n_pieces;
    info->n_ids = h->n_ids;
    info->eod_id = h->eod_id == NO_ID ? -1 : (int64_t)h->eod_id;
    info->fallback_id = h->fallback_id == NO_ID ? -1 : (int64_t)h->fallback_id;
    info->max_piece_bytes = h->max_piece_bytes;
    info->engine = engine;
    info->cpu = cpu;
    info->memory_bytes = (int64_t)sizeof *m + (int64_t)h->image_bytes;
    info->trie_bytes = (int64_t)h->n_units * 8 + TRIE_HEADS * 8;
}

int32_t unitok_model_load(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu, unitok_model **ret,
                          unitok_error *error)
{
    if ((uintptr_t)bytes % 8) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the bytes of a model must be aligned to 8");
    if (engine != UNITOK_ENGINE_DOUBLE_ARRAY && engine != UNITOK_ENGINE_HAT)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "there is no such engine");
    if (cpu == UNITOK_CPU_AUTO) cpu = cpu_best();
    if (!unitok_cpu_supported(cpu))
        return fail(error, UNITOK_ERROR_CPU, -1, -1, "this processor or this build lacks that instruction set");

    const image_header *h = (const image_header *)bytes;
    int64_t position;
    const char *wrong = check_header(h, n_bytes, &position);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, position, wrong);

    unitok_model *m = mem_zalloc(1, sizeof *m);
    if (!m) return fail_memory(error);
    image_layout at = lay_out_image(h);
    m->image = bytes;
    m->longest.trie.units = (const uint64_t *)(bytes + at.units);
    m->longest.trie.n_units = h->n_units;
    m->longest.trie.heads = (const uint64_t *)(bytes + at.heads);
    m->longest.trie.singles = (const uint32_t *)(bytes + at.singles);
    m->longest.cuts = (const cut_table *)(bytes + at.cuts);
    m->longest.scan = cut_scan_for(cpu);
    m->longest.max_piece_bytes = h->max_piece_bytes ? h->max_piece_bytes : 1;
    m->piece_offsets = (const uint32_t *)(bytes + at.piece_offsets);
    m->pieces = bytes + at.pieces;
    fill_info(m, h, engine, cpu);

    int32_t status = UNITOK_OK;
    wrong = check_pieces(m, h, &position);
    if (wrong) status = fail(error, UNITOK_ERROR_FORMAT, -1, position, wrong);
    if (!status) status = check_trie(m, h, error);
    if (!status && engine == UNITOK_ENGINE_HAT) {
        status = open_hat(m, error);
        m->info.trie_bytes = status ? 0 : unitok_hat_memory_bytes(m->hat);
        m->info.memory_bytes += m->info.trie_bytes;
    }
    if (status) {
        unitok_model_free(m);
        return status;
    }
    *ret = m;
    return UNITOK_OK;
}

void unitok_model_free(unitok_model *m)
{
    if (!m) return;
    unitok_hat_free(m->hat);
    mem_free(m->owned);
    mem_free(m);
}

/* ------------------------------------------------------------------------------------------------- building ---- */

/* The pieces in byte order, as the ordered walk of a HAT-trie gives them. */
typedef struct sorted_pieces {
    uint8_t *data;
    int64_t *offsets, *ids;
} sorted_pieces;

static void free_sorted(sorted_pieces *s)
{
    mem_free(s->ids);
    mem_free(s->offsets);
    mem_free(s->data);
}

static int32_t sort_pieces(const uint8_t *data, const int64_t *offsets, const int64_t *ids, int64_t n_pieces,
                           sorted_pieces *ret, unitok_error *error)
{
    unitok_hat *hat = NULL;
    unitok_hat_walk *walk = NULL;
    int64_t n_bytes = offsets[n_pieces] - offsets[0];
    int32_t status = unitok_hat_new(&hat, error);
    if (!status) status = unitok_hat_insert(hat, data, offsets, ids, n_pieces, UNITOK_HAT_UNIQUE, error);
    if (status == UNITOK_ERROR_ARGUMENT)
        status = fail(error, UNITOK_ERROR_VOCABULARY, error ? error->item : -1, -1, "this piece is there twice");
    if (!status) status = unitok_hat_walk_new(hat, NULL, 0, &walk, error);
    if (!status) {
        ret->data = mem_alloc((size_t)n_bytes + 1);
        ret->offsets = mem_alloc(((size_t)n_pieces + 1) * sizeof(int64_t));
        ret->ids = mem_alloc(((size_t)n_pieces + 1) * sizeof(int64_t));
        if (!ret->data || !ret->offsets || !ret->ids) status = fail_memory(error);
        else if (n_pieces && unitok_hat_walk_next(walk, ret->data, n_bytes, ret->offsets, ret->ids, n_pieces) != n_pieces)
            status = fail_memory(error);
    }
    unitok_hat_walk_free(walk);
    unitok_hat_free(hat);
    return status;
}

/* Checks ids and lengths and fills in the counts of the header. */
static int32_t measure(const int64_t *offsets, const int64_t *ids, int64_t n_pieces, int64_t eod_id,
                       int64_t fallback_id, image_header *h, unitok_error *error)
{
    int64_t max_id = eod_id > fallback_id ? eod_id : fallback_id, longest_piece = 0;
    if (eod_id < -1 || fallback_id < -1 || max_id > UNITOK_ID_MAX)
        return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "the eod or fallback id is not within 0..65535");
    for (int64_t k = 0; k < n_pieces; k++) {
        int64_t n = offsets[k + 1] - offsets[k];
        if (n < 0) return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "the offsets decrease");
        if (n == 0) return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "this piece is empty");
        if (n > UNITOK_HAT_KEY_MAX_BYTES || offsets[k + 1] - offsets[0] > PIECE_BYTES_MAX)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "the pieces are too long");
        if (ids[k] < 0 || ids[k] > UNITOK_ID_MAX)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "the id of this piece is not within 0..65535");
        if (ids[k] > max_id) max_id = ids[k];
        if (n > longest_piece) longest_piece = n;
    }
    memcpy(h->magic, magic, sizeof magic);
    h->version = NATIVE_VERSION;
    h->kind = KIND_LONGEST;
    h->n_ids = (uint32_t)(max_id + 1);
    h->n_pieces = (uint32_t)n_pieces;
    h->eod_id = eod_id < 0 ? NO_ID : (uint32_t)eod_id;
    h->fallback_id = fallback_id < 0 ? NO_ID : (uint32_t)fallback_id;
    h->max_piece_bytes = (uint32_t)longest_piece;
    h->piece_bytes = n_pieces ? (uint64_t)(offsets[n_pieces] - offsets[0]) : 0;
    return UNITOK_OK;
}

/* The pieces by id, into their two sections. */
static int32_t write_pieces(const uint8_t *data, const int64_t *offsets, const int64_t *ids, int64_t n_pieces,
                            uint32_t n_ids, uint32_t *piece_offsets, uint8_t *pieces, unitok_error *error)
{
    for (int64_t k = 0; k < n_pieces; k++) { /* lengths first, one place later */
        uint32_t *length = &piece_offsets[ids[k] + 1];
        if (*length) return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "the id of this piece is another's too");
        *length = (uint32_t)(offsets[k + 1] - offsets[k]);
    }
    for (uint32_t id = 0; id < n_ids; id++) piece_offsets[id + 1] += piece_offsets[id];
    for (int64_t k = 0; k < n_pieces; k++)
        memcpy(pieces + piece_offsets[ids[k]], data + offsets[k], (size_t)(offsets[k + 1] - offsets[k]));
    return UNITOK_OK;
}

int32_t unitok_model_new(const uint8_t *data, const int64_t *offsets, const int64_t *ids, int64_t n_pieces,
                         int64_t eod_id, int64_t fallback_id, int32_t engine, int32_t cpu, unitok_model **ret,
                         unitok_error *error)
{
    image_header h;
    sorted_pieces sorted = {NULL, NULL, NULL};
    trie_parts parts = {NULL, 0};
    uint8_t *image = NULL;
    memset(&h, 0, sizeof h);
    if (n_pieces < 0) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the number of pieces is negative");
    int32_t status = measure(offsets, ids, n_pieces, eod_id, fallback_id, &h, error);
    if (!status) status = sort_pieces(data, offsets, ids, n_pieces, &sorted, error);
    if (!status) status = trie_build(sorted.data, sorted.offsets, sorted.ids, n_pieces, &parts, error);
    if (status) goto done;

    h.n_units = (uint32_t)parts.n_units;
    image_layout at = lay_out_image(&h);
    h.image_bytes = at.end;
    image = mem_zalloc(1, at.end);
    if (!image) {
        status = fail_memory(error);
        goto done;
    }
    memcpy(image, &h, sizeof h);
    memcpy(image + at.units, parts.units, (size_t)parts.n_units * 8);
    uint32_t *singles = (uint32_t *)(image + at.singles);
    trie_build_heads(parts.units, (uint32_t)(fallback_id + 1), (uint64_t *)(image + at.heads), singles);
    for (int byte = 0; byte < 256 && !status; byte++)
        if (singles[byte] == 0)
            status = fail(error, UNITOK_ERROR_VOCABULARY, -1, byte, "a byte has no piece and no fallback is named");
    if (!status && !cut_build(data, offsets, n_pieces, (cut_table *)(image + at.cuts))) status = fail_memory(error);
    if (!status)
        status = write_pieces(data, offsets, ids, n_pieces, h.n_ids, (uint32_t *)(image + at.piece_offsets),
                              image + at.pieces, error);
    if (!status) status = unitok_model_load(image, (int64_t)at.end, engine, cpu, ret, error);
    if (!status) (*ret)->owned = image;
done:
    if (status) mem_free(image);
    mem_free(parts.units);
    free_sorted(&sorted);
    return status;
}

int64_t unitok_model_save(const unitok_model *m, uint8_t *out, int64_t capacity)
{
    const image_header *h = (const image_header *)m->image;
    if (capacity < (int64_t)h->image_bytes) return (int64_t)h->image_bytes;
    memcpy(out, m->image, h->image_bytes);
    memset(out + UNITOK_NATIVE_CHECKSUM_AT, 0, 8);
    return (int64_t)h->image_bytes;
}

/* ------------------------------------------------------------------------------------------------- questions ---- */

void unitok_model_get_info(const unitok_model *m, unitok_model_info *ret)
{
    *ret = m->info;
}

const uint8_t *unitok_model_piece(const unitok_model *m, int64_t id, int64_t *ret_n_bytes)
{
    *ret_n_bytes = -1;
    if (id < 0 || id >= m->info.n_ids || m->piece_offsets[id] == m->piece_offsets[id + 1]) return NULL;
    *ret_n_bytes = (int64_t)m->piece_offsets[id + 1] - m->piece_offsets[id];
    return m->pieces + m->piece_offsets[id];
}

void unitok_model_pieces(const unitok_model *m, const uint8_t **ret_data, const uint32_t **ret_offsets)
{
    *ret_data = m->pieces;
    *ret_offsets = m->piece_offsets;
}

int64_t unitok_model_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes)
{
    if (n_bytes <= 0) return -1;
    int64_t length;
    int64_t id = (int64_t)trie_longest(&m->longest.trie, piece, n_bytes, &length) - 1;
    if (length != n_bytes) return -1;
    /* a byte that only the fallback covers is no piece */
    unitok_model_piece(m, id, &length);
    return length == n_bytes && memcmp(m->pieces + m->piece_offsets[id], piece, (size_t)n_bytes) == 0 ? id : -1;
}

/* -------------------------------------------------------------------------------------------------- encoding ---- */

unitok_scratch *unitok_scratch_new(const unitok_model *m)
{
    unitok_scratch *s = mem_zalloc(1, sizeof *s);
    if (s) s->model = m;
    return s;
}

void unitok_scratch_clear(unitok_scratch *s)
{
    memset(&s->longest.memo, 0, sizeof s->longest.memo);
}

void unitok_scratch_free(unitok_scratch *s)
{
    mem_free(s);
}

int64_t unitok_scratch_memory_bytes(const unitok_scratch *s)
{
    (void)s;
    return (int64_t)sizeof(unitok_scratch);
}

int64_t unitok_encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text, int64_t n_bytes, uint16_t *ids)
{
    ASSERT(s->model == m);
    return longest_encode(&m->longest, &s->longest, text, n_bytes, n_bytes, ids);
}

int64_t unitok_encode_ends(const unitok_model *m, const uint8_t *text, int64_t n_bytes, uint16_t *ids, int64_t *ends)
{
    return longest_walk(&m->longest, text, n_bytes, ids, ends);
}

int64_t unitok_split(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    return longest_split(&m->longest, text, n_bytes);
}

static const char *check_offsets(const int64_t *offsets, int64_t n)
{
    if (n < 0) return "the number of documents is negative";
    if (offsets[0] < 0) return "the first offset is negative";
    for (int64_t k = 0; k < n; k++)
        if (offsets[k + 1] < offsets[k]) return "the offsets decrease";
    return NULL;
}

int32_t unitok_encode_batch(const unitok_model *m, unitok_scratch *s, const uint8_t *data, const int64_t *offsets,
                            int64_t n_docs, int64_t eod_id, int32_t flags, uint16_t *ids, int64_t *id_offsets,
                            unitok_error *error)
{
    const char *wrong = check_offsets(offsets, n_docs);
    if (!wrong && (eod_id < -1 || eod_id > UNITOK_ID_MAX)) wrong = "the eod id is not within 0..65535";
    if (!wrong && s->model != m) wrong = "the scratch is another model's";
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    uint16_t *out = ids;
    id_offsets[0] = 0;
    for (int64_t k = 0; k < n_docs; k++) {
        const uint8_t *text = data + offsets[k];
        int64_t n_bytes = offsets[k + 1] - offsets[k];
        if (flags & UNITOK_ENCODE_PLAIN) out += longest_walk(&m->longest, text, n_bytes, out, NULL);
        else out += longest_encode(&m->longest, &s->longest, text, n_bytes, offsets[n_docs] - offsets[k], out);
        int open_end = k == n_docs - 1 && (flags & UNITOK_ENCODE_OPEN_END);
        if (eod_id >= 0 && !open_end) *out++ = (uint16_t)eod_id;
        id_offsets[k + 1] = out - ids;
    }
    return UNITOK_OK;
}

/* -------------------------------------------------------------------------------------------------- decoding ---- */

static const uint8_t replacement[3] = {0xEF, 0xBF, 0xBD};

/* What an id decodes to; NULL if it has no meaning in this model. */
INLINE const uint8_t *meaning(const unitok_model *m, uint16_t id, int64_t *ret_n_bytes)
{
    if (LIKELY(id < m->info.n_ids)) {
        *ret_n_bytes = (int64_t)m->piece_offsets[id + 1] - m->piece_offsets[id];
        if (LIKELY(*ret_n_bytes > 0)) return m->pieces + m->piece_offsets[id];
    }
    *ret_n_bytes = id == m->info.fallback_id ? 3 : 0;
    return id == m->info.fallback_id || id == m->info.eod_id ? replacement : NULL;
}

/* Fills byte_offsets; checks every id, so that writing cannot fail. */
static int32_t measure_documents(const unitok_model *m, const uint16_t *ids, const int64_t *id_offsets, int64_t n_docs,
                                 int32_t drop_last, int64_t n_separator_bytes, int64_t *byte_offsets,
                                 unitok_error *error)
{
    int64_t total = 0, n;
    byte_offsets[0] = 0;
    for (int64_t k = 0; k < n_docs; k++) {
        for (int64_t i = id_offsets[k]; i < id_offsets[k + 1] - drop_last; i++) {
            if (!meaning(m, ids[i], &n)) return fail(error, UNITOK_ERROR_ID, ids[i], i, "this id has no piece");
            total += n;
        }
        total += n_separator_bytes;
        byte_offsets[k + 1] = total;
    }
    return UNITOK_OK;
}

int32_t unitok_decode_batch(const unitok_model *m, const uint16_t *ids, const int64_t *id_offsets, int64_t n_docs,
                            int32_t drop_last, const uint8_t *separator, int64_t n_separator_bytes, uint8_t *out,
                            int64_t capacity, int64_t *byte_offsets, unitok_error *error)
{
    const char *wrong = check_offsets(id_offsets, n_docs);
    if (wrong || drop_last < 0 || drop_last > 1 || n_separator_bytes < 0)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong ? wrong : "drop_last or the separator is out of range");
    int32_t status =
        measure_documents(m, ids, id_offsets, n_docs, drop_last, n_separator_bytes, byte_offsets, error);
    if (status || byte_offsets[n_docs] > capacity) return status;
    for (int64_t k = 0; k < n_docs; k++) {
        int64_t n;
        for (int64_t i = id_offsets[k]; i < id_offsets[k + 1] - drop_last; i++) {
            const uint8_t *piece = meaning(m, ids[i], &n);
            memcpy(out, piece, (size_t)n);
            out += n;
        }
        if (n_separator_bytes) memcpy(out, separator, (size_t)n_separator_bytes);
        out += n_separator_bytes;
    }
    return UNITOK_OK;
}
