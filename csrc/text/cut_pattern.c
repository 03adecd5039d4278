/* cut_pattern.c - the effect of a pre-tokenizer pattern on cuts (cut.h)
 *
 * Between two characters, the pattern says CUT, BOUND or FREE (pattern_between). A cut table is
 * indexed by bytes, not characters, so for each pair of bytes this file collects what the pattern
 * says of all pairs of characters that can meet there:
 *
 *     bytes        … A9 | E3 …       é, ٩, … end with A9; し, の, 、, … begin with E3
 *     characters   é し     ٩ し     é 、
 *     GPT-2        FREE     CUT      CUT       the bytes do not decide: CUT_CLASSES is added to the
 *                                              code that the pieces give to the pair
 *
 *     all CUT → CUT_HERE      all BOUND → CUT_NEVER      all FREE → the code of the pieces
 *
 * With CUT_CLASSES, joined_by_classes decodes the two characters of the text and asks the
 * pattern. */

#include "text/cut.h"

/* A set of character classes, one bit each. */
typedef struct class_set {
    uint64_t bits[4];
} class_set;

static void set_add(class_set *s, uint8_t class) { s->bits[class >> 6] |= 1ULL << (class & 63); }

static int set_has(const class_set *s, int class)
{
    return s->bits[class >> 6] >> (class & 63) & 1;
}

static int sets_meet(const class_set *a, const class_set *b)
{
    uint64_t common = 0;
    for (int w = 0; w < 4; w++) common |= a->bits[w] & b->bits[w];
    return common != 0;
}

/* ---------------------------------------------------------------------------- One position ---- */

/* The index of the bit for two characters at one end of an unmerged piece: `outer` is its first or
 * last character, `inner` the adjacent one, or NOTHING if only `outer` is compared.
 *
 *     piece      し な い        FIRST: outer し, inner な        LAST: outer い, inner な
 */
#define NOTHING 0x110000

INLINE uint32_t unmerged_bit(int side, uint32_t outer, uint32_t inner)
{
    uint64_t key = (uint64_t)outer << 32 | inner << 2 | (uint32_t)side;
    return (uint32_t)(key * 0x9E3779B97F4A7C15u >> (64 - CUT_UNMERGED_BITS));
}

INLINE int has_unmerged(const cut_pattern *cuts, int side, uint32_t outer, uint32_t inner)
{
    uint32_t bit = unmerged_bit(side, outer, inner);
    return (int)(cuts->unmerged[bit >> 6] >> (bit & 63)) & 1;
}

/* Whether an unmerged piece can end or begin at position i. A segment begins at text[0]; the text
 * after text[n_bytes-1] is unknown. */
static NOINLINE int is_beside_unmerged(const cut_pattern *cuts, const uint8_t *text, int64_t i,
                                       int64_t n_bytes)
{
    uint32_t before = utf8_before(text, i), after = utf8_at(text + i, n_bytes - i);
    int64_t begin = i - utf8_bytes_before(text, i), end = i + utf8_bytes_at(text + i, n_bytes - i);
    if (has_unmerged(cuts, CUT_EDGE_LAST, before, NOTHING) ||
        has_unmerged(cuts, CUT_EDGE_FIRST, after, NOTHING))
        return 1;
    if (begin > 0 && has_unmerged(cuts, CUT_EDGE_LAST, before, utf8_before(text, begin))) return 1;
    if (end >= n_bytes || end + char_bytes(text[end]) > n_bytes) return 1;
    return has_unmerged(cuts, CUT_EDGE_FIRST, after, utf8_at(text + end, n_bytes - end));
}

/* Whether position i, between two characters, is joined. by_pieces tells whether the pieces join
 * it. cuts->is_edge, a filter of a few KB, marks the characters with which an unmerged piece begins
 * or ends. The text is compared with the first and last two characters of these pieces only if such
 * a character is next to position i. */
INLINE int joined_between(const cut_pattern *cuts, uint32_t before, uint32_t after, int by_pieces,
                          const uint8_t *text, int64_t i, int64_t n_bytes)
{
    int between = pattern_between(cuts->pattern, pattern_class_of(cuts->pattern, before),
                                  pattern_class_of(cuts->pattern, after));
    if (UNLIKELY((cuts->is_edge[before % CUT_EDGES] & CUT_EDGE_LAST) |
                 (cuts->is_edge[after % CUT_EDGES] & CUT_EDGE_FIRST)) &&
        between == PATTERN_FREE && !by_pieces)
        by_pieces = is_beside_unmerged(cuts, text, i, n_bytes);
    return (between == PATTERN_BOUND) | ((between == PATTERN_FREE) & by_pieces);
}

/* Reads three bytes at bit `at` of a word as a character. */
INLINE uint32_t three_bytes(uint64_t word, int at)
{
    return (uint32_t)((word >> at & 0xF) << 12 | (word >> (at + 8) & 0x3F) << 6 |
                      (word >> (at + 16) & 0x3F));
}

INLINE int is_three_bytes(uint32_t code_point) /* neither overlong nor a surrogate */
{
    return code_point >= 0x800 && code_point >> 11 != 0xD800 >> 11;
}

/* Between two characters of three bytes each, as in Chinese, the result is unpredictable, so it is
 * computed without a branch. */
int joined_by_classes(const cut_pattern *cuts, int code, const uint8_t *text, int64_t i,
                      int64_t n_bytes)
{
    if (i >= 3 && i + 5 <= n_bytes) {
        uint64_t word = load_u64(text + i - 3) & 0xFFFFFFFFFFFF;
        uint32_t before = three_bytes(word, 0), after = three_bytes(word, 24);
        if ((word & 0xC0C0F0C0C0F0) == 0x8080E08080E0 && is_three_bytes(before) &&
            is_three_bytes(after))
            return joined_between(cuts, before, after,
                                  code >> 1 | (code & window_bit(&cuts->table, word)), text, i,
                                  n_bytes);
    }
    if (i + char_bytes(text[i]) > n_bytes) return 1;
    return joined_between(cuts, utf8_before(text, i), utf8_at(text + i, n_bytes - i),
                          joined_by_pieces(&cuts->table, code, text, i, n_bytes), text, i, n_bytes);
}

/* --------------------------------------------------------------------------- All positions ---- */

typedef struct classes {
    /* [byte]: the classes of the characters that end, or begin, with this byte */
    class_set before[256], after[256];
    /* [code][before]: the classes that have this PATTERN_ code after class `before` */
    class_set between[3][256];
} classes;

/* Adds the class of each character to the sets of its first and its last byte. The 64 code points
 * that start at a multiple of 64 have the same bytes, except that the last byte runs from 0x80 to
 * 0xBF. */
static void find_characters(const pattern *p, classes *c)
{
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point += 64) {
        uint8_t bytes[4];
        int n_bytes = utf8_encode(code_point, bytes);
        for (uint32_t k = 0; k < 64; k++) {
            uint8_t class = pattern_class_of(p, code_point + k);
            set_add(&c->before[n_bytes == 1 ? code_point + k : 0x80 + k], class);
            set_add(&c->after[n_bytes == 1 ? code_point + k : bytes[0]], class);
        }
    }
}

/* Every byte that is not ASCII can also occur as an invalid byte. */
static void add_invalid(const pattern *p, classes *c)
{
    for (int byte = 0x80; byte < 256; byte++) {
        set_add(&c->before[byte], pattern_class_of(p, UTF8_INVALID));
        set_add(&c->after[byte], pattern_class_of(p, UTF8_INVALID));
    }
}

/* Chooses the bytes before which checking the characters is worth the time: those that begin a
 * character that always starts a new piece after a letter. Capital letters are not considered,
 * because they seldom follow a letter. */
static void choose_looks(cut_pattern *cuts, const classes *c)
{
    class_set ends = c->between[PATTERN_CUT][pattern_class_of(cuts->pattern, 'a')];
    uint8_t capital = pattern_class_of(cuts->pattern, 'A');
    ends.bits[capital >> 6] &= ~(1ULL << (capital & 63));
    for (int b = 0; b < 256; b++) {
        int asks = 0;
        for (int a = 0; a < 0x80; a++) asks |= cuts->table.pair[a << 8 | b];
        if (asks & CUT_CLASSES) cuts->table.look[b] |= LOOK_ASCII;
        if (sets_meet(&c->after[b], &ends)) cuts->table.look[b] |= LOOK_PAIR;
    }
}

/* Records, for each pair of classes, what the pattern decides between them. This is done once,
 * because code_of compares the result with the classes of each of 65,536 pairs of bytes. Numbers
 * that no class has are skipped. */
static void find_between(const pattern *p, classes *c)
{
    class_set all = {{0}};
    for (int byte = 0; byte < 256; byte++)
        for (int w = 0; w < 4; w++) all.bits[w] |= c->after[byte].bits[w];
    for (int before = 0; before < 256; before++)
        for (int after = 0; after < 256 && set_has(&all, before); after++)
            if (set_has(&all, after))
                set_add(&c->between[pattern_between(p, (uint8_t)before, (uint8_t)after)][before],
                        (uint8_t)after);
}

/* Returns the code that the pattern gives to a pair of bytes whose code would otherwise be `code`.
 * If the pattern and the pieces agree for all characters, the pair does not need CUT_CLASSES, which
 * is slow. */
static uint8_t code_of(const classes *c, int before, int after, uint8_t code, int has_edges)
{
    int any[3] = {0, 0, 0};
    for (int w = 0; w < 4; w++)
        for (uint64_t rest = c->before[before].bits[w]; rest; rest &= rest - 1)
            for (int what = 0; what < 3; what++)
                any[what] |= sets_meet(&c->after[after],
                                       &c->between[what][w * 64 + lowest_bit(rest)]);
    if (!any[PATTERN_FREE] && !any[PATTERN_CUT]) return CUT_NEVER;
    if (!any[PATTERN_FREE] && !any[PATTERN_BOUND]) return CUT_HERE;
    if (!any[PATTERN_CUT] && code == CUT_NEVER) return CUT_NEVER;
    if (!any[PATTERN_BOUND] && !has_edges && (!any[PATTERN_CUT] || code == CUT_HERE)) return code;
    return code | CUT_CLASSES;
}

/* Bytes that are not pieces vanish from the text, so the pieces do not determine the cuts next to
 * them. They can also interrupt any window, so windows are not used. */
static void keep_vanishing(cut_table *t, cut_pieces pieces)
{
    uint8_t is_piece[256] = {0};
    int n = 0;
    for (int64_t k = 0; k < pieces.n; k++)
        if (pieces.offsets[k + 1] - pieces.offsets[k] == 1)
            is_piece[pieces.data[pieces.offsets[k]]] = 1;
    for (int byte = 0; byte < 256; byte++) n += is_piece[byte];
    for (int a = 0; a < 256 && n < 256; a++)
        for (int b = 0; b < 256; b++)
            if (!is_piece[a] || !is_piece[b] || t->pair[a << 8 | b] == CUT_WINDOW)
                t->pair[a << 8 | b] = CUT_NEVER;
}

static void mark_edge(cut_pattern *ret, int side, uint32_t outer, uint32_t inner)
{
    uint32_t bit = unmerged_bit(side, outer, inner);
    ret->is_edge[outer % CUT_EDGES] |= (uint8_t)side;
    ret->unmerged[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

/* If a piece consists of one character or contains invalid bytes, only its first and last
 * characters are compared. */
static void mark_edges(cut_pieces unmerged, cut_pattern *ret)
{
    memset(ret->is_edge, 0, sizeof ret->is_edge);
    memset(ret->unmerged, 0, sizeof ret->unmerged);
    for (int64_t k = 0; k < unmerged.n; k++) {
        const uint8_t *piece = unmerged.data + unmerged.offsets[k];
        int64_t n_bytes = unmerged.offsets[k + 1] - unmerged.offsets[k];
        uint32_t first = utf8_at(piece, n_bytes), last = utf8_before(piece, n_bytes),
                 second = NOTHING, second_last = NOTHING;
        int64_t n_first = utf8_bytes_at(piece, n_bytes);
        if (utf8_is_valid(piece, n_bytes) && n_first < n_bytes) {
            second = utf8_at(piece + n_first, n_bytes - n_first);
            second_last = utf8_before(piece, n_bytes - utf8_bytes_before(piece, n_bytes));
        }
        mark_edge(ret, CUT_EDGE_FIRST, first, second);
        mark_edge(ret, CUT_EDGE_LAST, last, second_last);
    }
}

/* choose_looks uses the classes without invalid bytes, because it should be guided by the
 * characters that occur in text. Between two ASCII bytes there is only one pair of characters, so
 * their code never keeps CUT_CLASSES, and there is never a cut where an unmerged piece could begin
 * or end. */
void cut_apply_pattern(cut_pieces pieces, cut_pieces unmerged, const pattern *pattern,
                       cut_pattern *ret)
{
    classes c, valid;
    memset(&c, 0, sizeof c);
    ret->pattern = pattern;
    keep_vanishing(&ret->table, pieces);
    mark_edges(unmerged, ret);
    find_characters(pattern, &c);
    find_between(pattern, &c);
    valid = c;
    add_invalid(pattern, &c);
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            uint8_t *code = &ret->table.pair[a << 8 | b];
            if (is_continuation((uint8_t)b)) continue;
            *code = code_of(&c, a, b, *code, unmerged.n > 0);
            if (a < 0x80 && b < 0x80 && *code & CUT_CLASSES)
                *code = ret->is_edge[a] & CUT_EDGE_LAST || ret->is_edge[b] & CUT_EDGE_FIRST
                            ? CUT_NEVER
                            : *code & ~CUT_CLASSES;
        }
    choose_looks(ret, &valid);
}

/* CUT_NEVER replaces the code that pieces would give: where the pattern leaves a position open,
 * there is no cut. All 256 bytes are pieces, so no byte vanishes from the text. */
void cut_build_pattern_alone(const pattern *pattern, cut_pattern *ret)
{
    uint8_t bytes[256];
    int64_t offsets[257] = {0};
    for (int k = 0; k < 256; k++) {
        bytes[k] = (uint8_t)k;
        offsets[k + 1] = k + 1;
    }
    memset(ret->table.pair, CUT_NEVER, sizeof ret->table.pair);
    cut_apply_pattern((cut_pieces){bytes, offsets, 256}, (cut_pieces){bytes, offsets, 0}, pattern,
                      ret);
}

/* Searches backwards, because callers want to end a block as late as possible. A character at the
 * end may be incomplete, so no cut before it is trusted. */
int64_t unitok_pattern_last_cut(const unitok_pattern *p, const uint8_t *text, int64_t n_bytes)
{
    for (int64_t i = n_bytes - 1; i > 0; i--) {
        if (is_continuation(text[i]) || i + char_bytes(text[i]) > n_bytes) continue;
        uint32_t before = utf8_before(text, i), after = utf8_at(text + i, n_bytes - i);
        if (pattern_between(p, pattern_class_of(p, before), pattern_class_of(p, after)) ==
            PATTERN_CUT)
            return i;
    }
    return 0;
}
