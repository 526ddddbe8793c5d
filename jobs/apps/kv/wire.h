/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and replies of the hash table. */
#ifndef KV_WIRE_H
#define KV_WIRE_H

#include <stdint.h>

#include "margo.h"
#include "mercury_proc_string.h"

enum {
    KV_SMALL_MAX = 1024,             /* longer values move by bulk transfers */
    KV_VALUE_MAX = 64 * 1024 * 1024, /* longer values are refused */
    KV_KEY_MAX = 255,
    KV_PROVIDERS_MAX = 64,
};

/* A value within a message; HG_Free_input() frees a decoded one. */
struct kv_bytes {
    uint32_t len;
    void *data;
};
typedef struct kv_bytes kv_bytes_t;

hg_return_t hg_proc_kv_bytes_t(hg_proc_t proc, void *data);

/* Small values travel in the call and in its reply. */
MERCURY_GEN_PROC(kv_put_in_t, ((hg_string_t)(key))((kv_bytes_t)(value)))
MERCURY_GEN_PROC(kv_put_out_t, ((int32_t)(ret)))
MERCURY_GEN_PROC(kv_get_in_t, ((hg_string_t)(key)))
/* Of a value longer than KV_SMALL_MAX: only its length. */
MERCURY_GEN_PROC(
    kv_get_out_t, ((int32_t)(ret))((uint64_t)(len))((kv_bytes_t)(value)))

/* Large values are moved by the provider: `zone` is memory of the client. */
MERCURY_GEN_PROC(
    kv_zone_in_t, ((hg_string_t)(key))((uint64_t)(len))((hg_bulk_t)(zone)))
MERCURY_GEN_PROC(kv_zone_out_t, ((int32_t)(ret))((uint64_t)(len)))

/* The owner adds to the number at the beginning of a value. */
MERCURY_GEN_PROC(kv_add_in_t, ((hg_string_t)(key))((uint64_t)(addend)))
MERCURY_GEN_PROC(kv_add_out_t, ((int32_t)(ret))((uint64_t)(sum)))

/* Hash of a key: its bits select the rank, and the provider there. */
uint64_t kv_hash(const char *key);

#endif
