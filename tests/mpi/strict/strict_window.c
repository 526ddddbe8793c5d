/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: their epochs, their bounds, and the memory attached to them. */
#include <stdlib.h>

#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_rma.h"
#include "mpi/strict/strict_send.h"
#include "mpi/strict/strict_token.h"

static struct strict_window *windows;

struct strict_window *strict_window_of(MPI_Win real)
{
    struct strict_window *window = windows;

    while (window != NULL && window->real != real)
        window = window->next;
    if (window == NULL)
        strict_finding("this is no window, or it was freed before");
    return window;
}

/* Whether all bytes are attached; regions may be adjacent. */
static bool is_attached(
    const struct strict_window *window, MPI_Aint low, MPI_Aint len)
{
    const struct strict_region *one = window->regions;

    for (; one != NULL; one = one->next)
        if (low >= one->base && low + len <= one->base + one->len)
            return true;
    return false;
}

void strict_window_check_access(const struct strict_access *access)
{
    const struct strict_window *window = access->window;
    int target = access->target;

    if (target < 0 || target >= window->size) {
        strict_finding(
            "rank %d is not of the window's %d ranks", target, window->size);
        return;
    }
    if (!window->is_locked_all && !window->are_locked[target] &&
        !window->is_fenced)
        strict_finding("no epoch is open to rank %d", target);
    if (access->len <= 0)
        return;
    if (window->lens != NULL &&
        (access->low < 0 || access->low + access->len > window->lens[target]))
        strict_finding("%lld bytes at %lld exceed the %lld bytes of rank %d",
            (long long)access->len, (long long)access->low,
            (long long)window->lens[target], target);
    if (window->is_dynamic && target == strict_window_rank(window) &&
        !is_attached(window, access->low, access->len))
        strict_finding("%lld bytes at %lld are not attached",
            (long long)access->len, (long long)access->low);
}

int strict_window_rank(const struct strict_window *window)
{
    MPI_Group group = MPI_GROUP_NULL;
    int rank = -1;

    (void)PMPI_Win_get_group(window->real, &group);
    (void)PMPI_Group_rank(group, &rank);
    (void)PMPI_Group_free(&group);
    return rank;
}

/* Collective: tells all ranks how much memory each has. */
static void window_add(
    MPI_Win real, MPI_Comm comm, MPI_Aint len, int unit, bool is_dynamic)
{
    struct strict_window *window = calloc(1, sizeof(*window));
    unsigned depth = 0;

    if (window == NULL)
        abort();
    window->real = real;
    window->is_dynamic = is_dynamic;
    (void)PMPI_Comm_size(comm, &window->size);
    window->are_locked =
        calloc((size_t)window->size, sizeof(*window->are_locked));
    if (!is_dynamic) {
        window->lens = calloc((size_t)window->size, sizeof(*window->lens));
        window->units = calloc((size_t)window->size, sizeof(*window->units));
        depth = strict_meet_open(comm);
        (void)PMPI_Allgather(
            &len, 1, MPI_AINT, window->lens, 1, MPI_AINT, comm);
        (void)PMPI_Allgather(
            &unit, 1, MPI_INT, window->units, 1, MPI_INT, comm);
        strict_meet_close(depth);
    }
    window->next = windows;
    windows = window;
    strict_object_add(STRICT_WINDOW, STRICT_HANDLE(real));
}

/* Waits for other ranks. */
#define MAKING(name, parameters, arguments, len, unit, is_dynamic)             \
    int name parameters                                                        \
    {                                                                          \
        unsigned depth = 0;                                                    \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        strict_comm_check(comm);                                               \
        strict_flush();                                                        \
        strict_stall();                                                        \
        depth = strict_meet_open(comm);                                        \
        rc = P##name arguments;                                                \
        strict_meet_close(depth);                                              \
        strict_stall();                                                        \
        if (rc == MPI_SUCCESS)                                                 \
            window_add(*win, comm, len, unit, is_dynamic);                     \
        strict_leave();                                                        \
        return rc;                                                             \
    }

MAKING(MPI_Win_create,
    (void *base, MPI_Aint len, int unit, MPI_Info info, MPI_Comm comm,
        MPI_Win *win),
    (base, len, unit, info, comm, win), len, unit, false)
MAKING(MPI_Win_allocate,
    (MPI_Aint len, int unit, MPI_Info info, MPI_Comm comm, void *base,
        MPI_Win *win),
    (len, unit, info, comm, base, win), len, unit, false)
MAKING(MPI_Win_allocate_shared,
    (MPI_Aint len, int unit, MPI_Info info, MPI_Comm comm, void *base,
        MPI_Win *win),
    (len, unit, info, comm, base, win), len, unit, false)
MAKING(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win),
    (info, comm, win), 0, 1, true)

static bool has_lock(const struct strict_window *window)
{
    for (int i = 0; i < window->size; i++)
        if (window->are_locked[i])
            return true;
    return window->is_locked_all;
}

static void window_remove(struct strict_window *window)
{
    struct strict_window **at = &windows;

    while (*at != window)
        at = &(*at)->next;
    *at = window->next;
    strict_object_remove(STRICT_WINDOW, STRICT_HANDLE(window->real));
    while (window->regions != NULL) {
        struct strict_region *region = window->regions;

        window->regions = region->next;
        free(region);
    }
    free(window->lens);
    free(window->units);
    free(window->are_locked);
    free(window);
}

int MPI_Win_free(MPI_Win *win)
{
    struct strict_window *window = NULL;
    unsigned depth = 0;
    uint64_t number = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    window = strict_window_of(*win);
    if (window != NULL && has_lock(window))
        strict_finding("an epoch of this window is open");
    if (window != NULL && window->regions != NULL)
        strict_finding("memory is still attached to this window");
    if (window != NULL) {
        number = strict_access_begin_flush(window, -1);
        strict_access_end(window, -1, number);
    }
    strict_flush();
    depth = strict_meet_open_window(*win);
    rc = PMPI_Win_free(win);
    strict_meet_close(depth);
    if (window != NULL)
        window_remove(window);
    strict_leave();
    return rc;
}

int MPI_Win_fence(int mode, MPI_Win win)
{
    struct strict_window *window = NULL;
    unsigned depth = 0;
    uint64_t number = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    window = strict_window_of(win);
    if (window != NULL && has_lock(window))
        strict_finding("a lock of this window is held");
    number = strict_access_begin_flush(window, -1);
    strict_flush();
    depth = strict_meet_open_window(win);
    rc = PMPI_Win_fence(mode, win);
    strict_meet_close(depth);
    strict_access_end(window, -1, number);
    if (window != NULL)
        window->is_fenced = (mode & MPI_MODE_NOSUCCEED) == 0;
    strict_leave();
    return rc;
}

int MPI_Win_lock_all(int mode, MPI_Win win)
{
    struct strict_window *window = NULL;
    unsigned depth = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    window = strict_window_of(win);
    if (window != NULL && has_lock(window))
        strict_finding("a lock of this window is held already");
    depth = strict_poke_open();
    rc = PMPI_Win_lock_all(mode, win);
    strict_poke_close(depth);
    if (rc == MPI_SUCCESS && window != NULL)
        window->is_locked_all = true;
    strict_leave();
    return rc;
}

int MPI_Win_lock(int type, int target, int mode, MPI_Win win)
{
    struct strict_window *window = NULL;
    unsigned depth = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    window = strict_window_of(win);
    if (window != NULL && (window->is_locked_all || target >= window->size ||
                              window->are_locked[target]))
        strict_finding("rank %d is locked already", target);
    depth = strict_poke_open();
    rc = PMPI_Win_lock(type, target, mode, win);
    strict_poke_close(depth);
    if (rc == MPI_SUCCESS && window != NULL)
        window->are_locked[target] = true;
    strict_leave();
    return rc;
}

/* `target` -1: all. `must_lock`: by MPI_Win_lock_all. */
static void locked_check(
    const struct strict_window *window, int target, bool must_lock_all)
{
    bool is_locked = window != NULL && window->is_locked_all;

    if (window == NULL)
        return;
    if (!must_lock_all)
        is_locked = is_locked || target < 0 || window->are_locked[target];
    if (!is_locked || !has_lock(window))
        strict_finding("no lock of this window is held");
}

/* Calls that end accesses, and may wait for their targets. */
#define ENDING(name, parameters, arguments, target, must_lock_all, unlocks)    \
    int name parameters                                                        \
    {                                                                          \
        struct strict_window *window = NULL;                                   \
        unsigned depth = 0;                                                    \
        uint64_t number = 0;                                                   \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        window = strict_window_of(win);                                        \
        locked_check(window, target, must_lock_all);                           \
        strict_flush();                                                        \
        rc = strict_window_fails(win);                                         \
        if (rc == MPI_SUCCESS) {                                               \
            number = strict_access_begin_flush(window, target);                \
            depth = strict_poke_open();                                        \
            rc = P##name arguments;                                            \
            strict_poke_close(depth);                                          \
            strict_access_end(window, target, number);                         \
        }                                                                      \
        unlocks;                                                               \
        strict_leave();                                                        \
        return rc;                                                             \
    }

ENDING(MPI_Win_flush, (int target, MPI_Win win), (target, win), target, false, )
ENDING(MPI_Win_flush_all, (MPI_Win win), (win), -1, false, )
ENDING(MPI_Win_unlock, (int target, MPI_Win win), (target, win), target, false,
    window->are_locked[target] = false)
ENDING(MPI_Win_unlock_all, (MPI_Win win), (win), -1, true,
    window->is_locked_all = false)

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint len)
{
    struct strict_window *window = NULL;
    struct strict_region *region = calloc(1, sizeof(*region));
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    window = strict_window_of(win);
    rc = strict_window_fails(win);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Win_attach(win, base, len);
    region->base = (MPI_Aint)(uintptr_t)base;
    region->len = len;
    for (const struct strict_region *one = window->regions; one != NULL;
         one = one->next)
        if (region->base < one->base + one->len &&
            one->base < region->base + len)
            strict_finding("%lld bytes at %p overlap %lld bytes that are "
                           "attached already",
                (long long)len, base, (long long)one->len);
    if (rc == MPI_SUCCESS) {
        region->next = window->regions;
        window->regions = region;
        region = NULL;
    }
    free(region);
    strict_leave();
    return rc;
}

int MPI_Win_detach(MPI_Win win, const void *base)
{
    struct strict_window *window = NULL;
    struct strict_region **at = NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    window = strict_window_of(win);
    at = &window->regions;
    while (*at != NULL && (*at)->base != (MPI_Aint)(uintptr_t)base)
        at = &(*at)->next;
    if (*at == NULL) {
        strict_finding("no memory at %p is attached", base);
    } else {
        struct strict_region *region = *at;

        *at = region->next;
        free(region);
    }
    rc = PMPI_Win_detach(win, base);
    strict_leave();
    return rc;
}
