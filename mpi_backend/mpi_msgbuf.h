/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs): their pool, sends in flight, posted receives. */
#ifndef AMG_MPI_BACKEND_MPI_MSGBUF_H
#define AMG_MPI_BACKEND_MPI_MSGBUF_H

#include "mpi_backend/mpi_domain.h"

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

static inline struct amg_mpi_msgbuf *amg_mpi_msgbuf_of_link(
    struct amg_link *link)
{
    return amg_container_of(link, struct amg_mpi_msgbuf, post.link);
}

/* Checks whether this thread may post to the domain. HG_NA_ERROR: MPI has
 * ended. HG_OPNOTSUPPORTED: MPI_THREAD_SINGLE, and this is another thread. */
hg_return_t amg_mpi_send_check(const struct amg_mpi_domain *domain);

/* Writes the destination and header of the msgbuf. */
static inline void amg_mpi_send_address(struct amg_mpi_msgbuf *msgbuf,
    uint32_t rank, uint8_t context, enum amg_mpi_kind kind, uint32_t body_len)
{
    msgbuf->rank = (int)rank;
    msgbuf->tag = amg_mpi_tag(msgbuf->domain, context);
    msgbuf->len = (uint32_t)sizeof(msgbuf->header) + body_len;
    msgbuf->header.kind = (uint8_t)(AMG_MPI_MAGIC | kind);
}

/* Sends an addressed msgbuf, and takes it; `msgbuf->post.op` ends when it has
 * left. On an error the msgbuf stays the caller's, and MPI's reason is logged.
 */
hg_return_t amg_mpi_send_locked(struct amg_mpi_msgbuf *msgbuf);

/* For messages of the driver, whose result is not reported: always takes the
 * msgbuf. */
void amg_mpi_send_control_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    uint8_t context, enum amg_mpi_kind kind, uint32_t cookie,
    uint32_t body_len);

/* Tests the sends that are not complete, and sends the messages of threads that
 * may not call MPI. Called by a thread that may call MPI. */
void amg_mpi_send_poll_locked(struct amg_mpi_domain *domain);

/* The same, once for each send in flight now. */
void amg_mpi_send_poll_all_locked(struct amg_mpi_domain *domain);

/* At close: keeps the msgbufs that MPI has not completed allocated. */
void amg_mpi_send_abandon_locked(struct amg_mpi_domain *domain);

/* A received message; the msgbuf is the receiver's. */
struct amg_mpi_message {
    struct amg_mpi_msgbuf *msgbuf;
    struct amg_mpi_ep *ep; /* its endpoint; NULL: none is open */
    uint32_t rank;
    uint32_t len;  /* of the body */
    unsigned kind; /* enum amg_mpi_kind, or a number beyond */
};

/* Posts the missing receives. Without memory or if MPI fails: fewer, and the
 * rest next time. */
void amg_mpi_receive_fill_locked(struct amg_mpi_ep *ep);

/* The next complete message of the endpoint; false: none. `has_more`: one was
 * just received, so further ones are likely. */
bool amg_mpi_receive_next_locked(
    struct amg_mpi_ep *ep, bool has_more, struct amg_mpi_message *ret_message);

/* Cancels the oldest posted receive. False: none is left. `ret_message` has a
 * msgbuf when a message came first. May wait for MPI, not for a peer. */
bool amg_mpi_receive_unpost_locked(
    struct amg_mpi_ep *ep, struct amg_mpi_message *ret_message);

/* Probes for a message to a context that is not open here, or to the domain
 * itself. False: none; or a message of the open endpoint `*ret_backlog` (else
 * NULL) is in front of it and must be received first. */
bool amg_mpi_receive_unmatched_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_message *ret_message, struct amg_mpi_ep **ret_backlog);

#endif
