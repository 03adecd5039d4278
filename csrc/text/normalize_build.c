/* normalize_build.c - builds a normalizer: the trie of its symbols, its charsmap, and the classes
 * of characters
 *
 *     1. charsmap    open it, and assign classes to the characters with which its keys begin
 *     2. symbols     sort them, drop those that never match, build a trie, and assign classes
 *     3. class_rest  surrogates, U+2581, single characters that become ASCII, tables of bytes
 *     4. settle_form whether the compact form is available; how much one step can write
 *
 * An example: the keys "ﬁ" → "fi", "e\u0301" → "é" and "Ａ" → "A":
 *
 *     ﬁ     STOP        a key of one character; it does not become one ASCII character
 *     e     MORE        begins a longer key
 *     U+0301  SECOND    after an e, both must be looked up
 *     Ａ    BECOMES | A
 *
 * Classes only ever grow more cautious during steps 1 and 2, so their order does not matter. A
 * character with too cautious a class is looked up and normalized correctly, but more slowly. */

#include "ground/alloc.h"
#include "ground/cpu.h"
#include "ground/error.h"
#include "structures/vocabulary.h"
#include "text/normalize.h"
#include "ground/utf8.h"

/* --------------------------------------------------------------------------------- Classes ---- */

/* Returns the class of a code point. From U+10000 on, 64 code points share a class. */
static uint8_t *class_at(unitok_normalizer *n, uint32_t code_point)
{
    return code_point < 0x10000 ? &n->classes[code_point]
                                : &n->class_blocks[CLASS_BLOCK(code_point)];
}

/* The state while classes are assigned to characters. */
typedef struct classing {
    unitok_normalizer *n;
    charsmap_tree tree;
    /* steps left for walking the charsmap; at 0, the remaining characters become STOP */
    int64_t steps_left;
    uint8_t is_stopped[256]; /* stop_lead was called */
} classing;

/* Makes all characters that begin with this byte STOP. Invalid UTF-8 is never plain, so bytes that
 * begin no character need no class. Called for keys that end inside a character, for symbols that
 * begin with an invalid byte, and if there are too many keys to visit. */
static void stop_lead(classing *w, uint8_t lead)
{
    uint32_t low = lead, high = lead;
    if (w->is_stopped[lead] || (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4))) return;
    w->is_stopped[lead] = 1;
    if (lead >= 0xF0) low = (lead & 7u) << 18, high = low | 0x3FFFF;
    else if (lead >= 0xE0) low = (lead & 0x0Fu) << 12, high = low | 0xFFF;
    else if (lead >= 0x80) low = (lead & 0x1Fu) << 6, high = low | 0x3F;
    if (lead == 0xE0) low = 0x800;
    if (lead == 0xF0) low = 0x10000;
    if (lead == 0xF4) high = 0x10FFFF;
    for (uint32_t c = low; c <= high; c += c < 0x10000 ? 1 : 64) *class_at(w->n, c) |= CLASS_STOP;
}

/* Records that a key or symbol begins with the character `first` and continues with
 * text[0..n_bytes-1], n_bytes > 0. */
static void class_pair(unitok_normalizer *n, uint32_t first, const uint8_t *text, int64_t n_bytes)
{
    int length = utf8_length(text, n_bytes);
    *class_at(n, first) |= length && first < 0x10000 ? CLASS_MORE : CLASS_MORE | CLASS_STOP;
    if (length) *class_at(n, utf8_code_point(text, length)) |= CLASS_SECOND;
    if (length == 1) n->plain.kinds[first < 0x80 ? first : text[0]] = BYTE_LOOK;
}

/* A symbol of one character is copied unchanged, as are most characters, so it needs no class. If
 * it is also a key of the charsmap, it is already STOP. */
static void class_symbol(classing *w, const uint8_t *symbol, int64_t n_bytes)
{
    int length = utf8_length(symbol, n_bytes);
    if (!length) stop_lead(w, symbol[0]);
    else if (length < n_bytes)
        class_pair(w->n, utf8_code_point(symbol, length), symbol + length, n_bytes - length);
}

/* To assign classes, the keys of the charsmap are visited up to their second character. If branches
 * are shared, there can be very many such beginnings, so the number of steps is limited. Real
 * charsmaps take less than one step per unit. */
#define STEPS_PER_UNIT 8
#define STEPS_MIN 65536

/* Assigns classes for keys that begin with the character `first` and continue at `base`, inside
 * their second character, which begins with bytes[0..n_bytes-1]. */
static void class_seconds(classing *w, uint32_t first, uint32_t base, uint8_t *bytes, int n_bytes)
{
    const charsmap *m = &w->n->map;
    for (uint32_t at = w->tree.first[base]; at; at = w->tree.next[at]) {
        if (--w->steps_left < 0) {
            *class_at(w->n, first) |= CLASS_MORE | CLASS_STOP;
            return;
        }
        bytes[n_bytes] = (uint8_t)m->units[at];
        int is_whole = utf8_length(bytes, n_bytes + 1) > 0;
        int goes_on = n_bytes < 3 && bytes[0] >= 0xC2 && !is_whole &&
                      !charsmap_has_leaf(m->units[at]);
        if (is_whole || !goes_on) class_pair(w->n, first, bytes, n_bytes + 1);
        else class_seconds(w, first, charsmap_base(at, m->units[at]), bytes, n_bytes + 1);
    }
}

/* Assigns classes to the characters that begin with bytes[0..n_bytes-1], whose unit is `at`. */
static void class_firsts(classing *w, uint32_t at, uint8_t *bytes, int n_bytes)
{
    unitok_normalizer *n = w->n;
    uint8_t second[4];
    uint32_t base = charsmap_base(at, n->map.units[at]);
    int length = utf8_length(bytes, n_bytes), is_key = charsmap_has_leaf(n->map.units[at]);
    if (!length) {
        int is_lead = bytes[0] >= 0xC2 && bytes[0] < 0xF5 && n_bytes < 4;
        /* a key ends inside a character, or there are too many keys */
        if (is_key || --w->steps_left < 0) {
            stop_lead(w, bytes[0]);
            return;
        }
        for (uint32_t child = w->tree.first[base]; child && is_lead; child = w->tree.next[child]) {
            bytes[n_bytes] = (uint8_t)n->map.units[child];
            if (is_continuation(bytes[n_bytes])) class_firsts(w, child, bytes, n_bytes + 1);
        }
        return;
    }
    uint32_t c = utf8_code_point(bytes, length);
    if (is_key || c >= 0x10000) *class_at(n, c) |= CLASS_STOP;
    if (c < 0x10000) class_seconds(w, c, base, second, 0);
}

/* Visits the first characters of all keys from the root of the charsmap. */
static void class_charsmap(classing *w)
{
    const charsmap *m = &w->n->map;
    uint8_t bytes[4];
    w->steps_left = STEPS_PER_UNIT * m->n_units + STEPS_MIN;
    for (uint32_t at = w->tree.first[charsmap_base(0, m->units[0])]; at; at = w->tree.next[at]) {
        bytes[0] = (uint8_t)m->units[at];
        class_firsts(w, at, bytes, 1);
    }
}

/* Finds characters, such as full-width letters, that are a key, do not begin a longer key or
 * symbol, and become one ASCII character. Their class contains that ASCII character, so text with
 * many such characters stays on the fast path. Only a class that is exactly STOP qualifies: with
 * MORE or SECOND, the result depends on the neighbours. */
static void class_items(unitok_normalizer *n)
{
    uint8_t *end = n->classes + sizeof n->classes, *class = n->blob ? n->classes : end;
    for (; (class = memchr(class, CLASS_STOP, (size_t)(end - class))) != NULL; class++) {
        uint8_t text[4];
        const uint8_t *gives = NULL;
        int n_bytes = utf8_encode((uint32_t)(class - n->classes), text);
        if (symbols_match(n, text, n_bytes) ||
            charsmap_match(&n->map, text, n_bytes, &gives) != n_bytes)
            continue;
        if (gives[0] && gives[0] < 0x80 && !gives[1]) *class = CLASS_BECOMES | gives[0];
    }
}

/* Completes the classes after those of the charsmap and the symbols: surrogates, U+2581, characters
 * that become ASCII, and the tables for bytes. */
static void class_rest(unitok_normalizer *n)
{
    memset(n->classes + 0xD800, CLASS_STOP, 0x800);
    if (n->flags & UNITOK_ESCAPE_WHITESPACES) n->classes[0x2581] |= CLASS_STOP;
    class_items(n);
    plain_build(n);
}

/* --------------------------------------------------------------------------------- Symbols ---- */

/* Lists the USER_DEFINED pieces in byte order, each once: a HAT-trie removes duplicates and
 * sorts. */
static int32_t sort_symbols(const unitok_spec *spec, sorted_pieces *ret, unitok_error *error)
{
    int64_t n_bytes = 0, value = 0;
    unitok_hat *hat = NULL;
    int32_t status = unitok_hat_new(&hat, error);
    for (int64_t k = 0; k < spec->n_pieces && !status; k++) {
        if (piece_type(spec, k) != UNITOK_PIECE_USER_DEFINED) continue;
        if (spec->offsets[k] == spec->offsets[k + 1]) {
            status = fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "a user-defined piece is empty");
            break;
        }
        if (spec->offsets[k + 1] - spec->offsets[k] > SYMBOL_BYTES_MAX) {
            status = fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                          "a user-defined piece is longer than 4096 bytes");
            break;
        }
        n_bytes += spec->offsets[k + 1] - spec->offsets[k];
        status = unitok_hat_insert(hat, spec->data, spec->offsets + k, &value, 1, UNITOK_HAT_SET,
                                   error);
    }
    if (!status) status = sorted_pieces_list(hat, n_bytes, ret, error);
    unitok_hat_free(hat);
    return status;
}

/* Whether symbol k begins with the symbol `prefix`. */
static int begins_with(const sorted_pieces *s, int64_t k, int64_t prefix)
{
    int64_t n_bytes = s->offsets[prefix + 1] - s->offsets[prefix];
    if (s->offsets[k + 1] - s->offsets[k] < n_bytes) return 0;
    return memcmp(s->data + s->offsets[k], s->data + s->offsets[prefix], (size_t)n_bytes) == 0;
}

/* Removes the symbols that can never match. In byte order, the prefixes of a symbol precede it, and
 * each is a prefix of the next, so a stack holds them. */
static void drop_unmatched(sorted_pieces *s)
{
    int64_t stack[SYMBOL_PREFIXES_MAX], depth = 0, n_kept = 0, end = 0;
    for (int64_t k = 0; k < s->n; k++) {
        while (depth && !begins_with(s, k, stack[depth - 1])) depth--;
        if (depth == SYMBOL_PREFIXES_MAX) continue;
        int64_t n_bytes = s->offsets[k + 1] - s->offsets[k];
        memmove(s->data + end, s->data + s->offsets[k], (size_t)n_bytes);
        end += n_bytes;
        stack[depth++] = n_kept++;
        /* n_kept <= k + 1: nothing unread is overwritten */
        s->offsets[n_kept] = end;
    }
    s->n = n_kept;
}

/* User-defined symbols take precedence over keys of the charsmap, so their first characters need
 * classes too. Symbols of invalid UTF-8 make the compact form unavailable: see settle_form. */
static int32_t add_symbols(classing *w, const unitok_spec *spec, unitok_error *error)
{
    unitok_normalizer *n = w->n;
    sorted_pieces s = {0};
    trie_parts parts = {NULL, 0};
    int32_t status = sort_symbols(spec, &s, error);
    if (!status && s.n) {
        drop_unmatched(&s);
        status = trie_build(s.data, s.offsets, s.ids, s.n, &parts, error);
        n->symbols = parts.units;
        n->n_symbol_units = parts.n_units;
    }
    for (int64_t k = 0; k < s.n && !status; k++) {
        const uint8_t *symbol = s.data + s.offsets[k];
        int64_t n_bytes = s.offsets[k + 1] - s.offsets[k];
        class_symbol(w, symbol, n_bytes);
        if (n_bytes > n->max_match_bytes) n->max_match_bytes = n_bytes;
        if (!utf8_is_valid(symbol, n_bytes)) n->is_compact = 0;
        for (int64_t i = 1; i < n_bytes; i++) n->is_inner[symbol[i]] = 1;
    }
    sorted_pieces_free(&s);
    return status;
}

/* -------------------------------------------------------------------------- The normalizer ---- */

/* The charsmap is copied, because the normalizer reads its replacements from there. The tree of its
 * keys is needed only to assign the classes. */
static int32_t add_charsmap(classing *w, const unitok_spec *spec, unitok_error *error)
{
    unitok_normalizer *n = w->n;
    if (!spec->n_charsmap_bytes) return UNITOK_OK;
    n->blob = mem_alloc((size_t)spec->n_charsmap_bytes);
    if (!n->blob) return fail_memory(error);
    memcpy(n->blob, spec->charsmap, (size_t)spec->n_charsmap_bytes);
    int32_t status = charsmap_open(n->blob, spec->n_charsmap_bytes, &w->tree, n->is_inner, &n->map,
                                   error);
    if (!status) {
        class_charsmap(w);
        if (n->map.max_key_bytes > n->max_match_bytes) n->max_match_bytes = n->map.max_key_bytes;
        n->is_compact &= n->map.is_utf8;
    }
    charsmap_tree_free(&w->tree);
    return status;
}

/* Determines whether the compact form is available. Encoders take the size of a character from its
 * lead byte, and compare texts with pieces in which U+2581 is also a space. The result is the same
 * as with the verbatim form if all normalized text is valid UTF-8, because then a step always ends
 * at a character border, and the bytes of U+2581 occur only in that character. Copied characters
 * and U+FFFD are valid, so only the replacements and symbols need to be checked. If spaces are not
 * escaped, the two forms are equal. */
static void settle_form(unitok_normalizer *n)
{
    n->is_utf8 = n->is_compact;
    if (!(n->flags & UNITOK_ESCAPE_WHITESPACES)) n->is_compact = 1;
    /* A space in the verbatim form and an invalid byte become three bytes. The 64 bytes are for the
     * prefix and the held bytes, and PLAIN_ROOM_BYTES lets plain text continue. */
    int64_t longest = n->max_match_bytes;
    if (longest < n->map.max_replacement_bytes) longest = n->map.max_replacement_bytes;
    n->max_step_bytes = 3 * longest + 64 + PLAIN_ROOM_BYTES;
}

int32_t unitok_normalizer_new(const unitok_spec *spec, int32_t cpu, unitok_normalizer **ret,
                              unitok_error *error)
{
    if (cpu == UNITOK_CPU_AUTO) cpu = cpu_best();
    if (!unitok_cpu_supported(cpu)) {
        return fail(error, UNITOK_ERROR_CPU, -1, -1,
                    "this processor or this build does not support that instruction set");
    }
    if (spec->n_pieces < 0 || spec->n_charsmap_bytes < 0) {
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a size is negative");
    }
    unitok_normalizer *n = mem_zalloc(1, sizeof *n);
    if (!n) return fail_memory(error);
    n->flags = spec->flags;
    n->run_plain = plain_normalize_for(cpu);
    n->is_compact = 1;
    n->max_match_bytes = 4;
    classing w = {.n = n};
    int32_t status = add_charsmap(&w, spec, error);
    if (!status) status = add_symbols(&w, spec, error);
    if (status) {
        unitok_normalizer_free(n);
        return status;
    }
    class_rest(n);
    settle_form(n);
    *ret = n;
    return UNITOK_OK;
}

void unitok_normalizer_free(unitok_normalizer *normalizer)
{
    if (!normalizer) return;
    mem_free(normalizer->symbols);
    mem_free(normalizer->blob);
    mem_free(normalizer);
}

void unitok_normalizer_get_info(const unitok_normalizer *n, unitok_normalizer_info *ret)
{
    int64_t n_blob_bytes = n->blob ? 4 + n->map.n_units * 4 + n->map.n_replacement_bytes : 0;
    ret->memory_bytes = (int64_t)sizeof *n + n_blob_bytes + n->n_symbol_units * 8;
    ret->step_bytes = n->max_step_bytes;
    ret->is_compact = n->is_compact;
}
