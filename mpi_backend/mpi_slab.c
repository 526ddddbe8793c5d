/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of messages: slabs of one length, kept for reuse.
 *
 * There are as many as were ever in use at once: the posted receives, the
 * messages on their way out, and the requests of peers that the user has not
 * released. The credits bound the last (limit of credits * peers that call),
 * and a slab is the longest message and 192 bytes. */
#include "mpi_backend/mpi_slab.h"

#include "base/log.h"
#include "base/mem.h"

enum {
    SLAB_ALIGN = 64,  /* a cache line, on all machines we know */
    SLABS_FIRST = 16, /* beside the receives: a few calls at once */
};

static struct amg_mpi_slab *slab_make(struct amg_mpi_domain *domain)
{
    struct amg_mpi_slab *slab =
        amg_mem_alloc_aligned(SLAB_ALIGN, sizeof(*slab) + domain->message_len);

    if (slab == NULL)
        return NULL;
    slab->link = (struct amg_link){NULL, NULL};
    slab->domain = domain;
    slab->ep = NULL;
    slab->op = NULL;
    slab->request = MPI_REQUEST_NULL;
    slab->wants_reply = false;
    slab->buf.data = slab->data;
    slab->buf.cap = domain->message_len - (uint32_t)sizeof(slab->header);
    slab->arrival.link = (struct amg_link){NULL, NULL};
    domain->slab_count++;
    return slab;
}

hg_return_t amg_mpi_slab_init(struct amg_mpi_domain *domain)
{
    for (unsigned i = 0; i < SLABS_FIRST; i++) {
        struct amg_mpi_slab *slab = slab_make(domain);

        if (slab == NULL)
            return HG_NOMEM;
        amg_mpi_slab_put_locked(slab);
    }
    return HG_SUCCESS;
}

void amg_mpi_slab_fini(struct amg_mpi_domain *domain)
{
    struct amg_mpi_slab *hot =
        atomic_exchange_explicit(&domain->hot, NULL, memory_order_acquire);

    if (hot != NULL)
        amg_mpi_slab_put_locked(hot);
    while (domain->slabs != NULL) {
        struct amg_mpi_slab *slab =
            AMG_OBJECT(domain->slabs, struct amg_mpi_slab, link);

        domain->slabs = slab->link.next;
        amg_mem_free(slab);
        domain->slab_count--;
    }
    if (domain->slab_count > 0)
        AMG_LOG_WARNING("mpi",
            "%zu messages were still in use when the class was closed; their "
            "memory is not given back",
            domain->slab_count);
}

struct amg_mpi_slab *amg_mpi_slab_get_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = domain->slabs;

    if (link == NULL)
        return slab_make(domain);
    domain->slabs = link->next;
    link->next = NULL;
    return AMG_OBJECT(link, struct amg_mpi_slab, link);
}

void amg_mpi_slab_put_locked(struct amg_mpi_slab *slab)
{
    slab->op = NULL;
    slab->link.next = slab->domain->slabs;
    slab->domain->slabs = &slab->link;
}

struct amg_mpi_slab *amg_mpi_slab_get(struct amg_mpi_domain *domain)
{
    struct amg_mpi_slab *slab =
        atomic_exchange_explicit(&domain->hot, NULL, memory_order_acquire);

    if (slab != NULL)
        return slab;
    amg_lock_take(domain->lock);
    slab = amg_mpi_slab_get_locked(domain);
    amg_lock_give(domain->lock);
    return slab;
}

void amg_mpi_slab_put(struct amg_mpi_slab *slab)
{
    struct amg_mpi_domain *domain = slab->domain;
    struct amg_mpi_slab *none = NULL;

    if (atomic_compare_exchange_strong_explicit(&domain->hot, &none, slab,
            memory_order_acq_rel, memory_order_relaxed))
        return;
    amg_lock_take(domain->lock);
    amg_mpi_slab_put_locked(slab);
    amg_lock_give(domain->lock);
}
