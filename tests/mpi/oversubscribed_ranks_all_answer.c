/* SPDX-License-Identifier: BSD-3-Clause */
/* With far more ranks than cores, every rank calls every other, in blocking
 * waits. */
#include "ranks.h"

enum { ROUNDS = 20, WAIT_MS = 100 };

static struct ranks all;

/* Blocks in the library until the reply. */
static void call_make(int rank, uint64_t value)
{
    uint64_t deadline_ns = 0;
    ranks_echo_t in = {value, all.rank};
    struct ranks_call call;

    OK(ranks_begin(&all, &call, rank, all.echo, &in));
    ranks_wait_begin(&deadline_ns);
    while (atomic_load(&call.done) == 0) {
        unsigned count = 0;

        (void)HG_Progress(all.context, WAIT_MS);
        (void)HG_Trigger(all.context, 0, 64, &count);
        CHECK(ranks_now_ns() < deadline_ns);
    }
    OK(call.ret);
    ranks_end(&call);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < ROUNDS; i++)
        for (int j = 0; j < all.size; j++)
            call_make((all.rank + j) % all.size, i);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(atomic_load(&all.echoed) == (unsigned long)all.size * ROUNDS);
    ranks_close(&all);
    return ranks_stop();
}
