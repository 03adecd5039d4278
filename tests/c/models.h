/* models.h - builds complete models, which most tests need */
#pragma once

#include "ground/common.h"

static inline int32_t completed(int32_t status, unitok_model **ret, unitok_error *error)
{
    if (status) return status;
    status = unitok_model_complete(*ret, error);
    if (status) {
        unitok_model_free(*ret);
        *ret = NULL;
    }
    return status;
}

static inline int32_t build_complete(const unitok_spec *spec, int32_t engine, int32_t cpu,
                                     unitok_model **ret, unitok_error *error)
{
    return completed(unitok_model_new(spec, engine, cpu, ret, error), ret, error);
}

static inline int32_t load_complete(const uint8_t *bytes, int64_t n_bytes, int32_t engine,
                                    int32_t cpu, unitok_model **ret, unitok_error *error)
{
    return completed(unitok_model_load(bytes, n_bytes, engine, cpu, ret, error), ret, error);
}
