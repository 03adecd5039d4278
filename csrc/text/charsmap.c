/* charsmap.c - checks and measures a precompiled_charsmap before it is used
 *
 * Charsmaps come from model files, which may be damaged or hostile. After charsmap_open, a walk
 * (charsmap_match) needs no check: every step stays in the array, every key ends after at most
 * max_key_bytes, and every replacement ends with NUL inside the blob. In order:
 *
 *     take_apart              the three parts and their sizes
 *     check_units             every offset, and the replacement of every key; lists the edges
 *     measure_replacements    the lengths of all suffixes of the replacements; are they UTF-8?
 *     measure_keys            the longest key and replacement; finds cycles
 *     list_useful             if measure_keys fails: lists only branches with keys, and measures again
 *
 * Each step takes O(n_bytes), although the units form a graph with perhaps exponentially many
 * paths: whatever is computed for a base is computed once. */

#include "text/charsmap.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/utf8.h"

static int32_t broken(unitok_error *error, const char *message)
{
    return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, message);
}

/* Divides the blob into its three parts. */
static int32_t take_apart(const uint8_t *blob, int64_t n_bytes, charsmap *ret, unitok_error *error)
{
    if (n_bytes <= 4) return broken(error, "the charsmap is truncated");
    int64_t n_trie_bytes = load_u32(blob);
    if (n_bytes > INT32_MAX) return broken(error, "the charsmap is larger than 2 GiB");
    if (n_trie_bytes >= n_bytes - 4)
        return broken(error, "the charsmap's trie is larger than the charsmap");
    if (n_trie_bytes < 1024 || n_trie_bytes % 1024) {
        return broken(error, "the size of the charsmap's trie is not a multiple of 1024");
    }
    ret->units = (const uint32_t *)(const void *)(blob + 4);
    ret->n_units = n_trie_bytes / 4;
    ret->replacements = blob + 4 + n_trie_bytes;
    ret->n_replacement_bytes = n_bytes - 4 - n_trie_bytes;
    if (ret->replacements[ret->n_replacement_bytes - 1]) {
        return broken(error, "the charsmap's last replacement does not end with NUL");
    }
    return UNITOK_OK;
}

/* Returns the base whose children include the unit `at`. */
INLINE uint32_t base_above(const charsmap *m, uint32_t at) { return at ^ (m->units[at] & 0xFF); }

/* Adds a unit at the front of the list of its base. Callers add units in ascending order. */
INLINE void list_child(const charsmap *m, uint32_t at, charsmap_tree *tree)
{
    uint32_t above = base_above(m, at);
    tree->next[at] = tree->first[above];
    tree->first[above] = at;
}

/* Checks that every offset stays inside the array and that every unit with `leaf` has a
 * replacement, even where no walk reaches the unit, because sentencepiece checks those units too.
 * Also lists the children of every base. */
static int32_t check_units(const charsmap *m, charsmap_tree *tree, unitok_error *error)
{
    uint32_t root = m->units[0];
    if (root & 0x800001FF || charsmap_base(0, root) == 0)
        return broken(error, "the root of the charsmap's trie is invalid");
    for (uint32_t at = 0; at < m->n_units; at++) {
        uint32_t unit = m->units[at];
        if (unit >> 31) {
            if ((int64_t)(unit & 0x7FFFFFFF) >= m->n_replacement_bytes) {
                return broken(error, "the charsmap refers to a replacement outside the charsmap");
            }
            continue;
        }
        uint32_t base = charsmap_base(at, unit);
        if ((int64_t)(base | 0xFF) >= m->n_units)
            return broken(error, "the charsmap's trie points outside itself");
        if (charsmap_has_leaf(unit) && !(m->units[base] >> 31)) {
            return broken(error, "a key of the charsmap has no replacement");
        }
        if (at) list_child(m, at, tree);
    }
    return UNITOK_OK;
}

/* ----------------------------------------------------------------------------------- Edges ---- */

INLINE int is_replacement(const charsmap *m, uint32_t at) { return m->units[at] >> 31; }

void charsmap_tree_free(charsmap_tree *tree)
{
    mem_free(tree->first);
    memset(tree, 0, sizeof *tree);
}

/* -------------------------------------------------------------------------------- Measures ---- */

/* Sets lengths[i] to the length of the replacement at i, or to -1 - length if the replacement does
 * not consist of complete characters.
 *
 *     bytes      c  a  f  C3 A9 00            replacements may share their ends
 *     lengths    5  4  3  2  -2 0             at A9 the string begins inside a character
 *
 * Works backwards, so that overlapping replacements are read once. */
static void measure_replacements(const charsmap *m, int32_t *lengths)
{
    for (int64_t i = m->n_replacement_bytes - 1; i >= 0; i--) {
        const uint8_t *p = m->replacements + i;
        int32_t next = *p ? lengths[i + 1] : 0, length = next < 0 ? -1 - next : next;
        int n = *p ? utf8_length(p, m->n_replacement_bytes - i) : 0;
        int is_utf8 = !*p || (n && lengths[i + n] >= 0);
        length += *p != 0;
        lengths[i] = is_utf8 ? length : -1 - length;
    }
}

/* Records that a key has a replacement of this length, which is encoded as in
 * measure_replacements. */
INLINE void count_replacement(charsmap *m, int32_t length)
{
    if (length < 0) m->is_utf8 = 0;
    if (length < 0) length = -1 - length;
    if (length > m->max_replacement_bytes) m->max_replacement_bytes = length;
}

/* A depth-first walk that visits every base once, and therefore every unit below the root. */
typedef struct frame {
    uint32_t base;
    uint32_t child; /* the next child to visit; 0: none */
    int32_t height; /* the height of the highest child so far */
} frame;

#define ON_THE_WAY (-1)

/* Fills heights, inner, and the fields of *m that describe keys and replacements. Returns 0 if the
 * trie contains a cycle, or a branch that does not lead to a key. A base on the stack is
 * ON_THE_WAY; meeting it again is a cycle. A base whose height is known has been visited and is not
 * entered again, so the stack never exceeds the number of bases. */
static int measure_keys(charsmap *m, charsmap_tree *tree, const int32_t *lengths, frame *stack,
                        uint8_t *inner)
{
    uint32_t root = charsmap_base(0, m->units[0]);
    int64_t depth = 1;
    stack[0] = (frame){root, tree->first[root], 0};
    tree->heights[root] = ON_THE_WAY;
    m->is_utf8 = 1;
    m->max_replacement_bytes = 0;
    while (depth > 0) {
        frame *top = &stack[depth - 1];
        uint32_t at = top->child;
        if (!at) {
            tree->heights[top->base] = top->height;
            if (--depth && top[-1].height < top->height + 1) top[-1].height = top->height + 1;
            continue;
        }
        uint32_t unit = m->units[at], base = charsmap_base(at, unit);
        top->child = tree->next[at];
        if (charsmap_has_leaf(unit)) count_replacement(m, lengths[m->units[base] & 0x7FFFFFFF]);
        else if (!tree->first[base]) return 0;
        if (depth > 1) inner[unit & 0xFF] = 1;
        if (top->height < 1) top->height = 1;
        if (tree->heights[base] == ON_THE_WAY) return 0;
        if (tree->heights[base]) {
            if (top->height < tree->heights[base] + 1) top->height = tree->heights[base] + 1;
        } else if (tree->first[base]) {
            tree->heights[base] = ON_THE_WAY;
            stack[depth++] = (frame){base, tree->first[base], 0};
        }
    }
    m->max_key_bytes = tree->heights[root];
    return 1;
}

/* ------------------------------------------------------------------------ Useless branches ---- */

/* Marks in is_useful, from the leaves upwards, the bases from which a key can be reached. owners
 * and others list the units of each base, as 1 + the unit; queue has capacity for every base. The
 * root is not listed as a child of any base: no key passes through it again, although a NUL in a
 * text may lead there. */
static void mark_useful(const charsmap *m, uint32_t *owners, uint32_t *others, uint32_t *queue,
                        uint8_t *is_useful)
{
    int64_t n_queued = 0;
    for (uint32_t at = (uint32_t)m->n_units; at-- > 0;) {
        if (is_replacement(m, at)) continue;
        uint32_t base = charsmap_base(at, m->units[at]), above = base_above(m, at);
        others[at] = owners[base];
        owners[base] = at + 1;
        if (at == 0 || !charsmap_has_leaf(m->units[at]) || is_useful[above]) continue;
        is_useful[above] = 1;
        queue[n_queued++] = above;
    }
    while (n_queued > 0) {
        for (uint32_t at = owners[queue[--n_queued]]; at; at = others[at - 1]) {
            uint32_t above = base_above(m, at - 1);
            if (at == 1 || is_useful[above]) continue;
            is_useful[above] = 1;
            queue[n_queued++] = above;
        }
    }
}

/* Lists the children of every base again, but only those that lead to a key. */
static void list_useful_children(const charsmap *m, const uint8_t *is_useful, charsmap_tree *tree)
{
    for (uint32_t at = 1; at < m->n_units; at++) {
        if (is_replacement(m, at)) continue;
        if (charsmap_has_leaf(m->units[at]) || is_useful[charsmap_base(at, m->units[at])])
            list_child(m, at, tree);
    }
}

/* Lists only the children that lead to a key, so that dead or cyclic branches, through which no key
 * passes, are accepted, as in sentencepiece. Maps written by SentencePiece do not need this.
 * Returns 0 if an allocation fails. */
static int list_useful(const charsmap *m, charsmap_tree *tree)
{
    size_t n = (size_t)m->n_units;
    uint32_t *owners = mem_zalloc(n, sizeof *owners), *others = mem_alloc(n * sizeof *others);
    uint32_t *queue = mem_alloc(n * sizeof *queue);
    uint8_t *is_useful = mem_zalloc(n, 1);
    int ok = owners && others && queue && is_useful;
    if (ok) {
        memset(tree->first, 0, n * sizeof *tree->first);
        memset(tree->heights, 0, n * sizeof *tree->heights);
        mark_useful(m, owners, others, queue, is_useful);
        list_useful_children(m, is_useful, tree);
    }
    mem_free(is_useful);
    mem_free(queue);
    mem_free(others);
    mem_free(owners);
    return ok;
}

/* --------------------------------------------------------------------------------- Opening ---- */

/* Maps written by SentencePiece have no useless branches, and the walk that measures the keys also
 * verifies this. The second walk, after the useless branches have been removed, can fail only
 * because of a cycle that leads to a key, which would make keys infinite. */
static int32_t measure(charsmap *m, charsmap_tree *tree, int32_t *lengths, frame *stack,
                       uint8_t *inner, unitok_error *error)
{
    uint8_t found[256] = {0};
    measure_replacements(m, lengths);
    if (!measure_keys(m, tree, lengths, stack, found)) {
        memset(found, 0, sizeof found);
        if (!list_useful(m, tree)) return fail_memory(error);
        if (!measure_keys(m, tree, lengths, stack, found))
            return broken(error, "the charsmap's trie contains a cycle");
    }
    if (m->max_key_bytes > CHARSMAP_KEY_BYTES_MAX)
        return broken(error, "the charsmap has a key longer than 4096 bytes");
    for (int byte = 0; byte < 256; byte++) inner[byte] |= found[byte];
    return UNITOK_OK;
}

int32_t charsmap_open(const uint8_t *blob, int64_t n_bytes, charsmap_tree *tree, uint8_t *inner,
                      charsmap *ret, unitok_error *error)
{
    charsmap m = {0};
    memset(tree, 0, sizeof *tree);
    int32_t status = take_apart(blob, n_bytes, &m, error);
    if (status) return status;
    /* All arrays are in a single block: malloc would return several blocks to the system and
     * request them again at each opening. */
    size_t n = (size_t)m.n_units, n_lengths = (size_t)m.n_replacement_bytes;
    tree->first = mem_alloc(n * (3 * sizeof(uint32_t) + sizeof(frame)) +
                            n_lengths * sizeof(int32_t));
    if (!tree->first) return fail_memory(error);
    tree->heights = (int32_t *)(tree->first + n);
    tree->next = (uint32_t *)(tree->heights + n);
    frame *stack = (frame *)(tree->next + n);
    int32_t *lengths = (int32_t *)(stack + n);
    memset(tree->first, 0, 2 * n * sizeof *tree->first); /* also clears `heights` */
    status = check_units(&m, tree, error);
    if (!status) status = measure(&m, tree, lengths, stack, inner, error);
    if (!status) *ret = m;
    return status;
}
