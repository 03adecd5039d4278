/* segments.h - encodes segments with the memo, and everything else that depends on the width of ids
 *
 * A template, included by width.c for each width. Its parameters:
 *
 *     NAME(x)      x with the instance's suffix
 *     ID           uint16_t or uint32_t
 *
 * Unigram adds scores over a complete text and rounds at every step, so the path through a segment
 * can depend on the sum S before it. Bits 4..15 of a memo entry's word therefore store a limit: the
 * entry's path is certain for every S whose unigram_steps(S) is below the limit (unigram_dp.h
 * contains the proof). For other sums the segment is encoded again from S.
 *
 * S itself is computed lazily, from the ids written so far, whose scores are known:
 *
 *     ids    . . . . . . . . . . . | . . . . . . . . . . . . | . . . . . . .  |
 *            these are in `sum` ───┘ summed                  └ out            └ out + AHEAD_IDS
 *
 * An id adds at most largest_step to |S|, which bounds |S| for the next AHEAD_IDS ids. An entry
 * that is valid for this bound is valid before each of these ids, so the hit loop compares one
 * integer. Only if the bound does not validate an entry are the scores of the ids from `summed` on
 * added, one by one, as in the reference. If every hit added its scores, the branches of the loop
 * would wait for the sum, which would take 25 to 40 % of the time for English.
 *
 * There are six cases for a segment. The first is by far the most frequent, and the loop contains
 * nothing else:
 *
 *     key found, word >= least             copy the ids                                      encode_between
 *     key found, valid for the sum         copy the ids                                      encode_short, encode_long
 *     key found, not valid                 walk from the sum; the entry stays as it is       encode_short, encode_long
 *     key not found                        solve from 0 and store; walk if it is not valid   miss
 *     in the long table                    copy the ids from there                           encode_short
 *     longer than MEMO_LONG_BYTES          walk; never stored                                encode_long
 */

/* The layouts are drawn in memo.h. The element after the ids is the word, so that one copy of fixed
 * size moves both. */
enum { NAME(SHORT_IDS) = 16 / sizeof(ID) - 1 };
typedef struct NAME(short_entry) {
    uint64_t key[2];
    ID ids[NAME(SHORT_IDS) + 1]; /* the last element is the word */
} NAME(short_entry);

/* Like a short entry. A segment of 16 to 31 bytes seldom has more than 15 tokens; segments with
 * more are not stored. */
typedef struct NAME(long_entry) {
    uint64_t key[4];
    ID ids[MEMO_LONG_IDS + 1];
} NAME(long_entry);

/* Unknown characters are rare, so the first branch takes nearly all tokens. `begin` is where the
 * token begins: tokens store only their ends. */
static int64_t NAME(emit)(const unitok_model *m, const uint8_t *segment, const token *tokens,
                          int64_t n, void *ids)
{
    ID *out = ids;
    int64_t begin = 0;
    for (int64_t k = 0; k < n; begin = tokens[k++].end) {
        if (LIKELY(tokens[k].id != TOKEN_UNKNOWN)) *out++ = (ID)tokens[k].id;
        else if (!(m->flags & UNITOK_BYTE_FALLBACK)) *out++ = (ID)m->unknown_id;
        else {
            for (int64_t i = begin; i < tokens[k].end; i++) {
                int32_t few[3];
                int n_ids = byte_fallback(m, segment + i, few);
                for (int b = 0; b < n_ids; b++) *out++ = (ID)few[b];
            }
        }
    }
    return out - (ID *)ids;
}

/* The automaton writes 32-bit ids, whatever the width of the model's ids. */
static void NAME(put)(const uint32_t *from, int64_t n, void *ids)
{
    for (int64_t k = 0; k < n; k++) ((ID *)ids)[k] = (ID)from[k];
}

/* ----------------------------------------------------------------------------- the sum ---- */

/* Adds the scores of all ids from r->summed to `out` in the order of the text and in the precision
 * of the reference, since a different order would round differently. The sum is a float for float32
 * models, so each addition rounds as in the reference. */
static void NAME(catch_up)(run *r, const void *out)
{
    const id_scores *scores = &r->m->scores;
    const ID *id = r->summed, *end = out;
    if (scores->f64) {
        double sum = r->sum;
        while (id < end) sum += scores->f64[*id++];
        r->sum = sum;
    } else {
        float sum = (float)r->sum;
        while (id < end) sum += scores->f32[*id++];
        r->sum = sum;
    }
    r->summed = out;
}

/* The smallest word of an entry that is valid at `out` and for the next n_ahead ids. An entry is
 * valid if unigram_steps(|S|) < limit. The limit is in bits 4 and up of the word, so a word of at
 * least (steps + 1) << 4 is valid, whatever its lowest four bits are, which count the ids. */
INLINE uint32_t NAME(least_word)(const run *r, const ID *out, int64_t n_ahead)
{
    double size = r->sum < 0 ? -r->sum : r->sum;
    size += (double)(out - (const ID *)r->summed + n_ahead) * r->m->scores.largest_step;
    return (unigram_steps(size) + 1) << 4;
}

/* Whether an entry with this word is valid at `out`. The bound on the sum is nearly always
 * sufficient; the sum itself is computed only if it is not. After catch_up, the bound equals the
 * sum, so the second comparison is exact. */
static int NAME(is_valid)(run *r, uint32_t word, const ID *out)
{
    if (word >= NAME(least_word)(r, out, 0)) return 1;
    NAME(catch_up)(r, out);
    return word >= NAME(least_word)(r, out, 0);
}

/* least_word for the next AHEAD_IDS ids. Computes the sum itself if the bound has become too large
 * to validate entries. The comparison with FAR_WORD prevents a bound that has grown for a long time
 * from sending every segment to encode_short. */
static uint32_t NAME(look_ahead)(run *r, const ID *out)
{
    uint32_t least = NAME(least_word)(r, out, AHEAD_IDS);
    if (least < FAR_WORD) return least;
    NAME(catch_up)(r, out);
    return NAME(least_word)(r, out, AHEAD_IDS);
}

/* Most texts have no adjacent unknown ids, so a pass without branches checks this first. The sum
 * must include the ids that are removed. `last_unknown` tells the next part whether this part ends
 * with an unknown id, so runs are merged across parts, too. */
static int64_t NAME(merge_unknown)(run *r, void *all, int64_t n)
{
    ID *ids = all, unknown = (ID)r->m->unknown_id;
    int last = r->last_unknown, any = n > 0 && last && ids[0] == unknown;
    for (int64_t k = 1; k < n; k++) any |= (ids[k] == unknown) & (ids[k - 1] == unknown);
    if (n) r->last_unknown = ids[n - 1] == unknown;
    if (!any) return n;
    if (has_scores(r->m)) NAME(catch_up)(r, ids + n);
    ID *out = ids;
    for (int64_t k = 0; k < n; k++) {
        int is_unknown = ids[k] == unknown;
        if (!(is_unknown && last)) *out++ = ids[k];
        last = is_unknown;
    }
    r->summed = out;
    return out - ids;
}

/* ---------------------------------------------------------------------------- the memo ---- */

/* Encodes a segment of up to MEMO_LONG_BYTES that missed the memo, and returns the number of its
 * ids. *ret_word becomes the word of its entry. Not inlined, to keep the hit loop small. For a
 * model with scores, the segment is first solved for a sum of 0, because that path is valid for
 * most sums; *ret_is_valid says whether it is valid for the true sum. If not, the caller stores the
 * ids and then walks. Models without scores encode the segment once. */
static NOINLINE int64_t NAME(miss)(run *r, const uint8_t *segment, int64_t n_bytes, ID *ids,
                                   uint32_t *ret_word, int *ret_is_valid)
{
    const model_kind *kind = r->m->kind;
    uint32_t limit = 0;
    r->s->memo_use.missed_bytes += n_bytes;
    r->s->memo.n_missed++;
    int64_t n = kind->solve ? kind->solve(r->m, segment, n_bytes, ids, &limit)
                            : kind->walk(r, segment, n_bytes, ids);
    *ret_word = limit << 4 | ((uint32_t)n & 15);
    *ret_is_valid = !kind->solve || NAME(is_valid)(r, limit << 4, ids);
    return n;
}

/* Copies the ids of a new entry, followed by its word. */
INLINE void NAME(hold)(ID *held, int64_t max_ids, const ID *ids, int64_t n, uint32_t word)
{
    for (int64_t k = 0; k < max_ids; k++) held[k] = k < n ? ids[k] : 0;
    held[max_ids] = (ID)word;
}

/* Encodes a segment of up to MEMO_LONG_BYTES with the long table, which is accessed through
 * functions, because few segments need it. If the ids do not fit, the entry is unchanged and keeps
 * its old key. */
static int64_t NAME(encode_by_long)(run *r, NAME(long_entry) *slot, const uint64_t key[4],
                                    const uint8_t *segment, int64_t n_bytes, ID *ids)
{
    const model_kind *kind = r->m->kind;
    uint32_t word;
    int is_valid;
    if (LIKELY(memcmp(slot->key, key, sizeof slot->key) == 0)) {
        word = slot->ids[MEMO_LONG_IDS];
        if (kind->solve && !NAME(is_valid)(r, word, ids))
            return kind->walk(r, segment, n_bytes, ids);
        memcpy(ids, slot->ids, sizeof slot->ids);
        return word & 15;
    }
    int64_t n = NAME(miss)(r, segment, n_bytes, ids, &word, &is_valid);
    if (n <= MEMO_LONG_IDS && !r->failed) {
        NAME(hold)(slot->ids, MEMO_LONG_IDS, ids, n, word);
        memcpy(slot->key, key, sizeof slot->key);
    }
    return is_valid ? n : kind->walk(r, segment, n_bytes, ids);
}

/* Encodes a segment longer than MEMO_SHORT_BYTES. */
static NOINLINE int64_t NAME(encode_long)(run *r, NAME(long_entry) *longs, const uint8_t *segment,
                                          int64_t n_bytes, ID *ids)
{
    if (n_bytes > MEMO_LONG_BYTES) {
        r->s->memo_use.missed_bytes += n_bytes;
        return r->m->kind->walk(r, segment, n_bytes, ids);
    }
    uint64_t key[4];
    memo_long_key(segment, n_bytes, key);
    return NAME(encode_by_long)(r, &longs[memo_long_hash(key) >> (64 - r->s->memo.long_bits)], key,
                                segment, n_bytes, ids);
}

/* The other short entry in the same cache line. */
INLINE NAME(short_entry) *NAME(neighbour)(NAME(short_entry) *slot)
{
    return (NAME(short_entry) *)((uintptr_t)slot ^ sizeof *slot);
}

/* If the neighbour holds this segment, swaps the two entries, so that the next lookup finds the
 * segment in the slot. */
INLINE void NAME(exchange)(NAME(short_entry) *slot, memo_short_key key, const uint64_t wide[4])
{
    NAME(short_entry) *other = NAME(neighbour)(slot), old = *slot;
    if (!memo_short_is(other->key, key) && memcmp(other->key, wide, sizeof other->key) != 0) return;
    *slot = *other;
    *other = old;
}

/* Encodes a segment of up to MEMO_SHORT_BYTES whose slot holds another segment, or is not valid for
 * this running sum. A model without scores calls this only if the key differs, because every entry
 * is valid for it. If the slot has the mark MEMO_ELSEWHERE, the ids are in the long table.
 *
 * With a pattern, the entry that a new segment replaces moves to the neighbour. So two segments
 * that share a slot seldom replace each other, and the hit loop still reads one entry. With this,
 * warm text is encoded 15 to 20 % faster. In models without a pattern, misses cost less, and there
 * is nothing to gain. */
static NOINLINE int64_t NAME(encode_short)(run *r, NAME(short_entry) *slot, NAME(long_entry) *longs,
                                           memo_short_key key, const uint8_t *segment,
                                           int64_t n_bytes, ID *ids)
{
    const model_kind *kind = r->m->kind;
    uint64_t wide[4] = {0, 0, 0, 0};
    memcpy(wide, &key, sizeof key);
    wide[1] |= MEMO_ELSEWHERE;
    if (r->m->pattern) NAME(exchange)(slot, key, wide);
    if (memo_short_is(slot->key, key)) {
        uint32_t word = slot->ids[NAME(SHORT_IDS)];
        if (kind->solve && !NAME(is_valid)(r, word, ids))
            return kind->walk(r, segment, n_bytes, ids);
        memcpy(ids, slot->ids, sizeof slot->ids);
        return word & 15;
    }
    NAME(long_entry) *other = &longs[memo_long_hash(wide) >> (64 - r->s->memo.long_bits)];
    if (slot->key[0] == wide[0] && slot->key[1] == wide[1])
        return NAME(encode_by_long)(r, other, wide, segment, n_bytes, ids);
    uint32_t word;
    int is_valid;
    int64_t n = NAME(miss)(r, segment, n_bytes, ids, &word, &is_valid);
    if (r->m->pattern && !r->failed && n <= MEMO_LONG_IDS && slot->key[1])
        *NAME(neighbour)(slot) = *slot;
    if (!r->failed && n <= NAME(SHORT_IDS)) {
        NAME(hold)(slot->ids, NAME(SHORT_IDS), ids, n, word);
        memcpy(slot->key, &key, sizeof slot->key);
    } else if (!r->failed && n <= MEMO_LONG_IDS) {
        NAME(hold)(other->ids, MEMO_LONG_IDS, ids, n, word);
        memcpy(other->key, wide, sizeof other->key);
        memcpy(slot->key, wide, sizeof slot->key);
    }
    return is_valid ? n : kind->walk(r, segment, n_bytes, ids);
}

/* Computes and prefetches the slots of a batch of segments, from number `first` on. */
INLINE void NAME(prefetch)(const NAME(short_entry) *shorts, int bits, const uint8_t *text,
                           const uint16_t *cuts, int64_t first, int64_t n_cuts, uint32_t *slots)
{
    int64_t last = first + MEMO_BATCH < n_cuts ? first + MEMO_BATCH : n_cuts;
    int64_t begin = first && first < last ? cuts[first - 1] : 0;
    for (int64_t k = first; k < last; begin = cuts[k++]) {
        uint32_t *slot = &slots[k % (2 * MEMO_BATCH)];
        *slot = (uint32_t)(memo_near_hash(text + begin, cuts[k] - begin) >> (64 - bits));
        PREFETCH(&shorts[*slot]);
    }
}

/* `sums`: the model has scores. `can_restart`: their sum can restart. `prefetches`: see below.
 * `least` is updated whenever the sum may have changed, or more than AHEAD_IDS ids have been
 * written since the last update. A hit takes the fast path: compute the key, load the slot,
 * compare, copy a fixed number of ids, advance by the count. Everything else is behind a branch
 * that is seldom taken, in functions that are not inlined.
 *
 * The table of a model with a pattern exceeds the L2 cache, because its texts contain more distinct
 * segments. So the slots are computed and prefetched one batch of segments ahead: by itself, the
 * processor fetches nothing beyond the next mispredicted branch. With prefetching and 2^18 entries,
 * warm English is encoded 25 % faster than with 2^16 entries and no prefetching. Prefetching the
 * next batch, not the current one, makes it another 15 % faster. For a longer segment, the first 15
 * bytes select a slot, which is then not used. */
INLINE int64_t NAME(encode_between)(run *r, const uint8_t *text, const uint16_t *cuts,
                                    int64_t n_cuts, ID *ids, int sums, int can_restart,
                                    int prefetches, int bits)
{
    NAME(short_entry) *shorts = r->s->memo.entries;
    NAME(long_entry) *longs = (NAME(long_entry) *)(shorts + (INT64_C(1) << bits));
    ID *out = ids;
    const ID *looked = out;
    int64_t begin = 0;
    uint32_t least = sums ? NAME(look_ahead)(r, out) : 0, slots[2 * MEMO_BATCH];
    for (int64_t k = 0; k < n_cuts; k++) {
        if (prefetches && k % MEMO_BATCH == 0) {
            if (!k) NAME(prefetch)(shorts, bits, text, cuts, 0, n_cuts, slots);
            NAME(prefetch)(shorts, bits, text, cuts, k + MEMO_BATCH, n_cuts, slots);
        }
        const uint8_t *segment = text + begin;
        int64_t n_bytes = cuts[k] - begin, n;
        /* The sum restarts where a new text begins, before the entry is looked up. */
        if (can_restart && restarts(r->m, begin ? segment[-1] : r->last_byte, segment[0]))
            run_set_sum(r, 0, out);
        /* `least` was computed for fewer ids than have been written. */
        if (sums && UNLIKELY(out - looked > AHEAD_IDS)) {
            looked = out;
            least = NAME(look_ahead)(r, out);
        }
        begin = cuts[k];
        if (UNLIKELY(n_bytes > MEMO_SHORT_BYTES)) {
            n = NAME(encode_long)(r, longs, segment, n_bytes, out);
        } else {
            memo_short_key key = memo_short_key_of(segment, n_bytes);
            NAME(short_entry) *slot = &shorts[prefetches ? slots[k % (2 * MEMO_BATCH)]
                                                         : memo_short_hash(key) >> (64 - bits)];
            uint32_t word = slot->ids[NAME(SHORT_IDS)];
            if (LIKELY(memo_short_is(slot->key, key)) && LIKELY(!sums || word >= least)) {
                memcpy(out, slot->ids, sizeof slot->ids);
                out += word & 15;
                continue;
            }
            n = NAME(encode_short)(r, slot, longs, key, segment, n_bytes, out);
        }
        out += n;
        looked = out;
        if (sums) least = NAME(look_ahead)(r, out);
    }
    r->last_byte = text[begin - 1];
    return out - ids;
}

/* The four instances of the loop. Each knows at compile time whether there is a sum and whether it
 * can restart, so the hit loop tests neither. */
static NOINLINE int64_t NAME(encode_alone)(run *r, const uint8_t *text, const uint16_t *cuts,
                                           int64_t n_cuts, ID *ids)
{
    return NAME(encode_between)(r, text, cuts, n_cuts, ids, 0, 0, 0, MEMO_BITS);
}

static NOINLINE int64_t NAME(encode_ahead)(run *r, const uint8_t *text, const uint16_t *cuts,
                                           int64_t n_cuts, ID *ids)
{
    return NAME(encode_between)(r, text, cuts, n_cuts, ids, 0, 0, 1, r->s->memo.bits);
}

static NOINLINE int64_t NAME(encode_summing)(run *r, const uint8_t *text, const uint16_t *cuts,
                                             int64_t n_cuts, ID *ids)
{
    return NAME(encode_between)(r, text, cuts, n_cuts, ids, 1, 0, 0, MEMO_BITS_SUMMING);
}

static NOINLINE int64_t NAME(encode_restarting)(run *r, const uint8_t *text, const uint16_t *cuts,
                                                int64_t n_cuts, ID *ids)
{
    return NAME(encode_between)(r, text, cuts, n_cuts, ids, 1, 1, 0, MEMO_BITS_SUMMING);
}

static int64_t NAME(encode_segments)(run *r, const uint8_t *text, const uint16_t *cuts,
                                     int64_t n_cuts, void *ids)
{
    if (!has_scores(r->m))
        return (r->m->pattern ? NAME(encode_ahead) : NAME(encode_alone))(r, text, cuts, n_cuts,
                                                                         ids);
    return (r->m->flags & RESTART_FLAGS ? NAME(encode_restarting)
                                        : NAME(encode_summing))(r, text, cuts, n_cuts, ids);
}

/* Short entries that refer to the long table are not copied, because long entries are not copied
 * either. */
static void NAME(move_memo)(const memo *from, memo *to)
{
    const NAME(short_entry) *old = from->entries;
    NAME(short_entry) *shorts = to->entries;
    for (int64_t k = 0; k < INT64_C(1) << from->bits; k++)
        if (old[k].key[1] && !(old[k].key[1] & MEMO_ELSEWHERE))
            shorts[mix(old[k].key[0], old[k].key[1]) >> (64 - to->bits)] = old[k];
}

const id_width NAME(id_width) = {
    .memo_bits = MEMO_BITS,
    .memo_bits_summing = MEMO_BITS_SUMMING,
    .short_bytes = sizeof(NAME(short_entry)),
    .long_bytes = sizeof(NAME(long_entry)),
    .emit = NAME(emit),
    .put = NAME(put),
    .merge_unknown = NAME(merge_unknown),
    .catch_up = NAME(catch_up),
    .encode_segments = NAME(encode_segments),
    .move_memo = NAME(move_memo),
};

#undef NAME
#undef ID
