/* cut.c - builds the tables of cut.h; the portable scan, and the choice among the scans
 *
 *     pieces ──mark──▶ pair, windows ──force──▶ pair ──┬── build_kinds ──▶ kind_before    (SSE2)
 *                          ▲                           ├── build_planes ─▶ left, right    (others)
 *                    pattern (cut_pattern.c)           └── build_look ───▶ look
 *
 * The pair table and the windows define which positions are joined. The other layers approximate
 * them for SIMD; they may join more positions, but not fewer. Building takes time proportional to
 * the bytes of the pieces, plus a constant for the planes. */

#include "text/cut.h"

#include "ground/alloc.h"
#include "ground/cpu.h"
#include "ground/utf8.h"
#include "text/pair_weights.h"

/* ------------------------------------------------------------------------- Pair and window ---- */

/* Records that a piece contains the border before piece[i]. Returns 1 if this sets the bit of a new
 * window.
 *
 *     piece     E6 9D B1 | E4 BA AC        the border before E4: both characters are in the piece,
 *               \__ window of 3 + 3 __/    so the window's bit is set and the pair is CUT_WINDOW
 *
 * If the window extends beyond the piece, or this pair has no window, the pair alone must decide:
 * it becomes CUT_NEVER, and remains so regardless of other pieces. */
static int mark(cut_table *t, const uint8_t *piece, int64_t i, int64_t n_bytes)
{
    uint8_t before = piece[i - 1], after = piece[i];
    uint8_t *code = &t->pair[before << 8 | after];
    int64_t reach = after >= 0xF0 ? 0 : after >= 0xE0 ? 3 : after >= 0xC0 ? 2 : 0;
    if (before < 0x80 || reach == 0 || i < reach || i + reach > n_bytes) {
        *code = CUT_NEVER;
        return 0;
    }
    uint64_t window = 0;
    memcpy(&window, piece + i - reach, (size_t)(2 * reach));
    int is_new = !window_bit(t, window);
    uint32_t bit = window_hash(window);
    t->windows[bit >> 6] |= 1ULL << (bit & 63);
    if (*code == CUT_HERE) *code = CUT_WINDOW;
    return is_new;
}

/* ---------------------------------------------------------------------------------- planes ---- */

typedef struct row {
    uint64_t after[4];  /* the bytes that may follow, one bit each */
    uint64_t before[4]; /* the first bytes merged into this row */
    int32_t n_before;
    /* only in plane 0, by the byte that follows: all ones if it may follow, else 0 */
    uint32_t joins[128];
    uint32_t weights[128]; /* the cost of joining a byte to `before`; 0 if it may follow */
} row;

/* The weight of a pair of ASCII bytes: about how often it occurs in text. */
static uint32_t pair_weight(int a, int b)
{
    int places[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        int byte = places[k];
        places[k] = byte == '\n'                  ? 0x5F
                    : byte == '\t'                ? 0x60
                    : byte >= 0x20 && byte < 0x7F ? byte - 0x20
                                                  : 0x61;
    }
    char digit = pair_weights[places[0]][places[1]];
    return UINT32_C(1) << (digit >= 'a' ? digit - 'a' + 10 : digit - '0');
}

INLINE int is_of_newline(const row *r) { return (int)(r->before['\n' >> 6] >> ('\n' & 63)) & 1; }

/* Returns the total weight (in plane 1, the number) of the pairs that no piece contains, but that
 * would be joined if the two rows were merged. If cuts after newlines are forced, they must not be
 * lost, so the row of the newline is never merged. */
static uint32_t merge_cost(const row *a, const row *b, int plane, int32_t flags)
{
    if (flags & CUT_AFTER_NEWLINE && (is_of_newline(a) || is_of_newline(b))) return UINT32_MAX;
    uint32_t weight = 0;
    if (plane == 0) {
        for (int k = 0; k < 128; k++)
            weight += (b->joins[k] & a->weights[k]) + (a->joins[k] & b->weights[k]);
        return weight;
    }
    int a_gains = 0, b_gains = 0;
    for (int w = 0; w < 4; w++) {
        a_gains += count_bits(b->after[w] & ~a->after[w]);
        b_gains += count_bits(a->after[w] & ~b->after[w]);
    }
    return (uint32_t)(a_gains * a->n_before + b_gains * b->n_before);
}

/* Fills a row for each byte that is the first byte of a joined pair in `plane`. Returns the number
 * of rows. */
static int plane_rows(const cut_table *t, int plane, row *rows)
{
    int n = 0;
    for (int a = 0; a < 256; a++) {
        row r;
        memset(&r, 0, sizeof r);
        int any = 0;
        for (int b = 0; b < 256; b++) {
            int in_plane = (a < 128 && b < 128) == (plane == 0);
            if (!in_plane || is_continuation((uint8_t)b) || t->pair[a << 8 | b] == CUT_HERE)
                continue;
            r.after[b >> 6] |= 1ULL << (b & 63);
            any = 1;
        }
        if (!any) continue;
        r.before[a >> 6] |= 1ULL << (a & 63);
        r.n_before = 1;
        for (int b = 0; b < 128 && plane == 0; b++) {
            r.joins[b] = r.after[b >> 6] >> (b & 63) & 1 ? UINT32_MAX : 0;
            r.weights[b] = r.joins[b] ? 0 : pair_weight(a, b);
        }
        rows[n++] = r;
    }
    return n;
}

/* Merges `drop` into `keep`: every byte of either row may then be followed by any byte that may
 * follow the other row. */
static void join_rows(row *keep, const row *drop)
{
    for (int w = 0; w < 4; w++) {
        keep->after[w] |= drop->after[w];
        keep->before[w] |= drop->before[w];
    }
    keep->n_before += drop->n_before;
    for (int b = 0; b < 128; b++) {
        keep->joins[b] |= drop->joins[b];
        keep->weights[b] = (keep->weights[b] + drop->weights[b]) & ~keep->joins[b];
    }
}

/* Merges the two cheapest rows until 8 are left, one for each bit of a byte in left[] and
 * right[].
 *
 *     row     before    after                 after merging rows 0 and 1
 *     0       a         e i o                 {a, b}  may be followed by  e i o u
 *     1       b         e o u                 wrongly joined: a u, b i
 *     2       ...
 *
 * costs[i * 256 + j], j < i, is kept up to date, so a merge takes O(n^2). */
static int merge_rows(row *rows, int n, uint32_t *costs, int plane, int32_t flags)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            costs[i * 256 + j] = merge_cost(&rows[i], &rows[j], plane, flags);
    while (n > 8) {
        int keep = 0, drop = 1;
        for (int i = 1; i < n; i++)
            for (int j = 0; j < i; j++)
                if (costs[i * 256 + j] < costs[drop * 256 + keep]) keep = j, drop = i;
        join_rows(&rows[keep], &rows[drop]);
        rows[drop] = rows[--n];
        for (int k = 0; k < n; k++) { /* the rows at `keep` and `drop` have changed */
            if (k > keep) costs[k * 256 + keep] = merge_cost(&rows[k], &rows[keep], plane, flags);
            if (k < keep) costs[keep * 256 + k] = merge_cost(&rows[k], &rows[keep], plane, flags);
            if (drop < n && k > drop)
                costs[k * 256 + drop] = merge_cost(&rows[k], &rows[drop], plane, flags);
            if (drop < n && k < drop)
                costs[drop * 256 + k] = merge_cost(&rows[k], &rows[drop], plane, flags);
        }
    }
    return n;
}

/* Rectangle k is bit k of left[] for its first bytes, and bit k of right[] for its second bytes. */
static void write_plane(cut_table *t, int plane, const row *rows, int n)
{
    for (int k = 0; k < n; k++) {
        for (int byte = 0; byte < 256; byte++) {
            if (rows[k].before[byte >> 6] >> (byte & 63) & 1)
                t->left[plane][byte] |= (uint8_t)(1 << k);
            if (rows[k].after[byte >> 6] >> (byte & 63) & 1)
                t->right[plane][byte] |= (uint8_t)(1 << k);
        }
    }
}

/* Plane 0 contains the pairs of ASCII bytes, plane 1 all others. 256 rows are too large for the
 * stack. */
static int build_planes(cut_table *t, int32_t flags)
{
    row *rows = mem_alloc(256 * sizeof(row));
    uint32_t *costs = mem_alloc((size_t)256 * 256 * sizeof(uint32_t));
    int ok = rows && costs;
    for (int plane = 0; ok && plane < CUT_PLANES; plane++)
        write_plane(t, plane, rows,
                    merge_rows(rows, plane_rows(t, plane, rows), costs, plane, flags));
    mem_free(costs);
    mem_free(rows);
    return ok;
}

/* Chooses the bytes before which an exact check is worth the time if plane 1 reports "joined":
 * bytes for which plane 1 is often wrong, and bytes with few windows in proportion to their pairs,
 * because few characters are joined before these. If there is a pattern, other bytes have been
 * chosen already, and only bytes from first_byte on are considered here, because letters of
 * alphabets are usually joined. A wrong choice costs time but never changes an id. */
static void build_look(cut_table *t, const int32_t n_windows[256], int first_byte)
{
    for (int b = first_byte; b < 256; b++) {
        int n_joined = 0, n_wrong = 0, n_never = 0;
        for (int a = 0; a < 256; a++) {
            int code = t->pair[a << 8 | b];
            if (code & ~CUT_CLASSES) n_joined++;
            else if (t->left[1][a] & t->right[1][b] && (code == CUT_HERE || b >= 0xE0)) n_wrong++;
            if (a >= 0x80 && t->pair[a << 8 | b] >= CUT_NEVER) n_never++;
        }
        int few_windows = b >= 0xE0 ? n_windows[b] > 0
                                    : n_windows[b] > 0 && n_windows[b] < 4 * n_joined;
        if (is_continuation((uint8_t)b) || (!few_windows && n_wrong * 4 <= n_joined)) continue;
        t->look[b] |= b >= 0xC0 && n_never == 0 ? LOOK_WINDOW : LOOK_PAIR;
    }
}

/* ----------------------------------------------------------------------------------- kinds ---- */

/* The kind of an ASCII byte. More than seven kinds would make the comparisons of SSE2 expensive.
 * The apostrophe and the hyphen are separate kinds, because pieces join them to letters. */
static int kind_of(int byte)
{
    if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') return KIND_LETTER;
    if (byte >= '0' && byte <= '9') return KIND_DIGIT;
    if (byte == ' ') return KIND_SPACE;
    if (byte < ' ') return KIND_CONTROL;
    if (byte == '\'') return KIND_QUOTE;
    if (byte == '-') return KIND_HYPHEN;
    return KIND_OTHER;
}

/* A kind may precede another if any byte of it may precede any byte of the other. */
static void build_kinds(cut_table *t)
{
    for (int a = 0; a < 128; a++)
        for (int b = 0; b < 128; b++)
            if (t->pair[a << 8 | b] != CUT_HERE)
                t->kind_before[kind_of(b)] |= (uint8_t)(1 << kind_of(a));
}

/* Applies the flags, after all pieces have been entered. */
static void force(cut_table *t, int32_t flags)
{
    t->kind_before[FLAGS_AT] = flags & CUT_AFTER_NEWLINE ? CUTS_NEWLINES : 0;
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256 && flags & CUT_NOWHERE_ELSE; b++) t->pair[a << 8 | b] = CUT_NEVER;
        if (flags & CUT_BEFORE_SPACE) t->pair[a << 8 | ' '] = CUT_HERE;
        if (flags & CUT_AFTER_NEWLINE && a != '\n' && !is_continuation((uint8_t)a))
            t->pair['\n' << 8 | a] = CUT_HERE;
    }
}

/* Starts a table with the pairs and windows of all pieces. */
static void mark_pieces(cut_table *t, const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                        int32_t n_windows[256])
{
    memset(t, 0, sizeof *t);
    memset(n_windows, 0, 256 * sizeof *n_windows);
    for (int a = 0; a < 256; a++)
        for (int b = 0x80; b < 0xC0; b++) t->pair[a << 8 | b] = CUT_NEVER;
    for (int64_t k = 0; k < n_pieces; k++) {
        const uint8_t *piece = data + offsets[k];
        int64_t n_bytes = offsets[k + 1] - offsets[k];
        for (int64_t i = 1; i < n_bytes; i++) {
            if (is_continuation(piece[i])) continue;
            n_windows[piece[i]] += mark(t, piece, i, n_bytes);
        }
    }
}

/* Builds the layers that are derived from the pairs. */
static int finish(cut_table *t, int32_t flags, const int32_t n_windows[256], int first_look)
{
    build_kinds(t);
    if (!build_planes(t, flags)) return 0;
    build_look(t, n_windows, first_look);
    return 1;
}

int cut_build(const uint8_t *data, const int64_t *offsets, int64_t n_pieces, int32_t flags,
              cut_table *t)
{
    int32_t n_windows[256];
    mark_pieces(t, data, offsets, n_pieces, n_windows);
    force(t, flags);
    return finish(t, flags, n_windows, 0);
}

int cut_build_pattern(cut_pieces pieces, cut_pieces unmerged, const pattern *pattern,
                      cut_pattern *cuts)
{
    int32_t n_windows[256];
    mark_pieces(&cuts->table, pieces.data, pieces.offsets, pieces.n, n_windows);
    cut_apply_pattern(pieces, unmerged, pattern, cuts);
    cuts->table.kind_before[FLAGS_AT] =
        (uint8_t)((pattern->context & PATTERN_BLANKS ? CUTS_BLANKS : 0) |
                  (pattern->context & PATTERN_MARKS ? CUTS_MARKS : 0));
    return finish(&cuts->table, 0, n_windows, 0xE0);
}

/* ----------------------------------------------------------------------------------- scans ---- */

/* The reference for all scans: exact at every position. The others may differ from it only by
 * reporting a position as joined when it is not, which makes segments longer but does not change
 * any id. */
static int64_t cut_scan_portable(const cut_table *t, const uint8_t *text, int64_t n_bytes,
                                 uint16_t *cuts)
{
    int64_t n = 0;
    int has_context = (t->kind_before[FLAGS_AT] & (CUTS_BLANKS | CUTS_MARKS)) != 0;
    for (int64_t i = 1; i < n_bytes; i++) {
        /* always written, but counted only if it is a cut, so there is no branch to mispredict */
        cuts[n] = (uint16_t)i;
        int is_cut = i < 3 ? !joined(t, text, i, n_bytes) : !joined_inside(t, text, i, n_bytes);
        if (has_context) is_cut |= is_cut_by_context(t, text, i, n_bytes);
        n += is_cut;
    }
    return n;
}

cut_scan cut_scan_for(int32_t cpu)
{
#if defined(UNITOK_X86)
    if (cpu == UNITOK_CPU_SSE2) return cut_scan_sse2;
    if (cpu == UNITOK_CPU_AVX2) return cut_scan_avx2;
    if (cpu == UNITOK_CPU_AVX512) return cut_scan_avx512;
#elif defined(UNITOK_ARM64)
    if (cpu == UNITOK_CPU_NEON) return cut_scan_neon;
#endif
    (void)cpu;
    return cut_scan_portable;
}

/* Checks each position individually, which is slow: see cut.h. */
int64_t cut_next(const cut_table *t, const uint8_t *text, int64_t begin, int64_t n_bytes)
{
    int64_t i = begin + 1;
    while (i < n_bytes && joined(t, text, i, n_bytes)) i++;
    return i < n_bytes ? i : n_bytes;
}

int64_t cut_last(const cut_table *t, const uint8_t *text, int64_t n_bytes)
{
    int64_t i = n_bytes - 1;
    while (i > 0 && joined(t, text, i, n_bytes)) i--;
    return i > 0 ? i : 0;
}
