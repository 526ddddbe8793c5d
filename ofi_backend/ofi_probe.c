/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of our own to a silent peer, which tell whether it is there.
 *
 * The host of a process that was killed refuses connections at once. Providers
 * do not tell of that: rxm says EAGAIN for as long as it is asked. So where a
 * peer is silent and no connection leads to it, this process makes one to its
 * port, without waiting, and closes it. Nobody listens where two in a row are
 * refused; all other answers, and none, mean nothing, and the next try comes
 * after twice the time: the peer's program sees a connection that says nothing
 * for each. */
#include "ofi_backend/ofi_probe.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofi_backend/ofi_line.h"

enum {
    REFUSALS = 2,
    WAIT_MAX = 100, /* ticks; 10 s */
};

static void probe_close(struct amg_peer *peer)
{
    if (peer->probe >= 0)
        close(peer->probe);
    peer->probe = -1;
}

/* 0, or why there is no connection; EINPROGRESS: not yet. */
static int probe_begin(struct amg_peer *peer)
{
    const struct sockaddr *there = (const struct sockaddr *)peer->addr;
    int fd =
        socket(there->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno;
    peer->probe = fd;
    return connect(fd, there, peer->addr_len) == 0 ? 0 : errno;
}

static int probe_look(const struct amg_peer *peer)
{
    struct pollfd news = {.fd = peer->probe, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int error = 0;

    if (poll(&news, 1, 0) <= 0)
        return EINPROGRESS;
    (void)getsockopt(peer->probe, SOL_SOCKET, SO_ERROR, &error, &len);
    return error;
}

bool amg_ofi_probe_is_refused_locked(struct amg_peer *peer)
{
    unsigned tick = peer->domain->tick;
    int error = 0;

    if (!peer->domain->facts.is_tcp)
        return false;
    if (peer->probe >= 0)
        error = probe_look(peer);
    else if ((int)(tick - peer->probe_tick) < 0 ||
             amg_ofi_line_is_there_locked(peer))
        return false;
    else
        error = probe_begin(peer);
    peer->probe_error = error;
    if (error == EINPROGRESS)
        return false;
    probe_close(peer);
    if (error == ECONNREFUSED) {
        peer->probe_tick = tick + 1;
        return ++peer->refusals >= REFUSALS;
    }
    peer->refusals = 0;
    peer->probe_wait = peer->probe_wait == 0             ? 1
                       : peer->probe_wait < WAIT_MAX / 2 ? 2 * peer->probe_wait
                                                         : WAIT_MAX;
    peer->probe_tick = tick + peer->probe_wait;
    return false;
}

void amg_ofi_probe_end_locked(struct amg_peer *peer)
{
    probe_close(peer);
    peer->refusals = 0;
    peer->probe_wait = 0;
    peer->probe_error = 0;
    peer->probe_tick = peer->domain->tick;
}
