/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between this process and the memory of a peer.
 *
 * There are two ways. The first transfer with a peer finds which ways work:
 *
 *   direct  the peer's area (memory of its library), mapped here: plain copies
 *   cma     any memory, by process_vm_readv() and process_vm_writev()
 *
 * Both ways need the same pid namespace. The area is mapped through the peer's
 * descriptor in /proc, which the kernel opens to the same user. The kernel may
 * forbid cross-memory copies (Yama, seccomp), so cma_works() tries to copy the
 * random word in the peer's head. If no way works, the peer copies: shm_bulk.c.
 *
 * This process copies only while the peer's table exposes the memory, and the
 * peer ends the exposure only after the copy (shm_keys.c). The pid could name
 * another process only if the peer died, the pid was reused, and this process
 * has not noticed the death yet (shm_liveness.c).
 *
 * A cross-memory copy pins the pages of each run of the peer, which costs as
 * much as copying RUN_COST bytes. A call takes up to RUNS_MAX runs, so the cost
 * of the call itself does not matter. A call copies less than requested if
 * memory is not mapped; the next step requests the rest, and gets the error.
 *
 * An exposer that polls all the time copies short runs faster than cma: 1024
 * runs of 8 B in 8 us (cma: 170 us), of 512 B in 42 us (188 us), of 4 KiB in
 * 370 us (520 us). Still, peers use cma where it works: an exposer that
 * computes, or that has no core at the moment, would answer much later. */
#include "shm/shm_bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/process.h"
#include "shm/shm_files.h"

enum {
    RUNS_MAX = 128,        /* runs of each side in one call: 4 KiB of stack */
    RUN_COST = 1500,       /* in bytes; cma, run of the peer: 0.17 us, 9 GB/s */
    HERE_COST = 128,       /* in bytes; cma, own run, which is not pinned */
    DIRECT_RUN_COST = 128, /* in bytes; plain copy of a run */
};

/* Runs of one side of a cross-memory copy. */
struct cma_runs {
    struct iovec *at;
    unsigned count;
};

/* State of a step between two lists. */
struct step {
    struct amg_shm_view view; /* the peer's list, behind the next run */
    uint64_t at;              /* address of the next run at the peer */
    uint64_t run;             /* length of the next run; 0: no run is left */
    uint64_t left;            /* bytes that the step may still copy */
    uint64_t moved;           /* bytes copied by the step */
};

static inline void step_spend(uint64_t *budget, uint64_t cost)
{
    *budget -= cost < *budget ? cost : *budget;
}

/* Whether this process can read the peer's random word. */
static bool cma_works(const struct amg_shm_region *region)
{
    uint64_t word = 0;
    struct iovec here = {&word, sizeof(word)};
    struct iovec there = {
        (void *)(uintptr_t)region->head->probe_addr, sizeof(word)};

    return process_vm_readv((pid_t)region->pid, &here, 1, &there, 1, 0) ==
               (ssize_t)sizeof(word) &&
           word == region->head->probe;
}

AMG_NOINLINE static hg_return_t cma_fail(
    struct amg_shm_peer *peer, const struct amg_shm_access *access, int error)
{
    if (error == ESRCH)
        return HG_HOSTUNREACH;
    if (error != EFAULT) {
        atomic_store_explicit(&peer->bulk.has_cma, 0, memory_order_relaxed);
        AMG_LOG_INFO("bulk",
            "shm: the kernel no longer allows cross-memory copies with %s "
            "(%s); data goes through the segment",
            peer->region.name, strerror(error));
        return HG_OPNOTSUPPORTED;
    }
    AMG_LOG_ERROR("bulk",
        "shm: %s of %llu bytes at %llu of segment %u of %s: the memory here or "
        "there is not mapped; was it unmapped while it was exposed?",
        access->direction == AMG_MEM_READ ? "get" : "put",
        (unsigned long long)access->len, (unsigned long long)access->offset,
        access->segment, peer->region.name);
    return HG_NA_ERROR;
}

/* Copies between runs of both sides, which may differ in number and length.
 * HG_SUCCESS: `*ret_len` bytes, at least one. HG_HOSTUNREACH, HG_NA_ERROR;
 * HG_OPNOTSUPPORTED: the kernel does not allow these copies any more. */
static inline hg_return_t cma_move(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, const struct cma_runs *here,
    const struct cma_runs *there, uint64_t *ret_len)
{
    pid_t pid = (pid_t)peer->region.pid;
    ssize_t moved = 0;

    if (access->direction == AMG_MEM_READ)
        moved = process_vm_readv(
            pid, here->at, here->count, there->at, there->count, 0);
    else
        moved = process_vm_writev(
            pid, here->at, here->count, there->at, there->count, 0);
    if (moved <= 0)
        return cma_fail(peer, access, moved == 0 ? EFAULT : errno);
    *ret_len = (uint64_t)moved;
    return HG_SUCCESS;
}

/* Takes up to `max` runs of the peer's list; returns the sum of their bytes. */
static uint64_t there_fill(
    struct step *step, unsigned max, struct cma_runs *there)
{
    uint64_t sum = 0;

    while (step->run > 0 && there->count < max) {
        there->at[there->count++] =
            (struct iovec){(void *)(uintptr_t)step->at, step->run};
        sum += step->run;
        step->run = amg_shm_view_take(&step->view, step->left - sum, &step->at);
    }
    return sum;
}

/* Takes runs of our list, at most `len` bytes; returns the sum of the bytes. */
static uint64_t here_fill(
    struct amg_seg_iter *local, uint64_t len, struct cma_runs *here)
{
    uint64_t sum = 0;

    while (sum < len && here->count < RUNS_MAX) {
        void *at = NULL;
        uint64_t run = amg_seg_iter_take(local, len - sum, &at);

        if (!AMG_CONTRACT_OF("HG_Bulk_transfer", run > 0,
                "the local segments end before the transfer does"))
            break;
        here->at[here->count++] = (struct iovec){at, run};
        sum += run;
    }
    return sum;
}

/* Copies the next runs by cma; `local` moves behind the copied bytes. */
static hg_return_t cma_copy_lists(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_seg_iter *local,
    struct step *step, uint64_t *budget)
{
    struct iovec vectors[2][RUNS_MAX];
    struct cma_runs there = {vectors[0], 0};
    struct cma_runs here = {vectors[1], 0};
    struct amg_seg_iter behind = *local;
    uint64_t runs = *budget / RUN_COST + 1;
    uint64_t len =
        there_fill(step, runs < RUNS_MAX ? (unsigned)runs : RUNS_MAX, &there);
    hg_return_t rc = HG_SUCCESS;

    len = here_fill(&behind, len, &here);
    rc = cma_move(peer, access, &here, &there, &step->moved);
    if (rc != HG_SUCCESS)
        return rc;
    AMG_ASSERT(step->moved <= len);
    if (step->moved == len)
        *local = behind;
    else
        amg_seg_iter_skip(local, step->moved);
    step_spend(budget, step->moved + (uint64_t)there.count * RUN_COST +
                           (uint64_t)here.count * HERE_COST);
    return HG_SUCCESS;
}

AMG_NOINLINE void amg_shm_access_refused(const struct amg_shm_region *who,
    const struct amg_shm_access *access, hg_return_t rc)
{
    AMG_LOG_WARNING("bulk",
        "shm: refused a %s of %llu bytes at %llu of segment %u, key %x/%x, "
        "with %s: code %d",
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

/* Maps the peer's area; NULL: no area, or this process may not map it. */
static char *area_map(const struct amg_shm_region *region, uint64_t len)
{
    struct stat file;
    void *base = MAP_FAILED;
    int fd = len == 0 ? -1
                      : amg_shm_files_open_of(
                            region->pid, region->head->area_fd, S_IFREG);

    if (fd < 0)
        return NULL;
    /* The file must not become shorter than the mapping: an access would raise
     * SIGBUS. The peer must be alive, or its pid may name another process. */
    if (fstat(fd, &file) == 0 && (uint64_t)file.st_size == len &&
        is_sealed(fd) &&
        amg_process_life(region->pid, region->start_time) == AMG_LIFE_ALIVE)
        base = mmap(NULL, len, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_NORESERVE, fd, 0);
    amg_spare_close(fd);
    return base == MAP_FAILED ? NULL : base;
}

static void copy_ways_find(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;
    const struct amg_shm_region *region = &peer->region;
    enum amg_shm_copy copy = domain->bulk.copy;
    bool is_self = peer == domain->self;

    bulk->table = region->keys;
    if (copy == AMG_SHM_COPY_SEGMENT ||
        region->pid_ns != domain->region.pid_ns ||
        atomic_load_explicit(&bulk->table->magic, memory_order_acquire) !=
            AMG_SHM_KEY_TABLE_MAGIC)
        return;
    if (copy != AMG_SHM_COPY_CMA && !is_self) {
        /* area_len is read only once, because the peer may change area_len. */
        const volatile struct amg_shm_head *head = region->head;
        uint64_t len = head->area_len;

        bulk->area = area_map(region, len);
        bulk->area_base = head->area_base;
        bulk->area_len = bulk->area == NULL ? 0 : len;
    }
    if (copy != AMG_SHM_COPY_CMA && is_self)
        bulk->area_len = UINT64_MAX; /* all memory is mapped */
    if (copy != AMG_SHM_COPY_DIRECT)
        atomic_store_explicit(
            &bulk->has_cma, cma_works(region), memory_order_relaxed);
    if (bulk->area_len > 0 ||
        atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) != 0)
        bulk->accessor = amg_shm_access_claim(
            bulk->table, region, &domain->bulk.id, amg_process_life);
}

AMG_NOINLINE static void copy_ways_learn(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;

    amg_lock_lock(&bulk->lock);
    if (atomic_load_explicit(&bulk->is_known, memory_order_relaxed) == 0) {
        copy_ways_find(domain, peer);
        AMG_LOG_DEBUG("bulk", "shm: ways to %s: %s%ssegment", peer->region.name,
            bulk->accessor != NULL && bulk->area_len > 0 ? "direct " : "",
            bulk->accessor != NULL && bulk->has_cma != 0 ? "cma " : "");
        atomic_store_explicit(&bulk->is_known, 1, memory_order_release);
    }
    amg_lock_unlock(&bulk->lock);
}

static bool is_in_area(
    const struct amg_shm_bulk_peer *bulk, uint64_t at, uint64_t len)
{
    return at >= bulk->area_base && at - bulk->area_base <= bulk->area_len &&
           len <= bulk->area_len - (at - bulk->area_base);
}

/* Copies to or from the peer's area; source and target may overlap. */
static void direct_copy(const struct amg_shm_bulk_peer *bulk, bool is_get,
    void *local, uint64_t at, uint64_t len)
{
    char *there = bulk->area == NULL ? (char *)(uintptr_t)at
                                     : bulk->area + (at - bulk->area_base);

    AMG_ASSERT(bulk->area == NULL || is_in_area(bulk, at, len));
    if (is_get)
        memmove(local, there, len);
    else
        memmove(there, local, len);
}

/* Makes plain copies, run by run, while the peer's runs are in its area. */
static hg_return_t direct_copy_lists(const struct amg_shm_bulk_peer *bulk,
    bool is_get, struct amg_seg_iter *local, struct step *step,
    uint64_t *budget)
{
    while (step->run > 0 && is_in_area(bulk, step->at, step->run)) {
        for (uint64_t done = 0; done < step->run;) {
            void *here = NULL;
            uint64_t len = amg_seg_iter_take(local, step->run - done, &here);

            if (!AMG_CONTRACT_OF("HG_Bulk_transfer", len > 0,
                    "the local segments end before the transfer does"))
                return HG_INVALID_ARG;
            direct_copy(bulk, is_get, here, step->at + done, len);
            done += len;
            step_spend(budget, len + DIRECT_RUN_COST);
        }
        step->moved += step->run;
        step->left -= step->run;
        step->run = amg_shm_view_take(&step->view,
            step->left < *budget ? step->left : *budget, &step->at);
    }
    return HG_SUCCESS;
}

/* Copies between the starts of both lists: by plain copies if the peer's first
 * run is in the peer's area, else by cma if cma works. */
AMG_NOINLINE static hg_return_t copy_lists(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_seg_iter *local,
    struct step *step, uint64_t *budget)
{
    const struct amg_shm_bulk_peer *bulk = &peer->bulk;

    step->run = amg_shm_view_take(&step->view, step->left, &step->at);
    if (step->run == 0)
        return HG_PROTOCOL_ERROR;
    if (is_in_area(bulk, step->at, step->run))
        return direct_copy_lists(
            bulk, access->direction == AMG_MEM_READ, local, step, budget);
    if (atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) != 0)
        return cma_copy_lists(peer, access, local, step, budget);
    return HG_OPNOTSUPPORTED;
}

/* Copies between one run of each side, the usual case. */
static hg_return_t copy_run(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_seg_iter *local,
    uint64_t at, uint64_t len, uint64_t *ret_len)
{
    const struct amg_shm_bulk_peer *bulk = &peer->bulk;
    void *here = amg_seg_iter_at(local);
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (is_in_area(bulk, at, len)) {
        direct_copy(bulk, access->direction == AMG_MEM_READ, here, at, len);
        *ret_len = len;
        rc = HG_SUCCESS;
    } else if (atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) !=
               0) {
        struct iovec vectors[2] = {{here, len}, {(void *)(uintptr_t)at, len}};

        rc = cma_move(peer, access, &(struct cma_runs){&vectors[0], 1},
            &(struct cma_runs){&vectors[1], 1}, ret_len);
    }
    if (rc == HG_SUCCESS)
        local->into += *ret_len;
    return rc;
}

hg_return_t amg_shm_copy_step(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, const struct amg_shm_access *access,
    struct amg_seg_iter *local, uint64_t *budget, uint64_t *ret_len)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;
    struct step step;
    hg_return_t rc = HG_SUCCESS;
    unsigned slot = 0;

    AMG_ASSERT(*budget > 0 && access->len > 0);
    if (!AMG_LIKELY(
            atomic_load_explicit(&bulk->is_known, memory_order_acquire) != 0))
        copy_ways_learn(domain, peer);
    if (bulk->accessor == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_shm_access_enter(
        bulk->table, bulk->accessor, access, &slot, &step.view);
    if (rc != HG_SUCCESS) {
        if (rc != HG_OPNOTSUPPORTED && rc != HG_AGAIN)
            amg_shm_access_refused(&peer->region, access, rc);
        return rc;
    }
    step.left = access->len < *budget ? access->len : *budget;
    step.moved = 0;
    if (step.left <= step.view.len && amg_seg_iter_is_here(local, step.left)) {
        rc =
            copy_run(peer, access, local, step.view.at, step.left, &step.moved);
        *budget -= step.moved;
    } else {
        rc = copy_lists(peer, access, local, &step, budget);
    }
    amg_shm_access_leave(bulk->accessor, slot);
    if (rc == HG_SUCCESS)
        *ret_len = step.moved;
    return rc;
}
