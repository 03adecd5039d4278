/* hat.c - insertion into the growable HAT-trie, and the search for the longest key that is a prefix
 * of a text; hat.h shows the layout, hat_walk.c lists the keys, hat_burst.c divides full
 * containers */

#include "structures/hat.h"

#include "ground/alloc.h"
#include "ground/error.h"

/* ---------------------------------------------------------------------- Making and freeing ---- */

/* Returns a new branch without children, value or keys, or NULL if an allocation fails. */
struct branch *hat_branch_new(const uint8_t *prefix, size_t n_bytes)
{
    struct branch *branch = mem_zalloc(1, sizeof *branch + n_bytes);
    if (!branch) return NULL;
    branch->node.is_branch = 1;
    branch->n_prefix_bytes = (uint32_t)n_bytes;
    if (n_bytes) memcpy(branch->prefix, prefix, n_bytes);
    return branch;
}

int32_t unitok_hat_new(unitok_hat **ret, unitok_error *error)
{
    unitok_hat *hat = mem_zalloc(1, sizeof *hat);
    if (!hat) return fail_memory(error);
    hat->root = hat_branch_new(NULL, 0);
    if (!hat->root) {
        mem_free(hat);
        return fail_memory(error);
    }
    hat->memory_bytes = (int64_t)(sizeof *hat + branch_bytes(hat->root));
    *ret = hat;
    return UNITOK_OK;
}

/* Branches that remain to be freed form a linked list through their own fields, so freeing needs
 * neither memory nor recursion. */
void unitok_hat_free(unitok_hat *hat)
{
    struct branch *waiting = hat ? hat->root : NULL;
    while (waiting) {
        struct branch *branch = waiting;
        waiting = branch->next_to_free;
        for (int i = 0; i < 256; i++) {
            struct node *child = branch->children[i];
            if (!child) continue;
            if (child->is_branch) {
                as_branch(child)->next_to_free = waiting;
                waiting = as_branch(child);
                continue;
            }
            i = child->high;
            array_hash_free(as_container(child));
        }
        mem_free(branch);
    }
    mem_free(hat);
}

int64_t unitok_hat_count(const unitok_hat *hat) { return hat->n_keys; }

int64_t unitok_hat_memory_bytes(const unitok_hat *hat) { return hat->memory_bytes; }

/* A container stores its own range, so that all entries of children[] that point to it can be
 * replaced. */
void hat_put_container(unitok_hat *hat, struct branch *parent, int low, int high,
                       struct array_hash *container)
{
    set_children(parent, low, high, NULL);
    if (!container) return;
    container->node.low = (uint8_t)low;
    container->node.high = (uint8_t)high;
    set_children(parent, low, high, &container->node);
    hat->memory_bytes += (int64_t)container->memory_bytes;
}

/* ------------------------------------------------------------------------------ Going down ---- */

/* Returns whether the text begins with the branch's prefix. The first byte is not compared, because
 * it led to the branch; most prefixes have no other byte. The root's prefix is empty. */
INLINE int prefix_matches(const struct branch *branch, const uint8_t *text, size_t n_bytes)
{
    size_t n = branch->n_prefix_bytes;
    return n <= n_bytes && (n <= 1 || memcmp(branch->prefix + 1, text + 1, n - 1) == 0);
}

/* Returns the lowest branch on the path of the key, and stores in *at how many of the key's bytes
 * the branches hold. Returns NULL if the key differs from a prefix or is too long to be a key. The
 * rest of the key, from key[*at] on, is what the container below that branch stores. */
static struct branch *find_branch(const unitok_hat *hat, const uint8_t *key, size_t n_bytes,
                                  size_t *at)
{
    struct branch *branch = hat->root;
    size_t used = 0;
    /* also true of a negative length, converted to size_t */
    if (n_bytes > UNITOK_HAT_KEY_MAX_BYTES) return NULL;
    for (;;) {
        struct node *child;
        if (!prefix_matches(branch, key + used, n_bytes - used)) return NULL;
        used += branch->n_prefix_bytes;
        *at = used;
        if (used == n_bytes) return branch;
        child = branch->children[key[used]];
        if (!child || !child->is_branch) return branch;
        branch = as_branch(child);
    }
}

/* In a large trie a key costs two cache misses: one for its slot, one for the slot's array. The
 * misses of a group of keys can overlap: all slots are prefetched, then all arrays, and then the
 * keys are looked up. In a trie of 130 MB, a third more keys are handled per second; in a trie that
 * fits in the cache, prefetching costs 2 ns per key. */
#define GROUP_KEYS 16

/* Called before each key i of a batch; does nothing except at the first key of each group. */
static void prefetch_group(const unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                           int64_t i, int64_t n_keys)
{
    const struct slot *slots[GROUP_KEYS];
    int64_t end = n_keys - i < GROUP_KEYS ? n_keys : i + GROUP_KEYS;
    int n_slots = 0;
    if (i % GROUP_KEYS != 0) return;
    for (; i < end; i++) {
        size_t at, n_bytes = (size_t)(offsets[i + 1] - offsets[i]);
        const uint8_t *key = data + offsets[i];
        const struct branch *branch = find_branch(hat, key, n_bytes, &at);
        const struct array_hash *container;
        if (!branch || at == n_bytes || !branch->children[key[at]]) continue;
        container = as_container(branch->children[key[at]]);
        slots[n_slots] =
            &container->slots[array_hash_slot(container, array_hash_of(key + at, n_bytes - at))];
        PREFETCH(slots[n_slots]);
        n_slots++;
    }
    for (int k = 0; k < n_slots; k++) PREFETCH(slots[k]->bytes);
}

/* ------------------------------------------------------------------------------- Inserting ---- */

/* Splits a branch's prefix after its first `common` bytes: one branch gets these, and another
 * branch below it gets the rest.
 *
 *     parent -> "abcd"            parent -> "ab" -> "cd"       common = 2
 *
 * Returns the upper branch. If allocation fails it returns NULL and nothing has changed. */
static struct branch *split_prefix(unitok_hat *hat, struct branch *parent, struct branch *branch,
                                   size_t common)
{
    struct branch *above = hat_branch_new(branch->prefix, common);
    struct branch *below = hat_branch_new(branch->prefix + common, branch->n_prefix_bytes - common);
    if (!above || !below) {
        mem_free(above);
        mem_free(below);
        return NULL;
    }
    below->has_value = branch->has_value;
    below->value = branch->value;
    memcpy(below->children, branch->children, sizeof below->children);
    above->children[below->prefix[0]] = &below->node;
    /* never the root, whose prefix is empty */
    parent->children[above->prefix[0]] = &above->node;
    hat->memory_bytes += (int64_t)(branch_bytes(above) + branch_bytes(below)) -
                         (int64_t)branch_bytes(branch);
    mem_free(branch);
    return above;
}

/* Adds a container with this key, for its first byte and all neighbouring bytes that have no
 * child.
 *
 *     children[]     NULL NULL NULL NULL cont         a key that begins with 02
 *     children[]      new  new  new  new cont
 *
 * So a sparse branch has few containers, and each can fill up before it is divided. */
static int add_container(unitok_hat *hat, struct branch *parent, const uint8_t *key, size_t n_bytes,
                         int64_t value)
{
    struct array_hash *container = array_hash_build(NULL, 0);
    int low = key[0], high = key[0];
    if (!container) return 0;
    if (!array_hash_add(&container, key, n_bytes, array_hash_of(key, n_bytes), value)) {
        array_hash_free(container);
        return 0;
    }
    while (low > 0 && !parent->children[low - 1]) low--;
    while (high < 255 && !parent->children[high + 1]) high++;
    hat_put_container(hat, parent, low, high, container);
    return 1;
}

/* Changes the value of a key that already exists: UNITOK_HAT_SET replaces it, UNITOK_HAT_ADD adds
 * to it (wrapping around, because signed overflow would be undefined), and UNITOK_HAT_UNIQUE
 * fails. */
static int32_t change_value(int64_t *stored, int64_t value, int32_t mode)
{
    if (mode == UNITOK_HAT_UNIQUE) return UNITOK_ERROR_ARGUMENT;
    *stored = mode == UNITOK_HAT_SET ? value : (int64_t)((uint64_t)*stored + (uint64_t)value);
    return UNITOK_OK;
}

/* Descends to the branch whose child will hold the rest of the key, and splits a prefix where the
 * key differs from it. *at is the number of the key's bytes that the branches hold. Returns NULL if
 * an allocation fails. */
static struct branch *descend(unitok_hat *hat, const uint8_t *key, size_t n_bytes, size_t *at)
{
    struct branch *parent = NULL, *branch = hat->root;
    size_t used = 0;
    for (;;) {
        size_t left = n_bytes - used, n_prefix = branch->n_prefix_bytes;
        size_t common = n_prefix ? common_bytes(branch->prefix, key + used,
                                                left < n_prefix ? left : n_prefix)
                                 : 0;
        used += common;
        *at = used;
        if (common < n_prefix) return split_prefix(hat, parent, branch, common);
        if (used == n_bytes || !branch->children[key[used]] ||
            !branch->children[key[used]]->is_branch)
            return branch;
        parent = branch;
        branch = as_branch(branch->children[key[used]]);
    }
}

/* Sets the value of the key that ends at a branch. */
static int32_t insert_at_branch(unitok_hat *hat, struct branch *branch, int64_t value, int32_t mode)
{
    if (branch->has_value) return change_value(&branch->value, value, mode);
    branch->has_value = 1;
    branch->value = value;
    hat->n_keys++;
    return UNITOK_OK;
}

/* Adds the key to a container that does not contain it and is not full. */
static int add_to_container(unitok_hat *hat, struct branch *parent, struct array_hash *container,
                            const uint8_t *key, size_t n_bytes, uint64_t hash, int64_t value)
{
    struct array_hash *moved = container;
    size_t memory_before = container->memory_bytes;
    int done = array_hash_add(&moved, key, n_bytes, hash, value);
    if (moved != container) set_children(parent, moved->node.low, moved->node.high, &moved->node);
    hat->memory_bytes += (int64_t)moved->memory_bytes - (int64_t)memory_before;
    return done;
}

/* 1. Descend to a branch. If the key ends there, set the branch's value.
 * 2. If there is no child, add a container for the key.
 * 3. If the container has the key, change its value.
 * 4. If the container is full, burst it and descend again. Each burst separates keys, so this ends.
 * 5. Otherwise add the key to the container. */
static int32_t insert_key(unitok_hat *hat, const uint8_t *key, size_t n_bytes, int64_t value,
                          int32_t mode)
{
    for (;;) {
        size_t at;
        struct branch *branch = descend(hat, key, n_bytes, &at);
        struct array_hash *container;
        uint64_t hash;
        uint8_t *stored;
        int done;
        if (!branch) return UNITOK_ERROR_MEMORY;
        if (at == n_bytes) return insert_at_branch(hat, branch, value, mode);
        container = as_container(branch->children[key[at]]);
        if (!container) {
            done = add_container(hat, branch, key + at, n_bytes - at, value);
            hat->n_keys += done;
            return done ? UNITOK_OK : UNITOK_ERROR_MEMORY;
        }
        hash = array_hash_of(key + at, n_bytes - at);
        stored = array_hash_find(container, key + at, n_bytes - at, hash);
        if (stored) {
            int64_t changed = load_i64(stored);
            int32_t status = change_value(&changed, value, mode);
            memcpy(stored, &changed, sizeof changed);
            return status;
        }
        if (!hat_is_full(container)) {
            done = add_to_container(hat, branch, container, key + at, n_bytes - at, hash, value);
            hat->n_keys += done;
            return done ? UNITOK_OK : UNITOK_ERROR_MEMORY;
        }
        if (!hat_burst(hat, branch, container)) return UNITOK_ERROR_MEMORY;
    }
}

int32_t unitok_hat_insert(unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                          const int64_t *values, int64_t n_keys, int32_t mode, unitok_error *error)
{
    if (mode < UNITOK_HAT_SET || mode > UNITOK_HAT_UNIQUE) {
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "mode is not a value of enum unitok_hat_mode");
    }
    for (int64_t i = 0; i < n_keys; i++) {
        int64_t n_bytes = offsets[i + 1] - offsets[i];
        int32_t status;
        prefetch_group(hat, data, offsets, i, n_keys);
        if (n_bytes < 0 || n_bytes > UNITOK_HAT_KEY_MAX_BYTES) {
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1,
                        "the length of a key is not in 0..1048576");
        }
        status = insert_key(hat, data + offsets[i], (size_t)n_bytes, values[i], mode);
        if (status == UNITOK_ERROR_ARGUMENT)
            return fail(error, status, i, -1, "the key is already in the trie");
        if (status != UNITOK_OK) return fail(error, status, i, -1, "not enough memory for the key");
    }
    return UNITOK_OK;
}

/* Descends as far as the text matches, and remembers the last branch with a value: its key is
 * longer than the keys of all branches above it. A container ends the descent; any key found in the
 * container is longer still. */
int64_t unitok_hat_longest_prefix(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes,
                                  int64_t *ret_value)
{
    const struct branch *branch = hat->root;
    size_t used = 0, end = (size_t)n_bytes, n;
    int64_t best = -1, value = 0;
    while (prefix_matches(branch, text + used, end - used)) {
        const struct node *child;
        used += branch->n_prefix_bytes;
        if (branch->has_value) {
            best = (int64_t)used;
            value = branch->value;
        }
        if (used == end) break;
        child = branch->children[text[used]];
        if (!child) break;
        if (!child->is_branch) {
            n = array_hash_longest_prefix(as_container(child), text + used, end - used, &value);
            if (n) best = (int64_t)(used + n);
            break;
        }
        branch = as_branch(child);
    }
    if (best >= 0) *ret_value = value;
    return best;
}
