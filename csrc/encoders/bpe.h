/* bpe.h - byte pair encoding: of all pairs of neighbours that are a piece together, the best merges
 * first
 *
 * The text becomes symbols (symbols.h); neighbours merge, the best pair first and the leftmost
 * among equals, until no pair is left that may. Merging never touches strings: symbols are numbers,
 * and a table (bpe_tables.h) holds every pair that can ever occur. A segment that is itself a piece
 * is looked up directly, where this is proven to give the same result.
 *
 *     l o w e r   (e,r) 3  (l,o) 5  (o,w) 9        keys: rank << 32 | position, the least of them merges
 *     l o w er             (l,o) 5  (o,w) 9
 *     lo w er              (lo,w) 7                a new symbol brings up to two new pairs
 *     low er
 *
 * There are two kinds of model. bpe_new makes SentencePiece's, where any two neighbours merge whose
 * bytes together are a piece, by its score; bpe_new_merges makes Hugging Face's, where merges are
 * listed. Ranks encode the order of both: equal scores have equal ranks. SentencePiece's unused
 * pieces merge too and are split again at the end, each by the last pair that was seen to make it
 * anywhere in the text; see BPE_WHOLE.
 */
#pragma once

#include "encoders/token.h"

typedef struct bpe bpe;

/* Memory for long segments and for models with unused pieces. Zeroed memory is a fresh one. */
typedef struct bpe_scratch {
    void *work, *splits;
    size_t n_work_bytes;
    uint32_t n_calls; /* splits of other calls are void */
} bpe_scratch;

void bpe_scratch_free(bpe_scratch *s);

/* A SentencePiece model. Pieces are in the form that texts have (space.h). A piece "\0" of type
 * UNUSED is ignored, as in the reference. The spec has passed vocabulary_check.
 * UNITOK_ERROR_VOCABULARY: a piece occurs twice (`item`), or there are too many. */
int32_t bpe_new(const unitok_spec *spec, bpe **ret, unitok_error *error);

enum bpe_merges_flags {
    /* a character without an id becomes its bytes, "<0x41>", where these all have ids */
    BPE_BYTE_FALLBACK = 1,
    BPE_FUSE_UNKNOWN = 2,  /* adjacent unknown characters of a segment are one token */
    BPE_IGNORE_MERGES = 4, /* a segment that is a piece is taken at once */
    BPE_COMPACT = 8        /* a space means U+2581, whose bytes in a fallback are E2 96 81 */
};

/* A Hugging Face model: merge k, of rank k, joins ids left[k] and right[k] to merged[k], whose
 * bytes are theirs laid end to end; of a pair that occurs twice the last counts. unknown_id is an
 * id, or -1: unknown characters are dropped. The types of pieces are ignored. UNITOK_ERROR_ARGUMENT
 * names a merge (`item`) that is none, UNITOK_ERROR_VOCABULARY a piece. */
int32_t bpe_new_merges(const unitok_spec *spec, const int64_t *left, const int64_t *right,
                       const int64_t *merged, int64_t n_merges, int64_t unknown_id, int32_t flags,
                       bpe **ret, unitok_error *error);

/* When pieces of this score merge: less is earlier, equal ranks go by position. As the reference
 * compares scores: by their bits, so that +0 comes before -0 and there is an order for NaN. */
INLINE uint32_t bpe_rank_of_score(double score)
{
    float narrow = (float)score;
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    return bits >> 31 ? bits : ~(bits | UINT32_C(1) << 31);
}

void bpe_free(bpe *m);
int64_t bpe_memory_bytes(const bpe *m);

/* What the caller must know to cut texts into segments. */
enum bpe_traits {
    /* Never cut: what is far away decides. SentencePiece: an unused piece can be made in two
     * ways, and the last one seen counts. Hugging Face: a merge has unknown characters or bytes
     * in it; unknown characters vanish, or trade places with bytes; BPE_IGNORE_MERGES, and some
     * piece is not what its own text merges to. Then a segment is a whole text (SentencePiece)
     * or a whole word of the pre-tokenizer. */
    BPE_WHOLE = 1
};
int32_t bpe_traits(const bpe *m);

/* Encodes a segment, 0 <= n_bytes < 2^31, into at most n_bytes tokens (three times as many with
 * BPE_COMPACT): returns their number, -1 when memory is short. An unknown character is
 * TOKEN_UNKNOWN, one each; models of bpe_new_merges do byte fallback and the fusing of unknowns
 * themselves (across segments the caller does it), and where they have no unknown id its characters
 * vanish, so that ends are those of the text that is left. O(n log n). */
int64_t bpe_segment(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                    token *tokens);

/* Like bpe_segment, but a merge that is due is dropped with probability `dropout`: by SentencePiece
 * until one of its sides changes; by Hugging Face's loop until the next draw that drops nothing,
 * with outdated pairs drawing too, and without BPE_IGNORE_MERGES. dropout 0 is bpe_segment, 1
 * merges nothing. Draws come from *stream, which rng_stream begins. */
int64_t bpe_segment_dropout(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                            double dropout, uint64_t *stream, token *tokens);
