/* normalize_plain.c - the fast path of normalization: its tables and the portable version
 *
 *     kinds[byte]     what the first byte says about a character (normalize_plain.h)
 *     look_at_block   64 bytes → masks of the bytes to look up, and of spaces
 *     RUN_PLAIN       the loop around it, the same for every instruction set
 *
 * The versions differ only in how they compute the masks. This one handles eight bytes in a
 * word. */

#include "text/normalize_plain_run.h"

#include "ground/cpu.h"

#define HIGH_BITS 0x8080808080808080

/* Returns the highest bits of eight bytes as a mask, shifted left by `shift`. Once the bits are at
 * 0, 8, ..., 56, the multiplier 2^7 + 2^14 + ... + 2^56 moves the bit at 8 i to 56 + i, because it
 * contains 2^(56 - 7 i). No two products share a bit, so there is no carry into the top byte. */
INLINE uint64_t mask_8(uint64_t word, int shift)
{
    return ((word & HIGH_BITS) >> 7) * 0x0102040810204080 >> 56 << shift;
}

/* Adds the masks of eight bytes; the first byte is bit k. The tests for leads and continuation
 * bytes use the high bits of the word shifted by one to three: bit 7 of a byte is set in `two` if
 * bits 7 and 6 are set, in `three` if bit 5 is set as well, and in `three & word << 3` if bit 4 is
 * set too. Bits that are shifted in from the byte below reach bit 2 at most. */
INLINE void look_at_word(const plain_tables *t, const uint8_t *p, int k, masks *m, high_masks *h)
{
    const uint8_t *kinds = t->kinds;
    uint64_t word = load_u64(p);
    /* ASCII rarely needs a lookup; but if spaces must be marked, most words contain one */
    if (!t->has_spaces && !(word & HIGH_BITS)) {
        if (!(kinds[p[0]] | kinds[p[1]] | kinds[p[2]] | kinds[p[3]] | kinds[p[4]] | kinds[p[5]] |
              kinds[p[6]] | kinds[p[7]])) {
            return;
        }
    }
    uint64_t found = kinds[p[0]] | (uint64_t)kinds[p[1]] << 8 | (uint64_t)kinds[p[2]] << 16 |
                     (uint64_t)kinds[p[3]] << 24 | (uint64_t)kinds[p[4]] << 32 |
                     (uint64_t)kinds[p[5]] << 40 | (uint64_t)kinds[p[6]] << 48 |
                     (uint64_t)kinds[p[7]] << 56;
    m->look |= mask_8(found, k);
    m->spaces |= mask_8(found << 1, k);
    if (!(word & HIGH_BITS)) return;
    uint64_t two = word & word << 1, three = two & word << 2;
    h->high |= mask_8(word, k);
    h->continued |= mask_8(word & ~two, k);
    h->lead_3 |= mask_8(three, k);
    h->lead_4 |= mask_8(three & word << 3, k);
}

/* Computes the masks of 64 bytes from eight words. If all bytes are ASCII, there are no
 * continuation bytes to check. */
INLINE masks look_at_block(const plain_tables *t, const uint8_t *block)
{
    masks m = {0, 0, 0};
    high_masks h = {0, 0, 0, 0};
    for (int k = 0; k < 64; k += 8) look_at_word(t, block + k, k, &m, &h);
    if (h.high) look_at_continued(&m, &h);
    return m;
}

static plain_run plain_normalize_portable(const unitok_normalizer *n, const uint8_t *text,
                                          int64_t n_bytes, int is_after_space, uint8_t *out,
                                          int64_t room)
{
    RUN_PLAIN(look_at_block);
}

plain_normalize plain_normalize_for(int32_t cpu)
{
#if defined(UNITOK_X86)
    if (cpu == UNITOK_CPU_AVX2 || cpu == UNITOK_CPU_AVX512) return plain_normalize_avx2;
#elif defined(UNITOK_ARM64)
    if (cpu == UNITOK_CPU_NEON) return plain_normalize_neon;
#endif
    (void)cpu;
    return plain_normalize_portable;
}

/* ------------------------------------------------------------------------------ The tables ---- */

/* Returns whether all `count` characters from `first` on have class 0 or MORE. */
static int are_calm(const unitok_normalizer *n, int first, int count)
{
    uint8_t classes = 0;
    for (int i = 0; i < count; i++) classes |= n->classes[first + i];
    return !(classes & ~CLASS_MORE);
}

/* Marks the characters that the fast path may remove as repeated spaces: ASCII characters that
 * become a space, and that neither begin nor end a longer item. All others must be looked up. */
static void find_spaces(unitok_normalizer *n)
{
    uint8_t *end = n->classes + sizeof n->classes, *class = n->classes, *own = &n->classes[' '];
    if (*own == 0) n->plain.kinds[' '] |= BYTE_SPACE;
    else if (!(*own & CLASS_BECOMES)) *own |= CLASS_STOP;
    for (; (class = memchr(class, CLASS_BECOMES | ' ', (size_t)(end - class))) != NULL; class++) {
        if (class - n->classes < 128) n->plain.kinds[class - n->classes] |= BYTE_SPACE;
        else *class = CLASS_STOP;
    }
}

/* Whether the first byte of a character is not enough to tell that it is plain: see plain_tables.
 * The lead of a two-byte character stands for 64 characters and that of a three-byte character for
 * 4,096; a lead is plain only if all its characters are. Leads of four-byte characters are always
 * LOOK, because such characters are rare. */
static int needs_look(const unitok_normalizer *n, int byte)
{
    if (byte == ' ' && n->plain.kinds[byte] & BYTE_SPACE) return 0;
    if (byte < 0x80) return n->classes[byte] & (CLASS_STOP | CLASS_BECOMES);
    if (byte < 0xC0) return 0;
    if (byte >= 0xC2 && byte < 0xE0) return !are_calm(n, (byte & 0x1F) << 6, 1 << 6);
    /* overlong forms and surrogates begin with other bytes */
    int begins_only_whole = byte > 0xE0 && byte < 0xF0 && byte != 0xED;
    return !begins_only_whole || !are_calm(n, (byte & 0xF) << 12, 1 << 12);
}

/* The tables for AVX2 contain the same information as kinds[], indexed by half bytes. */
void plain_build(unitok_normalizer *n)
{
    plain_tables *t = &n->plain;
    t->has_spaces = (n->flags & UNITOK_REMOVE_EXTRA_WHITESPACES) != 0;
    if (t->has_spaces) find_spaces(n);
    for (int byte = 0; byte < 256; byte++) {
        uint8_t bit = (uint8_t)(1 << (byte >> 4 & 7));
        if (needs_look(n, byte)) t->kinds[byte] |= BYTE_LOOK;
        if (t->kinds[byte] & BYTE_SPACE) t->spaces[byte & 15] |= bit;
        if (t->kinds[byte] & BYTE_LOOK)
            (byte < 0x80 ? t->ascii_look : t->high_look)[byte & 15] |= bit;
    }
}
