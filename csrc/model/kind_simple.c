/* kind_simple.c - SentencePiece's character and word models, as kinds of models; and the table of
 * all kinds */

#include "ground/error.h"
#include "model/build.h"
#include "model/image.h"
#include "model/kind.h"

static loop_kind loop(const unitok_model *m)
{
    (void)m;
    return LOOP_ALONE_16;
}

static int64_t memory_bytes(const unitok_model *m)
{
    (void)m;
    return 0; /* small beside the pieces */
}

/* ------------------------------------------------------------------------------ Characters ---- */

static int32_t build_characters(unitok_model *m, unitok_error *error)
{
    text_pieces pieces;
    unitok_spec spec;
    int32_t status = text_pieces_of(m, 0, &pieces, &spec)
                         ? characters_new(&spec, &m->characters, error)
                         : fail_memory(error);
    text_pieces_free(&pieces);
    return status;
}

static void free_characters(unitok_model *m)
{
    characters_free(&m->characters);
}

static int64_t encode_characters(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                                 int64_t n_bytes, token *tokens)
{
    (void)s;
    return characters_segment(&m->characters, text, n_bytes, tokens);
}

const model_kind kind_characters = {
    .flags = TEXT_FLAGS,
    .tokens_per_byte = 1,
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build_characters,
    .loop = loop,
    .memory_bytes = memory_bytes,
    .free = free_characters,
    .encode = encode_characters,
    .find = build_find,
};

/* ----------------------------------------------------------------------------------- Words ---- */

static int32_t build_words(unitok_model *m, unitok_error *error)
{
    text_pieces pieces;
    unitok_spec spec;
    int32_t status = text_pieces_of(m, 0, &pieces, &spec) ? words_new(&spec, &m->words, error)
                                                          : fail_memory(error);
    text_pieces_free(&pieces);
    m->whole = !m->compact; /* U+2581 is three bytes there, which no cut sees */
    return status;
}

static void free_words(unitok_model *m)
{
    words_free(&m->words);
}

static int begins_word(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    return m->compact ? text[0] == SPACE_BYTE : space_symbol_begins(text, n_bytes);
}

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
        words_segment(&m->words, text + begin, end - begin, tokens + n);
        tokens[n++].end = (uint32_t)end;
    }
    return n;
}

const model_kind kind_words = {
    .flags = TEXT_FLAGS,
    .cut_flags = CUT_BEFORE_SPACE | CUT_NOWHERE_ELSE,
    .tokens_per_byte = 1,
    .make_image = spec_image_build,
    .open = spec_image_open,
    .build = build_words,
    .loop = loop,
    .memory_bytes = memory_bytes,
    .free = free_words,
    .encode = encode_words,
    .find = build_find,
};

/* ------------------------------------------------------------------------------- All kinds ---- */

const model_kind *kind_of(int32_t kind)
{
    switch (kind) {
    case UNITOK_KIND_LONGEST:
        return &kind_longest;
    case UNITOK_KIND_UNIGRAM:
        return &kind_unigram;
    case UNITOK_KIND_BPE:
        return &kind_bpe;
    case UNITOK_KIND_CHAR:
        return &kind_characters;
    case UNITOK_KIND_WORD:
        return &kind_words;
    default:
        return NULL;
    }
}
