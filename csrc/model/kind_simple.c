/* kind_simple.c - SentencePiece's character and word models
 *
 * In these models a token is a character or a word, so encoding is only a lookup. Neither has a
 * special path: the memo and the walk are sufficient.
 *
 * This file connects encoders/words.c, which knows neither documents nor byte fallback, to the rest
 * of the library; it is the shortest example of what a kind must provide (kind.h). */

#include "encoders/words.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "model/build.h"
#include "model/image.h"
#include "model/run.h"

/* Returns 0: the tables of characters or words are small compared with the pieces, which fill_info
 * counts. */
static int64_t memory_bytes(const unitok_model *m)
{
    (void)m;
    return 0;
}

/* -------------------------------------------------------------------------- characters ---- */

static void free_characters(unitok_model *m)
{
    if (m->state) characters_free(m->state);
    mem_free(m->state);
    m->state = NULL;
}

static int32_t build_characters(unitok_model *m, unitok_error *error)
{
    text_pieces pieces;
    unitok_spec spec;
    int ok = text_pieces_of(m, 0, &pieces, &spec) &&
             (m->state = mem_zalloc(1, sizeof(characters))) != NULL;
    int32_t status = ok ? characters_new(&spec, m->state, error) : fail_memory(error);
    text_pieces_free(&pieces);
    if (status) free_characters(m);
    return status;
}

static int64_t encode_characters(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                                 int64_t n_bytes, token *tokens)
{
    (void)s;
    return characters_segment(m->state, text, n_bytes, tokens);
}

/* There are no flags for float64 or restarts, and no sampling methods, because there is only one
 * way to divide a text into characters. */
const model_kind kind_characters = {
    .flags = TEXT_FLAGS,
    .tokens_per_byte = 1,
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build_characters,
    .memory_bytes = memory_bytes,
    .free = free_characters,
    .cutter = &cuts_by_table,
    .encode = encode_characters,
    .walk = walk_encode,
    .find = build_find,
};

/* ------------------------------------------------------------------------------- words ---- */

static void free_words(unitok_model *m)
{
    if (m->state) words_free(m->state);
    mem_free(m->state);
    m->state = NULL;
}

/* All pieces are converted, because words_new itself leaves out those that cannot match. The cuts
 * are made before spaces (cut_flags below), so they are useless if a space is a U+2581 of three
 * bytes: such a model encodes each document in one piece. */
static int32_t build_words(unitok_model *m, unitok_error *error)
{
    text_pieces pieces;
    unitok_spec spec;
    int ok = text_pieces_of(m, 0, &pieces, &spec) &&
             (m->state = mem_zalloc(1, sizeof(words))) != NULL;
    int32_t status = ok ? words_new(&spec, m->state, error) : fail_memory(error);
    text_pieces_free(&pieces);
    m->is_whole = !m->compact; /* U+2581 then takes three bytes, and the cuts would miss it */
    if (status) free_words(m);
    return status;
}

/* A word begins at each space, which is one byte in compact text and a U+2581 of three bytes
 * otherwise. */
static int begins_word(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    return m->compact ? text[0] == SPACE_BYTE : space_symbol_begins(text, n_bytes);
}

/* Each character advances by the length that its lead byte indicates. The last character may be
 * incomplete, so an end past the text is clipped. */
static int64_t encode_words(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                            int64_t n_bytes, token *tokens)
{
    int64_t n = 0;
    (void)s;
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = begin + char_bytes(text[begin]);
        while (end < n_bytes && !begins_word(m, text + end, n_bytes - end))
            end += char_bytes(text[end]);
        if (end > n_bytes) end = n_bytes;
        words_segment(m->state, text + begin, end - begin, tokens + n);
        tokens[n++].end = (uint32_t)end;
    }
    return n;
}

/* Cuts are made before spaces and nowhere else, so every segment is a word, or several if a cut is
 * missed. */
const model_kind kind_words = {
    .flags = TEXT_FLAGS,
    .cut_flags = CUT_BEFORE_SPACE | CUT_NOWHERE_ELSE,
    .tokens_per_byte = 1,
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build_words,
    .memory_bytes = memory_bytes,
    .free = free_words,
    .cutter = &cuts_by_table,
    .encode = encode_words,
    .walk = walk_encode,
    .find = build_find,
};
