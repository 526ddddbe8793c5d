/* SPDX-License-Identifier: BSD-3-Clause */
/* Cross-memory copies: the kernel moves bytes between two processes.
 *
 * It pins the pages of each run of the peer, which costs as much as copying
 * RUN_COST bytes; so many runs are given to it at a time that the call itself
 * no longer counts. It may copy less than it was asked to, where memory ends:
 * what is missing is asked for again, and then it says why.
 *
 * An exposer that looks for messages all the time gathers short runs faster:
 * 1024 runs of 8 B in 8 us, not 170, of 512 B in 42, not 188, of 4 KiB in 370,
 * not 520. It is not asked nevertheless: one that computes, or has no core just
 * now, would answer much later, and these copies need nobody. */
#include "shm/shm_cma.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

enum {
    RUNS_MAX = 128,  /* of each side in one call: 4 KiB of stack */
    RUN_COST = 1500, /* in bytes: 0.17 us at 9 GB/s, Linux 6 on a 2-core VM */
    HERE_COST = 128, /* our own runs are not pinned */
};

/* Does Yama let only parents look into a process? Where that cannot be told,
 * perhaps. */
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

/* Domains that want the other processes of this user to be let in. */
static struct amg_lock letting = {0};
static unsigned letters; /* guarded by it */

bool amg_shm_cma_let_in(void)
{
    if (!yama_restricts())
        return false;
    amg_lock_take(&letting);
    if (letters++ == 0)
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    amg_lock_give(&letting);
    return true;
}

void amg_shm_cma_keep_out(void)
{
    amg_lock_take(&letting);
    if (--letters == 0)
        (void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    amg_lock_give(&letting);
}

bool amg_shm_cma_works(const struct amg_shm_region *region)
{
    uint64_t word = 0;
    struct iovec here = {&word, sizeof(word)};
    struct iovec there = {
        (void *)(uintptr_t)region->head->probe_addr, sizeof(word)};

    return process_vm_readv((pid_t)region->pid, &here, 1, &there, 1, 0) ==
               (ssize_t)sizeof(word) &&
           word == region->head->probe;
}

AMG_APART static hg_return_t cma_fail(
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

/* Vectors of runs on both sides; they need not have the same length. */
static inline hg_return_t cma_move(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, const struct iovec *here,
    unsigned here_count, const struct iovec *there, unsigned there_count,
    uint64_t *ret_len)
{
    pid_t pid = (pid_t)peer->region.pid;
    ssize_t moved = 0;

    if (access->direction == AMG_MEM_READ)
        moved = process_vm_readv(pid, here, here_count, there, there_count, 0);
    else
        moved = process_vm_writev(pid, here, here_count, there, there_count, 0);
    if (moved <= 0)
        return cma_fail(peer, access, moved == 0 ? EFAULT : errno);
    *ret_len = (uint64_t)moved;
    return HG_SUCCESS;
}

hg_return_t amg_shm_cma_copy(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, void *local, uint64_t at, uint64_t len,
    uint64_t *ret_len)
{
    struct iovec here = {local, len};
    struct iovec there = {(void *)(uintptr_t)at, len};

    return cma_move(peer, access, &here, 1, &there, 1, ret_len);
}

/* The next runs of the peer's list; how many bytes. */
static uint64_t there_fill(struct amg_shm_step *step, unsigned max,
    struct iovec *there, unsigned *ret_count)
{
    uint64_t sum = 0;
    unsigned count = 0;

    while (step->run > 0 && count < max) {
        there[count++] = (struct iovec){(void *)(uintptr_t)step->at, step->run};
        sum += step->run;
        step->run = amg_shm_view_take(&step->view, step->left - sum, &step->at);
    }
    *ret_count = count;
    return sum;
}

/* The next runs of our list, at most `len` bytes; how many. */
static uint64_t here_fill(struct amg_place *local, uint64_t len,
    struct iovec *here, unsigned *ret_count)
{
    uint64_t sum = 0;
    unsigned count = 0;

    while (sum < len && count < RUNS_MAX) {
        void *at = NULL;
        uint64_t run = amg_place_take(local, len - sum, &at);

        if (!AMG_CONTRACT(run > 0))
            break;
        here[count++] = (struct iovec){at, run};
        sum += run;
    }
    *ret_count = count;
    return sum;
}

hg_return_t amg_shm_cma_copy_lists(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_place *local,
    struct amg_shm_step *step, uint64_t *budget)
{
    struct iovec there[RUNS_MAX];
    struct iovec here[RUNS_MAX];
    struct amg_place behind = *local;
    uint64_t runs = *budget / RUN_COST + 1;
    unsigned there_count = 0;
    unsigned here_count = 0;
    uint64_t len = there_fill(
        step, runs < RUNS_MAX ? (unsigned)runs : RUNS_MAX, there, &there_count);
    uint64_t moved = 0;
    hg_return_t rc = HG_SUCCESS;

    len = here_fill(&behind, len, here, &here_count);
    rc = cma_move(peer, access, here, here_count, there, there_count, &moved);
    if (rc != HG_SUCCESS)
        return rc;
    if (moved == len)
        *local = behind;
    else
        amg_place_skip(local, moved);
    step->moved = moved;
    amg_shm_step_spend(budget, moved + (uint64_t)there_count * RUN_COST +
                                   (uint64_t)here_count * HERE_COST);
    return HG_SUCCESS;
}
