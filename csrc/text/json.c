/* json.c - extracts one string from each line of a JSON lines file into a packed list
 *
 *     {"id": 7, "text": "caf\u00e9"}\n                 path "text"
 *     {"meta": {"text": 1}, "text": "b"}\n             out    c a f C3 A9 | b      offsets 0 5 6
 *
 * Each line is read once, from left to right, and validated as JSON (RFC 8259) at the same time.
 * The only state is one bit for each open bracket. Strings, which contain nearly all bytes, are
 * read many bytes at a time (json_string_run.h), and the one on the path is written directly to
 * `out`. Everything between strings is read byte by byte.
 *
 * The path has names a, b, …, z: the text is the string z in the object … in the object b in the
 * object a of the line. If members have the same name, the last one counts, as in most parsers. So
 * a text may be dropped after it was found, and errors in a text are reported only at the end of
 * the line. `matched` is the number of names of the path that the open objects match:
 *
 *     path a b        { "x": {…}, "a": { "b": "text", "c": [ … ] } }
 *     depth           1      2         2                   3
 *     matched         0      0         1                   1          an object is on the path if depth = matched + 1
 *
 * As an extension of RFC 8259, the values NaN, Infinity and -Infinity are accepted, because
 * Python's json module writes them.
 */
#include "text/json.h"
#include "ground/utf8.h"

#define MAX_DEPTH 512

typedef struct path {
    const uint8_t *names;
    const int64_t *offsets; /* [0..n_names] */
    int64_t n_names;
} path;

/* A line being read, and the input after it.
 *
 * i         the next byte of p[0..n-1]
 * error     what is wrong, at byte error_at
 * n_out     bytes of the text, in out
 * detail    of the error: the lone surrogate, or the index of the name whose value is not an object
 */
typedef struct line {
    const json_level *level;
    const path *path;
    const uint8_t *p;
    int64_t n;
    int64_t i;
    uint8_t *out;
    int64_t n_out;
    int64_t error_at;
    int32_t error;
    int32_t detail;
} line;

/* Returns the next byte of the line, or a newline at the end of the input. */
INLINE uint8_t line_peek(const line *l) { return l->i < l->n ? l->p[l->i] : '\n'; }

INLINE uint8_t line_skip_space(line *l)
{
    uint8_t c = line_peek(l);
    while (c == ' ' || c == '\t' || c == '\r') {
        l->i++;
        c = line_peek(l);
    }
    return c;
}

/* Records that the line is invalid JSON at its next byte. Returns 0. */
static int line_fail(line *l, int32_t error)
{
    l->error = line_peek(l) == '\n' ? UNITOK_JSON_LINE_ENDS : error;
    l->error_at = l->i;
    return 0;
}

static int line_fail_in_string(line *l, const json_string *s)
{
    l->error = s->error;
    l->error_at = l->i + s->error_at;
    return 0;
}

/* Records why no text has been found in the line so far, and drops the text of an earlier member. A
 * later member that contains the text replaces this error. */
static void line_note(line *l, int32_t error, int64_t at)
{
    l->error = error;
    l->error_at = at;
    l->n_out = 0;
}

static int line_skip_string(line *l)
{
    json_string s;
    l->level->skip(l->p + l->i, l->n - l->i, &s);
    if (!s.n_bytes) return line_fail_in_string(l, &s);
    l->i += s.n_bytes;
    return 1;
}

static int line_skip_word(line *l, const char *word, int64_t n_bytes)
{
    if (l->n - l->i < n_bytes || memcmp(l->p + l->i, word, (size_t)n_bytes) != 0)
        return line_fail(l, UNITOK_JSON_VALUE);
    l->i += n_bytes;
    return 1;
}

static int line_skip_digits(line *l)
{
    int64_t begin = l->i;
    while (line_peek(l) >= '0' && line_peek(l) <= '9') l->i++;
    return l->i > begin ? 1 : line_fail(l, UNITOK_JSON_NUMBER);
}

/* Reads a number as RFC 8259 defines it: without leading zeros, and with digits on both sides of a
 * decimal point. Also reads "-Infinity", which begins like a number. */
static int line_skip_number(line *l)
{
    if (line_peek(l) == '-') {
        l->i++;
        if (line_peek(l) == 'I') return line_skip_word(l, "Infinity", 8);
    }
    if (line_peek(l) == '0') l->i++;
    else if (!line_skip_digits(l)) return 0;
    if (line_peek(l) == '.') {
        l->i++;
        if (!line_skip_digits(l)) return 0;
    }
    if ((line_peek(l) | 0x20) == 'e') {
        l->i++;
        if (line_peek(l) == '+' || line_peek(l) == '-') l->i++;
        if (!line_skip_digits(l)) return 0;
    }
    return 1;
}

/* Reads a value that is neither an object nor an array. */
static int line_skip_scalar(line *l, uint8_t c)
{
    switch (c) {
    case '"':
        return line_skip_string(l);
    case 't':
        return line_skip_word(l, "true", 4);
    case 'f':
        return line_skip_word(l, "false", 5);
    case 'n':
        return line_skip_word(l, "null", 4);
    case 'N':
        return line_skip_word(l, "NaN", 3);
    case 'I':
        return line_skip_word(l, "Infinity", 8);
    default:
        break;
    }
    return c == '-' || (c >= '0' && c <= '9') ? line_skip_number(l)
                                              : line_fail(l, UNITOK_JSON_VALUE);
}

/* Reads a name. Returns 1 if it equals name number `name` of the path, 0 if it does not, -1 if it
 * is invalid. The raw JSON is compared first; a name is decoded only if it contains an escape,
 * which is rare. */
static int line_read_key(line *l, int64_t name)
{
    const uint8_t *key = l->p + l->i;
    const uint8_t *want = l->path->names + l->path->offsets[name];
    int64_t n_want = l->path->offsets[name + 1] - l->path->offsets[name];
    if (!line_skip_string(l)) return -1;
    int64_t n = l->p + l->i - key - 2;
    if (n == n_want && memcmp(key + 1, want, (size_t)n) == 0 && !memchr(key, '\\', (size_t)n + 1))
        return 1;
    /* escapes are longer than the text they stand for */
    if (n <= n_want || !memchr(key, '\\', (size_t)n + 1)) return 0;
    json_string s; /* after the text found so far, `out` has space for all bytes read since then */
    l->level->take(key, l->p + l->n - key, l->out + l->n_out, &s);
    return !s.surrogate && s.n_out == n_want &&
           memcmp(l->out + l->n_out, want, (size_t)n_want) == 0;
}

/* Reads the string that the path leads to. */
static int line_take_text(line *l)
{
    json_string s;
    l->error = UNITOK_JSON_OK;
    l->level->take(l->p + l->i, l->n - l->i, l->out, &s);
    if (!s.n_bytes) return line_fail_in_string(l, &s);
    l->n_out = s.n_out;
    if (s.any_high && !l->level->check(l->p + l->i, s.n_bytes)) {
        int64_t at = l->i, length;
        while ((length = utf8_length(l->p + at, l->n - at)) != 0) at += length;
        line_note(l, UNITOK_JSON_UTF8, at);
    }
    if (s.surrogate && l->error == UNITOK_JSON_OK) {
        l->detail = s.surrogate;
        line_note(l, UNITOK_JSON_SURROGATE, l->i + s.surrogate_at);
    }
    l->i += s.n_bytes;
    return 1;
}

/* The brackets that are open at the next byte of a line. Bit d of `objects` is 1 if the bracket at
 * depth d begins an object, 0 if it begins an array; `matched` is explained at the top of this
 * file. */
typedef struct nesting {
    uint64_t objects[MAX_DEPTH / 64];
    int64_t depth;
    int64_t matched;
} nesting;

/* Opens an object or an array; returns 0 if too many are open. */
static int nesting_open(nesting *open, int is_object)
{
    if (open->depth == MAX_DEPTH) return 0;
    uint64_t bit = 1ULL << (open->depth & 63), *word = &open->objects[open->depth++ >> 6];
    *word = is_object ? *word | bit : *word & ~bit;
    return 1;
}

/* Whether the innermost open bracket begins an object. At least one bracket must be open. */
static int nesting_is_object(const nesting *open)
{
    return open->objects[(open->depth - 1) >> 6] >> ((open->depth - 1) & 63) & 1;
}

/* Closes the innermost bracket. If it closes an object on the path, the object's name is no longer
 * matched. */
static void nesting_close(nesting *open)
{
    if (open->depth == open->matched + 1 && open->matched > 0) open->matched--;
    open->depth--;
}

/* Reads a name, its colon, and the value if it is the text. Returns 1 if the value has been read, 0
 * if the next byte begins it, -1 if the line is not JSON.
 *
 * A name is compared with the path only in an object on the path. A member with a matching name,
 * whatever its value, replaces the text of an earlier member with that name. */
static int line_read_member(line *l, nesting *open)
{
    int is_match = 0;
    if (line_peek(l) != '"') {
        line_fail(l, UNITOK_JSON_KEY);
        return -1;
    }
    if (open->depth == open->matched + 1) is_match = line_read_key(l, open->matched);
    else if (!line_skip_string(l)) is_match = -1;
    if (is_match < 0) return -1;
    if (line_skip_space(l) != ':') {
        line_fail(l, UNITOK_JSON_COLON);
        return -1;
    }
    l->i++;
    uint8_t c = line_skip_space(l);
    if (!is_match) return 0;
    line_note(l, UNITOK_JSON_MISSING, -1);
    if (open->matched + 1 == l->path->n_names) {
        if (c == '"') return line_take_text(l) ? 1 : -1;
        line_note(l, UNITOK_JSON_NOT_STRING, l->i);
    } else if (c == '{') {
        open->matched++;
    } else {
        line_note(l, UNITOK_JSON_NOT_OBJECT, l->i);
        l->detail = (int32_t)open->matched;
    }
    return 0;
}

/* Reads the object that begins at the next byte, up to its end. Returns 0 if the line is not JSON;
 * otherwise l->error tells whether the object contains the text.
 *
 *     value    reads a value, or opens an object or array
 *     after    reads a comma, or closes objects and arrays
 *     key      reads a member up to its value, or past the value if that is the text
 *
 *     value    { and a name        ▶ key            after    , in an object       ▶ key
 *              [ and a value       ▶ value                   , in an array        ▶ value
 *              a scalar, {} or []  ▶ after                   } or ]               ▶ after, or the end
 *     key      another value       ▶ value          key      the text             ▶ after
 *
 * Jumps instead of recursion: a level of nesting takes a bit, and no stack. */
static int line_read_object(line *l)
{
    nesting open = {{0}, 0, 0};
    uint8_t c = '{';
    line_note(l, UNITOK_JSON_MISSING, -1);

value:
    if (c == '{' || c == '[') {
        uint8_t close = (uint8_t)(c + 2); /* { | } and [ \ ] */
        if (!nesting_open(&open, c == '{')) return line_fail(l, UNITOK_JSON_DEPTH);
        l->i++;
        c = line_skip_space(l);
        if (c == close) goto after;
        if (close == '}') goto key;
        goto value;
    }
    if (!line_skip_scalar(l, c)) return 0;
    c = line_skip_space(l);

after:
    for (;;) {
        int is_object = nesting_is_object(&open);
        if (c == ',') {
            l->i++;
            c = line_skip_space(l);
            if (is_object) goto key;
            goto value;
        }
        if (c != (is_object ? '}' : ']')) return line_fail(l, UNITOK_JSON_COMMA);
        l->i++;
        nesting_close(&open);
        if (open.depth == 0) return 1;
        c = line_skip_space(l);
    }

key:;
    int read = line_read_member(l, &open);
    if (read < 0) return 0;
    c = line_skip_space(l);
    if (read) goto after;
    goto value;
}

/* Reads a line that is not blank, beginning at its first byte that is not white space. Returns
 * whether it contains the text. */
static int line_read(line *l)
{
    if (line_peek(l) != '{') return line_fail(l, UNITOK_JSON_NO_OBJECT);
    if (!line_read_object(l)) return 0;
    if (line_skip_space(l) != '\n') return line_fail(l, UNITOK_JSON_TRAILING);
    return l->error == UNITOK_JSON_OK;
}

/* Returns the end of the line that contains p[i], including its newline. */
static int64_t line_end(const uint8_t *p, int64_t n, int64_t i)
{
    const uint8_t *newline = i < n ? memchr(p + i, '\n', (size_t)(n - i)) : NULL;
    return newline ? newline - p + 1 : n;
}

/* Returns whether the line p[begin..end-1] is too long, not counting its newline. */
INLINE int is_too_long(const uint8_t *p, int64_t begin, int64_t end, int64_t max_line_bytes)
{
    return end - begin - (p[end - 1] == '\n') > max_line_bytes;
}

/* A line with an error ends the call, so that Python can report the error; the next call skips that
 * line. Blank lines are ignored. */
int32_t unitok_json_read(int32_t cpu, const uint8_t *lines, int64_t n_bytes, const uint8_t *names,
                         const int64_t *name_offsets, int64_t n_names, int64_t max_line_bytes,
                         uint8_t *out, int64_t *offsets, int64_t max_docs, unitok_json_place *place)
{
    const path names_of = {names, name_offsets, n_names};
    line l = {.level = json_level_of(cpu), .path = &names_of};
    int64_t at = place->at;
    if (place->n_docs == 0) offsets[0] = 0;
    if (place->error != UNITOK_JSON_OK) { /* the error in this line has been reported */
        at = line_end(lines, n_bytes, at);
        place->n_lines++;
        place->error = UNITOK_JSON_OK;
    }
    while (at < n_bytes) {
        l.p = lines + at;
        l.n = n_bytes - at;
        l.i = 0;
        l.out = out + offsets[place->n_docs];
        l.error = UNITOK_JSON_OK;
        if (l.n > max_line_bytes &&
            is_too_long(lines, at, line_end(lines, n_bytes, at), max_line_bytes)) {
            l.error = UNITOK_JSON_TOO_LONG;
            l.error_at = -1;
        } else if (line_skip_space(&l) != '\n') {
            if (line_read(&l)) {
                if (place->n_docs == max_docs) break;
                offsets[place->n_docs + 1] = offsets[place->n_docs] + l.n_out;
                place->n_docs++;
            }
        }
        if (l.error != UNITOK_JSON_OK) {
            place->error = l.error;
            place->error_at = l.error_at;
            place->detail = l.detail;
            break;
        }
        at += l.i < l.n ? l.i + 1 : l.n;
        place->n_lines++;
    }
    place->at = at;
    return at < n_bytes ? 0 : 1;
}

/* Counts lines and documents without parsing them. Every line that is too long or not blank counts
 * as a document, because unitok_json_read does not ignore it. */
void unitok_json_count(const uint8_t *lines, int64_t n_bytes, int64_t max_line_bytes,
                       int32_t at_end, unitok_json_place *ret)
{
    memset(ret, 0, sizeof *ret);
    while (ret->at < n_bytes) {
        int64_t end = line_end(lines, n_bytes, ret->at), i = ret->at;
        if (end == n_bytes && lines[end - 1] != '\n' && !at_end) break;
        while (i < end &&
               (lines[i] == ' ' || lines[i] == '\t' || lines[i] == '\r' || lines[i] == '\n'))
            i++;
        ret->n_docs += i < end || is_too_long(lines, ret->at, end, max_line_bytes);
        ret->n_lines++;
        ret->at = end;
    }
}
