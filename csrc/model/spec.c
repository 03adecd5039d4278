/* spec.c - the rules of spec.h: kind.h has the flags of each kind, the table here how they can be
 * combined */

#include "model/kind.h"

/* With `flag`, all of `needs` must be set and none of `excludes`. */
static const struct rule {
    int32_t kinds, flag, needs, excludes;
    const char *message;
} rules[] = {
#define KIND(kind) (1 << UNITOK_KIND_##kind)
    {KIND(UNIGRAM), UNITOK_BYTES, UNITOK_FLOAT64,
     TEXT_FLAGS | UNITOK_RESTART_AT_SPACE | UNITOK_BYTE_PIECES_MATCH,
     "BYTES needs FLOAT64 and excludes every flag that works on characters"},
    {KIND(UNIGRAM), UNITOK_RESTART_AFTER_NEWLINE, UNITOK_BYTES, 0,
     "RESTART_AFTER_NEWLINE needs BYTES"},
    {KIND(UNIGRAM), UNITOK_RESTART_AT_SPACE, UNITOK_FLOAT64, 0, "RESTART_AT_SPACE needs FLOAT64"},
    {KIND(UNIGRAM), UNITOK_BYTE_PIECES_MATCH, UNITOK_FLOAT64 | UNITOK_BYTE_FALLBACK, 0,
     "BYTE_PIECES_MATCH needs FLOAT64 and BYTE_FALLBACK"},
    {KIND(BPE), UNITOK_RESTART_AT_SPACE, UNITOK_LISTED_MERGES, 0,
     "RESTART_AT_SPACE needs LISTED_MERGES"},
    {KIND(BPE), UNITOK_IGNORE_MERGES, UNITOK_LISTED_MERGES, 0, "IGNORE_MERGES needs LISTED_MERGES"},
    {KIND(BPE), UNITOK_BYTES, UNITOK_LISTED_MERGES,
     TEXT_FLAGS | UNITOK_RESTART_AT_SPACE | UNITOK_IGNORE_MERGES,
     "BYTES needs LISTED_MERGES and excludes every flag that works on characters"},
#undef KIND
};

const char *spec_check_flags(int32_t kind, int32_t flags)
{
    if (!kind_of(kind)) return "unknown kind of model";
    if (flags & ~UNITOK_FLAGS_ALL) return "unknown flag";
    if (flags & ~kind_of(kind)->flags) return "this kind of model does not support these flags";
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const struct rule *r = &rules[k];
        if (!(r->kinds >> kind & 1) || !(flags & r->flag)) continue;
        if ((flags & r->needs) != r->needs || flags & r->excludes) return r->message;
    }
    return NULL;
}

const char *spec_check_sizes(const unitok_spec *spec)
{
    if (spec->n_pieces < 0) return "the number of pieces is negative";
    if (spec->n_charsmap_bytes < 0 || spec->n_charsmap_bytes > CHARSMAP_BYTES_MAX)
        return "the size of the charsmap is out of range";
    if (spec->n_unknown_surface_bytes < 0 || spec->n_unknown_surface_bytes > SURFACE_BYTES_MAX)
        return "the size of the unknown surface is out of range";
    if (spec->n_merges < 0 || spec->n_merges > MERGES_MAX ||
        (spec->n_merges && !(spec->flags & UNITOK_LISTED_MERGES)))
        return "the number of merges is out of range";
    return NULL;
}
