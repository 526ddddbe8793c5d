/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way of bulk data a domain opens with.
 *
 * What is measured is reached by the windows that the domain will have: the
 * last bytes of the library's memory, which nobody has been given yet, memory
 * that is attached for the while, and the last entry of the desk, where each
 * visit of the probe is taken back. */
#include "mpi_backend/mpi_select.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mapping.h"
#include "base/mem.h"
#include "mpi_backend/mpi_probe.h"
#include "mpi_backend/mpi_rma.h"

enum {
    PATIENCE_MS = 30000, /* for ranks that are stuck; far above any pause */
    TEXT_CAP = 160,
};

static enum amg_mpi_wish wish_of(const char *protocol)
{
    if (protocol == NULL)
        return AMG_MPI_WISH_P2P;
    if (strcmp(protocol, "rma") == 0)
        return AMG_MPI_WISH_RMA;
    if (strcmp(protocol, "mpi") == 0 || strcmp(protocol, "static") == 0 ||
        strcmp(protocol, "auto") == 0)
        return AMG_MPI_WISH_EITHER;
    return AMG_MPI_WISH_P2P;
}

/* FNV-1a, 32 bits: its factor. */
static uint32_t id_add(uint32_t id, const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        id = (id ^ (unsigned char)*text) * 16777619u;
    return id;
}

uint32_t amg_mpi_select_id(const char *protocol, const char *beside)
{
    uint32_t id = id_add(2166136261u, protocol); /* FNV-1a: its start */

    return beside == NULL ? id : id_add(id_add(id, " "), beside);
}

/* The end of the library's memory. */
static void library_spot(
    const struct amg_mpi_windows *windows, struct amg_mpi_spot *spot)
{
    const struct amg_area *area = &windows->area;

    spot->win = windows->ways[AMG_MPI_WAY_POOL];
    if (area->len < AMG_MPI_PROBE_LEN)
        return;
    spot->disp = area->len - AMG_MPI_PROBE_LEN;
    spot->bytes = (char *)area->base + spot->disp;
}

/* As it was: zeros, which nothing is behind. */
static void library_spot_end(
    const struct amg_mpi_windows *windows, const struct amg_mpi_spot *spot)
{
    const struct amg_mapping mapping = {.base = windows->area.base,
        .len = windows->area.len,
        .fd = windows->area.fd};

    if (spot->bytes != NULL && amg_mapping_discard(&mapping, spot->disp,
                                   AMG_MPI_PROBE_LEN) != HG_SUCCESS)
        memset(spot->bytes, 0, AMG_MPI_PROBE_LEN);
}

static void user_spot(
    const struct amg_mpi_windows *windows, struct amg_mpi_probe *probe)
{
    struct amg_mpi_spot *spot = &probe->spots[AMG_MPI_MEMORY_USER];
    void *bytes = amg_mem_alloc_aligned(AMG_PAGE_LEN, AMG_MPI_PROBE_LEN);
    MPI_Aint disp = 0;
    int rc = MPI_SUCCESS;

    spot->win = windows->ways[AMG_MPI_WAY_DYNAMIC];
    if (bytes == NULL) {
        probe->trouble = AMG_MPI_TROUBLE_MEMORY;
        return;
    }
    rc = MPI_Win_attach(spot->win, bytes, AMG_MPI_PROBE_LEN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Get_address(bytes, &disp);
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(rc, "attaching memory to a window");
        probe->trouble = AMG_MPI_TROUBLE_FAILED;
        amg_mem_free(bytes);
        return;
    }
    spot->bytes = bytes;
    spot->disp = (uint64_t)disp;
}

static void user_spot_end(const struct amg_mpi_spot *spot)
{
    if (spot->bytes == NULL)
        return;
    if (MPI_Win_detach(spot->win, spot->bytes) == MPI_SUCCESS)
        amg_mem_free(spot->bytes);
}

static void probe_set(
    const struct amg_mpi_domain *domain, struct amg_mpi_probe *ret_probe)
{
    const struct amg_mpi_windows *windows = domain->rma->windows;
    const uint64_t last = (AMG_MPI_ENTRIES - 1) * AMG_MPI_ENTRY_LEN;

    static_assert((int)AMG_MPI_KNOCK_LEN <= (int)AMG_MPI_ENTRY_LEN,
        "a knock is at one entry");
    *ret_probe = (struct amg_mpi_probe){.comm = domain->comm.data,
        .rank = domain->comm.rank,
        .is_leader = domain->comm.node_rank == 0,
        .knock = {windows->desk, windows->entries + last, last},
        .windows_ns = windows->open_ns,
        .budget_ms = AMG_MPI_PROBE_MS,
        .patience_ms = PATIENCE_MS};
    if (!ret_probe->is_leader)
        return;
    library_spot(windows, &ret_probe->spots[AMG_MPI_MEMORY_LIBRARY]);
    user_spot(windows, ret_probe);
}

/* Nobody uses what `choice` does not. */
static void choice_use(struct amg_mpi_domain *domain)
{
    struct amg_mpi_desk *desk = &domain->rma->desk;

    if (!amg_mpi_choice_uses_windows(&domain->choice)) {
        amg_bias_take(domain->lock);
        amg_mpi_rma_close_locked(domain, true);
        amg_bias_give(domain->lock);
        return;
    }
    desk->is_unused[AMG_MPI_WAY_POOL] =
        !amg_mpi_choice_uses_memory(&domain->choice, AMG_MPI_MEMORY_LIBRARY);
    desk->is_unused[AMG_MPI_WAY_DYNAMIC] =
        !amg_mpi_choice_uses_memory(&domain->choice, AMG_MPI_MEMORY_USER);
}

static hg_return_t windows_try(struct amg_mpi_domain *domain)
{
    const struct amg_mpi_windows *windows = domain->rma->windows;
    struct amg_mpi_probe probe;
    struct amg_mpi_figures figures;
    hg_return_t rc = HG_SUCCESS;

    probe_set(domain, &probe);
    rc = amg_mpi_probe_run(&probe, &figures);
    if (rc != HG_SUCCESS)
        return rc; /* somebody may still reach the spots */
    library_spot_end(windows, &probe.spots[AMG_MPI_MEMORY_LIBRARY]);
    user_spot_end(&probe.spots[AMG_MPI_MEMORY_USER]);
    amg_mpi_choice_make(&figures, &domain->choice);
    choice_use(domain);
    return HG_SUCCESS;
}

static hg_return_t either_select(
    struct amg_mpi_domain *domain, const struct amg_area *area)
{
    const struct amg_mpi_comm *comm = &domain->comm;

    if (comm->node_size == comm->size) {
        amg_mpi_choice_set(&domain->choice, false,
            "bulk by messages where it goes by MPI: no rank is on another "
            "node, and windows are tried between nodes alone");
        return HG_SUCCESS;
    }
    if (amg_mpi_rma_open(domain, area) == HG_SUCCESS)
        return windows_try(domain);
    amg_mpi_choice_set(&domain->choice, false,
        "bulk between nodes: by messages, because not all ranks have windows; "
        "the log says why");
    return HG_SUCCESS;
}

static void rma_select(
    struct amg_mpi_domain *domain, const struct amg_area *area)
{
    char text[TEXT_CAP];

    if (amg_mpi_rma_open(domain, area) != HG_SUCCESS) {
        amg_mpi_choice_set(&domain->choice, false,
            "bulk by messages, although mpi+rma was asked for: not all ranks "
            "have windows; the log says why");
        return;
    }
    snprintf(text, sizeof(text),
        "bulk by windows wherever they lead, as mpi+rma asks for; nothing was "
        "measured; windows took %.1f ms",
        (double)domain->rma->windows->open_ns / AMG_NS_PER_MS);
    amg_mpi_choice_set(&domain->choice, true, text);
}

hg_return_t amg_mpi_select(
    struct amg_mpi_domain *domain, const struct amg_open *how)
{
    switch (wish_of(how->protocol)) {
    case AMG_MPI_WISH_RMA:
        rma_select(domain, how->area);
        return HG_SUCCESS;
    case AMG_MPI_WISH_EITHER:
        return either_select(domain, how->area);
    case AMG_MPI_WISH_P2P:
        break;
    }
    amg_mpi_choice_set(&domain->choice, false,
        how->protocol != NULL && strcmp(how->protocol, "p2p") == 0
            ? "bulk by messages where it goes by MPI, as mpi+p2p asks for; "
              "nothing was measured"
            : "bulk by messages where it goes by MPI; nothing was measured");
    return HG_SUCCESS;
}
