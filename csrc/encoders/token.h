/* token.h - the output of encoders: the id of a piece and where it ends */
#pragma once

#include "ground/space.h"
#include "ground/utf8.h"

/* id: a piece's id, or TOKEN_UNKNOWN for a character that no piece covers. end: in bytes from the
 * start of the segment. */
typedef struct token {
    int32_t id;
    uint32_t end;
} token;

#define TOKEN_UNKNOWN (-1)

/* The maximum size of a text whose tokens are all held at once. */
#define TEXT_BYTES_MAX (1 << 29)
