/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups of ranks, with the answers reduced on the way back, and the
 * end of all that calls have caused.
 *
 * For classes whose peers are ranks: of amalgam_init(), of HG_Init() over MPI,
 * and of HG_Init("self"), which has one rank. Needs no MPI: amalgam.h has the
 * functions with types of MPI, amalgam_group_margo.h those of Margo.
 *
 * A call to a group runs the handler of its RPC once on each rank of the group,
 * also on the caller if that belongs to the group. HG_Get_info() of the
 * handler's handle names the caller, so bulk handles of the input work as in
 * any call. Ranks pass the input on along a tree before they run the handler,
 * while they make progress; so a rank that makes none delays those below it.
 *
 * A call to a group is in no order with other calls. While it is under way it
 * takes one credit at each peer that a rank of the group passes it on to: as
 * for all calls whose handlers wait for calls, a program must not use up the
 * credits of a peer by such calls (AMALGAM_CREDITS). */
#ifndef AMALGAM_GROUP_H
#define AMALGAM_GROUP_H

#include <stddef.h>

#include "mercury_core_types.h"
#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Ranks of a class. */
typedef struct amalgam_group *amalgam_group_t;

/** All ranks of the class of the handle; not to be freed. */
HG_PUBLIC extern struct amalgam_group amalgam_group_all;
#define AMALGAM_GROUP_ALL (&amalgam_group_all)

enum {
    AMALGAM_GROUP_OPEN_MAX = 4096, /* calls to groups by one rank at a time */
    AMALGAM_GROUP_GRACE_MS = 100,  /* for each level of the tree, see
                                    * amalgam_forward_group_timed() */
};

/** Folds the output of one or more ranks into that of ranks with higher numbers
 * in the group: `inout_out` becomes `from_out` op `inout_out`. Both are structs
 * that the proc of the output has decoded, and frees after it: memory that
 * `inout_out` takes on must be such as that proc frees. Runs where handlers
 * run, with no lock held. */
typedef void (*amalgam_reduce_cb_t)(
    const void *from_out, void *inout_out, void *arg);

/** Called when amalgam_quiesce_start() has ended. */
typedef void (*amalgam_quiesce_cb_t)(hg_return_t ret, void *arg);

enum amalgam_reduce_flags {
    AMALGAM_REDUCE_ORDERED = 1, /* the operation is not commutative: fold in the
                                 * order of the group's ranks */
    AMALGAM_REDUCE_BYTES = 2,   /* fold the encoded bytes, all ranks' outputs
                                 * having `out_len` of them: no proc runs */
};

/** Called for each rank that amalgam_forward_gather() has called. If `ret` is
 * HG_SUCCESS, HG_Get_output() of `handle` gives the rank's output; `handle` is
 * valid until the callback returns. */
typedef void (*amalgam_gather_cb_t)(
    hg_handle_t handle, int rank, hg_return_t ret, void *arg);

/**
 * Make a group of ranks.
 *
 * Local: no rank is asked. Ranks at equal distances, in ascending or descending
 * order, take constant memory, others 4 or 8 bytes each.
 *
 * @param hg_class  [in]
 * @param ranks     [in]   ranks of the class, each once, in any order
 * @param count     [in]   0 makes an empty group
 * @param group     [out]
 * @return HG_SUCCESS or an error
 * Owns:      the caller owns `group`; amalgam_group_free() frees it. `ranks`
 *            stays the caller's and is copied.
 * Errors:    HG_INVALID_ARG     hg_class or group is NULL, ranks is NULL and
 *                               `count` is not 0, a rank is not of the class or
 *                               stands twice
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
 * Calls under way keep what they need of it.
 *
 * @param group  [in]  NULL and AMALGAM_GROUP_ALL are allowed, and stay
 * @return HG_SUCCESS
 * Owns:      `group` is consumed.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: a group that is passed to another call at the same time.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_group_free(amalgam_group_t group);

/**
 * Call an RPC on all ranks of a group.
 *
 * The input is encoded once, before the function returns. The callback, of type
 * HG_CB_FORWARD, gets HG_SUCCESS if all ranks have answered, else the first
 * code in the order of events; amalgam_group_failed() then names the ranks.
 * With a reduction (amalgam_register_reduce()) HG_Get_output() gives the
 * outputs of all ranks that have answered, folded; without one the outputs are
 * dropped. HG_Cancel() ends the call with HG_CANCELED at once; ranks that have
 * not begun the handler when they hear of that do not run it.
 *
 * A rank that is lost costs the ranks below it in the tree one more message:
 * the rank above calls them, and each runs the handler once all the same. MPI
 * reports no lost rank, so over MPI use amalgam_forward_group_timed().
 *
 * @param handle    [in]  made for any address of the class, or none; its target
 *                        context (HG_Set_target_id()) holds for all ranks
 * @param group     [in]  AMALGAM_GROUP_ALL, or a group of the handle's class
 * @param callback  [in]  run as by HG_Forward(); NULL: none
 * @param arg       [in]
 * @param in        [in]  the input struct, or NULL
 * @return HG_SUCCESS or an error, and then no callback follows
 * Owns:      `in` and `group` may be reused when the call returns; `arg` must
 *            live until the callback ran. Memory of bulk handles in `in` must
 *            live until then.
 * Errors:    HG_INVALID_ARG     handle or group is NULL, the handle came in, or
 *                               the group is of another class
 *            HG_BUSY            the handle is in flight
 *            HG_AGAIN           AMALGAM_GROUP_OPEN_MAX calls after the oldest
 *                               one under way; make progress and call again
 *            HG_OPNOTSUPPORTED  the RPC has no response, the peers are no
 *                               ranks, or the class has a header of the program
 *                               (HG_Class_set_input_offset())
 *            HG_OVERFLOW        the input is longer than a message, and the
 *                               class was opened with no_overflow
 *            HG_NOMEM           no memory
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_forward_group(hg_handle_t handle,
    amalgam_group_t group, hg_cb_t callback, void *arg, void *in);

/**
 * Call an RPC on all ranks of a group, for a limited time.
 *
 * As amalgam_forward_group(). When the time is over, ranks that have not begun
 * the handler do not run it, and all answers that have come are collected: the
 * call ends with HG_TIMEOUT, and amalgam_group_failed() names exactly the ranks
 * that have not answered, and those whose answers a silent rank holds back. A
 * silent rank delays this by AMALGAM_GROUP_GRACE_MS for each level of the tree.
 *
 * @param handle      [in]
 * @param group       [in]
 * @param timeout_ms  [in]  for the whole call; 0: no limit
 * @param callback    [in]
 * @param arg         [in]
 * @param in          [in]
 * @return HG_SUCCESS or an error, and then no callback follows
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
 * Call an RPC on all ranks of a group, and get the output of each.
 *
 * As amalgam_forward_group_timed(), but a reduction is not used: `each` gets
 * the output or the code of every rank once, as they come, before `callback`.
 * Outputs come together with those of ranks on the same branch of the tree.
 *
 * @param handle      [in]
 * @param group       [in]
 * @param timeout_ms  [in]  0: no limit
 * @param each        [in]  run where callbacks of HG_Forward() run
 * @param callback    [in]  NULL: none
 * @param arg         [in]  of both callbacks
 * @param in          [in]
 * @return HG_SUCCESS or an error, and then no callback follows
 * Owns:      as amalgam_forward_group().
 * Errors:    as amalgam_forward_group(); HG_INVALID_ARG: also if each is NULL
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_forward_gather(hg_handle_t handle,
    amalgam_group_t group, unsigned timeout_ms, amalgam_gather_cb_t each,
    hg_cb_t callback, void *arg, void *in);

/**
 * Get the ranks that have failed in the last call to a group.
 *
 * Dead and unreachable ranks (HG_HOSTUNREACH), those that refused, have no such
 * RPC (HG_NOENTRY) or gave no answer (HG_CANCELED), and those that were late
 * (HG_TIMEOUT), in ascending order.
 *
 * @param handle  [in]   of amalgam_forward_group(), after its callback began
 * @param count   [out]  0 if all have answered
 * @param ranks   [out]  `count` ranks; NULL if `count` is 0
 * @param codes   [out]  the code of each; may be NULL
 * @return HG_SUCCESS or an error
 * Owns:      the results are borrowed from the handle, until its next call,
 *            HG_Reset() or HG_Destroy().
 * Errors:    HG_INVALID_ARG  an argument is NULL, or the handle's last call was
 *                            to no group or is under way
 *            HG_NOMEM        there was no memory for the names
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_group_failed(hg_handle_t handle, size_t *count,
    const int **ranks, const hg_return_t **codes);

/**
 * Set how outputs of an RPC are folded in calls to groups.
 *
 * All ranks register the same; registering again replaces it. Outputs are
 * folded on their way, by interior ranks of the tree, as they come or, with
 * AMALGAM_REDUCE_ORDERED, in the order of the group. A single rank's output is
 * not decoded before HG_Get_output().
 *
 * @param hg_class  [in]
 * @param id        [in]  a registered RPC
 * @param fn        [in]  NULL: outputs are dropped again
 * @param arg       [in]
 * @param out_len   [in]  sizeof of the output struct, or the encoded bytes
 * @param flags     [in]  of enum amalgam_reduce_flags
 * @return HG_SUCCESS or an error
 * Owns:      `arg` must live as long as calls may fold.
 * Errors:    HG_INVALID_ARG  hg_class is NULL, or out_len is 0 and fn is not
 *            HG_NOENTRY      the RPC is not registered here
 *            HG_NOMEM        no memory
 * Threads:   any thread; never blocks.
 * Undefined: called while calls of the RPC to groups are under way.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_register_reduce(hg_class_t *hg_class, hg_id_t id,
    amalgam_reduce_cb_t fn, void *arg, size_t out_len, unsigned flags);

/**
 * Begin to wait, without blocking, until nothing is under way in the class.
 *
 * Collective: each rank calls this or amalgam_quiesce(), in the same order. The
 * callback runs on each rank when all ranks have called, and in the whole class
 * no call is unanswered, no one-way call unexecuted, no transfer under way, and
 * no handler runs, those that handlers have caused included. Until then the
 * program makes progress and runs callbacks, and makes calls only in handlers
 * and callbacks. A handle of an incoming call that the program keeps counts as
 * a handler that runs. While nothing changes no message flows.
 *
 * @param hg_class  [in]
 * @param callback  [in]  run where callbacks of HG_Forward() run
 * @param arg       [in]
 * @return HG_SUCCESS or an error, and then no callback follows
 * Owns:      `arg` must live until the callback ran.
 * Errors:    HG_INVALID_ARG     hg_class or callback is NULL, or there is no
 *                               context 0
 *            HG_BUSY            this rank waits for an earlier one
 *            HG_OPNOTSUPPORTED  the peers of the class are no ranks
 *            The callback gets HG_SUCCESS, or HG_CANCELED: context 0 ends
 * Threads:   any thread; never blocks; collective over the ranks of the class.
 * Undefined: calls of threads of the program meanwhile.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_quiesce_start(
    hg_class_t *hg_class, amalgam_quiesce_cb_t callback, void *arg);

#ifdef __cplusplus
}
#endif

#endif
