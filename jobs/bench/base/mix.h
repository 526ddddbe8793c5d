/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that look random, and are the same at every rank. */
#ifndef BENCH_MIX_H
#define BENCH_MIX_H

#include <stdint.h>

/* The finaliser of SplitMix64: one to one, so different numbers stay different;
 * S. Vigna, prng.di.unimi.it, after Stafford's variant 13. */
static inline uint64_t mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    return x;
}

/* The numbers of a rank in a batch: this, and those that follow it, 2^32 of
 * them, are no other rank's, and no neighbouring batch's. */
static inline uint64_t mix_first(uint32_t seed, int rank)
{
    return (uint64_t)seed << 48 | (uint64_t)(unsigned)rank << 32;
}

/* One of `count`, by the upper half of the bits. */
static inline int mix_choose(uint64_t mixed, int count)
{
    return (int)((mixed >> 32) * (uint64_t)count >> 32);
}

#endif
