/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands a descriptor of rank 1 to rank 0 of the same machine.
 *
 * By a socket, as what is no file cannot be opened under /proc. Its name is in
 * no directory: the kernel makes one up, and it ends with the socket. */
#include "jobs/bench/calls/hand.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
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

/* Rank 1: listens by a name of the kernel's. */
static int door_open(const struct pair *pair, struct sockaddr_un *ret_name)
{
    int door = socket_make(pair);
    socklen_t len = sizeof(*ret_name);

    memset(ret_name, 0, sizeof(*ret_name));
    ret_name->sun_family = AF_UNIX;
    if (bind(door, (struct sockaddr *)ret_name, sizeof(sa_family_t)) != 0 ||
        getsockname(door, (struct sockaddr *)ret_name, &len) != 0 ||
        listen(door, 1) != 0)
        pair_fail(pair, "a socket without a path: %s", strerror(errno));
    /* What follows the name counts as part of it. */
    MPI_Send(&len, sizeof(len), MPI_BYTE, 0, 0, pair->comm);
    MPI_Send(ret_name, sizeof(*ret_name), MPI_BYTE, 0, 0, pair->comm);
    return door;
}

static int give(const struct pair *pair, int fd)
{
    struct sockaddr_un name;
    int door = door_open(pair, &name);
    int to = accept(door, NULL, NULL);

    if (to < 0 || !fd_send(to, fd))
        pair_fail(pair, "handing a descriptor over: %s", strerror(errno));
    close(to);
    close(door);
    return fd;
}

static int take(const struct pair *pair)
{
    struct sockaddr_un name;
    socklen_t len = 0;
    int from = socket_make(pair);
    int fd = -1;

    MPI_Recv(&len, sizeof(len), MPI_BYTE, 1, 0, pair->comm, MPI_STATUS_IGNORE);
    MPI_Recv(
        &name, sizeof(name), MPI_BYTE, 1, 0, pair->comm, MPI_STATUS_IGNORE);
    if (connect(from, (struct sockaddr *)&name, len) == 0)
        fd = fd_receive(from);
    if (fd < 0)
        pair_fail(pair, "no descriptor of the other rank: %s", strerror(errno));
    close(from);
    return fd;
}

int hand_over(const struct pair *pair, int fd)
{
    return pair->rank == 1 ? give(pair, fd) : take(pair);
}
