/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying between this process and exposed memory of a peer, by ourselves.
 *
 * Two ways, found out about each peer when the first transfer wants to know:
 *
 *   direct  memory of the peer's area, which is mapped here: plain copies
 *   cma     any memory, by process_vm_readv() and process_vm_writev(),
 * shm_cma.c
 *
 * Both need the same pid namespace. The area is reached by the peer's
 * descriptor in /proc, which the kernel allows to the same user; cross-memory
 * copies it may forbid (Yama, seccomp), so they are tried on the random word
 * in the peer's head. What neither way can do goes by message.
 *
 * A copy is only made while the peer's table says that the memory is exposed,
 * and the peer waits for us before it frees it (shm_visit.h). A pid could be
 * used again while we copy only if its owner died in that very moment. */
#include "shm/shm_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "shm/shm_cma.h"
#include "shm/shm_files.h"

/* Of a list, in bytes that could be copied instead. */
enum { DIRECT_RUN_COST = 128 };

AMG_APART void amg_shm_copy_blame(const struct amg_shm_region *who,
    const struct amg_shm_access *access, hg_return_t rc)
{
    AMG_LOG_WARNING("bulk",
        "shm: refused to %s %llu bytes at %llu of segment %u, key %x/%x, "
        "between us and %s: code %d",
        access->direction == AMG_MEM_READ ? "get" : "put",
        (unsigned long long)access->len, (unsigned long long)access->offset,
        access->segment, access->key.index, access->key.serial, who->name,
        (int)rc);
}

static bool is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

/* The peer's area, mapped here; NULL: it has none, or we may not. */
static char *area_map(const struct amg_shm_region *region, uint64_t len)
{
    struct stat file;
    void *base = MAP_FAILED;
    int fd = -1;

    if (len == 0)
        return NULL;
    fd = amg_shm_files_open_of(region->pid, region->head->area_fd, S_IFREG);
    if (fd < 0)
        return NULL;
    /* It must not become shorter than what is mapped: reading would be SIGBUS.
     * And it must be the file of who is alive, not of a later owner. */
    if (fstat(fd, &file) == 0 && (uint64_t)file.st_size == len &&
        is_sealed(fd) &&
        amg_shm_files_life(region->pid, region->start_time) == AMG_SHM_ALIVE)
        base = mmap(NULL, len, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    return base == MAP_FAILED ? NULL : base;
}

static void ways_find(struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;
    const struct amg_shm_region *region = &peer->region;
    enum amg_shm_copy copy = domain->bulk.copy;
    bool is_self = peer == domain->self;

    bulk->table = region->keys;
    if (copy == AMG_SHM_COPY_SEGMENT ||
        region->pid_ns != domain->region.pid_ns ||
        atomic_load_explicit(&bulk->table->magic, memory_order_acquire) !=
            AMG_SHM_KEYS_MAGIC)
        return;
    if (copy != AMG_SHM_COPY_CMA && !is_self) {
        /* Read once: the peer might change it. */
        const volatile struct amg_shm_head *head = region->head;
        uint64_t len = head->area_len;

        bulk->area = area_map(region, len);
        bulk->area_base = head->area_base;
        bulk->area_len = bulk->area == NULL ? 0 : len;
    }
    if (copy != AMG_SHM_COPY_CMA && is_self) { /* all of it is here */
        bulk->area_base = 0;
        bulk->area_len = UINT64_MAX;
    }
    if (copy != AMG_SHM_COPY_DIRECT)
        atomic_store_explicit(
            &bulk->has_cma, amg_shm_cma_works(region), memory_order_relaxed);
    if (bulk->area_len > 0 ||
        atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) != 0)
        bulk->visitor = amg_shm_visit_claim(
            bulk->table, &domain->bulk.who, amg_shm_files_life);
}

AMG_APART static void ways_learn(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;

    amg_lock_take(&bulk->lock);
    if (atomic_load_explicit(&bulk->is_known, memory_order_relaxed) == 0) {
        ways_find(domain, peer);
        AMG_LOG_DEBUG("bulk", "shm: ways to %s: %s%ssegment", peer->region.name,
            bulk->visitor != NULL && bulk->area_len > 0 ? "direct " : "",
            bulk->visitor != NULL && bulk->has_cma != 0 ? "cma " : "");
        atomic_store_explicit(&bulk->is_known, 1, memory_order_release);
    }
    amg_lock_give(&bulk->lock);
}

/* The peer's area as mapped here; both sides may be the same memory. */
static void direct_copy(const struct amg_shm_bulk_peer *bulk, bool is_get,
    void *local, uint64_t at, uint64_t len)
{
    char *there = bulk->area == NULL ? (char *)(uintptr_t)at
                                     : bulk->area + (at - bulk->area_base);

    if (is_get)
        memmove(local, there, len);
    else
        memmove(there, local, len);
}

static bool is_in_area(
    const struct amg_shm_bulk_peer *bulk, uint64_t at, uint64_t len)
{
    return at >= bulk->area_base && at - bulk->area_base <= bulk->area_len &&
           len <= bulk->area_len - (at - bulk->area_base);
}

/* Plain copies run by run, as long as the peer's runs are in its area. */
static hg_return_t direct_copy_lists(const struct amg_shm_bulk_peer *bulk,
    bool is_get, struct amg_place *local, struct amg_shm_step *step,
    uint64_t *budget)
{
    while (step->run > 0 && is_in_area(bulk, step->at, step->run)) {
        for (uint64_t done = 0; done < step->run;) {
            void *here = NULL;
            uint64_t len = amg_place_take(local, step->run - done, &here);

            if (!AMG_CONTRACT(len > 0))
                return HG_INVALID_ARG;
            direct_copy(bulk, is_get, here, step->at + done, len);
            done += len;
            amg_shm_step_spend(budget, len + DIRECT_RUN_COST);
        }
        step->moved += step->run;
        step->left -= step->run;
        step->run = amg_shm_view_take(&step->view,
            step->left < *budget ? step->left : *budget, &step->at);
    }
    return HG_SUCCESS;
}

/* The first bytes of both lists, as far as they go one way. */
AMG_APART static hg_return_t copy_lists(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_place *local,
    struct amg_shm_step *step, uint64_t *budget)
{
    const struct amg_shm_bulk_peer *bulk = &peer->bulk;

    step->run = amg_shm_view_take(&step->view, step->left, &step->at);
    if (step->run == 0)
        return HG_PROTOCOL_ERROR;
    if (is_in_area(bulk, step->at, step->run))
        return direct_copy_lists(
            bulk, access->direction == AMG_MEM_READ, local, step, budget);
    if (atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) != 0)
        return amg_shm_cma_copy_lists(peer, access, local, step, budget);
    return HG_OPNOTSUPPORTED;
}

/* The same where it is one run on both sides, as most are. */
static hg_return_t copy_run(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_place *local, uint64_t at,
    uint64_t len, uint64_t *ret_len)
{
    const struct amg_shm_bulk_peer *bulk = &peer->bulk;
    void *here = amg_place_at(local);
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (is_in_area(bulk, at, len)) {
        direct_copy(bulk, access->direction == AMG_MEM_READ, here, at, len);
        *ret_len = len;
        rc = HG_SUCCESS;
    } else if (atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) !=
               0) {
        rc = amg_shm_cma_copy(peer, access, here, at, len, ret_len);
    }
    if (rc == HG_SUCCESS)
        local->into += *ret_len;
    return rc;
}

hg_return_t amg_shm_copy_step(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, const struct amg_shm_access *access,
    struct amg_place *local, uint64_t *budget, uint64_t *ret_len)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;
    struct amg_shm_step step;
    hg_return_t rc = HG_SUCCESS;
    unsigned visit = 0;

    if (!AMG_LIKELY(
            atomic_load_explicit(&bulk->is_known, memory_order_acquire) != 0))
        ways_learn(domain, peer);
    if (bulk->visitor == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_shm_visit_enter(
        bulk->table, bulk->visitor, access, &visit, &step.view);
    if (rc != HG_SUCCESS) {
        if (rc != HG_OPNOTSUPPORTED && rc != HG_AGAIN)
            amg_shm_copy_blame(&peer->region, access, rc);
        return rc;
    }
    step.left = access->len < *budget ? access->len : *budget;
    step.moved = 0;
    if (step.left <= step.view.len && amg_place_is_here(local, step.left)) {
        rc =
            copy_run(peer, access, local, step.view.at, step.left, &step.moved);
        *budget -= step.moved;
    } else {
        rc = copy_lists(peer, access, local, &step, budget);
    }
    amg_shm_visit_leave(bulk->visitor, visit);
    if (rc == HG_SUCCESS)
        *ret_len = step.moved;
    return rc;
}

void amg_shm_copy_fini(struct amg_shm_bulk_peer *bulk)
{
    amg_shm_visit_release(bulk->visitor);
    bulk->visitor = NULL;
    if (bulk->area != NULL)
        munmap(bulk->area, bulk->area_len);
    bulk->area = NULL;
}
