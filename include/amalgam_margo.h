/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo between the ranks of a communicator.
 *
 * Use an instance of amalgam_margo_init() with the calls of margo.h like any
 * other. Pass margo_get_class() of the instance to amalgam_addr_rank(),
 * amalgam_addr_get_rank() and amalgam_class_ranks() of amalgam.h. */
#ifndef AMALGAM_MARGO_H
#define AMALGAM_MARGO_H

#include "amalgam.h"
#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `info` of amalgam_margo_init(): the rank answers calls also while it
 * computes or sits in an MPI call, by a progress thread and a stream for
 * handlers. Otherwise a rank answers only while it waits in calls of Margo or
 * Argobots. Register the RPCs before other ranks may call, that is, before an
 * MPI_Barrier() of yours. A program may change members of a copy; json_config
 * is {"use_progress_thread": true, "rpc_thread_count": 1}. Needs
 * MPI_THREAD_MULTIPLE; below that level the log warns. */
HG_PUBLIC extern const struct margo_init_info amalgam_margo_always_served;

/**
 * Open a Margo instance whose peers are the ranks of a communicator.
 *
 * Collective over `comm`. The instance listens, and makes progress in a
 * user-level thread of its own, while the caller waits in calls of Margo or
 * Argobots, or always with amalgam_margo_always_served. margo_finalize() ends
 * the instances of all ranks together: when the calls of this rank have ended
 * and its prefinalize callbacks have run, this rank serves the other ranks,
 * handlers included, until all ranks have reached this point. Then the finalize
 * callbacks run. After AMALGAM_FINALIZE_TIMEOUT_MS (30 s) the log names the
 * missing ranks, and the wait continues, for AMALGAM_GIVE_UP_MS if that is set.
 * A rank may have 1,024 unanswered calls at each peer, or AMALGAM_CREDITS;
 * further calls wait.
 *
 * @param comm       [in]  any intracommunicator, as for amalgam_init()
 * @param transport  [in]  as for amalgam_init(): NULL or "auto" lets the
 *                         library choose
 * @param info       [in]  as for margo_init_ext(), without `hg_class` and
 *                         `hg_context`; NULL takes all defaults,
 *                         &amalgam_margo_always_served serves without pause.
 *                         "address" or "listening" in JSON have no effect
 * @return the instance, or MARGO_INSTANCE_NULL; the log says why
 * Owns:      `comm` stays the caller's and may be freed at once; the caller
 *            owns the result; margo_finalize() frees it.
 * Errors:    MARGO_INSTANCE_NULL  amalgam_init() or margo_init_ext() would
 *                                 fail, or `info` has a class or a context.
 *                                 Nothing is left behind, but other ranks may
 *                                 still wait in this call.
 * Threads:   a thread that may call MPI. Blocks until all ranks have made this
 *            call. Below MPI_THREAD_MULTIPLE only the caller's stream may move
 *            messages over MPI: if a progress thread was requested, the log
 *            warns, and the loop shares the caller's stream.
 * Undefined: MPI finalised before the instance.
 * Source:    ours.
 */
HG_PUBLIC margo_instance_id amalgam_margo_init(
    MPI_Comm comm, const char *transport, const struct margo_init_info *info);

#ifdef __cplusplus
}
#endif

#endif
