/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of objects that programs name, kept for objects of the same kind. */
#ifndef AMG_BASE_ATTIC_H
#define AMG_BASE_ATTIC_H

#include <stddef.h>

#include "base/list.h"
#include "base/lock.h"

/* One for each kind, of static storage; all zeros is an empty one. */
struct amg_attic {
    struct amg_lock lock;  /* guards what follows */
    struct amg_link *free; /* single linked through .next */
    struct amg_link *last; /* of these */
    size_t count;
    size_t rest; /* so many are not used again before others; constant */
};

/* `len` bytes as put left them, but for the first two words; zeros when they
 * are new. NULL: no memory. `align` as for amg_mem_alloc_aligned(). */
void *amg_attic_get(struct amg_attic *attic, size_t align, size_t len);
/* The first two words are the attic's now; NULL is fine. */
void amg_attic_put(struct amg_attic *attic, void *object);

#endif
