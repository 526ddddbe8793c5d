/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes that wake each other in turn, through the kernel.
 *
 * The ranks pass descriptors over a socket, as an eventfd cannot be opened
 * under /proc. The kernel chooses the name of the socket (autobind), which is
 * in no directory, and is gone once the socket is closed. */
#include "jobs/bench/raw/wakeup.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int hand_over(const struct pair *pair, int fd)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(name); /* made exact: zeros would belong to a name */
    char byte = 0;
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr letter = {.msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control)};
    struct cmsghdr *part = CMSG_FIRSTHDR(&letter);
    int by = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int is_given = 0;

    if (by < 0 ||
        (pair->rank == 0 &&
            (bind(by, (struct sockaddr *)&name, sizeof(sa_family_t)) != 0 ||
                getsockname(by, (struct sockaddr *)&name, &len) != 0)))
        pair_fail(pair, "a socket without a path: %s", strerror(errno));
    MPI_Bcast(&name, sizeof(name), MPI_BYTE, 0, pair->comm);
    MPI_Bcast(&len, sizeof(len), MPI_BYTE, 0, pair->comm);
    if (pair->rank == 1) {
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(part), &fd, sizeof(fd));
        letter.msg_name = &name;
        letter.msg_namelen = len;
        is_given = sendmsg(by, &letter, MSG_NOSIGNAL) == 1;
    } else {
        fd = -1;
    }
    MPI_Bcast(&is_given, 1, MPI_INT, 1, pair->comm);
    if (pair->rank == 0 && is_given &&
        recvmsg(by, &letter, MSG_CMSG_CLOEXEC) == 1 &&
        (part = CMSG_FIRSTHDR(&letter)) != NULL &&
        part->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    close(by);
    return fd;
}

/* Rank 1 creates both eventfds, so that both ranks share them. */
void wakeup_open(const struct pair *pair, struct wakeup *ret_wakeup)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    struct wakeup own = {.epoll = epoll_create1(EPOLL_CLOEXEC)};

    for (int rank = 0; rank < 2; rank++) {
        int fd = pair->rank == 1 ? eventfd(0, EFD_CLOEXEC) : -1;

        fd = hand_over(pair, fd);
        if (fd < 0)
            pair_fail(pair, "no descriptor of the other rank");
        *(rank == pair->rank ? &own.in : &own.out) = fd;
    }
    if (own.epoll < 0 ||
        epoll_ctl(own.epoll, EPOLL_CTL_ADD, own.in, &wanted) != 0)
        pair_fail(pair, "epoll: %s", strerror(errno));
    *ret_wakeup = own;
}

void wakeup_close(struct wakeup *wakeup)
{
    close(wakeup->epoll);
    close(wakeup->in);
    close(wakeup->out);
}

static void wakeup_trip(struct pair *pair, void *arg)
{
    const struct wakeup *wakeup = arg;
    struct epoll_event event;
    uint64_t count = 1;

    for (int turn = 0; turn < 2; turn++) {
        bool writes = turn == pair->rank;
        ssize_t done = 0;

        if (!writes)
            while (
                epoll_wait(wakeup->epoll, &event, 1, -1) < 0 && errno == EINTR)
                ;
        do
            done = writes ? write(wakeup->out, &count, sizeof(count))
                          : read(wakeup->in, &count, sizeof(count));
        while (done < 0 && errno == EINTR);
        if (done != sizeof(count))
            pair_fail(pair, "a wake-up: %s", strerror(errno));
    }
}

double wakeup_batch(struct pair *pair, struct duel *duel)
{
    struct duel answers = *duel;

    if (pair->rank == 1)
        answers.rest_us = 0; /* rank 1 sleeps until it is woken */
    return duel_each(pair, &answers, wakeup_trip, duel->arg);
}
