/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups of ranks, whose outputs are folded into one on their way
 * back, and quiescence: the end of all that calls have caused.
 *
 * For classes whose peers are ranks: classes of amalgam_init(), of HG_Init()
 * over MPI, and of HG_Init("self"), which has one rank. Needs no MPI: amalgam.h
 * adds the functions with types of MPI, amalgam_group_margo.h those of Margo.
 *
 * A call to a group runs the handler of its RPC once on each rank of the group,
 * also on the caller if the caller belongs to the group. The handler is that of
 * ordinary calls: HG_Get_input() gives the input, HG_Respond() answers, and
 * HG_Get_info() names the caller, so bulk handles in the input work as in any
 * call. The order between a call to a group and other calls is not defined.
 *
 * The call goes along a tree of ranks that knows the nodes. A rank passes the
 * call on to the ranks below it, in its progress, before its own handler runs,
 * and sends one answer for its whole part of the tree. So no rank sends and
 * receives more than 2 (log2(nodes) + 7) messages for a call; and a rank that
 * makes no progress delays the ranks below it.
 *
 * While a rank waits for an answer from below, the call takes one credit
 * (AMALGAM_CREDITS) at the rank below. Calls to groups never wait for each
 * other's credits in a circle, whatever their number. But handlers that make
 * calls and wait for them may do so, as in any chain of nested calls. */
#ifndef AMALGAM_GROUP_H
#define AMALGAM_GROUP_H

#include <stddef.h>

#include "mercury_core_types.h"
#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A set of ranks of a class, of amalgam_group_create_ranks(). */
typedef struct amalgam_group *amalgam_group_t;

/** All ranks of the class of the handle; not to be freed. */
HG_PUBLIC extern struct amalgam_group amalgam_group_all;
#define AMALGAM_GROUP_ALL (&amalgam_group_all)

enum {
    /* Calls to groups that a rank may have begun since its oldest call under
     * way, that call included. */
    AMALGAM_GROUP_OPEN_MAX = 4096,
    /* Time for each level of the tree to bring answers in after the time limit
     * of a call; see amalgam_forward_group_timed(). */
    AMALGAM_GROUP_GRACE_MS = 100,
};

/** Folds two outputs of an RPC: `inout_out` becomes `from_out` op `inout_out`.
 * Each is the output of one rank, or of several ranks that were folded before;
 * with AMALGAM_REDUCE_ORDERED the ranks of `from_out` are lower than those of
 * `inout_out`. The output proc of the RPC has decoded both structs, and frees
 * their members afterwards. So memory that the callback adds to `inout_out`
 * must be of the kind that the proc frees, and no pointer may be in both. Runs
 * where handlers of incoming calls run, with no lock held. */
typedef void (*amalgam_reduce_cb_t)(
    const void *from_out, void *inout_out, void *arg);

/** Called once when the wait of amalgam_quiesce_start() has ended. */
typedef void (*amalgam_quiesce_cb_t)(hg_return_t ret, void *arg);

enum amalgam_reduce_flags {
    AMALGAM_REDUCE_ORDERED = 1, /* the operation is not commutative: fold in
                                 * ascending order of ranks */
};

/** Called for each rank of the group of amalgam_forward_gather(). If `ret` is
 * HG_SUCCESS, HG_Get_output() of `handle` gives the rank's output. `handle` is
 * valid until the callback returns, and only for functions of the output. */
typedef void (*amalgam_gather_cb_t)(
    hg_handle_t handle, int rank, hg_return_t ret, void *arg);

/**
 * Make a group of ranks.
 *
 * Local: no rank is asked. Ranks at equal distances take constant memory, other
 * ranks 4 bytes each.
 *
 * @param hg_class  [in]   a class over MPI
 * @param ranks     [in]   ranks of the class, each once; their order has no
 *                         meaning
 * @param count     [in]   number of ranks; 0 makes an empty group
 * @param group     [out]  the group
 * @return HG_SUCCESS or an error
 * Owns:      the caller owns `group`; amalgam_group_free() frees it. `ranks`
 *            stays the caller's and is copied.
 * Errors:    HG_INVALID_ARG     hg_class or group is NULL, ranks is NULL and
 *                               `count` is not 0, a rank is not of the class or
 *                               stands there twice; the log says which
 *            HG_OPNOTSUPPORTED  the peers of the class are no ranks
 *            HG_NOMEM           no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_group_create_ranks(hg_class_t *hg_class,
    const int *ranks, size_t count, amalgam_group_t *group);

/**
 * Free a group.
 *
 * Calls under way keep what they need of the group.
 *
 * @param group  [in]  NULL and AMALGAM_GROUP_ALL are allowed: no effect
 * @return HG_SUCCESS
 * Owns:      `group` is consumed.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: another thread passes the group to a call at the same time; a
 *            group that was freed before, in this and in all other functions.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_group_free(amalgam_group_t group);

/**
 * Call an RPC on all ranks of a group.
 *
 * The input is encoded once, before the function returns. The callback gets
 * HG_SUCCESS if all ranks have answered, also where the group is empty, and
 * otherwise the code of the first failure; amalgam_group_failed() then names
 * the ranks that have failed. If the RPC has a reduction
 * (amalgam_register_reduce()), HG_Get_output() gives the outputs of all ranks
 * that have answered, folded into one. Otherwise the outputs are dropped, and
 * HG_Get_output() returns HG_FAULT.
 *
 * HG_Cancel() ends the call with HG_CANCELED without waiting for the ranks. The
 * ranks are told, and a rank whose handler has not begun by then does not run
 * the handler.
 *
 * If a rank is lost, the rank above it in the tree calls the ranks directly
 * below the lost rank itself. These run the handler once all the same. MPI
 * reports no lost rank, so over MPI use amalgam_forward_group_timed().
 *
 * @param handle    [in]  of HG_Create(), with any address of the class or
 *                        HG_ADDR_NULL; its target context (HG_Set_target_id())
 *                        is the context of each rank that gets the call
 * @param group     [in]  AMALGAM_GROUP_ALL, or a group of the handle's class
 * @param callback  [in]  of type HG_CB_FORWARD, run where callbacks of
 *                        HG_Forward() run; may be NULL
 * @param arg       [in]  for the callback
 * @param in        [in]  the input struct; NULL: no input is encoded
 * @return HG_SUCCESS or an error
 * Owns:      `in` may be reused, and `group` freed, when the call returns;
 *            `arg` must live until the callback ran. Memory of bulk handles in
 *            `in` stays the caller's and must live until no rank accesses it.
 * Errors:    HG_INVALID_ARG     handle or group is NULL, the handle is of an
 *                               incoming call or has no id, or the group is of
 *                               another class
 *            HG_BUSY            the handle is in flight
 *            HG_AGAIN           this rank has begun AMALGAM_GROUP_OPEN_MAX
 *                               calls to groups since its oldest one under way;
 *                               make progress, and call again
 *            HG_OPNOTSUPPORTED  the RPC is one-way, the peers of the class are
 *                               no ranks, or the class has a header of the
 *                               program (HG_Class_set_input_offset())
 *            HG_NOMEM           no memory
 *            and the errors of the proc; no callback follows an error. The
 *            callback gets HG_SUCCESS, HG_CANCELED, HG_TIMEOUT, a code of
 *            amalgam_group_failed(), or the reason why outputs could not be
 *            folded.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_forward_group(hg_handle_t handle,
    amalgam_group_t group, hg_cb_t callback, void *arg, void *in);

/**
 * Call an RPC on all ranks of a group, for a limited time.
 *
 * Works like amalgam_forward_group(). When the time is over, the ranks are
 * told, and a rank whose handler has not begun by then does not run the
 * handler; but the answers that have come are still collected.
 * amalgam_group_failed() names the ranks that have not answered, and the ranks
 * below a silent rank, whose answers that rank holds back. If any rank is
 * named, the call ends with HG_TIMEOUT, even if the codes of all named ranks
 * are others. If a rank is silent, collecting takes up to
 * AMALGAM_GROUP_GRACE_MS for each level of the tree.
 *
 * @param handle      [in]  as for amalgam_forward_group()
 * @param group       [in]  as for amalgam_forward_group()
 * @param timeout_ms  [in]  for the whole call; 0: no limit
 * @param callback    [in]  as for amalgam_forward_group()
 * @param arg         [in]  as for amalgam_forward_group()
 * @param in          [in]  as for amalgam_forward_group()
 * @return HG_SUCCESS or an error
 * Owns:      as amalgam_forward_group().
 * Errors:    as amalgam_forward_group().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_forward_group_timed(hg_handle_t handle,
    amalgam_group_t group, unsigned timeout_ms, hg_cb_t callback, void *arg,
    void *in);

/**
 * Call an RPC on all ranks of a group, and get the output of each rank.
 *
 * Works like amalgam_forward_group_timed(), but does not fold: a reduction of
 * the RPC is not used. `each` runs once for each rank of the group: first for
 * the ranks that have answered, as their outputs come, then for the ranks that
 * have failed, with their codes; `callback` runs after the last of them. The
 * outputs of a branch of the tree come together, when the last rank of the
 * branch has answered or failed.
 *
 * @param handle      [in]  as for amalgam_forward_group()
 * @param group       [in]  as for amalgam_forward_group()
 * @param timeout_ms  [in]  as for amalgam_forward_group_timed()
 * @param each        [in]  run where `callback` runs
 * @param callback    [in]  as for amalgam_forward_group()
 * @param arg         [in]  for both callbacks
 * @param in          [in]  as for amalgam_forward_group()
 * @return HG_SUCCESS or an error
 * Owns:      as amalgam_forward_group().
 * Errors:    HG_INVALID_ARG  also if each is NULL
 *            and those of amalgam_forward_group(). Without memory for a handle
 *            `each` does not run for that rank, or for the later ranks of its
 *            branch, which is logged. `each` may run twice for a rank that has
 *            answered, the second time with HG_NOMEM, where there is no memory
 *            for the names of all failed ranks; see amalgam_group_failed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_forward_gather(hg_handle_t handle,
    amalgam_group_t group, unsigned timeout_ms, amalgam_gather_cb_t each,
    hg_cb_t callback, void *arg, void *in);

/**
 * Get the ranks that have failed in the handle's last call to a group.
 *
 * The codes are HG_HOSTUNREACH (the rank is lost), HG_NOENTRY (the rank has no
 * such RPC or context), HG_INVALID_ARG (its RPC has no handler), HG_CANCELED
 * (the handler has ended without an answer, the call was cancelled before the
 * answer, or the rank or a rank above it has closed its context), HG_TIMEOUT
 * (no answer within the time), HG_OVERFLOW (the input is longer than a message,
 * and the class was opened with no_overflow), HG_OPNOTSUPPORTED (the rank had
 * to fold outputs, and has no reduction), and HG_NOMEM, HG_NA_ERROR,
 * HG_PROTOCOL_ERROR and HG_CHECKSUM_ERROR as of HG_Forward(). The handler of a
 * rank that has failed may have run. Where a rank has no memory for the names
 * of all that have failed below it, all ranks of its branch are named with
 * HG_NOMEM, also those that have answered.
 *
 * @param handle  [in]   from the callback of the call on
 * @param count   [out]  number of ranks; 0 if all have answered
 * @param ranks   [out]  in ascending order; NULL if `count` is 0
 * @param codes   [out]  the code of each; may be NULL
 * @return HG_SUCCESS or an error
 * Owns:      the results are borrowed from the handle, until its next call,
 *            HG_Reset() or HG_Destroy().
 * Errors:    HG_INVALID_ARG  handle, count or ranks is NULL, or the handle's
 *                            last call was to no group, or is under way
 *            HG_NOMEM        no rank is named: there was no memory for the
 *                            names, or all ranks have answered and their
 *                            outputs could not be folded
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_group_failed(hg_handle_t handle, size_t *count,
    const int **ranks, const hg_return_t **codes);

/**
 * Set how the outputs of an RPC are folded in calls to groups.
 *
 * All ranks register the same reduction, also ranks that never call: a rank
 * folds the outputs that come from below it in the tree. Outputs are folded as
 * they come or, with AMALGAM_REDUCE_ORDERED, in ascending order of ranks when
 * all of a branch have come. If only one rank has answered, the callback does
 * not run. Registering a reduction again replaces it. Registering the RPC
 * itself again drops its reduction.
 *
 * @param hg_class  [in]  the class in which the RPC is registered
 * @param id        [in]  a registered RPC
 * @param fn        [in]  NULL: outputs are dropped again
 * @param arg       [in]  for `fn`
 * @param out_len   [in]  sizeof of the output struct
 * @param flags     [in]  0, or AMALGAM_REDUCE_ORDERED
 * @return HG_SUCCESS or an error
 * Owns:      `arg` must live until the class is closed, or another reduction
 *            has replaced this one.
 * Errors:    HG_INVALID_ARG  hg_class is NULL, or `out_len` is 0 and `fn` is
 *                            not NULL
 *            HG_NOENTRY      the RPC is not registered here
 *            HG_OPNOTSUPPORTED  the RPC has no proc for outputs, or is of
 *                            HG_Register_name_for_margo()
 *            HG_NOMEM        no memory
 *            A rank without a reduction that has to fold outputs has failed
 *            with HG_OPNOTSUPPORTED.
 * Threads:   any thread; never blocks.
 * Undefined: called while a call of the RPC to a group is under way.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_register_reduce(hg_class_t *hg_class, hg_id_t id,
    amalgam_reduce_cb_t fn, void *arg, size_t out_len, unsigned flags);

/**
 * Begin to wait until nothing is under way in the class, and return at once.
 *
 * Collective: each rank calls this function or amalgam_quiesce(), all in the
 * same order of calls. The callback runs on each rank, after all ranks have
 * called, when in the whole class no call is unanswered, no one-way call waits
 * for its handler, no transfer is under way, and no handler or callback runs;
 * all that handlers and callbacks begin meanwhile is included. Until then the
 * program makes progress and runs callbacks, and makes calls only in handlers
 * and callbacks. A handle of an incoming call that the program keeps counts as
 * a handler that runs.
 *
 * A rank with nothing under way says so by one message and then sleeps, so a
 * long wait costs no further messages. A rank whose callback has run may make
 * calls again, which may come to other ranks before the callback runs there.
 *
 * @param hg_class  [in]  a class whose ranks all have a context of id 0
 * @param callback  [in]  run where callbacks of HG_Forward() run; may begin the
 *                        next wait
 * @param arg       [in]  for the callback
 * @return HG_SUCCESS or an error
 * Owns:      `arg` must live until the callback ran.
 * Errors:    HG_INVALID_ARG     hg_class or callback is NULL, or the class has
 *                               no context of id 0
 *            HG_BUSY            an earlier wait of this rank has not ended
 *            HG_OPNOTSUPPORTED  the peers of the class are no ranks
 *            No callback follows an error. The callback gets HG_SUCCESS,
 *            HG_HOSTUNREACH if a rank has died, as in later waits, or
 *            HG_CANCELED if the context of id 0 ends before; no later wait in
 *            the class ends then.
 * Threads:   any thread; never blocks. Collective over the ranks of the class.
 * Undefined: meanwhile, calls by threads of the program outside of handlers and
 *            callbacks, and a context of the class created.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_quiesce_start(
    hg_class_t *hg_class, amalgam_quiesce_cb_t callback, void *arg);

#ifdef __cplusplus
}
#endif

#endif
