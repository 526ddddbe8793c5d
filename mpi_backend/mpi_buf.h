/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs), and bounce buffers of fragments (stages). */
#ifndef AMG_MPI_BACKEND_MPI_BUF_H
#define AMG_MPI_BACKEND_MPI_BUF_H

#include "mpi_backend/mpi_domain.h"

/* Bytes of one stage, and so the longest piece that passes through one. From 32
 * to 256 KiB, blocks of 4 KiB are equally fast, as far as a busy machine shows;
 * rows of 8 bytes are faster with shorter stages (MPICH 4.0.2 ch4:ucx). */
enum { AMG_MPI_STAGE_LEN = 64 * 1024 };

/* Holds one piece; used by a stream, or free. */
struct amg_mpi_stage {
    struct amg_mpi_stage *next;
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

void amg_mpi_stages_init(struct amg_mpi_stages *stages);
/* Frees the unused ones; those in use stay allocated. */
void amg_mpi_stages_fini(struct amg_mpi_stages *stages);

/* A bounce buffer, or NULL: no memory; or many exist and it is not `needed`. */
struct amg_mpi_stage *amg_mpi_stage_get(
    struct amg_mpi_stages *stages, bool is_needed);
void amg_mpi_stage_put(
    struct amg_mpi_stages *stages, struct amg_mpi_stage *stage);

#endif
