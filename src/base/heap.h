/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive pairing heap: objects ordered by a number. The links are in the
 * objects, so adding an object never allocates. The owner guards the heap. */
#ifndef AMG_BASE_HEAP_H
#define AMG_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in an object, which amg_container_of() of base/list.h finds. */
struct amg_heap_node {
    uint64_t key;                /* the least comes first */
    struct amg_heap_node *child; /* first child of this node */
    struct amg_heap_node *next;  /* next sibling */
    struct amg_heap_node *prev;  /* previous sibling; if none, the parent */
};

/* All zero is an empty heap. */
struct amg_heap {
    struct amg_heap_node *first; /* the least, NULL: empty */
};

/* Inserts a node by its `key`. */
void amg_heap_push(struct amg_heap *heap, struct amg_heap_node *node);
/* Removes `node`, which must be in the heap. */
void amg_heap_remove(struct amg_heap *heap, struct amg_heap_node *node);

#endif
