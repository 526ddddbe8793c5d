/* SPDX-License-Identifier: BSD-3-Clause */
/* Many calls in one message: a burst takes two messages each way and stays in
 * order; single calls of it are cancelled, held, or lost with their message;
 * malformed messages are dropped, and requests beyond the credits refused. Rank
 * 1 packs as the environment says: the two need not agree. */
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "mpi_backend/mpi_peer.h"
#include "pair.h"

enum { BURST = 20, CREDITS = 32, BODY_LEN = 24, HELD = 3 };

static struct amg_mpi_domain *domain;
static unsigned isends;
static bool fails;
static bool is_packing; /* this rank */
static bool both_pack;
static unsigned forms;  /* log lines about malformed messages */
static unsigned limits; /* and about too many requests */
static unsigned others;
static uint32_t next_number; /* of the next request */
static bool is_raw;          /* requests have no numbers */
static unsigned raw_count;
static bool holds; /* keeps some arrivals until the end */
static struct amg_arrival *held[HELD];
static unsigned held_count;

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    isends++;
    if (fails)
        return MPI_ERR_OTHER;
    return PMPI_Isend(buf, count, type, rank, tag, comm, request);
}

static int log_read(FILE *stream, const char *format, ...)
{
    char text[4096];
    va_list args;

    (void)stream;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (strstr(text, "unknown form or wrong length") != NULL)
        forms++;
    else if (strstr(text, "more requests came than it has credits") != NULL)
        limits++;
    else
        others++;
    return 0;
}

static void post(struct pair_call *call, uint32_t number, bool wants_reply)
{
    struct amg_buf *buf = NULL;

    pair_call_init(call);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1 - pair_rank), &buf) ==
          HG_SUCCESS);
    memset(buf->data, 0, BODY_LEN);
    memcpy(buf->data, &number, sizeof(number));
    CHECK(pair_t->msg.send_request(pair_ep,
              (struct amg_target){pair_peer(1 - pair_rank), 0}, buf,
              BODY_LEN - number % 8, wants_reply, &call->op) == HG_SUCCESS);
}

/* Checks the order, and answers or releases, some later. */
static void serve(struct amg_arrival *arrival)
{
    struct amg_buf *buf = NULL;
    uint32_t number = next_number++;

    if (is_raw) {
        raw_count++;
        pair_t->msg.release(pair_ep, arrival);
        return;
    }
    CHECK(memcmp(arrival->data, &number, sizeof(number)) == 0);
    CHECK(arrival->len == BODY_LEN - number % 8);
    if (!arrival->is_one_way) {
        CHECK(pair_t->msg.get_buf(pair_ep, arrival->from, &buf) == HG_SUCCESS);
        memcpy(buf->data, arrival->data, arrival->len);
        CHECK(pair_t->msg.send_reply(
                  pair_ep, arrival, buf, arrival->len, NULL) == HG_SUCCESS);
    }
    if (holds && number % 7 == 5 && held_count < HELD)
        held[held_count++] = arrival;
    else
        pair_t->msg.release(pair_ep, arrival);
}

static void poll_once(void)
{
    pair_poll_with(4 * BURST, serve);
}

/* Polls until both ranks are here. The next request is number `first`. */
static void meet(uint32_t first)
{
    MPI_Request request;
    int flag = 0;
    uint64_t end_ns = pair_deadline_ns();

    next_number = first; /* the other rank may be through before this one */
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(amg_clock_ns() < end_ns);
        poll_once();
    }
}

#define SOON(expr)                                                             \
    for (uint64_t soon_ns = pair_deadline_ns(); !(expr); poll_once())          \
    CHECK(amg_clock_ns() < soon_ns)

static void calls_check(
    struct pair_call *calls, uint32_t first, bool wants_reply)
{
    for (uint32_t i = 0; i < BURST; i++) {
        struct pair_call *call = &calls[i];
        uint32_t number = first + i;

        SOON(call->done == 1);
        if (call->op.ret == HG_CANCELED)
            continue;
        CHECK(call->op.ret == HG_SUCCESS);
        if (!wants_reply)
            continue;
        CHECK(call->op.len == BODY_LEN - number % 8);
        CHECK(memcmp(call->op.data, &number, sizeof(number)) == 0);
    }
    /* In another order than they came. */
    for (uint32_t i = BURST; i-- > 0;)
        pair_t->msg.release_reply(pair_ep, &calls[i].op);
}

/* The first call leaves at once, the others with the next poll; so do the
 * replies, of which the target sends the first from the first message alone. */
static void burst_takes_few_messages(bool is_caller, bool wants_reply)
{
    static struct pair_call calls[BURST];
    unsigned before = 0;

    meet(0);
    before = isends;
    if (is_caller) {
        for (uint32_t i = 0; i < BURST; i++)
            post(&calls[i], i, wants_reply);
        CHECK(isends - before == (is_packing ? 1 : BURST));
        poll_once();
        CHECK(isends - before == (is_packing ? 2 : BURST));
        calls_check(calls, 0, wants_reply);
    } else {
        SOON(next_number == BURST);
    }
    meet(0);
    if (!is_caller && wants_reply && both_pack)
        CHECK(isends - before < BURST / 2);
}

/* Arrivals that are held keep their bytes while all others come and go. */
static void held_arrivals_keep_their_bytes(bool is_caller)
{
    static struct pair_call calls[BURST];

    holds = true;
    for (uint32_t round = 0; round < 3; round++) {
        meet(round * BURST);
        for (uint32_t i = 0; is_caller && i < BURST; i++)
            post(&calls[i], round * BURST + i, true);
        if (is_caller) {
            calls_check(calls, round * BURST, true);
            continue;
        }
        SOON(next_number == (round + 1) * BURST);
    }
    meet(0);
    holds = false;
    for (unsigned i = 0; i < held_count; i++) {
        uint32_t number = 0;

        memcpy(&number, held[i]->data, sizeof(number));
        CHECK(number == 7 * i + 5);
        pair_t->msg.release(pair_ep, held[i]);
    }
    held_count = 0;
}

/* Before it left and after; all the others are answered. */
static void single_calls_are_cancelled(bool is_caller)
{
    static struct pair_call calls[BURST];

    meet(0);
    if (is_caller) {
        for (uint32_t i = 0; i < BURST; i++)
            post(&calls[i], i, true);
        for (uint32_t i = 0; i < BURST; i++) {
            if (i == BURST / 2)
                poll_once();
            if (i % 3 == 1 && calls[i].done == 0)
                CHECK(pair_t->ep.cancel(pair_ep, &calls[i].op) == HG_SUCCESS);
        }
        calls_check(calls, 0, true);
        CHECK(calls[1].op.ret == HG_CANCELED);
        CHECK(calls[4].op.ret == HG_CANCELED);
        CHECK(calls[0].op.ret == HG_SUCCESS);
        CHECK(calls[3].op.ret == HG_SUCCESS);
        /* The late replies return the credits. */
        SOON(domain->peers.all[1 - pair_rank]->calls.unanswered == 0);
    } else {
        SOON(next_number == BURST);
    }
    meet(0);
}

/* MPI refuses the first message, and the one with all others. */
static void calls_end_with_their_message(bool is_caller)
{
    static struct pair_call calls[BURST];

    meet(0);
    if (is_caller) {
        fails = true;
        for (uint32_t i = 0; i < BURST; i++)
            post(&calls[i], i, i % 4 != 3);
        poll_once();
        fails = false;
        for (uint32_t i = 0; i < BURST; i++) {
            SOON(calls[i].done == 1);
            CHECK(calls[i].op.ret == HG_NA_ERROR ||
                  (is_packing && i % 4 == 3 && calls[i].op.ret == HG_SUCCESS));
        }
        CHECK(domain->peers.all[1 - pair_rank]->calls.unanswered == 0);
        CHECK(domain->oneways == 0);
        CHECK(others == 1); /* with MPI's text */
    }
    meet(0);
    CHECK(amg_packer_is_empty(&domain->packer));
}

/* Of rank 1, by hand. */
struct raw {
    struct amg_mpi_header header;
    uint64_t words[500];
};

static void raw_send(const struct raw *raw, size_t body_len)
{
    MPI_Request request;
    int flag = 0;

    PMPI_Isend(raw, (int)(sizeof(raw->header) + body_len), MPI_BYTE, 0,
        amg_mpi_tag(domain, 0), domain->comm.messages, &request);
    for (uint64_t end_ns = pair_deadline_ns(); !flag;) {
        CHECK(amg_clock_ns() < end_ns);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        poll_once();
    }
}

/* A message with `count` calls without bytes but the number. */
static size_t raw_make(struct raw *raw, unsigned kind, uint32_t count)
{
    memset(raw, 0, sizeof(*raw));
    raw->header =
        (struct amg_mpi_header){AMG_MPI_MAGIC | AMG_MPI_PACK, 0, 0, count};
    for (uint32_t i = 0; i < count; i++) {
        const struct amg_pack_head head = {
            .kind = (uint8_t)(AMG_MPI_MAGIC | kind),
            .len = 8,
            .cookie = UINT32_MAX};

        memcpy(&raw->words[2 * (size_t)i], &head, sizeof(head));
    }
    return 16 * (size_t)count;
}

static void malformed_are_dropped(void)
{
    struct raw raw;
    size_t len = 0;

    meet(0);
    if (pair_rank == 1) {
        len = raw_make(&raw, AMG_MPI_REQUEST, 3);
        for (size_t i = 0; i < len; i += 5)
            raw_send(&raw, i);
        for (uint32_t count = 0; count < 9; count += count == 2 ? 2 : 1) {
            raw.header.cookie = count;
            raw_send(&raw, len);
        }
        raw.header.cookie = UINT32_MAX;
        raw_send(&raw, len);
        len = raw_make(&raw, AMG_MPI_PACK, 3); /* no packs in packs, */
        raw_send(&raw, len);
        len = raw_make(&raw, AMG_MPI_DISCONNECT, 1); /* no other kinds, */
        raw_send(&raw, len);
        len = raw_make(&raw, AMG_MPI_REFUSE, 2); /* and no wrong lengths */
        raw_send(&raw, len);
    }
    meet(0);
    CHECK(forms == (pair_rank == 0 ? 1 : 0)); /* logged once */
}

static void requests_beyond_credits_are_refused(void)
{
    struct raw raw;

    is_raw = true;
    meet(0);
    if (pair_rank == 1)
        raw_send(&raw, raw_make(&raw, AMG_MPI_ONEWAY, CREDITS));
    meet(0);
    CHECK(limits == 0);
    CHECK(raw_count == (pair_rank == 0 ? CREDITS : 0));
    meet(0); /* before the second one is sent */
    if (pair_rank == 1)
        raw_send(&raw, raw_make(&raw, AMG_MPI_ONEWAY, 2 * CREDITS));
    meet(0);
    CHECK(limits == (pair_rank == 0 ? 1 : 0));
    CHECK(raw_count == (pair_rank == 0 ? 2 * CREDITS : 0));
    CHECK(domain->peers.all[1 - pair_rank]->open == 0);
}

static void test_all(void)
{
    for (int caller = 0; caller < 2; caller++) {
        bool is_caller = pair_rank == caller;

        burst_takes_few_messages(is_caller, true);
        burst_takes_few_messages(is_caller, false);
        held_arrivals_keep_their_bytes(is_caller);
        single_calls_are_cancelled(is_caller);
        others = 0;
        calls_end_with_their_message(is_caller);
    }
    malformed_are_dropped();
}

int main(int argc, char **argv)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair_rank);
    both_pack = argc < 2;
    is_packing = both_pack || pair_rank != atoi(argv[1]);
    if (!is_packing)
        setenv("AMALGAM_PACK_BYTES", "0", 1);
    hg_log_set_func(log_read);
    pair_open(CREDITS);
    domain = amg_mpi_domain_of(pair_domain);
    test_all();
    requests_beyond_credits_are_refused();
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
