/* spec.h - which specs are valid: the flags that each kind of model supports, and the sizes in a
 * spec */
#pragma once

#include "ground/common.h"

#define CHARSMAP_BYTES_MAX (1 << 28)
#define SURFACE_BYTES_MAX (1 << 24)
/* merges have 22 bits in bpe_tables.h, of which all ones is none */
#define MERGES_MAX ((1 << 22) - 2)

/* The flags of every kind that normalizes texts. */
#define TEXT_FLAGS                                                                                 \
    (UNITOK_ADD_DUMMY_PREFIX | UNITOK_REMOVE_EXTRA_WHITESPACES | UNITOK_ESCAPE_WHITESPACES |       \
     UNITOK_WHITESPACE_AS_SUFFIX | UNITOK_BYTE_FALLBACK | UNITOK_MERGE_UNKNOWN)

/* With `flag`, all of `needs` must be set and none of `excludes`. */
typedef struct flag_rule {
    int32_t flag, needs, excludes;
    const char *message; /* NULL ends a list */
} flag_rule;

/* NULL, or why there is no model of this kind with these flags: a combination that no reader of
 * model files produces. */
const char *spec_check_flags(int32_t kind, int32_t flags);

/* NULL, or which size of the spec is out of range. */
const char *spec_check_sizes(const unitok_spec *spec);
