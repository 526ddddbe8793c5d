/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance that ends at once serves the others until they end, too: calls,
 * bulk data, and handlers that call further. A reference may be left until
 * after MPI_Finalize, which warns of no open class then. */
#include <stdlib.h>

#include "margo_ranks.h"

enum { ROUNDS = 20, HOPS = 5 };

static void finalized_tell(void *arg)
{
    bool *is_called = arg;

    *is_called = true;
}

int main(void)
{
    struct mranks all;
    FILE *log = NULL;
    bool is_pre_called = false;
    bool is_called = false;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("warning");
    mranks_open(&all, NULL);
    margo_push_prefinalize_callback(all.mid, finalized_tell, &is_pre_called);
    margo_push_finalize_callback(all.mid, finalized_tell, &is_called);
    for (uint64_t i = 0; all.rank != 0 && i < ROUNDS; i++) {
        mranks_echo(&all, 0, i);
        mranks_relay(&all, 0, HOPS);
        mranks_swap(&all, 0, 70001);
    }
    OK(margo_instance_ref_incr(all.mid));
    mranks_close(&all);
    CHECK(is_pre_called && is_called);
    CHECK(all.rank != 0 || atomic_load(&all.served) >=
                               (unsigned long)(all.size - 1) * 3 * ROUNDS);
    CHECK(!ranks_log_has(log, "did not close"));
    (void)ranks_stop();
    OK(margo_instance_release(all.mid));
    CHECK(!ranks_log_has(log, "class"));
    return EXIT_SUCCESS;
}
