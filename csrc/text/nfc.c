/* nfc.c - checks whether a text is in NFC or NFKC of Unicode 9
 *
 * Each character has a kind: its combining class, and whether it decomposes or can be the second of
 * a pair that composes. A text is in NFC if no character decomposes, the classes within a run of
 * marks do not decrease, and no character composes with the starter before it:
 *
 *     text     a    U+0323   U+0301   b     U+0301
 *     class    0    220      230      0     230
 *                   └ no class is smaller than the one before it, except 0
 *     pairs    (a, 0323) composes, so this is not NFC      (b, 0301) does not compose
 *
 * A starter and a mark can compose only if all marks between them have smaller classes. Two cases
 * are reported as not normal, and left to the caller: a mark after a starter that is itself
 * composed (a mark that the starter contains may have to come after this mark), and Jamo
 * (which count as characters that decompose). */

#include "ground/utf8.h"
#include "text/nfc_table.h"

enum { NFC_NO = 1, NFC_SECOND = 2, NFC_COMPAT = 4, NFC_MARK = 8, NFC_COMPOSED = 16 };

static const uint8_t *kind_of(uint32_t code_point)
{
    uint32_t page = code_point >> 7;
    page = nfc_index[page < NFC_INDEX_MAX ? page : NFC_INDEX_MAX];
    return nfc_kinds[nfc_pages[page][code_point & 127]];
}

static int composes(uint32_t first, uint32_t second)
{
    uint64_t pair = (uint64_t)first << 21 | second;
    size_t low = 0, high = sizeof nfc_pairs / sizeof *nfc_pairs;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (nfc_pairs[middle] < pair) low = middle + 1;
        else high = middle;
    }
    return low < sizeof nfc_pairs / sizeof *nfc_pairs && nfc_pairs[low] == pair;
}

/* Whether the character of 2 or 3 bytes that seems to begin at text[0] is inert for NFC. */
INLINE int seems_inert(const uint8_t *text, int64_t n_bytes)
{
    if (n_bytes < 3 || text[0] >= 0xF0) return 0;
    int is_short = text[0] < 0xE0;
    int row = is_short ? text[0] & 31 : 32 + ((text[0] & 15) << 6 | (text[1] & 63));
    return !(nfc_masks[row] >> (text[is_short ? 1 : 2] & 63) & 1);
}

/* Returns the first i >= at such that text[i] begins a character that is not inert, or n_bytes.
 * Continuation bytes are skipped: they belong to an inert character, or are invalid. */
INLINE int64_t skip_inert(const uint8_t *text, int64_t at, int64_t n_bytes, uint8_t lively)
{
    for (; at < n_bytes; at++) {
        while (n_bytes - at >= 8) {
            const uint8_t *t = text + at;
            if (load_u64(t) & UINT64_C(0x8080808080808080) &&
                (nfc_leads[t[0]] | nfc_leads[t[1]] | nfc_leads[t[2]] | nfc_leads[t[3]] |
                 nfc_leads[t[4]] | nfc_leads[t[5]] | nfc_leads[t[6]] | nfc_leads[t[7]]) &
                    lively)
                break;
            at += 8;
        }
        while (at < n_bytes && !(nfc_leads[text[at]] & lively)) at++;
        if (at == n_bytes || lively & NFC_COMPAT || !seems_inert(text + at, n_bytes - at)) break;
    }
    return at;
}

/* Whether the text before text[i] and the text from there on can be normalized independently. Returns
 * 0 at a character that may be incomplete. */
static int begins_anew(const uint8_t *text, int64_t i, int64_t n_bytes, uint8_t wrong)
{
    if (is_continuation(text[i]) || i + char_bytes(text[i]) > n_bytes) return 0;
    const uint8_t *kind = kind_of(utf8_at(text + i, n_bytes - i));
    return !kind[0] && !(kind[1] & (wrong | NFC_SECOND));
}

/* Between two positions at which normalization restarts, the result depends only on the text
 * between them. */
int32_t unitok_is_normal_around(const uint8_t *text, int64_t n_bytes, int64_t at, int64_t reach,
                                int32_t with_compatibility)
{
    uint8_t wrong = NFC_NO | (with_compatibility ? NFC_COMPAT : 0);
    int64_t begin = at > reach ? at - reach : 0, end = at + reach;
    if (!begins_anew(text, at, n_bytes, wrong)) return 0;
    while (begin > 0 && !begins_anew(text, begin, n_bytes, wrong)) begin--;
    while (end < n_bytes && !begins_anew(text, end, n_bytes, wrong)) end++;
    return end < n_bytes && unitok_is_normal(text + begin, end - begin, with_compatibility);
}

int32_t unitok_is_normal(const uint8_t *text, int64_t n_bytes, int32_t with_compatibility)
{
    uint8_t wrong = NFC_NO | (with_compatibility ? NFC_COMPAT : 0);
    uint32_t starter = 0; /* the starter before the marks that end at `done` */
    uint8_t last = 0;     /* the class of the mark that ends at `done`, 0 if none does */
    int64_t done = 0, i;
    while ((i = skip_inert(text, done, n_bytes, wrong | NFC_SECOND | NFC_MARK)) < n_bytes) {
        uint32_t code_point = utf8_at(text + i, n_bytes - i);
        const uint8_t *kind = kind_of(code_point);
        if (i > done) last = 0;
        if (kind[0] | kind[1]) {
            if (last == 0) starter = i ? utf8_before(text, i) : UTF8_INVALID;
            int meets = last == 0 || kind[0] > last;
            if (kind[1] & wrong || (kind[0] && kind[0] < last)) return 0;
            if (kind[1] & NFC_SECOND && meets &&
                (kind_of(starter)[1] & NFC_COMPOSED || composes(starter, code_point)))
                return 0;
        }
        last = kind[0];
        done = i + utf8_bytes_at(text + i, n_bytes - i);
    }
    return 1;
}
