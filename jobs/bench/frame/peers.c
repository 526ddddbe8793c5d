/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks beyond two: asleep until they are told to be silent peers, or to
 * take part.
 *
 * MPI cannot sleep until a message comes, so they look for one a few times a
 * second: 64 of them then take less than a hundredth of a core. */
#include "jobs/bench/frame/peers.h"

#include <stdlib.h>
#include <time.h>

#include "jobs/bench/base/guard.h"

enum { NAP_MS = 100 };

unsigned peers_count(const struct pair *pair)
{
    return (unsigned)pair->world->size - 2;
}

static void number_tell(struct pair *pair, int number)
{
    MPI_Request request;

    if (pair->world->size == 2)
        return;
    guard_step("waking the ranks beyond two");
    MPI_Ibcast(&number, 1, MPI_INT, 0, pair->world->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    guard_rest();
}

void peers_tell(struct pair *pair, enum peers_command command)
{
    number_tell(pair, (int)command);
}

void peers_tell_team(struct pair *pair, unsigned number)
{
    number_tell(pair, (int)(PEERS_TEAM + number));
}

static int number_await(const struct pair *pair)
{
    struct timespec nap = {0, NAP_MS * 1000000L};
    MPI_Request request;
    int number = 0;
    int is_here = 0;

    guard_rest();
    MPI_Ibcast(&number, 1, MPI_INT, 0, pair->world->comm, &request);
    for (;;) {
        MPI_Test(&request, &is_here, MPI_STATUS_IGNORE);
        if (is_here)
            return number;
        nanosleep(&nap, NULL);
    }
}

static void class_open(struct pair *pair)
{
    if (!pair_open(pair, pair->world->comm, pair->options->transport))
        pair_fail(pair, "no class for the silent peers");
}

static void call_once(struct pair *pair)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_fail(pair, "HG_Context_create() gave none");
    handle = pair_handle(pair, pair->null_id);
    pair_call(pair, handle, NULL);
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
}

static void part(struct pair *pair)
{
    if (pair->context != NULL)
        pair_check(
            pair, HG_Context_destroy(pair->context), "HG_Context_destroy");
    pair_close(pair);
}

int peers_run(struct pair *pair, peers_team_fn team_run)
{
    struct pair busy;
    struct pair quiet;

    for (;;) {
        int number = number_await(pair);

        if (number >= PEERS_TEAM) {
            team_run(pair, (unsigned)(number - PEERS_TEAM));
            continue;
        }
        switch ((enum peers_command)number) {
        case PEERS_OPEN:
            pair_copy(pair, &busy);
            pair_copy(pair, &quiet);
            class_open(&busy);
            class_open(&quiet);
            break;
        case PEERS_CALL:
            guard_step("the contact of a silent peer");
            call_once(&busy);
            if (pair->rank == 2)
                call_once(&quiet);
            break;
        case PEERS_PART:
            part(&busy);
            part(&quiet);
            break;
        default:
            return EXIT_SUCCESS;
        }
    }
}
