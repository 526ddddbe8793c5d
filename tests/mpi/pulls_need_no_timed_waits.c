/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank in a long wait moves the transfers of others without one timed wait
 * for each: the test interposes the system call, and counts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, epoll_pwait2 */
#endif
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "exposed.h"

enum { LEN = 1 << 20, PULLS = 200, QUIET_MS = 300, WAIT_MS = 1000 };

static atomic_uint naps;

int epoll_pwait2(int fd, struct epoll_event *events, int max,
    const struct timespec *timeout, const sigset_t *mask)
{
    static int (*real)(int, struct epoll_event *, int, const struct timespec *,
        const sigset_t *);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_pwait2");
    atomic_fetch_add(&naps, 1);
    return real(fd, events, max, timeout, mask);
}

/* Waits in blocking calls, like a program, until rank 1 has said so. */
static void wait_long(struct ranks *all, unsigned long notes)
{
    while (atomic_load(&all->noted) < notes) {
        unsigned count = 0;

        (void)HG_Progress(all->context, WAIT_MS);
        (void)HG_Trigger(all->context, 0, 64, &count);
    }
}

static void note(struct ranks *all)
{
    ranks_echo_t in = {0, all->rank};
    struct ranks_call call;

    OK(ranks_begin(all, &call, 0, all->note, &in));
    OK(ranks_wait(&call));
    ranks_end(&call);
}

static void pull(
    struct ranks *all, hg_bulk_t remote, hg_bulk_t local, int count)
{
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all->cls, 0, &addr));
    for (int i = 0; i < count; i++)
        OK(ranks_transfer(all, HG_BULK_PULL, addr, remote, 0, local, 0, LEN));
    OK(HG_Addr_free(all->cls, addr));
}

int main(void)
{
    struct ranks all;
    char *bytes = calloc(1, LEN);
    hg_bulk_t local = HG_BULK_NULL;
    hg_bulk_t remote = HG_BULK_NULL;
    uint64_t end_ns = 0;

    CHECK(bytes != NULL);
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    local = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    if (all.rank == 0) {
        exposed_send(local, 1);
        wait_long(&all, 1); /* until it stops expecting messages soon */
        atomic_store(&naps, 0);
        wait_long(&all, 2);
        printf("%u naps in %d transfers\n", atomic_load(&naps), PULLS);
        CHECK(atomic_load(&naps) < PULLS / 2);
    } else {
        remote = exposed_take(&all, 0);
        for (end_ns = ranks_now_ns() + QUIET_MS * 1000000ull;
             ranks_now_ns() < end_ns;)
            pull(&all, remote, local, 1);
        note(&all);
        for (end_ns = ranks_now_ns() + QUIET_MS * 1000000ull;
             ranks_now_ns() < end_ns;)
            ranks_turn();
        pull(&all, remote, local, PULLS);
        note(&all);
        OK(HG_Bulk_free(remote));
    }
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(local));
    ranks_close(&all);
    free(bytes);
    return ranks_stop();
}
