/* SPDX-License-Identifier: BSD-3-Clause */
/* Silent ranks: one that answers nothing while calls wait for it is named,
 * after one period and then ever more rarely; one that answers is not. A failed
 * send is logged with MPI's text once, then counted. */
#include <stdarg.h>
#include <string.h>

#include "base/log.h"
#include "pair.h"

enum { CALLS = 3, FAILURES = 5 };

static struct amg_mpi_domain *domain;
static bool fails;
static unsigned named;   /* lines that name rank 1, */
static unsigned counted; /* of them, those with the right number of calls */
static unsigned texts;   /* lines with MPI's text */
static unsigned totals;  /* lines with the number of those that follow */

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
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
    named += strstr(text, "rank 1 has answered nothing for") != NULL;
    counted += strstr(text, "3 calls and transfers of this") != NULL;
    texts += strstr(text, "sending a message to rank 1") != NULL;
    totals += strstr(text, "4 further messages could not be sent") != NULL;
    return 0;
}

static hg_return_t post(struct pair_call *call)
{
    struct amg_buf *buf = NULL;
    hg_return_t rc = HG_SUCCESS;

    pair_call_init(call);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1), &buf) == HG_SUCCESS);
    rc = pair_t->msg.send_request(
        pair_ep, (struct amg_target){pair_peer(1), 0}, buf, 0, true, &call->op);
    if (rc != HG_SUCCESS)
        pair_t->msg.put_buf(pair_ep, buf);
    return rc;
}

/* Makes so many checks pass. */
static void looks_pass(unsigned count)
{
    unsigned until = domain->calls.watch.checks + count;

    UNTIL(domain->calls.watch.checks >= until);
}

static void silent_rank_is_named(void)
{
    static struct pair_call calls[CALLS];

    pair_sync(true);
    if (pair_rank == 0) {
        for (int i = 0; i < CALLS; i++)
            CHECK(post(&calls[i]) == HG_SUCCESS);
        looks_pass(1);
        CHECK(named == 0);
        UNTIL(named == 1);
        CHECK(counted == 1);
        /* After 1, 2, 4 and 8 periods. */
        looks_pass(8);
        CHECK(named == 4);
    }
    pair_sync(true); /* now it answers */
    if (pair_rank == 0) {
        for (int i = 0; i < CALLS; i++) {
            UNTIL(calls[i].done == 1);
            pair_t->msg.release_reply(pair_ep, &calls[i].op);
        }
        named = 0;
        for (unsigned until = domain->calls.watch.checks + 4;
             domain->calls.watch.checks < until;)
            pair_ask(1, 7);
        CHECK(named == 0);
    }
    pair_sync(false);
}

static void lost_messages_are_counted(void)
{
    static struct pair_call calls[FAILURES];

    if (pair_rank == 0) {
        fails = true;
        for (int i = 0; i < FAILURES; i++) {
            CHECK(post(&calls[i]) == HG_SUCCESS);
            pair_poll(); /* so that each is a message of its own */
        }
        fails = false;
        for (int i = 0; i < FAILURES; i++) {
            UNTIL(calls[i].done == 1);
            CHECK(calls[i].op.ret == HG_NA_ERROR);
        }
        CHECK(texts == 1);
        UNTIL(totals == 1);
    }
    pair_sync(false);
}

int main(void)
{
    int level = 0;

    setenv("AMALGAM_SILENT_MS", "20", 1);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    hg_log_set_func(log_read);
    pair_open(0);
    domain = amg_mpi_domain_of(pair_domain);
    silent_rank_is_named();
    lost_messages_are_counted();
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
