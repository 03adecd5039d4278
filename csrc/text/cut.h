/* cut.h - where a text can be cut: between two bytes that no piece contains side by side
 *
 * If no piece contains x[i-1] directly followed by x[i], then no token can span position i,
 * regardless of the surrounding text. Greedy, Viterbi and merge encoders give exactly the same
 * tokens if the two sides are encoded independently. Cuts are found with a table, which can be
 * computed for any vocabulary. The table may report a position as joined when it is not, which only
 * makes segments longer; it never reports a joined position as a cut. Cuts forced by flags are
 * exact in every layer.
 *
 * Each layer is exact or errs towards "joined":
 *
 *   pair[a << 8 | b]   CUT_HERE     no piece contains a, b
 *                      CUT_WINDOW   every piece that contains them also contains the complete window around it (below)
 *                      CUT_NEVER    joined, or b continues a character (cutting there gains nothing)
 *
 *   window   In Chinese or Japanese nearly every byte pair at a character border is in some piece, but few pairs of
 *            characters are. So a bitmap, addressed by a hash of the two characters, tells which pairs may be joined:
 *
 *                  x[i-3] x[i-2] x[i-1] | x[i] x[i+1] x[i+2]      x[i] leads 3 bytes: 3 + 3
 *                         x[i-2] x[i-1] | x[i] x[i+1]             x[i] leads 2 bytes: 2 + 2
 *
 *            With CUT_WINDOW, every piece that spans i contains the complete window. So if such a piece occurs here,
 *            the bit for these bytes of the text is set. A window that extends beyond the text counts as joined.
 *
 *   planes   The pair table as rectangles, for SIMD: if a piece contains a, b, then left[a] & right[b] != 0 in one of
 *            two planes of 8 rectangles. Plane 0 covers ASCII before ASCII, plane 1 everything else. Rows of the pair
 *            table are merged, least harmful first, until 8 are left, which gives a superset of the table. A merge does
 *            little harm if the pairs that it joins are rare in text (pair_weights.h).
 *
 *   kinds    The same for SSE2, which has no byte lookup but can compare: seven fixed kinds of
 *            ASCII bytes, and the kinds that may precede each.
 *
 * A pre-tokenizer pattern (pattern.h) can both add and prevent cuts. Between two characters there
 * is a cut for any vocabulary if a piece of the pattern always ends there (PATTERN_CUT), and there
 * is no cut if dividing the text there may change the pieces (PATTERN_BOUND). Otherwise
 * (PATTERN_FREE) the layers above decide. For pairs of ASCII characters, this is decided when the
 * table is built, except for cuts that depend on three bytes (enum pattern_context). A byte >= 0x80
 * occurs in many characters; if the pattern treats these differently, CUT_CLASSES is added to the
 * pair's code, and the classes of the two characters decide.
 */
#pragma once

#include "ground/utf8.h"
#include "text/pattern.h"

enum { CUT_HERE = 0, CUT_WINDOW = 1, CUT_NEVER = 2, CUT_CLASSES = 4 };

/* Flags of a byte: the exact checks that are worth the time at the position before it. LOOK_WINDOW:
 * after a byte >= 0x80, check only the window, because no such pair is CUT_NEVER. LOOK_PAIR: after
 * a byte >= 0x80, check the pair table first, then the window. LOOK_ASCII: like LOOK_PAIR, but
 * after an ASCII byte. */
enum { LOOK_ASCII = 0x20, LOOK_PAIR = 0x40, LOOK_WINDOW = 0x80 };

#define CUT_PLANES 2

/* Kinds of ASCII bytes; kind k is bit k. */
enum {
    KIND_OTHER,
    KIND_LETTER,
    KIND_DIGIT,
    KIND_SPACE,
    KIND_CONTROL,
    KIND_QUOTE,
    KIND_HYPHEN,
    N_KINDS
};
/* the entry of kind_before that no kind uses */
#define FLAGS_AT 7
enum {
    CUTS_NEWLINES = 1, /* CUT_AFTER_NEWLINE */
    CUTS_BLANKS = 2,   /* PATTERN_BLANKS */
    CUTS_MARKS = 4     /* PATTERN_MARKS */
};

#define CUT_WINDOW_BITS 19
#define CUT_EDGES 4096
#define CUT_UNMERGED_BITS 16
enum { CUT_EDGE_FIRST = 1, CUT_EDGE_LAST = 2 }; /* characters of unmerged pieces */
#define CUT_WINDOW_BYTES 3                      /* how many bytes a window extends beyond a cut */

/* The layout is part of the native file format: 8-byte aligned, without padding. */
typedef struct cut_table {
    uint8_t pair[65536];
    uint64_t windows[1 << (CUT_WINDOW_BITS - 6)];
    uint8_t left[CUT_PLANES][256];
    uint8_t right[CUT_PLANES][256];
    /* LOOK_ bits: what to check if the planes report "joined" before this byte */
    uint8_t look[256];
    /* [k]: the kinds that may be joined to a following byte of kind k, one bit each */
    uint8_t kind_before[8];
} cut_table;

/* The table of a model with a pattern. Only such a table has the code CUT_CLASSES. */
typedef struct cut_pattern {
    cut_table table;
    const pattern *pattern;
    /* [character % CUT_EDGES]: CUT_EDGE_ bits; next to these characters, `unmerged` decides
     * PATTERN_FREE cuts */
    uint8_t is_edge[CUT_EDGES];
    /* a bit for the first two and for the last two characters of each unmerged piece: cut_pattern.c */
    uint64_t unmerged[1 << (CUT_UNMERGED_BITS - 6)];
} cut_pattern;

/* Writes the positions of the cuts in text[0..n_bytes-1], in ascending order, to cuts[0..result-1],
 * excluding 0 and n_bytes. n_bytes <= CUT_CHUNK_BYTES; cuts must hold CUT_CHUNK_BYTES +
 * CUT_READ_BEYOND. text must be readable up to text[n_bytes + CUT_READ_BEYOND - 1]. If the document
 * continues after text[n_bytes-1], the bytes there must be those of the document, because windows
 * extend beyond a cut; bytes after the end of the document are ignored. A segment must begin at
 * text[0]. */
typedef int64_t (*cut_scan)(const cut_table *table, const uint8_t *text, int64_t n_bytes,
                            uint16_t *cuts);
#define CUT_CHUNK_BYTES 4096
#define CUT_READ_BEYOND 72

/* Cuts that an encoder makes independently of the pieces. */
enum {
    CUT_BEFORE_SPACE = 1, /* a segment begins at every space */
    /* a segment begins at a byte after a newline, unless the byte is a newline or continues a
     * character */
    CUT_AFTER_NEWLINE = 2,
    CUT_NOWHERE_ELSE = 4 /* no segment begins at any other position */
};

/* Fills the table from the pieces and flags. Returns 0 if an allocation fails. O(bytes of
 * pieces). */
int cut_build(const uint8_t *data, const int64_t *offsets, int64_t n_pieces, int32_t flags,
              cut_table *ret);

/* A packed list of strings. */
typedef struct cut_pieces {
    const uint8_t *data;
    const int64_t *offsets;
    int64_t n;
} cut_pieces;

/* Like cut_build, but for a byte-level model whose text is divided by a pattern; the pattern must
 * outlive the table. A byte that is not a piece vanishes from the text, and its neighbours can then
 * merge, so there is no PATTERN_FREE cut next to it. `unmerged` lists the pieces that merges do not
 * produce: a segment becomes such a piece only if its bytes are equal to the piece. There is no
 * PATTERN_FREE cut where such a piece can begin or end, because a segment that is cut there could
 * be equal to the piece. */
int cut_build_pattern(cut_pieces pieces, cut_pieces unmerged, const pattern *pattern,
                      cut_pattern *ret);

/* Fills the pairs of a table that cuts texts only at PATTERN_CUT, for use with joined() and
 * cut_next(). */
void cut_build_pattern_alone(const pattern *pattern, cut_pattern *ret);

/* Returns the scan for an instruction set that this processor supports. */
cut_scan cut_scan_for(int32_t cpu);

/* cut_next returns the first cut after text[begin], or n_bytes; cut_last returns the last cut, or 0.
 * Both leave out the cuts of is_cut_by_context(). They are slow: they are meant for long segments,
 * which are rare. */
int64_t cut_next(const cut_table *table, const uint8_t *text, int64_t begin, int64_t n_bytes);
int64_t cut_last(const cut_table *table, const uint8_t *text, int64_t n_bytes);

/* Used by cut_build_pattern: changes the pairs of the pieces as the pattern requires. */
void cut_apply_pattern(cut_pieces pieces, cut_pieces unmerged, const pattern *pattern,
                       cut_pattern *ret);

/* The index of a window's bit in windows[], which has 2^CUT_WINDOW_BITS bits (64 KiB). If two
 * windows share a bit, one of them may be reported as joined although it is not. */
INLINE uint32_t window_hash(uint64_t window)
{
    return (uint32_t)(window * 0x9E3779B97F4A7C15u >> (64 - CUT_WINDOW_BITS));
}

INLINE int window_bit(const cut_table *table, uint64_t window)
{
    uint32_t bit = window_hash(window);
    return (int)(table->windows[bit >> 6] >> (bit & 63)) & 1;
}

/* Returns whether the pieces join position i of text[0..n_bytes-1], 0 < i < n_bytes. `code` is the
 * code of the pair there, without CUT_CLASSES. */
INLINE int joined_by_pieces(const cut_table *table, int code, const uint8_t *text, int64_t i,
                            int64_t n_bytes)
{
    int64_t reach = text[i] < 0xE0 ? 2 : 3;
    if (code != CUT_WINDOW || i < reach || i + reach > n_bytes) return code != CUT_HERE;
    uint64_t window = load_u32(text + i - reach);
    if (reach == 3) window |= (uint64_t)(load_u32(text + i - 1) >> 16) << 32;
    return window_bit(table, window);
}

/* The same for a pair whose code has CUT_CLASSES: the classes of the characters also decide. `code`
 * is the code without CUT_CLASSES. There is no cut before a character that is incomplete in
 * text[0..n_bytes-1]. */
int joined_by_classes(const cut_pattern *cuts, int code, const uint8_t *text, int64_t i,
                      int64_t n_bytes);

/* Whether the pattern ends a piece at position i because of three bytes (pattern.h). Only the scans
 * make these cuts (except those for SSE2 and NEON), because they read the text that the pattern
 * reads. cut_last also reads documents whose added tokens have not been found yet, and a token that
 * begins or ends among the three bytes is no part of the pattern's text. */
INLINE int is_cut_by_context(const cut_table *table, const uint8_t *text, int64_t i,
                             int64_t n_bytes)
{
    int flags = table->kind_before[FLAGS_AT];
    if (flags & CUTS_BLANKS && i + 1 < n_bytes && text[i - 1] < 0x80 && is_blank(text[i]) &&
        is_visible(text[i + 1]))
        return 1;
    return flags & CUTS_MARKS && i > 1 && is_letter(text[i]) && is_mark(text[i - 1]) &&
           (text[i - 2] == ' ' || is_mark(text[i - 2]));
}

/* Returns whether position i of text[0..n_bytes-1] is joined, 0 < i < n_bytes, apart from
 * is_cut_by_context(). */
INLINE int joined(const cut_table *table, const uint8_t *text, int64_t i, int64_t n_bytes)
{
    uint8_t code = table->pair[text[i - 1] << 8 | text[i]];
    if (UNLIKELY(code & CUT_CLASSES))
        return joined_by_classes((const cut_pattern *)table, code & ~CUT_CLASSES, text, i, n_bytes);
    return joined_by_pieces(table, code, text, i, n_bytes);
}

/* Like joined(), but branch-free if the code does not have CUT_CLASSES; text[i - 3] to text[i + 4]
 * must be readable. If the window extends beyond the document, either answer is correct, because no
 * token contains it. */
INLINE int joined_inside(const cut_table *table, const uint8_t *text, int64_t i, int64_t n_bytes)
{
    uint8_t code = table->pair[text[i - 1] << 8 | text[i]];
    if (UNLIKELY(code & CUT_CLASSES))
        return joined_by_classes((const cut_pattern *)table, code & ~CUT_CLASSES, text, i, n_bytes);
    int two = text[i] < 0xE0;
    uint64_t window = two ? (load_u64(text + i - 3) >> 8) & 0xFFFFFFFF
                          : load_u64(text + i - 3) & 0xFFFFFFFFFFFF;
    return code >> 1 | (code & window_bit(table, window));
}

/* The SIMD scans, each in the file of its CPU family. The caller must check that the processor
 * supports them. */
int64_t cut_scan_sse2(const cut_table *table, const uint8_t *text, int64_t n_bytes, uint16_t *cuts);
int64_t cut_scan_avx2(const cut_table *table, const uint8_t *text, int64_t n_bytes, uint16_t *cuts);
int64_t cut_scan_avx512(const cut_table *table, const uint8_t *text, int64_t n_bytes,
                        uint16_t *cuts);
int64_t cut_scan_neon(const cut_table *table, const uint8_t *text, int64_t n_bytes, uint16_t *cuts);
