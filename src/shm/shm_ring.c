/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisation and reset of a ring. */
#include "shm/shm_ring.h"

#include <string.h>

void amg_shm_ring_reset(struct amg_shm_ring *ring)
{
    /* Old sequence numbers would be taken for those of the next writer. */
    for (unsigned i = 0; i < AMG_SHM_CELLS; i++)
        atomic_store_explicit(&ring->cells[i].seq, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->consumed, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->watch, AMG_SHM_UNSEEN, memory_order_relaxed);
    memset(ring->name, 0, sizeof(ring->name));
    ring->incarnation = 0;
    atomic_store_explicit(&ring->is_full, 0, memory_order_relaxed);
}

void amg_shm_out_init(
    struct amg_shm_out *out, struct amg_shm_ring *ring, bool needs_fence)
{
    *out = (struct amg_shm_out){.ring = ring, .needs_fence = needs_fence};
}

void amg_shm_in_init(
    struct amg_shm_in *in, struct amg_shm_ring *ring, bool needs_fence)
{
    *in = (struct amg_shm_in){.ring = ring, .needs_fence = needs_fence};
}
