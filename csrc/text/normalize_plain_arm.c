/* normalize_plain_arm.c - the fast path of normalization for NEON */

#include "ground/cpu.h"

#if defined(UNITOK_ARM64)

#include "ground/neon.h"
#include "text/normalize_plain_run.h"

/* NEON has lookups in tables of 64 bytes, so kinds[] is used directly: two lookups for ASCII, and
 * one for the leads from 0xC0 on. A lookup gives 0 for an index outside its table, so the results
 * are combined with OR. Masks of bytes outside ASCII are only needed, and converted, if there are
 * any such bytes. */
INLINE masks look_at_block_neon(const plain_tables *t, const uint8_t *block)
{
    uint8x16x4_t first = vld1q_u8_x4(t->kinds), second = vld1q_u8_x4(t->kinds + 64),
                 leads = vld1q_u8_x4(t->kinds + 192);
    uint8x16_t look[4], spaces[4], high[4], continued[4], lead_3[4], lead_4[4];
    for (int i = 0; i < 4; i++) {
        uint8x16_t x = vld1q_u8(block + 16 * i), kinds = look_up_neon(x, first, second);
        /* 0 for ASCII and continuations */
        kinds = vorrq_u8(kinds, vqtbl4q_u8(leads, vsubq_u8(x, vdupq_n_u8(0xC0))));
        look[i] = vcgeq_u8(kinds, vdupq_n_u8(BYTE_LOOK));
        spaces[i] = vtstq_u8(kinds, vdupq_n_u8(BYTE_SPACE));
        high[i] = vcgeq_u8(x, vdupq_n_u8(0x80));
        continued[i] = vcltq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(-64));
        lead_3[i] = vcgeq_u8(x, vdupq_n_u8(0xE0));
        lead_4[i] = vcgeq_u8(x, vdupq_n_u8(0xF0));
    }
    masks m = {bits_neon(look), bits_neon(spaces), 0};
    high_masks h = {bits_neon(high), 0, 0, 0};
    if (h.high) {
        h.continued = bits_neon(continued);
        h.lead_3 = bits_neon(lead_3);
        h.lead_4 = bits_neon(lead_4);
        look_at_continued(&m, &h);
    }
    return m;
}

plain_run plain_normalize_neon(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                               int is_after_space, uint8_t *out, int64_t room)
{
    RUN_PLAIN(look_at_block_neon);
}

#endif
