/* char_lanes.h - greedy longest prefix over eight parts of a text in turn, a character of each,
 * without a branch
 *
 * Beyond ASCII a character has two bytes or three, and most tokens are one or two characters. A
 * walk by bytes takes several steps for each, and finding cuts costs as much again. Here a text is
 * read as code points first (text/code_points.h), and a step of a walk is a whole character, looked
 * up in a double array of code points: the child by symbol c is at base + c.
 *
 *     unit   63 ..... 42   41 ... 32   31 .......... 16   15 ................ 0
 *            base of the   back        id of the longest  its symbol c; of the
 *            children; 0:              piece so far       root's children and of
 *            none                                         free units, NO_SYMBOL
 *
 *     text     ...  o  f  の  t  h  u  s ...          back: how many symbols ago the longest piece ended. A unit says so
 *                   |           |                     itself, so a walk need not remember it
 *                 start         at
 *
 *     the unit at base + text[at] has this symbol    it is the next one
 *     it has another                                 the piece is a token; the next walk starts where it ends
 *
 * The root's children are all there, one for each symbol, at the symbol itself. So a walk starts
 * with one load; and a walk that ends in a leaf, whose base is 0, reads the unit that the next one
 * starts with.
 *
 * A character that is not a piece is the tokens of its bytes. Its unit has an id that no piece has
 * instead, and the ids of the bytes replace it in the end. That is right as long as
 *
 *     - no piece ends inside such a character, unless it is the beginning of one and nothing else;
 *     - no piece that begins inside of one has anything but continuation bytes;
 *     - no stray continuation byte comes after it.
 *
 * Where a vocabulary breaks one of the first two rules there are no lanes; where a text breaks the
 * third, as only malformed text does, its span is walked by bytes.
 *
 * Only the first lane knows that a token starts where it does. But greedy soon forgets where it
 * started: the tokens of a part are right from the first boundary on that the tokens before it
 * reach as well. Up to there the text is walked again, alone:
 *
 *     lane 0   |of |the |qui|ck |bro
 *     lane 1                        w|n |fox |...     the part begins inside a token
 *     alone                     |brown |fox            both reach the boundary after "brown ", so "fox " is right
 */
#pragma once

#include "structures/trie.h"
#include "text/code_points.h"

#define CHAR_LANES 8
#define CHAR_LANES_SPAN_BYTES 16384 /* encoded at a time */
#define CHAR_LANES_LEAST_BYTES 2048 /* shorter texts gain nothing */
/* text with one byte in so many beyond ASCII is for these lanes, */
#define CHAR_LANES_WIDE 4
#define CHAR_LANES_WIDE_STILL 8 /* and with one in so many if what came before was */
/* where the memo has its turn, but not for longer segments */
#define CHAR_LANES_MEMO_SEGMENT 5
/* where there are longer ones there are no lanes: see `back` */
#define CHAR_LANES_PIECE_BYTES 1023
/* of such text: building them takes as long as encoding about 8 MB */
#define CHAR_LANES_AFTER_BYTES (16 << 20)

typedef struct char_lanes {
    const trie *trie;
    code_points_read read;
    uint64_t *units;
    int64_t n_units, memory_bytes;
    uint16_t no_id; /* of a character that is not a piece */
} char_lanes;

typedef struct char_lanes_work {
    uint32_t tokens[CHAR_LANES_SPAN_BYTES];
    uint16_t symbols[CHAR_LANES_SPAN_BYTES + CODE_POINTS_BEYOND];
    int64_t n_rare; /* characters of the last span that are not pieces */
    /* one of them has a stray continuation byte after it: see the third rule */
    int is_malformed;
} char_lanes_work;

/* From a trie that lanes_fit and that lives as long, for an instruction set that
 * unitok_cpu_supported; free with char_lanes_free. *ret is NULL if the vocabulary cannot be walked
 * this way. Returns 0 when memory is short. */
int char_lanes_new(const trie *t, int32_t cpu, char_lanes **ret);
void char_lanes_free(char_lanes *l);

/* Are these for the lanes: text, of up to CUT_CHUNK_BYTES, of which a good part is beyond ASCII? A
 * quarter is looked at. */
INLINE int char_lanes_are_next(const uint8_t *text, int64_t n_bytes, int were_last)
{
    const uint64_t ones = 0x0101010101010101, pairs = 0x00FF00FF00FF00FF;
    uint64_t counts = 0; /* in each byte: at most 128 */
    int64_t n_seen = 0;
    if (n_bytes < CHAR_LANES_LEAST_BYTES) return 0;
    for (; n_seen + 32 <= n_bytes; n_seen += 32) counts += load_u64(text + n_seen) >> 7 & ones;
    int64_t n_wide = (int64_t)(((counts & pairs) + (counts >> 8 & pairs)) * 0x0001000100010001 >>
                               48);
    return n_wide * 4 * (were_last ? CHAR_LANES_WIDE_STILL : CHAR_LANES_WIDE) > n_seen;
}

/* A character that is not a piece costs a mispredicted branch. If so many bytes have more than one
 * of them, the memo has its turn in the next CHAR_LANES_PAUSE chunks. */
#define CHAR_LANES_RARE 40
#define CHAR_LANES_PAUSE 256

/* Is such a text Korean? Its 11,172 syllables are spread over the units, and many are not pieces:
 * so the memo has its turn here, too. */
INLINE int char_lanes_are_korean(const uint8_t *text, int64_t n_bytes)
{
    int64_t n_leads = 0;
    for (int64_t i = 0; i < n_bytes; i += 128) n_leads += (uint8_t)(text[i] - 0xEA) < 4;
    return n_leads * 128 * 16 > n_bytes;
}

/* Encodes text[0..n_bytes-1], CHAR_LANES_LEAST_BYTES <= n_bytes, which begins where a token does:
 * all of it, or about CHAR_LANES_SPAN_BYTES of a longer text, up to the end of a token, but at
 * least a byte. Returns how much. */
int64_t char_lanes_encode(const char_lanes *l, const uint8_t *text, int64_t n_bytes,
                          char_lanes_work *work, uint16_t *ids, int64_t *ret_n_ids);

#define CHAR_NO_SYMBOL 0xDFFF /* no text has it */
#define CHAR_SYMBOLS 65536
#define CHAR_ID_SHIFT 16
#define CHAR_BACK_SHIFT 32
#define CHAR_BACK_MAX 1023
#define CHAR_BASE_SHIFT 42
