/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls by the C++ API, over an instance that Margo opened. */
#ifndef BENCH_THALLIUM_H
#define BENCH_THALLIUM_H

#include <stddef.h>

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments of a call: none; two ints, which come back; a std::string; a
 * std::vector. */
enum thallium_kind {
    THALLIUM_NULL,
    THALLIUM_INTS,
    THALLIUM_STRING,
    THALLIUM_VECTOR,
    THALLIUM_KINDS
};
enum { THALLIUM_STRING_LEN = 64, THALLIUM_VECTOR_LEN = 4096 };

struct thallium_side;

/* Called by both ranks; `served(arg)` runs at the target for each call. NULL: a
 * build without the C++ API. The caller keeps instance and address. */
struct thallium_side *thallium_open(
    margo_instance_id mid, hg_addr_t peer, void (*served)(void *), void *arg);
void thallium_close(struct thallium_side *side);
/* Makes one call, and waits for its answer. */
void thallium_call(struct thallium_side *side, enum thallium_kind kind);

#ifdef __cplusplus
}
#endif

#endif
