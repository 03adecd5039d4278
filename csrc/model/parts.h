/* parts.h - a segment that the memo does not hold, in parts: at cuts that the scan does not find
 *
 * A template, part of segments.h where SPLITS is defined. The scan's tables are a superset of the
 * table of pairs (cut.h), and longer segments are fewer; but where a segment is new, its parts
 * mostly are not: in English 85 % of them.
 *
 *     segment    "(self.unigram"             not in the memo
 *     parts      "(" "self" "." "unigram"    cut by the table of pairs; each is looked up, and solved if it is not there
 */

static NOINLINE int64_t NAME(encode_long)(NAME(run) *r, NAME(memo) *memo, const uint8_t *segment,
                                          int64_t n_bytes, ID *ids);
static NOINLINE int64_t NAME(encode_short)(NAME(run) *r, NAME(memo) *memo, NAME(short_entry) *slot,
                                           memo_short_key key, const uint8_t *segment,
                                           int64_t n_bytes, ID *ids);

/* solve() of a part of a missed segment, which the memo may hold. */
static NOINLINE int64_t NAME(solve_part)(NAME(run) *r, NAME(memo) *memo, const uint8_t *part,
                                         int64_t n_bytes, ID *ids, uint32_t *ret_limit)
{
    if (n_bytes > MEMO_SHORT_BYTES) return NAME(solve)(r, part, n_bytes, ids, ret_limit);
    memo_short_key key = memo_short_key_of(part, n_bytes);
    NAME(short_entry) *slot = &memo->shorts[memo_short_hash(key) >> (64 - SHORT_BITS)];
    if (LIKELY(memo_short_is(slot->key, key))) {
        uint32_t word = slot->ids[MEMO_SHORT_IDS];
        memcpy(ids, slot->ids, sizeof slot->ids);
        *ret_limit = (uint16_t)word >> 4;
        return word & 15;
    }
    int64_t n = NAME(solve)(r, part, n_bytes, ids, ret_limit);
    if (n > MEMO_SHORT_IDS) return n;
    memcpy(slot->key, &key, sizeof slot->key);
    NAME(hold)(slot->ids, MEMO_SHORT_IDS, ids, n, *ret_limit << 4);
    return n;
}

/* The same of a segment, in parts if there are cuts. Within it the sum moves by at most n times
 * largest_step, and by so much its limit is lower than the least of its parts. Only where it ends
 * with ASCII: else there are hardly any. */
static NOINLINE int64_t NAME(solve_parts)(NAME(run) *r, NAME(memo) *memo, const uint8_t *segment,
                                          int64_t n_bytes, ID *ids, uint32_t *ret_limit)
{
    const unitok_model *m = r->m;
    uint32_t cuts = 0, least = UINT32_MAX, limit;
    int64_t n = 0;
    if (segment[n_bytes - 1] < 0x80 && m->unigram->largest_step <= STEP_USUAL)
        for (int64_t i = 1; i < n_bytes; i++)
            cuts |= (uint32_t)(m->cuts->pair[segment[i - 1] << 8 | segment[i]] == CUT_HERE) << i;
    if (cuts == 0) return NAME(solve)(r, segment, n_bytes, ids, ret_limit);
    cuts |= UINT32_C(1) << n_bytes;
    for (int64_t begin = 0, end; cuts; begin = end, cuts &= cuts - 1) {
        end = lowest_bit(cuts);
        n += NAME(solve_part)(r, memo, segment + begin, end - begin, ids + n, &limit);
        least = limit < least ? limit : least;
    }
    uint32_t moved = (uint32_t)((double)n * m->unigram->largest_step) / UNIGRAM_LIMIT_STEP + 1;
    *ret_limit = least > moved ? least - moved : 0;
    return n;
}

/* A segment longer than MEMO_LONG_BYTES in parts, each as a segment; 0 if it has none. */
static NOINLINE int64_t NAME(encode_split)(NAME(run) *r, NAME(memo) *memo, const uint8_t *segment,
                                           int64_t n_bytes, ID *ids)
{
    ID *out = ids;
    int64_t end = cut_next(r->m->cuts, segment, 0, n_bytes);
    if (end == n_bytes) return 0;
    for (int64_t begin = 0; begin < n_bytes; begin = end) {
        const uint8_t *part = segment + begin;
        end = cut_next(r->m->cuts, segment, begin, n_bytes);
        if (end - begin > MEMO_LONG_BYTES) {
            out += NAME(walk)(r, part, end - begin, out);
        } else if (end - begin > MEMO_SHORT_BYTES) {
            out += NAME(encode_long)(r, memo, part, end - begin, out);
        } else {
            memo_short_key key = memo_short_key_of(part, end - begin);
            NAME(short_entry) *slot = &memo->shorts[memo_short_hash(key) >> (64 - SHORT_BITS)];
            out += NAME(encode_short)(r, memo, slot, key, part, end - begin, out);
        }
    }
    return out - ids;
}
