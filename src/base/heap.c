/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive pairing heap.
 *
 * An insertion is one comparison; the removal of any node, the first included,
 * takes amortised logarithmic time. */
#include "base/heap.h"

/* Merges two heaps: the root with the larger key becomes the first child of the
 * other root. */
static struct amg_heap_node *heap_meld(
    struct amg_heap_node *one, struct amg_heap_node *other)
{
    struct amg_heap_node *early = one;
    struct amg_heap_node *late = other;

    if (one == NULL || other == NULL)
        return one == NULL ? other : one;
    if (other->key < one->key) {
        early = other;
        late = one;
    }
    late->prev = early;
    late->next = early->child;
    if (early->child != NULL)
        early->child->prev = late;
    early->child = late;
    return early;
}

/* Merges siblings into one heap: in pairs from the left, then all pairs from
 * the right. */
static struct amg_heap_node *heap_gather(struct amg_heap_node *brother)
{
    struct amg_heap_node *pairs = NULL; /* by `next`, the last pair first */
    struct amg_heap_node *heap = NULL;

    while (brother != NULL) {
        struct amg_heap_node *one = brother;
        struct amg_heap_node *other = one->next;

        brother = other == NULL ? NULL : other->next;
        one->next = NULL;
        if (other != NULL)
            other->next = NULL;
        one = heap_meld(one, other);
        one->next = pairs;
        pairs = one;
    }
    while (pairs != NULL) {
        struct amg_heap_node *one = pairs;

        pairs = one->next;
        one->next = NULL;
        heap = heap_meld(heap, one);
    }
    if (heap != NULL)
        heap->prev = NULL;
    return heap;
}

void amg_heap_push(struct amg_heap *heap, struct amg_heap_node *node)
{
    node->child = NULL;
    node->next = NULL;
    node->prev = NULL;
    heap->first = heap_meld(heap->first, node);
}

void amg_heap_remove(struct amg_heap *heap, struct amg_heap_node *node)
{
    struct amg_heap_node *below = heap_gather(node->child);

    node->child = NULL;
    if (node == heap->first) {
        heap->first = below;
        return;
    }
    if (node->prev->child == node)
        node->prev->child = node->next;
    else
        node->prev->next = node->next;
    if (node->next != NULL)
        node->next->prev = node->prev;
    node->next = NULL;
    heap->first = heap_meld(heap->first, below);
}
