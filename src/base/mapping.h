/* SPDX-License-Identifier: BSD-3-Clause */
/* A piece of address space that other processes can be given. */
#ifndef AMG_BASE_MAPPING_H
#define AMG_BASE_MAPPING_H

#include <stdint.h>

#include "mercury_core_types.h"

enum { AMG_PAGE_LEN = 4096 };

/* Owned by whoever embeds it. */
struct amg_mapping {
    void *base;   /* aligned to pages */
    uint64_t len; /* reserved; a page costs memory once it was touched */
    int fd;       /* of what it maps, from offset 0; of a fixed length */
};

/* Reserves `len` bytes of zeros (> 0, rounded up to pages). HG_NOMEM: no room
 * in the address space; HG_OPNOTSUPPORTED: the kernel has no such memory. Says
 * why in the log at level info: callers can do without. */
hg_return_t amg_mapping_open(
    const char *name, uint64_t len, struct amg_mapping *ret_mapping);
void amg_mapping_close(struct amg_mapping *mapping);

/* Gives the memory behind whole pages back; they read as zeros afterwards,
 * here and wherever else they are mapped. HG_OPNOTSUPPORTED: they are as they
 * were. */
hg_return_t amg_mapping_discard(
    const struct amg_mapping *mapping, uint64_t offset, uint64_t len);

#endif
