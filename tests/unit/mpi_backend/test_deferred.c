/* SPDX-License-Identifier: BSD-3-Clause */
/* A message of a thread that may not call MPI leaves before the next one of the
 * thread that may: the peer gets both in the order in which they were sent,
 * also if MPI refuses the first once. The test replaces MPI_Isend. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "pair.h"

enum { PAIRS = 8 }; /* of messages: of another thread, and of the main one */

static unsigned refuse; /* so many calls of MPI_Isend */
static uint32_t came;   /* messages so far, each with its number */

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    if (refuse == 0)
        return PMPI_Isend(buf, count, type, rank, tag, comm, request);
    refuse--;
    return MPI_ERR_OTHER;
}

static void serve(struct amg_arrival *arrival)
{
    uint32_t number = 0;

    CHECK(arrival->is_one_way && arrival->len == sizeof(number));
    memcpy(&number, arrival->data, sizeof(number));
    CHECK(number == came);
    came++;
    pair_t->msg.release(pair_ep, arrival);
}

static void *send_one(void *arg)
{
    struct amg_buf *buf = NULL;

    CHECK(pair_t->msg.get_buf(pair_ep, pair_peer(1), &buf) == HG_SUCCESS);
    memcpy(buf->data, arg, sizeof(uint32_t));
    CHECK(
        pair_t->msg.send_request(pair_ep, (struct amg_target){pair_peer(1), 0},
            buf, sizeof(uint32_t), false, NULL) == HG_SUCCESS);
    return NULL;
}

static void send_all(void)
{
    for (uint32_t number = 0; number < 2 * PAIRS; number += 2) {
        uint32_t next = number + 1;
        pthread_t other;

        CHECK(pthread_create(&other, NULL, send_one, &number) == 0);
        pthread_join(other, NULL);
        refuse = 1; /* the deferred one, which thread `other` could not send */
        (void)send_one(&next);
    }
}

int main(void)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (level != MPI_THREAD_FUNNELED)
        return 77;
    pair_open(0);
    if (pair_rank == 0)
        send_all();
    for (uint64_t end_ns = pair_deadline_ns();
         pair_rank == 1 && came < 2 * PAIRS; sched_yield()) {
        pair_poll_with(PAIRS, serve);
        CHECK(amg_clock_ns() < end_ns);
    }
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
