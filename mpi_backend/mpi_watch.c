/* SPDX-License-Identifier: BSD-3-Clause */
/* Names ranks that answer nothing while calls or transfers wait for them.
 *
 * MPI does not tell that a rank is dead, so a call to one waits for ever, and a
 * person has to learn for whom. Each AMALGAM_SILENT_MS a poll walks over what
 * waits. A message, or a piece of a transfer, costs one store into the line of
 * its peer; the clock is read once in 64 polls.
 *
 *   silent   0: had nothing of ours at the last look, or is new here
 *            n: has had something at n looks, and was not heard since the first
 *
 * A rank is named when it has been silent for 1, 2, 4, 8 ... periods, at most
 * NAMED_MAX of them in a look. */
#include "mpi_backend/mpi_watch.h"

#include "base/clock.h"
#include "base/log.h"

enum {
    NAMED_MAX = 4,
    SILENT_MAX = 130, /* beyond it a rank is named no more */
};

/* Work of this rank that `rank` has, in calls and in transfers. */
static unsigned work_count(const struct amg_mpi_domain *domain, uint32_t rank)
{
    const struct amg_table *tables[] = {
        &domain->calls.table, &domain->transfers};
    unsigned count = 0;

    for (unsigned t = 0; t < 2; t++)
        for (uint32_t i = 0; i < tables[t]->cap; i++)
            count += tables[t]->places[i].object != NULL &&
                     tables[t]->places[i].owner_or_next == rank;
    return count;
}

static void silent_log(const struct amg_mpi_domain *domain, uint32_t rank)
{
    const struct amg_mpi_peer *peer = &domain->peers[rank];
    uint64_t past_ns = (peer->silent - 1u) * domain->watch.period_ns;

    AMG_LOG_WARNING("mpi",
        "rank %u has answered nothing for %.1f s; %u calls and transfers of "
        "rank %d wait for it (it computes, or is dead, which MPI does not "
        "tell; HG_Cancel() ends them here)",
        rank, (double)past_ns / 1e9, work_count(domain, rank),
        domain->comm.rank);
}

/* One look at a rank that has work of ours. True: it is to be named. */
static bool peer_look(struct amg_mpi_peer *peer)
{
    unsigned periods = 0;

    if (peer->is_heard)
        peer->silent = 0;
    peer->is_heard = false;
    if (peer->silent < SILENT_MAX)
        peer->silent++;
    periods = peer->silent - 1u;
    return periods > 0 && periods < SILENT_MAX - 1 &&
           (periods & (periods - 1)) == 0;
}

static void table_look(struct amg_mpi_domain *domain,
    const struct amg_table *table, unsigned *named)
{
    for (uint32_t i = 0; i < table->cap; i++) {
        const struct amg_table_place *place = &table->places[i];
        struct amg_mpi_peer *peer = NULL;

        if (place->object == NULL)
            continue;
        peer = &domain->peers[place->owner_or_next];
        if (peer->look == (uint8_t)domain->watch.looks)
            continue; /* it has more than one */
        peer->look = (uint8_t)domain->watch.looks;
        if (peer_look(peer) && ++*named <= NAMED_MAX)
            silent_log(domain, place->owner_or_next);
    }
}

static void all_look(struct amg_mpi_domain *domain)
{
    unsigned named = 0;

    domain->watch.looks++;
    table_look(domain, &domain->calls.table, &named);
    table_look(domain, &domain->transfers, &named);
    if (named > NAMED_MAX)
        AMG_LOG_WARNING("mpi", "%u further ranks have answered nothing, too",
            named - NAMED_MAX);
    if (domain->watch.lost > 0)
        AMG_LOG_WARNING("mpi",
            "%u further messages could not be sent to ranks of which that was "
            "said before",
            domain->watch.lost);
    domain->watch.lost = 0;
}

void amg_mpi_watch_locked(struct amg_mpi_domain *domain)
{
    uint64_t period_ns = domain->watch.period_ns;
    uint64_t now_ns = 0;

    if (period_ns == 0 || domain->calls.table.cap + domain->transfers.cap == 0)
        return;
    now_ns = amg_clock_ns();
    if (now_ns < domain->watch.next_ns)
        return;
    if (domain->watch.next_ns != 0)
        all_look(domain);
    domain->watch.next_ns = now_ns + period_ns;
}
