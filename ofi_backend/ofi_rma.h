/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data. At the exposer: exposed memory (ofi_mem.c). At the initiator:
 * leases (ofi_lease.c), puts and gets (ofi_rma.c), and their fragments
 * (ofi_transfer.c). */
#ifndef AMG_OFI_BACKEND_OFI_RMA_H
#define AMG_OFI_BACKEND_OFI_RMA_H

#include "ofi_backend/ofi_msg.h"

enum { AMG_OFI_IOVS = 8 /* most segments that one post names */ };

/* Exposed memory. Owned by core, from reg to unreg. */
struct amg_ofi_mem {
    struct amg_mem base;
    struct amg_ofi_domain *domain;
    uint32_t number; /* index in the table of exposed memory */
    uint32_t count;
    uint8_t flags;
    uint32_t serial;         /* in the key */
    bool is_closed;          /* the key is invalid; peers may hold leases */
    struct fid_mr **mrs;     /* by segment; NULL until its first use */
    struct amg_list grants;  /* leases that peers hold */
    struct amg_list revoked; /* leases that peers were asked to return */
    struct amg_segment segments[];
};

/* The slots of the contract. */
hg_return_t amg_ofi_mem_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
void amg_ofi_mem_key(const struct amg_mem *base, struct amg_key *ret_key);
hg_return_t amg_ofi_mem_unreg(
    struct amg_domain *base, struct amg_mem *mem_base, unsigned timeout_ms);

/* Invalidates the key of the memory, an amg_ofi_mem, and asks all holders to
 * return their leases. Returns whether a peer still holds a lease. */
bool amg_ofi_mem_is_leased_locked(void *mem);
/* Frees memory whose leases were revoked. HG_BUSY, logged: a lease is held. */
hg_return_t amg_ofi_mem_free_locked(
    struct amg_ofi_mem *mem, unsigned waited_ms);

/* The registration of a segment that is not empty. The first use registers the
 * segment, with the access that the flags allow to peers, and to our own puts
 * and gets, until the memory is no longer exposed. */
hg_return_t amg_ofi_mem_mr_locked(
    struct amg_ofi_mem *mem, uint32_t segment, struct fid_mr **ret_mr);

/* Handlers of messages. */
void amg_ofi_mem_on_get_locked(const struct amg_ofi_message *message);
void amg_ofi_mem_on_put_locked(const struct amg_ofi_message *message);
void amg_ofi_mem_on_lease_locked(const struct amg_ofi_message *message);
void amg_ofi_mem_on_return_locked(const struct amg_ofi_message *message);

/* The domain closes: deregisters memory that the user still exposes. */
void amg_ofi_mem_unreg_all_locked(struct amg_ofi_domain *domain);

/* The peer is lost: ends its leases of our memory. */
void amg_ofi_mem_lost_locked(struct amg_peer *peer);

enum amg_ofi_lease_state {
    AMG_OFI_LEASE_ASKED, /* requested; rows of the grant are missing */
    AMG_OFI_LEASE_OPEN,  /* may be used */
    AMG_OFI_LEASE_ENDED, /* revoked, or a bad GRANT: no access begins, but
                          * accesses in flight may finish */
    AMG_OFI_LEASE_STATES
};

/* A lease lives while a transfer uses it, and for some time if `is_kept`. */
struct amg_ofi_lease {
    struct amg_link link;  /* on its peer's list */
    struct amg_link idle;  /* on the domain's list while unused */
    struct amg_peer *peer; /* a reference */
    enum amg_ofi_lease_state state;
    struct amg_ofi_key key;
    uint32_t cookie; /* ours */
    uint8_t context; /* of the exposer */
    uint8_t flags;   /* of enum amg_mem_flags */
    bool is_gone;    /* denied, returned or lost: nothing to return */
    bool is_kept;    /* also while unused, as the memory is used repeatedly */
    uint32_t count;  /* rows in all */
    uint32_t got;    /* rows that have come */
    uint32_t cap;    /* rows that there is room for */
    uint32_t users;  /* transfers */
    unsigned idle_tick;
    struct amg_list waiting;      /* transfers, until the lease is open */
    struct amg_segment *segments; /* in the provider's addresses */
    uint64_t *keys;
};

/* A put or get. In the pool while unused. */
struct amg_ofi_transfer {
    struct amg_link link;    /* on a list of lease, domain or peer, or none */
    struct amg_link of_peer; /* on its peer's list */
    struct amg_op *op;
    struct amg_ofi_ep *ep;
    struct amg_peer *peer;       /* a reference */
    struct amg_ofi_lease *lease; /* NULL: goes by messages */
    struct amg_ofi_key key;
    struct amg_ofi_mem *mem;    /* of the local side; NULL: not exposed */
    struct amg_seg_iter local;  /* bytes not posted yet, at the local side */
    struct amg_seg_iter remote; /* bytes not posted yet, at the peer's side */
    uint64_t len;
    uint64_t posted;
    uint64_t done;
    struct amg_list fragments; /* in flight */
    uint32_t fragment_count;
    uint8_t target_context;
    bool is_put;
    bool is_stopped; /* nothing more is posted: `ret` says why */
    hg_return_t ret; /* the first error */
};

/* A read, write or message of a transfer. In the pool while unused. */
struct amg_ofi_fragment {
    struct amg_ofi_work work;
    struct amg_link link; /* on the transfer's list */
    struct amg_ofi_transfer *transfer;
    struct amg_seg_iter local; /* of a get by message: where the bytes go */
    uint64_t len;
    uint32_t cookie; /* of a message */
    uint32_t mr_count;
    struct fid_mr *mrs[AMG_OFI_IOVS]; /* for this fragment alone */
};

/* Most bytes that a message of a transfer moves. */
static inline uint64_t amg_ofi_fragment_max(const struct amg_ofi_domain *domain)
{
    return domain->message_max - sizeof(struct amg_ofi_header) -
           sizeof(struct amg_ofi_access);
}

/* Lease of the memory of the transfer, perhaps still to be granted. The caller
 * uses the lease until amg_ofi_lease_put_locked(). NULL: messages are faster.
 * HG_NOMEM. */
hg_return_t amg_ofi_lease_get_locked(
    const struct amg_ofi_transfer *transfer, struct amg_ofi_lease **ret_lease);
void amg_ofi_lease_put_locked(struct amg_ofi_lease *lease);

/* A peer has answered the request for a lease, or revokes a lease. Each
 * function returns the lease whose transfers the caller has to continue or
 * stop, or NULL. `ret`: HG_SUCCESS, or why the lease is not open. */
struct amg_ofi_lease *amg_ofi_lease_granted_locked(
    const struct amg_ofi_message *message, hg_return_t *ret);
struct amg_ofi_lease *amg_ofi_lease_denied_locked(
    const struct amg_ofi_message *message);
struct amg_ofi_lease *amg_ofi_lease_revoked_locked(
    const struct amg_ofi_message *message);

/* Returns leases that have been unused for `ticks` ticks. */
void amg_ofi_lease_return_idle_locked(
    struct amg_ofi_domain *domain, unsigned ticks);
/* The peer is lost: ends our leases of its memory. */
void amg_ofi_leases_lost_locked(struct amg_peer *peer);

/* Posts fragments while there is room. */
void amg_ofi_transfer_move_locked(struct amg_ofi_transfer *transfer);
/* Posts no more of the transfer; ends it when no read or write is in flight. */
void amg_ofi_transfer_stop_locked(
    struct amg_ofi_transfer *transfer, hg_return_t ret);
/* No read or write of the transfer will complete any more. */
void amg_ofi_transfer_abandon_locked(struct amg_ofi_transfer *transfer);

/* The slots of the contract. */
hg_return_t amg_ofi_rma_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);
hg_return_t amg_ofi_rma_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);

/* Posts as many fragments of the waiting transfers as there is room for. */
void amg_ofi_rma_move_locked(struct amg_ofi_domain *domain);

/* Handlers of messages. */
void amg_ofi_rma_on_grant_locked(const struct amg_ofi_message *message);
void amg_ofi_rma_on_deny_locked(const struct amg_ofi_message *message);
void amg_ofi_rma_on_revoke_locked(const struct amg_ofi_message *message);
void amg_ofi_rma_on_data_locked(const struct amg_ofi_message *message);
void amg_ofi_rma_on_done_locked(const struct amg_ofi_message *message);

void amg_ofi_rma_cancel_locked(struct amg_op *op);
/* The endpoint closes: cancels all its transfers. A later call with `is_over`
 * ends the operations of transfers whose reads and writes are still in flight;
 * when such a read or write completes later, no operation ends. */
void amg_ofi_rma_drop_locked(struct amg_ofi_ep *ep, bool is_over);
/* Posts were cancelled, or the endpoint was closed: no fragment will complete.
 * The loss of the peers then ends the transfers. */
void amg_ofi_rma_abandon_locked(struct amg_ofi_domain *domain);
/* The peer is lost: ends all transfers with the peer. */
void amg_ofi_rma_lost_locked(struct amg_peer *peer);

#endif
