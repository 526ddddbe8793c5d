/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of how bulk data moves over MPI: through windows or by messages.
 *
 * Messages always work: they can be cancelled, they gather short runs, and the
 * exposer checks each access. A window is used if it is 5 % faster; a window
 * that needs no help of its target may be 5 % slower, since the target can
 * compute meanwhile. No window is used if the post of an access waits for a
 * target that is outside of MPI (osc/rdma of Open MPI 4.1.4 takes a lock
 * there): the caller could not cancel the post, nor serve peers. The init
 * string or AMALGAM_TRANSPORT may force windows or messages. Windows over all
 * ranks are created only if some transfers will use them. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "mpi_backend/mpi_rma.h"

enum {
    RANKS_MAX = 4096, /* of a domain that is measured */
    GAIN_PERCENT = 105,
    GAIN_PASSIVE_PERCENT = 95,
};

static const uint64_t lens[AMG_MPI_SIZES] = {
    AMG_MPI_MEASURED_MEDIUM, AMG_MPI_MEASURED_LARGE};

/* All transfers use windows, or none. */
static void choice_set(
    struct amg_mpi_choice *choice, bool is_window, const char *reason)
{
    memset(choice->is_window, is_window, sizeof(choice->is_window));
    choice->is_passive = false;
    snprintf(choice->reason, sizeof(choice->reason), "%s", reason);
}

__attribute__((format(printf, 2, 3))) static void reason_add(
    struct amg_mpi_choice *choice, const char *format, ...)
{
    size_t len = strlen(choice->reason);
    va_list args;

    va_start(args, format);
    vsnprintf(choice->reason + len, sizeof(choice->reason) - len, format, args);
    va_end(args);
}

/* Adds for instance "user memory by messages (GB/s of windows, messages: 64 KiB
 * 3.4, 13; 1 MiB 1.1, 16)". */
static void memory_choose(const struct amg_mpi_figures *figures,
    enum amg_mpi_memory memory, struct amg_mpi_choice *choice)
{
    static const char *const names[] = {"64 KiB", "1 MiB"};
    static const char *const ways[] = {"messages", "windows up to 256 KiB",
        "windows above 256 KiB", "windows"};
    const uint64_t percent =
        choice->is_passive ? GAIN_PASSIVE_PERCENT : GAIN_PERCENT;
    const uint64_t *window_ns = figures->window_ns[memory];
    bool *is_window = choice->is_window[memory];
    uint64_t message_ns[AMG_MPI_SIZES];

    for (unsigned i = 0; i < AMG_MPI_SIZES; i++) {
        message_ns[i] = INT64_MAX - figures->message_inverse[memory][i];
        is_window[i] = figures->failed == 0 && figures->is_blocking == 0 &&
                       window_ns[i] > 0 &&
                       message_ns[i] >= window_ns[i] * percent / 100;
    }
    reason_add(choice, "%s memory by %s",
        memory == AMG_MPI_MEMORY_USER ? "user" : "library",
        ways[is_window[0] + 2 * is_window[1]]);
    for (unsigned i = 0; i < AMG_MPI_SIZES && window_ns[i] > 0; i++)
        reason_add(choice, "%s%s %.2g, %.2g%s",
            i == 0 ? " (GB/s of windows, messages: " : "; ", names[i],
            (double)lens[i] / (double)window_ns[i],
            (double)lens[i] / (double)message_ns[i],
            i + 1 == AMG_MPI_SIZES || window_ns[i + 1] == 0 ? ")" : "");
}

void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice)
{
    struct amg_mpi_choice *choice = ret_choice;

    choice_set(choice, false, "bulk between nodes: ");
    choice->is_passive = figures->needs_target == 0;
    memory_choose(figures, AMG_MPI_MEMORY_USER, choice);
    reason_add(choice, ", ");
    memory_choose(figures, AMG_MPI_MEMORY_LIBRARY, choice);
    reason_add(choice, "; RMA %s its target; %u ranks measured in %.1f ms",
        choice->is_passive     ? "does not need"
        : figures->is_blocking ? "blocks its caller without"
                               : "needs",
        (unsigned)figures->ranks, (double)figures->took_ns / AMG_NS_PER_MS);
    if (figures->failed != 0)
        reason_add(choice, "; rank %u failed, see its log",
            (unsigned)(figures->failed - 1));
}

static unsigned windows_count(const struct amg_mpi_choice *choice)
{
    unsigned count = 0;

    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
            count += choice->is_window[i][size];
    return count;
}

const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice)
{
    unsigned count = windows_count(choice);

    return count == 0                                  ? "mpi+p2p"
           : count == AMG_MPI_MEMORIES * AMG_MPI_SIZES ? "mpi+rma"
                                                       : "mpi+p2p and mpi+rma";
}

/* Why bulk data is not measured; NULL: it is. */
static const char *unmeasured_reason(
    const struct amg_mpi_comm *comm, const char *protocol)
{
    if (strcmp(protocol, "rma") == 0)
        return "bulk by windows: mpi+rma asked for, not measured";
    if (strcmp(protocol, "p2p") == 0)
        return "bulk by messages: mpi+p2p asked for, not measured";
    if (strcmp(protocol, "mpi") != 0 && strcmp(protocol, "static") != 0 &&
        strcmp(protocol, "auto") != 0)
        return "bulk by messages: not measured";
    if (comm->size > RANKS_MAX)
        return "bulk by messages: not measured, more than 4096 ranks";
    if (comm->node_size == comm->size)
        return "bulk by messages: not measured, no rank is on another node";
    return NULL;
}

hg_return_t amg_mpi_bulk_select(
    struct amg_mpi_domain *domain, const struct amg_open *how)
{
    const char *protocol = how->protocol == NULL ? "" : how->protocol;
    const char *reason = unmeasured_reason(&domain->comm, protocol);
    struct amg_mpi_choice *choice = &domain->choice;
    struct amg_mpi_figures figures = {.failed = 0};

    if (reason != NULL) {
        choice_set(choice, strcmp(protocol, "rma") == 0, reason);
    } else {
        hg_return_t rc = amg_mpi_figures_measure(&domain->comm, &figures);

        if (rc != HG_SUCCESS)
            return rc;
        amg_mpi_choice_make(&figures, choice);
    }
    if (windows_count(choice) > 0 &&
        amg_mpi_rma_open(domain, how->area, strcmp(protocol, "rma") == 0) !=
            HG_SUCCESS)
        choice_set(choice, false,
            "bulk by messages: not all ranks have windows, see the log");
    return HG_SUCCESS;
}
