/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share.
 *
 * A target is one function that gets bytes, and does with the library what the
 * bytes say. Either libFuzzer calls it, with bytes it invents (fuzz_NAME, built
 * by clang), or replay.c does, with those of the corpus. Each call starts from
 * nothing and ends with nothing, so that a bad input is bad on its own. */
#ifndef TESTS_FAULT_FUZZ_FUZZ_H
#define TESTS_FAULT_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called once before all others: quiet logs, and what needs time. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* Returns 0; what must not be ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Log lines are written, so that their arguments are read, but to nowhere. */
void fuzz_start(void);

void fuzz_fail(const char *file, int line, const char *what);

#define FUZZ_CHECK(expr)                                                       \
    ((expr) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #expr))

/* Blocks of heap memory that the library has now. */
uint64_t fuzz_live(void);

/* The input, consumed from the front. At its end all numbers are 0. */
struct fuzz {
    const uint8_t *next;
    size_t left;
};

uint8_t fuzz_u8(struct fuzz *fuzz);
uint16_t fuzz_u16(struct fuzz *fuzz);
uint32_t fuzz_u32(struct fuzz *fuzz);
uint64_t fuzz_u64(struct fuzz *fuzz);
/* A number that often lies near `near`, or near the ends of its range. */
uint64_t fuzz_near(struct fuzz *fuzz, uint64_t near);
/* A length, and as many bytes as there are, at most `cap`; how many. */
size_t fuzz_bytes(struct fuzz *fuzz, void *to, size_t cap);
/* Changes up to seven of `len` bytes. */
void fuzz_spoil(struct fuzz *fuzz, void *bytes, size_t len);

#endif
