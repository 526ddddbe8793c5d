/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the TCP connections to a silent peer.
 *
 * A process that computes is as silent as a process whose host is down, but
 * calls to a process that computes must wait. A kernel that runs acknowledges
 * data, or reports a full window; if not, the host or the link is down.
 * README.md says why TCP's own time-outs and the errors of the provider do not
 * suffice.
 *
 * So this file finds the connections of the provider among the descriptors of
 * the process: connections to the peer's address, and connections that came in
 * from the peer's host. Their state is read only while a peer is silent, at
 * most twice a second for all peers together, and sorted by address. The
 * provider takes the shutdown of a dead connection for its end.
 *
 * The host of a process that was killed refuses connections at once, which
 * providers do not report: rxm returns EAGAIN without end. So while a peer is
 * silent and has no live connection, this process connects to the peer's port
 * (a probe), without blocking, and closes the connection. After two refusals in
 * a row no process listens there. Any other result means nothing; the next
 * probe comes after twice the time, as the peer accepts an empty connection for
 * each probe. */
#include "ofi_backend/ofi_peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"

enum {
    READ_TICKS = 5, /* 0.5 s between two reads of the connections */
    CONNS_MIN = 64,
    REFUSALS = 2,
    WAIT_MAX = 100, /* ticks; 10 s between two probes */
};

/* An IPv4 or IPv6 address, or none. */
union addr {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* A connection of this process as last read. QUIET: the other host has been
 * silent for the connect time-out, but all data is acknowledged. */
struct amg_ofi_conn {
    union addr remote; /* with port 0 if the peer made the connection */
    int fd;
    enum { CONN_ALIVE, CONN_DEAD, CONN_QUIET } state;
};

static union addr addr_of(const struct amg_peer *peer)
{
    union addr addr;

    memset(&addr, 0, sizeof(addr));
    if (peer->addr_len <= sizeof(addr))
        memcpy(&addr, peer->addr, peer->addr_len);
    return addr;
}

/* Some order of addresses; 0: equal. The port has the same offset in IPv4 and
 * IPv6 addresses. */
static int order(const union addr *one, const union addr *other)
{
    if (one->any.sa_family != other->any.sa_family)
        return one->any.sa_family < other->any.sa_family ? -1 : 1;
    if (one->four.sin_port != other->four.sin_port)
        return one->four.sin_port < other->four.sin_port ? -1 : 1;
    return one->any.sa_family == AF_INET
               ? memcmp(&one->four.sin_addr, &other->four.sin_addr,
                     sizeof(one->four.sin_addr))
               : memcmp(&one->six.sin6_addr, &other->six.sin6_addr,
                     sizeof(one->six.sin6_addr));
}

static int conn_order(const void *one, const void *other)
{
    return order(&((const struct amg_ofi_conn *)one)->remote,
        &((const struct amg_ofi_conn *)other)->remote);
}

/* False: `fd` is no TCP connection. */
static bool conn_read(
    const struct amg_ofi_domain *domain, int fd, struct amg_ofi_conn *ret_conn)
{
    struct amg_ofi_conn conn = {.fd = fd};
    union addr local = {.any.sa_family = AF_UNSPEC};
    union addr self = addr_of(domain->self);
    struct tcp_info info;
    socklen_t len = domain->self->addr_len;

    /* SO_PEERNAME works also while a connection is being made, unlike
     * getpeername(), if `len` is exact. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &conn.remote, &len) != 0)
        return false;
    len = sizeof(info);
    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return false;
    if (info.tcpi_state == TCP_SYN_SENT)
        conn.state = CONN_DEAD;
    else if (info.tcpi_state != TCP_ESTABLISHED)
        return false;
    else if (info.tcpi_last_ack_recv < domain->connect_ns / AMG_NS_PER_MS)
        conn.state = CONN_ALIVE;
    else
        conn.state = info.tcpi_unacked == 0 ? CONN_QUIET : CONN_DEAD;
    len = sizeof(local);
    if (getsockname(fd, &local.any, &len) == 0 &&
        local.four.sin_port == self.four.sin_port)
        conn.remote.four.sin_port = 0; /* a process there made it */
    *ret_conn = conn;
    return true;
}

static bool conn_push(
    struct amg_ofi_domain *domain, const struct amg_ofi_conn *conn)
{
    if (domain->conns.count == domain->conns.cap) {
        unsigned cap =
            domain->conns.cap == 0 ? CONNS_MIN : 2 * domain->conns.cap;
        struct amg_ofi_conn *more =
            amg_mem_realloc(domain->conns.all, cap * sizeof(*more));

        if (more == NULL)
            return false;
        domain->conns.all = more;
        domain->conns.cap = cap;
    }
    AMG_ASSERT(domain->conns.count < domain->conns.cap);
    domain->conns.all[domain->conns.count++] = *conn;
    return true;
}

/* False: nothing is known of the connections to this peer. */
static bool conns_read_locked(const struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;
    struct dirent *entry = NULL;
    struct amg_ofi_conn conn;
    DIR *all = NULL;

    if (!domain->facts.is_tcp || peer->addr_len > sizeof(union addr))
        return false;
    if (domain->conns.is_known &&
        domain->clock.tick - domain->conns.tick < READ_TICKS)
        return true;
    domain->conns.is_known = false;
    domain->conns.count = 0;
    all = opendir("/proc/self/fd");
    if (all == NULL)
        return false;
    domain->conns.is_known = true;
    domain->conns.tick = domain->clock.tick;
    while ((entry = readdir(all)) != NULL)
        if (entry->d_name[0] != '.' &&
            conn_read(domain, (int)strtol(entry->d_name, NULL, 10), &conn) &&
            !conn_push(domain, &conn))
            domain->conns.is_known = false;
    closedir(all);
    if (domain->conns.count > 1)
        qsort(domain->conns.all, domain->conns.count,
            sizeof(domain->conns.all[0]), conn_order);
    return domain->conns.is_known;
}

/* The first connection that is not ordered before those to `remote`. */
static unsigned conn_find(
    const struct amg_ofi_domain *domain, const union addr *remote)
{
    unsigned from = 0;
    unsigned to = domain->conns.count;

    while (from < to) {
        unsigned middle = from + (to - from) / 2;

        if (order(&domain->conns.all[middle].remote, remote) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Is there a connection to `remote` at this index? */
static bool is_conn(const struct amg_ofi_domain *domain,
    const union addr *remote, unsigned index)
{
    return index < domain->conns.count &&
           order(&domain->conns.all[index].remote, remote) == 0;
}

/* Does a connection to `remote` have this state? */
static bool has_conn(const struct amg_ofi_domain *domain,
    const union addr *remote, unsigned state)
{
    unsigned i = conn_find(domain, remote);

    while (is_conn(domain, remote, i) && domain->conns.all[i].state != state)
        i++;
    return is_conn(domain, remote, i);
}

/* Shuts down dead connections to `remote`. Duplicates each descriptor and reads
 * the state again: the descriptor may have been closed and reused. */
static void conns_end(
    const struct amg_ofi_domain *domain, const union addr *remote)
{
    for (unsigned i = conn_find(domain, remote); is_conn(domain, remote, i);
         i++) {
        struct amg_ofi_conn now;
        int fd = fcntl(domain->conns.all[i].fd, F_DUPFD_CLOEXEC, 0);

        if (fd < 0)
            continue;
        if (conn_read(domain, fd, &now) && now.state == CONN_DEAD &&
            order(&now.remote, remote) == 0)
            (void)shutdown(fd, SHUT_RDWR);
        close(fd);
    }
}

bool amg_ofi_tcp_is_connected_locked(const struct amg_peer *peer)
{
    const struct amg_ofi_domain *domain = peer->domain;
    union addr remote = addr_of(peer);

    return conns_read_locked(peer) && !has_conn(domain, &remote, CONN_DEAD) &&
           (has_conn(domain, &remote, CONN_ALIVE) ||
               has_conn(domain, &remote, CONN_QUIET));
}

bool amg_ofi_tcp_end_if_dead_locked(const struct amg_peer *peer)
{
    const struct amg_ofi_domain *domain = peer->domain;
    union addr remote = addr_of(peer);
    union addr host = remote;

    host.four.sin_port = 0;
    if (!conns_read_locked(peer) || has_conn(domain, &remote, CONN_ALIVE) ||
        has_conn(domain, &host, CONN_ALIVE) ||
        (!has_conn(domain, &remote, CONN_DEAD) &&
            !has_conn(domain, &host, CONN_DEAD)))
        return false;
    conns_end(domain, &remote);
    conns_end(domain, &host);
    return true;
}

void amg_ofi_tcp_fini(struct amg_ofi_domain *domain)
{
    amg_mem_free(domain->conns.all);
    domain->conns.all = NULL;
}

static void probe_close(struct amg_peer *peer)
{
    if (peer->probe.fd >= 0)
        close(peer->probe.fd);
    peer->probe.fd = -1;
}

/* Begins to connect. 0: connected; else errno. EINPROGRESS: not yet. */
static int probe_begin(struct amg_peer *peer)
{
    const union addr remote = addr_of(peer);

    AMG_ASSERT(peer->probe.fd < 0);
    peer->probe.fd = socket(
        remote.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (peer->probe.fd < 0)
        return errno;
    return connect(peer->probe.fd, &remote.any, peer->addr_len) == 0 ? 0
                                                                     : errno;
}

static int probe_result(const struct amg_peer *peer)
{
    struct pollfd event = {.fd = peer->probe.fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int error = 0;

    if (poll(&event, 1, 0) <= 0)
        return EINPROGRESS;
    (void)getsockopt(peer->probe.fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return error;
}

bool amg_ofi_tcp_is_refused_locked(struct amg_peer *peer)
{
    unsigned tick = peer->domain->clock.tick;

    if (!peer->domain->facts.is_tcp)
        return false;
    if (peer->probe.fd >= 0) {
        peer->probe.error = probe_result(peer);
    } else if ((int)(tick - peer->probe.tick) < 0) {
        return false;
    } else if (amg_ofi_tcp_is_connected_locked(peer)) {
        peer->probe.tick = tick + READ_TICKS;
        return false;
    } else {
        peer->probe.error = probe_begin(peer);
    }
    if (peer->probe.error == EINPROGRESS)
        return false;
    probe_close(peer);
    if (peer->probe.error == ECONNREFUSED) {
        peer->probe.tick = tick + 1;
        return ++peer->probe.refusals >= REFUSALS;
    }
    peer->probe.refusals = 0;
    peer->probe.wait = peer->probe.wait == 0             ? 1
                       : peer->probe.wait < WAIT_MAX / 2 ? 2 * peer->probe.wait
                                                         : WAIT_MAX;
    peer->probe.tick = tick + peer->probe.wait;
    return false;
}

void amg_ofi_tcp_probe_end_locked(struct amg_peer *peer)
{
    probe_close(peer);
    peer->probe.refusals = 0;
    peer->probe.wait = 0;
    peer->probe.error = 0;
    peer->probe.tick = peer->domain->clock.tick;
}
