/* hat_burst.c - divides a full container of the HAT-trie by first bytes, or replaces it with a
 * branch */

#include "structures/hat.h"

#include "ground/alloc.h"

/* Counting sort by first byte: items that begin with byte b go to sorted[starts[b]..starts[b +
 * 1]). */
static void sort_by_byte(const struct array_item *items, size_t n_items, struct array_item *sorted,
                         size_t *starts)
{
    size_t next[256];
    memset(starts, 0, 257 * sizeof *starts);
    for (size_t i = 0; i < n_items; i++) starts[items[i].key[0] + 1]++;
    for (int b = 0; b < 256; b++) starts[b + 1] += starts[b];
    memcpy(next, starts, sizeof next);
    for (size_t i = 0; i < n_items; i++) sorted[next[items[i].key[0]]++] = items[i];
}

/* Returns the last byte of the range that begins at `low`: the longest one whose keys fill at most
 * half a container, or `low` alone. The limit is half a container, because a nearly full one would
 * soon be burst again. */
static int range_end(const struct array_item *sorted, const size_t *starts, int low, int high)
{
    size_t n_bytes = 0;
    for (int b = low; b <= high; b++) {
        for (size_t i = starts[b]; i < starts[b + 1]; i++) n_bytes += sorted[i].n_bytes;
        if (b == low) continue;
        if (starts[b + 1] - starts[low] > CONTAINER_KEYS_MAX / 2 ||
            n_bytes > CONTAINER_BYTES_MAX / 2)
            return b - 1;
    }
    return high;
}

/* Fills children[low..high] of the parent, whose old values are no longer needed, with containers
 * of the items, and with NULL for bytes that begin no key.
 *
 *     items sorted by first byte     a a a b c c | d d d d d d | f
 *     containers                     children[a..c] children[d] children[e..high]
 *
 * All containers are built before the first is stored: if an allocation fails, this returns 0
 * and changes nothing. `sorted` is scratch for n_items. */
static int distribute(unitok_hat *hat, struct branch *parent, int low, int high,
                      struct array_item *items, size_t n_items, struct array_item *sorted)
{
    struct array_hash *made[256];
    size_t starts[257];
    int n_made = 0, ends[256];
    sort_by_byte(items, n_items, sorted, starts);
    for (int b = low; b <= high; b = ends[n_made++] + 1) {
        size_t n;
        ends[n_made] = range_end(sorted, starts, b, high);
        n = starts[ends[n_made] + 1] - starts[b];
        made[n_made] = n ? array_hash_build(sorted + starts[b], n) : NULL;
        if (n && !made[n_made]) {
            while (n_made--) array_hash_free(made[n_made]);
            return 0;
        }
    }
    for (int i = 0; i < n_made; i++) {
        hat_put_container(hat, parent, low, ends[i], made[i]);
        low = ends[i] + 1;
    }
    return 1;
}

/* Builds a branch from items that share their first byte. Its prefix is their longest common
 * prefix. */
static struct branch *branch_of(unitok_hat *hat, struct array_item *items, size_t n_items,
                                struct array_item *buffer)
{
    struct branch *branch;
    size_t shared = items[0].n_bytes, n_left = 0;
    for (size_t i = 1; i < n_items; i++) {
        size_t n = items[i].n_bytes < shared ? items[i].n_bytes : shared;
        shared = common_bytes(items[0].key, items[i].key, n);
    }
    branch = hat_branch_new(items[0].key, shared);
    if (!branch) return NULL;
    for (size_t i = 0; i < n_items; i++) {
        struct array_item rest = {items[i].key + shared, 0, items[i].n_bytes - (uint32_t)shared, 0};
        if (rest.n_bytes) {
            items[n_left++] = rest;
        } else {
            branch->has_value = 1;
            branch->value = load_i64(rest.key);
        }
    }
    if (!distribute(hat, branch, 0, 255, items, n_left, buffer)) {
        mem_free(branch);
        return NULL;
    }
    hat->memory_bytes += (int64_t)branch_bytes(branch);
    return branch;
}

/* Two cases. If the keys have different first bytes, containers for ranges of first bytes replace
 * the full one. If all keys have the same first byte, the range cannot be divided: a branch
 * replaces the container. Its prefix is the longest common prefix of the keys, so the keys are
 * divided by the byte after that.
 *
 *     container { " cat", " cow", " dog" }      ->     branch " " -> containers { "cat", "cow" } { "dog" }
 *
 * The items point into the old container, so it is freed last. */
int hat_burst(unitok_hat *hat, struct branch *parent, struct array_hash *full)
{
    size_t n_keys = full->n_keys;
    int low = full->node.low, high = full->node.high, done;
    /* the second half is scratch for sorting */
    struct array_item *items = mem_alloc(2 * n_keys * sizeof *items);
    size_t n_same = 1;
    if (!items) return 0;
    array_hash_items(full, items);
    while (n_same < n_keys && items[n_same].key[0] == items[0].key[0]) n_same++;
    if (n_same < n_keys) {
        done = distribute(hat, parent, low, high, items, n_keys, items + n_keys);
    } else {
        struct branch *branch = branch_of(hat, items, n_keys, items + n_keys);
        done = branch != NULL;
        if (done) {
            set_children(parent, low, high, NULL);
            parent->children[branch->prefix[0]] = &branch->node;
        }
    }
    if (done) {
        hat->memory_bytes -= (int64_t)full->memory_bytes;
        array_hash_free(full);
    }
    mem_free(items);
    return done;
}
