/* SPDX-License-Identifier: BSD-3-Clause */
/* What a handler takes that is blocked.
 *
 * Rank 0 makes many calls, whose handlers at rank 1 all wait. What that process
 * has grown by, as the kernel counts, beyond the pages of the handlers' stacks
 * that are there, is the price of a blocked handler: its handle, the message it
 * serves, its control block. */
#include "jobs/bench/margo/margo_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/smaps.h"
#include "jobs/bench/margo/mend.h"

#define STACKS_TEXT                                                            \
    "the resident pages of the handler's stack, which the figure leaves out"

enum { HANDLERS = 4000, HANDLERS_SMOKE = 64, STACK_PAGES_MAX = 512 };

/* Rank 1's. */
struct crowd_row {
    struct mend mend;
    hg_id_t id;
    unsigned wanted;
    atomic_uint blocked;
    atomic_ullong stack_pages;
    ABT_eventual are_blocked;
    ABT_eventual gate;
};

static bool page_is_there(uintptr_t page, size_t page_len)
{
    unsigned char is_there = 0;

    return mincore((void *)page, page_len, &is_there) == 0 &&
           (is_there & 1u) != 0;
}

/* How many pages of the calling thread's stack are there: those around the
 * current one, up to the guard pages, which never are. */
static unsigned stack_pages(void)
{
    size_t page_len = (size_t)sysconf(_SC_PAGESIZE);
    char local = 0;
    uintptr_t here = (uintptr_t)&local / page_len * page_len;
    uintptr_t end = here + page_len;
    uintptr_t begin = here;

    while ((end - here) / page_len < STACK_PAGES_MAX &&
           page_is_there(end, page_len))
        end += page_len;
    while ((here - begin) / page_len < STACK_PAGES_MAX &&
           page_is_there(begin - page_len, page_len))
        begin -= page_len;
    return (unsigned)((end - begin) / page_len);
}

static void bench_margo_block(hg_handle_t handle)
{
    struct crowd_row *crowd = margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);

    atomic_fetch_add(&crowd->stack_pages, stack_pages());
    if (atomic_fetch_add(&crowd->blocked, 1) + 1 == crowd->wanted)
        ABT_eventual_set(crowd->are_blocked, NULL, 0);
    ABT_eventual_wait(crowd->gate, NULL);
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_block)

/* Rank 0: all calls, and their answers. */
static void calls_run(struct crowd_row *crowd)
{
    margo_request *requests = calloc(crowd->wanted, sizeof(*requests));
    hg_handle_t *handles = calloc(crowd->wanted, sizeof(*handles));

    if (requests == NULL || handles == NULL)
        pair_check(crowd->mend.like, HG_NOMEM, "memory for the calls");
    for (unsigned i = 0; i < crowd->wanted; i++) {
        handles[i] = mend_handle(&crowd->mend, crowd->id);
        pair_check(crowd->mend.like,
            margo_iforward(handles[i], NULL, &requests[i]), "margo_iforward");
    }
    for (unsigned i = 0; i < crowd->wanted; i++) {
        pair_check(crowd->mend.like, margo_wait(requests[i]), "margo_wait");
        margo_destroy(handles[i]);
    }
    free(handles);
    free(requests);
}

/* Rank 1: how much it has grown, in KiB. */
static double growth_measure(struct crowd_row *crowd)
{
    struct smaps before;
    struct smaps after;
    bool is_read = smaps_read(&before) && smaps_read(&before);

    ABT_eventual_wait(crowd->are_blocked, NULL);
    if (!is_read || !smaps_read(&after))
        pair_fail(crowd->mend.like, "/proc/self/smaps_rollup cannot be read");
    ABT_eventual_set(crowd->gate, NULL, 0);
    mend_serve(&crowd->mend);
    return after.rss - before.rss;
}

static void row_add(
    const struct pair *pair, unsigned handlers, double growth, double stacks)
{
    struct row row = {
        .bench = "margo",
        .op = "margo_blocked",
        .window = handlers,
        .memory = "host",
        .unit = "KiB",
        .value = (growth - stacks) / handlers,
        .against = "stack",
        .control = STACKS_TEXT,
        .control_value = stacks / handlers,
        .better = "lower",
        .batches = 1,
    };

    row.ratio = row.value / row.control_value;
    row.spread[0] = row.spread[1] = row.ratio;
    pair_row(pair, &row);
    rows_add(&row);
}

void margo_memory_run(struct pair *pair)
{
    struct crowd_row crowd = {
        .wanted = pair->options->is_smoke ? HANDLERS_SMOKE : HANDLERS};
    struct mend_how how = {.credits = HANDLERS + 1};
    double kib[2] = {0.0, 0.0}; /* what it has grown by, and stacks */

    mend_open(&crowd.mend, pair, &how);
    guard_step("%u handlers that block", crowd.wanted);
    if (ABT_eventual_create(0, &crowd.gate) != ABT_SUCCESS ||
        ABT_eventual_create(0, &crowd.are_blocked) != ABT_SUCCESS)
        pair_check(pair, HG_NOMEM, "ABT_eventual_create");
    crowd.id = MARGO_REGISTER(
        crowd.mend.mid, "bench_margo_block", void, void, bench_margo_block);
    pair_check(pair,
        margo_register_data(crowd.mend.mid, crowd.id, &crowd, NULL),
        "margo_register_data");
    MPI_Barrier(pair->comm);
    if (pair->rank == 0) {
        calls_run(&crowd);
        mend_stop(&crowd.mend);
    } else {
        kib[0] = growth_measure(&crowd);
        kib[1] = (double)atomic_load(&crowd.stack_pages) *
                 (double)sysconf(_SC_PAGESIZE) / 1024.0;
    }
    MPI_Bcast(kib, 2, MPI_DOUBLE, 1, pair->comm);
    if (pair->rank == 0)
        row_add(pair, crowd.wanted, kib[0], kib[1]);
    ABT_eventual_free(&crowd.are_blocked);
    ABT_eventual_free(&crowd.gate);
    mend_close(&crowd.mend);
}
