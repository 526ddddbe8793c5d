/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory below which nothing may be touched: for stacks. */
#ifndef AMG_BASE_GUARDED_H
#define AMG_BASE_GUARDED_H

#include <stddef.h>

/* Below the memory; also for functions that skip pages. */
#define AMG_GUARD_LEN ((size_t)64 * 1024)

/* Reserves `len` bytes (> 0, a multiple of pages) that read as zeros and cost
 * memory page by page, once they were touched. NULL: no room; errno says why.
 */
void *amg_guarded_open(size_t len);
void amg_guarded_close(void *base, size_t len);

#endif
