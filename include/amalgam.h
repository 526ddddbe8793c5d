/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Amalgam itself: classes and addresses in terms of MPI.
 *
 * A class of amalgam_init() is used with the HG_ calls of mercury.h like any
 * other class. The library works on duplicates of the communicator, and does
 * not touch the user's communicators, tags and error handlers. */
#ifndef AMALGAM_H
#define AMALGAM_H

#include <mpi.h>

#include "amalgam_counters.h"
#include "amalgam_group.h"
#include "amalgam_oneway.h"
#include "amalgam_progress.h"
#include "amalgam_state.h"
#include "mercury.h"
#include "mercury_bulk.h"

#define AMALGAM_VERSION_MAJOR 0
#define AMALGAM_VERSION_MINOR 2
#define AMALGAM_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* MPI families have handles of different types. A program that was built with
 * another family than the library does not link, because its symbol is missing.
 * The ABI of MPI 5 counts as a family of its own. */
#if defined(OPEN_MPI)
#define AMALGAM_MPI_FAMILY amalgam_for_open_mpi
#elif defined(MPI_ABI_VERSION)
#define AMALGAM_MPI_FAMILY amalgam_for_mpi_abi
#else
#define AMALGAM_MPI_FAMILY amalgam_for_mpich
#endif
HG_PUBLIC extern const char AMALGAM_MPI_FAMILY;
static const char *const amalgam_mpi_family __attribute__((used)) =
    &AMALGAM_MPI_FAMILY;

/** Options of amalgam_init(). Start from AMALGAM_OPTIONS_INITIALIZER; zeros
 * select the defaults. */
struct amalgam_options {
    size_t size;      /* sizeof(struct amalgam_options), set by the macro */
    unsigned credits; /* unanswered requests a rank may have at one peer;
                       * default 64, at most 32767 */
    unsigned message_bytes;  /* longest message, headers counted; default
                              * 4096, from 256 to 65536 */
    unsigned contexts;       /* contexts with ids of their own; default 1, at
                              * most 256 */
    hg_bool_t client_only;   /* true: sends requests, and receives none */
    hg_bool_t no_overflow;   /* true: arguments beyond one message fail */
    hg_bool_t no_bulk_eager; /* true: requests never carry bulk data */
    /* Options of progress; read during the call. NULL takes all defaults. */
    const struct amalgam_progress_options *progress;
};

#define AMALGAM_OPTIONS_INITIALIZER                                            \
    {                                                                          \
        sizeof(struct amalgam_options), 0, 0, 0, 0, 0, 0, NULL                 \
    }

/**
 * Open a class whose peers are the ranks of a communicator.
 *
 * Collective over `comm`. Every rank names the same transport.
 *
 * @param comm       [in]  any intracommunicator: the world, a part of it, or
 *                         one made from an MPI-4 session
 * @param transport  [in]  "mpi+p2p": MPI messages; "mpi+rma": bulk data by MPI
 *                         windows; "mpi": bulk data by the faster way, which
 *                         is measured; "shm": shared memory, and all ranks
 *                         must be on one node; "ofi+tcp", "verbs" and other
 *                         names of libfabric: libfabric between nodes, shared
 *                         memory within each node; NULL or "auto": shared
 *                         memory within each node, and between nodes "mpi" or
 *                         the transport that AMALGAM_INTERNODE names.
 *                         AMALGAM_TRANSPORT overrides NULL and "auto", and the
 *                         measured choice of "mpi"
 * @param options    [in]  NULL takes all defaults
 * @return the class, or NULL; the log says why
 * Owns:      `comm` stays the caller's and may be freed at once; the caller
 *            owns the class; amalgam_finalize() frees it.
 * Errors:    NULL  `comm` is MPI_COMM_NULL, freed (where MPI notices) or an
 *                  intercommunicator; MPI has not been initialised, or has
 *                  been finalised; the process runs an MPI of another family
 *                  (MPICH, Open MPI) than the library was built with; no such
 *                  transport (the log lists the known ones); an option is out
 *                  of range; "shm", and a rank is on another node; the ranks
 *                  name different transports; libfabric, and a rank cannot
 *                  open it, or has other providers; no memory; MPI failed.
 *                  Nothing is left behind, but the other ranks may still wait
 *                  in this call.
 * Threads:   a thread that may call MPI. Blocks until all ranks have made this
 *            call.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_class_t *amalgam_init(MPI_Comm comm, const char *transport,
    const struct amalgam_options *options);

/**
 * Close a class together with all its ranks.
 *
 * Collective over the ranks of the class. Checks whether this rank still has
 * open objects; then makes progress and runs callbacks of all contexts until
 * all ranks have made this call and all calls have ended; then destroys the
 * contexts and closes the class. So an early rank still answers the others, and
 * HG_SUCCESS means that all one-way calls of this rank were handled, also those
 * that handlers made meanwhile. All ranks wait while any handler makes calls.
 *
 * @param hg_class  [in]  of amalgam_init() or HG_Init()
 * @return HG_SUCCESS or an error
 * Owns:      frees the class and its contexts, unless HG_BUSY is returned.
 * Errors:    HG_INVALID_ARG  hg_class is NULL, or was closed before
 *            HG_BUSY         bulk handles, RPC handles, addresses or memory of
 *                            amalgam_alloc() are left; nothing was done: free
 *                            them and call again. If only handles of incoming,
 *                            answered calls are left, the class has already
 *                            disconnected, and no rank waits for this rank
 *            HG_TIMEOUT      some ranks did not make this call, or did not end
 *                            calls of this rank, within AMALGAM_GIVE_UP_MS, if
 *                            that is set; the log names these ranks; the class
 *                            is closed nevertheless
 *            HG_HOSTUNREACH  a rank has died, and some ranks did not make this
 *                            call within 5 s, or AMALGAM_GIVE_UP_MS; the class
 *                            is closed, and MPI_Finalize() may not return
 * Threads:   a thread that may call MPI, while no other thread uses the class.
 *            Blocks until all ranks have made this call; after
 *            AMALGAM_FINALIZE_TIMEOUT_MS (30 s) the log names the missing
 *            ranks, or with HG_BUSY the ranks that owe this rank answers.
 * Undefined: using the class or one of its contexts afterwards.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_finalize(hg_class_t *hg_class);

/**
 * Get the address of a rank of the class's communicator.
 *
 * Takes constant time, and sends no message.
 *
 * @param hg_class  [in]   a class over MPI
 * @param rank      [in]   below the communicator's size; may be the caller's
 * @param addr      [out]  the address
 * @return HG_SUCCESS or an error
 * Owns:      `addr` is the caller's: HG_Addr_free() it.
 * Errors:    HG_INVALID_ARG      a NULL argument, or no such rank
 *            HG_OPNOTSUPPORTED   the class is not over MPI
 *            HG_NOMEM            no memory
 * Threads:   any thread. Never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_addr_rank(
    hg_class_t *hg_class, int rank, hg_addr_t *addr);

/**
 * Get the rank of the process that an address names.
 *
 * @param hg_class  [in]   a class over MPI
 * @param addr      [in]   of that class, also from HG_Get_info()
 * @param rank      [out]  in the communicator of the class
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     a NULL argument, or an address of another class
 *            HG_OPNOTSUPPORTED  the class is not over MPI
 *            HG_ADDRNOTAVAIL    the process is no rank of the class
 * Threads:   any thread. Never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_addr_get_rank(
    hg_class_t *hg_class, hg_addr_t addr, int *rank);

/**
 * Get the address of a rank of another communicator.
 *
 * @param hg_class  [in]   a class over MPI
 * @param comm      [in]   any communicator of this process
 * @param rank      [in]   in `comm`; of its remote group when that is an
 *                         intercommunicator
 * @param addr      [out]  the address
 * @return HG_SUCCESS or an error
 * Owns:      `comm` stays the caller's; `addr` is the caller's.
 * Errors:    HG_INVALID_ARG     a NULL argument, or no such rank in `comm`
 *            HG_ADDRNOTAVAIL    that process is not in the class's communicator
 *            HG_OPNOTSUPPORTED  the class is not over MPI, or this thread may
 *                               not call MPI
 *            HG_NOMEM           no memory
 *            HG_NA_ERROR        MPI failed
 * Threads:   a thread that may call MPI. Sends nothing, and does not wait.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_addr_comm_rank(
    hg_class_t *hg_class, MPI_Comm comm, int rank, hg_addr_t *addr);

/**
 * Get the caller's rank in the class's communicator, and its size.
 *
 * @param hg_class  [in]   a class over MPI
 * @param rank      [out]  or NULL
 * @param size      [out]  or NULL
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     hg_class is NULL
 *            HG_OPNOTSUPPORTED  the class is not over MPI
 * Threads:   any thread. Never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_class_ranks(
    hg_class_t *hg_class, int *rank, int *size);

/**
 * Allocate memory from the class: the fastest memory for bulk transfers.
 *
 * Peers on the node copy from and to this memory without a system call. The
 * memory comes from the AMALGAM_POOL_BYTES (1 GiB) of address space that each
 * class reserves, or from the heap if no space is left, which is logged once.
 *
 * @param hg_class  [in]  any class
 * @param len       [in]  bytes; 0 gives an address, too
 * @return the memory, aligned to a page if `len` is at least a page, else to 64
 *         bytes; or NULL
 * Owns:      the caller owns the result; amalgam_free() frees it.
 * Errors:    NULL  hg_class is NULL, or no memory. amalgam_finalize() returns
 *                  HG_BUSY while memory is not freed.
 * Threads:   any thread; never blocks.
 * Undefined: nothing. A child of fork() reads what the parent wrote before, and
 *            what the child writes stays in the child.
 * Source:    ours.
 */
HG_PUBLIC void *amalgam_alloc(hg_class_t *hg_class, size_t len);

/**
 * Free memory of amalgam_alloc().
 *
 * @param hg_class  [in]  the class that `ptr` was allocated from
 * @param ptr       [in]  NULL is allowed
 * Owns:      the memory is consumed.
 * Errors:    HG_INVALID_ARG  hg_class is NULL
 * Threads:   any thread; never blocks.
 * Undefined: memory that is still exposed, or not of amalgam_alloc().
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_free(hg_class_t *hg_class, void *ptr);

/**
 * Expose memory that an MPI datatype describes.
 *
 * The handle names the bytes of `count` elements of `type` at `buf`, in the
 * order of MPI_Pack(); offsets of transfers count these bytes and not the gaps.
 * Adjacent bytes are merged into one segment. The other side of a transfer may
 * be any handle with enough bytes.
 *
 * @param hg_class  [in]   a class over MPI
 * @param buf       [in]   as for MPI_Send(); MPI_BOTTOM with a type made of
 *                         absolute addresses
 * @param count     [in]   elements, not negative; an MPI_Count, because memory
 *                         beyond 2^31 elements can be exposed by one handle
 * @param type      [in]   any committed datatype: predefined, or derived in any
 *                         way and depth
 * @param flags     [in]   HG_BULK_READ_ONLY, _WRITE_ONLY or _READWRITE
 * @param handle    [out]  the handle; of length 0 if there are no bytes
 * @return HG_SUCCESS or an error
 * Owns:      the caller owns the result; HG_Bulk_free() frees it. `type` may be
 *            freed when the call returns; the memory stays the caller's and
 *            must live until HG_Bulk_free() succeeded.
 * Errors:    HG_INVALID_ARG  hg_class or handle is NULL, flags are unknown or
 *                            none, `count` is negative, `type` is
 *                            MPI_DATATYPE_NULL or not committed; an address is
 *                            invalid (`buf` plus a displacement overflows, or
 *                            `buf` is NULL and NULL is not MPI_BOTTOM), or
 *                            there are 2^63 bytes or more; the log says which
 *            HG_OVERFLOW     2^32 segments or more
 *            HG_OPNOTSUPPORTED  the class is not over MPI, this thread may not
 *                            call MPI, or MPI made the type in a way that this
 *                            version does not know
 *            HG_NOMEM        no memory
 *            HG_NA_ERROR     MPI failed
 *            The program's MPI error handlers are called for none of these.
 * Threads:   a thread that may call MPI. Sends nothing, and does not wait;
 *            takes 16 bytes of memory and some nanoseconds per segment.
 * Undefined: a peer writes to a type that names a byte twice; a type that was
 *            freed.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_bulk_create_type(hg_class_t *hg_class, void *buf,
    MPI_Count count, MPI_Datatype type, hg_uint8_t flags, hg_bulk_t *handle);

/**
 * Make a group of ranks from a group of MPI.
 *
 * As amalgam_group_create_ranks() with the ranks that the processes have in the
 * class.
 *
 * @param hg_class   [in]   a class over MPI
 * @param mpi_group  [in]   its processes are of the class's communicator;
 *                          MPI_GROUP_EMPTY makes an empty group
 * @param group      [out]  the new group
 * @return HG_SUCCESS or an error
 * Owns:      `mpi_group` stays the caller's; the caller owns `group`;
 *            amalgam_group_free() frees it.
 * Errors:    HG_INVALID_ARG     hg_class or group is NULL, or mpi_group is
 *                               MPI_GROUP_NULL
 *            HG_ADDRNOTAVAIL    a process is not in the class's communicator
 *            HG_OPNOTSUPPORTED  the class is not over MPI, or this thread may
 *                               not call MPI
 *            HG_NOMEM           no memory
 *            HG_NA_ERROR        MPI failed
 *            The program's MPI error handlers are called for none of these.
 * Threads:   a thread that may call MPI. Sends nothing, and does not wait.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_group_create(
    hg_class_t *hg_class, MPI_Group mpi_group, amalgam_group_t *group);

/**
 * Fold outputs of an RPC by an operation of MPI in calls to groups.
 *
 * As amalgam_register_reduce(): the output struct is `count` elements of
 * `type`, such as a double for MPI_DOUBLE, or the struct {double value; int
 * place;} for MPI_DOUBLE_INT and MPI_MAXLOC. The RPC's own proc codes the
 * struct. An operation that is not commutative (MPI_Op_commutative()) folds in
 * ascending order of the ranks. Also for RPCs of Margo.
 *
 * @param hg_class  [in]  a class over MPI
 * @param id        [in]  a registered RPC
 * @param op        [in]  predefined, or of MPI_Op_create(). A function of the
 *                        program must not call this library or send messages
 * @param type      [in]  committed; each element lies within its extent
 * @param count     [in]  elements, above 0
 * @return HG_SUCCESS or an error
 * Owns:      `op` and `type` must live as long as calls may fold.
 * Errors:    HG_INVALID_ARG     hg_class is NULL, `count` is below 1, MPI does
 *                               not allow `op` for `type`, either is null or
 *                               freed (where MPI notices), or `type` is not
 *                               committed, or reaches beyond its extent
 *            HG_OPNOTSUPPORTED  the class is not over MPI, this thread may not
 *                               call MPI, or the RPC has no proc for outputs
 *            HG_NOENTRY         the RPC is not registered here
 *            HG_NOMEM           no memory
 *            The program's MPI error handlers are called for none of these.
 *            Outputs are folded where handlers run: if that is a thread that
 *            may not call MPI, the call to the group ends with
 *            HG_OPNOTSUPPORTED.
 * Threads:   a thread that may call MPI. Sends nothing, and does not wait.
 * Undefined: called while calls of the RPC to groups are under way.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_register_reduce_op(
    hg_class_t *hg_class, hg_id_t id, MPI_Op op, MPI_Datatype type, int count);

/**
 * Test whether an MPI request has completed, and serve incoming calls.
 *
 * Makes progress on all contexts of the class, runs callbacks that are due, as
 * HG_Trigger() does, and then tests once, as MPI_Test() does. A loop over
 * amalgam_test() answers the calls of other ranks; a loop over MPI_Test()
 * answers them only if the class has a progress thread.
 *
 * @param hg_class  [in]      a class over MPI
 * @param request   [in,out]  any request of the program; MPI_REQUEST_NULL and
 *                            an inactive request count as completed
 * @param flag      [out]     whether it has completed
 * @param status    [out]     of the completed request, as by MPI_Test(); may be
 *                            NULL or MPI_STATUS_IGNORE
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     hg_class, request or flag is NULL
 *            HG_OPNOTSUPPORTED  the class is not over MPI, or this thread may
 *                               not call MPI; nothing was served
 *            HG_NA_ERROR        MPI failed; the log has its error text; if the
 *                               operation itself failed, the request has
 *                               completed and MPI_ERROR of `status` says why
 *            The program's MPI error handlers are called for none of these.
 * Threads:   a thread that may call MPI; never blocks; runs the user's
 *            callbacks.
 * Undefined: another thread uses the request at the same time; the error
 *            handlers of MPI_COMM_WORLD and MPI_COMM_SELF changed during the
 *            call; a context of the class destroyed during the call.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_test(
    hg_class_t *hg_class, MPI_Request *request, int *flag, MPI_Status *status);

/**
 * Wait until an MPI request has completed, and serve incoming calls meanwhile.
 *
 * Repeats amalgam_test(). On a shared core the thread sleeps between two tests,
 * for 1 ms and, after 20 ms without an event, for 5 ms; on a core of its own
 * the thread sleeps only after 200 ms without an event. Incoming calls over
 * shared memory or libfabric end a sleep.
 *
 * @param hg_class    [in]      a class over MPI
 * @param request     [in,out]  as for amalgam_test()
 * @param timeout_ms  [in]      milliseconds; 0: does not wait
 * @param status      [out]     as for amalgam_test()
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     hg_class or request is NULL
 *            HG_TIMEOUT         the request has not completed, and is still
 *                               valid: wait again
 *            HG_OPNOTSUPPORTED  as amalgam_test()
 *            HG_NA_ERROR        as amalgam_test()
 *            The program's MPI error handlers are called for none of these.
 * Threads:   a thread that may call MPI; may wait up to its time-out; runs the
 *            user's callbacks.
 * Undefined: as amalgam_test().
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_wait(hg_class_t *hg_class, MPI_Request *request,
    unsigned timeout_ms, MPI_Status *status);

/**
 * Wait until all ranks of the class are in the barrier, and serve incoming
 * calls meanwhile.
 *
 * Works like MPI_Barrier() over the communicator of the class. But this rank
 * answers calls of other ranks while it waits, as it does in amalgam_wait().
 *
 * @param hg_class  [in]  a class over MPI
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     hg_class is NULL
 *            HG_TIMEOUT         ranks did not arrive within
 *                               AMALGAM_BARRIER_TIMEOUT_MS (600 s). This rank
 *                               stays in the barrier: its next call goes on
 *                               with this barrier, and begins no new barrier
 *            HG_BUSY            another thread is in a barrier of the class, or
 *                               the caller is a callback that a barrier runs
 *            HG_OPNOTSUPPORTED  the class is not over MPI, this thread may not
 *                               call MPI, or the caller is a handler in a
 *                               thread of the library
 *            HG_HOSTUNREACH     a rank has died: no later barrier of the class
 *                               succeeds; some ranks may return HG_SUCCESS from
 *                               a barrier that others leave with this code
 *            HG_NA_ERROR        MPI failed; the log has its error text
 *            The program's MPI error handlers are called for none of these.
 * Threads:   a thread that may call MPI; collective over the ranks of the
 *            class; runs the user's callbacks.
 * Undefined: a context of the class destroyed during the call.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_barrier(hg_class_t *hg_class);

/**
 * Wait until nothing is under way in the class, and serve incoming calls
 * meanwhile.
 *
 * Collective: each rank calls this function or amalgam_quiesce_start(), all in
 * the same order of calls. The call returns, after all ranks have called, when
 * in the whole class no call is unanswered, no one-way call waits for its
 * handler, no transfer is under way, and no handler or callback runs; all that
 * handlers and callbacks begin meanwhile is included. A handle of an incoming
 * call that the program keeps counts as a handler that runs.
 *
 * A rank with nothing under way says so by one message and then sleeps, so a
 * long wait costs no further messages. A rank whose call has returned may make
 * calls again, which may come to ranks that are still in this call.
 *
 * @param hg_class    [in]  a class whose ranks all have a context of id 0
 * @param timeout_ms  [in]  milliseconds; 0: does not wait
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     hg_class is NULL, or has no context of id 0
 *            HG_TIMEOUT         ranks are missing, or something is under way.
 *                               The wait of this rank is not over: the next
 *                               call goes on with that wait
 *            HG_BUSY            this rank waits for the callback of
 *                               amalgam_quiesce_start()
 *            HG_CANCELED        the context of id 0 ended after an earlier call
 *                               had timed out; no later wait ends
 *            HG_HOSTUNREACH     a rank has died; later waits end by this code
 *            HG_OPNOTSUPPORTED  the peers of the class are no ranks, or the
 *                               caller is a handler or callback
 * Threads:   a thread that may call MPI, one at a time; collective over the
 *            ranks of the class; may wait up to its time-out; runs the user's
 *            callbacks.
 * Undefined: calls by threads of the program meanwhile, except by handlers and
 *            callbacks; a context of the class created or destroyed during the
 *            call.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_quiesce(
    hg_class_t *hg_class, unsigned timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
