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
 * came in at ours. All are read at once, as a thousand peers may be silent at
 * the same time, and only where the connections are the kernel's. Nothing is
 * changed but that dead ones are shut down, which the provider takes for the
 * end of the connection. */
#include "ofi_backend/ofi_line.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/* An address of either family, or none. */
union where {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* A connection of this process, as it was at the last look. */
struct amg_ofi_line {
    union where there; /* without its port if it came in */
    int fd;
    enum { LINE_ALIVE, LINE_DEAD, LINE_QUIET } state;
};

/* How many lines to a peer there are in each state. QUIET: nothing is known to
 * be wrong with them. */
struct sums {
    unsigned of[LINE_QUIET + 1];
};

static void where_set(union where *where, const struct amg_peer *peer)
{
    memset(where, 0, sizeof(*where));
    if (peer->addr_len <= sizeof(*where))
        memcpy(where, peer->addr, peer->addr_len);
}

/* The port lies at the same place in both families. */
static bool is_same_port(const union where *one, const union where *other)
{
    return one->four.sin_port == other->four.sin_port;
}

/* By family, host and port. */
static int where_compare(const union where *one, const union where *other)
{
    int order = (int)one->any.sa_family - (int)other->any.sa_family;

    if (order == 0 && one->any.sa_family == AF_INET)
        order = memcmp(&one->four.sin_addr, &other->four.sin_addr,
            sizeof(one->four.sin_addr));
    else if (order == 0)
        order = memcmp(&one->six.sin6_addr, &other->six.sin6_addr,
            sizeof(one->six.sin6_addr));
    return order != 0 ? order
                      : (int)one->four.sin_port - (int)other->four.sin_port;
}

static int line_compare(const void *one, const void *other)
{
    return where_compare(&((const struct amg_ofi_line *)one)->there,
        &((const struct amg_ofi_line *)other)->there);
}

/* Is it a connection, and whereto? */
static bool line_read(const struct amg_ofi_domain *domain, uint64_t silent_ms,
    int fd, struct amg_ofi_line *ret_line)
{
    struct amg_ofi_line line = {.fd = fd};
    union where here = {.any.sa_family = AF_UNSPEC};
    union where self;
    struct tcp_info info;
    socklen_t len = domain->self->addr_len;

    /* getpeername() says nothing of a connection that is being made; this does,
     * but to who asks for just as many bytes as there are. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &line.there, &len) != 0)
        return false;
    len = sizeof(info);
    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return false;
    if (info.tcpi_state == TCP_SYN_SENT)
        line.state = LINE_DEAD;
    else if (info.tcpi_state != TCP_ESTABLISHED)
        return false;
    else if (info.tcpi_last_ack_recv < silent_ms)
        line.state = LINE_ALIVE;
    else /* Who was sent nothing has nothing to acknowledge. */
        line.state = info.tcpi_unacked == 0 ? LINE_QUIET : LINE_DEAD;
    where_set(&self, domain->self);
    len = sizeof(here);
    if (getsockname(fd, &here.any, &len) == 0 && is_same_port(&here, &self))
        line.there.four.sin_port = 0; /* who made it is not told */
    *ret_line = line;
    return true;
}

static bool line_push(
    struct amg_ofi_domain *domain, const struct amg_ofi_line *line)
{
    if (domain->line_count == domain->line_cap) {
        unsigned cap = domain->line_cap == 0 ? 64 : 2 * domain->line_cap;
        struct amg_ofi_line *more =
            amg_mem_realloc(domain->lines, cap * sizeof(*more));

        if (more == NULL)
            return false;
        domain->lines = more;
        domain->line_cap = cap;
    }
    domain->lines[domain->line_count++] = *line;
    return true;
}

/* Reads all of them, once in a tick, however many peers are asked after. False:
 * nothing can be known. */
static bool lines_read_locked(struct amg_ofi_domain *domain, uint64_t silent_ms)
{
    struct dirent *entry = NULL;
    struct amg_ofi_line line;
    DIR *all = NULL;

    if (domain->has_lines && domain->lines_tick == domain->tick)
        return true;
    domain->has_lines = false;
    domain->line_count = 0;
    all = opendir("/proc/self/fd");
    if (all == NULL)
        return false;
    domain->has_lines = true;
    domain->lines_tick = domain->tick;
    while ((entry = readdir(all)) != NULL)
        if (entry->d_name[0] != '.' &&
            line_read(domain, silent_ms, (int)strtol(entry->d_name, NULL, 10),
                &line) &&
            !line_push(domain, &line))
            domain->has_lines = false;
    closedir(all);
    if (domain->line_count > 1)
        qsort(domain->lines, domain->line_count, sizeof(line), line_compare);
    return domain->has_lines;
}

/* Ends it, if the descriptor is still that of a dead line. It is duplicated, as
 * the provider may close its own at any time. */
static void line_end(const struct amg_ofi_domain *domain, uint64_t silent_ms,
    const struct amg_ofi_line *line)
{
    struct amg_ofi_line now;
    int fd = fcntl(line->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return;
    if (line_read(domain, silent_ms, fd, &now) && now.state == LINE_DEAD &&
        where_compare(&now.there, &line->there) == 0)
        (void)shutdown(fd, SHUT_RDWR);
    close(fd);
}

/* Counts the lines to `there`; with `ends_dead`, ends those that are. */
static void lines_visit(const struct amg_ofi_domain *domain, uint64_t silent_ms,
    const union where *there, bool ends_dead, struct sums *sums)
{
    unsigned first = 0;
    unsigned last = domain->line_count;

    while (first < last) {
        unsigned middle = first + (last - first) / 2;

        if (where_compare(&domain->lines[middle].there, there) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    for (; first < domain->line_count &&
           where_compare(&domain->lines[first].there, there) == 0;
         first++) {
        const struct amg_ofi_line *line = &domain->lines[first];

        sums->of[line->state]++;
        if (ends_dead && line->state == LINE_DEAD)
            line_end(domain, silent_ms, line);
    }
}

static bool is_known(const struct amg_peer *peer)
{
    return peer->domain->facts.is_tcp &&
           peer->addr_len <= sizeof(union where) &&
           lines_read_locked(
               peer->domain, peer->domain->connect_ns / AMG_NS_PER_MS);
}

bool amg_ofi_line_is_there_locked(const struct amg_peer *peer)
{
    struct sums sums = {{0}};
    union where there;

    if (!is_known(peer))
        return false;
    where_set(&there, peer);
    lines_visit(peer->domain, 0, &there, false, &sums);
    return sums.of[LINE_DEAD] == 0 &&
           sums.of[LINE_ALIVE] + sums.of[LINE_QUIET] > 0;
}

bool amg_ofi_line_end_if_dead_locked(const struct amg_peer *peer)
{
    uint64_t silent_ms = peer->domain->connect_ns / AMG_NS_PER_MS;
    struct sums sums = {{0}};
    union where there;
    union where anybody;

    if (!is_known(peer))
        return false;
    where_set(&there, peer);
    anybody = there;
    anybody.four.sin_port = 0;
    lines_visit(peer->domain, silent_ms, &there, false, &sums);
    lines_visit(peer->domain, silent_ms, &anybody, false, &sums);
    if (sums.of[LINE_DEAD] == 0 || sums.of[LINE_ALIVE] > 0)
        return false;
    lines_visit(peer->domain, silent_ms, &there, true, &sums);
    lines_visit(peer->domain, silent_ms, &anybody, true, &sums);
    return true;
}

void amg_ofi_line_fini(struct amg_ofi_domain *domain)
{
    amg_mem_free(domain->lines);
    domain->lines = NULL;
}
