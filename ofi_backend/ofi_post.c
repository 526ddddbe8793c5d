/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of the provider: pieces of a transfer.
 *
 * A piece takes runs from both sides until one side reaches the provider's
 * limit of segments in one post, or the piece its longest length. Segments of
 * the peer are never merged: each has its own key. */
#include "ofi_backend/ofi_post.h"

#include "base/assert.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_mem.h"

/* Bytes of one piece, so that several keep the medium busy: one write of
 * 16 MiB stalled in libfabric 1.17 for a quarter of a second (net, tcp). */
enum { PIECE_LEN = 1 << 20 };

/* Memory that one post names. */
struct shape {
    struct iovec local[AMG_OFI_IOVS];
    uint32_t segments[AMG_OFI_IOVS]; /* of the local list, if it is known */
    void *descs[AMG_OFI_IOVS];
    struct fi_rma_iov remote[AMG_OFI_IOVS];
    size_t local_count;
    size_t remote_count;
    uint64_t len;
};

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* The next run of the peer's memory, within one segment. */
static uint64_t there_take(const struct amg_ofi_lease *lease,
    struct amg_seg_iter *there, uint64_t max, struct fi_rma_iov *ret_iov)
{
    const struct amg_segment *segment = NULL;
    uint64_t left = 0;

    while (there->segment < there->count &&
           there->into >= there->segments[there->segment].len) {
        there->into -= there->segments[there->segment].len;
        there->segment++;
    }
    if (there->segment >= there->count)
        return 0;
    segment = &there->segments[there->segment];
    left = segment->len - there->into;
    left = left < max ? left : max;
    *ret_iov = (struct fi_rma_iov){
        .addr = (uint64_t)(uintptr_t)segment->base + there->into,
        .len = left,
        .key = lease->keys[there->segment],
    };
    there->into += left;
    return left;
}

/* The next run of our memory: within one segment, where each is registered by
 * itself. */
static uint64_t run_take(struct amg_seg_iter *here, uint64_t max,
    bool is_of_one, void **ret_at, uint32_t *ret_segment)
{
    uint64_t left = 0;

    if (!is_of_one)
        return amg_seg_iter_take(here, max, ret_at);
    while (here->into >= here->segments[here->segment].len) {
        here->into -= here->segments[here->segment].len;
        here->segment++;
        AMG_ASSERT(here->segment < here->count);
    }
    left = here->segments[here->segment].len - here->into;
    left = left < max ? left : max;
    *ret_at = amg_seg_iter_at(here);
    *ret_segment = here->segment;
    here->into += left;
    return left;
}

/* Up to `max` bytes of our memory, in at most `count` runs. How many. */
static uint64_t here_take(struct amg_seg_iter *here, uint64_t max, size_t count,
    bool are_known, struct shape *ret_shape)
{
    uint64_t len = 0;

    ret_shape->local_count = 0;
    while (len < max && ret_shape->local_count < count) {
        size_t i = ret_shape->local_count++;
        struct iovec *iov = &ret_shape->local[i];

        iov->iov_len = run_take(here, max - len, are_known, &iov->iov_base,
            &ret_shape->segments[i]);
        AMG_ASSERT(iov->iov_len > 0); /* the caller's list is long enough */
        len += iov->iov_len;
    }
    return len;
}

/* Cuts the next piece off; the places move behind it. */
static void shape_cut(const struct amg_ofi_transfer *transfer,
    struct amg_seg_iter *here, struct amg_seg_iter *there,
    struct shape *ret_shape)
{
    const struct amg_ofi_facts *facts = &transfer->peer->domain->facts;
    size_t remote_max = smaller(facts->rma_iov_max, AMG_OFI_IOVS);
    size_t local_max = smaller(facts->iov_max, AMG_OFI_IOVS);
    uint64_t left = transfer->len - transfer->posted;
    bool are_known = facts->needs_desc && transfer->mem != NULL;
    uint64_t len = 0;
    uint64_t max = facts->piece_len < PIECE_LEN ? facts->piece_len : PIECE_LEN;

    ret_shape->remote_count = 0;
    left = here_take(
        here, left < max ? left : max, local_max, are_known, ret_shape);
    while (len < left && ret_shape->remote_count < remote_max)
        len += there_take(transfer->lease, there, left - len,
            &ret_shape->remote[ret_shape->remote_count++]);
    ret_shape->len = len;
    if (len == left)
        return;
    /* The peer's side was the shorter one. */
    *here = transfer->here;
    (void)here_take(here, len, local_max, are_known, ret_shape);
}

void amg_ofi_post_left_locked(struct amg_ofi_piece *piece)
{
    while (piece->mr_count > 0)
        amg_ofi_unreg_locked(piece->mrs[--piece->mr_count]);
}

/* The registration of one local run: of memory that is exposed, the one it has
 * or will have; else one for this piece alone, since nobody would tell when the
 * memory is freed. */
static hg_return_t mr_open_locked(struct amg_ofi_piece *piece,
    const struct shape *shape, size_t i, struct fid_mr **ret_mr)
{
    const struct amg_ofi_transfer *transfer = piece->transfer;
    hg_return_t rc = HG_SUCCESS;

    if (transfer->mem != NULL)
        return amg_ofi_mem_own_locked(
            transfer->mem, shape->segments[i], ret_mr);
    rc = amg_ofi_reg_locked(transfer->peer->domain, shape->local[i].iov_base,
        shape->local[i].iov_len, transfer->is_put ? FI_WRITE : FI_READ, ret_mr);
    if (rc == HG_SUCCESS)
        piece->mrs[piece->mr_count++] = *ret_mr;
    return rc;
}

/* Registers local memory, where the provider wants that. */
static hg_return_t descs_open_locked(
    struct amg_ofi_piece *piece, struct shape *shape)
{
    bool needs_desc = piece->transfer->peer->domain->facts.needs_desc;

    for (size_t i = 0; i < shape->local_count; i++) {
        struct fid_mr *mr = NULL;
        hg_return_t rc =
            needs_desc ? mr_open_locked(piece, shape, i, &mr) : HG_SUCCESS;

        if (rc != HG_SUCCESS)
            return rc;
        shape->descs[i] = amg_ofi_reg_desc(mr);
    }
    return HG_SUCCESS;
}

hg_return_t amg_ofi_post_error(int error)
{
    switch (error) {
    case FI_ECANCELED:
        return HG_CANCELED;
    case FI_EACCES:
    case FI_EPERM:
        return HG_PERMISSION;
    case FI_ENOKEY:
    case FI_EKEYREJECTED:
        return HG_NOENTRY;
    case FI_ENOMEM:
        return HG_NOMEM;
    default:
        return HG_HOSTUNREACH;
    }
}

static ssize_t shape_post_locked(
    struct amg_ofi_piece *piece, const struct shape *shape)
{
    const struct amg_peer *peer = piece->transfer->peer;
    const struct fi_msg_rma msg = {
        .msg_iov = shape->local,
        .desc = (void **)(uintptr_t)shape->descs,
        .iov_count = shape->local_count,
        .addr = peer->at,
        .rma_iov = shape->remote,
        .rma_iov_count = shape->remote_count,
        .context = &piece->work.context,
    };

    if (piece->transfer->is_put)
        return amg_ofi_call->writemsg(
            peer->domain->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    return amg_ofi_call->readmsg(peer->domain->ep, &msg, FI_COMPLETION);
}

hg_return_t amg_ofi_post_piece_locked(struct amg_ofi_piece *piece)
{
    struct amg_ofi_transfer *transfer = piece->transfer;
    struct amg_seg_iter here = transfer->here;
    struct amg_seg_iter there = transfer->there;
    struct shape shape;
    hg_return_t rc = HG_SUCCESS;
    ssize_t code = 0;

    AMG_ASSERT(transfer->posted < transfer->len && transfer->lease != NULL);
    shape_cut(transfer, &here, &there, &shape);
    rc = descs_open_locked(piece, &shape);
    if (rc == HG_SUCCESS)
        code = shape_post_locked(piece, &shape);
    if (rc == HG_SUCCESS && code == 0) {
        piece->len = shape.len;
        transfer->here = here;
        transfer->there = there;
        transfer->posted += shape.len;
        return HG_SUCCESS;
    }
    amg_ofi_post_left_locked(piece);
    if (rc != HG_SUCCESS)
        return rc;
    return code == -FI_EAGAIN ? HG_AGAIN : amg_ofi_post_error((int)-code);
}
