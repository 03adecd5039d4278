/* segment.c - turns lines into counted units: see segment.h
 *
 * Each line passes through the same steps, any of which may leave it unchanged:
 *
 *     line ─▶ count after a tab? ─▶ too long, reserved? ─▶ normalize ─▶ symbols, delimiter ─▶ units ─▶ counter
 *                                   (skipped and counted)              become boundaries
 *
 * Most of the time goes into normalizing and into finding the ends of the units. For compact text
 * both work byte by byte with tables. */

#include "train/segment.h"

#include "ground/error.h"
#include "ground/grow.h"
#include "ground/packed.h"
#include "text/normalize.h"

/* -------------------------------------------------------------------------------- Building ---- */

/* Builds a trie of the symbols, which are sorted by bytes, not empty and distinct. Values do not
 * matter, so all symbols get the same id. */
static int32_t take_symbols(unitok_segmenter *s, const unitok_segment_spec *spec,
                            unitok_error *error)
{
    const char *problem = check_offsets(spec->symbol_offsets, spec->n_symbols);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    if (spec->n_symbols == 0) return UNITOK_OK;
    int64_t *ids = mem_alloc((size_t)spec->n_symbols * sizeof *ids);
    if (!ids) return fail_memory(error);
    int32_t status = UNITOK_OK;
    for (int64_t i = 0; i < spec->n_symbols && !status; i++) {
        const uint8_t *symbol = spec->symbols + spec->symbol_offsets[i];
        int64_t n_bytes = spec->symbol_offsets[i + 1] - spec->symbol_offsets[i];
        ids[i] = 0;
        if (n_bytes == 0) status = fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a symbol is empty");
        else s->begins_symbol[symbol[0]] = 1;
        /* Such a symbol may end inside a U+2581, which compact text does not contain. */
        if (!utf8_is_valid(symbol, n_bytes)) s->is_compact = 0;
    }
    s->first_byte = spec->symbols[spec->symbol_offsets[0]];
    for (int64_t i = 1; i < spec->n_symbols && !status; i++)
        if (spec->symbols[spec->symbol_offsets[i]] != s->first_byte) s->first_byte = -1;
    if (s->first_byte == space_symbol[0])
        s->first_byte = -1; /* compact text uses a different byte for U+2581 */
    /* In compact text a symbol that begins with U+2581 begins with a space. For other text this
     * costs only a lookup that fails. */
    s->begins_symbol[SPACE_BYTE] |= s->begins_symbol[space_symbol[0]];
    trie_parts parts;
    if (!status)
        status = trie_build(spec->symbols, spec->symbol_offsets, ids, spec->n_symbols, &parts,
                            error);
    if (!status) s->symbols = parts.units;
    mem_free(ids);
    return status;
}

/* Stores the delimiter in the same form as the text that is searched for it; returns 0 if
 * allocation fails. */
static int take_delimiter(unitok_segmenter *s, const uint8_t *delimiter, int64_t n_bytes)
{
    if (n_bytes == 0) return 1;
    if (!utf8_is_valid(delimiter, n_bytes)) s->is_compact = 0;
    /* Normalized text has no spaces, so a delimiter that contains a space never occurs. */
    if (s->is_compact && memchr(delimiter, SPACE_BYTE, (size_t)n_bytes)) return 1;
    s->delimiter = mem_alloc((size_t)n_bytes);
    if (!s->delimiter) return 0;
    memcpy(s->delimiter, delimiter, (size_t)n_bytes);
    s->n_delimiter_bytes = s->is_compact ? space_symbols_close(delimiter, n_bytes, s->delimiter)
                                         : n_bytes;
    return 1;
}

/* Whether a unit ends between these two characters. With UNITOK_SEGMENT_CUT, units end at every
 * border that no piece crosses; without this flag, only at spaces, as sentencepiece divides
 * sentences into words. Excluded characters then stay inside their unit. */
static int is_cut(const unitok_segmenter *s, uint32_t a, uint32_t b)
{
    if (s->flags & UNITOK_SEGMENT_CUT) return rules_cut(s->rules, a, b);
    if (!(s->rules->flags & UNITOK_RULE_SPLIT_BY_WHITESPACE)) return 0;
    return (a == CHAR_SPACE || b == CHAR_SPACE) && !rules_exclude(a) && !rules_exclude(b)
               ? rules_cut(s->rules, a, b)
           : (s->rules->flags & UNITOK_RULE_WHITESPACE_AS_SUFFIX) ? a == CHAR_SPACE
                                                                  : b == CHAR_SPACE;
}

/* `joins` is filled by calling is_cut with an example of each kind, so the table cannot disagree
 * with the rules. */
static void fill_kinds(unitok_segmenter *s)
{
    static const uint32_t examples[KIND_HIGH] = {0, CHAR_SPACE, '0', 'a', '.'};
    for (uint32_t c = 0; c < 0x80; c++)
        s->kinds[c] = rules_exclude(c)                        ? KIND_EXCLUDED
                      : is_digit(c)                           ? KIND_DIGIT
                      : s->rules->scripts[c] != SCRIPT_COMMON ? KIND_LETTER
                                                              : KIND_OTHER;
    memset(s->kinds + 0x80, KIND_HIGH, 0x80);
    if (s->is_compact) s->kinds[SPACE_BYTE] = KIND_SPACE;
    for (int a = 0; a < KIND_HIGH; a++)
        for (int b = 0; b < KIND_HIGH; b++)
            if (!is_cut(s, examples[a], examples[b])) s->joins[a] |= (uint8_t)(1 << b);
}

static int32_t new_with_pattern(const unitok_segment_spec *spec, unitok_segmenter **ret,
                                unitok_error *error)
{
    unitok_segmenter *s = mem_zalloc(1, sizeof *s);
    if (s) s->splitter = splitter_new(spec->pattern, spec->counter);
    if (!s || !s->splitter) {
        unitok_segmenter_free(s);
        return fail_memory(error);
    }
    *ret = s;
    return UNITOK_OK;
}

/* The normalizer determines whether text can be compact, but a symbol or delimiter that is invalid
 * UTF-8 rules it out. So the kinds and the table of recent units are prepared last. */
int32_t unitok_segmenter_new(const unitok_segment_spec *spec, unitok_segmenter **ret,
                             unitok_error *error)
{
    if (spec->pattern && spec->counter) return new_with_pattern(spec, ret, error);
    if (!spec->rules || !spec->counter || spec->max_line_bytes < 0 ||
        spec->max_line_bytes > UNITOK_KEY_MAX_BYTES / 8)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a segmenter requires rules, a counter, and a line limit below 256 MiB");
    unitok_segmenter *s = mem_zalloc(1, sizeof *s);
    if (!s) return fail_memory(error);
    s->normalizer = spec->normalizer;
    s->rules = spec->rules;
    s->counter = spec->counter;
    s->flags = spec->flags;
    s->max_line_bytes = spec->max_line_bytes;
    s->is_compact = s->normalizer && s->normalizer->is_compact &&
                    s->normalizer->flags & UNITOK_ESCAPE_WHITESPACES;
    int32_t status = take_symbols(s, spec, error);
    if (!status && !take_delimiter(s, spec->delimiter, spec->n_delimiter_bytes))
        status = fail_memory(error);
    fill_kinds(s);
    if (!status && !recent_open(&s->recent, s->counter, s->is_compact)) status = fail_memory(error);
    if (status) unitok_segmenter_free(s);
    else *ret = s;
    return status;
}

/* The counter, the rules and the normalizer belong to the caller. */
void unitok_segmenter_free(unitok_segmenter *s)
{
    if (!s) return;
    mem_free(s->symbols);
    mem_free(s->delimiter);
    mem_free(s->normalized.bytes);
    mem_free(s->replaced.bytes);
    mem_free(s->key.bytes);
    mem_free(s->ends);
    recent_close(&s->recent);
    splitter_free(s->splitter);
    mem_free(s);
}

/* memory_bytes does not include the counter, which reports its own memory. */
void unitok_segmenter_get_stats(const unitok_segmenter *s, unitok_segment_stats *ret)
{
    *ret = s->stats;
    ret->memory_bytes = s->normalized.capacity + s->replaced.capacity + s->key.capacity +
                        s->ends_capacity * (int64_t)sizeof *s->ends +
                        recent_memory_bytes(&s->recent) +
                        (s->splitter ? splitter_memory_bytes(s->splitter) : 0);
}

/* Buffers are padded, because recent_add reads 16 bytes from the start of a unit, even if the unit
 * is shorter. */
static int reserve(struct buffer *buffer, int64_t n_bytes)
{
    return grow(&buffer->bytes, n_bytes + BUFFER_PADDING, &buffer->capacity, 1);
}

/* ---------------------------------------------------------------------------------- A line ---- */

/* Normalizes text[0..*io_n) into a buffer of the segmenter; NULL if allocation fails. A line is
 * complete, so the normalizer is told that the text ends with it. */
static const uint8_t *normalize_line(unitok_segmenter *s, const uint8_t *text, int64_t *io_n)
{
    /* One and a half times the line is enough for nearly every line; the loop below grows the
     * buffer if a charsmap adds more. */
    unitok_normalize_state state = {.is_verbatim = !s->is_compact};
    int64_t n_consumed = 0, n_out = 0, step = s->normalizer ? s->normalizer->max_step_bytes : 0;
    if (!reserve(&s->normalized, *io_n + *io_n / 2 + 2 * step)) return NULL;
    if (!s->normalizer) return memcpy(s->normalized.bytes, text, (size_t)*io_n);
    while (!state.is_ended) {
        if (!reserve(&s->normalized, n_out + step)) return NULL;
        n_out += unitok_normalize_some(s->normalizer, &state, text, *io_n, &n_consumed, 1,
                                       s->normalized.bytes + n_out,
                                       s->normalized.capacity - BUFFER_PADDING - n_out);
    }
    *io_n = n_out;
    return s->normalized.bytes;
}

/* The length of the longest symbol at the start of text; 0 if there is none. Symbols are not stored
 * in compact form, but the text may be compact: its spaces are looked up as the three bytes of
 * U+2581. */
static int64_t symbol_bytes(const unitok_segmenter *s, const uint8_t *text, int64_t n_bytes)
{
    int64_t longest = 0;
    uint32_t base = TRIE_ROOT_BASE;
    for (int64_t i = 0; i < n_bytes; i++) {
        const uint8_t *bytes;
        int n = space_symbol_open(s->is_compact, text + i, &bytes);
        uint64_t unit = 0;
        for (int k = 0; k < n; k++) {
            unit = s->symbols[base ^ bytes[k]];
            if (!unit_has_label(unit, bytes[k])) return longest;
            base = unit_base(unit);
        }
        if (unit_value(unit)) longest = i + 1;
    }
    return longest;
}

/* Replaces symbols with boundaries. Returns the text itself if it has none; NULL if allocation
 * fails. */
static const uint8_t *replace_symbols(unitok_segmenter *s, const uint8_t *text, int64_t *io_n)
{
    int64_t i = 0, n = *io_n;
    /* Symbols such as "<unk>", "<s>" and "</s>" share their first byte: one memchr rules them
     * out. */
    if (s->first_byte >= 0 && !memchr(text, s->first_byte, (size_t)n)) return text;
    /* Most lines that contain the first byte contain no symbol, so the text is copied only once one
     * is found. */
    while (i < n && !(s->begins_symbol[text[i]] && symbol_bytes(s, text + i, n - i))) i++;
    if (i == n) return text;
    if (!reserve(&s->replaced, n)) return NULL;
    uint8_t *out = s->replaced.bytes;
    int64_t n_out = 0;
    for (i = 0; i < n;) {
        int64_t found = s->begins_symbol[text[i]] ? symbol_bytes(s, text + i, n - i) : 0;
        if (found) {
            out[n_out++] = CHAR_BOUNDARY;
            i += found;
            continue;
        }
        /* A symbol begins at a character, so other characters are copied completely. */
        for (int length = char_bytes(text[i]); length > 0 && i < n; length--)
            out[n_out++] = text[i++];
    }
    *io_n = n_out;
    return out;
}

/* Replaces delimiters with boundaries. A boundary is one byte, and no delimiter is shorter, so this
 * works in place. NULL if allocation fails. */
static const uint8_t *replace_delimiters(unitok_segmenter *s, const uint8_t *text, int64_t *io_n)
{
    if (!reserve(&s->replaced, *io_n)) return NULL;
    uint8_t *out = s->replaced.bytes; /* may be the text itself */
    int64_t n_out = 0, d = s->n_delimiter_bytes;
    for (int64_t i = 0; i < *io_n;) {
        if (*io_n - i >= d && memcmp(text + i, s->delimiter, (size_t)d) == 0) {
            out[n_out++] = CHAR_BOUNDARY;
            i += d;
        } else {
            out[n_out++] = text[i++];
        }
    }
    *io_n = n_out;
    return out;
}

/* ----------------------------------------------------------------------------------- Units ---- */

/* The character at the start of text; U+2581 for a space of compact text. */
INLINE uint32_t open_char_at(const unitok_segmenter *s, const uint8_t *text, int *ret_n_bytes)
{
    uint32_t c = char_at(text, ret_n_bytes);
    return c == SPACE_BYTE && s->is_compact ? CHAR_SPACE : c;
}

/* Writes a unit into s->key, followed by n_marks marks, by a NUL at the end of a line, and by the
 * follower. Returns its length, or -1 if allocation fails. */
static int64_t followed(unitok_segmenter *s, const uint8_t *unit, int64_t n_unit, int n_marks,
                        int is_end, const uint8_t *follower, int64_t n_follower)
{
    if (!reserve(&s->key, n_unit + 8)) return -1;
    uint8_t *key = s->key.bytes;
    memcpy(key, unit, (size_t)n_unit);
    memset(key + n_unit, FOLLOWER_MARK, (size_t)n_marks);
    int64_t n = n_unit + n_marks;
    if (is_end) key[n++] = 0;
    if (n_follower) memcpy(key + n, follower, (size_t)n_follower);
    return n + n_follower;
}

/* The follower is part of the key, so a unit is counted separately for each character that follows
 * it. */
static int count_followed(unitok_segmenter *s, const uint8_t *unit, int64_t n_unit, int is_end,
                          const uint8_t *follower, int64_t n_follower, uint64_t weight)
{
    int64_t n = followed(s, unit, n_unit, 1, is_end, follower, n_follower);
    return n >= 0 && recent_add(&s->recent, s->key.bytes, n, weight);
}

/* There is one entry for each line, so the memory of `ends` grows with the number of lines. */
static int add_end(unitok_segmenter *s, struct line_end end)
{
    if (!grow(&s->ends, s->n_ends, &s->ends_capacity, sizeof *s->ends)) return 0;
    s->ends[s->n_ends++] = end;
    return 1;
}

/* Counts the last unit of a line of weight w: w - 1 times followed by the start of the same line;
 * the last time, the unit waits for the next line. */
static int count_last(unitok_segmenter *s, const uint8_t *line, const uint8_t *unit, int64_t n_unit,
                      uint64_t weight)
{
    int n_first;
    uint32_t first = open_char_at(s, line, &n_first);
    /* An ordered counter gets the copies from unitok_segmenter_finish(). */
    int is_ordered = !s->counter->slots;
    if (weight > 1 && !is_ordered && !count_followed(s, unit, n_unit, 1, line, n_first, weight - 1))
        return 0;
    int64_t n = followed(s, unit, n_unit, 1, 0, NULL, 0);
    int64_t entry = n < 0 ? -1 : recent_count_now(&s->recent, s->key.bytes, n, 0);
    return entry >= 0 && add_end(s, (struct line_end){weight, (uint32_t)entry, first});
}

/* The end of the unit that begins at `begin`. Between ASCII characters the kinds of bytes decide,
 * elsewhere the scripts. */
static int64_t unit_end(const unitok_segmenter *s, const uint8_t *text, int64_t begin,
                        int64_t n_bytes)
{
    int n_char;
    uint32_t before = open_char_at(s, text + begin, &n_char);
    int64_t i = begin + n_char;
    int kind = s->kinds[text[begin]];
    for (;;) {
        /* The inner loop for ASCII: two table lookups and a shift for each byte. */
        while (i < n_bytes && s->joins[kind] >> s->kinds[text[i]] & 1) kind = s->kinds[text[i++]];
        if (i == n_bytes) return i;
        /* Here the kinds do not join, or a character is not ASCII. */
        int next = s->kinds[text[i]];
        if (kind != KIND_HIGH) {
            if (next != KIND_HIGH) return i;
            before = open_char_at(s, text + i - 1, &n_char);
        }
        uint32_t c = open_char_at(s, text + i, &n_char);
        /* Neighbours of one script are never cut, except for Common, which contains all excluded
         * characters. */
        int script = s->rules->scripts[c];
        if ((script == SCRIPT_COMMON || script != s->rules->scripts[before]) &&
            is_cut(s, before, c))
            return i;
        before = c;
        kind = next;
        i += n_char;
    }
}

/* Without followers a unit is counted in place, without a copy. */
static int count_units(unitok_segmenter *s, const uint8_t *text, int64_t n_bytes, uint64_t weight)
{
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = unit_end(s, text, begin, n_bytes);
        int ok;
        if (!(s->flags & UNITOK_SEGMENT_FOLLOWERS)) {
            ok = recent_add(&s->recent, text + begin, end - begin, weight);
        } else if (end < n_bytes) {
            ok = count_followed(s, text + begin, end - begin, 0, text + end, char_bytes(text[end]),
                                weight);
        } else {
            ok = count_last(s, text, text + begin, end - begin, weight);
        }
        if (!ok) return 0;
    }
    return 1;
}

/* A line with U+2585 cannot be trained on, because that character stands for unknown ones. memchr
 * finds its first byte, so most text is skipped quickly. */
static int contains_unknown(const uint8_t *line, int64_t n_bytes)
{
    for (const uint8_t *at = line; n_bytes - (at - line) >= 3; at++) {
        at = memchr(at, 0xE2, (size_t)(n_bytes - (at - line) - 2));
        if (!at) return 0;
        if (at[1] == 0x96 && at[2] == 0x85) return 1;
    }
    return 0;
}

/* Parses "text TAB count": returns the count, and the length of the text in *io_n; 0 if the line
 * does not have that form. At most 18 digits are accepted, which fit in 64 bits. */
static uint64_t read_weight(const uint8_t *line, int64_t *io_n)
{
    const uint8_t *tab = memchr(line, '\t', (size_t)*io_n);
    if (!tab) return 0;
    const uint8_t *at = tab + 1, *end = line + *io_n;
    /* As in sentencepiece's parser, spaces around the number and a leading plus sign are allowed.
     */
    while (end > at && (end[-1] == ' ' || end[-1] == '\r')) end--;
    while (at < end && *at == ' ') at++;
    if (at < end && *at == '+') at++;
    if (at == end || end - at > 18) return 0;
    uint64_t weight = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return 0;
        weight = weight * 10 + (uint64_t)(*at - '0');
    }
    *io_n = tab - line;
    return weight;
}

/* Counts a line. Returns 1; 0 if allocation fails; -1 if it is not "text TAB count"; -2 if it is
 * invalid UTF-8. A line that is skipped is counted in the statistics, so that a report can show how
 * many there were. */
static int count_line(unitok_segmenter *s, const uint8_t *line, int64_t n_bytes)
{
    uint64_t weight = 1;
    if ((s->flags & UNITOK_SEGMENT_TSV) && !(weight = read_weight(line, &n_bytes))) return -1;
    if (n_bytes == 0) return 1;
    if (n_bytes > s->max_line_bytes) {
        s->stats.n_too_long++;
        s->stats.n_too_long_bytes += n_bytes;
        return 1;
    }
    if (contains_unknown(line, n_bytes)) {
        s->stats.n_reserved++;
        return 1;
    }
    s->stats.n_lines++;
    const uint8_t *text = normalize_line(s, line, &n_bytes);
    if (!text) return 0;
    if (s->symbols && !(text = replace_symbols(s, text, &n_bytes))) return 0;
    if (s->delimiter && !(text = replace_delimiters(s, text, &n_bytes))) return 0;
    /* Compact text is always valid. */
    if (!s->is_compact && !utf8_is_valid(text, n_bytes)) return -2;
    if (n_bytes) return count_units(s, text, n_bytes, weight);
    s->stats.n_empty++;
    return s->flags & UNITOK_SEGMENT_FOLLOWERS ? add_end(s, (struct line_end){weight, NO_ENTRY, 0})
                                               : 1;
}

static int32_t split(unitok_segmenter *s, const uint8_t *data, const int64_t *offsets,
                     int64_t n_docs, unitok_error *error)
{
    for (int64_t k = 0; k < n_docs; k++) {
        int64_t n_bytes = offsets[k + 1] - offsets[k];
        int done = splitter_add(s->splitter, data + offsets[k], n_bytes, data + offsets[n_docs]);
        if (done == 0) return fail(error, UNITOK_ERROR_MEMORY, k, -1, "not enough memory");
        if (done < 0)
            return fail(error, UNITOK_ERROR_FORMAT, k, -1, "a piece has more than 2^31 - 1 bytes");
        s->stats.n_bytes += n_bytes;
    }
    return UNITOK_OK;
}

/* Errors name the document and the position in it where the line begins. */
int32_t unitok_segmenter_add(unitok_segmenter *s, const uint8_t *data, const int64_t *offsets,
                             int64_t n_docs, unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_docs);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    if (s->splitter) return split(s, data, offsets, n_docs, error);
    int is_one_line = s->flags & UNITOK_SEGMENT_WHOLE;
    for (int64_t k = 0; k < n_docs; k++) {
        const uint8_t *at = data + offsets[k], *end = data + offsets[k + 1];
        while (at < end) {
            const uint8_t *newline = is_one_line ? NULL : memchr(at, '\n', (size_t)(end - at));
            int64_t n_bytes = (newline ? newline : end) - at;
            int done = count_line(s, at, n_bytes);
            if (done == 0) return fail(error, UNITOK_ERROR_MEMORY, k, -1, "not enough memory");
            if (done < 0)
                return fail(error, UNITOK_ERROR_FORMAT, k, at - data - offsets[k],
                            done == -1 ? "a line is not a text, a tab and a count of at least 1"
                                       : "a line is invalid UTF-8 once normalized");
            at += n_bytes + 1;
        }
        s->stats.n_bytes += offsets[k + 1] - offsets[k];
    }
    return UNITOK_OK;
}

/* Removes lines that became empty. As in sentencepiece, the last line takes the place of such a
 * line, which changes the order. Only the followers of the last units depend on that order. */
static int64_t drop_empty(struct line_end *ends, int64_t n)
{
    for (int64_t i = 0; i < n;) {
        if (ends[i].entry == NO_ENTRY) ends[i] = ends[--n];
        else i++;
    }
    return n;
}

/* Called before the counter is read. The segmenter can be used afterwards. */
int32_t unitok_segmenter_flush(unitok_segmenter *s, unitok_error *error)
{
    int done = s->splitter ? splitter_flush(s->splitter) : recent_flush(&s->recent);
    return done ? UNITOK_OK : fail_memory(error);
}

/* Counts the last unit of a line, followed by the next line; returns 0 if allocation fails. */
static int count_end(unitok_segmenter *s, const struct line_end *end, int n_marks,
                     const struct line_end *next, uint64_t count)
{
    const struct counter_entry *entry = &s->counter->entries[end->entry];
    uint8_t first[4];
    int n_first = next ? utf8_encode(next->first_char, first) : 0;
    int64_t n_bytes = followed(s, entry->key, entry->n_bytes - 1, n_marks, 1, first, n_first);
    return n_bytes >= 0 && counter_add(s->counter, s->key.bytes, n_bytes, count) >= 0;
}

/* The last units of all lines are known now, and each gets the first character of the next line, if
 * there is one. In an ordered counter, the first w - 1 copies in a line of weight w come before the
 * last one. */
int32_t unitok_segmenter_finish(unitok_segmenter *s, unitok_error *error)
{
    int64_t n = drop_empty(s->ends, s->n_ends);
    int is_ordered = !s->counter->slots;
    for (int64_t i = 0; i < n; i++) {
        const struct line_end *end = &s->ends[i];
        if (is_ordered && end->weight > 1 && !count_end(s, end, 2, end, end->weight - 1))
            return fail_memory(error);
        if (!count_end(s, end, 1, i + 1 < n ? end + 1 : NULL, 1)) return fail_memory(error);
    }
    mem_free(s->ends);
    s->ends = NULL;
    s->n_ends = s->ends_capacity = 0;
    return unitok_segmenter_flush(s, error);
}
