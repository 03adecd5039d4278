/* spec.c - the functions of spec.h
 *
 * A spec comes either from a reader of model files, which never produces an invalid one, or from a
 * native image, which can be damaged. The same functions check both, so an image cannot put a model
 * into a state that no reader produces. */

#include "model/kind.h"

/* A bit mask tells which flags a kind supports; a list of rules tells how they can be combined. */
const char *spec_check_flags(int32_t kind, int32_t flags)
{
    if (!kind_of(kind)) return "unknown kind of model";
    if (flags & ~UNITOK_FLAGS_ALL) return "unknown flag";
    if (flags & ~kind_of(kind)->flags) return "this kind of model does not support these flags";
    for (const flag_rule *r = kind_of(kind)->rules; r && r->message; r++)
        if (flags & r->flag && ((r->needs && !(flags & r->needs)) || flags & r->excludes))
            return r->message;
    return NULL;
}

/* The limits keep the sums of sizes below 2^63 and the offsets of pieces below 2^32, so no later
 * addition can overflow. */
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
    if (spec->n_pattern_bytes < 0 || spec->n_pattern_bytes > PATTERN_BYTES_MAX ||
        !spec->n_pattern_bytes != !(spec->flags & UNITOK_PATTERN))
        return "the size of the pattern is out of range";
    return NULL;
}
