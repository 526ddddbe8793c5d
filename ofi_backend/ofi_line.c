/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel knows of the TCP connections to a peer.
 *
 * A process that computes is as silent as one whose host is gone, and is to be
 * waited for. Its kernel is not silent: it acknowledges what comes in, or says
 * that there is no room. A host that does neither is gone, or the link to it;
 * TCP itself gives up after a quarter of an hour only, and the provider with
 * it: until then it may still read and write the memory of a transfer.
 *
 * A connection that is being made is asked for again after 1, 2, 4 ... seconds,
 * and the provider goes on with it: so the peer would not be reached long after
 * its host is back. It ends, too, and the next one begins anew.
 *
 * So the connections of the provider are sought among the descriptors of this
 * process: those that lead to the peer's address, and those from its host that
 * came in at ours. A duplicate is looked at, since the provider may close its
 * own at any time. Nothing is changed but that dead ones are shut down, which
 * the provider takes for the end of the connection. */
#include "ofi_backend/ofi_line.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An address of either family, or none. */
union where {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct search {
    union where peer;
    union where self;
    socklen_t len;  /* of an address */
    bool is_strict; /* not those that came in: who made them is not told */
    uint64_t silent_ms;
    unsigned alive;
    unsigned dead;
    unsigned quiet; /* nothing is known to be wrong with them */
};

static void where_set(union where *where, const struct amg_peer *peer)
{
    memset(where, 0, sizeof(*where));
    if (peer->addr_len <= sizeof(*where))
        memcpy(where, peer->addr, peer->addr_len);
}

static bool is_same_host(const union where *one, const union where *other)
{
    if (one->any.sa_family != other->any.sa_family)
        return false;
    if (one->any.sa_family == AF_INET)
        return one->four.sin_addr.s_addr == other->four.sin_addr.s_addr;
    return memcmp(&one->six.sin6_addr, &other->six.sin6_addr,
               sizeof(one->six.sin6_addr)) == 0;
}

/* The port lies at the same place in both families. */
static bool is_same_port(const union where *one, const union where *other)
{
    return one->four.sin_port == other->four.sin_port;
}

/* Does this descriptor lead to the peer? */
static bool is_line(const struct search *search, int fd)
{
    union where there = {.any.sa_family = AF_UNSPEC};
    union where here = {.any.sa_family = AF_UNSPEC};
    socklen_t len = search->len;

    /* getpeername() says nothing of a connection that is being made; this does,
     * but to who asks for just as many bytes as there are. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &there, &len) != 0 ||
        !is_same_host(&there, &search->peer))
        return false;
    len = sizeof(here);
    return is_same_port(&there, &search->peer) ||
           (!search->is_strict && getsockname(fd, &here.any, &len) == 0 &&
               is_same_port(&here, &search->self));
}

/* Looks at a connection, if it is one, and counts it. */
static bool line_is_dead(struct search *search, int fd)
{
    struct tcp_info info;
    socklen_t len = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return false;
    if (info.tcpi_state == TCP_SYN_SENT) {
        search->dead++;
        return true;
    }
    if (info.tcpi_state != TCP_ESTABLISHED)
        return false;
    if (info.tcpi_last_ack_recv < search->silent_ms) {
        search->alive++;
        return false;
    }
    /* Who was sent nothing has nothing to acknowledge. */
    if (info.tcpi_unacked == 0) {
        search->quiet++;
        return false;
    }
    search->dead++;
    return true;
}

/* Counts all lines to the peer; with `ends_dead`, shuts those down. */
static void lines_visit(struct search *search, bool ends_dead)
{
    DIR *all = opendir("/proc/self/fd");
    const struct dirent *entry = NULL;

    search->alive = 0;
    search->dead = 0;
    search->quiet = 0;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        int fd = -1;

        if (entry->d_name[0] == '.' ||
            !is_line(search, (int)strtol(entry->d_name, NULL, 10)))
            continue;
        fd = fcntl((int)strtol(entry->d_name, NULL, 10), F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            continue;
        if (is_line(search, fd) && line_is_dead(search, fd) && ends_dead)
            (void)shutdown(fd, SHUT_RDWR);
        close(fd);
    }
    if (all != NULL)
        closedir(all);
}

/* False: nothing can be known. */
static bool search_begin(struct search *search, const struct amg_peer *peer,
    uint64_t silent_ms, bool is_strict)
{
    *search = (struct search){
        .len = peer->addr_len, .is_strict = is_strict, .silent_ms = silent_ms};
    if ((peer->domain->facts.addr_format != FI_SOCKADDR_IN &&
            peer->domain->facts.addr_format != FI_SOCKADDR_IN6) ||
        peer->addr_len > sizeof(search->peer))
        return false;
    where_set(&search->peer, peer);
    where_set(&search->self, peer->domain->self);
    lines_visit(search, false);
    return true;
}

bool amg_ofi_line_is_there_locked(
    const struct amg_peer *peer, uint64_t silent_ms)
{
    struct search search;

    return search_begin(&search, peer, silent_ms, true) && search.dead == 0 &&
           search.alive + search.quiet > 0;
}

bool amg_ofi_line_end_if_dead_locked(
    const struct amg_peer *peer, uint64_t silent_ms)
{
    struct search search;

    if (!search_begin(&search, peer, silent_ms, false) || search.dead == 0 ||
        search.alive > 0)
        return false;
    lines_visit(&search, true);
    return true;
}
