/* bpe_layout.h - lays out units as slots, with any number of workers
 *
 * Each worker has a share of the units:
 *
 * 1. The worker sorts its units by count, measures each level, and records which characters occur.
 * 2. layout_join assigns symbols to the characters, by code point, and a range of slots to each
 *    level of each worker. Bytes are ordered by the characters that GPT-2 shows for them: those
 *    that are printable in Latin-1 come first.
 * 3. The worker writes its units to these slots.
 *
 *     slots   | level 9120: worker 0, 1, 2 | level 8001: worker 0, 2 | ... | level 1: worker 0, 1, 2 |
 *
 * The order of the units within a level depends on the number of workers, but the results do not:
 * see bpe.c. */
#pragma once

#include "train/bpe_slots.h"
#include "train/rules.h"

/* The units of one worker and their measurements. No other worker reads a share before
 * layout_join. */
typedef struct layout_share {
    int64_t begin, end; /* the units of this share */
    int64_t
        *order; /* these units, relative to begin, by descending counts; NULL: not ordered yet */
    int64_t n_measured, n_written; /* progress of steps 1 and 3 */
    levels levels;                 /* `end` counts only the slots of this share */
    int64_t *place;                /* of each level: the next slot to write */
    int64_t level;
    uint8_t *seen; /* [SCRIPT_CODE_POINTS] 1: the character occurs in this share */
} layout_share;

/* The caller's units, and the shares. Both are needed only until the slots are written. */
typedef struct bpe_layout {
    const uint8_t *data; /* the caller's units */
    const int64_t *offsets;
    const uint64_t *counts;
    /* [SCRIPT_CODE_POINTS] 0: a character that ends units; NULL: keep all */
    const uint8_t *keep;
    int is_bytes; /* the characters are bytes */
    layout_share *shares;
    int n_shares;
    uint32_t *ids; /* [SCRIPT_CODE_POINTS] symbol + 1 */
} bpe_layout;

/* Reads a character of a unit. */
INLINE uint32_t unit_char(int is_bytes, const uint8_t *at, int *ret_n_bytes)
{
    if (!is_bytes) return char_at(at, ret_n_bytes);
    *ret_n_bytes = 1;
    return *at;
}

/* Returns 0 if allocation fails. */
int layout_open(bpe_layout *layout, int64_t n_units, int n_shares);
void layout_close(bpe_layout *layout);

/* Runs step 1 of a share for `work` bytes of units. Returns 1 if the share is done, 0 if it is not,
 * -1 if allocation fails, -2 if unit *ret_unit is invalid UTF-8. Steps 1 and 3 read the units in
 * the same order, so step 3 encounters the levels in the order in which step 1 measured them. */
int layout_measure(bpe_layout *layout, int share, int64_t work, int64_t *ret_unit);
/* Runs step 2. Returns 1 on success, -1 if allocation fails, -2 if there are too many slots. */
int layout_join(bpe_layout *layout, symbol_list *symbols, bpe_text *text);
/* Runs step 3 of a share for `work` bytes of units. Returns 1 if the share is done, else 0. */
int layout_write(bpe_layout *layout, int share, int64_t work, bpe_text *text);
