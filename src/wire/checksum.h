/* SPDX-License-Identifier: BSD-3-Clause */
/* Running checksums of three widths. */
#ifndef AMG_WIRE_CHECKSUM_H
#define AMG_WIRE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "mercury_proc.h"

/* Bytes of a sum: 2, 4, 8; 0 for HG_NOHASH. */
size_t amg_checksum_len(hg_proc_hash_t hash);

/* The sum of what `sum` is the sum of, followed by `len` bytes. The sum of no
 * bytes is 0. With HG_NOHASH it stays as it is. */
uint64_t amg_checksum_add(
    hg_proc_hash_t hash, uint64_t sum, const void *data, size_t len);

#endif
