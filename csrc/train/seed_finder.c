/* seed_finder.c - finds the strings that repeat in the suffixes of a part: sorts the suffixes,
 * walks the LCP intervals, and keeps the best
 *
 * Sorted suffixes l..r that share exactly their first `depth` bytes are an LCP interval: a string
 * that occurs in at least two contexts. Its weight is the sum of the counts of their units. One
 * walk over the suffixes finds all intervals, with a stack of open ones (Abouelhoda, Kurtz,
 * Ohlebusch, "Replacing suffix trees with enhanced suffix arrays", 2004):
 *
 *     rank   suffix                 LCP   open intervals (depth)
 *     3      "the" 0xFF             -     0
 *     4      "their" 0xFF           3     0 3
 *     5      "there" 0xFF           4     0 3 4
 *     6      "tower" 0xFF           1     0 1         "the" and "the?" are closed, and "the" is a seed
 *
 * Common prefixes end at an 0xFF, so the end of a unit is a context of its own.
 *
 * Suffixes are sorted by eight bytes at a time, as big-endian numbers. Those with equal numbers are
 * sorted by the next eight bytes, up to the maximum length of a piece. A suffix ends at its 0xFF.
 *
 * Only the best max_seeds repeats are wanted. When the list is full, repeats worth less than the
 * max_seeds-th are dropped, and later repeats that are worth less are skipped at once. The worth of
 * a repeat is its weight times its number of characters, in float32 as the caller computes it. */

#include "ground/error.h"
#include "ground/grow.h"
#include "train/seeds.h"

#define FEW 24 /* up to this many suffixes are sorted by insertion */
#define FOUND_CAPACITY 4096
#define WORTH_BINS 0x10000

/* A suffix while its bucket is sorted. The text is read once for each eight bytes of depth;
 * comparisons read `head`. */
struct suffix {
    uint64_t head; /* eight bytes, big-endian; zeros after an 0xFF */
    uint32_t at;
    uint32_t common; /* the number of bytes shared with the previous suffix */
};

/* An open interval on the stack; intervals deeper in the stack contain those above them. */
struct interval {
    uint64_t weight; /* the sum over the suffixes seen so far */
    int64_t depth;
};

/* A repeat that may become a seed, as a position in the text. */
struct found {
    uint64_t weight;
    uint32_t at, n_bytes;
    float worth;
};

/* One thread's memory, which grows to fit the largest bucket sorted so far. */
struct unitok_seed_finder {
    const unitok_seeds *seeds;
    int64_t max_seeds; /* 0: no limit */
    int64_t max_depth;
    struct suffix *suffixes, *spare;
    int64_t suffixes_capacity;
    struct interval *stack;
    int64_t n_stack, stack_capacity;
    struct found *found;
    int64_t n_found, found_capacity;
    float least;           /* repeats worth less are dropped */
    unitok_counter *early; /* if !max_seeds: repeats moved out of `found` */
};

/* There is one finder per thread, which takes parts until none are left. Suffixes are compared no
 * deeper than the longest possible piece. */
int32_t unitok_seed_finder_new(const unitok_seeds *seeds, int64_t max_seeds,
                               unitok_seed_finder **ret, unitok_error *error)
{
    unitok_seed_finder *f = mem_zalloc(1, sizeof *f);
    if (!f) return fail_memory(error);
    f->seeds = seeds;
    f->max_seeds = max_seeds;
    /* Longer repeats cannot be pieces, but NULs at their end do not count. */
    f->max_depth = 4 * rules_max_symbols(seeds->rules) + (seeds->is_compatible ? 64 : 0);
    int32_t status = max_seeds ? UNITOK_OK : unitok_counter_new(0, &f->early, error);
    if (status) unitok_seed_finder_free(f);
    else *ret = f;
    return status;
}

void unitok_seed_finder_free(unitok_seed_finder *f)
{
    if (!f) return;
    mem_free(f->suffixes);
    mem_free(f->spare);
    mem_free(f->stack);
    mem_free(f->found);
    unitok_counter_free(f->early);
    mem_free(f);
}

/* --------------------------------------------------------------------------------- Sorting ---- */

/* Returns a mask with the highest bit of every byte of v that is 0. Only the lowest bit of the mask
 * is reliable, and only that bit is used. */
INLINE uint64_t high_bits_of_zeros(uint64_t v)
{
    return (v - UINT64_C(0x0101010101010101)) & ~v & UINT64_C(0x8080808080808080);
}

/* Inverting the bytes turns an 0xFF into 0, which the mask above finds. The bytes after it belong
 * to other units and are set to 0, so that they do not count. */
INLINE uint64_t head_at(const uint8_t *text)
{
    uint64_t bytes = load_u64(text), ends = high_bits_of_zeros(~bytes);
    if (ends) bytes &= ends ^ (ends - 1); /* up to the first 0xFF */
    return swap_bytes(bytes);
}

/* The index of the byte of a head that is 0xFF; -1 if there is none. The heads are big-endian, so
 * the first byte of the text is the highest. */
INLINE int end_in(uint64_t head)
{
    /* Only zeros follow an 0xFF, so there is at most one 0xFF, and its bit is the lowest. */
    uint64_t ends = high_bits_of_zeros(~head);
    return ends ? 7 - lowest_bit(ends) / 8 : -1;
}

/* The number of leading bytes that two different heads share: their XOR, with the first byte
 * lowest, shows where they differ. */
static int common_bytes(uint64_t a, uint64_t b) { return lowest_bit(swap_bytes(a ^ b)) / 8; }

/* Insertion sort, for groups that are too small for 256 counters. */
static void sort_few(struct suffix *suffixes, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        struct suffix suffix = suffixes[i];
        int64_t k = i;
        for (; k > 0 && suffixes[k - 1].head > suffix.head; k--) suffixes[k] = suffixes[k - 1];
        suffixes[k] = suffix;
    }
}

/* Radix sort by head, from the byte at `shift` down. A byte that all heads share is skipped. */
static void sort_heads(struct suffix *suffixes, struct suffix *spare, int64_t n, int shift)
{
    if (n <= FEW) {
        sort_few(suffixes, n);
        return;
    }
    int64_t begins[257] = {0};
    for (int64_t i = 0; i < n; i++) begins[(suffixes[i].head >> shift & 0xFF) + 1]++;
    for (int k = 0; k < 256; k++) begins[k + 1] += begins[k];
    if (begins[(suffixes[0].head >> shift & 0xFF) + 1] - begins[suffixes[0].head >> shift & 0xFF] ==
        n) {
        if (shift) sort_heads(suffixes, spare, n, shift - 8);
        return;
    }
    for (int64_t i = 0; i < n; i++) spare[begins[suffixes[i].head >> shift & 0xFF]++] = suffixes[i];
    memcpy(suffixes, spare, (size_t)n * sizeof *suffixes);
    for (int64_t begin = 0, k = 0; k < 256 && shift; begin = begins[k++])
        if (begins[k] - begin > 1)
            sort_heads(suffixes + begin, spare, begins[k] - begin, shift - 8);
}

/* Sorts suffixes that share their first `depth` bytes, and sets .common of all but the first.
 * Groups of equal heads are sorted by their next eight bytes, unless they end within their heads or
 * no piece is longer. The order of suffixes that are equal up to there does not matter. */
static void sort_suffixes(const unitok_seed_finder *f, struct suffix *suffixes, int64_t n,
                          int64_t depth)
{
    const uint8_t *text = f->seeds->text + depth;
    for (int64_t i = 0; i < n; i++) suffixes[i].head = head_at(text + suffixes[i].at);
    sort_heads(suffixes, f->spare, n, 56);
    uint64_t before = 0, head;
    /* for each group of equal heads */
    for (int64_t begin = 0, end; begin < n; begin = end, before = head) {
        head = suffixes[begin].head;
        for (end = begin + 1; end < n && suffixes[end].head == head; end++) {
        }
        /* Suffixes that end within these eight bytes are equal up to their ends. */
        int at_end = end_in(head);
        if (end - begin > 1 && at_end < 0 && depth + 8 < f->max_depth) {
            sort_suffixes(f, suffixes + begin, end - begin, depth + 8);
        } else {
            for (int64_t i = begin + 1; i < end; i++)
                suffixes[i].common = (uint32_t)(depth + (at_end < 0 ? 8 : at_end));
        }
        if (begin) suffixes[begin].common = (uint32_t)(depth + common_bytes(before, head));
    }
}

/* ----------------------------------------------------------------------------------- Found ---- */

/* The high bits of the worth. These bits increase with the worth, because it is never negative.
 * Sixteen bits are kept: the exponent and eight bits of the fraction, which separate values that
 * differ by half a percent. */
INLINE uint32_t bin_of(float worth)
{
    uint32_t bits;
    memcpy(&bits, &worth, sizeof bits);
    return bits >> 15;
}

/* Drops repeats that max_seeds others surpass; returns 0 if allocation fails. Repeats are counted
 * in bins by worth instead of being sorted, and the bin of the max_seeds-th is kept completely, so
 * slightly more than max_seeds may remain. `least` rises with every call, so fewer and fewer new
 * repeats are kept. */
static int drop_worst(unitok_seed_finder *f)
{
    int64_t *bins = mem_zalloc(WORTH_BINS, sizeof *bins), n = 0;
    if (!bins) return 0;
    for (int64_t i = 0; i < f->n_found; i++) bins[bin_of(f->found[i].worth)]++;
    /* From the best bin down, until max_seeds are counted; everything below is dropped. */
    uint32_t worst = WORTH_BINS - 1;
    while (worst > 0 && n + bins[worst] < f->max_seeds) n += bins[worst--];
    mem_free(bins);
    int64_t n_kept = 0;
    for (int64_t i = 0; i < f->n_found; i++)
        if (bin_of(f->found[i].worth) >= worst) f->found[n_kept++] = f->found[i];
    f->n_found = n_kept;
    uint32_t bits = worst << 15;
    memcpy(&f->least, &bits, sizeof bits);
    return 1;
}

/* Moves the repeats found to a counter, which adds up equal strings. No string repeats in several
 * buckets, but trimming NULs can make two strings equal. */
static int hand_over(unitok_seed_finder *f, unitok_counter *counter)
{
    for (int64_t i = 0; i < f->n_found; i++) {
        const struct found *found = &f->found[i];
        if (counter_add(counter, f->seeds->text + found->at, found->n_bytes, found->weight) < 0)
            return 0;
    }
    f->n_found = 0;
    return 1;
}

/* Makes space in `found`, by dropping, handing over or growing; returns 0 if allocation fails. If
 * max_seeds is set, the list is cut down when it holds twice as many repeats; otherwise, a long
 * list is emptied into a counter. */
static int reserve_found(unitok_seed_finder *f)
{
    if (f->max_seeds && f->n_found >= 2 * f->max_seeds && !drop_worst(f)) return 0;
    if (!f->max_seeds && f->n_found >= 64 * FOUND_CAPACITY) return hand_over(f, f->early);
    if (f->n_found < f->found_capacity / 2) return 1;
    return grow(&f->found, f->found_capacity, &f->found_capacity, sizeof *f->found);
}

/* Keeps text[begin..begin+n_bytes) if it may be a seed; returns 0 if allocation fails. The cheap
 * test comes first. It drops most repeats before their bytes are read, because even a piece of the
 * maximum length with the same weight would be worth too little. */
static int propose(unitok_seed_finder *f, int64_t begin, int64_t n_bytes, uint64_t weight)
{
    if (weight < 2 || (float)weight * (float)rules_max_symbols(f->seeds->rules) < f->least)
        return 1;
    n_bytes = seed_bytes(f->seeds, begin, n_bytes);
    if (n_bytes == 0) return 1;
    float worth = (float)weight * (float)count_chars(f->seeds->text + begin, n_bytes);
    if (worth < f->least) return 1;
    if (f->n_found == f->found_capacity && !reserve_found(f)) return 0;
    f->found[f->n_found++] = (struct found){weight, (uint32_t)begin, (uint32_t)n_bytes, worth};
    return 1;
}

/* ------------------------------------------------------------------------------------ Walk ---- */

/* Opens an interval of this depth. */
static int push(unitok_seed_finder *f, int64_t depth, uint64_t weight)
{
    if (!grow(&f->stack, f->n_stack, &f->stack_capacity, sizeof *f->stack)) return 0;
    f->stack[f->n_stack++] = (struct interval){weight, depth};
    return 1;
}

/* Closes the intervals deeper than `depth`, all of which end with the suffix at `last`, and opens
 * one of that depth if there is none. Returns 0 if allocation fails. The deepest interval is closed
 * first, and the weight of closed intervals is carried to the one that stays open. */
static int close_to(unitok_seed_finder *f, int64_t depth, int64_t last)
{
    uint64_t weight = 0;
    while (f->stack[f->n_stack - 1].depth > depth) {
        /* The weight of a closed interval is the sum over its suffixes, so it is added to the
         * interval that contains this one. */
        struct interval closed = f->stack[--f->n_stack];
        weight += closed.weight;
        if (!propose(f, last, closed.depth, weight)) return 0;
        if (f->stack[f->n_stack - 1].depth >= depth) {
            f->stack[f->n_stack - 1].weight += weight;
            weight = 0;
        }
    }
    return f->stack[f->n_stack - 1].depth == depth || push(f, depth, weight);
}

/* Visits the suffixes in order. The top of the stack is the deepest interval that contains the
 * previous suffix. The weight of a suffix goes into the deeper of the two intervals that it shares
 * with its neighbours. Returns 0 if allocation fails. */
static int walk(unitok_seed_finder *f, const struct suffix *suffixes, int64_t n)
{
    f->n_stack = 0;
    if (!push(f, 0, 0)) return 0;
    for (int64_t i = 0; i < n; i++) {
        /* How many bytes the suffix shares with its two neighbours. The suffix belongs to the
         * interval of the larger number. */
        int64_t before = i ? suffixes[i].common : 0, after = i + 1 < n ? suffixes[i + 1].common : 0;
        if (i && !close_to(f, before, suffixes[i - 1].at)) return 0;
        if (after > before && !push(f, after, 0)) return 0;
        f->stack[f->n_stack - 1].weight += levels_count(&f->seeds->levels, suffixes[i].at);
    }
    return close_to(f, 0, suffixes[n - 1].at);
}

/* ----------------------------------------------------------------------------------- Parts ---- */

/* The arrays are reused for every bucket and grow to fit the largest. */
static int find_in(unitok_seed_finder *f, int bucket)
{
    const unitok_seeds *s = f->seeds;
    int64_t n = s->begins[bucket + 1] - s->begins[bucket];
    if (n == 0) return 1;
    if (n > f->suffixes_capacity) {
        mem_free(f->suffixes);
        mem_free(f->spare);
        f->suffixes_capacity = 0;
        f->suffixes = mem_alloc((size_t)n * sizeof *f->suffixes);
        f->spare = mem_alloc((size_t)n * sizeof *f->spare);
        if (!f->suffixes || !f->spare) return 0;
        f->suffixes_capacity = n;
    }
    for (int64_t i = 0; i < n; i++)
        f->suffixes[i] = (struct suffix){0, s->places[s->begins[bucket] + i], 0};
    sort_suffixes(f, f->suffixes, n, bucket_depth(bucket));
    return walk(f, f->suffixes, n);
}

/* Processes one part of the list that all threads share. */
int32_t unitok_seed_finder_add(unitok_seed_finder *f, int64_t part, unitok_error *error)
{
    if (part < 0 || part >= unitok_seeds_parts(f->seeds))
        return fail(error, UNITOK_ERROR_ARGUMENT, part, -1, "the part does not exist");
    for (int bucket = f->seeds->parts[part]; bucket < f->seeds->parts[part + 1]; bucket++)
        if (!find_in(f, bucket)) return fail_memory(error);
    return UNITOK_OK;
}

/* Adds the repeats that this finder has found to `counter`; several finders can finish into one
 * counter, one after another. */
int32_t unitok_seed_finder_finish(unitok_seed_finder *f, unitok_counter *counter,
                                  unitok_error *error)
{
    if (f->max_seeds && f->n_found > f->max_seeds && !drop_worst(f)) return fail_memory(error);
    if (!hand_over(f, counter)) return fail_memory(error);
    return !f->early || counter_merge(counter, f->early) ? UNITOK_OK : fail_memory(error);
}
