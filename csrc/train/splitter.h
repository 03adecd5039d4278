/* splitter.h - counts the pieces into which a pattern divides texts
 *
 *     a text ──cut where a piece always ends──▶ segments ──▶ counter of segments ──flush: the pattern──▶ counter of pieces
 *                                                  └──long ones: the pattern──────────────────────────────▲
 *
 * Cutting takes one table lookup per byte, and most segments of a text repeat. So the pattern
 * divides every distinct segment once, not every segment of the text. */
#pragma once

#include "text/pattern.h"
#include "unitok_train.h"

typedef struct splitter splitter;

/* Makes a splitter that counts in `counter`, which is complete after a flush; NULL if allocation
 * fails. */
splitter *splitter_new(const pattern *pattern, unitok_counter *counter);
void splitter_free(splitter *s);
int64_t splitter_memory_bytes(const splitter *s);

/* Adds a text; `end` is the end of the readable bytes. Returns 1, 0 if allocation fails, or -1 if a
 * piece has more than UNITOK_KEY_MAX_BYTES bytes. */
int splitter_add(splitter *s, const uint8_t *text, int64_t n_bytes, const uint8_t *end);
int splitter_flush(splitter *s); /* 0 if allocation fails */
