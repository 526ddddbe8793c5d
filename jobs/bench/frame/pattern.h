/* SPDX-License-Identifier: BSD-3-Clause */
/* Test bytes that show whether they arrived, at their offset, in this batch. */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* `buf` is aligned to 8; another seed gives other bytes everywhere. */
void pattern_fill(void *buf, size_t len, uint32_t seed);
/* The offset of the first byte that pattern_fill() did not write, or `len`. */
size_t pattern_check(const void *buf, size_t len, uint32_t seed);

#endif
