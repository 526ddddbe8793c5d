/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP connections to silent peers, as the kernel sees them.
 *
 * A process that computes is as silent as a dead host, but only a kernel that
 * runs acknowledges data (README.md of this folder). So while a peer is silent,
 * this file looks at the descriptors of this process, at most twice a second,
 * notes connection states in peers, and shuts down connections that are over.
 *
 * The host of a killed process refuses connections, which providers do not
 * report (rxm: EAGAIN without end). So unless a silent peer's connections are
 * all accepted and alive, this process connects to the peer's port (a probe),
 * and closes it at once. Two refusals mean that nobody listens at the port. */
#include "ofi_backend/ofi_peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

enum {
    LOOK_TICKS = 5, /* 0.5 s between two looks at the connections */
    WAIT_MAX = 100, /* most ticks between two probes: 10 s */
};

/* 0: `fd` is no open TCP connection. The age of the oldest unacknowledged byte
 * is the sum of its time-outs, which double, plus the time since the last. */
static unsigned conn_state(const struct amg_ofi_domain *domain, int fd)
{
    uint64_t max_ms = domain->connect_ns / AMG_NS_PER_MS;
    struct tcp_info tcp = {.tcpi_state = TCP_CLOSE};
    socklen_t len = sizeof(tcp);

    (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len);
    if (tcp.tcpi_state != TCP_ESTABLISHED)
        return tcp.tcpi_state == TCP_SYN_SENT ? AMG_OFI_TCP_BEGUN : 0;
    if (tcp.tcpi_retransmits == 0 || tcp.tcpi_last_ack_recv < max_ms ||
        (tcp.tcpi_rto - (tcp.tcpi_rto >> tcp.tcpi_backoff)) / 1000 +
                tcp.tcpi_last_data_sent <
            max_ms)
        return AMG_OFI_TCP_LIVE;
    return AMG_OFI_TCP_DEAD;
}

/* The peer that `fd` leads to; `self` if a peer has made the connection. */
static struct amg_peer *conn_peer(const struct amg_ofi_domain *domain, int fd)
{
    _Alignas(8) uint8_t addr[AMG_OFI_ADDR_MAX];
    socklen_t len = sizeof(addr);

    AMG_ASSERT(domain->self->addr_len <= len);
    if (getsockname(fd, (struct sockaddr *)addr, &len) != 0)
        return NULL;
    if (memcmp(addr, domain->self->addr, 4) == 0) /* family and port */
        return domain->self;
    /* getpeername() fails while the connection is being made. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERNAME, addr, &len) != 0)
        return NULL;
    return amg_ofi_peer_find_locked(domain, addr, (uint16_t)len);
}

/* Is the connection dead, or not accepted 0.5 s before its peer's deadline? */
static bool is_over(const struct amg_peer *peer, unsigned state)
{
    return state == AMG_OFI_TCP_DEAD ||
           (state == AMG_OFI_TCP_BEGUN &&
               amg_ofi_clock_ns(peer->domain) + LOOK_TICKS * AMG_OFI_TICK_NS >=
                   peer->conn.deadline_ns);
}

static void conn_look(struct amg_ofi_domain *domain, int fd)
{
    unsigned state = conn_state(domain, fd);
    struct amg_peer *peer = state == 0 ? NULL : conn_peer(domain, fd);

    if (peer == NULL || fd == peer->probe.fd)
        return;
    if (peer->tcp_tick != domain->clock.tcp_tick)
        peer->look.tcp_states = 0;
    peer->tcp_tick = domain->clock.tcp_tick;
    peer->look.tcp_states |= (uint8_t)state;
    /* A duplicate: another thread may close `fd` and reuse its number. */
    fd = is_over(peer, state) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    if (conn_peer(domain, fd) == peer && is_over(peer, conn_state(domain, fd)))
        (void)shutdown(fd, SHUT_RDWR);
    close(fd);
}

unsigned amg_ofi_tcp_states_locked(const struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct dirent *entry = NULL;
    DIR *all = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->facts.is_tcp &&
        (int)(domain->clock.tick - domain->clock.tcp_tick) >= 0) {
        domain->clock.tcp_tick = domain->clock.tick + LOOK_TICKS;
        all = opendir("/proc/self/fd");
        while (all != NULL && (entry = readdir(all)) != NULL)
            if (entry->d_name[0] != '.')
                conn_look(domain, (int)strtol(entry->d_name, NULL, 10));
        if (all != NULL)
            closedir(all);
    }
    return peer->tcp_tick == domain->clock.tcp_tick ? peer->look.tcp_states : 0;
}

bool amg_ofi_tcp_is_refused_locked(struct amg_peer *peer)
{
    struct amg_ofi_probe *probe = &peer->probe;
    const struct sockaddr *to = (const struct sockaddr *)peer->addr;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!peer->domain->facts.is_tcp ||
        (int)(peer->domain->clock.tick - probe->tick) < 0 ||
        (probe->fd < 0 && amg_ofi_tcp_states_locked(peer) == AMG_OFI_TCP_LIVE))
        return false;
    if (probe->fd < 0)
        probe->fd = socket(
            to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* A later connect() of this socket returns the result of the first. */
    probe->error = probe->fd >= 0 && connect(probe->fd, to, peer->addr_len) == 0
                       ? 0
                       : errno;
    if (probe->error == EINPROGRESS || probe->error == EALREADY)
        return false;
    if (probe->fd >= 0)
        close(probe->fd);
    probe->fd = -1;
    if (probe->error == ECONNREFUSED)
        return ++probe->refusals > 1;
    probe->wait = probe->wait < WAIT_MAX / 2 ? 2 * probe->wait + 1 : WAIT_MAX;
    probe->tick = peer->domain->clock.tick + probe->wait;
    return false;
}

void amg_ofi_tcp_probe_end_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->probe.fd >= 0)
        close(peer->probe.fd);
    peer->probe = (struct amg_ofi_probe){.fd = -1};
}
