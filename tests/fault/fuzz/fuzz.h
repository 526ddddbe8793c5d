/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the fuzz targets.
 *
 * A target is fuzz_run(), which gets bytes, and uses the library as the bytes
 * say. Either libFuzzer supplies the bytes (fuzz_NAME, built by clang), or
 * replay.c does, from the corpus. Each run starts and ends without state, so
 * that a bad input is bad on its own. */
#ifndef TESTS_FAULT_FUZZ_FUZZ_H
#define TESTS_FAULT_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called once before all others: quiet logs, and slow initialisation. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* Returns 0; a violation ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

void fuzz_fail(const char *file, int line, const char *what);

#define FUZZ_CHECK(expr)                                                       \
    ((expr) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #expr))

/* The input, consumed from the front. After its end all numbers are 0. */
struct fuzz {
    const uint8_t *next;
    size_t left;
};

/* Runs one input; each target has its own. The first input is empty; the
 * library may keep memory that it allocates there, and none that it allocates
 * later. */
void fuzz_run(struct fuzz *fuzz);

uint8_t fuzz_u8(struct fuzz *fuzz);
uint16_t fuzz_u16(struct fuzz *fuzz);
uint32_t fuzz_u32(struct fuzz *fuzz);
uint64_t fuzz_u64(struct fuzz *fuzz);
/* A number that often lies near `near`, or near the ends of its range. */
uint64_t fuzz_near(struct fuzz *fuzz, uint64_t near);
/* A length, and as many bytes as there are, at most `cap`; returns it. */
size_t fuzz_bytes(struct fuzz *fuzz, void *to, size_t cap);
/* Changes up to seven of `len` bytes. */
void fuzz_spoil(struct fuzz *fuzz, void *bytes, size_t len);

#endif
