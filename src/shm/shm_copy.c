/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying between this process and exposed memory of a peer, by ourselves.
 *
 * Two ways, found out about each peer when the first transfer wants to know:
 *
 *   direct  memory of the peer's area, which is mapped here: a plain copy
 *   cma     any memory, by process_vm_readv() and process_vm_writev()
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

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "shm/shm_files.h"

void amg_shm_copy_blame(const struct amg_shm_region *who,
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
    char path[64];
    struct stat file;
    void *base = MAP_FAILED;
    int fd = -1;

    if (len == 0)
        return NULL;
    snprintf(path, sizeof(path), "/proc/%u/fd/%d", region->pid,
        region->head->area_fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    /* It must not become shorter than what is mapped: reading would be SIGBUS.
     * And it must be the file of who is alive, not of a later owner. */
    if (fstat(fd, &file) == 0 && (uint64_t)file.st_size == len &&
        is_sealed(fd) &&
        amg_shm_files_is_alive(region->pid, region->start_time))
        base = mmap(NULL, len, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    return base == MAP_FAILED ? NULL : base;
}

/* Can the peer's random word be read? */
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
            &bulk->has_cma, cma_works(region), memory_order_relaxed);
    if (bulk->area_len > 0 ||
        atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) != 0)
        bulk->visitor = amg_shm_visit_claim(
            bulk->table, &domain->bulk.who, amg_shm_files_is_alive);
}

static void ways_know(struct amg_shm_domain *domain, struct amg_shm_peer *peer)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;

    if (atomic_load_explicit(&bulk->is_known, memory_order_acquire) != 0)
        return;
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

static hg_return_t cma_fail(
    struct amg_shm_peer *peer, const struct amg_shm_access *access, int error)
{
    if (error == ESRCH)
        return HG_HOSTUNREACH;
    if (error != EFAULT) {
        atomic_store_explicit(&peer->bulk.has_cma, 0, memory_order_relaxed);
        AMG_LOG_INFO("bulk",
            "shm: cross-memory copies with %s are not allowed any more (%s); "
            "they go through the segment",
            peer->region.name, strerror(error));
        return HG_OPNOTSUPPORTED;
    }
    AMG_LOG_ERROR("bulk",
        "shm: %s of %llu bytes at %llu of segment %u of %s: there is no such "
        "memory, there or here; was it unmapped while it was exposed?",
        access->direction == AMG_MEM_READ ? "get" : "put",
        (unsigned long long)access->len, (unsigned long long)access->offset,
        access->segment, peer->region.name);
    return HG_NA_ERROR;
}

/* The kernel may copy less than it was asked to, where memory ends: what is
 * missing is asked for again, and then it says why. */
static hg_return_t cma_copy(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, void *local, uint64_t at, uint64_t len,
    uint64_t *ret_len)
{
    struct iovec here = {local, len};
    struct iovec there = {(void *)(uintptr_t)at, len};
    ssize_t moved = 0;

    if (access->direction == AMG_MEM_READ)
        moved =
            process_vm_readv((pid_t)peer->region.pid, &here, 1, &there, 1, 0);
    else
        moved =
            process_vm_writev((pid_t)peer->region.pid, &here, 1, &there, 1, 0);
    if (moved <= 0)
        return cma_fail(peer, access, moved == 0 ? EFAULT : errno);
    *ret_len = (uint64_t)moved;
    return HG_SUCCESS;
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

hg_return_t amg_shm_copy_step(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, const struct amg_shm_access *access, void *local,
    uint64_t max, uint64_t *ret_len)
{
    struct amg_shm_bulk_peer *bulk = &peer->bulk;
    uint64_t len = access->len < max ? access->len : max;
    hg_return_t rc = HG_SUCCESS;
    uint64_t at = 0;
    unsigned visit = 0;

    ways_know(domain, peer);
    if (bulk->visitor == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_shm_visit_enter(bulk->table, bulk->visitor, access, &visit, &at);
    if (rc != HG_SUCCESS) {
        if (rc != HG_OPNOTSUPPORTED && rc != HG_AGAIN)
            amg_shm_copy_blame(&peer->region, access, rc);
        return rc;
    }
    if (is_in_area(bulk, at, len)) {
        direct_copy(bulk, access->direction == AMG_MEM_READ, local, at, len);
        *ret_len = len;
    } else if (atomic_load_explicit(&bulk->has_cma, memory_order_relaxed) !=
               0) {
        rc = cma_copy(peer, access, local, at, len, ret_len);
    } else {
        rc = HG_OPNOTSUPPORTED;
    }
    amg_shm_visit_leave(bulk->visitor, visit);
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
