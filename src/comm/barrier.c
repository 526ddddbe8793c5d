/* SPDX-License-Identifier: BSD-3-Clause */
/* A barrier of the ranks of a class, who serve while they wait in it. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "comm/serve.h"
#include "mpi_backend/mpi_public.h"

static hg_return_t barrier_pass(hg_class_t *cls, struct amg_domain *domain)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_BARRIER_TIMEOUT);
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    uint64_t now_ns = 0;
    struct amg_comm_serve serve;
    hg_return_t rc = HG_SUCCESS;

    amg_comm_serve_init(&serve, cls);
    while ((rc = amg_mpi_barrier_look(domain)) == HG_AGAIN) {
        now_ns = amg_clock_ns();
        if (now_ns >= deadline_ns) {
            AMG_LOG_WARNING("mpi",
                "not all %d ranks of the class came to the barrier within %u "
                "ms; call amalgam_barrier() again to go on waiting, or raise "
                "AMALGAM_BARRIER_TIMEOUT_MS",
                amg_mpi_size(domain), timeout_ms);
            return HG_TIMEOUT;
        }
        amg_comm_serve_turn(&serve, now_ns, deadline_ns);
    }
    return rc;
}

hg_return_t amalgam_barrier(hg_class_t *hg_class)
{
    struct amg_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(hg_class != NULL))
        return HG_INVALID_ARG;
    domain = hg_class->domains[AMG_ROUTE_MPI];
    if (domain == NULL) {
        AMG_LOG_ERROR("mpi", "this class is not over MPI: it has no ranks that "
                             "could meet");
        return HG_OPNOTSUPPORTED;
    }
    if (amg_role.is_ours) {
        AMG_LOG_ERROR("mpi", "a handler that a thread of the library runs "
                             "cannot wait in a barrier: others could not be "
                             "served meanwhile; leave it to the program");
        return HG_OPNOTSUPPORTED;
    }
    rc = amg_mpi_barrier_begin(domain);
    if (rc != HG_SUCCESS)
        return rc;
    rc = barrier_pass(hg_class, domain);
    amg_mpi_barrier_end(domain);
    return rc;
}
