/* segment.h - the state of a segmenter: turns lines into counted units
 *
 *     a line ──normalizer──▶ text ──symbols and delimiter become U+001F──▶ text ──cut──▶ units ──▶ counter
 *
 * With UNITOK_SEGMENT_FOLLOWERS a unit carries the character that follows it, because the seeds of
 * sentencepiece depend on it:
 *
 *     unit 0xFF next character                        inside a line
 *     unit 0xFF NUL first character of the next line  at the end of a line; the last line has nothing after the NUL
 *     unit 0xFF 0xFF NUL first character of the line  in an ordered counter: every copy except the last
 *
 * For the seeds, a line of weight w counts as w copies in a row, so each copy but the last is
 * followed by the same line. For the E-step of an ordered counter, it counts as one line of weight
 * w: unitok_units_fold() adds up the counts of its copies again.
 *
 * The character after the last unit of a line is known only when the next line comes, so last units
 * wait in `ends`.
 *
 * If the normalizer can produce compact text (ground/space.h), text is cut in that form, which is
 * much faster, and a space becomes U+2581 on the way to the counter.
 *
 * Two lines, "the cat" and "a", give these units with followers:
 *
 *     ▁the 0xFF ▁             followed by the first character of ▁cat
 *     ▁cat 0xFF NUL ▁         at the end of its line; the next one begins with ▁
 *     ▁a 0xFF NUL             the last line */
#pragma once

#include "structures/trie.h"
#include "train/counter.h"
#include "train/recent.h"
#include "train/rules.h"
#include "train/splitter.h"

#define FOLLOWER_MARK 0xFF /* a byte that valid UTF-8 never has */

/* A line whose last unit waits for the next line. */
struct line_end {
    uint64_t weight;
    /* The counter's entry for the last unit with only FOLLOWER_MARK; NO_ENTRY: the line became
     * empty. */
    uint32_t entry;
    uint32_t first_char; /* of the line */
};
#define NO_ENTRY UINT32_MAX

#define BUFFER_PADDING 16 /* bytes that can be read after the contents of a buffer */
struct buffer {
    uint8_t *bytes;
    int64_t capacity; /* including the padding */
};

/* Kinds of bytes, so that ASCII is cut with one table lookup per byte: whether two ASCII characters
 * can be in one piece depends on their kinds alone. The examples in fill_kinds stand for all bytes
 * of a kind. */
enum kind { KIND_EXCLUDED, KIND_SPACE, KIND_DIGIT, KIND_LETTER, KIND_OTHER, KIND_HIGH, KINDS };

/* One thread's segmenter. The buffers are used in turn for each line, and `recent` holds units that
 * are not in the counter yet: unitok_segmenter_flush moves them there. */
struct unitok_segmenter {
    const unitok_normalizer *normalizer; /* NULL: lines are normalized already */
    const unitok_rules *rules;
    unitok_counter *counter;
    int32_t flags;
    int64_t max_line_bytes;
    int is_compact;
    uint8_t kinds[256]; /* KIND_HIGH: not ASCII */
    /* Bit k: no cut before a character of kind k. 0 for KIND_HIGH, where the character decides. */
    uint8_t joins[KINDS];
    uint64_t *symbols; /* a double array of symbols; NULL: none */
    uint8_t begins_symbol[256];
    int first_byte; /* the first byte of all symbols if they share it, else -1 */
    uint8_t *delimiter;
    int64_t n_delimiter_bytes;
    struct buffer normalized, replaced, key;
    recent recent;
    struct line_end *ends;
    int64_t n_ends, ends_capacity;
    splitter *splitter; /* set if there is a pattern, which then does all the work */
    unitok_segment_stats stats;
};

/* The length of the unit itself: up to the follower mark, if there is one. Valid UTF-8 has no 0xFF,
 * so the first one is the mark. */
INLINE int64_t unit_bytes(const uint8_t *unit, int64_t n_bytes)
{
    const uint8_t *mark = n_bytes ? memchr(unit, FOLLOWER_MARK, (size_t)n_bytes) : NULL;
    return mark ? mark - unit : n_bytes;
}

/* The number of follower marks at the start of the bytes, at most two. */
INLINE int64_t mark_bytes(const uint8_t *bytes, int64_t n_bytes)
{
    int64_t n = 0;
    while (n < 2 && n < n_bytes && bytes[n] == FOLLOWER_MARK) n++;
    return n;
}

/* Returns NULL, or a message if a packed list of units has invalid offsets or invalid UTF-8. */
const char *check_units(const unitok_units *units);
