/* build.h - the tables of the kinds that are built when opened */
#pragma once

#include "model/model.h"

/* Builds all that m->spec asks for; what it made is freed by unitok_model_free, also after a failure. */
int32_t build_model(unitok_model *m, int32_t cpu, unitok_error *error);

/* See unitok_model_find. */
int64_t build_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes);

void build_free(unitok_model *m);
