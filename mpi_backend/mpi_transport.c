/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI driver: its domains and its operations table. */
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_public.h"

#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "mpi_backend/mpi_progress.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_meet.h"
#include "mpi_backend/mpi_place.h"
#include "mpi_backend/mpi_long.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_transfer.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_rma.h"
#include "transport/state.h"

enum {
    MESSAGE_LEN_MIN = 256, /* all messages of the driver fit */
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
    TRANSFERS_MADE = 16, /* allocated at open */
    /* Longest bulk data that travels inside one message, as a multiple of
     * message_len (2 x 4096 by default): beyond 8 KiB, such a message takes
     * twice the time of a fragment (MPICH 4.0.2 ch4:ucx). */
    SMALL_FACTOR = 2,
};

/* All open domains, for the user's MPI_Finalize. */
static struct amg_lock domains_lock;
static struct amg_list domains = {{&domains.head, &domains.head}};

static uint64_t random_draw(void)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) !=
        (ssize_t)sizeof(number))
        number = amg_clock_ns();
    return number;
}

/* Checks that all ranks ask for the same transports. */
static hg_return_t protocols_compare(
    const struct amg_open *how, const struct amg_mpi_greeting *all)
{
    if (all->protocol == ~all->inverse)
        return HG_SUCCESS;
    AMG_LOG_ERROR("cls",
        "the ranks ask for different transports; this rank asks for '%s': make "
        "init strings, AMALGAM_TRANSPORT and AMALGAM_INTERNODE the same on all "
        "ranks",
        how->job.internode != NULL ? how->job.internode
        : how->protocol != NULL    ? how->protocol
                                   : "mpi");
    return HG_INVALID_ARG;
}

static void tags_set(struct amg_mpi_domain *domain)
{
    uint32_t stamps = ((uint32_t)domain->comm.tag_max + 1) >> AMG_MPI_TAG_BITS;
    uint32_t half =
        ((uint32_t)domain->comm.tag_max + 1 - AMG_MPI_LONG_TAGS) / 2;

    AMG_ASSERT(stamps > 0 && half > 0);
    domain->stamp = (int)(domain->peers.nonce % stamps) << AMG_MPI_TAG_BITS;
    domain->transfers.tags_half =
        (int)(half <= AMG_TABLE_INDEX_MASK ? half : AMG_TABLE_INDEX_MASK + 1u);
}

static uint64_t at_most(uint64_t value, uint64_t max)
{
    return value < max ? value : max;
}

static void domain_set(struct amg_mpi_domain *domain,
    const struct amg_open *how, const struct amg_mpi_greeting *all)
{
    domain->peers.nonce = all->nonce;
    domain->job.wanted_len = all->message_len;
    domain->job.wanted_credits = all->credits;
    domain->base.transport = &amg_mpi_transport;
    domain->base.progress = amg_mpi_progress_domain;
    amg_bias_init(&domain->own_lock);
    domain->lock = &domain->own_lock; /* until transport_open() sets another */
    domain->message_len = (uint32_t)at_most(all->message_len, MESSAGE_LEN_MAX);
    if (domain->message_len < MESSAGE_LEN_MIN)
        domain->message_len = MESSAGE_LEN_MIN;
    domain->room_len = domain->message_len * AMG_ROOM_FACTOR;
    domain->transfers.small_len = SMALL_FACTOR * domain->message_len;
    domain->transfers.fragment_len =
        (uint32_t)amg_env_number(AMG_ENV_FRAGMENT_BYTES);
    domain->max_contexts = how->max_contexts;
    domain->is_listening = how->is_listening;
    domain->mems.salt = random_draw();
    tags_set(domain);
    amg_calls_init(&domain->calls, domain->lock,
        (uint16_t)at_most(all->credits, CREDITS_MAX), &amg_mpi_calls_ops);
    amg_calls_limit(&domain->calls, all->max_kib * 1024ull, domain->room_len,
        (uint64_t)domain->comm.size);
    amg_packer_init(&domain->packer,
        domain->message_len - (uint32_t)sizeof(struct amg_mpi_header),
        domain->room_len - (uint32_t)sizeof(struct amg_mpi_header));
    domain->base.packs = &domain->packer.counts;
    domain->base.counts = &domain->calls.counts;
    amg_flow_init(&domain->transfers.flow, AMG_MPI_TRANSFERS);
    amg_list_init(&domain->sends.in_flight);
    amg_list_init(&domain->sends.deferred);
    amg_list_init(&domain->orphans);
    amg_list_init(&domain->transfers.moving);
    amg_list_init(&domain->accesses.all);
    amg_list_init(&domain->accesses.stalled);
    amg_list_init(&domain->longs.unsent);
    amg_list_init(&domain->longs.coming);
    amg_list_init(&domain->longs.waiting);
    domain->longs.cap = amg_env_number(AMG_ENV_MAX_PENDING_BYTES);
    domain->unmatched.request = MPI_REQUEST_NULL;
    domain->unmatched.tag = -1;
    amg_table_init(&domain->transfers.all,
        (uint32_t)domain->transfers.tags_half, "transfers in flight");
    amg_table_init(
        &domain->mems.all, AMG_TABLE_INDEX_MASK + 1u, "exposed memories");
    amg_pool_init(&domain->transfers.pool, sizeof(struct amg_mpi_transfer),
        sizeof(void *) * 2);
    amg_pool_init(&domain->accesses.pool, sizeof(struct amg_mpi_access),
        sizeof(void *) * 2);
    domain->barrier.request = MPI_REQUEST_NULL;
    amg_mpi_tree_init(&domain->disconnect, (uint32_t)domain->comm.rank,
        (uint32_t)domain->comm.size);
    domain->joining.request = MPI_REQUEST_NULL;
}

static hg_return_t domain_fill(struct amg_mpi_domain *domain)
{
    bool has_spare = false;

    amg_bias_lock(domain->lock);
    has_spare = amg_mpi_peer_reserve_locked(domain);
    amg_bias_unlock(domain->lock);
    domain->peers.all =
        amg_mem_zalloc((size_t)domain->comm.size * sizeof(*domain->peers.all));
    domain->eps = amg_mem_zalloc(domain->max_contexts * sizeof(domain->eps[0]));
    domain->longs.held =
        amg_mem_zalloc(domain->max_contexts * sizeof(domain->longs.held[0]));
    domain->job.cards =
        amg_mem_zalloc((size_t)domain->comm.node_size * AMG_NODE_CARD_LEN);
    if (domain->peers.all == NULL || domain->eps == NULL ||
        domain->longs.held == NULL || domain->job.cards == NULL || !has_spare ||
        amg_pool_fill(&domain->transfers.pool, TRANSFERS_MADE) < TRANSFERS_MADE)
        return HG_NOMEM;
    return amg_mpi_msgbuf_init(domain);
}

static void domain_free(struct amg_mpi_domain *domain)
{
    amg_mem_free(domain->accesses.sink);
    while (domain->bounces.free != NULL) { /* others may be in use by MPI */
        struct amg_mpi_bounce *bounce = domain->bounces.free;

        domain->bounces.free = bounce->next;
        amg_mem_free(bounce);
    }
    amg_pool_fini(&domain->accesses.pool);
    amg_pool_fini(&domain->transfers.pool);
    amg_table_fini(&domain->mems.all);
    amg_table_fini(&domain->transfers.all);
    amg_calls_fini(&domain->calls);
    amg_mem_free(domain->eps);
    amg_mem_free(domain->job.cards);
    amg_mpi_msgbuf_fini(domain);
    amg_mem_free(domain->longs.held);
    while (domain->peers.met != NULL) {
        struct amg_mpi_peer *peer = domain->peers.met;

        domain->peers.met = peer->next;
        amg_mem_free(peer);
    }
    amg_mem_free(domain->peers.spare);
    amg_mem_free(domain->peers.all);
    amg_mem_free(domain);
}

/* A step of the disconnect of all open domains. True: all have ended. */
static bool domains_leave_locked(enum amg_patience_verdict verdict)
{
    struct amg_link *link = amg_list_first(&domains);
    bool is_over = true;

    AMG_ASSERT_HELD(&domains_lock);
    for (; link != NULL; link = amg_list_next(&domains, link)) {
        struct amg_mpi_domain *domain =
            amg_container_of(link, struct amg_mpi_domain, all);

        /* NOTE(not a leaf): the locks of other drivers are taken inside. */
        if (domain->base.stopped != NULL && !amg_mpi_close_is_over(domain))
            domain->base.stopped(domain->base.stopped_arg);
        if (!amg_mpi_close_leave(domain, verdict))
            is_over = false;
    }
    return is_over;
}

/* MPI_Finalize begins, and would hang with posted receives: stops all domains.
 * Ranks that close their classes before MPI_Finalize wait for this rank, which
 * sends DISCONNECT and refuses requests until they have closed. An open
 * class whose disconnect is over at all ranks is no fault, and is not logged:
 * an instance of Margo lives while the instance is referenced, and a C++ engine
 * until the end of its block. */
static void domains_stop(void)
{
    struct amg_patience patience = {0, 0};
    unsigned tries = 0;

    amg_lock_lock(&domains_lock);
    for (struct amg_link *link = amg_list_first(&domains); link != NULL;
         link = amg_list_next(&domains, link))
        if (!amg_mpi_close_is_over(
                amg_container_of(link, struct amg_mpi_domain, all)))
            AMG_LOG_WARNING("mpi",
                "MPI_Finalize was called while a class is open; the class is "
                "stopped, and its calls fail from now on");
    while (!domains_leave_locked(amg_patience_look(&patience)))
        amg_back_off(tries++);
    for (struct amg_link *link = amg_list_first(&domains); link != NULL;
         link = amg_list_next(&domains, link))
        amg_mpi_close_domain(
            amg_container_of(link, struct amg_mpi_domain, all), false);
    amg_mpi_windows_stop();
    amg_lock_unlock(&domains_lock);
}

/* A number that ranks compare: a hash of the protocol and of the protocol of
 * the internode driver, each of which may be NULL. */
static uint32_t protocol_id(const char *protocol, const char *internode)
{
    uint64_t id = AMG_HASH_EMPTY;

    if (protocol != NULL)
        id = amg_hash(id, protocol, strlen(protocol));
    if (internode != NULL)
        id = amg_hash(amg_hash(id, " ", 1), internode, strlen(internode));
    return (uint32_t)id;
}

static hg_return_t options_read(
    const struct amg_open *how, struct amg_mpi_greeting *ret_mine)
{
    uint64_t message_len = how->message_len != 0
                               ? how->message_len
                               : amg_env_number(AMG_ENV_MESSAGE_BYTES);
    uint64_t credits =
        how->credits != 0 ? how->credits : amg_env_number(AMG_ENV_CREDITS);
    uint64_t max_kib = amg_env_number(AMG_ENV_MAX_REQUEST_BYTES) / 1024;

    if (how->info != NULL && how->info[0] != '\0') {
        AMG_LOG_ERROR("cls",
            "'%s' must not follow the name of the MPI transport", how->info);
        return HG_INVALID_ARG;
    }
    if (!AMG_CONTRACT_OF("HG_Init",
            how->max_contexts >= 1 && how->max_contexts <= AMG_MPI_CONTEXTS,
            "max_contexts is %u, but this transport has 1 to %u",
            how->max_contexts, (unsigned)AMG_MPI_CONTEXTS))
        return HG_INVALID_ARG;
    *ret_mine = (struct amg_mpi_greeting){
        .message_len = (uint32_t)at_most(message_len, UINT32_MAX),
        .credits = (uint32_t)at_most(credits, UINT32_MAX),
        .max_kib = (uint32_t)at_most(max_kib, UINT32_MAX),
        .protocol = protocol_id(how->protocol, how->job.internode),
        .nonce = random_draw(),
    };
    ret_mine->inverse = ~ret_mine->protocol;
    return HG_SUCCESS;
}

static struct amg_mpi_domain *domain_create(const struct amg_open *how,
    const struct amg_mpi_comm *comm, const struct amg_mpi_greeting *all)
{
    struct amg_mpi_domain *domain = amg_mem_zalloc(sizeof(*domain));

    if (domain == NULL)
        return NULL;
    domain->comm = *comm;
    domain_set(domain, how, all);
    if (domain_fill(domain) == HG_SUCCESS)
        return domain;
    domain_free(domain);
    return NULL;
}

/* The collective steps of opening: greet, meet, create the local parts, agree
 * that all ranks succeeded, so that no rank waits for a rank without memory. */
static hg_return_t domain_open(const struct amg_open *how, MPI_Comm user,
    struct amg_mpi_comm *comm, struct amg_mpi_greeting *greeting,
    struct amg_mpi_domain **ret_domain)
{
    struct amg_mpi_domain *domain = NULL;
    hg_return_t rc = amg_mpi_meet_greet(user, greeting, comm);

    if (rc == HG_SUCCESS)
        rc = protocols_compare(how, greeting);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_mpi_meet_ranks(user, greeting->nonce, comm);
    if (rc == HG_SUCCESS)
        domain = domain_create(how, comm, greeting);
    if (rc != HG_SUCCESS && rc != HG_NOMEM)
        return rc;
    rc = amg_mpi_meet_facts(comm, domain == NULL);
    if (rc != HG_SUCCESS) {
        if (domain != NULL)
            domain_free(domain);
        return rc;
    }
    domain->comm = *comm;
    *ret_domain = domain;
    return HG_SUCCESS;
}

static hg_return_t transport_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct amg_mpi_domain *domain = NULL;
    struct amg_mpi_greeting greeting;
    struct amg_mpi_comm comm;
    MPI_Comm user = MPI_COMM_NULL;
    hg_return_t rc = options_read(how, &greeting);

    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_mpi_comm_open(how->job.comm, domains_stop, &comm, &user);
    if (rc != HG_SUCCESS)
        return rc;
    rc = domain_open(how, user, &comm, &greeting, &domain);
    if (rc != HG_SUCCESS) {
        amg_mpi_comm_unlock(&comm);
        amg_mpi_place_leave(comm.place);
        amg_mpi_comm_close(&comm, true);
        return rc;
    }
    rc = amg_mpi_bulk_select(domain, how);
    if (comm.lock != NULL)
        domain->lock = comm.lock;
    domain->calls.lock = domain->lock;
    amg_mpi_comm_unlock(&comm);
    if (rc != HG_SUCCESS) {
        /* The domain is not freed: MPI may still use its memory. */
        amg_mpi_place_leave(comm.place);
        amg_mpi_comm_close(&comm, false);
        return rc;
    }
    amg_lock_lock(&domains_lock);
    amg_list_push(&domains, &domain->all);
    amg_lock_unlock(&domains_lock);
    *ret_domain = &domain->base;
    return HG_SUCCESS;
}

static void transport_limits(
    const struct amg_domain *base, struct amg_limits *ret_limits)
{
    const struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    uint32_t body_len =
        domain->message_len - (uint32_t)sizeof(struct amg_mpi_header);

    *ret_limits = (struct amg_limits){.request_len = body_len,
        .reply_len = body_len,
        .credits = domain->calls.flow.limit,
        .is_spinning = true,
        .must_yield = domain->comm.must_yield,
        .reaches_self = domain->is_listening,
        .is_user_bound = domain->comm.thread_level != MPI_THREAD_MULTIPLE};
}

/* Number of messages to a rank in a list. */
static size_t msgbufs_count(const struct amg_list *list, uint32_t rank)
{
    struct amg_link *link = amg_list_first(list);
    size_t count = 0;

    for (; link != NULL; link = amg_list_next(list, link))
        count += amg_mpi_msgbuf_of_link(link)->rank == (int)rank;
    return count;
}

static void peer_write_state_locked(const struct amg_mpi_domain *domain,
    const struct amg_mpi_peer *peer, struct amg_state *state)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(domain->peers.all[peer->rank] == peer);
    amg_state_begin_peer_locked(
        state, &domain->calls, &peer->calls, peer->rank);
    amg_state_add(state, "its calls not answered or released", peer->open);
    amg_state_add(state, "its long requests announced", peer->long_requests);
    amg_state_add(state, "its long answers announced", peer->long_replies);
    amg_state_add(
        state, "messages kept for further calls", peer->pack.kept != NULL);
    amg_state_add(state, "messages to it that MPI has",
        msgbufs_count(&domain->sends.in_flight, peer->rank));
    amg_state_add(state, "announced messages to it that MPI has not taken",
        msgbufs_count(&domain->longs.unsent, peer->rank));
    amg_state_add(state, "transfers",
        amg_calls_waiting(&domain->transfers.all, peer->rank));
    amg_state_print(state, ", places for transfers taken %u of %d",
        (unsigned)peer->bulk.unanswered, (int)AMG_MPI_TRANSFERS);
    amg_state_end(state);
}

static void ep_write_state_locked(
    const struct amg_mpi_ep *ep, struct amg_state *state)
{
    AMG_ASSERT_HELD_BIAS(amg_mpi_domain_of_ep(ep)->lock);
    amg_state_add_list(state, "ended operations waiting for a poll", &ep->done);
    amg_state_add_list(state, "requests waiting for a poll", &ep->arrived);
    amg_state_add_list(
        state, "long requests, and those behind them", &ep->behind);
    amg_state_add_list(state,
        "announced requests waiting for room (AMALGAM_MAX_PENDING_BYTES)",
        &ep->longs);
}

/* Number of msgbufs that are neither free nor posted to receive. */
static size_t msgbufs_taken_locked(const struct amg_mpi_domain *domain)
{
    size_t home = domain->msgbufs.long_count;
    const struct amg_link *link = domain->msgbufs.free;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (; link != NULL; link = link->next)
        home++;
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        home += domain->eps[i] == NULL ? 0 : domain->eps[i]->posted;
    home += atomic_load_explicit(&domain->msgbufs.hot, memory_order_relaxed) !=
            NULL;
    AMG_ASSERT(home <= domain->msgbufs.count);
    return domain->msgbufs.count - home;
}

/* Makes no MPI call. Leaves out peers of a dead domain, which sends nothing. */
static void transport_write_state(
    struct amg_domain *base, struct amg_state *state)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    const struct amg_mpi_peer *peer = NULL;

    amg_bias_lock(domain->lock);
    AMG_ASSERT(amg_list_len(&domain->sends.in_flight) == domain->sends.count);
    peer = domain->is_dead ? NULL : domain->peers.met;
    for (; peer != NULL; peer = peer->next)
        peer_write_state_locked(domain, peer, state);
    amg_state_begin(state, "mpi");
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            ep_write_state_locked(domain->eps[i], state);
    amg_state_add_list(state, "late answers", &domain->calls.late);
    amg_state_add_list(
        state, "long messages being received", &domain->longs.coming);
    amg_state_add_list(
        state, "announced messages waiting for memory", &domain->longs.waiting);
    amg_state_add_list(state, "messages waiting for a thread that may call MPI",
        &domain->sends.deferred);
    amg_state_add_list(state, "accesses of ranks", &domain->accesses.all);
    amg_state_add_list(state, "messages about accesses that wait for memory",
        &domain->accesses.stalled);
    if (domain->rma != NULL) {
        amg_state_add_list(state,
            "accesses through windows being made, checked or left",
            &domain->rma->pending);
        amg_state_add_list(state, "exposed memories being closed",
            &domain->rma->exports.leaving);
    }
    amg_state_add(
        state, "message buffers in use", msgbufs_taken_locked(domain));
    amg_state_end(state);
    amg_bias_unlock(domain->lock);
}

static bool transport_look(struct amg_domain *base, const struct amg_op *op,
    struct amg_whereabouts *ret_where)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    const struct amg_table *all = &domain->transfers.all;
    struct amg_flow_peer *flow = NULL;
    struct amg_mpi_peer *peer = NULL;
    enum amg_stage stage = AMG_STAGE_NONE;
    uint32_t rank = 0;

    amg_bias_lock(domain->lock);
    stage = amg_calls_stage_locked(&domain->calls, op, &flow, &rank);
    for (uint32_t i = 0; i < all->cap && stage == AMG_STAGE_NONE; i++) {
        const struct amg_mpi_transfer *transfer = all->slots[i].object;

        if (transfer == NULL || transfer->op != op)
            continue;
        stage = AMG_STAGE_MOVES;
        rank = (uint32_t)transfer->rank;
    }
    if (stage != AMG_STAGE_NONE) {
        peer = flow != NULL ? amg_container_of(flow, struct amg_mpi_peer, calls)
                            : domain->peers.all[rank];
        amg_calls_where_locked(&domain->calls, &peer->calls, stage, ret_where);
        ret_where->rank = peer->rank;
    }
    amg_bias_unlock(domain->lock);
    return stage != AMG_STAGE_NONE;
}

static bool transport_is_clear(struct amg_ep *ep)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(ep->domain);
    const struct amg_mpi_peer *peer = NULL;

    amg_bias_lock(domain->lock);
    peer = domain->peers.met;
    while (peer != NULL && peer->calls.unanswered == 0)
        peer = peer->next;
    amg_bias_unlock(domain->lock);
    return peer == NULL;
}

static void transport_close(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (!domain->is_dead && amg_mpi_comm_is_over()) {
        AMG_LOG_WARNING("mpi", "MPI was finalised before the class was closed; "
                               "MPI objects of the class are not freed");
        return;
    }
    if (!amg_mpi_comm_may_call(&domain->comm) && !domain->is_dead) {
        AMG_LOG_ERROR("mpi", "this thread may not call MPI: the class stays "
                             "open until MPI_Finalize");
        return;
    }
    amg_lock_lock(&domains_lock);
    amg_list_remove(&domain->all);
    amg_lock_unlock(&domains_lock);
    amg_mpi_close_domain(domain, true);
    amg_mpi_place_leave(domain->comm.place);
    domain_free(domain);
}

static hg_return_t ep_open(
    struct amg_domain *base, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_ep *ep = NULL;

    if (!AMG_CONTRACT_OF("HG_Context_create_id",
            context_id < domain->max_contexts,
            "id is %u, but the class was opened for ids below %u; set "
            "max_contexts",
            (unsigned)context_id, (unsigned)domain->max_contexts))
        return HG_INVALID_ARG;
    ep = amg_mem_zalloc(sizeof(*ep));
    if (ep == NULL)
        return HG_NOMEM;
    ep->base.transport = base->transport;
    ep->base.domain = base;
    ep->base.context_id = context_id;
    ep->base.kept = &domain->packer.kept_count;
    ep->base.held = &domain->longs.held[context_id];
    amg_list_init(&ep->done);
    amg_list_init(&ep->arrived);
    amg_list_init(&ep->behind);
    amg_list_init(&ep->longs);
    amg_bias_lock(domain->lock);
    if (domain->eps[context_id] != NULL || domain->is_dead) {
        amg_bias_unlock(domain->lock);
        amg_mem_free(ep);
        return domain->is_dead ? HG_NA_ERROR : HG_INVALID_ARG;
    }
    domain->eps[context_id] = ep;
    if (amg_mpi_comm_may_call(&domain->comm))
        amg_mpi_receive_fill_locked(ep);
    amg_bias_unlock(domain->lock);
    *ret_ep = &ep->base;
    return HG_SUCCESS;
}

/* MPI has no descriptor to wait on. */
static int ep_wait_fd(const struct amg_ep *ep)
{
    (void)ep;
    return -1;
}

/* False: a message that was kept since the last poll, by the post of another
 * thread, must leave before this thread sleeps. */
static bool ep_arm(struct amg_ep *ep)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(ep->domain);
    bool is_kept = false;

    amg_bias_lock(domain->lock);
    is_kept = !amg_packer_is_empty(&domain->packer) && amg_mpi_may_call(domain);
    amg_bias_unlock(domain->lock);
    return !is_kept;
}

/* amg_limits.must_yield tells of oversubscription instead. */
static bool ep_is_oversubscribed(struct amg_ep *ep)
{
    (void)ep;
    return false;
}

static hg_return_t ep_cancel(struct amg_ep *base, struct amg_op *op)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base->domain);

    amg_bias_lock(domain->lock);
    if (op->priv[AMG_CALL_PRIV_STATE] == AMG_MPI_OP_TRANSFER)
        amg_mpi_transfer_cancel_locked(domain, op);
    else
        amg_calls_cancel_locked(&domain->calls, op);
    amg_bias_unlock(domain->lock);
    return HG_SUCCESS;
}

static void transport_stop(struct amg_domain *domain)
{
    (void)domain; /* MPI_Finalize stops the domains */
}

const struct amg_transport amg_mpi_transport = {
    .name = "mpi",
    .schemes = "mpi+p2p mpi+rma mpi mpi+static auto",
    .domain =
        {
            .open = transport_open,
            .limits = transport_limits,
            .quiesce = amg_mpi_close_quiesce,
            .report = amg_mpi_close_report,
            .abandon = amg_mpi_close_abandon,
            .stop = transport_stop,
            .write_state = transport_write_state,
            .look = transport_look,
            .lost = amg_mpi_progress_lost,
            .close = transport_close,
        },
    .ep =
        {
            .open = ep_open,
            .close = amg_mpi_close_ep,
            .wait_fd = ep_wait_fd,
            .arm = ep_arm,
            .is_oversubscribed = ep_is_oversubscribed,
            .poll = amg_mpi_poll,
            .cancel = ep_cancel,
            .is_clear = transport_is_clear,
        },
    .addr =
        {
            .self = amg_mpi_addr_self,
            .ref = amg_mpi_addr_ref,
            .unref = amg_mpi_addr_unref,
            .is_self = amg_mpi_addr_is_self,
            .is_same = amg_mpi_addr_is_same,
            .format = amg_mpi_addr_format,
            .parse = amg_mpi_addr_parse,
        },
    .msg =
        {
            .get_buf = amg_mpi_msg_get_buf,
            .get_long_buf = amg_mpi_long_get_buf,
            .put_buf = amg_mpi_msg_put_buf,
            .send_request = amg_mpi_msg_send_request,
            .send_reply = amg_mpi_msg_send_reply,
            .request_now = amg_request_by_buf,
            .send_ack = amg_mpi_msg_send_ack,
            .reply_now = amg_reply_by_buf,
            .release = amg_mpi_msg_release,
            .release_reply = amg_mpi_msg_release_reply,
        },
    .bulk =
        {
            .reg = amg_mpi_mem_reg,
            .unreg = amg_mpi_close_unreg,
            .key = amg_mpi_mem_key,
            .put = amg_mpi_transfer_put,
            .get = amg_mpi_transfer_get,
        },
};
