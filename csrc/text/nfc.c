/* nfc.c - is a text surely in Unicode's form NFC? */

#include "text/nfc_table.h"
#include "ground/utf8.h"

#define STEP_BYTES 16
#define HIGH_BITS 0x8080808080808080u

/* Is one of eight bytes 0xC4 or more? Their bits 7 and 6 are set, and one of 5 to 2. */
INLINE int has_larger_lead(uint64_t v)
{
    return (v & v << 1 & (v << 2 | v << 3 | v << 4 | v << 5) & HIGH_BITS) != 0;
}

/* Skips ASCII and Latin-1, 16 bytes at a time: starters that NFC never changes. Bytes below 0xC4
 * encode nothing else, valid or not; a character that crosses the end of a step is left to the next
 * one. */
INLINE int64_t skip_latin(const uint8_t *text, int64_t i, int64_t n_bytes)
{
    for (; n_bytes - i >= STEP_BYTES; i += STEP_BYTES) {
        uint64_t a = load_u64(text + i), b = load_u64(text + i + 8);
        if (LIKELY(!((a | b) & HIGH_BITS))) continue;
        if (has_larger_lead(a) || has_larger_lead(b)) break;
        i -= text[i + STEP_BYTES - 1] >= 0xC0;
    }
    return i;
}

/* Skips characters of three bytes in blocks (Chinese, Japanese) that have only starters that NFC
 * never changes. Blocks below 32 would be overlong forms; surrogates have a row of their own. */
INLINE int64_t skip_three_bytes(const uint8_t *text, int64_t i, int64_t n_bytes)
{
    for (; n_bytes - i >= 4; i += 3) {
        uint32_t v = load_u32(text + i), block = (v & 0x0F) << 6 | (v >> 8 & 0x3F);
        if ((v & 0xC0C0F0) != 0x8080E0 || block < 32 || nfc_blocks[block] != 0) break;
    }
    return i;
}

/* The quick check of Unicode's annex 15: no character that NFC might change or compose with an
 * earlier one, and combining marks in canonical order. */
int32_t unitok_nfc_is_sure(const uint8_t *text, int64_t n_bytes)
{
    uint8_t before = 0;
    int64_t skip_at = 0; /* from here on, a wide step is worth another try */
    for (int64_t i = 0; i < n_bytes;) {
        if (i >= skip_at && text[i] < 0xC4) {
            int64_t next = skip_latin(text, i, n_bytes);
            skip_at = next + STEP_BYTES;
            before = 0;
            i = next;
            if (i == n_bytes) break;
        }
        if ((text[i] & 0xF0) == 0xE0) {
            int64_t next = skip_three_bytes(text, i, n_bytes);
            if (next > i) {
                before = 0;
                i = next;
                continue;
            }
        }
        int length = utf8_length(text + i, n_bytes - i);
        if (UNLIKELY(length == 0)) return 0;
        uint32_t point = utf8_code_point(text + i, length);
        if (UNLIKELY(point >= NFC_END)) return 0;
        i += length;
        uint32_t block = nfc_blocks[point >> 6];
        uint8_t class = block ? nfc_classes[block][point & 63] : 0;
        if (UNLIKELY(class != 0) && (class == NFC_MAYBE || class < before)) return 0;
        before = class;
    }
    return 1;
}
