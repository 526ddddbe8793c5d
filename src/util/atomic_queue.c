/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and ends the bounded queues that mercury_atomic_queue.h works on. */
#include "mercury_atomic_queue.h"

#include "base/assert.h"
#include "base/mem.h"

struct hg_atomic_queue *hg_atomic_queue_alloc(unsigned int count)
{
    struct hg_atomic_queue *queue = NULL;

    if (!AMG_CONTRACT(count > 0 && (count & (count - 1)) == 0))
        return NULL;
    queue = amg_mem_alloc_aligned(HG_ATOMIC_QUEUE_LINE, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    queue->slots = amg_mem_alloc_aligned(
        HG_ATOMIC_QUEUE_LINE, count * sizeof(*queue->slots));
    if (queue->slots == NULL) {
        amg_mem_free(queue);
        return NULL;
    }
    queue->count = count;
    hg_atomic_init64(&queue->pushes, 0);
    hg_atomic_init64(&queue->pops, 0);
    for (int64_t i = 0; i < queue->count; i++) {
        queue->slots[i].entry = NULL;
        hg_atomic_init64(&queue->slots[i].turn, 2 * i);
    }
    return queue;
}

void hg_atomic_queue_free(struct hg_atomic_queue *queue)
{
    if (queue == NULL)
        return;
    amg_mem_free(queue->slots);
    amg_mem_free(queue);
}
