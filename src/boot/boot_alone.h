/* SPDX-License-Identifier: BSD-3-Clause */
/* The job of one process. */
#ifndef AMG_BOOT_BOOT_ALONE_H
#define AMG_BOOT_BOOT_ALONE_H

#include "boot/boot.h"

/* Makes `boot` rank 0 of 1. It holds nothing and needs no end. */
void amg_boot_alone_init(struct amg_boot *boot);

#endif
