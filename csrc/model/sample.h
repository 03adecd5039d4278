/* sample.h - prepares a scratch for sampling */
#pragma once

#include "model/scratch.h"

/* Prepares the scratch. UNITOK_ERROR_ARGUMENT: the model does not support this sampling; the
 * message gives the reason. Call it before drawing from a lattice, with the same alpha. */
int32_t sample_prepare(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                       unitok_error *error);
