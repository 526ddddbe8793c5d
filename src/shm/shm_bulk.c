/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets, from post to completion.
 *
 * A transfer that can proceed is on a list of its endpoint. Each poll moves the
 * first transfers of the list by a step: the poll copies (shm_copy.c), or asks
 * the peer to copy, and then the transfer is off the list
 * until an answer comes. While a poll works on a transfer, the transfer is off
 * the list and the lock is released, so that posts and cancels go on; a cancel
 * sets a flag in the transfer.
 *
 * A post copies short data at once, without a transfer; the operation waits on
 * the endpoint's done list for the next poll. A list, a step and taking the
 * lock twice would cost more than the copy.
 *
 * Transfer through the segment: the peer copies between its memory and a bounce
 * buffer, on request by message. All values of a peer are checked before use: a
 * bounce buffer must be inside the segment, and an answer for a fragment in
 * flight. */
#include "shm/shm_bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"

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

/* Lets the next poll continue the transfer. */
static void transfer_wake_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_bulk_ep *bulk = &transfer->ep->bulk;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    transfer->state = AMG_SHM_TRANSFER_READY;
    amg_list_push(&bulk->ready, &transfer->link);
    amg_shm_due_set_locked(transfer->ep, AMG_SHM_DUE_BULK, true);
    amg_shm_doorbell_self_locked(transfer->ep);
}

/* All answers have arrived, or none will. */
static void transfer_free_locked(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(transfer->op == NULL && transfer->in_flight == 0);
    if (transfer->is_by_message)
        amg_table_remove(&domain->bulk.transfers, transfer->cookie);
    amg_shm_peer_unref_locked(transfer->peer);
    /* NOTE(not a leaf lock): the pool's lock is taken inside. */
    amg_pool_put(&domain->bulk.pool, transfer);
}

static char *bounce_buf(const struct amg_shm_region *region, uint32_t bounce)
{
    AMG_ASSERT(bounce < AMG_SHM_BOUNCE_COUNT);
    return (char *)region->bounce_bufs + (size_t)bounce * AMG_SHM_BOUNCE_LEN;
}

/* Whether a bounce buffer with pages is free for the transfer. Checked after
 * HG_BUSY: a buffer may have been freed meanwhile. */
static bool bounce_is_free_locked(const struct amg_shm_transfer *transfer)
{
    const struct amg_shm_bulk *bulk = &transfer->domain->bulk;

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    return (~bulk->bounce_used & bulk->bounce_reserved) != 0 &&
           transfer->peer->bulk.bounce_used < AMG_SHM_PEER_BOUNCE_MAX;
}

/* Takes a bounce buffer for a fragment to `peer`, if possible a buffer with
 * pages. HG_BUSY: all possible ones are in use; HG_NOMEM: none is possible. */
static hg_return_t bounce_take_locked(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint32_t *ret_bounce)
{
    uint32_t free = ~domain->bulk.bounce_used;
    uint32_t bounce = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (free == 0 || peer->bulk.bounce_used >= AMG_SHM_PEER_BOUNCE_MAX)
        return HG_BUSY;
    if ((free & domain->bulk.bounce_reserved) != 0)
        free &= domain->bulk.bounce_reserved;
    bounce = (uint32_t)__builtin_ctz(free);
    if ((domain->bulk.bounce_reserved & 1u << bounce) == 0 &&
        !amg_shm_region_reserve(&domain->region,
            bounce_buf(&domain->region, bounce), AMG_SHM_BOUNCE_LEN))
        return domain->bulk.bounce_used != 0 ? HG_BUSY : HG_NOMEM;
    domain->bulk.bounce_reserved |= 1u << bounce;
    domain->bulk.bounce_used |= 1u << bounce;
    peer->bulk.bounce_used++;
    *ret_bounce = bounce;
    return HG_SUCCESS;
}

/* Continues the transfers that waited for a bounce buffer. */
static void blocked_wake_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (unsigned i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_ep *ep = domain->eps[i];
        struct amg_link *link = NULL;

        while (ep != NULL && (link = amg_list_pop(&ep->bulk.blocked)) != NULL)
            transfer_wake_locked(amg_shm_transfer_of(link));
    }
}

static void fragment_end_locked(
    struct amg_shm_transfer *transfer, struct amg_shm_fragment *fragment)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    AMG_ASSERT(fragment->len > 0 && transfer->in_flight > 0);
    transfer->domain->bulk.bounce_used &= ~(1u << fragment->bounce);
    transfer->peer->bulk.bounce_used--;
    transfer->in_flight--;
    fragment->len = 0;
}

/* Frees the bounce buffers of fragments that will not be answered. */
static void fragments_drop_locked(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    for (unsigned i = 0; i < AMG_SHM_FRAGMENTS; i++)
        if (transfer->fragments[i].len > 0)
            fragment_end_locked(transfer, &transfer->fragments[i]);
    blocked_wake_locked(transfer->domain);
}

/* Bytes from the start of the segment to the next fragment. An offset beyond 64
 * bits must not wrap to 0: the peer refuses UINT64_MAX as too large. */
static uint64_t fragment_offset(const struct amg_shm_transfer *transfer)
{
    uint64_t offset = transfer->access.offset;

    return transfer->begun <= UINT64_MAX - offset ? offset + transfer->begun
                                                  : UINT64_MAX;
}

static hg_return_t fragment_send_locked(
    struct amg_shm_transfer *transfer, const struct amg_shm_fragment *fragment)
{
    bool is_get = transfer->access.direction == AMG_MEM_READ;
    const struct amg_shm_msg_header header = {
        .kind = is_get ? AMG_SHM_BULK_GET : AMG_SHM_BULK_PUT,
        .origin_context = transfer->origin_context,
        .target_context = transfer->access.context,
        .cookie = transfer->cookie,
    };
    const struct amg_shm_bulk_request request = {
        .key = transfer->access.key,
        .offset = fragment_offset(transfer),
        .rest = transfer->access.len - transfer->begun,
        .segment = transfer->access.segment,
        .len = fragment->len,
        .bounce = fragment->bounce,
        .goes_on = transfer->begun > 0,
    };

    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    return amg_shm_send_short_locked(
        transfer->peer, &header, &request, sizeof(request));
}

/* /dev/shm has no room for a bounce buffer, and none is in use for which the
 * transfer could wait. */
static void bounce_lacks(struct amg_shm_transfer *transfer)
{
    AMG_ASSERT(transfer->in_flight == 0);
    transfer->ret = HG_NOMEM;
    AMG_LOG_ERROR("bulk",
        "shm: a transfer of %llu bytes with na+sm://%s ends: /dev/shm has no "
        "room for %d bytes to copy through; free some, or let the processes "
        "copy by process_vm_readv",
        (unsigned long long)transfer->access.len, transfer->peer->region.name,
        AMG_SHM_BOUNCE_LEN);
}

/* Begins one more fragment. HG_AGAIN: no more may be in flight now, or the
 * transfer has failed. */
static hg_return_t fragment_begin(struct amg_shm_transfer *transfer)
{
    struct amg_shm_domain *domain = transfer->domain;
    uint64_t left = transfer->access.len - transfer->begun;
    struct amg_shm_fragment *fragment = transfer->fragments;
    struct amg_seg_iter behind = transfer->local;
    hg_return_t rc = HG_SUCCESS;
    uint32_t bounce = 0;

    AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_POLLED);
    if (transfer->in_flight == AMG_SHM_FRAGMENTS)
        return HG_AGAIN;
    while (fragment->len > 0)
        fragment++;
    amg_bias_lock(&domain->lock);
    rc = bounce_take_locked(domain, transfer->peer, &bounce);
    amg_bias_unlock(&domain->lock);
    if (rc == HG_NOMEM)
        bounce_lacks(transfer);
    if (rc != HG_SUCCESS)
        return rc == HG_BUSY && transfer->in_flight == 0 ? rc : HG_AGAIN;
    *fragment = (struct amg_shm_fragment){.bounce = bounce,
        .len = left < AMG_SHM_BOUNCE_LEN ? (uint32_t)left : AMG_SHM_BOUNCE_LEN,
        .local = transfer->local};
    if (transfer->access.direction == AMG_MEM_WRITE)
        amg_seg_iter_gather(
            bounce_buf(&domain->region, bounce), &behind, fragment->len);
    else
        amg_seg_iter_skip(&behind, fragment->len);
    amg_bias_lock(&domain->lock);
    transfer->in_flight++;
    rc = fragment_send_locked(transfer, fragment);
    if (rc == HG_SUCCESS) {
        transfer->begun += fragment->len;
        transfer->local = behind;
    } else {
        fragment_end_locked(transfer, fragment);
    }
    amg_bias_unlock(&domain->lock);
    return rc;
}

static bool pages_are_there(const void *at, uint64_t len, int advice)
{
    uintptr_t first = (uintptr_t)at / AMG_SHM_PAGE * AMG_SHM_PAGE;

    return madvise((void *)first, (uintptr_t)at + len - first, advice) == 0;
}

/* Whether this process can access the bytes. A program may have protected or
 * unmapped exposed memory, or truncated its file: then a plain copy would end
 * the process by a signal. A kernel before 5.14 refuses the advice even for the
 * bounce buffer, which is accessible: then the copy is made unchecked. */
static bool memory_is_there(struct amg_seg_iter at, uint64_t len,
    uint32_t direction, const void *bounce)
{
    int advice =
        direction == AMG_MEM_READ ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
    void *run = NULL;

    while (len > 0) {
        uint64_t taken = amg_seg_iter_take(&at, len, &run);

        AMG_ASSERT(taken > 0);
        if (!pages_are_there(run, taken, advice))
            return !pages_are_there(bounce, 1, advice);
        len -= taken;
    }
    return true;
}

/* Copies between memory of this process and a bounce buffer of the peer. */
static hg_return_t request_serve(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint32_t direction,
    const struct amg_shm_bulk_request *request)
{
    const struct amg_shm_access access = {.key = request->key,
        .segment = request->segment,
        .direction = direction,
        .offset = request->offset,
        .len = request->rest,
        .goes_on = request->goes_on != 0};
    struct amg_shm_mem *mem = NULL;
    struct amg_seg_iter at;
    char *bounce = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (request->bounce >= AMG_SHM_BOUNCE_COUNT || request->len == 0 ||
        request->len > AMG_SHM_BOUNCE_LEN || request->len > request->rest)
        return HG_PROTOCOL_ERROR;
    rc = amg_shm_exposer_enter(&domain->bulk.exposer, &access, &mem, &at);
    if (rc != HG_SUCCESS) {
        amg_shm_access_refused(&peer->region, &access, rc);
        return rc;
    }
    bounce = bounce_buf(&peer->region, request->bounce);
    if (!memory_is_there(at, request->len, direction, bounce)) {
        AMG_LOG_ERROR("bulk",
            "shm: %" PRIu32 " bytes of exposed memory cannot be accessed any "
            "more; a transfer of na+sm://%s ends; call HG_Bulk_free() before "
            "the memory is unmapped or protected",
            request->len, peer->region.name);
        rc = HG_NA_ERROR;
    } else if (direction == AMG_MEM_READ)
        amg_seg_iter_gather(bounce, &at, request->len);
    else
        amg_seg_iter_scatter(&at, bounce, request->len);
    amg_shm_exposer_leave(&domain->bulk.exposer, mem);
    return rc;
}

/* If the context is closed, the caller has the lock, and keeps it. */
static void message_lock(struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_lock(&domain->lock);
}

static void message_unlock(struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_unlock(&domain->lock);
}

static void on_bulk_request(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    struct amg_shm_bulk_request request;
    const struct amg_shm_msg_header header = {
        .kind = AMG_SHM_BULK_DONE,
        .origin_context = context_id,
        .target_context = cell->context,
        .cookie = cell->cookie,
    };
    struct amg_shm_bulk_done done;
    hg_return_t rc = HG_SUCCESS;

    memcpy(&request, cell->bytes, sizeof(request));
    done.bounce = request.bounce;
    done.code = request_serve(domain, peer,
        cell->kind == AMG_SHM_BULK_GET ? AMG_MEM_READ : AMG_MEM_WRITE,
        &request);
    message_lock(domain, has_lock);
    rc = amg_shm_send_short_locked(peer, &header, &done, sizeof(done));
    message_unlock(domain, has_lock);
    if (rc != HG_SUCCESS && rc != HG_HOSTUNREACH)
        AMG_LOG_ERROR("bulk",
            "shm: the answer to a transfer of process %s is lost (code %d): "
            "the transfer ends only with that process",
            peer->region.name, (int)rc);
}

/* The fragment that the answer is for, and its transfer; NULL: none. */
static struct amg_shm_fragment *fragment_find_locked(
    struct amg_shm_domain *domain, const struct amg_shm_peer *peer,
    uint8_t context_id, const struct amg_shm_cell *cell,
    const struct amg_shm_bulk_done *done,
    struct amg_shm_transfer **ret_transfer)
{
    struct amg_table_slot *slot =
        amg_table_find(&domain->bulk.transfers, cell->cookie, peer->id);
    struct amg_shm_transfer *transfer = slot == NULL ? NULL : slot->object;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (transfer == NULL || transfer->origin_context != context_id)
        return NULL;
    *ret_transfer = transfer;
    for (unsigned i = 0; i < AMG_SHM_FRAGMENTS; i++)
        if (transfer->fragments[i].len > 0 &&
            transfer->fragments[i].bounce == done->bounce)
            return &transfer->fragments[i];
    return NULL;
}

/* The peer has copied a fragment, or refused it. */
static void fragment_done_locked(struct amg_shm_transfer *transfer,
    struct amg_shm_fragment *fragment, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->domain->lock);
    if (ret == HG_SUCCESS)
        transfer->arrived += fragment->len;
    else if (transfer->ret == HG_SUCCESS)
        transfer->ret = ret;
    AMG_ASSERT(transfer->arrived <= transfer->begun);
    fragment_end_locked(transfer, fragment);
    blocked_wake_locked(transfer->domain);
    if (transfer->state == AMG_SHM_TRANSFER_WAITING)
        transfer_wake_locked(transfer);
    else if (transfer->state == AMG_SHM_TRANSFER_ENDED &&
             transfer->in_flight == 0)
        transfer_free_locked(transfer);
}

static void on_bulk_done(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    struct amg_shm_transfer *transfer = NULL;
    struct amg_shm_fragment *fragment = NULL;
    struct amg_shm_bulk_done done;
    bool is_over = false;

    memcpy(&done, cell->bytes, sizeof(done));
    if (done.code >= HG_RETURN_MAX)
        done.code = HG_PROTOCOL_ERROR;
    message_lock(domain, has_lock);
    fragment =
        fragment_find_locked(domain, peer, context_id, cell, &done, &transfer);
    is_over = fragment == NULL || transfer->state == AMG_SHM_TRANSFER_ENDED;
    if (fragment != NULL && is_over) /* the user may reuse the memory */
        fragment_done_locked(transfer, fragment, (hg_return_t)done.code);
    message_unlock(domain, has_lock);
    if (fragment == NULL)
        AMG_LOG_WARNING("bulk",
            "shm: %s answered for a transfer that does not wait (cookie %x, "
            "bounce %u, code %u)",
            peer->region.name, cell->cookie, done.bounce, done.code);
    if (is_over)
        return;
    /* No lock: only this progress owner can end the transfer. */
    if (done.code == HG_SUCCESS && transfer->access.direction == AMG_MEM_READ)
        amg_seg_iter_scatter(&fragment->local,
            bounce_buf(&domain->region, done.bounce), fragment->len);
    message_lock(domain, has_lock);
    fragment_done_locked(transfer, fragment, (hg_return_t)done.code);
    message_unlock(domain, has_lock);
}

void amg_shm_transfer_message(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock)
{
    uint8_t kind = cell->kind;

    if ((kind == AMG_SHM_BULK_GET || kind == AMG_SHM_BULK_PUT) &&
        cell->len == sizeof(struct amg_shm_bulk_request))
        on_bulk_request(domain, peer, context_id, cell, has_lock);
    else if (kind == AMG_SHM_BULK_DONE &&
             cell->len == sizeof(struct amg_shm_bulk_done))
        on_bulk_done(domain, peer, context_id, cell, has_lock);
    else
        AMG_LOG_WARNING("bulk",
            "shm: a message of %s is dropped: unknown kind %u with %u bytes",
            peer->region.name, kind, cell->len);
}

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
    bulk->exposer.region = region;
    amg_pool_init(&bulk->pool, sizeof(struct amg_shm_transfer),
        _Alignof(struct amg_shm_transfer));
    amg_table_init(&bulk->transfers, TRANSFERS_MAX, "transfers in flight");
    bulk->is_ptraceable =
        (bulk->copy == AMG_SHM_COPY_AUTO || bulk->copy == AMG_SHM_COPY_CMA) &&
        ptrace_allow();
}

void amg_shm_bulk_close(struct amg_shm_domain *domain)
{
    struct amg_table *table = &domain->bulk.transfers;

    amg_bias_lock(&domain->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        struct amg_shm_transfer *transfer = table->slots[i].object;

        if (transfer == NULL)
            continue;
        /* Waits for an answer that will not come. */
        AMG_ASSERT(transfer->state == AMG_SHM_TRANSFER_ENDED);
        fragments_drop_locked(transfer);
        transfer_free_locked(transfer);
    }
    amg_bias_unlock(&domain->lock);
    amg_table_fini(table);
    amg_pool_fini(&domain->bulk.pool);
    if (domain->bulk.is_ptraceable)
        ptrace_disallow();
    amg_shm_exposer_fini(&domain->bulk.exposer);
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
        fragments_drop_locked(transfer);
    if (transfer->in_flight == 0)
        transfer_free_locked(transfer);
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

/* Asks the peer to copy; from now on only the peer does. Sends the fragments of
 * a POLLED transfer that the limits allow. HG_SUCCESS: all bytes arrived;
 * HG_AGAIN: continue when answers arrive; HG_BUSY: no bounce buffer is free;
 * HG_NOMEM: try again. Others end the transfer. */
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
    while (rc == HG_SUCCESS && transfer->begun < transfer->access.len)
        rc = fragment_begin(transfer);
    if (rc == HG_SUCCESS && transfer->arrived < transfer->access.len)
        rc = HG_AGAIN;
    return rc;
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
    } else if (rc == HG_BUSY && !bounce_is_free_locked(transfer)) {
        transfer->state = AMG_SHM_TRANSFER_BLOCKED;
        amg_list_push(&transfer->ep->bulk.blocked, &transfer->link);
    } else if (transfer->in_flight > 0 && rc != HG_NOMEM) {
        transfer->state = AMG_SHM_TRANSFER_WAITING;
    } else {
        transfer_wake_locked(transfer);
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
        transfer_wake_locked(transfer);
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
        fragments_drop_locked(transfer);
        transfer_free_locked(transfer);
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

/* Whether a post may copy now: not if the peer closed or died, or the copy
 * would be the first step to the peer, which finds the ways of copying by
 * system calls. */
static inline bool post_may_copy(
    const struct amg_shm_ep *ep, const struct amg_shm_peer *peer, uint64_t len)
{
    return len <= POST_LEN &&
           atomic_load_explicit(&peer->bulk.is_known, memory_order_acquire) !=
               0 &&
           peer->bulk.accessor != NULL &&
           atomic_load_explicit(&peer->bulk.is_gone, memory_order_relaxed) ==
               0 &&
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

/* Creates a transfer of all but the first `done` bytes. */
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
    *transfer = (struct amg_shm_transfer){
        .domain = domain,
        .ep = ep,
        .op = op,
        .peer = peer,
        .local = *local,
        .access = *access,
        .begun = done,
        .arrived = done,
        .origin_context = ep->base.context_id,
    };
    amg_bias_lock(&domain->lock);
    if (peer->state == AMG_SHM_PEER_UNMET)
        rc = amg_shm_peer_meet_locked(peer);
    if (AMG_LIKELY(rc == HG_SUCCESS)) {
        peer->refs++;
        amg_call_set(op, AMG_SHM_OP_BULK, transfer, &ep->base);
        transfer_wake_locked(transfer);
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
