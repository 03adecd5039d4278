/* segments.h - the loop over segments: look each up in the memo, and give to walk.h what it does
 * not hold
 *
 * A template, part of document.h. */

typedef struct NAME(short_entry) {
    uint64_t key[2];
    ID ids[MEMO_SHORT_IDS + 1]; /* the last is the word */
} NAME(short_entry);

typedef struct NAME(long_entry) {
    uint64_t key[4];
    ID ids[MEMO_LONG_IDS + 1];
} NAME(long_entry);

typedef struct NAME(memo) {
    NAME(short_entry) shorts[1 << SHORT_BITS];
    NAME(long_entry) longs[1 << (SHORT_BITS - 1)];
} NAME(memo);

/* Fills the ids of an entry, of which the last, held[max_ids], is the word. */
INLINE void NAME(hold)(ID *held, int64_t max_ids, const ID *ids, int64_t n, uint32_t word)
{
    for (int64_t k = 0; k < max_ids; k++) held[k] = k < n ? ids[k] : 0;
    held[max_ids] = (ID)(word | (uint32_t)n);
}

#ifdef SUM
/* The ids of a segment of up to MEMO_LONG_BYTES in exact sums, and the limit of its path. */
static NOINLINE int64_t NAME(solve)(NAME(run) *r, const uint8_t *segment, int64_t n_bytes, ID *ids,
                                    uint32_t *ret_limit)
{
    const unitok_model *m = r->m;
    token tokens[UNIGRAM_SEGMENT_BYTES];
    int64_t n_tokens = unigram_exact(m->unigram, segment, n_bytes, tokens, ret_limit);
    int64_t n = NAME(emit)(m, segment, tokens, n_tokens, ids);
    if (!NAME(ids_tell_scores)(m, segment, tokens, n_tokens)) *ret_limit = 0;
    return n;
}
#endif

/* Encodes a segment of up to MEMO_LONG_BYTES that the memo does not hold. Fills `held`, the ids of
 * an entry, of which the last, held[max_ids], is the word; *ret_holds says whether it did. Not
 * inlined: the loop of hits must stay small. */
static NOINLINE int64_t NAME(miss)(NAME(run) *r, const uint8_t *segment, int64_t n_bytes, ID *held,
                                   int64_t max_ids, int *ret_holds, ID *ids)
{
#ifdef SUM
    uint32_t limit;
    int64_t n = NAME(solve)(r, segment, n_bytes, ids, &limit);
    uint32_t word = limit << 4;
#else
    int64_t n = NAME(walk)(r, segment, n_bytes, ids);
    uint32_t word = 0;
    r->s->turn.missed_bytes += n_bytes;
#endif
    *ret_holds = n <= max_ids && !r->failed;
    if (*ret_holds) NAME(hold)(held, max_ids, ids, n, word);
#ifdef SUM
    if (!NAME(serves)(r, word, ids)) return NAME(walk)(r, segment, n_bytes, ids);
#endif
    return n;
}

static NOINLINE int64_t NAME(encode_long)(NAME(run) *r, NAME(memo) *memo, const uint8_t *segment,
                                          int64_t n_bytes, ID *ids)
{
    if (n_bytes > MEMO_LONG_BYTES) {
        r->s->turn.missed_bytes += n_bytes;
        return NAME(walk)(r, segment, n_bytes, ids);
    }
    uint64_t key[4];
    memo_long_key(segment, n_bytes, key);
    NAME(long_entry) *slot = &memo->longs[memo_long_hash(key) >> (65 - SHORT_BITS)];
    if (LIKELY(memcmp(slot->key, key, sizeof key) == 0)) {
        uint32_t word = slot->ids[MEMO_LONG_IDS];
#ifdef SUM
        if (!NAME(serves)(r, word, ids)) return NAME(walk)(r, segment, n_bytes, ids);
#endif
        memcpy(ids, slot->ids, sizeof slot->ids);
        return word & 15;
    }
    int holds;
    int64_t n = NAME(miss)(r, segment, n_bytes, slot->ids, MEMO_LONG_IDS, &holds, ids);
    if (holds) memcpy(slot->key, key, sizeof key);
    return n;
}

/* A segment of up to MEMO_SHORT_BYTES that its slot does not hold, or not for this running sum. */
static NOINLINE int64_t NAME(encode_short)(NAME(run) *r, NAME(short_entry) *slot,
                                           memo_short_key key, const uint8_t *segment,
                                           int64_t n_bytes, ID *ids)
{
#ifdef SUM
    if (memo_short_is(slot->key, key)) {
        uint32_t word = slot->ids[MEMO_SHORT_IDS];
        if (!NAME(serves)(r, word, ids)) return NAME(walk)(r, segment, n_bytes, ids);
        memcpy(ids, slot->ids, sizeof slot->ids);
        return word & 15;
    }
#endif
    int holds;
    int64_t n = NAME(miss)(r, segment, n_bytes, slot->ids, MEMO_SHORT_IDS, &holds, ids);
    if (holds) memcpy(slot->key, &key, sizeof slot->key);
    return n;
}

/* Encodes the segments between the cuts; text is readable 32 bytes beyond the last. LOOK_AHEAD is
 * called whenever the sum may have changed, or more than AHEAD_IDS ids have been written since. */
static int64_t NAME(encode_segments)(NAME(run) *r, NAME(memo) *memo, const uint8_t *text,
                                     const uint16_t *cuts, int64_t n_cuts, ID *ids)
{
    ID *out = ids;
    int64_t begin = 0;
#ifdef SUM
    uint32_t least = 0;
    const ID *looked = out;
#define LOOK_AHEAD() (looked = out, least = NAME(look_ahead)(r, out))
    LOOK_AHEAD();
#else
#define LOOK_AHEAD() ((void)0)
#endif
    for (int64_t k = 0; k < n_cuts; k++) {
        const uint8_t *segment = text + begin;
        int64_t n_bytes = cuts[k] - begin;
#ifdef SUM_RESTARTS
        if (restarts(r->m, begin ? segment[-1] : r->last_byte, segment[0]))
            NAME(set_sum)(r, 0, out);
#endif
#ifdef SUM
        if (UNLIKELY(out - looked > AHEAD_IDS)) LOOK_AHEAD();
#endif
        begin = cuts[k];
        if (UNLIKELY(n_bytes > MEMO_SHORT_BYTES)) {
            out += NAME(encode_long)(r, memo, segment, n_bytes, out);
            LOOK_AHEAD();
            continue;
        }
        memo_short_key key = memo_short_key_of(segment, n_bytes);
        NAME(short_entry) *slot = &memo->shorts[memo_short_hash(key) >> (64 - SHORT_BITS)];
        uint32_t word = slot->ids[MEMO_SHORT_IDS];
#ifdef SUM
        if (LIKELY(memo_short_is(slot->key, key)) && LIKELY(word >= least)) {
#else
        if (LIKELY(memo_short_is(slot->key, key))) {
#endif
            memcpy(out, slot->ids, sizeof slot->ids);
            out += word & 15;
        } else {
            out += NAME(encode_short)(r, slot, key, segment, n_bytes, out);
            LOOK_AHEAD();
        }
    }
#undef LOOK_AHEAD
    r->last_byte = text[begin - 1];
    return out - ids;
}
