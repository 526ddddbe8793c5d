/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of a domain: their references, mappings and address strings.
 *
 * A peer is found by the incarnation of its segment: a random number, so that a
 * name reused by another process is another peer. A peer stays allocated while
 * it has references or operations in flight; each ring by which a peer sends to
 * us holds a reference, so a peer in use stays until it closes or dies.
 *
 * The ranks of a node know each other's names and incarnations from the start
 * (amg_shm_node_join). A rank is UNMET until this process first sends to the
 * rank or receives from it: only then this process maps the rank's segment and
 * opens a pidfd. If the mapping fails, the message ends with an error, and the
 * next message tries again: no other route leads to a rank of the node.
 *
 * Descriptors per peer: a pidfd from the first contact on, and the doorbell of
 * each context that this process found blocked. A domain has at most 256 pidfds
 * and 256 doorbells, and of each kind at most a quarter of the descriptor limit
 * (ulimit -n). Further peers have no pidfd; a further doorbell closes the
 * doorbell that was opened first. The library does not raise the soft limit.
 *
 * Memory per peer: about 600 bytes, and a ring of 5376 bytes for each of its
 * contexts that we send to, and for each of ours that the peer sends to. */
#include "shm/shm_peer.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "shm/shm_files.h"

enum { DESCRIPTORS_PART = 4, DESCRIPTORS_MAX = 256 }; /* limits per kind */

static const char addr_prefix[] = "na+sm://";

static struct amg_shm_peer *peer_make_locked(
    struct amg_shm_domain *domain, const struct amg_shm_region *region)
{
    struct amg_shm_peer *peer = amg_mem_zalloc(sizeof(*peer));

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(region->incarnation != 0);
    if (peer == NULL)
        return NULL;
    peer->domain = domain;
    peer->region = *region;
    peer->id = ++domain->next_peer_id;
    peer->pidfd = -1;
    amg_flow_bound(&domain->calls.flow, &peer->calls, domain->calls.flow.limit,
        region->first_credits);
    amg_shm_link_init(&peer->first);
    if (amg_map_put(&domain->peers, region->incarnation, peer) != HG_SUCCESS) {
        amg_mem_free(peer);
        return NULL;
    }
    amg_list_push(&domain->all_peers, &peer->all);
    return peer;
}

/* Limit of pidfds, and of doorbells; the program needs descriptors, too. */
static uint32_t descriptors_max(void)
{
    uint64_t part = amg_descriptor_limit() / DESCRIPTORS_PART;

    return part < DESCRIPTORS_MAX ? (uint32_t)part : DESCRIPTORS_MAX;
}

hg_return_t amg_shm_peers_init(struct amg_shm_domain *domain)
{
    amg_list_init(&domain->all_peers);
    amg_list_init(&domain->blocked);
    amg_list_init(&domain->doorbells.open);
    domain->descriptors_max = descriptors_max();
    amg_bias_lock(&domain->lock);
    domain->self = peer_make_locked(domain, &domain->region);
    amg_bias_unlock(&domain->lock);
    if (domain->self == NULL)
        return HG_NOMEM;
    domain->self->refs = 1;
    return HG_SUCCESS;
}

void amg_shm_peer_pidfd_close_locked(struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->pidfd < 0)
        return;
    AMG_ASSERT(peer->domain->deaths.epoll >= 0);
    /* close() does not remove the pidfd from the epoll set if a forked child
     * has it, too. */
    (void)epoll_ctl(
        peer->domain->deaths.epoll, EPOLL_CTL_DEL, peer->pidfd, NULL);
    close(peer->pidfd);
    peer->pidfd = -1;
    peer->domain->deaths.pidfds--;
}

/* Asks the kernel to report the death of a peer, if the kernel can. */
static void peer_pidfd_open_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;
    struct epoll_event event = {
        .events = EPOLLIN, .data.u64 = peer->region.incarnation};

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (amg_shm_peer_is_own_process(peer))
        return;
    if (domain->deaths.epoll >= 0 &&
        domain->deaths.pidfds < domain->descriptors_max &&
        peer->region.pid_ns == domain->region.pid_ns)
        peer->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)peer->region.pid, 0);
    domain->deaths.pidfds += peer->pidfd >= 0;
    /* The pid may have been reused before the pidfd was opened. */
    if (peer->pidfd >= 0 &&
        (amg_shm_files_owner(&peer->region) != AMG_LIFE_ALIVE ||
            epoll_ctl(
                domain->deaths.epoll, EPOLL_CTL_ADD, peer->pidfd, &event) != 0))
        amg_shm_peer_pidfd_close_locked(peer);
    if (peer->pidfd < 0)
        domain->deaths.lacks_pidfds = true;
}

bool amg_shm_peer_is_idle_locked(const struct amg_shm_peer *peer)
{
    const struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
        if (amg_shm_link_is_waiting(link))
            return false;
    return peer->refs == 0 && peer->msgbufs_lent == 0 &&
           amg_flow_is_idle(&peer->domain->calls.flow, &peer->calls,
               peer->region.first_credits);
}

void amg_shm_peer_bulk_fini(struct amg_shm_bulk_peer *bulk)
{
    amg_shm_access_release(bulk->accessor);
    bulk->accessor = NULL;
    if (bulk->area != NULL)
        munmap(bulk->area, bulk->area_len);
    bulk->area = NULL;
}

void amg_shm_peer_free_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_map_remove(&domain->peers, peer->region.incarnation);
    amg_list_remove(&peer->all);
    amg_flow_forget(&domain->calls.flow, &peer->calls);
    AMG_ASSERT(peer->bulk.bounce_used == 0);
    amg_shm_peer_bulk_fini(&peer->bulk);
    amg_shm_links_fini_locked(peer); /* may put the peer on `blocked` */
    if (amg_link_is_listed(&peer->blocked))
        amg_list_remove(&peer->blocked);
    amg_shm_peer_pidfd_close_locked(peer);
    if (peer != domain->self)
        amg_shm_region_fini(&peer->region);
    amg_mem_free(peer);
}

void amg_shm_peers_fini(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *peer = NULL;

    while ((peer = amg_shm_peer_next_locked(domain, NULL)) != NULL)
        amg_shm_peer_free_locked(peer);
    domain->self = NULL;
    amg_map_fini(&domain->peers, NULL);
}

/* The known living peer of that name; NULL: none. */
static struct amg_shm_peer *peer_known_locked(
    struct amg_shm_domain *domain, const char *name)
{
    struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        if (peer->state == AMG_SHM_PEER_ALIVE &&
            strcmp(peer->region.name, name) == 0 &&
            !amg_shm_region_is_closed(&peer->region) &&
            amg_shm_files_owner(&peer->region) != AMG_LIFE_DEAD)
            break;
    return peer;
}

/* Copies all members except name and incarnation: these are equal already, and
 * other threads read them without the lock. */
static void region_take(
    struct amg_shm_region *region, const struct amg_shm_region *mapped)
{
    size_t last = offsetof(struct amg_shm_region, pid_ns);

    AMG_ASSERT(region->incarnation == mapped->incarnation);
    memcpy(region, mapped, offsetof(struct amg_shm_region, name));
    memcpy((char *)region + last, (const char *)mapped + last,
        sizeof(*region) - last);
}

/* Maps the segment of an unknown or UNMET peer, which becomes ALIVE. */
static hg_return_t peer_map_locked(struct amg_shm_domain *domain,
    const char *name, uint64_t incarnation, struct amg_shm_peer **ret_peer)
{
    struct amg_shm_peer *peer = NULL;
    struct amg_shm_region region;
    hg_return_t rc = amg_shm_region_map(name, &region);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_ADDRNOTAVAIL;
    if ((incarnation != 0 && region.incarnation != incarnation) ||
        amg_shm_region_is_closed(&region) ||
        amg_shm_files_owner(&region) == AMG_LIFE_DEAD)
        goto unmap;
    peer = amg_map_get(&domain->peers, region.incarnation);
    if (peer != NULL && peer->state != AMG_SHM_PEER_UNMET)
        goto unmap; /* the peer is GONE */
    rc = HG_NOMEM;
    if (peer == NULL)
        peer = peer_make_locked(domain, &region);
    if (peer == NULL)
        goto unmap;
    region_take(&peer->region, &region);
    amg_flow_bound(&domain->calls.flow, &peer->calls, domain->calls.flow.limit,
        peer->region.first_credits);
    peer->state = AMG_SHM_PEER_ALIVE;
    peer_pidfd_open_locked(peer);
    *ret_peer = peer;
    return HG_SUCCESS;

unmap:
    amg_shm_region_fini(&region);
    return rc;
}

uint32_t amg_shm_peer_rank(const struct amg_shm_peer *peer)
{
    const struct amg_shm_domain *domain = peer->domain;

    for (uint32_t i = 0; i < domain->rank_count; i++)
        if (domain->ranks[i].id.incarnation == peer->region.incarnation)
            return domain->ranks[i].rank;
    return UINT32_MAX;
}

struct amg_shm_peer *amg_shm_peer_unmet_locked(
    struct amg_shm_domain *domain, const char *name, uint64_t incarnation)
{
    struct amg_shm_peer *peer = amg_map_get(&domain->peers, incarnation);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (peer == NULL) {
        struct amg_shm_region region = {.fd = -1, .incarnation = incarnation};

        memcpy(region.name, name, strnlen(name, sizeof(region.name) - 1));
        peer = peer_make_locked(domain, &region);
        if (peer == NULL)
            return NULL;
        peer->state = AMG_SHM_PEER_UNMET;
    }
    peer->refs++;
    return peer;
}

static hg_return_t cannot_map(struct amg_shm_peer *peer, hg_return_t why)
{
    char text[AMG_SHM_WHY_CAP];

    if ((peer->warned & AMG_SHM_WARNED_OF_MAP) == 0)
        AMG_LOG_ERROR("shm",
            "rank %u of this node, na+sm://%s, cannot be called: its segment "
            "cannot be mapped (%s)",
            (unsigned)amg_shm_peer_rank(peer), peer->region.name,
            amg_shm_region_why(why, text));
    peer->warned |= AMG_SHM_WARNED_OF_MAP;
    return why == HG_NOMEM ? HG_NOMEM : HG_NA_ERROR;
}

AMG_NOINLINE hg_return_t amg_shm_peer_meet_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_peer *met = NULL;
    hg_return_t rc = HG_ADDRNOTAVAIL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->state == AMG_SHM_PEER_UNMET &&
        !amg_shm_region_is_closed(&peer->domain->region))
        rc = peer_map_locked(
            peer->domain, peer->region.name, peer->region.incarnation, &met);
    AMG_ASSERT(met == NULL || met == peer);
    if (rc == HG_SUCCESS)
        return rc;
    if (rc != HG_ADDRNOTAVAIL)
        return cannot_map(peer, rc);
    if (peer->state == AMG_SHM_PEER_UNMET)
        AMG_LOG_INFO("shm",
            "rank %u of this node, na+sm://%s, has closed or died",
            (unsigned)amg_shm_peer_rank(peer), peer->region.name);
    peer->state = AMG_SHM_PEER_GONE;
    return HG_HOSTUNREACH;
}

hg_return_t amg_shm_peer_find_locked(struct amg_shm_domain *domain,
    const char *name, uint64_t incarnation, struct amg_shm_peer **ret_peer)
{
    struct amg_shm_peer *peer = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (strcmp(name, domain->region.name) == 0)
        peer = domain->self;
    else if (incarnation != 0)
        peer = amg_map_get(&domain->peers, incarnation);
    else
        peer = peer_known_locked(domain, name);
    if (peer == NULL || peer->state == AMG_SHM_PEER_UNMET)
        rc = peer_map_locked(domain, name, incarnation, &peer);
    else if (peer->region.head == NULL) /* GONE, never mapped */
        rc = HG_NA_ERROR;
    if (rc != HG_SUCCESS)
        return rc;
    peer->refs++;
    *ret_peer = peer;
    return HG_SUCCESS;
}

struct amg_peer *amg_shm_addr_self(struct amg_domain *base)
{
    return amg_shm_addr_ref(amg_shm_peer_base(amg_shm_domain_of(base)->self));
}

struct amg_peer *amg_shm_addr_ref(struct amg_peer *base)
{
    struct amg_shm_peer *peer = amg_shm_peer_of(base);

    amg_bias_lock(&peer->domain->lock);
    peer->refs++;
    amg_bias_unlock(&peer->domain->lock);
    return base;
}

void amg_shm_addr_unref(struct amg_domain *base, struct amg_peer *peer)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);

    amg_bias_lock(&domain->lock);
    amg_shm_peer_unref_locked(amg_shm_peer_of(peer));
    amg_bias_unlock(&domain->lock);
}

bool amg_shm_addr_is_self(
    const struct amg_domain *base, const struct amg_peer *peer)
{
    return amg_shm_peer_of(peer) == amg_shm_domain_of(base)->self;
}

bool amg_shm_addr_is_same(const struct amg_domain *base,
    const struct amg_peer *one, const struct amg_peer *other)
{
    (void)base;
    return one == other;
}

hg_return_t amg_shm_addr_format(const struct amg_domain *base,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    const char *name = amg_shm_peer_of(peer)->region.name;
    size_t room = *len;

    (void)base;
    *len = strlen(addr_prefix) + strlen(name) + 1;
    if (ret_text == NULL || room < *len)
        return HG_OVERFLOW;
    snprintf(ret_text, room, "%s%s", addr_prefix, name);
    return HG_SUCCESS;
}

/* The name in "na+sm://NAME", "sm://NAME", "shm://NAME"; else NULL. */
static const char *text_name(const char *text)
{
    static const char *const prefixes[] = {addr_prefix, "sm://", "shm://"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t len = strlen(prefixes[i]);

        if (strncmp(text, prefixes[i], len) == 0)
            return amg_shm_name_is_valid(text + len) ? text + len : NULL;
    }
    return NULL;
}

hg_return_t amg_shm_addr_parse(
    struct amg_domain *base, const char *text, struct amg_peer **ret_peer)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    const char *name = text_name(text);
    struct amg_shm_peer *peer = NULL;
    char why[AMG_SHM_WHY_CAP];
    hg_return_t rc = HG_SUCCESS;

    if (name == NULL) {
        AMG_LOG_ERROR("addr",
            "'%s' is no address of shared memory; addresses look like %s%s",
            text, addr_prefix, domain->region.name);
        return HG_INVALID_ARG;
    }
    amg_bias_lock(&domain->lock);
    rc = amg_shm_peer_find_locked(domain, name, 0, &peer);
    amg_bias_unlock(&domain->lock);
    if (rc == HG_ADDRNOTAVAIL)
        AMG_LOG_ERROR("addr",
            "'%s': no living process of this user on this host has that name",
            text);
    if (rc == HG_AGAIN) {
        AMG_LOG_ERROR("addr", "'%s': its segment cannot be mapped (%s)", text,
            amg_shm_region_why(rc, why));
        rc = HG_NA_ERROR;
    }
    if (rc != HG_SUCCESS)
        return rc;
    *ret_peer = amg_shm_peer_base(peer);
    return HG_SUCCESS;
}
