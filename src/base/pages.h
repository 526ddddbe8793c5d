/* SPDX-License-Identifier: BSD-3-Clause */
/* Has the kernel put pages behind memory that was only promised. */
#ifndef AMG_BASE_PAGES_H
#define AMG_BASE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"

/* Changes no byte, whoever else uses the memory meanwhile. `is_written`: by
 * somebody, later; else pages to read do. HG_INVALID_ARG: not all of it is
 * mapped, or not so; HG_NOMEM. */
hg_return_t amg_pages_back(const void *base, uint64_t len, bool is_written);

#endif
