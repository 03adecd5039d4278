/* normalize.c - SentencePiece's normalization, either of a complete text with offsets or part by
 * part
 *
 * Text is read item by item: a symbol, a key of the charsmap, a character, or a byte that begins
 * none of these. Each item is replaced with bytes, and the whitespace rules depend only on these
 * bytes:
 *
 *   1. With REMOVE_EXTRA_WHITESPACES, items at the start that become exactly one space are dropped.
 *   2. If an item remains, the dummy prefix is written before it.
 *   3. With the same flag, if the previous item ended with a space, spaces at the start of an item
 *   are dropped. An item that is empty after that has no effect.
 *   4. A space becomes the space symbol: U+2581, or a space if spaces are not escaped.
 *   5. With the same flag, all space symbols at the end are dropped, including U+2581 from the text
 *   and the dummy prefix.
 *   6. The dummy suffix is written.
 *
 * With that flag, escaped spaces and the dummy prefix, "  a  b " becomes "▁a▁b":
 *
 *     item      ␣   ␣   a    ␣   ␣   b   ␣
 *     rule      1   1   2    4   3       5
 *     output            ▁a   ▁       b         the last ▁ is held, and dropped at the end
 *
 * To apply rule 5 part by part, the bytes of space symbols are held back until another byte
 * follows. Only their number is stored. */

#include "text/normalize.h"
#include "ground/space.h"
#include "ground/utf8.h"

static const uint8_t UFFFD[3] = {0xEF, 0xBF, 0xBD};

/* If more bytes than this are held, they are written before the next item, in as many calls as
 * necessary. */
#define HELD_BYTES_MAX 48

typedef struct item {
    const uint8_t *bytes; /* the normalized form of the item */
    int64_t n_bytes;
    int64_t n_taken; /* how many bytes of the text the item takes */
} item;

/* Returns the item at the beginning of text[0..n_bytes-1], n_bytes >= 1. As in the reference,
 * symbols are preferred to keys, and keys to characters; the longest symbol or key is used. A byte
 * that does not begin a character becomes U+FFFD by itself. */
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

/* The output buffer, and the state that the rules depend on. */
typedef struct sink {
    uint8_t *out;
    /* written, excluding held bytes; bytes after `capacity` are only counted */
    int64_t n_bytes, capacity;
    int64_t n_held_bytes;  /* repeat the space symbol, beginning with its first byte */
    int64_t *norm_to_orig; /* NULL: not requested */
    int64_t held_from;     /* the offset of the first held byte */
    const uint8_t *symbol; /* the space symbol */
    int n_symbol_bytes;
    uint8_t is_compact; /* U+2581 becomes the space symbol, which is one space */
    uint8_t removes;    /* REMOVE_EXTRA_WHITESPACES */
    /* held bytes are also written to `out`, after the others; otherwise they are only counted */
    uint8_t writes_held;
    uint8_t is_started;     /* rule 2 is done */
    uint8_t is_after_space; /* rule 3 */
} sink;

/* Returns a sink for one text. The space symbol takes three bytes only if spaces are escaped and
 * the form is verbatim. */
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

/* Bytes beyond the capacity are dropped here, and counted by the caller. */
INLINE void write_at(sink *s, int64_t at, uint8_t byte, int64_t from)
{
    if (at >= s->capacity) return;
    s->out[at] = byte;
    if (s->norm_to_orig) s->norm_to_orig[at] = from;
}

/* Writes the first n_bytes of the held bytes, which must be complete symbols or all of them. If
 * writes_held is set, they are already in `out`, with their offsets, and only the counts change. */
static void release(sink *s, int64_t n_bytes)
{
    for (int64_t i = 0; i < n_bytes && !s->writes_held; i++) {
        write_at(s, s->n_bytes + i, s->symbol[i % s->n_symbol_bytes], 0);
    }
    s->n_bytes += n_bytes;
    s->n_held_bytes -= n_bytes;
}

/* Holds one more byte of a space symbol. Rule 5 drops all held bytes if the text ends here. */
static void hold(sink *s, uint8_t byte, int64_t from)
{
    if (!s->n_held_bytes) s->held_from = from;
    if (s->writes_held) write_at(s, s->n_bytes + s->n_held_bytes, byte, from);
    s->n_held_bytes++;
}

/* Writes one byte; `from` is its offset. The bytes of the symbol are all different, so a byte that
 * does not continue a symbol can only begin a new one. */
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

/* Returns the number of bytes at the beginning of the item that become a space symbol; 0 if the
 * first byte is copied. */
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

/* Returns whether the item ends the run of held bytes, so that all of them must be written before
 * it. An item that only continues the run, such as another space, increases the count. */
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

/* Applies rules 1 to 3. Returns the rest of the item; its n_bytes is 0 if nothing is left. */
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

/* Applies rules 5 and 6 at the end of a text consumed up to `from`. Returns the last offset. */
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

/* Normalizes a complete text, with the offset of every byte. Bytes beyond the capacity are only
 * counted, so a caller can query the size first. The fast path of plain text is not used, because
 * it provides no offsets. */
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

/* Copies text that needs no lookup; stops at an item that needs one, or when `out` is full. Returns
 * the number of bytes consumed. */
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

/* Writes as many held bytes as the capacity allows, in complete symbols, so that the remaining
 * bytes begin with a complete symbol. Returns whether the capacity is now sufficient for a step. */
static int drain(const unitok_normalizer *n, sink *s)
{
    int64_t n_bytes = s->n_held_bytes, room = s->capacity - s->n_bytes;
    if (n_bytes <= HELD_BYTES_MAX) return 1;
    if (n_bytes > room) n_bytes = room;
    release(s, n_bytes - n_bytes % s->n_symbol_bytes);
    return s->n_held_bytes <= HELD_BYTES_MAX && s->capacity - s->n_bytes >= n->max_step_bytes;
}

/* Normalizes one item. Returns the number of bytes consumed, or -1 if `out` is full. */
static int64_t step(const unitok_normalizer *n, sink *s, const uint8_t *text, int64_t n_bytes)
{
    item it = begin_item(n, s, next_item(n, text, n_bytes), 0);
    if (it.n_bytes) {
        if (s->n_held_bytes > HELD_BYTES_MAX && ends_held(s, it) && !drain(n, s)) return -1;
        put_item(s, it, 0);
    }
    return it.n_taken;
}

/* Normalizes one item, or a run of plain text. Returns the number of bytes consumed, or -1 if `out`
 * is full. */
static int64_t advance(const unitok_normalizer *n, sink *s, const uint8_t *text, int64_t n_bytes)
{
    int64_t n_taken = 0;
    if (s->is_started && s->n_symbol_bytes == 1 && s->n_held_bytes <= HELD_BYTES_MAX) {
        n_taken = take_plain(n, s, text, n_bytes);
    }
    return n_taken ? n_taken : step(n, s, text, n_bytes);
}

/* Before each step, max_step_bytes of capacity must be left, the maximum output of one item, so no
 * code in a step checks it. The state between calls consists of three fields of the sink: the
 * number of held bytes, whether the text has started, and whether it follows a space. */
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
 * always begins an item. If there is no such byte, items are read from the start for as long as
 * later text cannot change them. */
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
