/* SPDX-License-Identifier: BSD-3-Clause */
/* Disconnect: waits for all ranks, and names the missing ones when it is asked
 * to, or when it is abandoned and ends. */
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pair.h"

enum { LOOKS = 200 };

/* The last rank is late: no rank ends before it. */
static void late_rank_is_waited_for(void)
{
    pair_open(0);
    if (pair_rank != pair_size - 1)
        for (int i = 0; i < LOOKS; i++)
            CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
    pair_sync(false);
    pair_close();
}

static bool has_named_last;
static bool has_named_any;
static bool has_told; /* that all wait for the last rank, and for no other */

/* Keeps what the log says. */
static int log_read(FILE *stream, const char *format, ...)
{
    char text[1024];
    char name[32];
    va_list args;

    (void)stream;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(name, sizeof(name), "rank %d", pair_size - 1);
    if (strstr(text, "did not") != NULL) {
        has_named_any = true;
        has_named_last = strstr(text, name) != NULL;
    }
    snprintf(name, sizeof(name), "1 of %d ranks", pair_size);
    has_told = has_told || (strstr(text, "have not closed") != NULL &&
                               strstr(text, name) != NULL);
    return 0;
}

/* Rank 0 asks, and logs the last rank, which makes progress or does not. */
static void late_rank_is_named(bool is_silent)
{
    pair_open(0);
    hg_log_set_func(log_read);
    has_told = false;
    if (pair_rank == 0) {
        UNTIL(has_told)
        {
            CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
            pair_t->domain.report(pair_domain);
        }
    } else if (pair_rank != pair_size - 1) {
        UNTIL(amg_mpi_domain_of(pair_domain)->disconnect.has_told)
        CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
    }
    hg_log_set_func(NULL);
    pair_sync(is_silent && pair_rank == pair_size - 1);
    pair_close();
}

/* Messages to the disconnect that wait in MPI at rank 0, from all others. */
static void answers_await(void)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    uint64_t end_ns = pair_deadline_ns();

    for (int rank = 1; rank < pair_size; rank++) {
        int flag = 0;

        while (!flag) {
            MPI_Iprobe(rank, MPI_ANY_TAG, domain->comm.messages, &flag,
                MPI_STATUS_IGNORE);
            CHECK(amg_clock_ns() < end_ns);
        }
    }
}

/* The time for answers is over when rank 0 looks, but all have come: only the
 * last rank, which has not closed, is named. `by_polls`: polls of the endpoint
 * take the answers, else the disconnect itself does. */
static void answers_in_time_count(bool by_polls)
{
    struct amg_mpi_tree *tree = NULL;

    pair_open(0);
    tree = &amg_mpi_domain_of(pair_domain)->disconnect;
    hg_log_set_func(log_read);
    has_told = false;
    if (pair_rank == 0) {
        CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
        pair_t->domain.report(pair_domain);
        tree->until_ns = UINT64_MAX;
        CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
    }
    pair_sync(true);
    if (pair_rank == pair_size - 1)
        UNTIL(tree->round != 0 && !tree->is_asking);
    pair_sync(true);
    if (pair_rank != 0 && pair_rank != pair_size - 1)
        UNTIL(tree->has_told)
    CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
    pair_sync(true);
    if (pair_rank == 0) {
        answers_await();
        tree->until_ns = 0;
        if (by_polls)
            UNTIL(tree->asked == 0);
        CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
        CHECK(has_told);
    }
    hg_log_set_func(NULL);
    pair_sync(false);
    pair_close();
}

static void ep_close(void)
{
    struct amg_events events;

    amg_events_init(&events);
    pair_t->ep.close(pair_ep, &events);
    pair_t->domain.close(pair_domain);
}

/* The last rank never disconnects; the others leave without it. */
static void missing_rank_is_named(void)
{
    pair_open(0);
    if (pair_rank == pair_size - 1) {
        pair_sync(true);
        pair_t->domain.abandon(pair_domain);
        CHECK(pair_t->domain.quiesce(pair_domain) == HG_TIMEOUT);
        ep_close();
        return;
    }
    hg_log_set_func(log_read);
    if (pair_rank == 0) {
        struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);

        UNTIL(domain->disconnect.closing == (1u << (pair_size - 2)) - 1)
        CHECK(pair_t->domain.quiesce(pair_domain) == HG_AGAIN);
        pair_t->domain.abandon(pair_domain);
    }
    UNTIL(pair_t->domain.quiesce(pair_domain) == HG_TIMEOUT);
    CHECK(has_named_any && has_named_last);
    hg_log_set_func(NULL);
    pair_sync(true);
    ep_close();
}

int main(void)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    late_rank_is_waited_for();
    late_rank_is_named(false);
    late_rank_is_named(true);
    answers_in_time_count(true);
    answers_in_time_count(false);
    missing_rank_is_named();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
