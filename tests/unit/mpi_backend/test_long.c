/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages whose sender does not keep to the protocol: what is announced
 * twice, without a call, or never comes. The other rank drops what is wrong,
 * ends each call once, and goes on. Rank 1 is the faulty one. At the end rank 0
 * keeps the communicator on which late data may come: MPI could give another
 * one its number. */
#include <string.h>

#include "base/clock.h"
#include "pair.h"

enum { LEN = 40000, CREDITS = 4 };

static struct amg_arrival *held; /* at rank 1: the request */
static unsigned marks;           /* at rank 0: those that came */
static unsigned freed;           /* communicators */

int MPI_Comm_free(MPI_Comm *comm)
{
    freed++;
    return PMPI_Comm_free(comm);
}

/* Rank 1 keeps the request, and rank 0 gets marks. */
static void serve(struct amg_arrival *arrival)
{
    CHECK(arrival->is_one_way == (pair_rank == 0));
    if (arrival->is_one_way) {
        marks++;
        pair_t->msg.release(pair_ep, arrival);
    } else {
        CHECK(held == NULL);
        held = arrival;
    }
}

static void poll_once(void)
{
    pair_poll_with(16, serve);
}

/* Waits until `expr` holds, without answers. */
#define WAIT(expr)                                                             \
    for (uint64_t end_ns = pair_deadline_ns(); !(expr); poll_once())           \
    CHECK(amg_clock_ns() < end_ns)

/* Rank 0 has taken what rank 1 has sent so far, but for long data. */
static void sync_all(void)
{
    MPI_Request request;
    struct amg_buf *buf = NULL;
    int flag = 0;

    if (pair_rank == 1) {
        CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(0), &buf) == HG_SUCCESS);
        CHECK(pair_t->msg.send_request(pair_ep,
                  (struct amg_target){pair_peer(0), 0}, buf, 0, false,
                  NULL) == HG_SUCCESS);
    } else {
        WAIT(marks > 0);
        marks--;
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        poll_once();
    }
}

static void wait_sent(MPI_Request *request)
{
    int flag = 0;

    while (!flag) {
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        poll_once();
    }
}

/* Rank 1 announces a message of a kind that answers call `cookie`. */
static void announce(unsigned kind, uint32_t cookie, uint32_t len)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct {
        struct amg_mpi_header header;
        struct amg_mpi_long body;
    } message = {{AMG_MPI_MAGIC | AMG_MPI_LONG, 0, 0, cookie},
        {.len = (uint32_t)sizeof(struct amg_mpi_header) + len,
            .kind = (uint8_t)kind}};
    MPI_Request request;

    MPI_Isend(&message, (int)sizeof(message), MPI_BYTE, 0,
        amg_mpi_tag(domain, 0), domain->comm.messages, &request);
    wait_sent(&request);
}

/* Rank 1 sends what it has announced as a reply. */
static void data_send(unsigned kind, uint32_t cookie, uint32_t len)
{
    static struct {
        struct amg_mpi_header header;
        uint8_t body[LEN + 8];
    } message;
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    MPI_Request request;

    message.header =
        (struct amg_mpi_header){(uint8_t)(AMG_MPI_MAGIC | kind), 0, 0, cookie};
    memset(message.body, 'd', sizeof(message.body));
    MPI_Isend(&message, (int)(sizeof(message.header) + len), MPI_BYTE, 0,
        2 * domain->transfers.tags_half + AMG_MPI_CONTEXTS, domain->comm.data,
        &request);
    wait_sent(&request);
}

static void call_step(struct amg_op *op)
{
    amg_container_of(op, struct pair_call, op)->done++;
}

/* Rank 0 calls rank 1, which keeps the request. Returns the cookie of the call
 * at rank 1. */
static uint32_t call_begin(struct pair_call *call)
{
    uint32_t cookie = 0;

    if (pair_rank == 0) {
        struct amg_buf *buf = NULL;

        memset(call, 0, sizeof(*call));
        call->op.step = call_step;
        CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1), &buf) == HG_SUCCESS);
        CHECK(pair_t->msg.send_request(pair_ep,
                  (struct amg_target){pair_peer(1), 0}, buf, 0, true,
                  &call->op) == HG_SUCCESS);
    } else {
        WAIT(held != NULL);
        cookie = (uint32_t)held->token;
    }
    sync_all();
    return cookie;
}

/* Rank 1 answers it in the right way, too, so that its credit returns; rank 0
 * drops that answer if it has another one. First, all have checked. */
static void request_end(void)
{
    struct amg_buf *buf = NULL;

    sync_all();
    if (pair_rank != 1)
        return;
    CHECK(pair_t->msg.get_buf(pair_ep, held->from, &buf) == HG_SUCCESS);
    CHECK(pair_t->msg.send_reply(pair_ep, held, buf, 0, NULL) == HG_SUCCESS);
    pair_t->msg.release(pair_ep, held);
    held = NULL;
}

/* Good calls still work, both ways. Around them nobody polls for a moment: a
 * rank answers requests here, and keeps them elsewhere. */
static void good_calls(void)
{
    pair_sync(true);
    for (uint32_t i = 0; i < 2 * CREDITS; i++)
        pair_ask(1 - pair_rank, i);
    pair_sync(false);
    pair_sync(true);
}

/* The call is still there, and ends by the right answer. */
static void call_end(struct pair_call *call)
{
    request_end();
    sync_all();
    if (pair_rank == 0) {
        WAIT(call->done == 1);
        CHECK(call->op.ret == HG_SUCCESS && call->op.len == 0);
        pair_t->msg.release_reply(pair_ep, &call->op);
    }
    good_calls();
}

static uint64_t coming_count(void)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    const struct amg_list *coming = &domain->longs.coming;
    uint64_t count = 0;

    for (struct amg_link *link = amg_list_first(coming); link != NULL;
         link = amg_list_next(coming, link))
        count++;
    return count;
}

/* The second announcement of one reply is refused; the call ends by the
 * first. */
static void test_reply_twice(void)
{
    struct pair_call call;
    uint32_t cookie = call_begin(&call);

    if (pair_rank == 1) {
        announce(AMG_MPI_REPLY, cookie, LEN);
        announce(AMG_MPI_REPLY, cookie, LEN);
    }
    sync_all();
    if (pair_rank == 0) {
        CHECK(coming_count() == 1);
        CHECK(call.done == 0);
    }
    if (pair_rank == 1)
        data_send(AMG_MPI_REPLY, cookie, LEN);
    sync_all();
    if (pair_rank == 0) {
        WAIT(call.done == 1);
        CHECK(call.op.ret == HG_SUCCESS && call.op.len == LEN);
        CHECK(((const uint8_t *)call.op.data)[0] == 'd' &&
              ((const uint8_t *)call.op.data)[LEN - 1] == 'd');
        pair_t->msg.release_reply(pair_ep, &call.op);
        CHECK(coming_count() == 0);
    }
    request_end();
    sync_all();
    CHECK(pair_rank == 1 || call.done == 1);
    good_calls();
}

/* What answers no call, is too long, or of no such kind is not received. */
static void test_wrong_announcements(void)
{
    struct pair_call call;
    uint32_t cookie = call_begin(&call);

    if (pair_rank == 1) {
        announce(AMG_MPI_REPLY, cookie + 1000, LEN);
        announce(AMG_MPI_REPLY, cookie, AMG_MPI_LONG_CAP + 1);
        announce(AMG_MPI_REPLY, cookie, 1);
        announce(AMG_MPI_CREDIT, cookie, LEN);
        announce(UINT8_MAX, cookie, LEN);
    }
    sync_all();
    CHECK(coming_count() == 0);
    call_end(&call);
}

/* The bytes are another message than the announced one: they are dropped, and
 * the call ends by a right answer. */
static void test_other_data(void)
{
    struct pair_call call;
    uint32_t cookie = call_begin(&call);

    for (uint32_t len = LEN - 8; len <= LEN + 8; len += 16) {
        if (pair_rank == 1) {
            announce(AMG_MPI_REPLY, cookie, LEN);
            data_send(AMG_MPI_REPLY, cookie, len);
        }
        sync_all();
        WAIT(coming_count() == 0);
        sync_all(); /* the next one would be refused beside it, and never
                     * received */
    }
    if (pair_rank == 1) {
        announce(AMG_MPI_REPLY, cookie, LEN);
        data_send(AMG_MPI_ONEWAY, cookie, LEN);
    }
    sync_all();
    WAIT(coming_count() == 0);
    CHECK(pair_rank == 1 || call.done == 0);
    call_end(&call);
}

/* The bytes of a reply never come: a cancelled call ends, and the domain closes
 * without them. */
static void test_data_never_comes(void)
{
    struct pair_call call;
    uint32_t cookie = call_begin(&call);

    if (pair_rank == 1)
        announce(AMG_MPI_REPLY, cookie, LEN);
    sync_all();
    if (pair_rank == 0) {
        WAIT(coming_count() == 1);
        CHECK(call.done == 0);
        pair_t->ep.cancel(pair_ep, &call.op);
        WAIT(call.done == 1);
        CHECK(call.op.ret == HG_CANCELED);
        CHECK(coming_count() == 1);
    }
    request_end();
    sync_all();
    CHECK(pair_rank == 1 || call.done == 1);
}

/* A peer announces more requests than it has credits. Their bytes never come,
 * so that later requests of the peer to this context stay behind them, and the
 * domain closes without them. */
static void test_requests_beyond_credits(void)
{
    const struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    unsigned heard = domain->liveness.heard;

    sync_all(); /* rank 0 has read `heard` before rank 1 announces */
    if (pair_rank == 1)
        for (uint8_t i = 0; i < 2 * CREDITS; i++)
            announce(AMG_MPI_ONEWAY, 0, LEN);
    WAIT(pair_rank == 1 || domain->liveness.heard - heard >= 2 * CREDITS);
    CHECK(pair_rank == 1 || coming_count() <= CREDITS + 1);
    CHECK(pair_rank == 1 || coming_count() > 1);
    pair_sync(false);
}

int main(void)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_open(CREDITS);
    test_reply_twice();
    test_wrong_announcements();
    test_other_data();
    test_data_never_comes();
    test_requests_beyond_credits();
    pair_sync(false);
    freed = 0;
    pair_close();
    CHECK(freed == (pair_rank == 0 ? 1 : 2));
    MPI_Finalize();
    return EXIT_SUCCESS;
}
