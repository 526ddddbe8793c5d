/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of a call: bytes that follow from its id, so that a process which
 * sees one byte of a wrong call, or of a wrong place, notices. */
#ifndef TESTS_TORTURE_CONTENT_H
#define TESTS_TORTURE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which bytes of a call. */
enum content {
    CONTENT_ARGUMENT = 1,
    CONTENT_REPLY,
    CONTENT_EXPOSED, /* in the memory of the origin */
    CONTENT_PUSHED,  /* what its target writes there */
    CONTENT_HEAD,    /* in front of request and reply, of the program */
};

/* Mixes all bits. */
uint64_t content_mix(uint64_t value);

/* The key of one kind of bytes of a call. */
uint64_t content_key(uint64_t id, enum content what);

/* Writes bytes `at`, `at` + 1 ... of the sequence that a key names. */
void content_fill(void *bytes, size_t len, uint64_t key, size_t at);

/* Returns the place of the first wrong byte, or `len`. */
size_t content_differs(const void *bytes, size_t len, uint64_t key, size_t at);

/* One byte of a sequence. */
uint8_t content_byte(uint64_t key, size_t at);

#ifdef __cplusplus
}
#endif

#endif
