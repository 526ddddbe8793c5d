/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: the benchmarks in which all ranks take part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam.h"
#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/report.h"

bool team_is_possible(const struct pair *like)
{
    /* Of those that only lead to oneself, or to a rank that tells its address.
     */
    const char *const names[] = {"self", "na+self", "sm", "na+sm"};
    const char *transport = like->options->transport;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (transport != NULL && strcmp(transport, names[i]) == 0) {
            pair_say(like,
                "%s is left out: it needs a transport that leads from rank to "
                "rank, and %s does not",
                like->bench, transport);
            return false;
        }
    return true;
}

/* The pin of one of the two, while all ranks share the cores. */
static struct pin pin_lifted;

void team_join(struct pair *team, const struct pair *like, MPI_Comm comm)
{
    static bool was_said;

    pair_copy(like, team);
    team->comm = comm;
    team->is_oversubscribed = pin_is_oversubscribed(like->pin, comm);
    pin_lifted.is_set = false;
    if (!team->is_oversubscribed)
        return;
    if (team->rank == 0 && !was_said)
        report_warn("the %d ranks of a job have fewer cores on their machine: "
                    "rows of more than two tell of shared cores",
            team->world->size);
    was_said = true;
    snprintf(team->cores, sizeof(team->cores), "shared");
    /* If the first two alone had a core each, while all share these, the
     * figures would tell of the cores. */
    if (like->pin != NULL && like->pin->is_set)
        pin_lift(like->pin, &pin_lifted);
}

void team_leave(struct pair *team)
{
    pin_restore(&pin_lifted);
    pin_lifted.is_set = false;
    team->comm = MPI_COMM_NULL;
}

bool team_open(struct pair *team, const struct pair *like)
{
    if (!team_is_possible(like))
        return false;
    team_join(team, like, like->world->comm);
    if (!pair_open_ranks(team, team->comm, like->options->transport))
        pair_fail(team, "no class for %s", like->bench);
    pair_meet(team);
    return true;
}

void team_close(struct pair *team)
{
    pair_close(team);
    team_leave(team);
}

hg_addr_t team_addr(struct pair *team, int rank)
{
    hg_addr_t addr = HG_ADDR_NULL;

    CHECK(team, amalgam_addr_rank(team->cls, rank, &addr));
    return addr;
}

hg_addr_t *team_addrs(struct pair *team)
{
    int size = team->world->size;
    hg_addr_t *addrs = pair_alloc(team, (size_t)size, sizeof(*addrs));

    for (int i = 0; i < size; i++)
        addrs[i] = team_addr(team, i);
    return addrs;
}

void team_addrs_free(struct pair *team, hg_addr_t *addrs)
{
    for (int i = 0; i < team->world->size; i++)
        HG_Addr_free(team->cls, addrs[i]);
    free(addrs);
}
