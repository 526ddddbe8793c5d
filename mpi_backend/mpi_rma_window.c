/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI windows of a domain, and the memory attached to the dynamic one.
 *
 * There are three windows. `descs` holds the descriptors of each rank's exposed
 * memory, in memory of the driver. The pool window covers the library's memory;
 * creating this window touches no pages. Any memory can be attached to the
 * dynamic window, which is ten times slower with MPICH 4.0.2 (ch4:ucx).
 *
 * Creating a window takes 16 to 60 ms if ranks wait for a core, else 1 ms, so
 * windows are created once per domain and never per handle. One epoch of
 * MPI_Win_lock_all lasts as long as its window.
 *
 * Regions that are attached to one window must not overlap, and MPI does not
 * check that. So memory within an attached region shares the region. Memory
 * that is partly in a region is reached by messages: an access may not cross
 * the border of two regions, and the origin of the access does not know the
 * borders. A region is shared only while some exposed memory covers the whole
 * region. Otherwise the program may have unmapped a part of the region and
 * mapped other pages there, which MPI does not know. Regions stand in an array
 * in the order of their bases; adding one among n moves at most 24 n bytes,
 * which takes some microseconds with 8,192 regions.
 *
 * Freeing is collective, and blocks. So all ranks first pass a non-blocking
 * barrier; a rank that gave up on others enters the barrier only when
 * MPI_Finalize begins. If a rank does not come, windows and descriptors stay
 * allocated, since that rank may still read them. MPICH aborts in MPI_Finalize
 * if a window still holds memory; but MPI_Finalize is collective as well, so
 * when it begins, all ranks free the remaining windows in the same order. */
#include "mpi_backend/mpi_rma_window.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    DESCS_LEN = AMG_MPI_DESCS * AMG_MPI_DESC_LEN,
    REGIONS_FIRST = 16,
#if defined(OPEN_MPI)
    /* MPI_Win_attach() refuses the 65th region over osc/rdma, and the next
     * MPI_Win_attach() never returns; osc/ucx refuses the 33rd region. */
    REGIONS_MAX = 24,
#else
    REGIONS_MAX = INT32_MAX,
#endif
};

/* Guards the list of windows left open. */
static struct amg_lock left_lock;
static struct amg_list left = {{&left.head, &left.head}};

void amg_mpi_regions_fini(struct amg_mpi_regions *regions)
{
    for (uint32_t i = 0; i < regions->count; i++)
        regions->ops.detach(regions->ops.arg, (void *)regions->list[i].base);
    amg_mem_free(regions->list);
    regions->list = NULL;
    regions->count = regions->cap = 0;
}

/* Index of the first region that ends after `at`, or the number of regions. */
static uint32_t region_find(const struct amg_mpi_regions *regions, uintptr_t at)
{
    uint32_t low = 0;
    uint32_t high = regions->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct amg_mpi_region *region = &regions->list[middle];

        if (at - region->base < region->len || at < region->base)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool region_has(
    const struct amg_mpi_region *region, uintptr_t base, uint64_t len)
{
    return base >= region->base && base - region->base <= region->len &&
           len <= region->len - (base - region->base);
}

static hg_return_t regions_grow(struct amg_mpi_regions *regions)
{
    uint32_t cap = regions->cap == 0 ? REGIONS_FIRST : 2 * regions->cap;
    struct amg_mpi_region *grown = NULL;

    if (regions->count < regions->cap)
        return HG_SUCCESS;
    grown = amg_mem_realloc(regions->list, cap * sizeof(*grown));
    if (grown == NULL)
        return HG_NOMEM;
    regions->list = grown;
    regions->cap = cap;
    return HG_SUCCESS;
}

hg_return_t amg_mpi_regions_ref(
    struct amg_mpi_regions *regions, const void *ptr, uint64_t len)
{
    uintptr_t base = (uintptr_t)ptr;
    uint32_t at = region_find(regions, base);
    struct amg_mpi_region *region = &regions->list[at];
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Bulk_create", len > 0 && len <= UINTPTR_MAX - base,
            "a segment of %llu bytes at 0x%llx passes the end of memory",
            (unsigned long long)len, (unsigned long long)base))
        return HG_INVALID_ARG;
    if (at < regions->count && region_has(region, base, len)) {
        if (region->whole == 0)
            return HG_OPNOTSUPPORTED;
        region->refs++;
        region->whole += len == region->len;
        return HG_SUCCESS;
    }
    if (at < regions->count &&
        (region->base <= base || region->base - base < len))
        return HG_OPNOTSUPPORTED;
    if (regions->count >= regions->max) {
        if (!regions->was_full)
            AMG_LOG_INFO("mpi",
                "%u segments of the program's memory are attached to an MPI "
                "window, the limit with this MPI; until some are freed, "
                "further segments move by messages",
                (unsigned)regions->max);
        regions->was_full = true;
        return HG_OPNOTSUPPORTED;
    }
    rc = regions_grow(regions);
    if (rc == HG_SUCCESS)
        rc = regions->ops.attach(regions->ops.arg, (void *)base, len);
    if (rc != HG_SUCCESS)
        return rc;
    region = &regions->list[at];
    memmove(region + 1, region, (regions->count - at) * sizeof(*region));
    *region = (struct amg_mpi_region){base, len, 1, 1};
    AMG_ASSERT(at == 0 || region[-1].base + region[-1].len <= base);
    regions->count++;
    return HG_SUCCESS;
}

void amg_mpi_regions_unref(
    struct amg_mpi_regions *regions, const void *ptr, uint64_t len)
{
    uint32_t at = region_find(regions, (uintptr_t)ptr);
    struct amg_mpi_region *region = &regions->list[at];

    AMG_ASSERT(at < regions->count && region_has(region, (uintptr_t)ptr, len));
    AMG_ASSERT(region->refs > 0 && region->whole <= region->refs);
    region->refs--;
    region->whole -= len == region->len;
    if (region->refs > 0)
        return;
    regions->ops.detach(regions->ops.arg, (void *)region->base);
    regions->count--;
    memmove(region, region + 1, (regions->count - at) * sizeof(*region));
}

static hg_return_t region_attach(void *arg, void *base, uint64_t len)
{
    struct amg_mpi_windows *windows = arg;
    int rc =
        MPI_Win_attach(windows->ways[AMG_MPI_WAY_DYNAMIC], base, (MPI_Aint)len);

    return rc == MPI_SUCCESS
               ? HG_SUCCESS
               : amg_mpi_comm_error(rc, "attaching memory to a window");
}

static void region_detach(void *arg, void *base)
{
    struct amg_mpi_windows *windows = arg;
    int rc = MPI_Win_detach(windows->ways[AMG_MPI_WAY_DYNAMIC], base);

    if (rc != MPI_SUCCESS)
        (void)amg_mpi_comm_error(rc, "detaching memory from a window");
}

/* Whether all ranks say yes; false also when MPI failed. Collective. */
static bool all_agree(MPI_Comm comm, bool is_mine)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int all = is_mine;
    int rc =
        MPI_Iallreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm, &request);

    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    if (rc != MPI_SUCCESS)
        (void)amg_mpi_comm_error(rc, "agreeing with all ranks");
    return rc == MPI_SUCCESS && all != 0;
}

/* Sets up a window that MPI has just created, or logs why MPI created none.
 * Returns whether all ranks have created the window; else no rank keeps it. A
 * window that only some ranks have cannot be freed. */
static bool window_agree(
    MPI_Comm comm, int rc, MPI_Win *window, const char *what)
{
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_lock_all(MPI_MODE_NOCHECK, *window);
    if (all_agree(comm, amg_mpi_comm_is_window(rc, what)))
        return true;
    *window = MPI_WIN_NULL;
    return false;
}

/* Collective; if a step fails at one rank, all ranks stop after that step. */
static bool windows_make(struct amg_mpi_windows *windows, MPI_Comm comm)
{
    MPI_Win *pool = &windows->ways[AMG_MPI_WAY_POOL];
    MPI_Win *dynamic = &windows->ways[AMG_MPI_WAY_DYNAMIC];
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Comm_idup(comm, &windows->comm, &request);

    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    if (!all_agree(comm, rc == MPI_SUCCESS)) {
        windows->comm = MPI_COMM_NULL;
        return false;
    }
    comm = windows->comm;
    rc = MPI_Win_create(
        windows->bytes, DESCS_LEN, 1, MPI_INFO_NULL, comm, &windows->descs);
    if (!window_agree(comm, rc, &windows->descs, "a window of keys"))
        return false;
    rc = MPI_Win_create(windows->area.base, (MPI_Aint)windows->area.len, 1,
        MPI_INFO_NULL, comm, pool);
    if (!window_agree(comm, rc, pool, "a window of the library's memory"))
        return false;
    rc = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, dynamic);
    return window_agree(comm, rc, dynamic, "a dynamic window");
}

static void window_free(MPI_Win *window)
{
    if (*window == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(*window);
    MPI_Win_free(window);
}

/* Collective. */
static void windows_free(struct amg_mpi_windows *windows)
{
    AMG_ASSERT(windows->regions.count == 0);
    for (unsigned way = 0; way < AMG_MPI_WAY_COUNT; way++)
        window_free(&windows->ways[way]);
    window_free(&windows->descs);
    if (windows->comm != MPI_COMM_NULL)
        MPI_Comm_free(&windows->comm);
    amg_mem_free(windows->bytes);
    amg_mem_free(windows);
}

static struct amg_mpi_windows *windows_alloc(
    const struct amg_mpi_comm *comm, const struct amg_area *area)
{
    struct amg_mpi_windows *windows = amg_mem_zalloc(sizeof(*windows));

    if (windows == NULL)
        return NULL;
    windows->comm = MPI_COMM_NULL;
    windows->rank = comm->rank;
    windows->size = comm->size;
    windows->descs = MPI_WIN_NULL;
    windows->barrier = MPI_REQUEST_NULL;
    for (unsigned way = 0; way < AMG_MPI_WAY_COUNT; way++)
        windows->ways[way] = MPI_WIN_NULL;
    if (area != NULL)
        windows->area = *area;
    windows->regions.ops =
        (struct amg_mpi_region_ops){region_attach, region_detach, windows};
    windows->regions.max = REGIONS_MAX;
    windows->bytes = amg_mem_alloc_aligned(AMG_MPI_DESC_LEN, DESCS_LEN);
    if (windows->bytes == NULL) {
        amg_mem_free(windows);
        return NULL;
    }
    memset(windows->bytes, 0, DESCS_LEN);
    return windows;
}

hg_return_t amg_mpi_windows_open(const struct amg_mpi_comm *comm,
    const struct amg_area *area, bool is_asked,
    struct amg_mpi_windows **ret_windows)
{
    uint64_t start_ns = amg_clock_ns();
    struct amg_mpi_windows *windows =
        ret_windows == NULL ? NULL : windows_alloc(comm, area);

    if (!all_agree(comm->data, windows != NULL)) {
        AMG_LOG_WARNING("mpi",
            "a rank has no memory for %d bytes of keys: bulk data moves by "
            "messages, not by windows",
            DESCS_LEN);
        if (windows != NULL)
            windows_free(windows);
        return HG_OPNOTSUPPORTED;
    }
    if (!windows_make(windows, comm->data)) {
        if (is_asked && comm->rank == 0)
            AMG_LOG_WARNING("mpi",
                "mpi+rma: this MPI did not create windows for all of %d ranks; "
                "bulk data moves by messages (AMALGAM_LOG=info tells why)",
                comm->size);
        amg_mpi_windows_close(windows, true);
        return HG_OPNOTSUPPORTED;
    }
    AMG_LOG_INFO("mpi", "windows over %d ranks made in %.1f ms", comm->size,
        (double)(amg_clock_ns() - start_ns) / AMG_NS_PER_MS);
    *ret_windows = windows;
    return HG_SUCCESS;
}

bool amg_mpi_windows_barrier(struct amg_mpi_windows *windows)
{
    int flag = 0;

    if (!windows->has_entered)
        windows->has_entered =
            MPI_Ibarrier(windows->comm, &windows->barrier) == MPI_SUCCESS;
    return windows->has_entered &&
           MPI_Test(&windows->barrier, &flag, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS &&
           flag != 0;
}

void amg_mpi_windows_close(struct amg_mpi_windows *windows, bool is_whole)
{
    if (windows == NULL)
        return;
    if (is_whole) {
        windows_free(windows);
        return;
    }
    amg_lock_lock(&left_lock);
    amg_list_push(&left, &windows->left);
    amg_lock_unlock(&left_lock);
}

/* Waits until all ranks have entered the barrier; false: gave up. */
static bool barrier_wait(
    struct amg_mpi_windows *windows, struct amg_patience *patience)
{
    unsigned tries = 0;

    while (!amg_mpi_windows_barrier(windows)) {
        enum amg_patience_verdict verdict = amg_patience_look(patience);

        if (verdict == AMG_PATIENCE_OVER)
            return false;
        if (verdict == AMG_PATIENCE_TELL)
            AMG_LOG_WARNING("mpi",
                "MPI_Finalize waits for all %d ranks, to free windows that a "
                "class left open",
                windows->size);
        amg_back_off(tries++);
    }
    return true;
}

/* Takes the windows that all ranks free next (the lowest number), or NULL. */
static struct amg_mpi_windows *left_take_locked(void)
{
    struct amg_link *link = amg_list_first(&left);
    struct amg_mpi_windows *lowest = NULL;

    AMG_ASSERT_HELD(&left_lock);
    for (; link != NULL; link = amg_list_next(&left, link)) {
        struct amg_mpi_windows *windows =
            amg_container_of(link, struct amg_mpi_windows, left);

        if (lowest == NULL || windows->number < lowest->number)
            lowest = windows;
    }
    if (lowest != NULL)
        amg_list_remove(&lowest->left);
    return lowest;
}

void amg_mpi_windows_stop(void)
{
    struct amg_patience patience = {0, 0};
    struct amg_mpi_windows *windows = NULL;

    amg_lock_lock(&left_lock);
    while ((windows = left_take_locked()) != NULL) {
        if (barrier_wait(windows, &patience)) {
            windows_free(windows);
            continue;
        }
        AMG_LOG_ERROR("mpi",
            "windows of a closed class could not be freed, because not all %d "
            "ranks came to MPI_Finalize in time; it may abort now",
            windows->size);
    }
    amg_lock_unlock(&left_lock);
}
