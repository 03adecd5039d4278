/* error.h - reports a failure: fills the caller's unitok_error and returns its status */
#pragma once

#include "ground/common.h"

/* Fills *error, unless it is NULL, and returns the status, so that callers can write `return
 * fail(...)`. `message` must be static. `item` is a document, piece or key, `position` a byte in
 * it; -1: none. */
static inline int32_t fail(unitok_error *error, int32_t status, int64_t item, int64_t position,
                           const char *message)
{
    if (error) {
        error->status = status;
        error->item = item;
        error->position = position;
        error->message = message;
    }
    return status;
}

static inline int32_t fail_memory(unitok_error *error)
{
    return fail(error, UNITOK_ERROR_MEMORY, -1, -1, "not enough memory");
}
