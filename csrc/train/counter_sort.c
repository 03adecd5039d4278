/* counter_sort.c - sorts the keys of a counter by their bytes: multikey quicksort on eight bytes at
 * a time
 *
 * An item caches eight bytes of its key at the current depth, big-endian, so that comparing numbers
 * compares bytes and most comparisons read no key. A three-way partition leaves the items whose
 * eight bytes equal the pivot in the middle; these are then sorted at depth + 8:
 *
 *     items    | head < pivot | head == pivot, key ends here | head == pivot, longer | head > pivot |
 *                               by length                      again, at depth + 8
 *
 * Bytes past the end of a key count as 0, so a key and the same key followed by NULs have the same
 * head; their lengths decide. */

#include "train/counter.h"

#include "ground/alloc.h"
#include "ground/error.h"

/* The sort moves these items of 16 bytes instead of entries of 24. */
struct item {
    uint64_t head;
    uint32_t entry;
};

/* The next eight bytes of a key, zero-padded if fewer are left: see first_eight. */
INLINE uint64_t head_of(const struct counter_entry *entry, int64_t depth)
{
    return first_eight(entry->key + depth, entry->n_bytes - depth);
}

INLINE void swap_items(struct item *a, struct item *b)
{
    struct item t = *a;
    *a = *b;
    *b = t;
}

/* The median of three values, used as the pivot, so that keys that are already sorted are
 * partitioned evenly. */
static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a > b) {
        uint64_t t = a;
        a = b;
        b = t;
    }
    return c < a ? a : c > b ? b : c;
}

/* Sorts keys that have equal heads and end within them, by length. Distinct keys have at
 * most nine such lengths, so insertion is fast enough. */
static void sort_by_length(const struct counter_entry *entries, struct item *items, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = i;
             k > 0 && entries[items[k].entry].n_bytes < entries[items[k - 1].entry].n_bytes; k--)
            swap_items(&items[k], &items[k - 1]);
}

/* Compares two complete keys, for items whose heads are equal. A prefix of a key is less than it.
 */
static int less(const struct counter_entry *a, const struct counter_entry *b)
{
    uint32_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
    int order = n ? memcmp(a->key, b->key, n) : 0;
    return order ? order < 0 : a->n_bytes < b->n_bytes;
}

/* Insertion sort, which is faster than partitioning for fewer than a dozen items. It compares
 * complete keys, so it needs no depth. */
static void sort_few(const struct counter_entry *entries, struct item *items, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        struct item item = items[i];
        int64_t k = i;
        for (; k > 0; k--) {
            const struct item *left = &items[k - 1];
            if (left->head < item.head) break;
            if (left->head == item.head && !less(&entries[item.entry], &entries[left->entry]))
                break;
            items[k] = *left;
        }
        items[k] = item;
    }
}

/* Of three parts, the smallest is sorted at once, and the others go on the stack, the larger one
 * first. A part that is sorted at once has at most a third of the items, so the stack holds at most
 * 2 log3(2^31) = 40 parts. */
#define STACK_MAX 48

/* Items that agree in their first `depth` bytes and still have to be sorted. */
struct range {
    int64_t begin, end, depth;
};

/* Each iteration of the inner loop handles one part:
 *
 * 1. Partition by the head of the pivot.
 * 2. Divide the middle part into keys that end within these eight bytes and longer ones.
 * 3. Sort the keys that end here by length, and load the next eight bytes of the longer ones.
 * 4. Continue with the smallest of the three remaining parts, and push the two others.
 *
 * The explicit stack bounds the memory, and adversarial keys cannot overflow the thread's stack. */
static void sort_items(const struct counter_entry *entries, struct item *items, int64_t n)
{
    struct range stack[STACK_MAX];
    int n_stack = 0;
    stack[n_stack++] = (struct range){0, n, 0};
    while (n_stack) {
        struct range r = stack[--n_stack];
        while (r.end - r.begin > 1) {
            if (r.end - r.begin < 12) {
                sort_few(entries, items + r.begin, r.end - r.begin);
                break;
            }
            uint64_t pivot = median(items[r.begin].head, items[(r.begin + r.end) / 2].head,
                                    items[r.end - 1].head);
            /* Items before `low` are smaller than the pivot, those from `low` to `at` are equal to
             * it, and those from `high` on are larger. */
            int64_t low = r.begin, at = r.begin, high = r.end;
            while (at < high) {
                if (items[at].head < pivot) swap_items(&items[low++], &items[at++]);
                else if (items[at].head > pivot) swap_items(&items[at], &items[--high]);
                else at++;
            }
            /* Of the items equal to the pivot, sort those that end here by length, and continue
             * with the others. */
            int64_t longer = low;
            for (int64_t i = low; i < high; i++) {
                if (entries[items[i].entry].n_bytes > r.depth + 8) continue;
                swap_items(&items[longer++], &items[i]);
            }
            sort_by_length(entries, items + low, longer - low);
            for (int64_t i = longer; i < high; i++)
                items[i].head = head_of(&entries[items[i].entry], r.depth + 8);
            struct range parts[3] = {
                {r.begin, low, r.depth}, {high, r.end, r.depth}, {longer, high, r.depth + 8}};
            /* Largest first, so that the stack stays small. */
            for (int k = 2; k > 0; k--)
                for (int i = 0; i < k; i++)
                    if (parts[i].end - parts[i].begin < parts[i + 1].end - parts[i + 1].begin) {
                        struct range t = parts[i];
                        parts[i] = parts[i + 1];
                        parts[i + 1] = t;
                    }
            for (int k = 0; k < 2; k++)
                if (parts[k].end - parts[k].begin > 1) stack[n_stack++] = parts[k];
            r = parts[2];
        }
    }
}

/* Moves entry items[i].entry to index i, along the cycles of this permutation, so that no second
 * array is needed. */
static void permute(struct counter_entry *entries, struct item *items, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        struct counter_entry first = entries[i];
        int64_t at = i, from = items[i].entry;
        while (from != i) {
            entries[at] = entries[from];
            items[at].entry = (uint32_t)at;
            at = from;
            from = items[at].entry;
        }
        entries[at] = first;
        items[at].entry = (uint32_t)at;
    }
}

/* Sorts items and then moves each entry once. The slots are invalid afterwards. */
int32_t unitok_counter_sort(unitok_counter *counter, unitok_error *error)
{
    struct item *items = mem_alloc((size_t)(counter->n + 1) * sizeof *items);
    if (!items) return fail_memory(error);
    for (int64_t i = 0; i < counter->n; i++)
        items[i] = (struct item){head_of(&counter->entries[i], 0), (uint32_t)i};
    sort_items(counter->entries, items, counter->n);
    permute(counter->entries, items, counter->n);
    mem_free(items);
    counter->is_moved = 1;
    return UNITOK_OK;
}
