/* lattice_template.h - fills a lattice, for scores of one type; lattice.c includes this file twice
 *
 *   REAL     float or double
 *   NAME(x)  x with a suffix for the type
 */

/* The data that filling uses, copied to local variables so that the compiler need not reload it
 * after each write to the lattice. */
struct NAME(filling) {
    const uint64_t *units;
    const REAL *scores; /* of pieces */
    REAL dead;
    walk *walks;
    edge *edges;
    REAL *edge_scores;
    int64_t n_walks, n_edges;
};

/* Advances a walk by one byte. It has no branch, because the outcome of a step is hard to predict:
 * a walk and an edge are always written, and each counter advances only if its walk or edge exists.
 * A base of 0 means that nothing follows, both after a failed step and after a leaf, so the walk
 * ends. */
INLINE void NAME(follow)(struct NAME(filling) *f, uint32_t start, uint32_t base, uint32_t end,
                         uint8_t byte)
{
    uint64_t u = f->units[base ^ byte];
    uint32_t in_trie = 0 - (uint32_t)unit_has_label(u, byte);
    uint32_t next = unit_base(u) & in_trie, value = unit_value(u) & in_trie, is_piece = value != 0;
    REAL score = f->scores[value - is_piece];
    f->walks[f->n_walks] = (walk){start, next};
    f->n_walks += next != 0;
    f->edges[f->n_edges] = (edge){value - 1, start, end, EDGE_NONE};
    f->edge_scores[f->n_edges] = score;
    f->n_edges += is_piece & (score != f->dead);
}

/* Copies the edges that end at `end` from the record to the lattice, and removes the edges of
 * dropped pieces from the record. The record stores the length of each edge, at most 255 bytes. */
INLINE void NAME(recall)(struct NAME(filling) *f, unitok_edges *record, uint32_t end)
{
    int64_t n = record->n, at = record->at, stop = at + record->n_edges[record->position];
    for (; at < stop; at++) {
        uint32_t piece = record->pieces[at], length = record->lengths[at];
        REAL score = f->scores[piece];
        int is_alive = score != f->dead;
        f->edges[f->n_edges] = (edge){piece, end - length, end, EDGE_NONE};
        f->edge_scores[f->n_edges] = score;
        f->n_edges += is_alive;
        record->pieces[n] = piece;
        record->lengths[n] = (uint8_t)length;
        n += is_alive;
    }
    record->n_edges[record->position++] = (uint8_t)(n - record->n);
    record->n = n;
    record->at = at;
}

/* Extends the lattice byte by byte after the bytes that the unit shares with the previous one. At
 * each byte,
 *
 * 1. all walks take the byte: those that find a node continue, and those that find a piece leave
 *    an edge that ends here;
 * 2. a new walk begins if a character begins here;
 * 3. if a character ends here and no piece is just this character, an unknown edge is added.
 *
 * With a record, the edges of step 1 are read from it instead, and there are no walks. The lists
 * have space for one additional walk and one additional edge, because `follow` writes before it
 * knows whether they exist. */
int64_t NAME(lattice_fill)(unitok_lattice *lattice, const unitok_lexicon *lexicon,
                           const REAL *scores, REAL dead, REAL unknown_score, const uint8_t *unit,
                           int64_t n_bytes)
{
    if (!lattice_reserve(lattice, n_bytes)) return -1;
    int64_t shared = common_bytes(lattice, unit, n_bytes), begin = shared, end = 0;
    uint32_t *walk_begin = lattice->walk_begin, *edge_begin = lattice->edge_begin;
    unitok_edges *record = lattice->record;
    int is_recorded = record && record->state == EDGES_RECORDED,
        is_new = record && record->state == EDGES_NEW;
    struct NAME(filling) f = {
        lexicon->units,
        lexicon->n_pieces ? scores : &dead,
        dead,
        lattice->walks,
        lattice->edges,
        lattice->scores,
        walk_begin[shared + 1],
        edge_begin[shared + 1],
    };
    /* The shared bytes may end inside a character that ends differently in this unit: find where
     * it begins. */
    while (begin > 0 && begin < n_bytes && is_continuation(unit[begin])) begin--;
    if (begin < shared) end = begin + char_bytes(unit[begin]);
    for (int64_t i = shared; i < n_bytes; i++) {
        uint8_t byte = unit[i];
        int64_t n = (is_recorded ? record->n_edges[record->position]
                                 : walk_begin[i + 1] - walk_begin[i]) +
                    2;
        if (f.n_walks + n > lattice->walks_capacity || f.n_edges + n > lattice->edges_capacity) {
            if (!grow_edges(lattice, f.n_walks + n, f.n_edges + n)) return -1;
            f.walks = lattice->walks;
            f.edges = lattice->edges;
            f.edge_scores = lattice->scores;
        }
        if (!is_continuation(byte)) {
            begin = i;
            end = i + char_bytes(byte);
        }
        if (is_recorded) {
            NAME(recall)(&f, record, (uint32_t)i + 1);
        } else {
            for (uint32_t k = walk_begin[i]; k < walk_begin[i + 1]; k++)
                NAME(follow)(&f, f.walks[k].start, f.walks[k].base, (uint32_t)i + 1, byte);
            if (begin == i) NAME(follow)(&f, (uint32_t)i, TRIE_ROOT_BASE, (uint32_t)i + 1, byte);
            if (is_new) keep(record, f.edges + edge_begin[i + 1], f.n_edges - edge_begin[i + 1]);
            is_new = is_new && record->state == EDGES_NEW;
        }
        if (i + 1 == end &&
            (f.n_edges == edge_begin[i + 1] || f.edges[f.n_edges - 1].start != begin)) {
            f.edges[f.n_edges] = (edge){EDGE_UNKNOWN, (uint32_t)begin, (uint32_t)end, EDGE_NONE};
            f.edge_scores[f.n_edges++] = unknown_score;
        }
        walk_begin[i + 2] = (uint32_t)f.n_walks;
        edge_begin[i + 2] = (uint32_t)f.n_edges;
    }
    lattice->unit = unit;
    lattice->n_bytes = n_bytes;
    return shared;
}
