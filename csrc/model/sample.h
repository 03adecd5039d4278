/* sample.h - what a model can be sampled by */
#pragma once

#include "model/scratch.h"

/* Makes the scratch ready. UNITOK_ERROR_ARGUMENT says why this model cannot be sampled so. */
int32_t sample_prepare(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                       unitok_error *error);
