/* SPDX-License-Identifier: BSD-3-Clause */
/* Test bytes that show whether they arrived, at their offset, in this batch. */
#include "jobs/bench/frame/pattern.h"

#include <string.h>

/* Odd, with bits all over: the golden ratio in 64 bits. */
#define SPREAD 0x9e3779b97f4a7c15ull

/* The words of neighbouring seeds, which could be mistaken for each other,
 * differ in each byte: the lowest byte of the seed changes all bytes. */
static uint64_t word_of(size_t i, uint32_t seed)
{
    return (i + 1) * SPREAD ^ (seed & 0xffu) * 0x0101010101010101ull;
}

void pattern_fill(void *buf, size_t len, uint32_t seed)
{
    unsigned char *bytes = buf;

    for (size_t i = 0; i * sizeof(uint64_t) < len; i++) {
        uint64_t word = word_of(i, seed);
        size_t left = len - i * sizeof(word);

        memcpy(bytes + i * sizeof(word), &word,
            left < sizeof(word) ? left : sizeof(word));
    }
}

size_t pattern_check(const void *buf, size_t len, uint32_t seed)
{
    const unsigned char *bytes = buf;
    unsigned char wanted[sizeof(uint64_t)];
    size_t words = len / sizeof(uint64_t);
    size_t at = 0;
    uint64_t word = 0;

    for (at = 0; at < words; at++) {
        memcpy(&word, bytes + at * sizeof(word), sizeof(word));
        if (word != word_of(at, seed))
            break;
    }
    word = word_of(at, seed);
    memcpy(wanted, &word, sizeof(word));
    for (at *= sizeof(word); at < len; at++)
        if (bytes[at] != wanted[at % sizeof(word)])
            return at;
    return len;
}
