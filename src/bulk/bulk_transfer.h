/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk transfers, of programs (HG_Bulk_transfer) and of the library itself. */
#ifndef AMG_BULK_BULK_TRANSFER_H
#define AMG_BULK_BULK_TRANSFER_H

#include <stdbool.h>

#include "bulk/bulk.h"
#include "core/context.h"

enum amg_transfer_state {
    AMG_TRANSFER_IDLE,   /* being set up */
    AMG_TRANSFER_MOVING, /* posted, or about to be */
    AMG_TRANSFER_READY,  /* ended; `done` is called */
    AMG_TRANSFER_STATE_COUNT
};

/* Parameters of a transfer. */
struct amg_transfer_plan {
    hg_context_t *context;
    hg_bulk_op_t op;
    const struct hg_addr *origin_addr; /* must live until the post */
    uint8_t origin_context;
    struct hg_bulk *origin;
    uint64_t origin_offset;
    struct hg_bulk *local;
    uint64_t local_offset;
    uint64_t len;
    bool is_uncancellable; /* amg_transfer_cancel() will not be called */
};

struct hg_op_id;

/* A look at the transfers of programs that are under way. */
struct amg_transfers_look {
    uint32_t now;     /* in: stamp of the time (base/stamp.h) */
    uint32_t late_ms; /* in: from this age on a transfer is late */
    uint32_t late;    /* counts late transfers */
    /* The oldest so far, which may have ended meanwhile; NULL: none. */
    const struct amg_op *op;
    unsigned route;
    uint32_t age_ms;
    bool is_served; /* begun in a handler */
};

/* Creates and frees the pool of a context's transfers. HG_NOMEM. */
hg_return_t amg_transfers_open(hg_context_t *context);
void amg_transfers_close(hg_context_t *context);

/* Stamps and counts the transfers of a context; by one thread at a time. */
void amg_transfers_look(
    const hg_context_t *context, struct amg_transfers_look *look);

/* Called once, at the end of a transfer, by progress or by amg_transfer_go(),
 * with no lock held. The callee then owns the transfer: amg_transfer_end(). */
typedef void (*amg_transfer_done_fn)(struct hg_op_id *transfer);

/* Checks the parameters, and creates a transfer, which keeps references to both
 * handles until its end. Errors as HG_Bulk_transfer(): nothing is created. */
hg_return_t amg_transfer_create(const struct amg_transfer_plan *plan,
    amg_transfer_done_fn done, void *owner, struct hg_op_id **ret_transfer);

/* Starts a transfer, which the caller then no longer owns: `done` is called,
 * even if the post fails, and perhaps before this function returns. */
void amg_transfer_go(struct hg_op_id *transfer);

/* Cancels the transfer, unless it is too late. `done` is called in any case. */
void amg_transfer_cancel(struct hg_op_id *transfer);

hg_return_t amg_transfer_result(const struct hg_op_id *transfer);
void *amg_transfer_owner(const struct hg_op_id *transfer);

/* Frees a transfer, and drops its references to the handles. */
void amg_transfer_end(struct hg_op_id *transfer);

#endif
