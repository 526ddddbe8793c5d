/* SPDX-License-Identifier: BSD-3-Clause */
/* An argument of any number of patterned bytes. */
#ifndef TESTS_API_API_BLOB_H
#define TESTS_API_API_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_proc.h"

/* Encoding generates the bytes, decoding checks them. */
typedef struct {
    uint64_t len;
    uint64_t seed;
    uint64_t answer_len; /* length of the wanted reply */
    bool is_right;       /* result of decoding */
} api_blob_t;

enum { API_BLOB_HEAD = 24 };

hg_return_t hg_proc_api_blob_t(hg_proc_t proc, void *data);

#endif
