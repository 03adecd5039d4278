/* normalize_plain_run.h - finds and copies text that needs no lookup, 64 bytes at a time; included
 * for each CPU
 *
 * Each block is converted to masks with one bit per byte. In this part of a block, "é" takes two
 * bytes:
 *
 *     text     t h e _ _ c a f é . \n \n I f _ “ . .
 *     spaces         1 1           1  1      1           becomes a space, if repeated spaces are removed
 *     look                         1  1        1         classes[] decides: the byte may be plain or invalid
 *
 * All other bytes are 0 in plain_tables, and the right number of continuation bytes follows each lead.
 * Most bytes with a look bit turn out to be plain; a needless lookup costs time but changes nothing.
 */
#pragma once

#include "text/normalize.h"
#include "ground/utf8.h"

typedef struct masks {
    uint64_t look, spaces;
    /* bytes of an incomplete character at the end of the block */
    int n_cut;
} masks;

/* Bytes >= 0x80. */
typedef struct high_masks {
    uint64_t high, continued;
    uint64_t lead_3, lead_4; /* leads of at least 3 bytes; leads of 4 bytes */
} high_masks;

/* Marks leads whose continuation bytes are not all in the block, and continuation bytes without a
 * lead. */
INLINE void look_at_continued(masks *m, const high_masks *h)
{
    uint64_t lead = h->high & ~h->continued, c = h->continued;
    m->look |= (lead & ~(c >> 1 | 1ULL << 63)) | (h->lead_3 & ~(c >> 2 | 3ULL << 62)) |
               (h->lead_4 & ~(c >> 3 | 7ULL << 61)) |
               (c & ~(lead << 1 | h->lead_3 << 2 | h->lead_4 << 3));
    m->n_cut = lead >> 63 ? 1 : h->lead_3 >> 62 & 1 ? 2 : h->lead_4 >> 61 & 1 ? 3 : 0;
}

typedef struct run {
    const unitok_normalizer *n;
    const uint8_t *text;
    int64_t n_bytes;
    /* the start of the block, where a character begins; after the run, where it ended */
    int64_t at;
    uint8_t *to, *to_end;
    int is_after_space;                  /* the text before `at` ended with a space */
    int is_item;                         /* `at` is an item that must be looked up */
    uint8_t tail[2 * PLAIN_BLOCK_BYTES]; /* a copy of the end of the text, padded with zeros */
} run;

/* ------------------------------------------------------------------------ The text checked ---- */

/* The class of the first character of text[0..n_bytes-1]. */
INLINE int class_of(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes)
{
    int length = utf8_length(text, n_bytes);
    if (!length) return CLASS_STOP;
    uint32_t code_point = utf8_code_point(text, length);
    return length < 4 ? n->classes[code_point] : n->class_blocks[CLASS_BLOCK(code_point)];
}

/* Returns whether this is a character of three bytes whose class is 0 or MORE. Most characters of
 * Japanese and Hindi, whose class does not follow from the first byte, are such characters. */
INLINE int is_calm_3(const unitok_normalizer *n, const uint8_t *c)
{
    /* checked before c[1] and c[2] are read, because they may be beyond the block */
    if ((c[0] & 0xF0) != 0xE0 || c[0] == 0xED) return 0;
    uint32_t bits = (uint32_t)c[0] << 16 | (uint32_t)c[1] << 8 | c[2];
    if ((bits & 0xC0C0) != 0x8080 || bits < 0xE0A080) return 0;
    return !(n->classes[(bits >> 4 & 0xF000) | (bits >> 2 & 0xFC0) | (bits & 0x3F)] & ~CLASS_MORE);
}

/* Returns the start of the last character of text[0..at-1]. */
INLINE int64_t last_character(const uint8_t *text, int64_t at)
{
    do at--;
    while (at > 0 && is_continuation(text[at]));
    return at;
}

INLINE int ends_with_more(const unitok_normalizer *n, const uint8_t *text, int64_t at)
{
    int64_t last = last_character(text, at);
    return class_has(class_of(n, text + last, at - last), CLASS_MORE);
}

/* Given that text[0..at-1] needs no lookup and the character at `at` has this class, returns the start
 * of the item that needs one: `at` or one character before it; -1 if there is none. */
INLINE int64_t find_item(const run *r, int64_t at, int class)
{
    const uint8_t *text = r->text;
    if (class_has(class, CLASS_SECOND) && at > 0 && ends_with_more(r->n, text, at))
        return last_character(text, at);
    if (class_has(class, CLASS_STOP)) return at;
    if (!class_has(class, CLASS_MORE) || text[at] >= 0x80 || at + 1 == r->n_bytes) return -1;
    return class_has(class_of(r->n, text + at + 1, r->n_bytes - at - 1), CLASS_SECOND) ? at : -1;
}

/* --------------------------------------------------------------------------------- The run ---- */

/* Copies 1 to 128 bytes in moves of constant size, because for a short text, calling memcpy would
 * take half of the total time. */
INLINE void copy_few(uint8_t *to, const uint8_t *from, int64_t n_bytes)
{
    uint8_t *to_end = to + n_bytes;
    const uint8_t *end = from + n_bytes;
    if (n_bytes >= 64) memcpy(to, from, 64), memcpy(to_end - 64, end - 64, 64);
    else if (n_bytes >= 32) memcpy(to, from, 32), memcpy(to_end - 32, end - 32, 32);
    else if (n_bytes >= 16) memcpy(to, from, 16), memcpy(to_end - 16, end - 16, 16);
    else if (n_bytes >= 8) memcpy(to, from, 8), memcpy(to_end - 8, end - 8, 8);
    else if (n_bytes >= 4) memcpy(to, from, 4), memcpy(to_end - 4, end - 4, 4);
    else to[0] = from[0], to[n_bytes / 2] = from[n_bytes / 2], to_end[-1] = end[-1];
}

/* Returns the block at r->at. If fewer than n_bytes of text are left, it is a copy padded with
 * zeros. */
INLINE const uint8_t *readable_block(run *r, int64_t n_bytes)
{
    const uint8_t *block = r->text + r->at;
    int64_t n_left = r->n_bytes - r->at;
    if (LIKELY(n_left >= n_bytes)) return block;
    memset(r->tail, 0, sizeof r->tail);
    copy_few(r->tail, block, n_left);
    return r->tail;
}

/* Returns the first bit from k on that is 0, or 64. */
INLINE int first_zero(uint64_t bits, int k)
{
    uint64_t zeros = ~bits >> k;
    return zeros ? k + lowest_bit(zeros) : 64;
}

INLINE uint64_t bits_from(int k) { return k < 64 ? ~0ULL << k : 0; }

/* Consumes a block, or the rest of the text, with the masks m.
 *
 * The complete block is first copied unchanged, which suffices for most blocks. The loop visits, in
 * order, the bytes that may need more. Whenever the output differs from a plain copy, the rest of the
 * block, from byte k on, is copied again to its new position:
 *
 *     block     t h e _ _ c a f                 `again`: the second space
 *     to        t h e _ _ c a f                 first copy
 *     to        t h e _ c a f                   the second space is dropped; k is the byte after it
 *
 * So every copy has a constant size, and byte j >= k of the block is always at to[j - k].
 * A run of spaces becomes one (rule 3 of normalize.c), or none if a space came before it.
 *
 * A character whose class is BECOMES is replaced one at a time. A character that must be looked up
 * ends the run: at that character, or at the one before it if a longer item begins there. */
INLINE void take_block(run *r, const uint8_t *block, masks m)
{
    int64_t n_left = r->n_bytes - r->at;
    int n_block = n_left < PLAIN_BLOCK_BYTES ? (int)n_left : PLAIN_BLOCK_BYTES - m.n_cut;
    uint64_t again = m.spaces & (m.spaces << 1 | (uint64_t)r->is_after_space);
    uint64_t left = (m.look | again) & ~bits_from(n_block);
    /* the destination of byte k: bytes before k are done, and 64 bytes from k on are copied */
    uint8_t *to = r->to;
    int k = 0;
    memcpy(to, block, PLAIN_BLOCK_BYTES);
    while (left) {
        int here = lowest_bit(left);
        left &= left - 1;
        if (m.spaces >> here & 1) {
            to[here - k] = ' ';
            to += here - k + (int)(~again >> here & 1);
            k = first_zero(m.spaces, here);
            if (k > n_block) k = n_block;
            left &= bits_from(k);
        } else if (is_calm_3(r->n, block + here)) {
            continue;
        } else {
            int class = class_of(r->n, r->text + r->at + here, n_left - here);
            int64_t item = find_item(r, r->at + here, class);
            if (item >= 0) {
                r->to = to + (item - r->at - k);
                r->at = item;
                r->is_item = 1;
                return;
            }
            if (!(class & CLASS_BECOMES)) continue;
            to += here - k;
            *to++ = (uint8_t)(class ^ CLASS_BECOMES);
            k = here + (block[here] < 0x80 ? 1 : block[here] < 0xE0 ? 2 : 3);
        }
        if (n_left < PLAIN_BLOCK_BYTES + k) block = readable_block(r, PLAIN_BLOCK_BYTES + k);
        memcpy(to, block + k, PLAIN_BLOCK_BYTES);
    }
    r->to = to + (n_block - k);
    r->at += n_block;
    r->is_after_space = m.spaces >> (n_block - 1) & 1;
}

/* The fields are set one by one: an initializer would also clear r->tail, 128 bytes. */
INLINE void begin_run(run *r, const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                      int is_after_space, uint8_t *out, int64_t room)
{
    r->n = n;
    r->text = text;
    r->n_bytes = n_bytes;
    r->at = 0;
    r->to = out;
    r->to_end = out + room;
    r->is_after_space = is_after_space;
    r->is_item = 0;
}

/* A block is consumed only if there is space for two blocks, so that its copies need no check. */
INLINE int continues(const run *r)
{
    return !r->is_item && r->at < r->n_bytes && r->to_end - r->to >= PLAIN_ROOM_BYTES;
}

INLINE plain_run end_run(run *r, int is_after_space, const uint8_t *out)
{
    const uint8_t *text = r->text;
    /* the run ended before the character that follows a MORE was checked */
    if (!r->is_item && r->at < r->n_bytes && ends_with_more(r->n, text, r->at)) {
        int64_t last = last_character(text, r->at);
        r->to -= r->at - last;
        r->at = last;
    }
    if (r->at > 0)
        is_after_space = text[r->at - 1] < 0x80 && r->n->plain.kinds[text[r->at - 1]] & BYTE_SPACE;
    return (plain_run){r->at, r->to - out, is_after_space};
}

/* The body of the function for each CPU; LOOK computes the masks of a block. */
#define RUN_PLAIN(LOOK)                                                                            \
    run r;                                                                                         \
    begin_run(&r, n, text, n_bytes, is_after_space, out, room);                                    \
    while (continues(&r)) {                                                                        \
        const uint8_t *block = readable_block(&r, PLAIN_BLOCK_BYTES);                              \
        take_block(&r, block, LOOK(&n->plain, block));                                             \
    }                                                                                              \
    return end_run(&r, is_after_space, out)
