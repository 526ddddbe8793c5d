/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks beyond two.
 *
 * MPI cannot sleep until a message comes, so they look for one a few times a
 * second: 64 of them then take less than a hundredth of a core. */
#include "jobs/bench/frame/peers.h"

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/watch.h"

enum { NAP_US = 100000 };

void peers_tell(struct pair *pair, int command)
{
    MPI_Request request;

    if (pair->world->size == 2)
        return;
    guard_step("waking the ranks beyond two");
    MPI_Ibcast(&command, 1, MPI_INT, 0, pair->world->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    guard_rest();
}

static int command_await(const struct pair *pair)
{
    MPI_Request request;
    int command = 0;
    int is_here = 0;

    guard_rest();
    MPI_Ibcast(&command, 1, MPI_INT, 0, pair->world->comm, &request);
    while (MPI_Test(&request, &is_here, MPI_STATUS_IGNORE), !is_here)
        pause_us(NAP_US);
    return command;
}

static void class_open(const struct pair *pair, struct pair *ret_pair)
{
    pair_copy(pair, ret_pair);
    if (!pair_open(ret_pair, pair->world->comm, pair->options->transport))
        pair_fail(pair, "no class for the silent peers");
}

static void call_once(struct pair *pair)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    guard_step("the contact of a silent peer");
    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_fail(pair, "HG_Context_create() gave none");
    handle = pair_handle(pair, pair->null_id);
    pair_call(pair, handle, NULL);
    pair_handle_free(pair, handle);
}

static void part(struct pair *pair)
{
    if (pair->context != NULL)
        CHECK(pair, HG_Context_destroy(pair->context));
    pair_close(pair);
}

void peers_run(
    struct pair *pair, void (*team_run)(struct pair *pair, unsigned number))
{
    struct pair busy;
    struct pair quiet;

    for (;;) {
        int command = command_await(pair);

        if (command == PEERS_END)
            return;
        if (command >= PEERS_TEAM)
            team_run(pair, (unsigned)(command - PEERS_TEAM));
        if (command == PEERS_OPEN) {
            class_open(pair, &busy);
            class_open(pair, &quiet);
        }
        if (command == PEERS_CALL)
            call_once(&busy);
        if (command == PEERS_CALL && pair->rank == 2)
            call_once(&quiet);
        if (command == PEERS_PART) {
            part(&busy);
            part(&quiet);
        }
    }
}
