/* SPDX-License-Identifier: BSD-3-Clause */
/* Common part of the driver's tests with several ranks: a domain and an
 * endpoint. */
#include "pair.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "mpi_backend/mpi_rma.h"
#include "slow.h"

/* Before the limit of the test, and long enough for a crowded machine. */
enum { DEADLINE_MS = 50000 * TEST_SLOW, POLL_MAX = 16 };

const struct amg_transport *const pair_t = &amg_mpi_transport;
const char *pair_protocol;
uint8_t pair_contexts = 1;
struct amg_domain *pair_domain;
struct amg_ep *pair_ep;
int pair_rank;
int pair_size;
atomic_int *pair_turns;

void pair_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "rank %d: %s:%d: %s\n", pair_rank, file, line, what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    exit(EXIT_FAILURE);
}

uint64_t pair_deadline_ns(void)
{
    return amg_clock_deadline_ns(DEADLINE_MS);
}

void pair_turn(uint64_t end_ns, const char *file, int line, const char *what)
{
    if (amg_clock_ns() >= end_ns)
        pair_fail(file, line, what);
    pair_poll();
    sched_yield();
}

void pair_open(uint32_t credits)
{
    const struct amg_open how = {.info = "",
        .protocol = pair_protocol,
        .is_listening = true,
        .credits = credits,
        .max_contexts = pair_contexts};

    CHECK(pair_t->domain.open(&how, &pair_domain) == HG_SUCCESS);
    CHECK(pair_t->ep.open(pair_domain, 0, &pair_ep) == HG_SUCCESS);
    pair_rank =
        amg_mpi_rank_of_peer(pair_domain, pair_t->addr.self(pair_domain));
    pair_size = amg_mpi_size(pair_domain);
}

void pair_close(void)
{
    struct amg_events events;

    UNTIL(pair_t->domain.quiesce(pair_domain) == HG_SUCCESS);
    amg_events_init(&events);
    pair_t->ep.close(pair_ep, &events);
    CHECK(amg_list_is_empty(&events.done));
    pair_t->domain.close(pair_domain);
}

static void answer(struct amg_arrival *arrival)
{
    struct amg_buf *buf = NULL;

    if (!arrival->is_one_way) {
        CHECK(pair_t->msg.get_buf(pair_ep, arrival->from, &buf) == HG_SUCCESS);
        memcpy(buf->data, arrival->data, arrival->len);
        CHECK(pair_t->msg.send_reply(
                  pair_ep, arrival, buf, arrival->len, NULL) == HG_SUCCESS);
    }
    pair_t->msg.release(pair_ep, arrival);
}

void pair_poll_with(unsigned max, void (*serve)(struct amg_arrival *))
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)pair_t->ep.poll(pair_ep, max, &events);
    while ((link = amg_list_pop(&events.done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        if (arrival->is_late)
            pair_t->msg.release(pair_ep, arrival);
        else
            serve(arrival);
    }
}

void pair_poll(void)
{
    pair_poll_with(POLL_MAX, answer);
}

void pair_sync(bool is_silent)
{
    MPI_Request request;
    int flag = 0;
    uint64_t end_ns = pair_deadline_ns();

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(amg_clock_ns() < end_ns);
        if (!is_silent)
            pair_poll();
        sched_yield();
    }
}

static MPI_Win turns_window = MPI_WIN_NULL;

void pair_turns_make(void)
{
    MPI_Aint len = 0;
    void *at = NULL;
    int unit = 0;

    MPI_Win_allocate_shared(pair_rank == 0 ? sizeof(*pair_turns) : 0, 1,
        MPI_INFO_NULL, MPI_COMM_WORLD, &at, &turns_window);
    MPI_Win_shared_query(turns_window, 0, &len, &unit, &at);
    pair_turns = at;
    if (pair_rank == 0)
        atomic_init(pair_turns, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

void pair_turns_free(void)
{
    MPI_Win_free(&turns_window);
}

struct amg_mpi_rma_peer *pair_rma_peer(void)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct amg_mpi_rma_peer *peer = NULL;

    amg_bias_lock(domain->lock);
    peer = amg_mpi_rma_peer_locked(domain, 0);
    amg_bias_unlock(domain->lock);
    return peer;
}

struct amg_peer *pair_peer(int rank)
{
    struct amg_peer *peer = NULL;

    CHECK(amg_mpi_peer_of_rank(pair_domain, rank, &peer) == HG_SUCCESS);
    return peer;
}

static void call_step(struct amg_op *op)
{
    amg_container_of(op, struct pair_call, op)->done++;
}

void pair_call_init(struct pair_call *call)
{
    memset(call, 0, sizeof(*call));
    call->op.step = call_step;
}

void pair_ask(int rank, uint32_t number)
{
    struct pair_call call;
    struct amg_buf *buf = NULL;

    pair_call_init(&call);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(rank), &buf) == HG_SUCCESS);
    memcpy(buf->data, &number, sizeof(number));
    CHECK(pair_t->msg.send_request(pair_ep,
              (struct amg_target){pair_peer(rank), 0}, buf, sizeof(number),
              true, &call.op) == HG_SUCCESS);
    UNTIL(call.done == 1);
    CHECK(call.op.ret == HG_SUCCESS && call.op.len == sizeof(number));
    CHECK(memcmp(call.op.data, &number, sizeof(number)) == 0);
    pair_t->msg.release_reply(pair_ep, &call.op);
}

void pair_key(struct amg_key *key, int from)
{
    MPI_Bcast(key, (int)sizeof(*key), MPI_BYTE, from, MPI_COMM_WORLD);
}

struct amg_mem *pair_expose(
    struct amg_segment *list, uint8_t flags, struct amg_remote *remote)
{
    struct amg_mem *mem = NULL;

    if (pair_rank == 0) {
        CHECK(
            pair_t->bulk.reg(pair_domain, list, 1, flags, &mem) == HG_SUCCESS);
        pair_t->bulk.key(mem, &remote->key);
    }
    MPI_Bcast(list, sizeof(*list), MPI_BYTE, 0, MPI_COMM_WORLD);
    remote->at = (struct amg_seg_iter){list, 1, 0, 0};
    pair_key(&remote->key, 0);
    return mem;
}
