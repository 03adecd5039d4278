/* splitter.c - counts the pieces into which a pattern divides texts: see splitter.h
 *
 * With GPT-2's pattern, "Go  home" (two spaces) is cut only after "Go", where a piece always ends.
 * The pattern then divides the segment "  home" into " " and " home", once for all its occurrences:
 * the count of a segment is added to each of its pieces.
 *
 *     text      Go  home. Go  home.
 *     segments  "Go" 1   "  home" 2   "." 2   " Go" 1      one lookup for each pair of bytes
 *     pieces    "Go" 1   " " 2   " home" 2   "." 2   …     the pattern, once for each segment */

#include "train/splitter.h"

#include "ground/alloc.h"
#include "text/cut.h"
#include "train/recent.h"

/* Longer segments rarely repeat, so they are divided immediately. The limit also bounds the buffer
 * of splitter_flush. */
#define SEGMENT_BYTES_MAX 64
#define READABLE_BYTES 16 /* the bytes that recent_add() reads */

struct splitter {
    const pattern *pattern;
    cut_pattern cuts;         /* cuts only where the pattern does */
    unitok_counter *segments; /* segments that are not divided yet */
    recent recent_segments, recent_pieces;
};

splitter *splitter_new(const pattern *pattern, unitok_counter *counter)
{
    splitter *s = mem_zalloc(1, sizeof *s);
    if (!s) return NULL;
    s->pattern = pattern;
    if (unitok_counter_new(0, &s->segments, NULL) ||
        !recent_open(&s->recent_segments, s->segments, 0) ||
        !recent_open(&s->recent_pieces, counter, 0)) {
        splitter_free(s);
        return NULL;
    }
    cut_build_pattern_alone(pattern, &s->cuts);
    return s;
}

void splitter_free(splitter *s)
{
    if (!s) return;
    unitok_counter_free(s->segments);
    recent_close(&s->recent_segments);
    recent_close(&s->recent_pieces);
    mem_free(s);
}

int64_t splitter_memory_bytes(const splitter *s)
{
    return (int64_t)sizeof *s + unitok_counter_memory_bytes(s->segments) +
           recent_memory_bytes(&s->recent_segments) + recent_memory_bytes(&s->recent_pieces);
}

/* Counts a unit; `end` is the end of the readable bytes. recent_add reads READABLE_BYTES from the
 * start of a short unit, so one that ends too close to `end` is copied first. Returns 0 if
 * allocation fails. */
INLINE int add_unit(recent *r, const uint8_t *unit, int64_t n_bytes, const uint8_t *end,
                    uint64_t count)
{
    uint8_t copy[READABLE_BYTES] = {0};
    if (LIKELY(end - unit >= READABLE_BYTES) || n_bytes >= READABLE_BYTES)
        return recent_add(r, unit, n_bytes, count);
    memcpy(copy, unit, (size_t)n_bytes);
    return recent_add(r, copy, n_bytes, count);
}

/* Divides a segment with the pattern and counts its pieces; returns 0 if allocation fails, -1 if a
 * piece is too long. */
static int divide(splitter *s, const uint8_t *segment, int64_t n_bytes, const uint8_t *end,
                  uint64_t count)
{
    pattern_state state;
    memset(&state, 0, sizeof state);
    for (int64_t begin = 0, next; begin < n_bytes; begin = next) {
        next = pattern_next(s->pattern, &state, segment, begin, n_bytes);
        if (next - begin > UNITOK_KEY_MAX_BYTES) return -1;
        if (!add_unit(&s->recent_pieces, segment + begin, next - begin, end, count)) return 0;
    }
    return 1;
}

INLINE int add_segment(splitter *s, const uint8_t *segment, int64_t n_bytes, const uint8_t *end)
{
    if (n_bytes > SEGMENT_BYTES_MAX) return divide(s, segment, n_bytes, end, 1);
    return add_unit(&s->recent_segments, segment, n_bytes, end, 1);
}

/* Returns the same values as divide(). Most positions are decided by the code of their pair of
 * bytes; only CUT_CLASSES needs joined(). */
int splitter_add(splitter *s, const uint8_t *text, int64_t n_bytes, const uint8_t *end)
{
    const uint8_t *pair = s->cuts.table.pair;
    int64_t begin = 0;
    for (int64_t i = 1; i < n_bytes; i++) {
        uint8_t code = pair[text[i - 1] << 8 | text[i]];
        if (code == CUT_NEVER || (code != CUT_HERE && joined(&s->cuts.table, text, i, n_bytes)))
            continue;
        int done = add_segment(s, text + begin, i - begin, end);
        if (done <= 0) return done;
        begin = i;
    }
    return n_bytes > begin ? add_segment(s, text + begin, n_bytes - begin, end) : 1;
}

/* Moves all counts to the caller's counter: first the recent segments to `segments`, then the
 * pieces of all segments. Segments are divided here and not when they are first seen, because their
 * counts are complete only now. */
int splitter_flush(splitter *s)
{
    uint8_t segment[SEGMENT_BYTES_MAX + READABLE_BYTES] = {0};
    if (!recent_flush(&s->recent_segments)) return 0;
    for (int64_t i = 0; i < s->segments->n; i++) {
        const struct counter_entry *entry = &s->segments->entries[i];
        memcpy(segment, entry->key, entry->n_bytes);
        if (divide(s, segment, entry->n_bytes, segment + sizeof segment, entry->count) <= 0)
            return 0;
    }
    unitok_counter_clear(s->segments);
    return recent_flush(&s->recent_pieces);
}
