/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo instance over the ranks of a communicator.
 *
 * The loop of the instance is a user-level thread, which calls MPI in the OS
 * thread of its stream. So, below MPI_THREAD_MULTIPLE, the loop must run in the
 * stream of the thread that opened the instance. Handlers of other streams only
 * post operations, which any stream may do from MPI_THREAD_FUNNELED on: the
 * driver queues the posts until the loop polls. */
#include "amalgam_margo.h"

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_public.h"
#include "init/init.h"
#include "margo/config.h"
#include "margo/instance.h"

/* Arguments for the opener; owned by the caller of amalgam_margo_init(). */
struct comm_opening {
    MPI_Comm comm;
    const char *transport;
    int level; /* thread level of MPI */
};

static const char *level_name(int level)
{
    if (level == MPI_THREAD_SINGLE)
        return "MPI_THREAD_SINGLE";
    return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                        : "MPI_THREAD_SERIALIZED";
}

static void threads_adapt(void *arg, struct amg_margo_config *config)
{
    const struct comm_opening *opening = arg;

    if (opening->level == MPI_THREAD_MULTIPLE)
        return;
    if (config->use_progress_thread) {
        AMG_LOG_WARNING("cls",
            "no progress thread: MPI was started with %s, so the loop shares "
            "the stream of the thread that opens the instance, and runs while "
            "that thread waits in calls of Margo; for a progress thread start "
            "MPI by MPI_Init_thread(MPI_THREAD_MULTIPLE)",
            level_name(opening->level));
        config->use_progress_thread = false;
    }
    if (opening->level == MPI_THREAD_SINGLE && config->rpc_thread_count > 0) {
        AMG_LOG_WARNING("cls",
            "no streams for handlers (rpc_thread_count %d): MPI was started "
            "with MPI_THREAD_SINGLE, where threads of such streams may not "
            "answer; start MPI by MPI_Init_thread(MPI_THREAD_MULTIPLE)",
            config->rpc_thread_count);
        config->rpc_thread_count = 0;
    }
}

static hg_class_t *class_open(void *arg, const char *address, bool is_listening,
    const struct hg_init_info *hg_init)
{
    const struct comm_opening *opening = arg;
    struct amg_init init = {
        .info = opening->transport,
        .how.job.comm = &opening->comm,
        .how.is_listening = is_listening,
        .how.credits = amg_margo_credits(),
        .is_mercury = true,
    };
    hg_class_t *cls = NULL;

    (void)address;
    if (amg_init_read_info(hg_init, &init) != HG_SUCCESS)
        return NULL;
    if (init.owner != NULL) {
        AMG_LOG_ERROR("cls",
            "hg_init_info names an NA class: an instance over a communicator "
            "opens its own; leave na_class NULL");
        return NULL;
    }
    /* Margo's loop makes progress, unless the program has chosen a mode. */
    if (init.progress == AMALGAM_PROGRESS_AUTO)
        init.progress = AMALGAM_PROGRESS_CALLER;
    if (amg_init_class(&init, &cls) != HG_SUCCESS)
        return NULL;
    AMG_ASSERT(cls->domains[AMG_ROUTE_MPI] != NULL);
    return cls;
}

/* Does the loop run on the stream of the caller? */
static bool loop_is_here(margo_instance_id mid)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool main_pool = ABT_POOL_NULL;
    ABT_pool loop_pool = ABT_POOL_NULL;

    return ABT_xstream_self(&self) == ABT_SUCCESS &&
           ABT_xstream_get_main_pools(self, 1, &main_pool) == ABT_SUCCESS &&
           margo_get_progress_pool(mid, &loop_pool) == 0 &&
           main_pool == loop_pool;
}

static bool info_is_valid(const struct margo_init_info *info)
{
    if (info == NULL || (info->hg_class == NULL && info->hg_context == NULL))
        return true;
    AMG_LOG_ERROR("cls",
        "the info has a class or a context: an instance over a communicator "
        "opens its own; use margo_init_ext() with a class of amalgam_init()");
    return false;
}

const struct margo_init_info amalgam_margo_always_served = {
    .json_config = "{\"use_progress_thread\": true, \"rpc_thread_count\": 1}"};

margo_instance_id amalgam_margo_init(
    MPI_Comm comm, const char *transport, const struct margo_init_info *info)
{
    struct comm_opening opening = {.comm = comm, .transport = transport};
    const struct amg_margo_opener opener = {
        .adapt = threads_adapt, .open = class_open, .arg = &opening};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (!amg_mpi_comm_is_usable(comm) || !info_is_valid(info))
        return MARGO_INSTANCE_NULL;
    if (MPI_Query_thread(&opening.level) != MPI_SUCCESS)
        opening.level = MPI_THREAD_FUNNELED;
    mid = amg_margo_instance_open(&opener,
        transport == NULL ? "auto" : transport, MARGO_SERVER_MODE, info);
    if (mid == MARGO_INSTANCE_NULL || opening.level == MPI_THREAD_MULTIPLE ||
        loop_is_here(mid))
        return mid;
    AMG_LOG_ERROR("cls",
        "progress_pool is run by a stream other than the calling thread's, and "
        "MPI was started with %s: only the calling thread may call MPI; leave "
        "progress_pool out, or start MPI by "
        "MPI_Init_thread(MPI_THREAD_MULTIPLE)",
        level_name(opening.level));
    margo_finalize_and_wait(mid);
    return MARGO_INSTANCE_NULL;
}
