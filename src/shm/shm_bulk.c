/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets, from post to completion.
 *
 * A transfer that can proceed is on a list of its endpoint. Each poll moves the
 * first transfers of the list by a step: the poll copies (shm_copy.c), or asks
 * the peer to copy (shm_transfer.c), and then the transfer is off the list
 * until an answer comes. While a poll works on a transfer, the transfer is off
 * the list and the lock is released, so that posts and cancels go on; a cancel
 * sets a flag in the transfer.
 *
 * A post copies short data at once, without a transfer; the operation waits on
 * the endpoint's done list for the next poll. A list, a step and taking the
 * lock twice would cost more than the copy. */
#include "shm/shm_bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"

enum {
    TRANSFERS_MAX = 1 << 20, /* by message, at once */
    POLL_TRANSFERS = 16,     /* moved by one poll */
};

/* Bytes copied by one poll: 0.1 ms, so that messages do not wait long. Many
 * short runs count for more than their bytes, see shm_copy.c. */
static const uint64_t POLL_LEN = 1 << 20;

/* Bytes copied by one post: 3 us, or 7 us by the kernel. Between two polls, all
 * posts copy no more than a poll does. */
static const uint64_t POST_LEN = 1 << 16;

static_assert(sizeof(struct amg_shm_key_table) <= AMG_SHM_KEY_TABLE_LEN,
    "must fit its place");

static enum amg_shm_copy copy_choose(void)
{
    static const char *const names[] = {
        [AMG_SHM_COPY_AUTO] = "auto",
        [AMG_SHM_COPY_DIRECT] = "direct",
        [AMG_SHM_COPY_CMA] = "cma",
        [AMG_SHM_COPY_SEGMENT] = "segment",
    };
    const char *text = amg_env_text(AMG_ENV_SHM_COPY);

    for (unsigned i = 0; text != NULL && i < sizeof(names) / sizeof(names[0]);
         i++)
        if (strcmp(text, names[i]) == 0)
            return (enum amg_shm_copy)i;
    if (text != NULL)
        AMG_LOG_WARNING("cls",
            "AMALGAM_SHM_COPY is '%s', not auto, direct, cma or segment; auto "
            "is used",
            text);
    return AMG_SHM_COPY_AUTO;
}

/* Whether Yama lets only the parents of a process access its memory; true if
 * that is unknown. */
static bool yama_restricts(void)
{
    char scope = '1';
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return errno != ENOENT;
    if (read(fd, &scope, 1) != 1)
        scope = '1';
    close(fd);
    return scope != '0';
}

/* Number of the domains that need ptrace_allow(). */
static struct amg_lock ptrace_lock AMG_LOCK_KEPT;
static unsigned ptrace_users; /* guarded by ptrace_lock */

/* Allows other processes of this user to access the memory of this one where
 * Yama restricts that to its parents. False: not needed. */
static bool ptrace_allow(void)
{
    if (!yama_restricts())
        return false;
    amg_lock_lock(&ptrace_lock);
    ptrace_users++; /* a forked child inherits the count, but no permission */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    amg_lock_unlock(&ptrace_lock);
    return true;
}

/* Ends the permission of ptrace_allow() with the last domain. */
static void ptrace_disallow(void)
{
    amg_lock_lock(&ptrace_lock);
    AMG_ASSERT(ptrace_users > 0);
    if (--ptrace_users == 0)
        (void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    amg_lock_unlock(&ptrace_lock);
}

static bool keys_reserve(const void *region, const void *at, uint64_t len)
{
    return amg_shm_region_reserve(region, at, len);
}

void amg_shm_bulk_open(struct amg_shm_domain *domain)
{
    struct amg_shm_bulk *bulk = &domain->bulk;
    const struct amg_shm_region *region = &domain->region;

    bulk->copy = copy_choose();
    bulk->id = (struct amg_shm_accessor_id){.id = region->incarnation | 2,
        .start_time = region->start_time,
        .pid = region->pid};
    amg_shm_exposer_init(
        &bulk->exposer, region->keys, region->incarnation, amg_shm_files_life);
    bulk->exposer.reserve = keys_reserve;
    bulk->exposer.owner = region;
    amg_pool_init(&bulk->pool, sizeof(struct amg_shm_transfer),
        _Alignof(struct amg_shm_transfer));
    amg_table_init(&bulk->transfers, TRANSFERS_MAX, "transfers in flight");
    bulk->is_ptraceable =
        (bulk->copy == AMG_SHM_COPY_AUTO || bulk->copy == AMG_SHM_COPY_CMA) &&
        ptrace_allow();
}

/* Frees the transfers that still wait for answers; none will come. */
static void transfers_drop_locked(struct amg_shm_domain *domain)
{
    struct amg_table *table = &domain->bulk.transfers;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer == NULL)
            continue;
        AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_ENDED);
        amg_shm_transfer_drop_fragments_locked(transfer);
        amg_shm_transfer_free_locked(transfer);
    }
}

void amg_shm_bulk_close(struct amg_shm_domain *domain)
{
    amg_bias_lock(&domain->lock);
    transfers_drop_locked(domain);
    amg_bias_unlock(&domain->lock);
    amg_table_fini(&domain->bulk.transfers);
    amg_pool_fini(&domain->bulk.pool);
    if (domain->bulk.is_ptraceable)
        ptrace_disallow();
    amg_shm_exposer_fini(&domain->bulk.exposer);
}

void amg_shm_bulk_ep_open(struct amg_shm_ep *ep)
{
    amg_list_init(&ep->bulk.ready);
    amg_list_init(&ep->bulk.blocked);
    atomic_init(&ep->bulk.copied, 0);
}

/* Ends the operation, and the transfer if it waits for no answer. */
static void transfer_end_locked(
    struct amg_shm_transfer *transfer, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->state != AMG_SHM_TRANSFER_ENDED);
    transfer->op->len = transfer->arrived;
    transfer->op->data = NULL;
    amg_shm_op_end_locked(transfer->ep, transfer->op, ret);
    transfer->op = NULL;
    transfer->ep = NULL;
    transfer->state = AMG_SHM_TRANSFER_ENDED;
    if (transfer->is_gone)
        amg_shm_transfer_drop_fragments_locked(transfer);
    if (transfer->in_flight == 0)
        amg_shm_transfer_free_locked(transfer);
}

/* Copies as much as `*budget` allows. HG_AGAIN: there is more to copy;
 * HG_OPNOTSUPPORTED: only the peer can copy. */
static hg_return_t transfer_copy(
    struct amg_shm_transfer *transfer, uint64_t *budget)
{
    struct amg_shm_access rest = transfer->access;
    uint64_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(transfer->begun == transfer->arrived);
    rest.offset += transfer->arrived;
    rest.len -= transfer->arrived;
    rest.goes_on = transfer->arrived > 0;
    rc = amg_shm_copy_step(transfer->domain, transfer->peer, &rest,
        &transfer->local, budget, &len);
    if (rc != HG_SUCCESS)
        return rc;
    transfer->arrived += len;
    transfer->begun += len;
    return transfer->arrived == transfer->access.len ? HG_SUCCESS : HG_AGAIN;
}

/* Asks the peer to copy; from now on only the peer does. */
static hg_return_t transfer_request(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;
    hg_return_t rc = HG_SUCCESS;

    if (!transfer->is_by_message) {
        amg_bias_lock(&domain->lock);
        rc = amg_table_add(&domain->bulk.transfers, transfer,
            transfer->peer->id, &transfer->cookie);
        transfer->is_by_message = rc == HG_SUCCESS;
        amg_bias_unlock(&domain->lock);
    }
    return rc == HG_SUCCESS ? amg_shm_transfer_request(transfer) : rc;
}

/* The step of a poll for a POLLED transfer, without the lock. */
static hg_return_t transfer_move(
    struct amg_shm_transfer *transfer, uint64_t *budget)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (!transfer->is_by_message)
        rc = transfer_copy(transfer, budget);
    if (rc == HG_OPNOTSUPPORTED)
        rc = transfer_request(transfer);
    return rc;
}

/* Whether the transfer is over; then `*ret` is its result. */
static bool transfer_is_over_locked(
    const struct amg_shm_transfer *transfer, hg_return_t *ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    *ret = transfer->ret;
    if (transfer->arrived == transfer->access.len)
        *ret = HG_SUCCESS;
    else if (transfer->is_gone || transfer->peer->state != AMG_SHM_PEER_ALIVE)
        *ret = HG_HOSTUNREACH;
    else if (transfer->is_cancelled)
        *ret = HG_CANCELED;
    else /* refused: ends after the answers to the fragments in flight */
        return transfer->ret != HG_SUCCESS && transfer->in_flight == 0;
    return true;
}

/* Gives a transfer its state after transfer_move() returned `rc`. */
static void transfer_set_state_locked(
    struct amg_shm_transfer *transfer, hg_return_t rc)
{
    hg_return_t ret = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_POLLED);
    if (rc != HG_SUCCESS && rc != HG_AGAIN && rc != HG_BUSY && rc != HG_NOMEM &&
        transfer->ret == HG_SUCCESS)
        transfer->ret = rc;
    if (transfer_is_over_locked(transfer, &ret)) {
        transfer_end_locked(transfer, ret);
    } else if (rc == HG_BUSY && !amg_shm_bounce_is_free_locked(transfer)) {
        transfer->state = AMG_SHM_TRANSFER_BLOCKED;
        amg_list_push(&transfer->ep->bulk.blocked, &transfer->link);
    } else if (transfer->in_flight > 0 && rc != HG_NOMEM) {
        transfer->state = AMG_SHM_TRANSFER_WAITING;
    } else {
        amg_shm_transfer_wake_locked(transfer);
    }
}

void amg_shm_bulk_poll(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    uint64_t budget = POLL_LEN;

    amg_bias_lock(&domain->lock);
    for (unsigned i = 0; i < POLL_TRANSFERS && budget > 0; i++) {
        struct amg_link *link = amg_list_pop(&ep->bulk.ready);
        struct amg_shm_transfer *transfer = NULL;
        hg_return_t rc = HG_AGAIN;
        hg_return_t ret = HG_SUCCESS;

        if (link == NULL)
            break;
        transfer = amg_shm_transfer_of(link);
        AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_READY);
        transfer->state = AMG_SHM_TRANSFER_POLLED;
        if (!transfer_is_over_locked(transfer, &ret)) {
            amg_bias_unlock(&domain->lock);
            rc = transfer_move(transfer, &budget);
            AMG_TEST_POINT("shm_transfer_moved");
            amg_bias_lock(&domain->lock);
        }
        transfer_set_state_locked(transfer, rc);
    }
    amg_shm_due_set_locked(
        ep, AMG_SHM_DUE_BULK, !amg_list_is_empty(&ep->bulk.ready));
    amg_bias_unlock(&domain->lock);
}

/* Lets the next poll check a transfer that waits. */
static void transfer_requeue_locked(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    if (transfer->state == AMG_SHM_TRANSFER_BLOCKED)
        amg_list_remove(&transfer->link);
    if (transfer->state == AMG_SHM_TRANSFER_BLOCKED ||
        transfer->state == AMG_SHM_TRANSFER_WAITING)
        amg_shm_transfer_wake_locked(transfer);
}

void amg_shm_bulk_cancel_locked(struct amg_shm_ep *ep, struct amg_op *op)
{
    struct amg_shm_transfer *transfer = amg_call_ptr(op);

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    AMG_ASSERT(transfer->op == op && transfer->ep == ep);
    transfer->is_cancelled = true;
    transfer_requeue_locked(transfer);
}

void amg_shm_bulk_peer_gone_locked(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_table *table = &domain->bulk.transfers;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    atomic_store_explicit(&peer->bulk.is_gone, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer == NULL || transfer->peer != peer)
            continue;
        transfer->is_gone = true;
        if (transfer->state != AMG_SHM_TRANSFER_ENDED) {
            transfer_requeue_locked(transfer);
            continue;
        }
        amg_shm_transfer_drop_fragments_locked(transfer);
        amg_shm_transfer_free_locked(transfer);
    }
}

void amg_shm_bulk_ep_close_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    struct amg_table *table = &domain->bulk.transfers;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer != NULL && transfer->ep == ep)
            transfer_requeue_locked(transfer);
    }
    while ((link = amg_list_pop(&ep->bulk.ready)) != NULL)
        transfer_end_locked(amg_shm_transfer_of(link), HG_CANCELED);
    AMG_ASSERT(amg_list_is_empty(&ep->bulk.blocked));
    amg_shm_due_set_locked(ep, AMG_SHM_DUE_BULK, false);
}

/* Whether a post may copy now: not if the copy would be the first step to the
 * peer, which finds the ways of copying by system calls. */
static inline bool post_may_copy(
    const struct amg_shm_ep *ep, const struct amg_shm_peer *peer, uint64_t len)
{
    return len <= POST_LEN && amg_shm_copy_is_known_possible(peer) &&
           atomic_load_explicit(&ep->bulk.copied, memory_order_relaxed) + len <=
               POLL_LEN;
}

static void post_end(struct amg_shm_ep *ep, struct amg_op *op, uint64_t len,
    uint64_t cost, hg_return_t ret)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    op->len = len;
    op->data = NULL;
    amg_bias_lock(&domain->lock);
    atomic_store_explicit(&ep->bulk.copied,
        atomic_load_explicit(&ep->bulk.copied, memory_order_relaxed) + cost,
        memory_order_relaxed);
    amg_shm_op_end_locked(ep, op, ret);
    amg_shm_doorbell_self_locked(ep);
    amg_bias_unlock(&domain->lock);
}

/* Copies all bytes in the post; the next poll completes the operation. False:
 * polls have to copy, from `*ret_len` bytes on. */
static bool post_copy(struct amg_shm_ep *ep, struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_seg_iter *local,
    struct amg_op *op, uint64_t *ret_len)
{
    uint64_t budget = POST_LEN;
    uint64_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!post_may_copy(ep, peer, access->len))
        return false;
    rc = amg_shm_copy_step(
        amg_shm_domain_of_ep(ep), peer, access, local, &budget, &len);
    if (rc == HG_AGAIN || rc == HG_OPNOTSUPPORTED ||
        (rc == HG_SUCCESS && len < access->len)) {
        *ret_len = len;
        return false;
    }
    post_end(ep, op, len, POST_LEN - budget, rc);
    return true;
}

/* Creates a transfer of all but the first `done` bytes. Sets field by field: of
 * a fragment that is not in flight only `len` is read. */
AMG_NOINLINE static hg_return_t transfer_post(struct amg_shm_ep *ep,
    struct amg_shm_peer *peer, const struct amg_shm_access *access,
    const struct amg_seg_iter *local, uint64_t done, struct amg_op *op)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    struct amg_shm_transfer *transfer = amg_pool_get(&domain->bulk.pool);
    hg_return_t rc = HG_SUCCESS;

    if (transfer == NULL && done == 0)
        return HG_NOMEM;
    if (transfer == NULL) { /* bytes were copied: the operation has begun */
        post_end(ep, op, done, 0, HG_NOMEM);
        return HG_SUCCESS;
    }
    transfer->domain = domain;
    transfer->ep = ep;
    transfer->op = op;
    transfer->peer = peer;
    transfer->local = *local;
    transfer->access = *access;
    transfer->begun = done;
    transfer->arrived = done;
    transfer->cookie = 0;
    transfer->in_flight = 0;
    transfer->origin_context = ep->base.context_id;
    transfer->is_cancelled = false;
    transfer->is_by_message = false;
    transfer->is_gone = false;
    transfer->ret = HG_SUCCESS;
    for (unsigned i = 0; i < AMG_SHM_FRAGMENTS; i++)
        transfer->fragments[i].len = 0;
    amg_bias_lock(&domain->lock);
    if (peer->state == AMG_SHM_PEER_UNMET)
        rc = amg_shm_peer_meet_locked(peer);
    if (AMG_LIKELY(rc == HG_SUCCESS)) {
        peer->refs++;
        amg_call_set(op, AMG_SHM_OP_BULK, transfer, &ep->base);
        amg_shm_transfer_wake_locked(transfer);
    }
    amg_bias_unlock(&domain->lock);
    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        amg_pool_put(&domain->bulk.pool, transfer);
        post_end(ep, op, 0, 0, rc);
    }
    return HG_SUCCESS;
}

/* Posts a put or get; `access` lacks key and position at the peer. */
static inline hg_return_t transfer_begin(struct amg_ep *base,
    struct amg_peer *to, struct amg_shm_access *access,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    struct amg_op *op)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_peer *peer = amg_shm_peer_of(to);
    struct amg_seg_iter here = *local;
    uint64_t done = 0;
    hg_return_t rc = amg_shm_key_read(&remote->key, &access->key);

    if (rc != HG_SUCCESS)
        return rc;
    if (!AMG_CONTRACT_OF(
            "HG_Bulk_transfer", access->len > 0, "the transfer has 0 bytes"))
        return HG_INVALID_ARG;
    access->segment = remote->at.segment;
    access->offset = remote->at.into;
    if (post_copy(ep, peer, access, &here, op, &done))
        return HG_SUCCESS;
    return transfer_post(ep, peer, access, &here, done, op);
}

hg_return_t amg_shm_bulk_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    struct amg_shm_access access = {
        .direction = AMG_MEM_WRITE, .len = len, .context = to.context_id};

    return transfer_begin(ep, to.peer, &access, local, remote, op);
}

hg_return_t amg_shm_bulk_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    struct amg_shm_access access = {
        .direction = AMG_MEM_READ, .len = len, .context = to.context_id};

    return transfer_begin(ep, to.peer, &access, local, remote, op);
}

hg_return_t amg_shm_bulk_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);

    return amg_shm_exposer_add(&domain->bulk.exposer, base->transport, segments,
        count, flags, ret_mem);
}

hg_return_t amg_shm_bulk_unreg(
    struct amg_domain *base, struct amg_mem *mem, unsigned timeout_ms)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);

    return amg_shm_exposer_remove(&domain->bulk.exposer, mem, timeout_ms);
}
