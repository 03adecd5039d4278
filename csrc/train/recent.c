/* recent.c - units on their way to a counter: see recent.h
 *
 * Three stages, each of which leaves less work for the next:
 *
 *     ahead       8 units whose place in the table is being prefetched
 *     units       32,768 units with counts: a unit that recurs while it is here costs one addition
 *     waiting     32 units that were displaced, on their way to the counter
 *
 * Nothing is lost on the way. recent_flush moves everything to the counter, in the same order of
 * stages. */

#include "train/recent.h"

#include "ground/grow.h"

/* An ordered counter must get the units one by one and in order, so the table is left out, and
 * max_bytes stays 0: every unit is passed on. */
int recent_open(recent *r, unitok_counter *counter, int is_compact)
{
    r->counter = counter;
    r->is_compact = is_compact;
    if (!counter->slots) return 1;
    r->max_bytes = MEMO_SHORT_BYTES;
    r->units = mem_zalloc((size_t)1 << RECENT_BITS, sizeof *r->units);
    return r->units != NULL;
}

/* Units that have not been flushed are dropped. */
void recent_close(recent *r)
{
    mem_free(r->units);
    mem_free(r->long_unit);
}

/* The stages of fixed size are part of the structure itself and not counted here. */
int64_t recent_memory_bytes(const recent *r)
{
    return r->long_capacity + (r->units ? (int64_t)sizeof *r->units << RECENT_BITS : 0);
}

/* Writes a unit as the counter stores it, with U+2581 for a space; returns its length, at most
 * three times that of the unit. */
static int64_t open_spaces(const recent *r, const uint8_t *unit, int64_t n_bytes, uint8_t *out)
{
    if (!r->is_compact) {
        memcpy(out, unit, (size_t)n_bytes);
        return n_bytes;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        const uint8_t *bytes;
        int n_open = space_symbol_open(1, unit + i, &bytes);
        out[n] = bytes[0];
        if (n_open == 3) out[n + 1] = bytes[1], out[n + 2] = bytes[2];
        n += n_open;
    }
    return n;
}

/* Used where the caller needs the entry, and for units that are too long for the queue. */
int64_t recent_count_now(recent *r, const uint8_t *unit, int64_t n_bytes, uint64_t count)
{
    if (!r->is_compact) return counter_add(r->counter, unit, n_bytes, count);
    if (!grow(&r->long_unit, 3 * n_bytes, &r->long_capacity, 1)) return -1;
    return counter_add(r->counter, r->long_unit, open_spaces(r, unit, n_bytes, r->long_unit),
                       count);
}

/* Counts the waiting units in three rounds, so that their cache misses overlap: slots, entries,
 * additions. */
static int count_waiting(recent *r)
{
    unitok_counter *counter = r->counter;
    int n = r->n_waiting;
    for (int i = 0; i < n; i++) {
        struct waiting_unit *unit = &r->waiting[i];
        unit->hash = counter_hash(r->bytes + unit->begin, unit->n_bytes);
        counter_fetch_slot(counter, unit->hash);
    }
    /* The second round can read the slots, which have arrived. */
    for (int i = 0; i < n; i++) counter_fetch_entry(counter, r->waiting[i].hash);
    /* The queue is emptied before the additions, because these can fail. */
    r->n_waiting = 0;
    r->n_waiting_bytes = 0;
    for (int i = 0; i < n; i++) {
        const struct waiting_unit *unit = &r->waiting[i];
        if (counter_add_hashed(counter, r->bytes + unit->begin, unit->n_bytes, unit->hash,
                               unit->count) < 0)
            return 0;
    }
    return 1;
}

/* A unit takes up to three times its size in the buffer, because each space may become U+2581. A
 * unit that does not fit in an empty buffer is counted at once. */
int recent_pass_on(recent *r, const uint8_t *unit, int64_t n_bytes, uint64_t count)
{
    if (3 * n_bytes > WAITING_BYTES || !r->units)
        return recent_count_now(r, unit, n_bytes, count) >= 0;
    if ((r->n_waiting == WAITING_MAX || r->n_waiting_bytes + 3 * n_bytes > WAITING_BYTES) &&
        !count_waiting(r))
        return 0;
    struct waiting_unit *waiting = &r->waiting[r->n_waiting++];
    waiting->count = count;
    waiting->begin = r->n_waiting_bytes;
    waiting->n_bytes = (int32_t)open_spaces(r, unit, n_bytes, r->bytes + r->n_waiting_bytes);
    r->n_waiting_bytes += waiting->n_bytes;
    return 1;
}

/* The length of a unit is the last byte of its key. A place that holds no unit has length 0. */
static int pass_on_held(recent *r, const struct recent_unit *held)
{
    uint8_t bytes[16];
    int n_bytes = (int)(held->key[1] >> 56);
    memcpy(bytes, held->key, sizeof bytes);
    return n_bytes == 0 || recent_pass_on(r, bytes, n_bytes, held->count);
}

/* Called when another unit needs the place. The table is direct-mapped: the newest unit always
 * wins, because recent ones are likely to recur. */
int recent_replace(recent *r, struct recent_unit *held, const uint64_t key[2], uint64_t count)
{
    if (!pass_on_held(r, held)) return 0;
    *held = (struct recent_unit){{key[0], key[1]}, count};
    return 1;
}

/* Moves the units that are still ahead first, because they may go into the table, then the table,
 * then the waiting units. */
int recent_flush(recent *r)
{
    if (!r->units) return 1;
    for (int i = 0; i < AHEAD; i++) {
        struct ahead_unit *due = &r->ahead[r->n_ahead++ % AHEAD], unit = *due;
        *due = (struct ahead_unit){{0, 0}, 0, 0};
        if (!recent_count(r, &unit)) return 0;
    }
    for (int64_t i = 0; i < INT64_C(1) << RECENT_BITS; i++) {
        if (!pass_on_held(r, &r->units[i])) return 0;
        r->units[i] = (struct recent_unit){{0, 0}, 0};
    }
    return count_waiting(r);
}
