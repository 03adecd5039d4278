/* spec.c - the functions of spec.h */

#include "model/kind.h"

const char *spec_check_flags(int32_t kind, int32_t flags)
{
    if (!kind_of(kind)) return "unknown kind of model";
    if (flags & ~UNITOK_FLAGS_ALL) return "unknown flag";
    if (flags & ~kind_of(kind)->flags) return "this kind of model does not support these flags";
    for (const flag_rule *r = kind_of(kind)->rules; r && r->message; r++)
        if (flags & r->flag && ((flags & r->needs) != r->needs || flags & r->excludes))
            return r->message;
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
