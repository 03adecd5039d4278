/* kind_longest.c - greedy longest prefix
 *
 * This is the encoder of RWKV World and of vocabularies trained by this library: at each position
 * the longest piece is the token, and the text after it is encoded independently of the text before
 * it. It needs neither scores nor merges, so a model consists of its trie, and the image is used in
 * place (image.c).
 *
 * There are three ways to encode. The ids of segments that recur come from the memo; the walk
 * encodes segments that miss it. Wide text and text with few cuts are encoded by lanes
 * (encoders/lanes.h), which interleave walks through eight parts of the text. */

#include "ground/alloc.h"
#include "ground/error.h"
#include "model/image.h"
#include "model/run.h"

/* The memory of one thread besides the memo: the window of the search for pieces longer than
 * LONG_PIECE_BYTES, and the turns and the scratch of the lanes. That scratch takes 96 KB, most of
 * the total. */
typedef struct longest_scratch {
    long_window window;
    lanes_turn turn;
    lanes_work lanes;
} longest_scratch;

static const longest *longest_of(const unitok_model *m)
{
    return &((const longest_model *)m->state)->longest;
}

/* The memory that build() added; fill_info in image.c counts everything else. */
static int64_t memory_bytes(const unitok_model *m)
{
    const longest *l = longest_of(m);
    return (l->compact ? l->compact->memory_bytes : 0) + (l->lanes ? l->lanes->memory_bytes : 0);
}

/* The trie lies in the image, so only the tables built from it are freed. */
static void free_model(unitok_model *m)
{
    longest_model *state = m->state;
    if (!state) return;
    unitok_hat_free(state->hat);
    mem_free(state->heads);
    long_pieces_free(state->longest.longs);
    mem_free(state->longest.compact);
    lanes_free(state->longest.lanes);
    mem_free(state);
}

static void free_scratch(void *state) { long_window_free(&((longest_scratch *)state)->window); }

/* ------------------------------------------------------------------------------- lanes ---- */

/* Applies the rules of lanes.h. Wide text needs no scan for cuts unless the lanes are paused. */
static int lanes_are_next(run *r, chunk *c)
{
    lanes_turn *turn = &((longest_scratch *)r->s->state)->turn;
    if (c->n_bytes < LANES_LEAST_BYTES) return 0;
    /* Tests that need only a sample of the bytes come before the scan for cuts. */
    int is_wide = lanes_are_wide(c->text, c->n_bytes, turn->were_last);
    if (is_wide && lanes_are_korean(c->text, c->n_bytes)) turn->pause = LANES_PAUSE;
    if (is_wide && !turn->pause) return 1;
    int64_t n_cuts = chunk_cuts(r, c);
    if (is_wide && n_cuts * LANES_SHORT_WIDE <= c->n_bytes) return 1;
    if (lanes_take(turn, &r->s->memo_use, c->n_bytes, n_cuts)) return 1;
    turn->were_last = 0;
    turn->pause -= turn->pause > 0;
    return 0;
}

/* Lanes encode a span that may be longer than the chunk. Every character that is not a piece costs
 * a mispredicted branch; after a span with too many of them, the lanes pause and leave the next
 * chunks to the memo. */
static int64_t encode_by_lanes(run *r, chunk *c, void *ids, int64_t *ret_n_ids)
{
    longest_scratch *s = r->s->state;
    int64_t n_done = lanes_encode(longest_of(r->m)->lanes, c->text, c->n_text, &s->lanes, ids,
                                  ret_n_ids);
    if (s->lanes.n_rare * LANES_RARE > n_done) s->turn.pause = LANES_PAUSE;
    s->turn.were_last = 1;
    s->turn.left_bytes -= n_done;
    return n_done;
}

static const encode_path path_lanes = {lanes_are_next, encode_by_lanes};
static const encode_path *const paths_by_lanes[] = {&path_lanes, &path_memo, &path_walk, NULL};

/* Lanes exist only for 16-bit ids, and not for models with long pieces or with a HAT-trie. If the
 * compact trie cannot represent the vocabulary, the double array is used instead; if the lanes
 * cannot, the memo alone is used. */
static int32_t build(unitok_model *m, unitok_error *error)
{
    longest *l = &((longest_model *)m->state)->longest;
    if (l->hat || l->longs || m->info.id_bytes > 2) return UNITOK_OK;
    if (!l->compact && compact_fits(&l->trie) && !(l->compact = compact_new(&l->trie)))
        return fail_memory(error);
    if (!lanes_new(&l->trie, m->info.cpu, &l->lanes)) return fail_memory(error);
    if (l->lanes) m->paths = paths_by_lanes;
    return UNITOK_OK;
}

/* ---------------------------------------------------------------------------- encoding ---- */

/* The window holds the results of the search for long pieces ahead of the position, so it belongs
 * to one text. It is reset because this text does not continue the previous one. */
static int64_t encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens)
{
    const longest *l = longest_of(m);
    long_window *window = &((longest_scratch *)s->state)->window;
    int64_t n = 0, token_bytes;
    window->end = 0;
    for (int64_t at = 0; at < n_bytes;) {
        int32_t id = longest_at(l, window, text, n_bytes, at, &token_bytes);
        if (id < 0) return -1;
        at += token_bytes;
        tokens[n++] = (token){id, (uint32_t)at};
    }
    return n;
}

/* Even in a text without any cut, greedy encoding is settled up to the last token that cannot be
 * replaced with a longer piece. */
static int64_t settled(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    return longest_settled(longest_of(m), text, n_bytes);
}

/* The trie finds the longest piece at the start; if it is as long as `piece`, it is `piece`
 * itself. */
static int64_t find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes)
{
    int64_t length;
    int64_t id = (int64_t)trie_longest(&longest_of(m)->trie, piece, n_bytes, &length) - 1;
    /* A byte that only the fallback id covers is not a piece. */
    return length == n_bytes && piece_is(m, id, piece, n_bytes) ? id : -1;
}

/* Greedy encoding has no flags and no scores. It has no sampling methods, because there are no
 * alternatives to draw from. */
const model_kind kind_longest = {
    .tokens_per_byte = 1,
    .has_engines = 1,
    .make_image = image_build,
    .open = image_open,
    .build = build,
    .memory_bytes = memory_bytes,
    .free = free_model,
    .scratch_bytes = sizeof(longest_scratch),
    .free_scratch = free_scratch,
    .cutter = &cuts_by_table,
    .encode = encode,
    .walk = walk_encode,
    .settled = settled,
    .find = find,
};
