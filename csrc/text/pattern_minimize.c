/* pattern_minimize.c - merges equivalent states
 *
 * Moore's algorithm: all states begin in one block. Blocks are divided until, for each class, the
 * cells of all states of a block agree on whether they report a match and on the block to which
 * they lead.
 *
 *     state     cells by class         block before     block after
 *     3         5  7  7m               1                1
 *     4         6  7  7m               1                1     5 and 6 are in one block
 *     8         5  7  7                1                2     the last cell reports no match
 *
 * A round takes time proportional to the table, and there are at most n_states rounds, all charged
 * to n_work. Blocks are numbered by their first states, so STATE_DEAD remains 0, and STATE_START
 * remains 1 unless it is equivalent to STATE_DEAD, in which case the pattern matches nothing. */

#include "ground/grow.h"
#include "text/pattern_build.h"

typedef struct minimizer {
    const pattern_automaton *a;
    int32_t *block; /* the block of each state */
    int32_t *next_block;
    int32_t *slots; /* a hash table of the first state of each new block; -1: an empty slot */
    uint32_t n_slots;
} minimizer;

/* A cell whose state is replaced by its block: two cells agree exactly if the results are equal. A
 * block's number is below CELL_MATCH, like that of a state. */
INLINE int32_t cell_block(const minimizer *m, int32_t state, int32_t class)
{
    uint16_t cell = m->a->next[state * m->a->n_columns + class];
    return m->block[cell & CELL_STATE] | (cell & CELL_MATCH);
}

static uint32_t hash_state(const minimizer *m, int32_t state)
{
    uint32_t h = (uint32_t)m->block[state];
    for (int32_t c = 0; c < m->a->n_columns; c++)
        h = (h ^ (uint32_t)cell_block(m, state, c)) * 16777619u;
    return h ^ h >> 15;
}

static int is_alike(const minimizer *m, int32_t s, int32_t t)
{
    if (m->block[s] != m->block[t]) return 0;
    for (int32_t c = 0; c < m->a->n_columns; c++)
        if (cell_block(m, s, c) != cell_block(m, t, c)) return 0;
    return 1;
}

/* Divides the blocks once; blocks are numbered by their first states. Returns their number. States
 * of different blocks never become alike, so their number never falls; when it stays the same, the
 * blocks are final. */
static int32_t divide(minimizer *m)
{
    int32_t n = 0, *parted = m->next_block;
    memset(m->slots, 0xFF, m->n_slots * sizeof *m->slots);
    for (int32_t s = 0; s < m->a->n_states; s++) {
        uint32_t slot = hash_state(m, s) & (m->n_slots - 1);
        while (m->slots[slot] >= 0 && !is_alike(m, s, m->slots[slot]))
            slot = (slot + 1) & (m->n_slots - 1);
        if (m->slots[slot] < 0) {
            m->slots[slot] = s;
            parted[s] = n++;
        } else {
            parted[s] = parted[m->slots[slot]];
        }
    }
    m->next_block = m->block;
    m->block = parted;
    return n;
}

/* Makes each block one state. The first state of block n is never before row n, so rows only move
 * down. */
static int merge(const minimizer *m, pattern_automaton *a, int32_t n_blocks)
{
    int32_t n = 0;
    for (int32_t s = 0; s < a->n_states; s++) {
        if (m->block[s] != n) continue;
        for (int32_t c = 0; c < a->n_columns; c++)
            a->next[n * a->n_columns + c] = (uint16_t)cell_block(m, s, c);
        n++;
    }
    a->n_states = n_blocks;
    return resize(&a->next, (int64_t)n_blocks * a->n_columns, sizeof *a->next);
}

int pattern_minimize(pattern_build *b, pattern_automaton *a)
{
    minimizer m = {.a = a, .n_slots = 16};
    while (m.n_slots < 2 * (uint32_t)a->n_states) m.n_slots *= 2;
    m.block = mem_zalloc((size_t)a->n_states, sizeof *m.block);
    m.next_block = mem_alloc((size_t)a->n_states * sizeof *m.next_block);
    m.slots = mem_alloc(m.n_slots * sizeof *m.slots);
    int ok = (m.block && m.next_block && m.slots) || pattern_no_memory(b);
    int32_t n = 1;
    for (int32_t n_before = 0; ok && n > n_before;) {
        ok = pattern_spend(b, 4 * (int64_t)a->n_states * a->n_columns);
        n_before = n;
        if (ok) n = divide(&m);
    }
    if (ok && m.block[STATE_START] == STATE_DEAD)
        ok = pattern_refuse(b, -1, "the pattern matches nothing");
    ok = ok && (merge(&m, a, n) || pattern_no_memory(b));
    mem_free(m.slots);
    mem_free(m.next_block);
    mem_free(m.block);
    return ok;
}
