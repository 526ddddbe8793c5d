/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls by the C++ face, over an instance that Margo opened. */
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

/* Of both ranks; `served(arg)` runs at the target for each call. NULL: this
 * build has no C++ face. The instance and the address stay the caller's. */
struct thallium_side *thallium_open(
    margo_instance_id mid, hg_addr_t peer, void (*served)(void *), void *arg);
void thallium_close(struct thallium_side *side);
/* One call that is waited for. */
void thallium_call(struct thallium_side *side, enum thallium_kind kind);

#ifdef __cplusplus
}
#endif

#endif
