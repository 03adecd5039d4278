/* hat.h - internals of the HAT-trie: its branches, for the files that insert, look up, burst and
 * walk
 *
 *   root          branch, prefix "", value of the key ""
 *    |            children[256], one for each next byte:
 *    |
 *    +- 00..1F -> container              hybrid: several bytes share one array hash; the keys include the byte
 *    +- 20     -> branch " the"          all keys below begin with " the"; holds the value of the key " the"
 *    |             +- 20..6D -> container { " cat", " dog", "m" }
 *    |             +- 6E     -> container { "n", "nce" }              pure: one byte of its own
 *    |             +- 6F..FF -> NULL
 *    +- 21..FF -> container
 *
 * Rules that hold between calls
 *   - The part of a key that a child stores begins with the byte that leads to the child. So the prefix of every branch
 *     except the root is not empty and begins with that byte, and containers never hold an empty key.
 *   - A container is stored in children[low..high] of its parent, and nowhere else.
 *   - Every key below a branch contains its prefix and is longer; if a key ends at the branch, the
 *     branch holds its value.
 *
 * A container that is full when a key is added is burst: into containers for smaller ranges of
 * first bytes; or, if all its keys share their first byte, into a branch whose prefix is their
 * longest common prefix. So a burst always separates keys, and a common prefix, even of 1 MiB, is
 * stored once. The number of levels is bounded by the length of a key, so nothing here recurses. */
#pragma once

#include "structures/array_hash.h"
#include "unitok_train.h"

/* Limits of a container. With large containers, there are few levels and lookups are fast, but a
 * burst copies more keys, and keys that were chosen to collide take more time. Bytes are limited as
 * well, so that long keys with a common prefix do not accumulate. Speed hardly changes around these
 * values. */
#define CONTAINER_KEYS_MAX 1024
#define CONTAINER_BYTES_MAX 65536

struct branch {
    struct node node;
    uint8_t has_value;
    uint32_t n_prefix_bytes;
    int64_t value;
    struct branch *next_to_free; /* only while the trie is freed */
    struct node *children[256];
    uint8_t prefix[];
};

struct unitok_hat {
    struct branch *root;
    int64_t n_keys;
    int64_t memory_bytes;
};

/* Every branch and every container begins with a node, so a pointer to a node points to one of
 * them; is_branch says which. */
INLINE struct array_hash *as_container(const struct node *node)
{
    return (struct array_hash *)(uintptr_t)node;
}

INLINE struct branch *as_branch(const struct node *node)
{
    return (struct branch *)(uintptr_t)node;
}

INLINE size_t branch_bytes(const struct branch *branch)
{
    return sizeof *branch + branch->n_prefix_bytes;
}

/* A container is the child for every byte in its range, so a lookup need not search for the
 * range. */
INLINE void set_children(struct branch *parent, int low, int high, struct node *child)
{
    for (int i = low; i <= high; i++) parent->children[i] = child;
}

/* A container of one key cannot be divided, however long the key is. */
INLINE int hat_is_full(const struct array_hash *container)
{
    if (container->n_keys < 2) return 0; /* nothing to separate */
    return container->n_keys >= CONTAINER_KEYS_MAX ||
           container->n_entry_bytes >= CONTAINER_BYTES_MAX;
}

/* Returns NULL if an allocation fails. */
struct branch *hat_branch_new(const uint8_t *prefix, size_t n_bytes);

/* Stores a new container, or NULL, as children[low..high] of the parent. */
void hat_put_container(unitok_hat *hat, struct branch *parent, int low, int high,
                       struct array_hash *container);

/* Replaces a full container with containers of fewer keys, or with a branch. If an allocation
 * fails, returns 0 and changes nothing. */
int hat_burst(unitok_hat *hat, struct branch *parent, struct array_hash *full);
