/* SPDX-License-Identifier: BSD-3-Clause */
/* Start of MPI: by the library if the program did not, once, and ended at exit.
 * With "user" the program ends it too early: then an open class fails, and does
 * not hang. */
#include <string.h>

#include "pair.h"

static void started_by_us(void)
{
    int flag = 0;

    pair_open(0);
    MPI_Initialized(&flag);
    CHECK(flag);
    pair_ask((pair_rank + 1) % pair_size, 7);
    pair_close();
    pair_open(0);
    pair_ask((pair_rank + 1) % pair_size, 8);
    pair_close();
    MPI_Finalized(&flag);
    CHECK(!flag);
}

static void ended_by_the_user(void)
{
    struct pair_call call;
    struct amg_buf *buf = NULL;
    struct amg_events events;
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_open(0);
    pair_ask((pair_rank + 1) % pair_size, 9);
    pair_sync(false);
    pair_call_init(&call);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(0), &buf) == HG_SUCCESS);
    CHECK(
        pair_t->msg.send_request(pair_ep, (struct amg_target){pair_peer(0), 0},
            buf, 0, true, &call.op) == HG_SUCCESS);
    MPI_Finalize();
    pair_poll();
    CHECK(call.done == 1 && call.op.ret == HG_CANCELED);
    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(0), &buf) == HG_SUCCESS);
    CHECK(
        pair_t->msg.send_request(pair_ep, (struct amg_target){pair_peer(0), 0},
            buf, 0, true, &call.op) == HG_NA_ERROR);
    pair_t->msg.put_buf(pair_ep, buf);
    CHECK(pair_t->domain.quiesce(pair_domain) == HG_SUCCESS);
    amg_events_init(&events);
    pair_t->ep.close(pair_ep, &events);
    pair_t->domain.close(pair_domain);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "user") == 0)
        ended_by_the_user();
    else
        started_by_us();
    return EXIT_SUCCESS;
}
