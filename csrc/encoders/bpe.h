/* bpe.h - byte pair encoding: repeatedly merges the best pair of neighbours
 *
 * The text is divided into symbols (symbols.h). The best pair of neighbours, or the leftmost of
 * equally good ones, is merged until no pair can merge. Merging never compares strings: symbols are
 * numbers, and a table (bpe_tables.h) holds every pair that can occur. A segment that is itself a
 * piece is looked up directly if this provably gives the same result.
 *
 *     l o w e r   (e,r) 3  (l,o) 5  (o,w) 9        keys: rank << 32 | position; the smallest key merges
 *     l o w er             (l,o) 5  (o,w) 9
 *     lo w er              (lo,w) 7                a new symbol creates up to two new pairs
 *     low er
 *
 * There are two kinds of model. In a SentencePiece model (bpe_new), two neighbours can merge if
 * their concatenation is a piece, and the score of that piece is the priority. A Hugging Face model
 * (bpe_new_merges) lists its merges. Ranks express the priorities in both kinds: pieces with equal
 * scores have equal ranks. SentencePiece's unused pieces merge too and are split again at the end,
 * each into the last pair anywhere in the text that could have formed it; see BPE_WHOLE. */
#pragma once

#include "encoders/token.h"

typedef struct bpe bpe;

/* Memory for long segments and for models with unused pieces. Initialize to zeros. */
typedef struct bpe_scratch {
    void *work, *splits;
    size_t n_work_bytes;
    uint32_t n_calls; /* the number of this call: splits recorded by earlier calls are invalid */
} bpe_scratch;

void bpe_scratch_free(bpe_scratch *s);

/* Builds a SentencePiece model, or a tiktoken model if the spec has UNITOK_BYTES. Pieces have the
 * same form as texts (space.h). A piece "\0" of type UNUSED is ignored, as in the reference. The
 * spec must have passed vocabulary_check. UNITOK_ERROR_VOCABULARY: a piece occurs twice (`item`),
 * or there are too many pieces. */
int32_t bpe_new(const unitok_spec *spec, bpe **ret, unitok_error *error);

enum bpe_merges_flags {
    /* a character without an id becomes its bytes, "<0x41>", if all of them have ids */
    BPE_BYTE_FALLBACK = 1,
    BPE_FUSE_UNKNOWN = 2,  /* adjacent unknown characters of a segment become one token */
    BPE_IGNORE_MERGES = 4, /* a segment that is a piece is not merged */
    BPE_COMPACT = 8        /* a space stands for U+2581; byte fallback writes E2 96 81 */
};

/* Builds a Hugging Face model: merge k, of rank k, joins ids left[k] and right[k] to merged[k],
 * whose bytes are the concatenation of theirs. If a pair occurs twice, the last one counts.
 * unknown_id is an id, or -1 to drop unknown characters. The types of pieces are ignored.
 * UNITOK_ERROR_ARGUMENT names an invalid merge (`item`), UNITOK_ERROR_VOCABULARY an invalid
 * piece. */
int32_t bpe_new_merges(const unitok_spec *spec, const int64_t *left, const int64_t *right,
                       const int64_t *merged, int64_t n_merges, int64_t unknown_id, int32_t flags,
                       bpe **ret, unitok_error *error);

/* The rank of pieces with this score; lower ranks merge first, equal ranks from left to right. As
 * in the reference, scores are ordered by their bits, so +0 precedes -0 and NaN has a place. */
INLINE uint32_t bpe_rank_of_score(double score)
{
    float narrow = (float)score;
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    return bits >> 31 ? bits : ~(bits | UINT32_C(1) << 31);
}

void bpe_free(bpe *m);
int64_t bpe_memory_bytes(const bpe *m);

/* Properties of a model that decide how the caller cuts texts into segments. */
enum bpe_traits {
    /* Texts cannot be cut, because distant text affects the result. In a SentencePiece model, an
     * unused piece can be made in two ways, and the last one seen counts. In a Hugging Face model,
     * one of these holds: a merge involves unknown characters or bytes; unknown characters are
     * dropped or swap places with bytes; or BPE_IGNORE_MERGES is set and some piece is not the
     * result of merging its own text. A segment is then the complete text (SentencePiece) or a
     * complete word of the pre-tokenizer (Hugging Face). */
    BPE_WHOLE = 1
};
int32_t bpe_traits(const bpe *m);

/* Sets *ret_data and *ret_offsets to the pieces that occur in results only because of
 * BPE_IGNORE_MERGES. The model owns them. Returns their number. */
int64_t bpe_unmerged(const bpe *m, const uint8_t **ret_data, const int64_t **ret_offsets);

/* Encodes a segment, 0 <= n_bytes < 2^31, into at most n_bytes tokens (three times as many with
 * BPE_COMPACT). Returns their number, or -1 if allocation fails. Each unknown character is one
 * TOKEN_UNKNOWN. Models of bpe_new_merges apply byte fallback and fuse unknown characters within a
 * segment; the caller fuses them across segments. Without an unknown id, these models drop unknown
 * characters, and the ends of tokens are offsets in the remaining text. O(n log n). */
int64_t bpe_segment(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                    token *tokens);

/* Like bpe_segment, but skips each merge with probability `dropout`. A SentencePiece model skips
 * the merge until one of its sides changes, a Hugging Face model until the next draw that does not
 * skip. In a Hugging Face model, draws are made for outdated pairs too, and BPE_IGNORE_MERGES is
 * off. With a dropout of 0, the result is that of bpe_segment; with 1, nothing merges. Draws come
 * from *stream, which rng_stream initializes. */
int64_t bpe_segment_dropout(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                            double dropout, uint64_t *stream, token *tokens);
