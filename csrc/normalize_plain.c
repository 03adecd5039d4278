/* normalize_plain.c - text that normalization leaves as it is: found and copied 64 bytes at a time
 *
 * A block is looked at as masks, a bit a byte; here 16 bytes of one, in which "é" has two:
 *
 *     text     t h e _ _ c a f é . \n \n I f _ “ . .
 *     spaces         1 1           1  1      1           what gives a space, where spaces after spaces are removed
 *     look                         1  1        1         classes[] decides: it may be plain, or begin no character
 *
 * Calm, and not looked at, are ASCII that begins nothing longer with ASCII, the first bytes of characters of which
 * none is STOP or SECOND, and as many continuations as they ask for. Most that is looked at turns out to be plain.
 * A look too many changes nothing but time: so SSE2 finds calm bytes by a few ranges, which hold the most of them.
 */

#include "normalize_plain.h"

#include "cpu.h"
#include "utf8.h"

#if defined(UNITOK_X86)
#include <emmintrin.h>
#endif

typedef struct masks {
    uint64_t look, spaces;
    int n_cut; /* bytes at the end that begin a character and do not end it */
} masks;

/* Bytes from 0x80 on. */
typedef struct high_masks {
    uint64_t high, continued;
    uint64_t lead_3, lead_4; /* the first of so many bytes, or more */
} high_masks;

/* A look at what lacks a continuation in the block, and at continuations that nothing asks for. */
INLINE void look_at_continued(masks *m, const high_masks *h)
{
    uint64_t lead = h->high & ~h->continued, c = h->continued;
    m->look |= (lead & ~(c >> 1 | 1ULL << 63)) | (h->lead_3 & ~(c >> 2 | 3ULL << 62)) |
               (h->lead_4 & ~(c >> 3 | 7ULL << 61)) | (c & ~(lead << 1 | h->lead_3 << 2 | h->lead_4 << 3));
    m->n_cut = lead >> 63 ? 1 : h->lead_3 >> 62 & 1 ? 2 : h->lead_4 >> 61 & 1 ? 3 : 0;
}

#if defined(UNITOK_X86)

INLINE __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

INLINE uint64_t mask_16(__m128i x, int shift)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(x) << shift;
}

INLINE __m128i in_range(__m128i x, const byte_range *range)
{
    __m128i above = _mm_sub_epi8(x, load_16(range->low));
    return _mm_cmpeq_epi8(_mm_min_epu8(above, load_16(range->width)), above);
}

INLINE masks look_at_block(const unitok_normalizer *n, const uint8_t *block)
{
    const plain_vectors *v = &n->plain;
    masks m = {0, 0, 0};
    high_masks h = {0, 0, 0, 0};
    uint64_t calm = 0;
    for (int k = 0; k < 64; k += 16) {
        __m128i x = load_16(block + k), is_calm = in_range(x, &v->ascii);
        for (int i = 0; i < v->n_exceptions; i++) {
            is_calm = _mm_andnot_si128(_mm_cmpeq_epi8(x, load_16(v->exceptions[i])), is_calm);
        }
        calm |= mask_16(is_calm, k);
        h.high |= mask_16(x, k);
    }
    for (int i = 0; i < v->n_spaces; i++) {
        __m128i space = load_16(v->spaces[i]);
        for (int k = 0; k < 64; k += 16) m.spaces |= mask_16(_mm_cmpeq_epi8(load_16(block + k), space), k);
    }
    if (h.high) {
        for (int k = 0; k < 64; k += 16) {
            __m128i x = load_16(block + k);
            calm |= mask_16(_mm_or_si128(in_range(x, &v->leads[0]), in_range(x, &v->leads[1])), k);
            h.continued |= mask_16(_mm_cmplt_epi8(x, _mm_set1_epi8(-64)), k);
            h.lead_3 |= mask_16(_mm_cmpgt_epi8(x, _mm_set1_epi8(-33)), k);
            h.lead_4 |= mask_16(_mm_cmpgt_epi8(x, _mm_set1_epi8(-17)), k);
        }
        h.lead_3 &= h.high;
        h.lead_4 &= h.high;
        look_at_continued(&m, &h);
        calm |= h.continued;
    }
    m.look |= ~calm;
    return m;
}

#else

#define HIGH_BITS 0x8080808080808080

/* The highest bits of eight bytes. */
INLINE uint64_t mask_8(uint64_t word, int shift)
{
    return ((word & HIGH_BITS) >> 7) * 0x0102040810204080 >> 56 << shift;
}

INLINE masks look_at_block(const unitok_normalizer *n, const uint8_t *block)
{
    masks m = {0, 0, 0};
    high_masks h = {0, 0, 0, 0};
    for (int k = 0; k < 64; k += 8) {
        uint64_t word = load_u64(block + k), kinds = 0;
        for (int i = 0; i < 8; i++) kinds |= (uint64_t)n->byte_kinds[block[k + i]] << 8 * i;
        m.look |= mask_8(kinds, k);
        m.spaces |= mask_8(kinds << 1, k);
        if (!(word & HIGH_BITS)) continue;
        uint64_t two = word & word << 1, three = two & word << 2;
        h.high |= mask_8(word, k);
        h.continued |= mask_8(word & ~two, k);
        h.lead_3 |= mask_8(three, k);
        h.lead_4 |= mask_8(three & word << 3, k);
    }
    if (h.high) look_at_continued(&m, &h);
    return m;
}

#endif

typedef struct run {
    const unitok_normalizer *n;
    const uint8_t *text;
    int64_t n_bytes;
    int64_t at; /* where the block begins, with a character; at the end of the run, where that is */
    uint8_t *to;
    int is_after_space;                 /* before `at` */
    uint8_t tail[2 * PLAIN_BLOCK_BYTES]; /* the last of the text, and zeros */
} run;

/* --------------------------------------------------------------------------------------- What is looked at ---- */

/* The class of the character that text[0..n_bytes-1] begins with. */
INLINE int class_of(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes)
{
    int length = utf8_length(text, n_bytes);
    if (!length) return CLASS_STOP;
    uint32_t code_point = utf8_code_point(text, length);
    return length < 4 ? n->classes[code_point] : n->class_blocks[CLASS_BLOCK(code_point)];
}

/* Where the last character of text[0..at-1] begins. */
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

/* text[0..at-1] needs no look-up, and here stands a character of this class. Returns where what must be looked up
 * begins: here, or with the character before; -1 if nothing does. */
INLINE int64_t find_item(const run *r, int64_t at, int class)
{
    const uint8_t *text = r->text;
    if (class_has(class, CLASS_SECOND) && at > 0 && ends_with_more(r->n, text, at)) return last_character(text, at);
    if (class_has(class, CLASS_STOP)) return at;
    if (!class_has(class, CLASS_MORE) || text[at] >= 0x80 || at + 1 == r->n_bytes) return -1;
    return class_has(class_of(r->n, text + at + 1, r->n_bytes - at - 1), CLASS_SECOND) ? at : -1;
}

/* ------------------------------------------------------------------------------------------------- The run ---- */

/* The block's bytes, and as many that can be read behind them. */
INLINE const uint8_t *readable_block(run *r)
{
    const uint8_t *block = r->text + r->at;
    int64_t n_left = r->n_bytes - r->at;
    if (n_left >= 2 * PLAIN_BLOCK_BYTES) return block;
    memset(r->tail, 0, sizeof r->tail);
    memcpy(r->tail, block, (size_t)n_left);
    return r->tail;
}

/* The first bit from k on that is 0, or 64. */
INLINE int first_zero(uint64_t bits, int k)
{
    uint64_t zeros = ~bits >> k;
    return zeros ? k + lowest_bit(zeros) : 64;
}

INLINE uint64_t bits_from(int k)
{
    return k < 64 ? ~0ULL << k : 0;
}

/* Takes a block, or what is left of the text. Returns 1 at an item that must be looked up. */
INLINE int take_block(run *r)
{
    const uint8_t *block = readable_block(r);
    int64_t n_left = r->n_bytes - r->at;
    masks m = look_at_block(r->n, block);
    int n_block = n_left < PLAIN_BLOCK_BYTES ? (int)n_left : PLAIN_BLOCK_BYTES - m.n_cut;
    uint64_t again = m.spaces & (m.spaces << 1 | (uint64_t)r->is_after_space);
    uint64_t left = (m.look | again) & ~bits_from(n_block);
    uint8_t *to = r->to; /* where byte k goes: those before are done, 64 bytes from k on are copied */
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
        } else {
            int class = class_of(r->n, r->text + r->at + here, n_left - here);
            int64_t item = find_item(r, r->at + here, class);
            if (item >= 0) {
                r->to = to + (item - r->at - k);
                r->at = item;
                return 1;
            }
            if (!(class & CLASS_BECOMES)) continue;
            to += here - k;
            *to++ = (uint8_t)(class ^ CLASS_BECOMES);
            k = here + (block[here] < 0x80 ? 1 : block[here] < 0xE0 ? 2 : 3);
        }
        memcpy(to, block + k, PLAIN_BLOCK_BYTES);
    }
    r->to = to + (n_block - k);
    r->at += n_block;
    r->is_after_space = m.spaces >> (n_block - 1) & 1;
    return 0;
}

plain_run normalize_plain(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes, int is_after_space,
                          uint8_t *out, int64_t room)
{
    run r;
    r.n = n, r.text = text, r.n_bytes = n_bytes, r.at = 0, r.to = out, r.is_after_space = is_after_space;
    int is_item = 0;
    while (!is_item && r.at < n_bytes && out + room - r.to >= PLAIN_ROOM_BYTES) is_item = take_block(&r);
    if (!is_item && r.at < n_bytes && ends_with_more(n, text, r.at)) { /* cut for want of room: what follows it? */
        int64_t last = last_character(text, r.at);
        r.to -= r.at - last;
        r.at = last;
    }
    if (r.at > 0) is_after_space = text[r.at - 1] < 0x80 && n->byte_kinds[text[r.at - 1]] & BYTE_SPACE;
    return (plain_run){r.at, r.to - out, is_after_space};
}

/* ---------------------------------------------------------------------------------------------- The tables ---- */

/* How many bytes give a space: the most frequent. */
static const uint8_t SPACES[PLAIN_SPACES_MAX] = {' ', '\n', '\t', '\r'};

static void fill(byte_range *range, int low, int high)
{
    memset(range->low, low, sizeof range->low);
    memset(range->width, high - low, sizeof range->width);
}

static int is_calm(const unitok_normalizer *n, int byte)
{
    return !(n->byte_kinds[byte] & BYTE_LOOK);
}

/* The longest range of calm bytes in low..high; 0x80 alone, which is no lead, where there is none. */
static void find_leads(const unitok_normalizer *n, int low, int high, byte_range *ret)
{
    int most = 0;
    fill(ret, 0x80, 0x80);
    for (int from = low, to = low; from <= high; from = ++to) {
        while (to <= high && is_calm(n, to)) to++;
        if (to - from <= most) continue;
        most = to - from;
        fill(ret, from, to - 1);
    }
}

/* The range that has the most calm bytes, with so many exceptions at most. */
static void find_ascii(unitok_normalizer *n)
{
    plain_vectors *v = &n->plain;
    int most = 0;
    fill(&v->ascii, 0x80, 0x80);
    for (int low = 0; low < 128; low++) {
        uint8_t exceptions[PLAIN_EXCEPTIONS_MAX];
        int n_exceptions = 0;
        for (int high = low; high < 128; high++) {
            if (!is_calm(n, high)) {
                if (n_exceptions == PLAIN_EXCEPTIONS_MAX) break;
                exceptions[n_exceptions++] = (uint8_t)high;
            }
            if (high - low + 1 - n_exceptions <= most) continue;
            most = high - low + 1 - n_exceptions;
            fill(&v->ascii, low, high);
            v->n_exceptions = n_exceptions;
            for (int i = 0; i < n_exceptions; i++) memset(v->exceptions[i], exceptions[i], sizeof v->exceptions[i]);
        }
    }
}

/* Whether all of `count` characters from `first` on are of the classes 0 and MORE. */
static int are_calm(const unitok_normalizer *n, int first, int count)
{
    uint8_t classes = 0;
    for (int i = 0; i < count; i++) classes |= n->classes[first + i];
    return !(classes & ~CLASS_MORE);
}

static void class_space(unitok_normalizer *n, int c)
{
    n->byte_kinds[c] = c == ' ' ? BYTE_SPACE : BYTE_SPACE | BYTE_LOOK;
    memset(n->plain.spaces[n->plain.n_spaces++], c, sizeof n->plain.spaces[0]);
}

/* Spaces after a space are removed by themselves, if they are in SPACES and nothing longer begins or ends with them.
 * All others must be looked up. */
static void find_spaces(unitok_normalizer *n)
{
    const uint8_t becomes = CLASS_BECOMES | ' ';
    for (int c = 0; c < 0x10000; c++) {
        int is_known = n->classes[c] == becomes || (c == ' ' && n->classes[c] == 0);
        if (is_known && c < 128 && memchr(SPACES, c, sizeof SPACES)) class_space(n, c);
        else if (n->classes[c] == becomes) n->classes[c] = CLASS_STOP;
        else if (c == ' ' && !(n->classes[c] & CLASS_BECOMES)) n->classes[c] |= CLASS_STOP;
    }
}

void plain_build(unitok_normalizer *n)
{
    if (n->flags & UNITOK_REMOVE_EXTRA_WHITESPACES) find_spaces(n);
    for (int c = 0; c < 128; c++) {
        int is_plain = n->byte_kinds[c] == BYTE_SPACE || !(n->classes[c] & (CLASS_STOP | CLASS_BECOMES));
        if (!is_plain) n->byte_kinds[c] |= BYTE_LOOK;
    }
    for (int c = 0xC0; c < 256; c++) {
        int is_two = c >= 0xC2 && c < 0xE0, is_three = c >= 0xE1 && c < 0xF0 && c != 0xED;
        int calm = is_two ? are_calm(n, (c & 0x1F) << 6, 1 << 6) : is_three && are_calm(n, (c & 0xF) << 12, 1 << 12);
        if (!calm) n->byte_kinds[c] = BYTE_LOOK;
    }
    find_ascii(n);
    find_leads(n, 0xC2, 0xDF, &n->plain.leads[0]);
    find_leads(n, 0xE1, 0xEF, &n->plain.leads[1]);
}
