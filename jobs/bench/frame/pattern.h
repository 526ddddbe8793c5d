/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that tell whether they arrived, each at its offset, in this batch; and
 * numbers that look random and are the same at every rank. */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* `buf` is aligned to 8; another seed gives other bytes everywhere. */
void pattern_fill(void *buf, size_t len, uint32_t seed);
/* The offset of the first byte that pattern_fill() did not write, or `len`. */
size_t pattern_check(const void *buf, size_t len, uint32_t seed);

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

/* The first of the 2^32 numbers of a rank in a batch. No other rank, and no
 * neighbouring batch, has any of them. */
static inline uint64_t mix_first(uint32_t seed, int rank)
{
    return (uint64_t)seed << 48 | (uint64_t)(unsigned)rank << 32;
}

/* One of `count`, chosen by the upper half of the bits. */
static inline int mix_choose(uint64_t mixed, int count)
{
    return (int)((mixed >> 32) * (uint64_t)count >> 32);
}

#endif
