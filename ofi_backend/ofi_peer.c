/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: other processes, as addresses, tokens and states.
 *
 * A peer is an address; the first contact tells which process has that address
 * (ofi_connect.c). A peer takes 470 bytes, about 40 more in tables, and memory
 * of the provider, and is found by a hash of its address. A peer lives while
 * the user, a message, a lease or a transfer references it; a peer that is not
 * UNKNOWN also references itself.
 *
 * A process that knows a peer's token counts as that peer, so all 64 bits of a
 * token come from the system's generator: no process can derive the tokens of
 * other processes from its own. The two indexes, by token and by address,
 * double their buckets as peers are added; without memory for more buckets, the
 * chains become longer.
 *
 * A tick (ofi_poll.c) runs ten times a second and checks only some of the
 * peers. A peer that this process sends to, or waits for, is watched: a wheel
 * of 16 lists has the peer in the list of the tick that checks the peer next.
 * While messages to the peer are unsent, each tick checks the peer; while only
 * operations wait for the peer, a tick within a second does. Idle peers are in
 * `resting`: a tick checks each minute whether their processes are gone, but
 * checks no ranks of this job, as the end of a rank ends the job.
 *
 * The text of an address:
 *
 *   the provider's format     the text
 *   FI_SOCKADDR[_IN], IPv4    ofi+net://192.0.2.7:4242
 *   FI_SOCKADDR[_IN6], IPv6   ofi+net://[2001:db8::7]:4242
 *   FI_ADDR_STR               ofi+shm://fi_shm://4711:0:0
 *   any other                 ofi+cxi://0x0011aabb..., its bytes in hex
 *
 * The part before "://" is the whole stack of providers, which must be equal on
 * both sides. A string that only names the protocol ("tcp://...", as a user
 * types it) stands for the stack of this process. */
#include "ofi_backend/ofi_peer.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/registry.h"

/* Silence before a check; the peer's time to answer includes this silence. */
#define SILENT_NS (AMG_OFI_SILENT_TICKS * AMG_OFI_TICK_NS)

enum {
    BUCKETS_MIN = 64,
};

/* state_edges[from] has a bit for each state that may follow. */
static const unsigned state_edges[AMG_OFI_PEER_STATES] = {
    [AMG_OFI_PEER_UNKNOWN] =
        1u << AMG_OFI_PEER_CONNECTING | 1u << AMG_OFI_PEER_CLAIMED |
        1u << AMG_OFI_PEER_OPEN | 1u << AMG_OFI_PEER_INCOMPATIBLE,
    [AMG_OFI_PEER_CONNECTING] =
        1u << AMG_OFI_PEER_OPEN | 1u << AMG_OFI_PEER_UNKNOWN,
    [AMG_OFI_PEER_CLAIMED] = 1u << AMG_OFI_PEER_CONNECTING |
                             1u << AMG_OFI_PEER_OPEN |
                             1u << AMG_OFI_PEER_UNKNOWN,
    [AMG_OFI_PEER_OPEN] = 1u << AMG_OFI_PEER_UNKNOWN,
    [AMG_OFI_PEER_INCOMPATIBLE] = 1u << AMG_OFI_PEER_UNKNOWN,
};

static const char hex_prefix[] = "0x";

static void sockaddr_write(const void *addr, char *ret_text, size_t cap)
{
    const struct sockaddr_in *four = addr;
    const struct sockaddr_in6 *six = addr;
    char host[INET6_ADDRSTRLEN] = "?";

    if (four->sin_family == AF_INET) {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        snprintf(ret_text, cap, "%s:%u", host, ntohs(four->sin_port));
    } else {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        snprintf(ret_text, cap, "[%s]:%u", host, ntohs(six->sin6_port));
    }
}

void amg_ofi_addrstr_write(const struct amg_ofi_facts *facts, const void *addr,
    size_t len, char *ret_text)
{
    const uint8_t *bytes = addr;
    size_t used =
        (size_t)snprintf(ret_text, AMG_OFI_TEXT_CAP, "ofi+%s://", facts->stack);

    AMG_ASSERT(len <= AMG_OFI_ADDR_MAX);
    if (amg_ofi_format_is_ip(facts->addr_format)) {
        sockaddr_write(addr, ret_text + used, AMG_OFI_TEXT_CAP - used);
        return;
    }
    if (facts->addr_format == FI_ADDR_STR) {
        snprintf(ret_text + used, AMG_OFI_TEXT_CAP - used, "%.*s", (int)len,
            (const char *)addr);
        return;
    }
    used += (size_t)snprintf(
        ret_text + used, AMG_OFI_TEXT_CAP - used, "%s", hex_prefix);
    for (size_t i = 0; i < len; i++)
        used += (size_t)snprintf(
            ret_text + used, AMG_OFI_TEXT_CAP - used, "%02x", bytes[i]);
}

/* Calls the resolver, which may block. */
static hg_return_t sockaddr_read(const struct amg_ofi_facts *facts,
    const char *rest, void *ret_addr, uint16_t *ret_len)
{
    const struct addrinfo hints = {
        .ai_family = facts->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV,
    };
    struct addrinfo *found = NULL;
    struct amg_uri_host split;
    char host[256];
    char port[8];
    int code = 0;

    if (amg_uri_split_host(rest, &split) != HG_SUCCESS || split.port == 0 ||
        split.name_len == 0 || split.name_len >= sizeof(host))
        return HG_INVALID_ARG;
    memcpy(host, split.name, split.name_len);
    host[split.name_len] = '\0';
    snprintf(port, sizeof(port), "%u", split.port);
    code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) {
        AMG_LOG_ERROR("addr", "the host '%s' of an address is not known: %s",
            host, gai_strerror(code));
        return HG_ADDRNOTAVAIL;
    }
    AMG_ASSERT(found->ai_addrlen <= AMG_OFI_ADDR_MAX);
    memcpy(ret_addr, found->ai_addr, found->ai_addrlen);
    *ret_len = (uint16_t)found->ai_addrlen;
    freeaddrinfo(found);
    return HG_SUCCESS;
}

/* Has the text only characters that occur in addresses of FI_ADDR_STR? */
static bool is_name(const char *text)
{
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr(":/._-", *text) == NULL)
            return false;
    return true;
}

static hg_return_t string_read(
    const char *rest, void *ret_addr, uint16_t *ret_len)
{
    size_t len = strlen(rest) + 1;

    if (len < 2 || len > AMG_OFI_ADDR_MAX || !is_name(rest))
        return HG_INVALID_ARG;
    memcpy(ret_addr, rest, len);
    *ret_len = (uint16_t)len;
    return HG_SUCCESS;
}

static hg_return_t hex_read(const char *rest, void *ret_addr, uint16_t *ret_len)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *bytes = ret_addr;
    size_t len = strlen(hex_prefix);

    if (strncmp(rest, hex_prefix, len) != 0)
        return HG_INVALID_ARG;
    rest += len;
    len = strlen(rest);
    if (len == 0 || len % 2 != 0 || len / 2 > AMG_OFI_ADDR_MAX ||
        strspn(rest, digits) != len)
        return HG_INVALID_ARG;
    for (size_t i = 0; i < len; i += 2)
        bytes[i / 2] = (uint8_t)((strchr(digits, rest[i]) - digits) << 4 |
                                 (strchr(digits, rest[i + 1]) - digits));
    *ret_len = (uint16_t)(len / 2);
    return HG_SUCCESS;
}

/* Is the scheme, without "ofi+", our stack, or the first layer of our stack? */
static bool stack_is_mine(
    const struct amg_ofi_facts *facts, const char *name, size_t len)
{
    size_t first = strcspn(facts->stack, ";");

    if (strlen(facts->stack) == len && strncmp(facts->stack, name, len) == 0)
        return true;
    if (first == len && strncmp(facts->stack, name, len) == 0)
        return true;
    /* Mercury's other name of a stack over ofi_rxm: "tcp_rxm". */
    if (strcmp(facts->stack + first, ";ofi_rxm") == 0 &&
        len == first + strlen("_rxm") &&
        strncmp(facts->stack, name, first) == 0 &&
        strncmp(name + first, "_rxm", strlen("_rxm")) == 0)
        return true;
    /* "net" and "tcp" are names of the same wire protocol; see ofi_select.c. */
    return first == 3 && strncmp(facts->stack, "net", 3) == 0 && len == 3 &&
           strncmp(name, "tcp", 3) == 0;
}

hg_return_t amg_ofi_addrstr_read(const struct amg_ofi_facts *facts,
    const char *text, void *ret_addr, uint16_t *ret_len)
{
    struct amg_uri uri = {.class_len = 0};
    hg_return_t rc = amg_uri_split(text, &uri);
    size_t skip = uri.class_len == 0 ? 0 : uri.class_len + 1;

    if (skip > 0 && (skip != 4 || strncmp(uri.scheme, "ofi+", skip) != 0))
        rc = HG_INVALID_ARG;
    if (rc == HG_SUCCESS &&
        stack_is_mine(facts, uri.scheme + skip, uri.scheme_len - skip)) {
        rc = amg_ofi_format_is_ip(facts->addr_format)
                 ? sockaddr_read(facts, uri.rest, ret_addr, ret_len)
             : facts->addr_format == FI_ADDR_STR
                 ? string_read(uri.rest, ret_addr, ret_len)
                 : hex_read(uri.rest, ret_addr, ret_len);
    } else if (rc == HG_SUCCESS && skip > 0) {
        AMG_LOG_ERROR("addr",
            "'%s' is of another provider than this class, which uses ofi+%s; "
            "open both with the same init string",
            text, facts->stack);
        return HG_ADDRNOTAVAIL;
    } else {
        rc = HG_INVALID_ARG;
    }
    if (rc == HG_INVALID_ARG)
        AMG_LOG_ERROR("addr", "'%s' is no address of ofi+%s%s", text,
            facts->stack,
            amg_ofi_format_is_ip(facts->addr_format)
                ? "; these look like ofi+tcp://host:port"
                : "");
    return rc;
}

static bool is_ip(int family, const void *addr, size_t len)
{
    struct sockaddr_in head; /* IPv6 also begins with family, port */

    if (len != (family == AF_INET ? sizeof(head) : sizeof(struct sockaddr_in6)))
        return false;
    memcpy(&head, addr, sizeof(head));
    return head.sin_family == family && head.sin_port != 0;
}

bool amg_ofi_addrstr_is_addr(const struct amg_ofi_facts *facts,
    const void *addr, size_t len, size_t own_len)
{
    if (len == 0 || len > AMG_OFI_ADDR_MAX)
        return false;
    switch (facts->addr_format) {
    case FI_SOCKADDR_IN:
        return is_ip(AF_INET, addr, len);
    case FI_SOCKADDR_IN6:
        return is_ip(AF_INET6, addr, len);
    case FI_SOCKADDR:
        return is_ip(AF_INET, addr, len) || is_ip(AF_INET6, addr, len);
    case FI_ADDR_STR:
        return len > 1 && memchr(addr, '\0', len) != NULL && is_name(addr);
    default:
        return len == own_len;
    }
}

static bool token_read(uint64_t *ret_token)
{
    return getrandom(ret_token, sizeof(*ret_token), 0) ==
           (ssize_t)sizeof(*ret_token);
}

hg_return_t amg_ofi_peers_init(struct amg_ofi_domain *domain)
{
    uint64_t token = 0;

    if (!token_read(&token)) {
        AMG_LOG_ERROR("cls",
            "ofi: getrandom() gives no random numbers: %s; peers identify "
            "themselves by these; does a seccomp filter forbid the call?",
            strerror(errno));
        return HG_OPNOTSUPPORTED;
    }
    for (unsigned which = 0; which < AMG_OFI_INDEXES; which++) {
        struct amg_ofi_index *index = &domain->peers.indexes[which];

        index->buckets =
            amg_mem_zalloc(BUCKETS_MIN * sizeof(index->buckets[0]));
        if (index->buckets == NULL)
            return HG_NOMEM;
        index->mask = BUCKETS_MIN - 1;
    }
    return HG_SUCCESS;
}

void amg_ofi_peers_fini(struct amg_ofi_domain *domain)
{
    for (unsigned which = 0; which < AMG_OFI_INDEXES; which++) {
        amg_mem_free(domain->peers.indexes[which].buckets);
        domain->peers.indexes[which].buckets = NULL;
    }
}

uint64_t amg_ofi_token_draw(void)
{
    uint64_t token = 0;

    while (token == 0) {
        bool is_random = token_read(&token);

        /* NOTE(abort): getrandom() worked before; if numbers can be guessed,
         * any process can send in a peer's name. */
        AMG_ASSERT(is_random);
    }
    return token;
}

/* The bucket of the peer, as the link to the first peer of the bucket. */
static struct amg_peer **bucket_of(
    const struct amg_ofi_index *index, const struct amg_peer *peer)
{
    bool is_by_token = index == &peer->domain->peers.indexes[AMG_OFI_BY_TOKEN];

    return &index->buckets[(is_by_token ? peer->conn.token : peer->hash) &
                           index->mask];
}

static void bucket_push(struct amg_peer *peer, unsigned which)
{
    struct amg_peer **bucket =
        bucket_of(&peer->domain->peers.indexes[which], peer);

    peer->next[which] = *bucket;
    *bucket = peer;
}

static void index_grow(struct amg_ofi_index *index, unsigned which)
{
    struct amg_peer **before = index->buckets;
    uint32_t count = index->mask + 1;
    struct amg_peer **more = amg_mem_zalloc(2 * count * sizeof(more[0]));

    if (more == NULL)
        return;
    index->buckets = more;
    index->mask = 2 * count - 1;
    for (uint32_t i = 0; i < count; i++)
        while (before[i] != NULL) {
            struct amg_peer *peer = before[i];

            before[i] = peer->next[which];
            bucket_push(peer, which);
        }
    amg_mem_free(before);
}

static void index_add(struct amg_peer *peer, unsigned which)
{
    struct amg_ofi_index *index = &peer->domain->peers.indexes[which];

    bucket_push(peer, which);
    if (++index->count > index->mask)
        index_grow(index, which);
}

static void index_remove(struct amg_peer *peer, unsigned which)
{
    struct amg_ofi_index *index = &peer->domain->peers.indexes[which];
    struct amg_peer **at = bucket_of(index, peer);

    AMG_ASSERT(index->count > 0);
    while (*at != peer)
        at = &(*at)->next[which];
    *at = peer->next[which];
    index->count--;
}

void amg_ofi_token_set_locked(struct amg_peer *peer, uint64_t token)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->conn.token != 0)
        index_remove(peer, AMG_OFI_BY_TOKEN);
    peer->conn.token = token;
    if (token != 0)
        index_add(peer, AMG_OFI_BY_TOKEN);
}

/* FNV-1a, 64 bits. */
static uint64_t hash_of(const uint8_t *bytes, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

/* Clears bytes without meaning, so that an address makes only one peer. */
static void addr_clean(
    const struct amg_ofi_domain *domain, uint8_t *addr, size_t len)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    if (domain->facts.addr_format == FI_SOCKADDR_IN && len == sizeof(four)) {
        memcpy(&four, addr, len);
        memset(&four.sin_zero, 0, sizeof(four.sin_zero));
        memcpy(addr, &four, len);
    } else if (domain->facts.addr_format == FI_SOCKADDR_IN6 &&
               len == sizeof(six)) {
        memcpy(&six, addr, len);
        six.sin6_flowinfo = 0;
        memcpy(addr, &six, len);
    }
}

static hg_return_t peer_make_locked(struct amg_ofi_domain *domain,
    const uint8_t *addr, uint16_t len, struct amg_peer **ret_peer)
{
    struct amg_peer *peer = amg_mem_zalloc(sizeof(*peer) + len);
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (peer == NULL)
        return HG_NOMEM;
    peer->domain = domain;
    peer->state = AMG_OFI_PEER_UNKNOWN;
    peer->hash = hash_of(addr, len);
    peer->fi_addr = FI_ADDR_NOTAVAIL;
    peer->probe.fd = -1;
    peer->addr_len = len;
    memcpy(peer->addr, addr, len);
    amg_list_init(&peer->unsent);
    amg_list_init(&peer->sends);
    amg_list_init(&peer->rma.leases);
    amg_list_init(&peer->rma.grants);
    amg_list_init(&peer->rma.transfers);
    amg_list_init(&peer->rma.blocked);
    amg_flow_bound(&domain->calls.flow, &peer->calls, 1, 1); /* until OPEN */
    atomic_init(&peer->refs, 1);
    rc = amg_table_add(&domain->peers.numbers, peer, 0, &peer->number);
    if (rc != HG_SUCCESS) {
        amg_mem_free(peer);
        return rc;
    }
    index_add(peer, AMG_OFI_BY_ADDR);
    amg_list_push(&domain->peers.all, &peer->all);
    *ret_peer = peer;
    return HG_SUCCESS;
}

struct amg_peer *amg_ofi_peer_find_locked(
    const struct amg_ofi_domain *domain, const void *addr, uint16_t len)
{
    const struct amg_ofi_index *index = &domain->peers.indexes[AMG_OFI_BY_ADDR];
    uint64_t hash = hash_of(addr, len);
    struct amg_peer *peer = index->buckets[hash & index->mask];

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (peer != NULL && (peer->hash != hash || peer->addr_len != len ||
                               memcmp(peer->addr, addr, len) != 0))
        peer = peer->next[AMG_OFI_BY_ADDR];
    return peer;
}

hg_return_t amg_ofi_peer_get_locked(struct amg_ofi_domain *domain,
    const void *bytes, uint16_t len, struct amg_peer **ret_peer)
{
    uint8_t addr[AMG_OFI_ADDR_MAX];
    struct amg_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (len == 0 || len > AMG_OFI_ADDR_MAX)
        return HG_INVALID_ARG;
    memcpy(addr, bytes, len);
    addr_clean(domain, addr, len);
    peer = amg_ofi_peer_find_locked(domain, addr, len);
    if (peer == NULL)
        return peer_make_locked(domain, addr, len, ret_peer);
    *ret_peer = amg_ofi_peer_ref(peer);
    return HG_SUCCESS;
}

struct amg_peer *amg_ofi_peer_ref(struct amg_peer *peer)
{
    atomic_fetch_add_explicit(&peer->refs, 1, memory_order_relaxed);
    return peer;
}

static void peer_free_locked(struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(amg_list_is_empty(&peer->unsent));
    AMG_ASSERT(
        amg_list_is_empty(&peer->rma.leases) && peer->posts_in_flight == 0);
    AMG_ASSERT(
        amg_list_is_empty(&peer->rma.transfers) && peer->rma.granted == 0);
    if (peer->fi_addr != FI_ADDR_NOTAVAIL && domain->fi.ep != NULL)
        (void)amg_ofi_call->av_remove(domain->fi.av, peer->fi_addr);
    amg_flow_forget(&domain->calls.flow, &peer->calls);
    amg_ofi_token_set_locked(peer, 0);
    amg_table_remove(&domain->peers.numbers, peer->number);
    index_remove(peer, AMG_OFI_BY_ADDR);
    if (peer->is_pending)
        amg_list_remove(&peer->pending);
    if (amg_link_is_listed(&peer->look.link))
        amg_list_remove(&peer->look.link);
    amg_list_remove(&peer->all);
    amg_mem_free(peer);
}

void amg_ofi_peer_unref_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (atomic_fetch_sub_explicit(&peer->refs, 1, memory_order_acq_rel) == 1)
        peer_free_locked(peer);
}

void amg_ofi_peer_set_state_locked(
    struct amg_peer *peer, enum amg_ofi_peer_state next)
{
    enum amg_ofi_peer_state before = peer->state;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT((state_edges[before] >> next & 1u) != 0);
    AMG_LOG_DEBUG(
        "ofi", "peer %p state %d to %d", (void *)peer, (int)before, (int)next);
    peer->state = next;
    /* A peer references itself unless it is UNKNOWN. */
    if (before == AMG_OFI_PEER_UNKNOWN)
        (void)amg_ofi_peer_ref(peer);
    else if (next == AMG_OFI_PEER_UNKNOWN)
        amg_ofi_peer_unref_locked(peer);
}

const char *amg_ofi_peer_text(const struct amg_peer *peer, char *ret_text)
{
    amg_ofi_addrstr_write(
        &peer->domain->facts, peer->addr, peer->addr_len, ret_text);
    return ret_text;
}

const char *amg_ofi_peer_name(const struct amg_peer *peer, char *ret_text)
{
    const struct amg_domain *base = &peer->domain->base;
    uint32_t rank =
        base->rank_of == NULL ? UINT32_MAX : base->rank_of(base->ranks, peer);
    size_t len = strlen(amg_ofi_peer_text(peer, ret_text));

    if (rank != UINT32_MAX)
        snprintf(ret_text + len, AMG_OFI_TEXT_CAP - len, " (rank %u)", rank);
    return ret_text;
}

bool amg_ofi_peer_is_waiting(const struct amg_peer *peer)
{
    return peer->state == AMG_OFI_PEER_CONNECTING || peer->conn.owes_connect ||
           peer->conn.owes_accept || !amg_list_is_empty(&peer->unsent);
}

bool amg_ofi_peer_is_awaited(const struct amg_peer *peer)
{
    return peer->calls.unanswered > 0 ||
           !amg_list_is_empty(&peer->rma.transfers) || peer->rma.revoked > 0 ||
           peer->rma.unanswered > 0 || peer->posts_in_flight > 0;
}

void amg_ofi_peer_set_deadline(struct amg_peer *peer)
{
    peer->conn.deadline_ns =
        amg_ofi_clock_ns(peer->domain) + peer->domain->connect_ns;
}

/* Ticks until the silence of the peer matters; at least 1. */
static unsigned patience_of(const struct amg_peer *peer)
{
    uint64_t connect_ticks = peer->domain->connect_ns / AMG_OFI_TICK_NS;
    unsigned silent = peer->domain->clock.tick - peer->heard_tick;
    unsigned most = connect_ticks < AMG_OFI_SILENT_TICKS
                        ? (unsigned)connect_ticks
                        : AMG_OFI_SILENT_TICKS;

    return silent < most ? most - silent : 1;
}

void amg_ofi_peer_look_in_locked(struct amg_peer *peer, unsigned ticks)
{
    struct amg_ofi_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (ticks == 0)
        ticks = patience_of(peer);
    AMG_ASSERT(ticks < AMG_OFI_WHEEL);
    if (amg_link_is_listed(&peer->look.link))
        amg_list_remove(&peer->look.link);
    peer->look.is_watched = true;
    peer->look.tick = domain->clock.tick + ticks;
    amg_list_push(&domain->peers.wheel[peer->look.tick % AMG_OFI_WHEEL],
        &peer->look.link);
}

struct amg_peer *amg_ofi_peer_next_watched_locked(
    const struct amg_ofi_domain *domain, const struct amg_peer *peer)
{
    unsigned at = peer == NULL ? 0 : peer->look.tick % AMG_OFI_WHEEL;
    struct amg_link *link =
        peer == NULL
            ? amg_list_first(&domain->peers.wheel[0])
            : amg_list_next(&domain->peers.wheel[at], &peer->look.link);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (link == NULL && ++at < AMG_OFI_WHEEL)
        link = amg_list_first(&domain->peers.wheel[at]);
    return link == NULL ? NULL
                        : amg_container_of(link, struct amg_peer, look.link);
}

void amg_ofi_peer_set_pending_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!peer->look.is_watched ||
        peer->look.tick - peer->domain->clock.tick > 1)
        amg_ofi_peer_look_in_locked(peer, 1);
    if (peer->is_pending)
        return;
    peer->is_pending = true;
    amg_list_push(&peer->domain->peers.pending, &peer->pending);
}

void amg_ofi_peer_connect_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(peer->state == AMG_OFI_PEER_UNKNOWN ||
               peer->state == AMG_OFI_PEER_CLAIMED);
    if (peer->state == AMG_OFI_PEER_UNKNOWN)
        amg_ofi_token_set_locked(peer, amg_ofi_token_draw());
    peer->conn.extensions = 0;
    amg_ofi_peer_set_state_locked(peer, AMG_OFI_PEER_CONNECTING);
    amg_ofi_peer_set_deadline(peer);
    peer->conn.owes_connect = true;
    amg_ofi_peer_set_pending_locked(peer);
}

void amg_ofi_peer_check_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state == AMG_OFI_PEER_CLAIMED) {
        amg_ofi_peer_connect_locked(peer);
        return;
    }
    if (peer->state != AMG_OFI_PEER_OPEN || peer->conn.owes_connect)
        return;
    if (!amg_ofi_peer_is_waiting(peer)) {
        amg_ofi_peer_set_deadline(peer);
        peer->conn.deadline_ns -= peer->domain->connect_ns > 2 * SILENT_NS
                                      ? SILENT_NS
                                      : peer->domain->connect_ns / 2;
    }
    peer->conn.owes_connect = true;
    amg_ofi_peer_set_pending_locked(peer);
}
