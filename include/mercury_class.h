/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes: openings of the library over one transport each; version and log. */
#ifndef MERCURY_CLASS_H
#define MERCURY_CLASS_H

#include <stdio.h>

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the version of the API that the library offers, at run time.
 *
 * @param major  [out]  may be NULL, like minor and patch
 * @param minor  [out]  second number of the version
 * @param patch  [out]  third number of the version
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch);

/**
 * Get the name of a return code, for instance "HG_NOENTRY".
 *
 * @param errnum  [in]  a return code
 * Owns:      the result is borrowed from the library, for ever.
 * Errors:    NULL for a number that is no return code.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC const char *HG_Error_to_string(hg_return_t errnum);

/**
 * List the protocols that this process can open.
 *
 * "class_name+protocol_name" of an element is an init string; `device_name` is
 * the name of the driver. MPI is listed if the program is linked with
 * libamalgam_mpi or has loaded it, or if info_string names MPI.
 *
 * @param info_string         [in]   the protocols to list, for instance "mpi",
 *                                   "mpi+p2p", "na+sm", "self"; NULL: all
 * @param na_protocol_info_p  [out]  the first element of a list
 * Owns:      the caller owns the result; HG_Free_na_protocol_info() frees it.
 * Errors:    HG_INVALID_ARG    na_protocol_info_p is NULL, or the string is no
 *                              init string
 *            HG_PROTONOSUPPORT no transport here has that name
 *            HG_NOMEM          no memory
 * Threads:   any thread; may load a library.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but MPI and the self transport are listed too.
 */
HG_PUBLIC hg_return_t HG_Get_na_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p);

/**
 * Free a list of protocols.
 *
 * @param na_protocol_info  [in]  may be NULL
 * Owns:      the list is consumed.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void HG_Free_na_protocol_info(
    struct na_protocol_info *na_protocol_info);

/**
 * Open a class with default options: HG_Init_opt2() without options.
 *
 * @param na_info_string  [in]  the transport; see HG_Init_opt2()
 * @param na_listen       [in]  HG_TRUE: others may call this process
 * Owns:      the caller owns the result; HG_Finalize() frees it.
 * Errors:    NULL on any failure; the log says why.
 * Threads:   any thread; collective over MPI_COMM_WORLD when over MPI. The
 *            first call over libfabric sets environment variables: no other
 *            thread may read the environment or set a signal handler then.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but over MPI as HG_Init_opt2() says.
 */
HG_PUBLIC hg_class_t *HG_Init(const char *na_info_string, uint8_t na_listen);

/**
 * Open a class with options in the layout of Mercury 2.2.
 *
 * Fields of `struct hg_init_info` from `no_multi_recv` on are not read.
 *
 * @param na_info_string  [in]  the transport; see HG_Init_opt2()
 * @param na_listen       [in]  HG_TRUE: others may call this process
 * @param hg_init_info    [in]  NULL: defaults
 * Owns:      the caller owns the result; HG_Finalize() frees it. The options
 *            may be reused when the call returns.
 * Errors:    NULL on any failure; the log says why.
 * Threads:   any thread; collective over MPI_COMM_WORLD when over MPI. The
 *            first call over libfabric sets environment variables: no other
 *            thread may read the environment or set a signal handler then.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but over MPI as HG_Init_opt2() says.
 */
HG_PUBLIC hg_class_t *HG_Init_opt(const char *na_info_string, uint8_t na_listen,
    const struct hg_init_info *hg_init_info);

/**
 * Open a class: the process takes part in RPC over one transport.
 *
 * The string names the transport: "na+sm", "sm" or "shm" for processes of this
 * host; "mpi", "mpi+p2p" or "mpi+rma" for the ranks of an MPI job; "auto" for
 * the ranks of a job with shared memory within each node; "tcp", "ofi+tcp",
 * "verbs" and other names of libfabric; "self" for calls of this process to
 * itself. Over MPI every rank of MPI_COMM_WORLD makes this call, with the same
 * string. If the program has not initialised MPI, the library does so with
 * MPI_THREAD_MULTIPLE, and finalises MPI when the process exits, so a class may
 * be opened again later. The thread level of MPI decides which threads may call
 * the library; a log line of level info names the thread level.
 *
 * With an NA class in the options (see na.h) the HG class uses the transports
 * of the NA class; the string, na_listen and `na_init_info` are not read then,
 * and the string may be NULL. Only one HG class at a time may use an NA class.
 *
 * @param na_info_string  [in]  not read when the options name an NA class
 * @param na_listen       [in]  HG_TRUE: others may call this process
 * @param version         [in]  HG_VERSION(major, minor) that the options were
 *                              written for; not read when they are NULL
 * @param hg_init_info    [in]  NULL: defaults
 * Owns:      the caller owns the result; HG_Finalize() frees it. The options
 *            may be reused when the call returns.
 * Errors:    NULL on any failure; the log says why: no such transport, not in
 *            this build, options of version 0 or of a newer version, options
 *            that contradict each other, an NA class in use, no memory.
 * Threads:   any thread; collective over MPI_COMM_WORLD when over MPI. The
 *            first call over libfabric sets environment variables: no other
 *            thread may read the environment or set a signal handler then.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but collective over MPI.
 */
HG_PUBLIC hg_class_t *HG_Init_opt2(const char *na_info_string,
    uint8_t na_listen, unsigned int version,
    const struct hg_init_info *hg_init_info);

/**
 * Close a class.
 *
 * First checks that no bulk handle, context or address is left. Over MPI the
 * call then waits until every rank has called HG_Finalize(): after
 * AMALGAM_FINALIZE_TIMEOUT_MS (30 s) it logs the missing ranks and continues to
 * wait, at most for AMALGAM_GIVE_UP_MS, if set. Over other transports the call
 * waits, up to AMALGAM_FINALIZE_TIMEOUT_MS, until all living peers can receive
 * what was sent to them: a peer that makes progress then handles one-way calls
 * even after this process has ended. Frees class data and RPC data by their
 * callbacks. A class over an NA class does not wait, and the NA class stays
 * open: calls that arrive meanwhile wait for the next class over it.
 *
 * @param hg_class  [in]  invalid unless HG_BUSY or HG_INVALID_ARG is returned
 * Owns:      the class is consumed, unless HG_BUSY is returned.
 * Errors:    HG_INVALID_ARG hg_class is NULL
 *            HG_BUSY        an object of the class is left, which the log
 *                           names; nothing was done: free it and call again
 *            HG_TIMEOUT     the wait was given up, and so were calls of this
 *                           process; the log has their number, and the class is
 *                           closed nevertheless
 *            HG_HOSTUNREACH as HG_TIMEOUT, after a rank of the job has died
 * Threads:   one thread, while no other uses the class; may wait for the other
 *            ranks. Collective over MPI_COMM_WORLD when over MPI.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but waits for the other ranks over MPI.
 */
HG_PUBLIC hg_return_t HG_Finalize(hg_class_t *hg_class);

/**
 * Remove files that crashed processes of this user left in the system.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; may do file system calls.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void HG_Cleanup(void);

/**
 * Set the log level: lines of this level and of more severe ones are written.
 *
 * @param level  [in]  "none", "fatal", "error", "warning", "min_debug", "info"
 *                     or "debug"; HG_LOG_LEVEL in the environment sets it too
 * Owns:      nothing changes hands.
 * Errors:    an unknown name changes nothing; the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the level is that of all outlets.
 */
HG_PUBLIC void HG_Set_log_level(const char *level);

/**
 * Choose the outlets that write log lines, among the outlets of the library,
 * which mercury_log.h names, and the outlets that the program registered.
 *
 * @param subsys  [in]  "a,b,~c": shows a and b and hides c, and the outlets
 *                      below them; NULL or "" shows all but those that are off
 *                      by default; HG_LOG_SUBSYS in the environment sets it too
 * Owns:      nothing changes hands.
 * Errors:    a list of 1024 bytes or more changes nothing; the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void HG_Set_log_subsys(const char *subsys);

/**
 * Set the function that writes log lines.
 *
 * @param log_func  [in]  called as fprintf() would be; NULL: fprintf() itself
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; may wait while a line is written. `log_func` may be
 *            called by any thread that calls the library, one at a time.
 * Undefined: `log_func` calls the library.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void HG_Set_log_func(
    int (*log_func)(FILE *stream, const char *format, ...));

/**
 * Set the stream to which log lines of a level are written.
 *
 * @param level   [in]  a name as for HG_Set_log_level(); "fatal" and "error"
 *                      share a stream, and so do "min_debug", "info", "debug"
 * @param stream  [in]  NULL: stderr again
 * Owns:      the stream stays the caller's, and open until another is set.
 * Errors:    an unknown name changes nothing; the log says so.
 * Threads:   any thread; may wait while a line is written.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void HG_Set_log_stream(const char *level, FILE *stream);

/**
 * Get the kind of transport of a class: "mpi", "na" (shared memory), "ofi"
 * (libfabric), or "self".
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      the result is borrowed from the class.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC const char *HG_Class_get_name(const hg_class_t *hg_class);

/**
 * Get the protocol of the transport of a class, for instance "p2p" of "mpi".
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      the result is borrowed from the class.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC const char *HG_Class_get_protocol(const hg_class_t *hg_class);

/**
 * Tell whether the class was opened to receive calls.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives false.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC bool HG_Class_is_listening(const hg_class_t *hg_class);

/**
 * Get the number of bytes of encoded input that fit into the request itself.
 *
 * The target fetches a longer input, which takes one more round trip.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t HG_Class_get_input_eager_size(const hg_class_t *hg_class);

/**
 * Get the number of bytes of encoded output that fit into the reply itself.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t HG_Class_get_output_eager_size(const hg_class_t *hg_class);

/**
 * Reserve bytes of every request for a header of the program.
 *
 * The buffer of HG_Get_input_buf() begins with these bytes: the origin writes
 * them before HG_Forward(), the target reads them. The request itself carries
 * these bytes, even if the arguments are too long for the request. Both sides
 * set the same length before they open a context; a request with another length
 * is answered with HG_PROTOCOL_ERROR.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param offset    [in]  bytes, at most HG_Class_get_input_eager_size()
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class is NULL, or offset is too large
 * Threads:   one thread, while no call of the class is made; never blocks.
 * Undefined: set while calls are in flight.
 * Source:    as Mercury 2.4, but sides that differ get an error.
 */
HG_PUBLIC hg_return_t HG_Class_set_input_offset(
    hg_class_t *hg_class, hg_size_t offset);

/**
 * Reserve bytes of every reply for a header of the program.
 *
 * The buffer of HG_Get_output_buf() begins with these bytes: the target writes
 * them before HG_Respond(), the origin reads them once its callback runs. An
 * answer that the library itself sends lacks these bytes. Otherwise as
 * HG_Class_set_input_offset().
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param offset    [in]  bytes, at most HG_Class_get_output_eager_size()
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class is NULL, or offset is too large
 * Threads:   one thread, while no call of the class is made; never blocks.
 * Undefined: set while calls are in flight.
 * Source:    as Mercury 2.4, but sides that differ get an error.
 */
HG_PUBLIC hg_return_t HG_Class_set_output_offset(
    hg_class_t *hg_class, hg_size_t offset);

/**
 * Set a function that is called for every new handle.
 *
 * The function may attach data to the handle by HG_Set_data(). At the origin
 * HG_Create() calls the function. At the target, handles are created when
 * requests arrive, and are reused: the function is called once for each handle,
 * inside HG_Progress(), and the data stay attached for all calls of the handle,
 * until the class is closed. The function is not called for existing handles.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param callback  [in]  if it fails, its result is returned by HG_Create(), or
 *                        answers the request; NULL: no function
 * @param arg       [in]  passed to `callback`
 * Owns:      `arg` must live until the class is closed.
 * Errors:    HG_INVALID_ARG hg_class is NULL
 * Threads:   one thread, while no call of the class is made; never blocks.
 *            `callback` runs in any thread that creates or progresses.
 * Undefined: set while calls are in flight.
 * Source:    as Mercury 2.4, but handles of a target are created when requests
 *            arrive.
 */
HG_PUBLIC hg_return_t HG_Class_set_handle_create_callback(hg_class_t *hg_class,
    hg_return_t (*callback)(hg_handle_t handle, void *arg), void *arg);

/**
 * Get the counters of a class.
 *
 * `rpc_multi_recv_copy_count` is 0: there are no multi-receive buffers. Replies
 * that the library itself sends count, too. A request or reply outside of
 * packed messages is a message of its own. The packed messages of an NA class
 * count in each HG class that uses the NA class.
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param counters  [out]  the counts since the class was opened
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class or counters is NULL
 * Threads:   any thread; never blocks. Exact if no other thread uses the class;
 *            else the latest events may be missing.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but in every build, and `packed_msg_count` and
 *            `packed_call_count` are new.
 */
HG_PUBLIC hg_return_t HG_Class_get_counters(
    const hg_class_t *hg_class, struct hg_diag_counters *counters);

/**
 * Write the counters of all open classes, NA classes included, into the log.
 *
 * One line for each class, from the outlet "diag", at any level but "none". The
 * option `stats` writes that line when the class is closed.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but in every build.
 */
HG_PUBLIC void HG_Diag_dump_counters(void);

/**
 * Attach a pointer of the program to a class.
 *
 * @param hg_class       [in]  of HG_Init() or its forms, or amalgam_init()
 * @param data           [in]  replaces what was set before, without freeing it
 * @param free_callback  [in]  called with `data` by HG_Finalize(); may be NULL
 * Owns:      `data` stays the caller's until `free_callback` is called.
 * Errors:    HG_INVALID_ARG hg_class is NULL
 * Threads:   any thread, one at a time per class; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Class_set_data(
    hg_class_t *hg_class, void *data, void (*free_callback)(void *));

/**
 * Get the pointer that HG_Class_set_data() attached, or NULL.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC void *HG_Class_get_data(const hg_class_t *hg_class);

#ifdef __cplusplus
}
#endif

#endif
