/* hat_walk.c - lists the keys of a HAT-trie in byte order, in batches; containers are sorted as the
 * walk reaches them
 *
 *   path      "the"  " the quick"          the prefixes of the branches on the stack, concatenated
 *   stack     root -> branch -> branch     each with the child to visit next, and where its prefix ends in the path
 *   items     the keys of the current container, sorted; each key continues the path of the top branch
 *
 * The walk advances only after it has returned a key: if a key does not fit or an allocation fails,
 * it stays where it was and can continue. The trie itself is not modified. */

#include "structures/hat.h"

#include "ground/error.h"
#include "ground/grow.h"

#define BEFORE_VALUE (-1) /* the branch's own key comes first, then its children */
#define NO_MORE 256

struct frame {
    const struct branch *branch;
    size_t n_path_bytes; /* the size of the path, including this branch's prefix */
    int next;            /* the child to visit next, 0..255; or BEFORE_VALUE, NO_MORE */
};

struct unitok_hat_walk {
    struct frame *stack;
    size_t n_frames;
    int64_t stack_capacity;
    uint8_t *path;
    int64_t path_capacity;
    struct array_item *items; /* [0..2 * items_capacity-1]: sorting needs the second half */
    size_t next_item, n_items;
    int64_t items_capacity;
};

/* Enters a branch: its prefix continues the path. Returns 0, with nothing changed but
 * capacities, if an allocation fails. */
static int push(unitok_hat_walk *walk, const struct branch *branch)
{
    size_t n_above = walk->n_frames ? walk->stack[walk->n_frames - 1].n_path_bytes : 0;
    struct frame frame = {branch, n_above + branch->n_prefix_bytes, BEFORE_VALUE};
    if (!grow(&walk->stack, (int64_t)walk->n_frames, &walk->stack_capacity, sizeof frame) ||
        !grow(&walk->path, (int64_t)frame.n_path_bytes, &walk->path_capacity, 1))
        return 0;
    if (branch->n_prefix_bytes)
        memcpy(walk->path + n_above, branch->prefix, branch->n_prefix_bytes);
    walk->stack[walk->n_frames++] = frame;
    return 1;
}

/* Loads and sorts the keys of a container that begin with prefix[0..n_bytes-1]. */
static int enter_container(unitok_hat_walk *walk, const struct array_hash *container,
                           const uint8_t *prefix, size_t n_bytes)
{
    size_t n_items = 0;
    if (!grow(&walk->items, (int64_t)container->n_keys, &walk->items_capacity,
              2 * sizeof *walk->items))
        return 0;
    array_hash_items(container, walk->items);
    for (size_t i = 0; i < container->n_keys; i++) {
        const struct array_item *item = &walk->items[i];
        if (n_bytes && (item->n_bytes < n_bytes || memcmp(item->key, prefix, n_bytes) != 0))
            continue;
        walk->items[n_items++] = *item;
    }
    if (n_items) array_items_sort(walk->items, walk->items + n_items, n_items);
    walk->n_items = n_items;
    walk->next_item = 0;
    return 1;
}

/* Restricts the walk to the top branch and everything below it. The path keeps the prefixes of the
 * branches above. */
static void begin_at_top(unitok_hat_walk *walk, int next)
{
    walk->stack[0] = walk->stack[walk->n_frames - 1];
    walk->stack[0].next = next;
    walk->n_frames = 1;
}

/* Descends to the subtree of all keys with the prefix, or leaves the stack empty if there are none.
 * The prefix can end inside a branch's own prefix, or inside the keys of a container; then only the
 * matching keys of that container are listed. Returns 0 if an allocation fails. */
static int seek(unitok_hat_walk *walk, const struct branch *branch, const uint8_t *prefix,
                size_t n_bytes)
{
    for (;;) {
        size_t n = branch->n_prefix_bytes < n_bytes ? branch->n_prefix_bytes : n_bytes;
        const struct node *child;
        if (n && memcmp(branch->prefix, prefix, n) != 0) break;
        if (!push(walk, branch)) return 0;
        if (n == n_bytes) {
            begin_at_top(walk, BEFORE_VALUE);
            return 1;
        }
        prefix += n;
        n_bytes -= n;
        child = branch->children[*prefix];
        if (!child) break;
        if (!child->is_branch) {
            begin_at_top(walk, NO_MORE);
            return enter_container(walk, as_container(child), prefix, n_bytes);
        }
        branch = as_branch(child);
    }
    walk->n_frames = 0;
    return 1;
}

/* The walk begins at the subtree of the prefix, so listing the keys with a prefix does not visit
 * any others. */
int32_t unitok_hat_walk_new(const unitok_hat *hat, const uint8_t *prefix, int64_t n_prefix_bytes,
                            unitok_hat_walk **ret, unitok_error *error)
{
    unitok_hat_walk *walk;
    if (n_prefix_bytes < 0)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the prefix has a negative length");
    walk = mem_zalloc(1, sizeof *walk);
    if (!walk) return fail_memory(error);
    if (!seek(walk, hat->root, prefix, (size_t)n_prefix_bytes)) {
        unitok_hat_walk_free(walk);
        return fail_memory(error);
    }
    *ret = walk;
    return UNITOK_OK;
}

void unitok_hat_walk_free(unitok_hat_walk *walk)
{
    if (!walk) return;
    mem_free(walk->stack);
    mem_free(walk->path);
    mem_free(walk->items);
    mem_free(walk);
}

/* Advances to the next key. Returns 1 if there is one, 0 at the end, -2 if an allocation fails;
 * it can then be called again.
 *
 * Keys are listed in byte order: the key of a branch is a prefix of all keys below it, so it comes
 * first; then come the children, whose ranges of bytes ascend. A container for several bytes is
 * visited once. */
static int find_next(unitok_hat_walk *walk)
{
    while (walk->next_item == walk->n_items && walk->n_frames) {
        struct frame *top = &walk->stack[walk->n_frames - 1];
        const struct node *child;
        if (top->next == BEFORE_VALUE) {
            if (top->branch->has_value) return 1;
            top->next = 0;
        }
        while (top->next < NO_MORE && !top->branch->children[top->next]) top->next++;
        if (top->next == NO_MORE) {
            walk->n_frames--;
            continue;
        }
        child = top->branch->children[top->next];
        if (child->is_branch) {
            if (!push(walk, as_branch(child))) return -2;
            walk->stack[walk->n_frames - 2].next++; /* push may have moved the stack */
        } else {
            if (!enter_container(walk, as_container(child), NULL, 0)) return -2;
            top->next = child->high + 1;
        }
    }
    return walk->next_item < walk->n_items;
}

/* Returns the value of the key that find_next has reached, and the key itself in two parts: path
 * and rest. */
static int64_t current_key(const unitok_hat_walk *walk, size_t *n_path_bytes, const uint8_t **rest,
                           size_t *n_rest)
{
    const struct frame *top = &walk->stack[walk->n_frames - 1];
    const struct array_item *item;
    *n_path_bytes = top->n_path_bytes;
    *n_rest = 0;
    *rest = NULL;
    if (walk->next_item == walk->n_items) return top->branch->value;
    item = &walk->items[walk->next_item];
    *rest = item->key;
    *n_rest = item->n_bytes;
    return load_i64(item->key + item->n_bytes);
}

/* A key is copied in two parts: the prefixes on the path, and the rest from its container. */
int64_t unitok_hat_walk_next(unitok_hat_walk *walk, uint8_t *data, int64_t capacity,
                             int64_t *offsets, int64_t *values, int64_t max_keys)
{
    int64_t n_keys = 0, used = 0;
    offsets[0] = 0;
    while (n_keys < max_keys) {
        size_t n_path, n_rest;
        const uint8_t *rest;
        int state = find_next(walk);
        if (state <= 0) return n_keys ? n_keys : state;
        values[n_keys] = current_key(walk, &n_path, &rest, &n_rest);
        if ((int64_t)(n_path + n_rest) > capacity - used) return n_keys ? n_keys : -1;
        if (n_path) memcpy(data + used, walk->path, n_path);
        if (n_rest) memcpy(data + used + n_path, rest, n_rest);
        used += (int64_t)(n_path + n_rest);
        offsets[++n_keys] = used;
        if (rest) walk->next_item++;
        else walk->stack[walk->n_frames - 1].next = 0;
    }
    return n_keys;
}
