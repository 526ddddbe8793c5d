/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs), and bounce buffers of fragments. */
#ifndef AMG_MPI_BACKEND_MPI_BUF_H
#define AMG_MPI_BACKEND_MPI_BUF_H

#include "mpi_backend/mpi_domain.h"

/* Bytes of one bounce buffer, and so the longest fragment that passes through
 * one. From 32 to 256 KiB, blocks of 4 KiB are equally fast, as far as a busy
 * machine shows; rows of 8 bytes are faster with shorter bounce buffers
 * (MPICH 4.0.2 ch4:ucx). */
enum { AMG_MPI_BOUNCE_LEN = 64 * 1024 };

/* Holds one fragment; used by a pipeline, or free. */
struct amg_mpi_bounce {
    struct amg_mpi_bounce *next;
    _Alignas(64) unsigned char bytes[];
};

/* Allocates the first msgbufs. HG_NOMEM. */
hg_return_t amg_mpi_msgbuf_init(struct amg_mpi_domain *domain);
/* Frees all msgbufs; logs how many were not returned, if any. */
void amg_mpi_msgbuf_fini(struct amg_mpi_domain *domain);

/* NULL when there is no memory. */
struct amg_mpi_msgbuf *amg_mpi_msgbuf_get_locked(struct amg_mpi_domain *domain);
void amg_mpi_msgbuf_put_locked(struct amg_mpi_msgbuf *msgbuf);

/* The same for a caller without the lock, which is taken only if `hot` is
 * empty. */
struct amg_mpi_msgbuf *amg_mpi_msgbuf_get(struct amg_mpi_domain *domain);
void amg_mpi_msgbuf_put(struct amg_mpi_msgbuf *msgbuf);

static inline struct amg_mpi_msgbuf *amg_mpi_msgbuf_of_buf(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_mpi_msgbuf, buf);
}

static inline struct amg_mpi_msgbuf *amg_mpi_msgbuf_of_arrival(
    struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_mpi_msgbuf, arrival);
}

void amg_mpi_bounces_init(struct amg_mpi_bounces *bounces);
/* Frees the unused ones; those in use stay allocated. */
void amg_mpi_bounces_fini(struct amg_mpi_bounces *bounces);

/* A bounce buffer, or NULL: no memory; or many exist and it is not `needed`. */
struct amg_mpi_bounce *amg_mpi_bounce_get(
    struct amg_mpi_bounces *bounces, bool is_needed);
void amg_mpi_bounce_put(
    struct amg_mpi_bounces *bounces, struct amg_mpi_bounce *bounce);

#endif
