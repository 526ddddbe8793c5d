/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive pairing heap: objects ordered by a number. Its links are in the
 * objects, so adding one never allocates. The owner guards it. */
#ifndef AMG_BASE_HEAP_H
#define AMG_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in the object; amg_container_of() of base/list.h finds that. */
struct amg_heap_node {
    uint64_t key;                /* the least comes first */
    struct amg_heap_node *child; /* the first below it */
    struct amg_heap_node *next;  /* beside it */
    struct amg_heap_node *prev;  /* beside it; for a first child, its parent */
};

/* All zero is an empty heap. */
struct amg_heap {
    struct amg_heap_node *first; /* the least, NULL: empty */
};

/* By its `key`. */
void amg_heap_push(struct amg_heap *heap, struct amg_heap_node *node);
/* `node` must be in the heap. */
void amg_heap_remove(struct amg_heap *heap, struct amg_heap_node *node);

#endif
