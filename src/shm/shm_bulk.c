/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data of a domain: posts of puts and gets, and copies for peers.
 *
 * A post copies short data at once, without a transfer; the operation waits on
 * the endpoint's done list for the next poll. For short data, a transfer (list,
 * step, the lock taken twice) would cost more than the copy. A post of more
 * data creates a transfer, which polls move (shm_transfer.c).
 *
 * Transfer through the segment: the exposer copies between its memory and a
 * bounce buffer of the origin, when a message of the origin requests the copy.
 * The exposer checks all values of the message, such as the buffer's number. */
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

enum { TRANSFERS_MAX = 1 << 20 }; /* transfers by message in flight */

/* Bytes that one post copies at most, in 3 us directly or 7 us by cma. All
 * posts between two polls copy at most AMG_SHM_POLL_LEN, as one poll does. */
static const uint64_t POST_LEN = 1 << 16;

static_assert(sizeof(struct amg_shm_key_table) <= AMG_SHM_KEY_TABLE_LEN,
    "must fit its place");

static bool pages_are_there(const void *at, uint64_t len, int advice)
{
    uintptr_t first = (uintptr_t)at / AMG_SHM_PAGE * AMG_SHM_PAGE;

    return madvise((void *)first, (uintptr_t)at + len - first, advice) == 0;
}

/* Whether this process can access the bytes. If a program has protected or
 * unmapped exposed memory, or truncated a mapped file, a plain copy would end
 * the process by a signal. A kernel before 5.14 refuses the advice even for the
 * bounce buffer, which is accessible; then the copy is made unchecked. */
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
    bounce = amg_shm_bounce_buf(&peer->region, request->bounce);
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
    amg_shm_bulk_lock(domain, has_lock);
    rc = amg_shm_send_short_locked(peer, &header, &done, sizeof(done));
    amg_shm_bulk_unlock(domain, has_lock);
    if (rc != HG_SUCCESS && rc != HG_HOSTUNREACH)
        AMG_LOG_ERROR("bulk",
            "shm: the answer to a transfer of process %s is lost (code %d): "
            "the transfer ends only with that process",
            peer->region.name, (int)rc);
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
        amg_shm_transfer_done(domain, peer, context_id, cell, has_lock);
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

/* Whether Yama restricts which processes may access the memory of a process;
 * true also if the setting of Yama cannot be read. */
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

/* Guards ptrace_users, the number of domains that called ptrace_allow(). */
static struct amg_lock ptrace_lock AMG_LOCK_KEPT;
static unsigned ptrace_users;

/* If Yama restricts the access to ancestors: lets other processes of this user
 * access the memory of this process. False: not needed. */
static bool ptrace_allow(void)
{
    if (!yama_restricts())
        return false;
    amg_lock_lock(&ptrace_lock);
    ptrace_users++; /* a forked child inherits the count, not the permission */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    amg_lock_unlock(&ptrace_lock);
    return true;
}

/* Ends the permission of ptrace_allow() when the last domain closes. */
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
        &bulk->exposer, region->keys, region->incarnation, amg_process_life);
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
    amg_bias_lock(&domain->lock);
    amg_shm_transfers_drop_locked(domain);
    amg_bias_unlock(&domain->lock);
    amg_table_fini(&domain->bulk.transfers);
    amg_pool_fini(&domain->bulk.pool);
    if (domain->bulk.is_ptraceable)
        ptrace_disallow();
    amg_shm_exposer_fini(&domain->bulk.exposer);
}

/* Whether a post may copy now. False before the first transfer with the peer,
 * which makes system calls to find the ways of copying; if the peer closed or
 * died; and if a limit of bytes would be exceeded. */
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
               AMG_SHM_POLL_LEN;
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
 * polls have to copy the bytes after the first `*ret_len`. */
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
        amg_shm_transfer_wake_locked(transfer);
    }
    amg_bias_unlock(&domain->lock);
    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        amg_pool_put(&domain->bulk.pool, transfer);
        post_end(ep, op, 0, 0, rc);
    }
    return HG_SUCCESS;
}

/* Posts a put or get; fills in the key and the position in `access`. */
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
