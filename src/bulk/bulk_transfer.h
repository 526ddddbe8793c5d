/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk transfers: requests of programs and their operations. */
#ifndef AMG_BULK_BULK_TRANSFER_H
#define AMG_BULK_BULK_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bulk/bulk.h"
#include "core/context.h"

enum amg_transfer_state {
    AMG_TRANSFER_IDLE,   /* being set up */
    AMG_TRANSFER_MOVING, /* it is posted, or about to be */
    AMG_TRANSFER_READY,  /* it has ended; the owner is told */
    AMG_TRANSFER_STATE_COUNT
};

/* What a transfer is to do. */
struct amg_transfer_plan {
    hg_context_t *context;
    hg_bulk_op_t op;
    const struct hg_addr *origin_addr; /* needed until the transfer goes */
    uint8_t origin_context;
    struct hg_bulk *origin;
    uint64_t origin_offset;
    struct hg_bulk *local;
    uint64_t local_offset;
    uint64_t len;
    bool is_final; /* amg_transfer_cancel() will not be called */
};

/* What the program that asked for a transfer gave. It is bulk_transfer.c's, and
 * lies in the transfer so that one object does for both. */
struct amg_transfer_asked {
    struct amg_cq_entry entry;
    struct hg_op_id *transfer;
    uint64_t id; /* 0: the program wanted none */
    hg_cb_t callback;
    struct hg_cb_info info;
};

struct hg_op_id;

/* Told once, in progress or inside amg_transfer_go(), with no lock held. It
 * owns the transfer then, and ends it by amg_transfer_end(). */
typedef void (*amg_transfer_done_fn)(struct hg_op_id *transfer);

/* Checks it and makes it ready. Holds both handles until its end. Errors as
 * HG_Bulk_transfer(), and then there is nothing. */
hg_return_t amg_transfer_create(const struct amg_transfer_plan *plan,
    amg_transfer_done_fn done, void *owner, struct hg_op_id **ret_transfer);

/* Starts it; `done` will be called, also when nothing could be posted, and
 * perhaps before this returns: the transfer is not the caller's any more. */
void amg_transfer_go(struct hg_op_id *transfer);

/* Asks for an early end; `done` is called in any case. */
void amg_transfer_cancel(struct hg_op_id *transfer);

hg_return_t amg_transfer_result(const struct hg_op_id *transfer);
void *amg_transfer_owner(const struct hg_op_id *transfer);
/* Its bytes are the caller's, and those of an earlier use at first. */
struct amg_transfer_asked *amg_transfer_asked(struct hg_op_id *transfer);

/* Frees it, and drops the handles. */
void amg_transfer_end(struct hg_op_id *transfer);

#endif
