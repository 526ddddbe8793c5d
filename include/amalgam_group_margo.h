/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups of ranks, and the wait for quiescence, for programs of Margo:
 * amalgam_group.h tells what they do.
 *
 * For instances whose peers are ranks, as those of amalgam_margo_init(). Groups
 * are made with margo_get_class() of the instance. A handle is made by
 * margo_create() for any address, for instance that of margo_addr_self(): the
 * RPC, with its provider, is called on all ranks of the group. Each rank runs
 * its ordinary handler. After the call amalgam_group_failed() names the ranks
 * that have failed. A handler that answers with an error counts as failed; the
 * text of such an error stays with that rank. */
#ifndef AMALGAM_GROUP_MARGO_H
#define AMALGAM_GROUP_MARGO_H

#include "amalgam_group.h"
#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Call an RPC on all ranks of a group, and wait.
 *
 * As amalgam_forward_group(). The calling user-level thread waits; others of
 * its stream run meanwhile. With a reduction, margo_get_output() gives the
 * outputs of all ranks that have answered, folded, also if others have failed.
 *
 * @param group      [in]  AMALGAM_GROUP_ALL, or a group of the instance's class
 * @param handle     [in]  of margo_create()
 * @param in_struct  [in]  the input, or NULL
 * @return HG_SUCCESS if all ranks have answered, or an error
 * Owns:      nothing changes hands; `in_struct` may be reused when the call
 *            returns.
 * Errors:    HG_INVALID_ARG   the handle is NULL or came in, the group is NULL
 *                             or of another class
 *            HG_NO_MATCH      an input for an RPC that is registered without
 *                             one
 *            HG_BUSY          the handle is in flight
 *            HG_AGAIN         AMALGAM_GROUP_OPEN_MAX calls after the oldest one
 *                             under way: nothing was sent; try later
 *            HG_OPNOTSUPPORTED  the RPC has no response, the peers are no
 *                             ranks, or the caller is a tasklet
 *            HG_NOMEM         no memory
 *            HG_OTHER_ERROR   the instance has ended, or the caller is a
 *                             callback of the progress loop
 *            Other codes are those with which ranks have failed: the first one
 *            in the order of events. amalgam_group_failed() has them all.
 * Threads:   any user-level thread, one at a time per handle; blocks. May
 *            switch the calling ULT: yes.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t margo_forward_group(
    amalgam_group_t group, hg_handle_t handle, void *in_struct);

/**
 * Call an RPC on all ranks of a group, and wait for a limited time.
 *
 * As margo_forward_group(). When the time is over the call ends as that of
 * amalgam_forward_group_timed(): amalgam_group_failed() names the ranks that
 * have not answered.
 *
 * @param group       [in]  as for amalgam_forward_group()
 * @param handle      [in]  of margo_create(), with any address of the class
 * @param in_struct   [in]  the input struct; NULL: no input is encoded
 * @param timeout_ms  [in]  of the whole call, rounded up; 0: no limit
 * @return HG_SUCCESS or an error
 * Owns:      as margo_forward_group().
 * Errors:    as margo_forward_group(), and
 *            HG_TIMEOUT      a rank has not answered in time
 *            HG_INVALID_ARG  timeout_ms is negative or no number
 * Threads:   any user-level thread, one at a time per handle; blocks. May
 *            switch the calling ULT: yes.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t margo_forward_group_timed(amalgam_group_t group,
    hg_handle_t handle, void *in_struct, double timeout_ms);

/**
 * Call an RPC on all ranks of a group, without waiting.
 *
 * margo_wait() of the request gives what margo_forward_group_timed() returns.
 *
 * @param group       [in]   as for amalgam_forward_group()
 * @param handle      [in]   of margo_create(), with any address of the class
 * @param in_struct   [in]   the input struct; NULL: no input is encoded
 * @param timeout_ms  [in]   0: no limit
 * @param req         [out]  the request
 * @return HG_SUCCESS or an error, and then there is no request
 * Owns:      `group` and `in_struct` may be reused when the call returns; the
 *            caller owns the request, which margo_wait() frees.
 * Errors:    as margo_forward_group(), if nothing was sent; HG_INVALID_ARG:
 *            also if req is NULL
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t margo_iforward_group_timed(amalgam_group_t group,
    hg_handle_t handle, void *in_struct, double timeout_ms, margo_request *req);

/**
 * Call an RPC on all ranks of a group, wait, and get the output of each.
 *
 * As margo_forward_group_timed(), but a reduction is not used. `each` gets the
 * output or the code of every rank once, as they come, before the call returns;
 * margo_get_output() of the handle that `each` receives decodes the output.
 *
 * @param group       [in]  as for amalgam_forward_group()
 * @param handle      [in]  of margo_create(), with any address of the class
 * @param in_struct   [in]  the input struct; NULL: no input is encoded
 * @param timeout_ms  [in]  0: no limit
 * @param each        [in]  runs in the progress loop, so it must not wait
 * @param arg         [in]  of `each`
 * @return HG_SUCCESS or an error
 * Owns:      as margo_forward_group(); `arg` must live until the call returns.
 * Errors:    as margo_forward_group_timed(); HG_INVALID_ARG: also if each is
 *            NULL
 * Threads:   any user-level thread, one at a time per handle; blocks. May
 *            switch the calling ULT: yes.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t margo_forward_gather(amalgam_group_t group,
    hg_handle_t handle, void *in_struct, double timeout_ms,
    amalgam_gather_cb_t each, void *arg);

/**
 * Set how outputs of an RPC are folded in calls to groups.
 *
 * As amalgam_register_reduce(): `fn` gets structs of the program, as the RPC's
 * proc of the output decodes them. amalgam_register_reduce_op() of amalgam.h
 * serves RPCs of Margo, too.
 *
 * @param mid      [in]  the instance in which the RPC is registered
 * @param id       [in]  a registered RPC
 * @param fn       [in]  runs in the progress loop, so it must not wait; NULL:
 *                       outputs are dropped again
 * @param arg      [in]  for `fn`
 * @param out_len  [in]  sizeof of the output struct
 * @param flags    [in]  of enum amalgam_reduce_flags
 * @return HG_SUCCESS or an error
 * Owns:      `arg` must live as long as calls may fold.
 * Errors:    HG_INVALID_ARG  mid is MARGO_INSTANCE_NULL, or out_len is 0 and fn
 *                            is not NULL
 *            HG_NOENTRY      the RPC is not registered here
 *            HG_OPNOTSUPPORTED  the RPC is of HG_Register_name_for_margo()
 *            HG_NOMEM        no memory
 * Threads:   any thread; never blocks.
 * Undefined: called while calls of the RPC to groups are under way.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t margo_register_reduce(margo_instance_id mid, hg_id_t id,
    amalgam_reduce_cb_t fn, void *arg, size_t out_len, unsigned flags);

/**
 * Wait until nothing is under way in the class of an instance.
 *
 * As amalgam_quiesce() of amalgam.h, but only the calling user-level thread
 * waits: each rank calls this function, amalgam_quiesce_start() or
 * amalgam_quiesce(), all in the same order of calls. A handler counts as
 * running until its function has returned. Other threads that have work, such
 * as those that the program creates, are not seen: they must be idle.
 *
 * @param mid         [in]  of amalgam_margo_init()
 * @param timeout_ms  [in]  0: no limit
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     mid is MARGO_INSTANCE_NULL, or timeout_ms is
 *                               negative or no number
 *            HG_TIMEOUT         ranks are missing, or something is under way.
 *                               The wait of this rank is not over: the next
 *                               call goes on with that wait
 *            HG_BUSY            this rank waits in amalgam_quiesce(), or for
 *                               the callback of amalgam_quiesce_start()
 *            HG_CANCELED        the context of id 0 ended after an earlier call
 *                               had timed out; no later wait ends
 *            HG_HOSTUNREACH     a rank has died; later waits end by this code
 *            HG_OPNOTSUPPORTED  the peers are no ranks, or the caller is a
 *                               handler or a tasklet
 *            HG_OTHER_ERROR     the instance has ended, or the caller is a
 *                               callback of the progress loop
 * Threads:   any user-level thread, one at a time per instance; blocks. May
 *            switch the calling ULT: yes. Collective over the ranks.
 * Undefined: calls by threads of the program meanwhile, except by handlers and
 *            callbacks; margo_finalize() during the call.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t margo_quiesce(margo_instance_id mid, double timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
