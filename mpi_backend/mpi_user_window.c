/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of the program that a domain knows.
 *
 * A rank that exposes memory in a window names the window by a number, and who
 * wants to use it has to know the number, too. So the first rank of the window
 * gives it one, and tells the others when they learn of the window; nothing
 * else passes between them. The number is the first rank's own, so that two
 * windows never have the same.
 *
 * An attribute of the window tells when the program frees it. */
#include "mpi_backend/mpi_user_window.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_poll.h"
#include "mpi_backend/mpi_public.h"

enum {
    NUMBER_BITS = 10, /* of an id; the rank stands above them */
    NUMBER_MAX = (1 << NUMBER_BITS) - 1,
};

/* The program frees the window, or the domain forgets it. */
static int window_gone(MPI_Win win, int keyval, void *value, void *extra)
{
    struct amg_mpi_user_window *window = value;
    struct amg_mpi_domain *domain = window->domain;

    (void)win;
    (void)keyval;
    (void)extra;
    amg_bias_take(domain->lock);
    amg_list_remove(&window->link);
    amg_bias_give(domain->lock);
    amg_mem_free(window);
    return MPI_SUCCESS;
}

MPI_Errhandler amg_mpi_user_window_begin(MPI_Win win)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    MPI_Win_get_errhandler(win, &handler);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return handler;
}

void amg_mpi_user_window_end(MPI_Win win, MPI_Errhandler handler)
{
    MPI_Win_set_errhandler(win, handler);
    if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
        MPI_Errhandler_free(&handler);
}

/* What this rank has in the window. HG_INVALID_ARG: it is dynamic. */
static hg_return_t part_read(
    MPI_Win win, struct amg_segment *ret_part, uint32_t *ret_unit)
{
    void *base = NULL;
    MPI_Aint *len = NULL;
    int *unit = NULL;
    int *flavor = NULL;
    int flag = 0;

    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    if (!flag || *flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        AMG_LOG_ERROR("bulk", "a dynamic window has no memory of its own: give "
                              "what is attached to it to HG_Bulk_create()");
        return HG_INVALID_ARG;
    }
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &len, &flag);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    *ret_part = (struct amg_segment){base, (uint64_t)*len};
    *ret_unit = (uint32_t)*unit;
    return HG_SUCCESS;
}

/* Which rank of the domain is which of the window, and which is its first.
 * HG_ADDRNOTAVAIL: the domain lacks one. */
static hg_return_t ranks_read(
    const struct amg_mpi_domain *domain, MPI_Win win, int *ret_ranks)
{
    MPI_Group theirs = MPI_GROUP_NULL;
    MPI_Group ours = MPI_GROUP_NULL;
    hg_return_t rc = HG_SUCCESS;
    int size = 0;
    int found = 0;

    MPI_Win_get_group(win, &theirs);
    MPI_Comm_group(domain->comm.data, &ours);
    MPI_Group_size(theirs, &size);
    for (int rank = 0; rank < domain->comm.size; rank++) {
        MPI_Group_translate_ranks(ours, 1, &rank, theirs, &ret_ranks[rank]);
        found += ret_ranks[rank] != MPI_UNDEFINED;
    }
    if (found < size) {
        AMG_LOG_ERROR("bulk",
            "%d of the %d ranks of the window are not in this class",
            size - found, size);
        rc = HG_ADDRNOTAVAIL;
    }
    MPI_Group_free(&ours);
    MPI_Group_free(&theirs);
    return rc;
}

/* The window's first rank as the domain knows it. */
static int first_of(const struct amg_mpi_user_window *window)
{
    int rank = 0;

    while (window->ranks[rank] != 0)
        rank++;
    return rank;
}

/* Tells all others the number; such a message is eager, and leaves at once. */
static hg_return_t id_tell(
    struct amg_mpi_domain *domain, const struct amg_mpi_user_window *window)
{
    for (int rank = 0; rank < domain->comm.size; rank++) {
        int rc = MPI_SUCCESS;

        if (window->ranks[rank] == MPI_UNDEFINED || rank == domain->comm.rank)
            continue;
        rc = MPI_Send(&window->id, 1, MPI_UINT32_T, rank, domain->tag_window,
            domain->comm.data);
        if (rc != MPI_SUCCESS)
            return amg_mpi_comm_error(rc, "naming a window");
    }
    return HG_SUCCESS;
}

/* Waits for the number, and serves the others meanwhile. */
static hg_return_t id_await_locked(
    struct amg_mpi_domain *domain, int first, uint32_t *ret_id)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_FINALIZE_TIMEOUT);
    uint64_t end_ns = amg_clock_deadline_ns(timeout_ms);
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned looks = 0;
    int flag = 0;
    int rc = MPI_Irecv(ret_id, 1, MPI_UINT32_T, first, domain->tag_window,
        domain->comm.data, &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag || rc != MPI_SUCCESS)
            break;
        if (amg_clock_ns() >= end_ns) {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            AMG_LOG_ERROR("bulk",
                "rank %d, the first one of the window, did not expose memory "
                "of it within %u ms; all ranks of the window have to",
                first, timeout_ms);
            return HG_TIMEOUT;
        }
        amg_mpi_poll_wait_locked(domain, &looks);
    }
    return rc == MPI_SUCCESS
               ? HG_SUCCESS
               : amg_mpi_comm_error(rc, "learning the name of a window");
}

/* The part of learning that all ranks of the window do. */
static hg_return_t window_name_locked(struct amg_mpi_user_window *window)
{
    struct amg_mpi_domain *domain = window->domain;
    int first = first_of(window);

    if (first != domain->comm.rank)
        return id_await_locked(domain, first, &window->id);
    if (domain->user_window_count >= NUMBER_MAX) {
        AMG_LOG_ERROR("bulk",
            "%d windows were exposed by this class; no more "
            "can be",
            NUMBER_MAX);
        return HG_NOMEM;
    }
    window->id = (uint32_t)first << NUMBER_BITS | ++domain->user_window_count;
    return id_tell(domain, window);
}

static hg_return_t window_make_locked(struct amg_mpi_domain *domain,
    MPI_Win win, struct amg_mpi_user_window **ret_window)
{
    struct amg_mpi_user_window *window = amg_mem_zalloc(
        sizeof(*window) + (size_t)domain->comm.size * sizeof(window->ranks[0]));
    hg_return_t rc = HG_SUCCESS;

    if (window == NULL)
        return HG_NOMEM;
    window->domain = domain;
    window->win = win;
    rc = part_read(win, &window->part, &window->unit);
    if (rc == HG_SUCCESS)
        rc = ranks_read(domain, win, window->ranks);
    if (rc == HG_SUCCESS)
        rc = window_name_locked(window);
    if (rc != HG_SUCCESS) {
        amg_mem_free(window);
        return rc;
    }
    *ret_window = window;
    return HG_SUCCESS;
}

/* What the domain knows of it already, or NULL. */
static struct amg_mpi_user_window *window_known(
    const struct amg_mpi_domain *domain, MPI_Win win)
{
    struct amg_mpi_user_window *window = NULL;
    int flag = 0;

    if (domain->user_window_key != MPI_KEYVAL_INVALID)
        MPI_Win_get_attr(win, domain->user_window_key, &window, &flag);
    return flag ? window : NULL;
}

static hg_return_t window_keep_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_user_window *window)
{
    int rc = MPI_SUCCESS;

    if (domain->user_window_key == MPI_KEYVAL_INVALID)
        rc = MPI_Win_create_keyval(
            MPI_WIN_NULL_COPY_FN, window_gone, &domain->user_window_key, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_set_attr(window->win, domain->user_window_key, window);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "watching a window");
    amg_list_push(&domain->user_windows, &window->link);
    return HG_SUCCESS;
}

hg_return_t amg_mpi_window_learn(
    struct amg_domain *base, MPI_Win win, struct amg_segment *ret_part)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_user_window *window = NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!amg_mpi_comm_may_call(&domain->comm) || domain->is_dead) {
        AMG_LOG_ERROR("bulk", "this thread may not call MPI, or MPI has ended");
        return HG_OPNOTSUPPORTED;
    }
    amg_bias_take(domain->lock);
    handler = amg_mpi_user_window_begin(win);
    window = window_known(domain, win);
    if (window == NULL) {
        rc = window_make_locked(domain, win, &window);
        if (rc == HG_SUCCESS) {
            rc = window_keep_locked(domain, window);
            if (rc != HG_SUCCESS)
                amg_mem_free(window);
        }
    }
    if (rc == HG_SUCCESS)
        *ret_part = window->part;
    amg_mpi_user_window_end(win, handler);
    amg_bias_give(domain->lock);
    return rc;
}

static bool part_has(
    const struct amg_segment *part, const struct amg_segment *segment)
{
    uintptr_t into = (uintptr_t)segment->base - (uintptr_t)part->base;

    return segment->len == 0 ||
           (into <= part->len && segment->len <= part->len - into);
}

const struct amg_mpi_user_window *amg_mpi_user_window_of_locked(
    const struct amg_mpi_domain *domain, const struct amg_segment *segments,
    uint32_t count)
{
    struct amg_link *link = amg_list_first(&domain->user_windows);

    for (; link != NULL; link = amg_list_next(&domain->user_windows, link)) {
        const struct amg_mpi_user_window *window =
            AMG_OBJECT(link, struct amg_mpi_user_window, link);
        uint32_t i = 0;

        while (i < count && part_has(&window->part, &segments[i]))
            i++;
        if (i == count)
            return window;
    }
    return NULL;
}

const struct amg_mpi_user_window *amg_mpi_user_window_find_locked(
    const struct amg_mpi_domain *domain, uint32_t id)
{
    struct amg_link *link = amg_list_first(&domain->user_windows);

    for (; link != NULL; link = amg_list_next(&domain->user_windows, link)) {
        const struct amg_mpi_user_window *window =
            AMG_OBJECT(link, struct amg_mpi_user_window, link);

        if (window->id == id)
            return window;
    }
    return NULL;
}

void amg_mpi_user_window_fini(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    if (domain->user_window_key == MPI_KEYVAL_INVALID)
        return;
    while ((link = amg_list_first(&domain->user_windows)) != NULL) {
        const struct amg_mpi_user_window *window =
            AMG_OBJECT(link, struct amg_mpi_user_window, link);

        MPI_Win_delete_attr(window->win, domain->user_window_key);
    }
    MPI_Win_free_keyval(&domain->user_window_key);
}
