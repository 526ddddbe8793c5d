/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: calls that leave at once or are packed, and messages in flight. */
#ifndef AMG_MPI_BACKEND_MPI_SEND_H
#define AMG_MPI_BACKEND_MPI_SEND_H

#include "mpi_backend/mpi_msgbuf.h"

/* Checks whether this thread may post to the domain. HG_NA_ERROR: MPI has
 * ended. HG_OPNOTSUPPORTED: another thread started MPI, at
 * MPI_THREAD_SINGLE. */
hg_return_t amg_mpi_send_check(const struct amg_mpi_domain *domain);

/* Writes the destination and header of the msgbuf. */
static inline void amg_mpi_send_address(struct amg_mpi_msgbuf *msgbuf,
    uint32_t rank, int context, enum amg_mpi_kind kind, uint32_t body_len)
{
    msgbuf->rank = (int)rank;
    msgbuf->tag = amg_mpi_tag(msgbuf->domain, context);
    msgbuf->len = (uint32_t)sizeof(msgbuf->header) + body_len;
    msgbuf->header.kind = (uint8_t)(AMG_MPI_MAGIC | kind);
}

/* Sends an addressed msgbuf, and takes it; `msgbuf->post.op` ends when the
 * message has left, or was copied into another message. A call may be kept
 * until the next poll (transport/pack.h). On an error the msgbuf stays the
 * caller's, and MPI's reason is logged. */
hg_return_t amg_mpi_send_locked(struct amg_mpi_msgbuf *msgbuf);

/* Sends a message that another rank waits for: tries a few times. */
static inline hg_return_t amg_mpi_send_surely_locked(
    struct amg_mpi_msgbuf *msgbuf)
{
    hg_return_t rc = amg_mpi_send_locked(msgbuf);

    for (unsigned i = 1; !AMG_LIKELY(rc == HG_SUCCESS) && i < AMG_MPI_TRIES;
         i++)
        rc = amg_mpi_send_locked(msgbuf);
    return rc;
}

/* Sends all kept messages. Called by a thread that may call MPI. */
void amg_mpi_send_kept_locked(struct amg_mpi_domain *domain);

/* For messages of the driver, whose result is not reported: always takes the
 * msgbuf. `context` is that of the receiver, or AMG_MPI_TAG_CONTROL. */
void amg_mpi_send_control_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    int context, enum amg_mpi_kind kind, uint32_t cookie, uint32_t body_len);

/* Sends kept messages, announced messages, and those of threads that may not
 * call MPI; tests the AMG_MPI_SENDS oldest sends. The caller may call MPI. */
void amg_mpi_send_poll_locked(struct amg_mpi_domain *domain);

/* Sends kept messages, and tests each send that is in flight now. */
void amg_mpi_send_poll_all_locked(struct amg_mpi_domain *domain);

/* The rank has died: drops messages to it, and later ones; their operations end
 * with HG_HOSTUNREACH. Messages that MPI has stay allocated. */
void amg_mpi_sends_lose_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_peer *peer);

/* At close: frees msgbufs not sent yet; msgbufs with MPI stay allocated. */
void amg_mpi_send_abandon_locked(struct amg_mpi_domain *domain);

#endif
