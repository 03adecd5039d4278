/* kinds.c - the table of all kinds
 *
 * Adding a kind means adding a line to the list of names and one to the table. The order is that of
 * enum unitok_kind, whose numbers are stored in files. */

#include "model/kind.h"

extern const model_kind kind_longest, kind_unigram, kind_bpe, kind_characters, kind_words;

static const model_kind *const kinds[] = {
    [UNITOK_KIND_LONGEST] = &kind_longest, [UNITOK_KIND_UNIGRAM] = &kind_unigram,
    [UNITOK_KIND_BPE] = &kind_bpe,         [UNITOK_KIND_CHAR] = &kind_characters,
    [UNITOK_KIND_WORD] = &kind_words,
};

/* Numbers come from files and from callers, so any value is allowed. */
const model_kind *kind_of(int32_t kind)
{
    int exists = kind > 0 && kind < (int32_t)(sizeof kinds / sizeof *kinds);
    return exists ? kinds[kind] : NULL;
}
