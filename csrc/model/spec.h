/* spec.h - the rules for valid specs: the flags that each kind supports, and the sizes in a spec */
#pragma once

#include "ground/common.h"

#define CHARSMAP_BYTES_MAX (1 << 28)
#define SURFACE_BYTES_MAX (1 << 24)
#define PATTERN_BYTES_MAX (1 << 20)
/* bpe_tables.h stores a merge in 22 bits; all ones mean no merge */
#define MERGES_MAX ((1 << 22) - 2)

/* The flags of every kind that normalizes text. */
#define TEXT_FLAGS                                                                                 \
    (UNITOK_ADD_DUMMY_PREFIX | UNITOK_REMOVE_EXTRA_WHITESPACES | UNITOK_ESCAPE_WHITESPACES |       \
     UNITOK_WHITESPACE_AS_SUFFIX | UNITOK_BYTE_FALLBACK | UNITOK_MERGE_UNKNOWN)

/* If `flag` is set, at least one flag of `needs` must be set (unless `needs` is 0), and no flag of
 * `excludes` may be set. */
typedef struct flag_rule {
    int32_t flag, needs, excludes;
    const char *message; /* NULL ends the list */
} flag_rule;

/* Returns NULL, or a message that explains why no model of this kind can have these flags. No
 * reader of model files produces such a combination. */
const char *spec_check_flags(int32_t kind, int32_t flags);

/* Returns NULL, or a message that names a size in the spec that is out of range. */
const char *spec_check_sizes(const unitok_spec *spec);
