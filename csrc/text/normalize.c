/* normalize.c - SentencePiece's normalization: a whole text with offsets, or part by part and fast
 *
 * Text is taken in items: a symbol, a key of the charsmap, a character, or a byte that begins none.
 * Each gives bytes, and the whitespace rules look at nothing else:
 *
 *   1. With REMOVE_EXTRA_WHITESPACES, items that give exactly one space are dropped until another comes.
 *   2. If an item is left, the dummy prefix comes before it.
 *   3. Spaces at the beginning of what an item gives are dropped after an item that gave a space last; an item that
 *      gives nothing (any more) changes nothing. With the rule of 1 only.
 *   4. A space becomes the space symbol: U+2581, or a space where spaces are not escaped.
 *   5. At the end, with the rule of 1, all space symbols are dropped: a U+2581 of the text and the dummy prefix too.
 *   6. The dummy suffix.
 *
 * For rule 5 part by part, bytes that repeat the space symbol are held back, as a count, until
 * another byte comes.
 */

#include "text/normalize.h"
#include "ground/space.h"
#include "ground/utf8.h"

static const uint8_t UFFFD[3] = {0xEF, 0xBF, 0xBD};

/* More held bytes than this are put out before the item after them is, in as many calls as it
 * takes. */
#define HELD_BYTES_MAX 48

typedef struct item {
    const uint8_t *bytes; /* its normalized form */
    int64_t n_bytes;
    int64_t n_taken; /* of the text */
} item;

/* The item that text[0..n_bytes-1] begins with, n_bytes >= 1. */
static item next_item(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes)
{
    const uint8_t *replacement = NULL;
    int64_t length = symbols_match(n, text, n_bytes);
    if (length) return (item){text, length, length};
    if (n->blob && (length = charsmap_match(&n->map, text, n_bytes, &replacement)) > 0) {
        return (item){replacement, (int64_t)strlen((const char *)replacement), length};
    }
    length = utf8_length(text, n_bytes);
    return length ? (item){text, length, length} : (item){UFFFD, 3, 1};
}

/* ---------------------------------------------------------------------------------- Output ---- */

/* Where the normalized bytes go, and what the rules have to know of them. */
typedef struct sink {
    uint8_t *out;
    /* written, without those held; bytes after `capacity` are only counted */
    int64_t n_bytes, capacity;
    int64_t n_held_bytes;  /* they repeat the space symbol, from its first byte on */
    int64_t *norm_to_orig; /* NULL: not wanted */
    int64_t held_from;     /* the offset of the first held byte */
    const uint8_t *symbol; /* the space symbol */
    int n_symbol_bytes;
    uint8_t is_compact; /* U+2581 becomes the symbol, which is a space */
    uint8_t removes;    /* REMOVE_EXTRA_WHITESPACES */
    /* held bytes are written to `out` after the others; else they are only counted */
    uint8_t writes_held;
    uint8_t is_started;     /* rule 2 is done */
    uint8_t is_after_space; /* rule 3 */
} sink;

static sink new_sink(const unitok_normalizer *n, int compact, uint8_t *out, int64_t capacity)
{
    int escapes = (n->flags & UNITOK_ESCAPE_WHITESPACES) != 0,
        is_long = escapes && !(compact && n->is_compact);
    return (sink){
        .out = out,
        .capacity = capacity,
        .symbol = is_long ? space_symbol : (const uint8_t *)" ",
        .n_symbol_bytes = is_long ? 3 : 1,
        .is_compact = escapes && !is_long,
        .removes = (n->flags & UNITOK_REMOVE_EXTRA_WHITESPACES) != 0,
    };
}

INLINE void write_at(sink *s, int64_t at, uint8_t byte, int64_t from)
{
    if (at >= s->capacity) return;
    s->out[at] = byte;
    if (s->norm_to_orig) s->norm_to_orig[at] = from;
}

/* Puts out the first n_bytes of what is held: whole symbols, or all. */
static void release(sink *s, int64_t n_bytes)
{
    for (int64_t i = 0; i < n_bytes && !s->writes_held; i++) {
        write_at(s, s->n_bytes + i, s->symbol[i % s->n_symbol_bytes], 0);
    }
    s->n_bytes += n_bytes;
    s->n_held_bytes -= n_bytes;
}

static void hold(sink *s, uint8_t byte, int64_t from)
{
    if (!s->n_held_bytes) s->held_from = from;
    if (s->writes_held) write_at(s, s->n_bytes + s->n_held_bytes, byte, from);
    s->n_held_bytes++;
}

/* One byte; `from` is its offset. The symbol's bytes are all different, so one that does not go on
 * may only begin anew. */
INLINE void put(sink *s, uint8_t byte, int64_t from)
{
    if (s->removes) {
        if (byte == s->symbol[s->n_held_bytes % s->n_symbol_bytes]) {
            hold(s, byte, from);
            return;
        }
        release(s, s->n_held_bytes);
        if (byte == s->symbol[0]) {
            hold(s, byte, from);
            return;
        }
    }
    write_at(s, s->n_bytes++, byte, from);
}

static void put_symbol(sink *s, int64_t from)
{
    for (int i = 0; i < s->n_symbol_bytes; i++) put(s, s->symbol[i], from);
}

/* The bytes of what gives a symbol at it[0..n_bytes-1], 0 if its first byte stands for itself. */
INLINE int symbol_length(const sink *s, const uint8_t *it, int64_t n_bytes)
{
    if (it[0] == ' ') return 1;
    return s->is_compact && space_symbol_begins(it, n_bytes) ? 3 : 0;
}

/* Rule 4. */
static void put_item(sink *s, item it, int64_t from)
{
    for (int64_t i = 0; i < it.n_bytes;) {
        int length = symbol_length(s, it.bytes + i, it.n_bytes - i);
        if (length) put_symbol(s, from);
        else put(s, it.bytes[i], from);
        i += length ? length : 1;
    }
    s->is_after_space = s->removes && it.bytes[it.n_bytes - 1] == ' ';
}

/* Whether the item ends what is held: then all of that is put out before it. */
static int ends_held(const sink *s, item it)
{
    int64_t phase = s->n_held_bytes % s->n_symbol_bytes;
    for (int64_t i = 0; i < it.n_bytes;) {
        int length = symbol_length(s, it.bytes + i, it.n_bytes - i);
        if (length ? phase != 0 : it.bytes[i] != s->symbol[phase]) return 1;
        if (!length) phase = (phase + 1) % s->n_symbol_bytes;
        i += length ? length : 1;
    }
    return 0;
}

/* Rules 1 to 3: the rest of the item; n_bytes 0 if nothing is left. */
static item begin_item(const unitok_normalizer *n, sink *s, item it, int64_t from)
{
    if (!s->is_started) {
        if (s->removes && it.n_bytes == 1 && it.bytes[0] == ' ')
            return (item){it.bytes, 0, it.n_taken};
        s->is_started = 1;
        s->is_after_space = s->removes;
        if (n->flags & UNITOK_ADD_DUMMY_PREFIX && !(n->flags & UNITOK_WHITESPACE_AS_SUFFIX))
            put_symbol(s, from);
    }
    while (s->is_after_space && it.n_bytes && it.bytes[0] == ' ') it.bytes++, it.n_bytes--;
    return it;
}

/* Rules 5 and 6, the text taken up to `from`: returns where the last offset stands. */
static int64_t put_end(const unitok_normalizer *n, sink *s, int64_t from)
{
    if (!s->is_started) return from;
    if (s->n_held_bytes % s->n_symbol_bytes == 0 && s->n_held_bytes) {
        from = s->held_from;
        s->n_held_bytes = 0;
    }
    release(s, s->n_held_bytes);
    if (n->flags & UNITOK_ADD_DUMMY_PREFIX && n->flags & UNITOK_WHITESPACE_AS_SUFFIX) {
        s->removes = 0; /* from here on nothing is held */
        put_symbol(s, from);
    }
    return from;
}

int64_t unitok_normalize(const unitok_normalizer *normalizer, const uint8_t *text, int64_t n_bytes,
                         int32_t compact, uint8_t *out, int64_t *norm_to_orig, int64_t capacity)
{
    sink s = new_sink(normalizer, compact, out, capacity);
    s.norm_to_orig = norm_to_orig;
    s.writes_held = 1;
    for (int64_t at = 0; at < n_bytes;) {
        item it = begin_item(normalizer, &s, next_item(normalizer, text + at, n_bytes - at), at);
        if (it.n_bytes) put_item(&s, it, at);
        at += it.n_taken;
    }
    int64_t from = put_end(normalizer, &s, n_bytes);
    if (norm_to_orig && s.n_bytes <= capacity) norm_to_orig[s.n_bytes] = s.is_started ? from : -1;
    return s.n_bytes;
}

/* ---------------------------------------------------------------------------- Part by part ---- */

/* What needs no look at charsmap or symbols, up to an item that does or to a want of room. Returns
 * the bytes taken. */
static int64_t take_plain(const unitok_normalizer *n, sink *s, const uint8_t *text, int64_t n_bytes)
{
    int64_t n_held = s->n_held_bytes, n_spaces = 0;
    release(s, n_held);
    plain_run run = n->run_plain(n, text, n_bytes, s->is_after_space, s->out + s->n_bytes,
                                 s->capacity - s->n_bytes);
    if (run.n_out) n_spaces = run.is_after_space;
    if (run.n_out == n_spaces) n_spaces += n_held;
    s->n_bytes += run.n_out - n_spaces;
    s->n_held_bytes = n_spaces;
    s->is_after_space = (uint8_t)run.is_after_space;
    return run.n_taken;
}

/* Where much is held that is to be put out: puts out what there is room for, in whole symbols, so
 * that the rest begins with one. Returns whether there is room for a step now. */
static int drain(const unitok_normalizer *n, sink *s)
{
    int64_t n_bytes = s->n_held_bytes, room = s->capacity - s->n_bytes;
    if (n_bytes <= HELD_BYTES_MAX) return 1;
    if (n_bytes > room) n_bytes = room;
    release(s, n_bytes - n_bytes % s->n_symbol_bytes);
    return s->n_held_bytes <= HELD_BYTES_MAX && s->capacity - s->n_bytes >= n->max_step_bytes;
}

/* One item. Returns the bytes taken; -1 if there was no room. */
static int64_t step(const unitok_normalizer *n, sink *s, const uint8_t *text, int64_t n_bytes)
{
    item it = begin_item(n, s, next_item(n, text, n_bytes), 0);
    if (it.n_bytes) {
        if (s->n_held_bytes > HELD_BYTES_MAX && ends_held(s, it) && !drain(n, s)) return -1;
        put_item(s, it, 0);
    }
    return it.n_taken;
}

/* Takes one item, or a run of plain text. Returns the bytes taken; -1 if there was no room. */
static int64_t advance(const unitok_normalizer *n, sink *s, const uint8_t *text, int64_t n_bytes)
{
    int64_t n_taken = 0;
    if (s->is_started && s->n_symbol_bytes == 1 && s->n_held_bytes <= HELD_BYTES_MAX) {
        n_taken = take_plain(n, s, text, n_bytes);
    }
    return n_taken ? n_taken : step(n, s, text, n_bytes);
}

int64_t unitok_normalize_some(const unitok_normalizer *normalizer, unitok_normalize_state *state,
                              const uint8_t *text, int64_t n_bytes, int64_t *io_consumed,
                              int32_t last, uint8_t *out, int64_t capacity)
{
    const unitok_normalizer *n = normalizer;
    sink s = new_sink(n, !state->is_verbatim, out, capacity);
    int64_t at = *io_consumed;
    s.n_held_bytes = state->n_held_bytes;
    s.is_started = (uint8_t)state->is_started;
    s.is_after_space = (uint8_t)state->is_after_space;
    while (at < n_bytes && capacity - s.n_bytes >= n->max_step_bytes) {
        int64_t taken = advance(n, &s, text + at, n_bytes - at);
        if (taken < 0) break;
        at += taken;
    }
    if (last && at == n_bytes && !state->is_ended && capacity - s.n_bytes >= n->max_step_bytes) {
        int is_dropped = s.n_held_bytes % s.n_symbol_bytes == 0;
        if (is_dropped || drain(n, &s)) {
            put_end(n, &s, at);
            state->is_ended = 1;
        }
    }
    state->n_held_bytes = s.n_held_bytes;
    state->is_started = s.is_started;
    state->is_after_space = s.is_after_space;
    *io_consumed = at;
    return s.n_bytes;
}

/* A byte that is not a continuation, and that no key or symbol contains after its first byte,
 * always begins an item. Where there is none, items are read from the start, as long as later text
 * cannot change them. */
int64_t unitok_normalize_split(const unitok_normalizer *normalizer, const uint8_t *text,
                               int64_t n_bytes)
{
    const unitok_normalizer *n = normalizer;
    for (int64_t k = n_bytes - 1; k > 0; k--) {
        if (!is_continuation(text[k]) && !n->is_inner[text[k]]) return k;
    }
    int64_t k = 0;
    while (n_bytes - k >= n->max_match_bytes) k += next_item(n, text + k, n_bytes - k).n_taken;
    return k;
}
