/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that tell whether they arrived, each at its place, this time. */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* `buf` is aligned to 8; another seed gives other bytes everywhere. */
void pattern_fill(void *buf, size_t len, uint32_t seed);

/* The place of the first byte that is not as pattern_fill() wrote it, or
 * `len`. */
size_t pattern_check(const void *buf, size_t len, uint32_t seed);

#endif
