/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI windows of a domain.
 *
 * There are three. One holds the descriptors of each rank's exposed memory, in
 * memory of the driver. The pool window covers the library's memory; creating
 * it touches none of its pages. Any memory can be attached to the dynamic
 * window; with MPICH 4.0.2 (ch4:ucx) it is ten times slower.
 *
 * Creating one takes 16 to 60 ms if ranks wait for a core, else 1 ms, so they
 * are created once per domain and never per handle. One epoch of
 * MPI_Win_lock_all lasts as long as they do.
 *
 * Freeing is collective, and blocks. So all ranks first pass a non-blocking
 * barrier: one may have given up on others that miss no rank. If a rank does
 * not enter it, windows and descriptors stay allocated, since the silent rank
 * may still read them. MPICH aborts in MPI_Finalize if a window still holds
 * memory; but that call is collective as well, and so the remaining windows are
 * freed when it begins, in the same order on all ranks. */
#include "mpi_backend/mpi_rma_window.h"

#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    DESCS_LEN = AMG_MPI_DESCS * AMG_MPI_DESC_LEN,
    SLEEP_NS = 50000, /* between two tests for the others */
};

/* Guards the list of those left open. */
static struct amg_lock left_lock;
static struct amg_list left = {{&left.head, &left.head}};

/* Whether all ranks can take the next step. Collective. */
static bool all_have(MPI_Comm comm, bool is_mine)
{
    int mine = is_mine;
    int all = 0;

    return MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) ==
               MPI_SUCCESS &&
           all != 0;
}

/* Sets up a window that MPI has just created, or logs why it did not. */
static bool window_begin(int rc, MPI_Win window, const char *what)
{
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    if (rc != MPI_SUCCESS)
        (void)amg_mpi_comm_error(rc, what);
    return rc == MPI_SUCCESS;
}

/* One step: all ranks have created the window, or none keeps it. A window that
 * only some ranks have cannot be freed. */
static bool window_agree(
    MPI_Comm comm, int rc, MPI_Win *window, const char *what)
{
    if (all_have(comm, window_begin(rc, *window, what)))
        return true;
    *window = MPI_WIN_NULL;
    return false;
}

/* Unique, as no rank gets the same time twice. */
static int number_agree(struct amg_mpi_windows *windows)
{
    uint64_t now_ns = amg_clock_ns();

    return MPI_Allreduce(
        &now_ns, &windows->number, 1, MPI_UINT64_T, MPI_MAX, windows->comm);
}

/* Collective; a step that fails at one rank is the last one for all. */
static bool windows_make(struct amg_mpi_windows *windows, MPI_Comm comm)
{
    MPI_Win *pool = &windows->ways[AMG_MPI_WAY_POOL];
    MPI_Win *dynamic = &windows->ways[AMG_MPI_WAY_DYNAMIC];
    int rc = MPI_Comm_dup(comm, &windows->comm);

    if (!all_have(comm, rc == MPI_SUCCESS)) {
        windows->comm = MPI_COMM_NULL;
        return false;
    }
    comm = windows->comm;
    rc = number_agree(windows);
    if (!all_have(comm, rc == MPI_SUCCESS))
        return false;
    rc = MPI_Win_create(
        windows->bytes, DESCS_LEN, 1, MPI_INFO_NULL, comm, &windows->descs);
    if (!window_agree(comm, rc, &windows->descs, "making the window of keys"))
        return false;
    rc = MPI_Win_create(windows->area.base, (MPI_Aint)windows->area.len, 1,
        MPI_INFO_NULL, comm, pool);
    if (!window_agree(
            comm, rc, pool, "making the window of the library's memory"))
        return false;
    rc = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, dynamic);
    return window_agree(comm, rc, dynamic, "making the dynamic window");
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
    windows->bytes = amg_mem_alloc_aligned(AMG_MPI_DESC_LEN, DESCS_LEN);
    if (windows->bytes == NULL) {
        amg_mem_free(windows);
        return NULL;
    }
    memset(windows->bytes, 0, DESCS_LEN);
    return windows;
}

hg_return_t amg_mpi_windows_open(const struct amg_mpi_comm *comm,
    const struct amg_area *area, struct amg_mpi_windows **ret_windows)
{
    uint64_t start_ns = amg_clock_ns();
    struct amg_mpi_windows *windows = windows_alloc(comm, area);

    if (!all_have(comm->data, windows != NULL)) {
        AMG_LOG_WARNING("mpi",
            "a rank has no memory for %d bytes of keys: bulk data moves by "
            "messages, not by windows",
            DESCS_LEN);
        if (windows != NULL)
            windows_free(windows);
        return HG_OPNOTSUPPORTED;
    }
    if (!windows_make(windows, comm->data)) {
        AMG_LOG_WARNING("mpi",
            "not all of %d ranks could make their windows; bulk data moves by "
            "messages",
            comm->size);
        amg_mpi_windows_close(windows, true);
        return HG_OPNOTSUPPORTED;
    }
    windows->open_ns = amg_clock_ns() - start_ns;
    AMG_LOG_INFO("mpi", "windows over %d ranks made in %.1f ms", comm->size,
        (double)windows->open_ns / AMG_NS_PER_MS);
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

/* Waits until all ranks have entered; false: gave up on some. */
static bool barrier_wait(
    struct amg_mpi_windows *windows, struct amg_patience *patience)
{
    while (!amg_mpi_windows_barrier(windows)) {
        enum amg_patience_verdict verdict = amg_patience_look(patience);

        if (verdict == AMG_PATIENCE_OVER)
            return false;
        if (verdict == AMG_PATIENCE_TELL)
            AMG_LOG_WARNING("mpi",
                "MPI_Finalize waits for all %d ranks of a class that was left "
                "open, to free its windows",
                windows->size);
        amg_clock_sleep_ns(SLEEP_NS);
    }
    return true;
}

/* The one with the lowest number, or NULL: the same order on all ranks. */
static struct amg_mpi_windows *left_take_locked(void)
{
    struct amg_link *link = amg_list_first(&left);
    struct amg_mpi_windows *lowest = NULL;

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
