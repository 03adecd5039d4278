/* spec.h - which specs are valid: the flags that each kind of model takes, and the sizes of what a spec points to */
#pragma once

#include "ground/common.h"

#define CHARSMAP_BYTES_MAX (1 << 28)
#define SURFACE_BYTES_MAX (1 << 16)
#define MERGES_MAX ((1 << 22) - 2) /* merges have 22 bits in bpe_tables.h, of which all ones is none */

/* What every kind takes that normalizes texts. */
#define TEXT_FLAGS                                                                                                  \
    (UNITOK_ADD_DUMMY_PREFIX | UNITOK_REMOVE_EXTRA_WHITESPACES | UNITOK_ESCAPE_WHITESPACES |                         \
     UNITOK_WHITESPACE_AS_SUFFIX | UNITOK_BYTE_FALLBACK | UNITOK_MERGE_UNKNOWN)

/* NULL, or why no model can be made of this kind with these flags. Whatever passes here is a combination that some
 * reader of model files produces, or that is harmless beside those. */
const char *spec_check_flags(int32_t kind, int32_t flags);

/* NULL, or which size of the spec is out of range. */
const char *spec_check_sizes(const unitok_spec *spec);
