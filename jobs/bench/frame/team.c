/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmarks in which all ranks take part. */
#include "jobs/bench/frame/team.h"

#include <stdio.h>
#include <string.h>

#include "amalgam.h"
#include "jobs/bench/base/pin.h"
#include "jobs/bench/frame/results.h"

/* Of those that only lead to oneself, or to whoever tells its address. */
static bool transport_has_ranks(const char *transport)
{
    const char *const names[] = {"self", "na+self", "sm", "na+sm"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (transport != NULL && strcmp(transport, names[i]) == 0)
            return false;
    return true;
}

bool team_is_possible(const struct pair *like, const char *bench)
{
    const char *transport = like->options->transport;

    if (transport_has_ranks(transport))
        return true;
    if (like->rank == 0)
        fprintf(stderr,
            "%s is left out: it needs a transport that leads from rank to "
            "rank, and %s does not\n",
            bench, transport);
    return false;
}

/* Where the first two alone have a core each, while all share these, what the
 * ranks get done tells of the cores. */
static struct pin pin_of_two;

/* Once, of however many benchmarks. */
static void crowd_warn(const struct pair *team)
{
    static bool was_said;

    if (team->rank == 0 && !was_said)
        results_warn("the %d ranks of a job have fewer cores on their machine: "
                     "rows of more than two tell of shared cores",
            team->world->size);
    was_said = true;
}

void team_join(struct pair *team, const struct pair *like, MPI_Comm comm)
{
    pair_copy(like, team);
    team->comm = comm;
    team->is_crowded = pin_is_crowded(like->pin, comm);
    pin_of_two.is_set = false;
    if (!team->is_crowded)
        return;
    crowd_warn(team);
    snprintf(team->cores, sizeof(team->cores), "shared");
    if (like->pin != NULL && like->pin->is_set)
        pin_lift(like->pin, &pin_of_two);
}

void team_leave(struct pair *team)
{
    pin_restore(&pin_of_two);
    pin_of_two.is_set = false;
    team->comm = MPI_COMM_NULL;
}

bool team_open(struct pair *team, const struct pair *like, const char *bench)
{
    if (!team_is_possible(like, bench))
        return false;
    team_join(team, like, like->world->comm);
    if (!pair_open_ranks(team, team->comm, like->options->transport))
        pair_fail(team, "no class for %s", bench);
    pair_meet(team);
    return true;
}

void team_close(struct pair *team)
{
    pair_close(team);
    team_leave(team);
}

void team_idle(const struct pair *team)
{
    pair_idle(team);
}

bool team_turn(struct pair *team)
{
    unsigned count = 0;

    HG_Progress(team->context, 0);
    HG_Trigger(team->context, 0, PAIR_TURN_MAX, &count);
    if (count == 0)
        team_idle(team);
    return count > 0;
}

void team_meet(struct pair *team)
{
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(team->comm, &request);
    while (!is_over)
        if (!team_turn(team))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
}

hg_addr_t team_addr(struct pair *team, int rank)
{
    hg_addr_t addr = HG_ADDR_NULL;

    pair_check(
        team, amalgam_addr_rank(team->cls, rank, &addr), "amalgam_addr_rank");
    return addr;
}
