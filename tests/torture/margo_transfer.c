/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers in handlers of Margo under torture, in all forms.
 *
 * A transfer whose origin may have gone on, as the limit of its call has
 * passed, may fail; one that succeeds has moved what its call says. */
#include <stdlib.h>

#include "content.h"
#include "margo-bulk-util.h"
#include "margo_torture.h"

struct transfer {
    struct mt *mt;
    const struct mt_plan *plan;
    hg_bulk_op_t op;
    hg_addr_t addr;
    hg_bulk_t remote;
    hg_bulk_t local;
    ABT_eventual over;
    hg_return_t rc;
};

static hg_return_t halves(struct transfer *it)
{
    size_t half = it->plan->bulk_len / 2;
    size_t rest = it->plan->bulk_len - half;
    margo_request requests[2] = {MARGO_REQUEST_NULL, MARGO_REQUEST_NULL};
    hg_return_t rc = margo_bulk_itransfer(it->mt->mid, it->op, it->addr,
        it->remote, 0, it->local, 0, half, &requests[0]);
    hg_return_t other = margo_bulk_itransfer(it->mt->mid, it->op, it->addr,
        it->remote, half, it->local, half, rest, &requests[1]);
    size_t index = 0;

    while (requests[0] != MARGO_REQUEST_NULL ||
           requests[1] != MARGO_REQUEST_NULL) {
        hg_return_t ended = margo_wait_any(2, requests, &index);

        if (index >= 2)
            break;
        requests[index] = MARGO_REQUEST_NULL;
        rc = rc == HG_SUCCESS ? ended : rc;
    }
    return rc == HG_SUCCESS ? other : rc;
}

static void notified(void *arg, hg_return_t rc)
{
    struct transfer *it = arg;

    it->rc = rc;
    (void)ABT_eventual_set(it->over, NULL, 0);
}

static hg_return_t with_callback(struct transfer *it)
{
    hg_return_t rc = HG_SUCCESS;

    if (ABT_eventual_create(0, &it->over) != ABT_SUCCESS)
        abort();
    rc = margo_bulk_ctransfer(it->mt->mid, it->op, it->addr, it->remote, 0,
        it->local, 0, it->plan->bulk_len, notified, it);
    if (rc == HG_SUCCESS) {
        (void)ABT_eventual_wait(it->over, NULL);
        rc = it->rc;
    }
    (void)ABT_eventual_free(&it->over);
    return rc;
}

/* A transfer holds the handles: the program may free its references. */
static hg_return_t with_freed(struct transfer *it)
{
    margo_request request = MARGO_REQUEST_NULL;
    hg_return_t rc = margo_bulk_itransfer(it->mt->mid, it->op, it->addr,
        it->remote, 0, it->local, 0, it->plan->bulk_len, &request);

    MT_OK(it->mt, margo_bulk_free(it->local));
    it->local = HG_BULK_NULL;
    return rc == HG_SUCCESS ? margo_wait(request) : rc;
}

static hg_return_t run(struct transfer *it)
{
    size_t len = it->plan->bulk_len;

    switch (it->plan->transfer) {
    case MT_HALVES:
        return halves(it);
    case MT_PARALLEL:
        return margo_bulk_parallel_transfer(it->mt->mid, it->op, it->addr,
            it->remote, 0, it->local, 0, len, 1 + len / 5);
    case MT_NOTIFIED:
        return with_callback(it);
    case MT_FREED:
        return with_freed(it);
    default:
        return margo_bulk_transfer(
            it->mt->mid, it->op, it->addr, it->remote, 0, it->local, 0, len);
    }
}

/* Compares what was read, or writes what is to be written. */
static void local_use(struct transfer *it, unsigned char *bytes, bool is_before)
{
    size_t len = it->plan->bulk_len;

    if (it->op == HG_BULK_PUSH) {
        if (is_before)
            content_fill(
                bytes, len, content_key(it->plan->hash, CONTENT_PUSHED), 0);
    } else if (!is_before && it->rc == HG_SUCCESS &&
               content_differs(bytes, len,
                   content_key(it->plan->hash, CONTENT_EXPOSED), 0) != len) {
        book_finding(it->mt->book, "call %llx: %zu bytes that were read differ",
            (unsigned long long)it->plan->id, len);
    }
}

/* With memory of a bulk pool, in one segment. */
static void run_pooled(struct transfer *it)
{
    void *bytes = NULL;
    hg_size_t len = 0;
    uint32_t count = 0;

    if (margo_bulk_poolset_get(it->mt->pools, it->plan->bulk_len, &it->local) !=
        0) {
        book_finding(it->mt->book, "no buffer of the bulk pools");
        return;
    }
    MT_OK(it->mt, margo_bulk_access(it->local, 0, it->plan->bulk_len,
                      HG_BULK_READWRITE, 1, &bytes, &len, &count));
    local_use(it, bytes, true);
    it->rc = run(it);
    local_use(it, bytes, false);
    if (margo_bulk_poolset_release(it->mt->pools, it->local) != 0)
        book_finding(it->mt->book, "a buffer could not be given back");
}

static void run_own(struct transfer *it)
{
    unsigned char *bytes = malloc(it->plan->bulk_len);

    if (bytes == NULL)
        abort();
    MT_OK(it->mt,
        mt_expose(it->mt, it->plan, bytes, HG_BULK_READWRITE, &it->local));
    local_use(it, bytes, true);
    it->rc = run(it);
    local_use(it, bytes, false);
    if (it->local != HG_BULK_NULL)
        MT_OK(it->mt, margo_bulk_free(it->local));
    mt_keep(it->mt, bytes, it->plan->bulk_len);
}

void mt_transfer(
    struct mt *mt, const struct mt_plan *plan, hg_addr_t addr, hg_bulk_t remote)
{
    struct transfer it = {.mt = mt,
        .plan = plan,
        .op = plan->kind == MT_PULL ? HG_BULK_PULL : HG_BULK_PUSH,
        .addr = addr,
        .remote = remote};

    if (plan->transfer == MT_POOLED)
        run_pooled(&it);
    else
        run_own(&it);
    if (it.rc != HG_SUCCESS && !mt_plan_may_lose(plan))
        book_finding(mt->book, "call %llx: a transfer of %zu bytes: %s",
            (unsigned long long)plan->id, plan->bulk_len,
            HG_Error_to_string(it.rc));
}
