/* lanes.h - greedy longest-prefix encoding of eight parts of a text, interleaved character by
 * character, without a branch
 *
 * Beyond ASCII, a character has two or three bytes, and most tokens are one or two characters. A
 * walk by bytes takes several steps for each token, and finding cuts takes as much time again.
 * Lanes read the text as code points (text/code_points.h): each step of a walk is a complete
 * character, looked up in a double array of code points, where the child for symbol c is at base +
 * c.
 *
 *     unit   63 ..... 42   41 ... 32   31 .......... 16   15 ................ 0
 *            base of the   back        id of the longest  its symbol c; of the
 *            children; 0:              piece so far       root's children and of
 *            none                                         free units, NO_SYMBOL
 *
 *     text     ...  o  f  の  t  h  u  s ...          back: how many symbols ago the longest piece ended. The unit stores
 *                   |           |                     it, so a walk need not remember it
 *                 start         at
 *
 *     the unit at base + text[at] has this symbol    the walk continues there
 *     it has another symbol                          the piece is a token; the next walk starts where it ends
 *
 * The root has a child for every symbol, at the index of the symbol itself. So a walk starts with
 * one load, and a walk that ends in a leaf, whose base is 0, has already read the unit that starts
 * the next one.
 *
 * A character that is not a piece becomes the tokens of its bytes. Its unit has an id that no piece
 * uses; at the end, the ids of the bytes replace it. This is correct under three rules:
 *
 *     - no piece ends inside such a character, except a piece that is a prefix of that one character;
 *     - a piece that begins inside such a character consists of continuation bytes only;
 *     - no stray continuation byte follows it.
 *
 * A vocabulary that breaks one of the first two rules has no lanes. A text that breaks the third is
 * malformed, and its span is walked by bytes.
 *
 * Only the first lane is certain to start at a token boundary. But the tokens of greedy encoding
 * soon become independent of where it started: the tokens of a part are valid from the first
 * boundary that the preceding tokens also reach. Up to that boundary, the text is walked again, by
 * one lane:
 *
 *     lane 0   |of |the |qui|ck |bro
 *     lane 1                        w|n |fox |...     the part begins inside a token
 *     alone                     |brown |fox            both reach the boundary after "brown ", so "fox " is valid
 */
#pragma once

#include "encoders/memo.h"
#include "structures/trie.h"
#include "text/code_points.h"

#define LANES 8
#define LANES_SPAN_BYTES 16384 /* bytes encoded at a time */
#define LANES_LEAST_BYTES 2048 /* lanes are no faster for shorter texts */
/* vocabularies with longer pieces have no lanes: see `back` */
#define LANES_PIECE_BYTES 1023
typedef struct lanes {
    const trie *trie;
    code_points_read read;
    uint64_t *units;
    int64_t n_units, memory_bytes;
    uint16_t no_id; /* marks a character that is not a piece */
} lanes;

typedef struct lanes_work {
    uint32_t tokens[LANES_SPAN_BYTES];
    uint16_t symbols[LANES_SPAN_BYTES + CODE_POINTS_BEYOND];
    int64_t n_rare; /* characters of the last span that are not pieces */
    /* a stray continuation byte follows one of them: see the third rule */
    int is_malformed;
} lanes_work;

/* Builds the lanes of a trie with 16-bit ids, which must outlive them, for the instruction set
 * `cpu` (a value of unitok_cpu_supported). Free them with lanes_free. *ret is NULL if lanes cannot
 * walk the vocabulary. Returns 0 if allocation fails. Takes about 10 ms for 65,536 pieces. */
int lanes_new(const trie *t, int32_t cpu, lanes **ret);
void lanes_free(lanes *l);

/* The choice between lanes and memo. The lanes take the same time for any text; the memo is faster
 * if it holds nearly all segments.
 *
 * Text is wide if more than one byte in LANES_WIDE is beyond ASCII; while the lanes are in use, one
 * in LANES_WIDE_STILL suffices. Wide text uses the lanes. A character that is not a piece costs a
 * mispredicted branch, and the 11,172 Korean syllables are spread over the units and are mostly not
 * pieces. So in Korean, and after a span in which more than one byte in LANES_RARE begins such a
 * character, the memo encodes the next LANES_PAUSE chunks, provided that their segments are shorter
 * than LANES_SHORT_WIDE bytes.
 *
 * Other text uses the memo if it has more than one cut in LANES_SHORT_SEGMENT bytes, and the lanes
 * if it has fewer than one in LANES_LONG_SEGMENT. In between, the memo encodes LANES_TRIAL_BYTES as
 * a trial; if it misses more than one byte in LANES_MISSED, the lanes get a turn. Each turn of the
 * lanes is twice as long as the previous one, because the memo learns nothing during a turn. The
 * limit favours the memo, whose first trials miss up to twice as much as later ones. */
#define LANES_WIDE 4
#define LANES_WIDE_STILL 8
#define LANES_RARE 40
#define LANES_PAUSE 256
#define LANES_SHORT_WIDE 5
#define LANES_SHORT_SEGMENT 4
#define LANES_LONG_SEGMENT 8
#define LANES_TRIAL_BYTES (256 << 10)
#define LANES_TURN_BYTES (1 << 20) /* the first turn */
#define LANES_TURN_MAX (16 << 20)
#define LANES_MISSED 7

typedef struct lanes_turn {
    int were_last;      /* the lanes encoded the chunk before this one */
    int pause;          /* chunks of wide text left to the memo */
    int64_t left_bytes; /* bytes left in the lanes' turn */
    int64_t turn_bytes; /* the length of the turn; 0 after a trial that the memo won */
} lanes_turn;

/* Whether text[0..n_bytes-1], n_bytes <= CUT_CHUNK_BYTES, is wide. Samples a quarter of the
 * text. */
INLINE int lanes_are_wide(const uint8_t *text, int64_t n_bytes, int were_last)
{
    const uint64_t ones = 0x0101010101010101, pairs = 0x00FF00FF00FF00FF;
    uint64_t counts = 0; /* eight counters, at most 128 each */
    int64_t n_seen = 0;
    for (; n_seen + 32 <= n_bytes; n_seen += 32) counts += load_u64(text + n_seen) >> 7 & ones;
    int64_t n_wide = (int64_t)(((counts & pairs) + (counts >> 8 & pairs)) * 0x0001000100010001 >>
                               48);
    return n_wide * 4 * (were_last ? LANES_WIDE_STILL : LANES_WIDE) > n_seen;
}

/* Whether a text is Korean, from a sample of one byte in 128: Hangul syllables begin with EA to
 * ED. */
INLINE int lanes_are_korean(const uint8_t *text, int64_t n_bytes)
{
    int64_t n_leads = 0;
    for (int64_t i = 0; i < n_bytes; i += 128) n_leads += (uint8_t)(text[i] - 0xEA) < 4;
    return n_leads * 128 * 16 > n_bytes;
}

/* Whether the lanes should encode the next n_bytes, which have n_cuts cuts and are not wide. */
INLINE int lanes_take(lanes_turn *t, memo_use *trial, int64_t n_bytes, int64_t n_cuts)
{
    if (n_cuts * LANES_SHORT_SEGMENT > n_bytes) return 0;
    if (n_cuts * LANES_LONG_SEGMENT < n_bytes) return 1;
    if (trial->tried_bytes >= LANES_TRIAL_BYTES) {
        int64_t longer = t->turn_bytes ? 2 * t->turn_bytes : LANES_TURN_BYTES;
        if (longer > LANES_TURN_MAX) longer = LANES_TURN_MAX;
        t->turn_bytes = trial->missed_bytes * LANES_MISSED > trial->tried_bytes ? longer : 0;
        t->left_bytes = t->turn_bytes;
        *trial = (memo_use){0, 0};
    }
    return t->left_bytes > 0;
}

/* Encodes text[0..n_bytes-1], n_bytes >= LANES_LEAST_BYTES, which begins at a token boundary. It
 * encodes all of it, or about LANES_SPAN_BYTES of a longer text: at least one byte, and always up
 * to the end of a token. Returns the number of bytes encoded. */
int64_t lanes_encode(const lanes *l, const uint8_t *text, int64_t n_bytes, lanes_work *work,
                     uint16_t *ids, int64_t *ret_n_ids);

#define CHAR_NO_SYMBOL 0xDFFF /* a surrogate, which no text contains */
#define CHAR_SYMBOLS 65536
#define CHAR_ID_SHIFT 16
#define CHAR_BACK_SHIFT 32
#define CHAR_BACK_MAX 1023
#define CHAR_BASE_SHIFT 42
