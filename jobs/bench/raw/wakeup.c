/* SPDX-License-Identifier: BSD-3-Clause */
/* Wake-ups by the kernel of two processes, one after the other.
 *
 * They get their descriptors by a socket, as an eventfd cannot be opened under
 * /proc. Its name is in no directory: the kernel makes one up, and it ends with
 * the socket. */
#include "jobs/bench/raw/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* One byte, and the descriptor beside it. */
struct letter {
    char byte;
    struct iovec iov;
    union control control;
    struct msghdr header;
};

static void letter_init(struct letter *letter)
{
    memset(letter, 0, sizeof(*letter));
    letter->iov = (struct iovec){&letter->byte, 1};
    letter->header.msg_iov = &letter->iov;
    letter->header.msg_iovlen = 1;
    letter->header.msg_control = letter->control.bytes;
    letter->header.msg_controllen = sizeof(letter->control.bytes);
}

static bool fd_send(int to, int fd)
{
    struct letter letter;
    struct cmsghdr *part = NULL;

    letter_init(&letter);
    part = CMSG_FIRSTHDR(&letter.header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    return sendmsg(to, &letter.header, MSG_NOSIGNAL) == 1;
}

/* -1: none came. */
static int fd_receive(int from)
{
    struct letter letter;
    struct cmsghdr *part = NULL;
    int fd = -1;

    letter_init(&letter);
    if (recvmsg(from, &letter.header, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    part = CMSG_FIRSTHDR(&letter.header);
    if (part != NULL && part->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    return fd;
}

static int socket_make(const struct pair *pair)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        pair_fail(pair, "no socket: %s", strerror(errno));
    return fd;
}

/* Rank 1 listens by a name of the kernel's. */
static void give(const struct pair *pair, int fd)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(name);
    int listener = socket_make(pair);
    int is_met = 0;
    int to = -1;

    if (bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)) != 0 ||
        getsockname(listener, (struct sockaddr *)&name, &len) != 0 ||
        listen(listener, 1) != 0)
        pair_fail(pair, "a socket without a path: %s", strerror(errno));
    /* The bytes behind the name count as part of it. */
    MPI_Send(&len, sizeof(len), MPI_BYTE, 0, 0, pair->comm);
    MPI_Send(&name, sizeof(name), MPI_BYTE, 0, 0, pair->comm);
    MPI_Recv(&is_met, 1, MPI_INT, 0, 0, pair->comm, MPI_STATUS_IGNORE);
    if (is_met) {
        to = accept(listener, NULL, NULL);
        if (to < 0 || !fd_send(to, fd))
            pair_fail(pair, "handing a descriptor over: %s", strerror(errno));
        close(to);
    }
    close(listener);
}

static int take(const struct pair *pair)
{
    struct sockaddr_un name;
    socklen_t len = 0;
    int from = socket_make(pair);
    int is_met = 0;
    int fd = -1;

    MPI_Recv(&len, sizeof(len), MPI_BYTE, 1, 0, pair->comm, MPI_STATUS_IGNORE);
    MPI_Recv(
        &name, sizeof(name), MPI_BYTE, 1, 0, pair->comm, MPI_STATUS_IGNORE);
    is_met = connect(from, (struct sockaddr *)&name, len) == 0;
    MPI_Send(&is_met, 1, MPI_INT, 1, 0, pair->comm);
    if (is_met)
        fd = fd_receive(from);
    close(from);
    return fd;
}

int hand_over(const struct pair *pair, int fd)
{
    if (pair->rank == 0)
        return take(pair);
    give(pair, fd);
    return fd;
}

/* Ends the job when there is none, and else as hand_over(). */
static int hand_over_sure(const struct pair *pair, int fd, const char *what)
{
    if (pair->rank == 1 && fd < 0)
        pair_fail(pair, "%s: %s", what, strerror(errno));
    fd = hand_over(pair, fd);
    if (fd < 0)
        pair_fail(pair, "no %s of the other rank", what);
    return fd;
}

/* Both pipes are rank 1's, and so the same for either rank. */
void pipes_open(const struct pair *pair, struct pipes *ret_pipes)
{
    int ends[2][2] = {{-1, -1}, {-1, -1}};

    for (unsigned i = 0; i < 2; i++) {
        if (pair->rank == 1 && pipe2(ends[i], O_CLOEXEC) != 0)
            pair_fail(pair, "pipe: %s", strerror(errno));
        for (unsigned j = 0; j < 2; j++)
            ends[i][j] = hand_over_sure(pair, ends[i][j], "pipe");
    }
    ret_pipes->in = ends[pair->rank][0];
    ret_pipes->out = ends[1 - pair->rank][1];
    MPI_Barrier(pair->comm);
    /* From now on each end is of one rank, and the other sees its end. */
    close(ends[pair->rank][1]);
    close(ends[1 - pair->rank][0]);
}

void pipes_close(struct pipes *pipes)
{
    close(pipes->in);
    close(pipes->out);
}

static void pipe_trip(struct pair *pair, void *arg)
{
    const struct pipes *pipes = arg;
    unsigned char byte = 1;
    ssize_t len = 0;

    for (int turn = 0; turn < 2; turn++) {
        bool writes = turn == pair->rank;

        while ((len = writes ? write(pipes->out, &byte, 1)
                             : read(pipes->in, &byte, 1)) != 1)
            if (len == 0 || errno != EINTR)
                pair_fail(pair, "a pipe: %s",
                    len == 0 ? "the other rank is gone" : strerror(errno));
    }
}

double pipes_batch(struct pair *pair, struct duel *duel)
{
    return duel_each(pair, duel, pipe_trip, duel->arg);
}

void event_open(const struct pair *pair, struct event_pair *ret_events)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    int ends[2] = {-1, -1}; /* ends[i]: what rank i sleeps on */

    /* Both are rank 1's, and so the same for either rank. */
    for (int i = 0; i < 2; i++) {
        int fd = pair->rank == 1 ? eventfd(0, EFD_CLOEXEC) : -1;

        ends[i] = hand_over_sure(pair, fd, "eventfd");
    }
    ret_events->own = ends[pair->rank];
    ret_events->other = ends[1 - pair->rank];
    ret_events->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ret_events->epoll < 0 || epoll_ctl(ret_events->epoll, EPOLL_CTL_ADD,
                                     ret_events->own, &wanted) != 0)
        pair_fail(pair, "epoll: %s", strerror(errno));
}

void event_close(struct event_pair *events)
{
    close(events->epoll);
    close(events->own);
    close(events->other);
}

static void event_write(
    const struct pair *pair, const struct event_pair *events)
{
    uint64_t one = 1;

    if (write(events->other, &one, sizeof(one)) != (ssize_t)sizeof(one))
        pair_fail(pair, "writing to an eventfd: %s", strerror(errno));
}

static void event_wait(const struct pair *pair, const struct event_pair *events)
{
    struct epoll_event event;
    uint64_t count = 0;
    int ready = 0;

    do
        ready = epoll_wait(events->epoll, &event, 1, -1);
    while (ready < 0 && errno == EINTR);
    if (ready != 1 ||
        read(events->own, &count, sizeof(count)) != (ssize_t)sizeof(count))
        pair_fail(pair, "waiting for an eventfd: %s", strerror(errno));
}

static void event_trip(struct pair *pair, void *arg)
{
    const struct event_pair *events = arg;

    if (pair->rank == 0)
        event_write(pair, events);
    event_wait(pair, events);
    if (pair->rank == 1)
        event_write(pair, events);
}

double event_batch(struct pair *pair, struct duel *duel)
{
    struct duel answers = *duel;

    if (pair->rank == 0)
        return duel_each(pair, duel, event_trip, duel->arg);
    answers.rest_us = 0; /* it sleeps until it is woken */
    return duel_each(pair, &answers, event_trip, duel->arg);
}
