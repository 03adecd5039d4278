/* bpe_first.h - BPE from the pieces alone, before the tables of bpe_tables.h are built
 *
 * The tables take longer to build than sentencepiece needs to open a model and encode its first
 * sentences. So these are encoded as sentencepiece does it: neighbours are looked up as a string,
 * whose score says when they merge. Slow, but it begins at once.
 */
#pragma once

#include "encoders/symbols.h"
#include "structures/distinct.h"

/* Can this SentencePiece model be encoded so? Not with unused pieces, or if documents are split, or
 * when memory is short. Fills *ret_users, all zero before, with the user-defined pieces, if there
 * are any: each stands for its index. */
int bpe_first_begin(const unitok_spec *spec, symbols *ret_users);

/* What bpe_segment gives for valid UTF-8, text[0..n_bytes-1], n_bytes < 2^31, in the verbatim form
 * of the pieces; `pieces` are all of the spec. tokens has room for n_bytes. Returns how many, -1
 * when memory is short. O(n log n). */
int64_t bpe_first(const unitok_spec *spec, const distinct_table *pieces, const symbols *users,
                  const uint8_t *text, int64_t n_bytes, int64_t max_piece_bytes, token *tokens);
