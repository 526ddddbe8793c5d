/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of the program that a domain knows.
 *
 * A rank that exposes memory in a window names the window by a number, and who
 * wants to use it has to know the number, too. So the first rank of the window
 * gives it one, and tells the others when they learn of the window; nothing
 * else passes between them. The number is the first rank's own, so that two
 * windows never have the same at a time.
 *
 * Numbers come in the order of first calls, and do not say which window they
 * are for. So who fails keeps in step: a first rank tells that there is no
 * number; another one that did not take its number learns of no further window,
 * because the next number may be the one it has missed. A wrong number would
 * lead to wrong memory.
 *
 * An attribute of the window tells when the program frees it. */
#include "mpi_backend/mpi_user_window.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_group.h"
#include "mpi_backend/mpi_poll.h"
#include "mpi_backend/mpi_public.h"
#include "mpi_backend/mpi_trip.h"

enum { ID_NONE = 0 }; /* not known yet; as a message: there is none */

/* The program frees the window, or the domain forgets it. */
static int window_gone(MPI_Win win, int keyval, void *value, void *extra)
{
    struct amg_mpi_user_window *window = value;
    struct amg_mpi_domain *domain = window->domain;

    (void)keyval;
    (void)extra;
    if (domain != NULL) {
        amg_bias_take(domain->lock);
        amg_list_remove(&window->link);
        if (domain->rma != NULL) /* MPI may use its number again */
            amg_mpi_trip_window_gone_locked(domain->rma, win);
        amg_bias_give(domain->lock);
    }
    amg_mem_free(window);
    return MPI_SUCCESS;
}

/* Nothing but the attribute is left to go, so that it takes no lock. */
static void window_forget_locked(struct amg_mpi_user_window *window)
{
    int key = window->domain->user_window_key;

    amg_list_remove(&window->link);
    window->domain = NULL;
    MPI_Win_delete_attr(window->win, key);
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

/* What the first rank sends. */
struct naming {
    uint64_t nonce; /* of the class: MPI may give what an earlier one left */
    uint64_t id;
};

/* Tells up to AMG_MPI_GROUP_BLOCK ranks, and serves them meanwhile: MPI need
 * not send such a message before its receiver asks for it. The lock is given
 * and taken again.
 */
static int block_tell_locked(struct amg_mpi_domain *domain, const int *ranks,
    int count, const struct naming *naming)
{
    MPI_Request requests[AMG_MPI_GROUP_BLOCK];
    MPI_Status statuses[AMG_MPI_GROUP_BLOCK];
    unsigned looks = 0;
    int posted = 0;
    int flag = 0;
    int rc = MPI_SUCCESS;

    for (; posted < count && rc == MPI_SUCCESS; posted += rc == MPI_SUCCESS)
        rc = MPI_Isend(naming, sizeof(*naming), MPI_BYTE, ranks[posted],
            domain->tag_window, domain->comm.data, &requests[posted]);
    while (!flag) {
        int tested = MPI_Testall(posted, requests, &flag, statuses);

        if (tested != MPI_SUCCESS)
            return tested;
        if (!flag)
            amg_mpi_poll_wait_locked(domain, &looks);
    }
    return rc;
}

/* Tells all others the number. */
static hg_return_t id_tell_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_group *groups, uint32_t id)
{
    const struct naming naming = {domain->nonce, id};
    hg_return_t ret = HG_SUCCESS;
    int here[AMG_MPI_GROUP_BLOCK];
    int count = 0;

    for (int first = 0; first < groups->size; first += count) {
        int skip = first == 0; /* the caller */
        int rc = MPI_SUCCESS;

        count = amg_mpi_group_here(groups, first, here);
        rc = block_tell_locked(domain, here + skip, count - skip, &naming);
        if (rc != MPI_SUCCESS)
            ret = amg_mpi_comm_error(rc, "naming a window");
    }
    return ret;
}

/* False: it has come after all. */
static bool id_is_cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = 0;

    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &flag);
    return flag != 0;
}

/* Takes the next one that comes, and serves the others meanwhile. */
static hg_return_t naming_take_locked(struct amg_mpi_domain *domain, int first,
    uint64_t end_ns, struct naming *ret_naming)
{
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned looks = 0;
    int flag = 0;
    int rc = MPI_Irecv(ret_naming, sizeof(*ret_naming), MPI_BYTE, first,
        domain->tag_window, domain->comm.data, &request);

    while (rc == MPI_SUCCESS) {
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag || rc != MPI_SUCCESS)
            break;
        if (amg_clock_ns() >= end_ns)
            return id_is_cancelled(&request) ? HG_TIMEOUT : HG_SUCCESS;
        amg_mpi_poll_wait_locked(domain, &looks);
    }
    return rc == MPI_SUCCESS
               ? HG_SUCCESS
               : amg_mpi_comm_error(rc, "learning the name of a window");
}

static hg_return_t id_await_locked(
    struct amg_mpi_domain *domain, int first, uint32_t *ret_id)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_FINALIZE_TIMEOUT);
    uint64_t end_ns = amg_clock_deadline_ns(timeout_ms);
    struct naming naming = {0, ID_NONE};
    hg_return_t rc = HG_SUCCESS;

    while (rc == HG_SUCCESS && naming.nonce != domain->nonce)
        rc = naming_take_locked(domain, first, end_ns, &naming);
    if (rc == HG_TIMEOUT)
        AMG_LOG_ERROR("bulk",
            "rank %d, the first one of the window, did not expose memory of it "
            "within %u ms; all ranks of the window have to",
            first, timeout_ms);
    if (rc == HG_SUCCESS && naming.id == ID_NONE) {
        AMG_LOG_ERROR("bulk",
            "rank %d, the first one of the window, could not give it a number; "
            "its log says why",
            first);
        return HG_NOMEM;
    }
    if (rc == HG_SUCCESS)
        *ret_id = (uint32_t)naming.id;
    return rc;
}

/* Numbers that were never asked for. */
static void namings_drop_locked(const struct amg_mpi_domain *domain)
{
    int flag = 1;

    while (flag) {
        struct naming naming;
        MPI_Status status;

        if (MPI_Iprobe(MPI_ANY_SOURCE, domain->tag_window, domain->comm.data,
                &flag, &status) != MPI_SUCCESS ||
            !flag)
            return;
        MPI_Recv(&naming, sizeof(naming), MPI_BYTE, status.MPI_SOURCE,
            domain->tag_window, domain->comm.data, MPI_STATUS_IGNORE);
    }
}

const struct amg_mpi_user_window *amg_mpi_user_window_find_locked(
    const struct amg_mpi_domain *domain, uint32_t id)
{
    struct amg_link *link = amg_list_first(&domain->user_windows);

    for (; link != NULL; link = amg_list_next(&domain->user_windows, link)) {
        const struct amg_mpi_user_window *window =
            AMG_OBJECT(link, struct amg_mpi_user_window, link);

        if (window->id == id && id != ID_NONE)
            return window;
    }
    return NULL;
}

/* The next number that no window has; this rank's own part of them begins with
 * its rank, in as few bits as all ranks need. So it takes millions of windows
 * until one comes again, to which an entry of memory might still lead that was
 * in a window before. ID_NONE: all are in use. */
static uint32_t id_choose_locked(struct amg_mpi_domain *domain)
{
    unsigned bits = 32;
    uint32_t max = 0;

    while (domain->comm.size > INT64_C(1) << (32 - bits))
        bits--;
    max = (uint32_t)((UINT64_C(1) << bits) - 1);
    for (uint32_t i = 0; i < max; i++) {
        uint32_t id = (uint32_t)((uint64_t)(unsigned)domain->comm.rank << bits);

        domain->user_window_count = domain->user_window_count % max + 1;
        id |= domain->user_window_count;
        if (amg_mpi_user_window_find_locked(domain, id) == NULL)
            return id;
    }
    AMG_LOG_ERROR("bulk",
        "this class knows %u windows of which this rank is the first, and no "
        "more can be; free some",
        max);
    return ID_NONE;
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

/* Makes what is kept of a window, which has no number yet. */
static hg_return_t window_make_locked(struct amg_mpi_domain *domain,
    MPI_Win win, const struct amg_mpi_user_window *like,
    const struct amg_mpi_group *groups, struct amg_mpi_user_window **ret_window)
{
    struct amg_mpi_user_window *window = amg_mem_zalloc(
        sizeof(*window) + (size_t)domain->comm.size * sizeof(window->ranks[0]));
    int here[AMG_MPI_GROUP_BLOCK];
    int count = 0;
    int rc = MPI_SUCCESS;

    if (window == NULL)
        return HG_NOMEM;
    *window = *like;
    for (int rank = 0; rank < domain->comm.size; rank++)
        window->ranks[rank] = MPI_UNDEFINED;
    for (int first = 0; first < groups->size; first += count) {
        count = amg_mpi_group_here(groups, first, here);
        for (int i = 0; i < count; i++)
            window->ranks[here[i]] = first + i;
    }
    if (domain->user_window_key == MPI_KEYVAL_INVALID)
        rc = MPI_Win_create_keyval(
            MPI_WIN_NULL_COPY_FN, window_gone, &domain->user_window_key, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_set_attr(win, domain->user_window_key, window);
    if (rc != MPI_SUCCESS) {
        amg_mem_free(window);
        return amg_mpi_comm_error(rc, "watching a window");
    }
    amg_list_push(&domain->user_windows, &window->link);
    *ret_window = window;
    return HG_SUCCESS;
}

/* The first rank's part of learning; `window` is NULL where `made` is an
 * error. The lock is given and taken again. */
static hg_return_t window_name_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_user_window *window, const struct amg_mpi_group *groups,
    hg_return_t made)
{
    uint32_t id = made == HG_SUCCESS ? id_choose_locked(domain) : ID_NONE;
    hg_return_t rc = HG_SUCCESS;

    if (id != ID_NONE)
        window->id = id; /* nobody else chooses it meanwhile */
    rc = id_tell_locked(domain, groups, id);
    if (made != HG_SUCCESS)
        return made;
    return id == ID_NONE ? HG_NOMEM : rc;
}

/* That of all others. The lock is given and taken again. */
static hg_return_t window_ask_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_user_window *window, int first, hg_return_t made)
{
    uint32_t id = ID_NONE;
    hg_return_t rc = made;

    if (rc == HG_SUCCESS)
        rc = id_await_locked(domain, first, &id);
    if (rc == HG_SUCCESS) {
        window->id = id;
        return HG_SUCCESS;
    }
    if (rc != HG_NOMEM || made != HG_SUCCESS) {
        domain->has_missed_window = true;
        AMG_LOG_ERROR("bulk",
            "this rank has missed the number of a window; it can expose no "
            "further ones by this class: use HG_Bulk_create()");
    }
    return rc;
}

/* The first call for a window. */
static hg_return_t window_learn_locked(struct amg_mpi_domain *domain,
    MPI_Win win, struct amg_mpi_user_window **ret_window)
{
    struct amg_mpi_user_window found = {.domain = domain, .win = win};
    struct amg_mpi_user_window *window = NULL;
    hg_return_t rc = part_read(win, &found.part, &found.unit);
    struct amg_mpi_group groups;
    int here[AMG_MPI_GROUP_BLOCK];
    int first = 0;

    if (rc != HG_SUCCESS)
        return rc;
    amg_mpi_group_init(&groups, domain, win);
    rc = amg_mpi_group_check(&groups);
    if (rc != HG_SUCCESS)
        goto out;
    (void)amg_mpi_group_here(&groups, 0, here);
    first = here[0];
    if (first != domain->comm.rank && domain->has_missed_window) {
        AMG_LOG_ERROR("bulk",
            "a window cannot be exposed: this rank has missed the number of "
            "an earlier one; use HG_Bulk_create()");
        rc = HG_TIMEOUT;
        goto out;
    }
    rc = window_make_locked(domain, win, &found, &groups, &window);
    if (first == domain->comm.rank)
        rc = window_name_locked(domain, window, &groups, rc);
    else
        rc = window_ask_locked(domain, window, first, rc);
    if (rc == HG_SUCCESS)
        *ret_window = window;
    else if (window != NULL)
        window_forget_locked(window);
out:
    amg_mpi_group_fini(&groups);
    return rc;
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
    if (window == NULL)
        rc = window_learn_locked(domain, win, &window);
    if (rc == HG_SUCCESS)
        *ret_part = window->part;
    amg_mpi_user_window_end(win, handler);
    amg_bias_give(domain->lock);
    return rc;
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

        if (window->id == ID_NONE)
            continue;
        while (i < count && amg_segment_is_in(&segments[i], &window->part))
            i++;
        if (i == count)
            return window;
    }
    return NULL;
}

void amg_mpi_user_window_fini_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    namings_drop_locked(domain);
    if (domain->user_window_key == MPI_KEYVAL_INVALID)
        return;
    while ((link = amg_list_first(&domain->user_windows)) != NULL)
        window_forget_locked(
            AMG_OBJECT(link, struct amg_mpi_user_window, link));
    MPI_Win_free_keyval(&domain->user_window_key);
}
