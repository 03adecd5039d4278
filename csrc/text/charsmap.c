/* charsmap.c - checking and measuring a precompiled_charsmap, before anything walks it */

#include "text/charsmap.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/utf8.h"

static int32_t broken(unitok_error *error, const char *message)
{
    return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, message);
}

/* The three parts of the blob. */
static int32_t take_apart(const uint8_t *blob, int64_t n_bytes, charsmap *ret, unitok_error *error)
{
    if (n_bytes <= 4) return broken(error, "the charsmap is cut short");
    int64_t n_trie_bytes = load_u32(blob);
    if (n_bytes > INT32_MAX) return broken(error, "the charsmap is larger than 2 GiB");
    if (n_trie_bytes >= n_bytes - 4) return broken(error, "the charsmap's trie is larger than the charsmap");
    if (n_trie_bytes < 1024 || n_trie_bytes % 1024) {
        return broken(error, "the size of the charsmap's trie is no multiple of 1024");
    }
    ret->units = (const uint32_t *)(const void *)(blob + 4);
    ret->n_units = n_trie_bytes / 4;
    ret->replacements = blob + 4 + n_trie_bytes;
    ret->n_replacement_bytes = n_bytes - 4 - n_trie_bytes;
    if (ret->replacements[ret->n_replacement_bytes - 1]) {
        return broken(error, "the charsmap's last replacement has no end");
    }
    return UNITOK_OK;
}

/* Every offset leads inside, and what is marked as a leaf is one. Units that no walk meets are checked too:
 * sentencepiece refuses them. */
static int32_t check_units(const charsmap *m, unitok_error *error)
{
    uint32_t root = m->units[0];
    if (root & 0x800001FF || charsmap_base(0, root) == 0) return broken(error, "the charsmap's root is wrong");
    for (uint32_t at = 0; at < m->n_units; at++) {
        uint32_t unit = m->units[at];
        if (unit >> 31) {
            if ((int64_t)(unit & 0x7FFFFFFF) >= m->n_replacement_bytes) {
                return broken(error, "a replacement of the charsmap lies outside it");
            }
            continue;
        }
        uint32_t base = charsmap_base(at, unit);
        if ((int64_t)(base | 0xFF) >= m->n_units) return broken(error, "the charsmap's trie leads outside it");
        if (charsmap_has_leaf(unit) && !(m->units[base] >> 31)) {
            return broken(error, "a key of the charsmap has no replacement");
        }
    }
    return UNITOK_OK;
}

/* A walk down, depth first, that visits every unit once. */
typedef struct frame {
    uint32_t at;
    uint32_t label; /* the next to look for, 0..256 */
    int32_t height; /* of the highest child so far */
} frame;

#define ON_THE_WAY (-1)

/* The next label, from `label` on, that has a child; 256 if there is none. */
static uint32_t next_label(const charsmap *m, uint32_t base, uint32_t label)
{
    while (label < 256 && (m->units[base ^ label] & 0x800000FF) != label) label++;
    return label;
}

/* Fills heights and inner. Returns 0 if a unit is below itself: a key would have no end. */
static int measure_heights(const charsmap *m, frame *stack, int32_t *heights, uint8_t *inner)
{
    int64_t depth = 1;
    stack[0] = (frame){0, 0, 0};
    heights[0] = ON_THE_WAY;
    while (depth > 0) {
        frame *top = &stack[depth - 1];
        uint32_t base = charsmap_base(top->at, m->units[top->at]), label = next_label(m, base, top->label);
        if (label == 256) {
            int32_t height = heights[top->at] = top->height + 1;
            if (--depth && top[-1].height < height) top[-1].height = height;
            continue;
        }
        uint32_t child = base ^ label;
        top->label = label + 1;
        if (depth > 1) inner[label] = 1;
        if (heights[child] == ON_THE_WAY) return 0;
        if (heights[child]) {
            if (top->height < heights[child]) top->height = heights[child];
        } else {
            heights[child] = ON_THE_WAY;
            stack[depth++] = (frame){child, 0, 0};
        }
    }
    return 1;
}

/* Measures the replacements that keys lead to: lengths[i] is that of the string at i, from the back so that no
 * overlap of strings costs more than once; negative (-1 - length) where it is not whole characters. */
static void measure_replacements(charsmap *m, const int32_t *heights, int32_t *lengths)
{
    for (int64_t i = m->n_replacement_bytes - 1; i >= 0; i--) {
        const uint8_t *p = m->replacements + i;
        int32_t next = *p ? lengths[i + 1] : 0, length = next < 0 ? -1 - next : next;
        int n = *p ? utf8_length(p, m->n_replacement_bytes - i) : 0;
        int is_utf8 = !*p || (n && lengths[i + n] >= 0);
        length += *p != 0;
        lengths[i] = is_utf8 ? length : -1 - length;
    }
    for (uint32_t at = 0; at < m->n_units; at++) {
        if (!heights[at] || !charsmap_has_leaf(m->units[at])) continue;
        int32_t length = lengths[m->units[charsmap_base(at, m->units[at])] & 0x7FFFFFFF];
        if (length < 0) m->is_utf8 = 0;
        if (length < 0) length = -1 - length;
        if (length > m->max_replacement_bytes) m->max_replacement_bytes = length;
    }
}

int32_t charsmap_open(const uint8_t *blob, int64_t n_bytes, int32_t *heights, uint8_t *inner, charsmap *ret,
                      unitok_error *error)
{
    charsmap m = {.is_utf8 = 1};
    int32_t status = take_apart(blob, n_bytes, &m, error);
    if (!status) status = check_units(&m, error);
    if (status) return status;
    frame *stack = mem_alloc((size_t)m.n_units * sizeof *stack);
    int32_t *lengths = mem_alloc((size_t)m.n_replacement_bytes * sizeof *lengths);
    memset(heights, 0, (size_t)m.n_units * sizeof *heights);
    if (!stack || !lengths) {
        status = fail_memory(error);
    } else if (!measure_heights(&m, stack, heights, inner)) {
        status = broken(error, "the charsmap's trie runs in a circle");
    } else {
        measure_replacements(&m, heights, lengths);
        m.max_key_bytes = heights[0] - 1;
        *ret = m;
    }
    mem_free(lengths);
    mem_free(stack);
    return status;
}
