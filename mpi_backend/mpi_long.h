/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: requests and replies that are sent after an announcement. */
#ifndef AMG_MPI_BACKEND_MPI_LONG_H
#define AMG_MPI_BACKEND_MPI_LONG_H

#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_peer.h"

/* The slot of the contract. */
hg_return_t amg_mpi_long_get_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf);

/* Whether the message is too long for a posted receive. */
static inline bool amg_mpi_long_is(const struct amg_mpi_msgbuf *msgbuf)
{
    return msgbuf->len > msgbuf->domain->room_len;
}

/* Writes the announcement of the message into `announcement`, to be sent first.
 * Returns the tag of the message. */
int amg_mpi_long_announce_locked(
    const struct amg_mpi_msgbuf *msgbuf, struct amg_mpi_msgbuf *announcement);

void amg_mpi_long_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Begins to receive the announced messages of the list `waiting`, in order,
 * while there is room and memory. */
void amg_mpi_longs_start_locked(
    struct amg_mpi_domain *domain, struct amg_list *waiting);

static inline bool amg_mpi_longs_are_idle(const struct amg_mpi_domain *domain)
{
    return amg_list_is_empty(&domain->longs.coming) &&
           amg_list_is_empty(&domain->longs.waiting);
}

/* Takes a long message that is complete; false: none is complete. */
bool amg_mpi_long_next_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_message *ret_message);

/* Gives the arrival of a request to its endpoint, whose `behind` is not empty:
 * now, or after earlier requests of the same peer. */
void amg_mpi_long_give_locked(const struct amg_mpi_message *message);
/* Removes from `behind` a request that is not served: later requests pass. */
void amg_mpi_long_leave_locked(const struct amg_mpi_message *message);

/* When `ep` closes: long requests that still come to `ep` will be refused. */
void amg_mpi_longs_detach_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep);
/* At close: cancels the receives. Memory that MPI may still use stays
 * allocated. False: a long message may still come. */
bool amg_mpi_longs_drop_locked(struct amg_mpi_domain *domain);

#endif
