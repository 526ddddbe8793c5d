/* SPDX-License-Identifier: BSD-3-Clause */
/* The status pages of the ranks of a node show margo_quiesce() and the end of
 * an instance while the last rank has not come, and not afterwards. */
#include "amalgam_group_margo.h"
#include "base/status.h"
#include "core/class.h"
#include "margo_ranks.h"

static struct mranks all;

/* Serves until all ranks before this one wait. */
static void await_others(enum amg_await kind)
{
    const struct amg_class_job *job = &margo_get_class(all.mid)->job;

    for (uint32_t i = 0; i + 1 < job->mate_count; i++) {
        struct amg_status *page = NULL;
        struct amg_status_facts facts = {.doing.wait = AMG_AWAIT_NONE};

        OK(amg_status_find(job->mates[i].pid, job->mates[i].start_time, &page));
        while (!amg_status_read(page, 0, &facts) || facts.doing.wait != kind)
            margo_thread_sleep(all.mid, 1);
        amg_status_drop(page);
    }
}

int main(void)
{
    struct amg_status_class *status = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, NULL);
    status = margo_get_class(all.mid)->job.status;
    mranks_exchange(&all);
    if (all.rank == all.size - 1)
        await_others(AMG_AWAIT_QUIESCE);
    OK(margo_quiesce(all.mid, 0));
    CHECK(status->wait == 0);
    if (all.rank == all.size - 1)
        await_others(AMG_AWAIT_MARGO_FINALIZE);
    mranks_close(&all);
    CHECK(status->wait == 0 && status->has_left && !status->is_open);
    return ranks_stop();
}
