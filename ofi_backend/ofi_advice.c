/* SPDX-License-Identifier: BSD-3-Clause */
/* A sentence for each trap that is known, where it is found.
 *
 * Each is given once in a process. What belongs to an error stands in the line
 * of that error. */
#include "ofi_backend/ofi_advice.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "ofi_backend/ofi_text.h"
#include "ofi_backend/ofi_tune.h"

/* NOTE(weak): only there where the program brings MPI; its arguments are the
 * same in each. */
extern int MPI_Initialized(int *flag) __attribute__((weak));

static atomic_bool was_mpi_said;
static atomic_bool were_peers_said;

void amg_ofi_advice_any(const char *wish, const struct fi_info *info)
{
    AMG_LOG_WARNING("cls",
        "%s is no address that others can call: that of %s is taken; name an "
        "interface or host to be reached elsewhere, and give clients what "
        "HG_Addr_to_string() says",
        wish,
        info->domain_attr->name == NULL ? "one interface"
                                        : info->domain_attr->name);
}

static bool is_mpi_here(void)
{
    int is_started = 0;

    return MPI_Initialized != NULL && MPI_Initialized(&is_started) == 0 &&
           is_started != 0;
}

void amg_ofi_advice_mpi(const struct amg_ofi_domain *domain)
{
    /* Who pins pages keeps them in a cache, which watches malloc() and free().
     */
    if ((domain->info->domain_attr->mr_mode & FI_MR_ALLOCATED) == 0 ||
        getenv("FI_MR_CACHE_MONITOR") != NULL ||
        getenv("FI_MR_CACHE_MAX_COUNT") != NULL || !is_mpi_here() ||
        atomic_exchange_explicit(&was_mpi_said, true, memory_order_relaxed))
        return;
    AMG_LOG_WARNING("cls",
        "ofi+%s: MPI runs in this process, too, and both may use one cache of "
        "registered memory, which has given stale bytes where their hooks "
        "collide; FI_MR_CACHE_MAX_COUNT=0 turns it off (this library does not "
        "need it), FI_MR_CACHE_MONITOR chooses another",
        domain->facts.stack);
}

void amg_ofi_advice_peers_locked(struct amg_ofi_domain *domain)
{
    unsigned universe = domain->universe;

    if (domain->peer_count <= universe ||
        atomic_exchange_explicit(&were_peers_said, true, memory_order_relaxed))
        return;
    AMG_LOG_WARNING("ofi",
        "more than %u peers are known, which the queues of ofi+%s were made "
        "for: set FI_UNIVERSE_SIZE, or AMALGAM_UNIVERSE_SIZE, to the number of "
        "processes that talk to this one",
        universe, domain->facts.stack);
}

void amg_ofi_advice_forget(void)
{
    atomic_store_explicit(&was_mpi_said, false, memory_order_relaxed);
    atomic_store_explicit(&were_peers_said, false, memory_order_relaxed);
}
