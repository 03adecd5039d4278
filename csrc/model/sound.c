/* sound.c - the function of sound.h */

#include "model/sound.h"

#include "encoders/bpe_tables.h"
#include "encoders/unigram.h"

#define SOUND_SCORE_MAX 1e30 /* unigram.c */

int spec_is_sound(const unitok_spec *spec, distinct_table *ret_pieces)
{
    int64_t n = spec->n_pieces;
    memset(ret_pieces, 0, sizeof *ret_pieces);
    /* A symbol for each piece, and for each character, of which all but 256 have two bytes or
     * more. */
    if (spec->flags & UNITOK_LISTED_MERGES || n + spec->offsets[n] / 2 + 256 >= BPE_SYMBOLS_MAX)
        return 0;
    for (int64_t k = 0; k < n; k++) {
        double score = spec->scores ? spec->scores[k] : 0;
        if (!(score >= -SOUND_SCORE_MAX && score <= SOUND_SCORE_MAX)) return 0;
        if (spec->offsets[k + 1] - spec->offsets[k] > UNIGRAM_PIECE_BYTES_MAX) return 0;
    }
    return distinct_build(spec->data, spec->offsets, n, ret_pieces) == DISTINCT_YES;
}
