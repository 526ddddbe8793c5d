/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs): their pool, and the messages in them. */
#ifndef AMG_MPI_BACKEND_MPI_MSGBUF_H
#define AMG_MPI_BACKEND_MPI_MSGBUF_H

#include "mpi_backend/mpi_domain.h"

/* Allocates the first msgbufs. HG_NOMEM. */
hg_return_t amg_mpi_msgbuf_init(struct amg_mpi_domain *domain);
/* Frees all msgbufs, or logs how many were not returned and frees no block. */
void amg_mpi_msgbuf_fini(struct amg_mpi_domain *domain);

/* NULL when there is no memory. */
struct amg_mpi_msgbuf *amg_mpi_msgbuf_get_locked(struct amg_mpi_domain *domain);
/* A msgbuf with `is_long`; NULL when there is no memory. */
struct amg_mpi_msgbuf *amg_mpi_msgbuf_get_long_locked(
    struct amg_mpi_domain *domain);
void amg_mpi_msgbuf_put_locked(struct amg_mpi_msgbuf *msgbuf);

static inline struct amg_mpi_msgbuf *amg_mpi_msgbuf_of_link(
    struct amg_link *link)
{
    return amg_container_of(link, struct amg_mpi_msgbuf, post.link);
}

/* A received message, or a call of a PACK; the receiver owns the msgbuf, or the
 * share of the call in the msgbuf. */
struct amg_mpi_message {
    struct amg_mpi_msgbuf *msgbuf;
    const struct amg_mpi_header *header;
    unsigned char *body;
    struct amg_pack_arrival *arrival; /* memory for the arrival of this call */
    struct amg_mpi_ep *ep;            /* the receiver; NULL: not open */
    uint32_t rank;
    uint32_t len;  /* of the body */
    unsigned kind; /* enum amg_mpi_kind, or a number beyond */
};

/* Checks a received message, and fills in `ret_message`, except for `ep`.
 * False, and the msgbuf is freed: MPI failed, or the message is malformed. */
bool amg_mpi_receive_read_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_msgbuf *msgbuf, const MPI_Status *status, int error,
    struct amg_mpi_message *ret_message);

#endif
