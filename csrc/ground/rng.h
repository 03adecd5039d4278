/* rng.h - random numbers that depend only on their purpose: a keyed hash of a counter
 *
 * A sample must not depend on threads, blocks or batches, so no generator state is kept. A document
 * has a key, derived from (seed, input ordinal, document number); every number drawn for it is a
 * function of the key and of a counter, the position in the normalized text at which the decision
 * is made:
 *
 *     key      of a document: (seed, input ordinal, document number), mixed in one after the other
 *     stream   of a counter: SplitMix64's state at the counter, key + (counter + 1) * gamma, half mixed
 *     draws    stream = stream * 0xD1342543DE82EF95 + 1 for each draw; the draw is the high 53 bits
 *              of stream
 *
 * SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with the
 * finalizer "Mix13" of Stafford. The multiplier: Steele, Vigna, "Computationally easy, spectrally
 * good multipliers for congruential pseudorandom number generators", 2021. A stream provides the
 * few draws at one position; its low bits are weak and unused.
 *
 * These numbers never change: tests/c/test_lattice.c checks some of them. */
#pragma once

#include "ground/common.h"

#define RNG_GAMMA UINT64_C(0x9E3779B97F4A7C15)
#define RNG_MULTIPLIER UINT64_C(0xD1342543DE82EF95)

/* Mix13 without its last step, which only improves the low bits. */
INLINE uint64_t rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
}

/* Derives the key of the n-th input, of the n-th document in an input, or of the n-th sample of a
 * document. */
INLINE uint64_t rng_key(uint64_t key, uint64_t n)
{
    uint64_t z = rng_mix(key + (n + 1) * RNG_GAMMA);
    return z ^ (z >> 31);
}

/* Three inputs are mixed one after the other, not added: sums of small numbers would often be
 * equal, and two documents with the same key would get the same sample. */
INLINE uint64_t rng_document_key(uint64_t seed, uint64_t input_ordinal, uint64_t document)
{
    return rng_key(rng_key(rng_key(0, seed), input_ordinal), document);
}

/* For loops: rng_stream(key, first + i) is rng_stream_from(rng_origin(key, first), i). */
INLINE uint64_t rng_origin(uint64_t key, uint64_t first) { return key + (first + 1) * RNG_GAMMA; }

INLINE uint64_t rng_stream_from(uint64_t origin, uint64_t i)
{
    uint64_t z = origin + i * RNG_GAMMA;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ (z >> 27); /* the first draw multiplies once more */
}

/* The stream of one counter: any number of streams can be started, in any order. */
INLINE uint64_t rng_stream(uint64_t key, uint64_t counter)
{
    return rng_stream_from(rng_origin(key, counter), 0);
}

/* The next draw: 53 random bits, 0 <= result < 2^53. */
INLINE int64_t rng_bits53(uint64_t *stream)
{
    *stream = *stream * RNG_MULTIPLIER + 1;
    return (int64_t)(*stream >> 11);
}

/* The next draw, uniform in [0, 1): a multiple of 2^-53. */
INLINE double rng_unit(uint64_t *stream) { return (double)rng_bits53(stream) * 0x1p-53; }

/* The next draw, uniform in (0, 1): an odd multiple of 2^-53, for logarithms. */
INLINE double rng_open(uint64_t *stream)
{
    return ((double)(rng_bits53(stream) >> 1) + 0.5) * 0x1p-52;
}
