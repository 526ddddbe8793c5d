/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for MPI requests of the program, and serves meanwhile.
 *
 * A request does not tell its communicator, so MPI may call the error handler
 * of that, of the world, or of the process alone. MPI_Testall takes the first
 * of these out: it leaves the error of one request in its status. The others
 * are put aside for the moment of the call. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "comm/serve.h"
#include "mpi_backend/mpi_public.h"

enum { HANDLERS = 2 };

/* What threads that are in MPI put aside; the first of them does, and the last
 * puts it back. */
static struct {
    struct amg_lock lock; /* guards all below */
    unsigned users;
    MPI_Errhandler theirs[HANDLERS];
} aside;

/* Whose handlers MPI calls for what belongs to no communicator: the world's
 * before MPI-4, then that of the process alone. */
static MPI_Comm handler_comm(unsigned i)
{
    return i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF;
}

static void handlers_put_aside(void)
{
    unsigned i = 0;

    amg_lock_take(&aside.lock);
    for (; aside.users == 0 && i < HANDLERS; i++) {
        MPI_Comm_get_errhandler(handler_comm(i), &aside.theirs[i]);
        MPI_Comm_set_errhandler(handler_comm(i), MPI_ERRORS_RETURN);
    }
    aside.users++;
    amg_lock_give(&aside.lock);
}

static void handlers_put_back(void)
{
    unsigned i = 0;

    amg_lock_take(&aside.lock);
    aside.users--;
    for (; aside.users == 0 && i < HANDLERS; i++) {
        MPI_Comm_set_errhandler(handler_comm(i), aside.theirs[i]);
        MPI_Errhandler_free(&aside.theirs[i]);
    }
    amg_lock_give(&aside.lock);
}

/* One look at the request; it writes the status when that has ended. */
static int request_look(MPI_Request *request, int *ret_flag, MPI_Status *status)
{
    int has_world = 0;
    int rc = MPI_SUCCESS;

    MPI_Initialized(&has_world); /* not where sessions alone started MPI */
    if (has_world)
        handlers_put_aside();
    rc = MPI_Testall(1, request, ret_flag, status);
    if (has_world)
        handlers_put_back();
    return rc;
}

/* HG_AGAIN: it has not ended. */
static hg_return_t request_test(
    const struct amg_domain *domain, MPI_Request *request, MPI_Status *status)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Status ended;
    int flag = 0;
    int len = 0;
    int err = MPI_SUCCESS;
    hg_return_t rc = amg_mpi_turn_begin(domain);

    if (rc != HG_SUCCESS)
        return rc;
    ended.MPI_ERROR = MPI_SUCCESS;
    err = request_look(request, &flag, &ended);
    amg_mpi_turn_end(domain);
    if (err == MPI_SUCCESS && !flag)
        return HG_AGAIN;
    if (status != NULL && status != MPI_STATUS_IGNORE && flag)
        *status = ended;
    if (err == MPI_SUCCESS)
        return HG_SUCCESS;
    if (flag && ended.MPI_ERROR != MPI_SUCCESS)
        err = ended.MPI_ERROR;
    MPI_Error_string(err, text, &len);
    AMG_LOG_ERROR("mpi", "a request of the program failed: %s", text);
    return HG_NA_ERROR;
}

/* The class's MPI domain, or NULL with a line in the log. */
static const struct amg_domain *class_domain(const hg_class_t *cls)
{
    const struct amg_domain *domain = cls->domains[AMG_ROUTE_MPI];

    if (domain == NULL)
        AMG_LOG_ERROR("mpi", "this class is not over MPI: wait for the request "
                             "by MPI_Test(), and call HG_Progress() meanwhile");
    return domain;
}

hg_return_t amalgam_test(
    hg_class_t *hg_class, MPI_Request *request, int *flag, MPI_Status *status)
{
    const struct amg_domain *domain = NULL;
    struct amg_comm_serve serve;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(hg_class != NULL && request != NULL && flag != NULL))
        return HG_INVALID_ARG;
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_turn_begin(domain);
    if (rc != HG_SUCCESS)
        return rc;
    amg_mpi_turn_end(domain);
    amg_comm_serve_init(&serve, hg_class);
    (void)amg_comm_serve_once(&serve);
    rc = request_test(domain, request, status);
    if (rc != HG_SUCCESS && rc != HG_AGAIN)
        return rc;
    *flag = rc == HG_SUCCESS;
    return HG_SUCCESS;
}

hg_return_t amalgam_wait(hg_class_t *hg_class, MPI_Request *request,
    unsigned timeout_ms, MPI_Status *status)
{
    const struct amg_domain *domain = NULL;
    struct amg_comm_serve serve;
    uint64_t deadline_ns = 0;
    uint64_t now_ns = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(hg_class != NULL && request != NULL))
        return HG_INVALID_ARG;
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    deadline_ns = amg_clock_deadline_ns(timeout_ms);
    amg_comm_serve_init(&serve, hg_class);
    while ((rc = request_test(domain, request, status)) == HG_AGAIN) {
        now_ns = amg_clock_ns();
        if (now_ns >= deadline_ns && serve.news_ns != 0)
            return HG_TIMEOUT;
        amg_comm_serve_turn(&serve, now_ns, deadline_ns);
    }
    return rc;
}
