/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of a domain, the threads that may call MPI, and the launch of
 * this process.
 *
 * MPI starts and ends once in a process. If this library starts MPI, the
 * library also ends MPI, at process exit and not with the last domain, so that
 * domains can be opened again; MPI that the user started is left running. The
 * user's MPI_Finalize may come before a domain is closed: an attribute callback
 * on MPI_COMM_SELF, which MPI runs first in MPI_Finalize, stops the domains,
 * because posted receives would make MPI_Finalize hang.
 *
 * A domain has two duplicates of the communicator, with their own error
 * handler: `messages`, which is probed for any tag, and `data` for long
 * messages and fragments of large transfers, which must not match such a probe.
 *
 * The thread level is what MPI_Query_thread says, also where MPI was started by
 * a session; FUNNELED is assumed if that call fails. A process that uses only
 * sessions has no MPI_COMM_SELF, and so no callback: the program must close its
 * domains itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* cpu_set_t, on_exit() */
#endif
#include "mpi_backend/mpi_comm.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "mpi_backend/mpi_public.h"

enum {
    YIELDS = 200,         /* tests before a thread sleeps between tests */
    SLEEP_NS = 50000,     /* the first sleep; later sleeps last up to 2 ms */
    SLEEP_MORE_NS = 4000, /* how much longer each sleep is than the last one */
    SLEEPS_MAX = 500,     /* number of sleeps after which all last equally */
    TELL_TESTS = 5500,    /* tests in some 10 s, after which a line is logged */
};

/* Variables written under `start_lock`, or before other threads read them. */
static struct amg_lock start_lock;
static struct amg_bias turn_lock;
static bool has_hook; /* the callback on MPI_COMM_SELF is set */
static void (*stop_fn)(void);
static bool has_world; /* the user chose `world` */
static MPI_Comm world;
/* With sessions only, without MPI_Init, the thread that opened the first domain
 * is the main thread, as MPI_Is_thread_main() must not be called. */
static bool has_opened;
static _Thread_local bool was_first_to_open;
/* True at MPI_THREAD_SERIALIZED; set before `turn_lock` is first taken. */
static atomic_bool takes_turns;
/* Whether this process gave up on ranks that MPI_Finalize would wait for.
 * amg_mpi_comm_give_up() stores (release), mpi_exit() loads (acquire). */
static atomic_bool has_given_up;
/* amg_fork_count() in the process that runs MPI; UINT_MAX: no domain was opened
 * yet. A child of fork() must not call MPI. */
static atomic_uint owner_forks = UINT_MAX;

static bool is_child(void)
{
    unsigned forks = atomic_load_explicit(&owner_forks, memory_order_relaxed);

    return forks != UINT_MAX && forks != amg_fork_count();
}

hg_return_t amg_mpi_comm_error(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    MPI_Error_string(code, text, &len);
    AMG_LOG_ERROR("mpi", "%s failed: %s", what, text);
    return HG_NA_ERROR;
}

/* The longer a thread has waited, the longer it sleeps, because hundreds of
 * waiting ranks may share the cores of the few ranks that measure
 * (mpi_bulk_select.c). While this thread sleeps, other threads may call MPI,
 * because the awaited rank may need an answer from such a thread. */
void amg_mpi_comm_pause(unsigned tests)
{
    bool is_turn = atomic_load_explicit(&takes_turns, memory_order_relaxed);
    unsigned sleeps = tests - YIELDS;

    if (tests == TELL_TESTS)
        AMG_LOG_WARNING("cls",
            "this rank has waited for 10 s for other ranks that open the class "
            "with it; a rank that has not called amalgam_init(), or whose call "
            "failed, keeps all others waiting");
    if (is_turn)
        amg_bias_unlock(&turn_lock);
    if (tests < YIELDS)
        sched_yield();
    else
        amg_clock_sleep_ns(sleeps < SLEEPS_MAX
                               ? SLEEP_NS + (uint64_t)sleeps * SLEEP_MORE_NS
                               : SLEEP_NS + SLEEPS_MAX * SLEEP_MORE_NS);
    if (is_turn)
        amg_bias_lock(&turn_lock);
}

int amg_mpi_comm_wait(int count, MPI_Request *requests)
{
    unsigned tests = 0;
    int i = 0;

    while (i < count) {
        int flag = 0;
        int rc = MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS)
            return rc;
        i += flag;
        tests = flag ? 0 : tests + 1;
        if (!flag)
            amg_mpi_comm_pause(tests);
    }
    return MPI_SUCCESS;
}

bool amg_mpi_comm_is_window(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    if (code == MPI_SUCCESS)
        return true;
    MPI_Error_string(code, text, &len);
    AMG_LOG_INFO("mpi", "this MPI refuses %s: %s", what, text);
    return false;
}

int amg_mpi_comm_test_some(int count, MPI_Request *requests, int *ret_done,
    int *ret_indices, MPI_Status *ret_statuses)
{
    int rc = MPI_Testsome(count, requests, ret_done, ret_indices, ret_statuses);
    int class = rc;

    if (rc != MPI_SUCCESS) {
        MPI_Error_class(rc, &class);
        return class == MPI_ERR_IN_STATUS ? MPI_SUCCESS : rc;
    }
    for (int i = 0; i < *ret_done; i++)
        ret_statuses[i].MPI_ERROR = MPI_SUCCESS;
    return MPI_SUCCESS;
}

bool amg_mpi_comm_is_over(void)
{
    int flag = 0;

    MPI_Finalized(&flag);
    return flag != 0;
}

void amg_mpi_comm_lock(const struct amg_mpi_comm *comm)
{
    if (comm->lock != NULL)
        amg_bias_lock(comm->lock);
}

void amg_mpi_comm_unlock(const struct amg_mpi_comm *comm)
{
    if (comm->lock != NULL)
        amg_bias_unlock(comm->lock);
}

bool amg_mpi_comm_is_main(void)
{
    /* 0 not asked yet, 1 yes, -1 no */
    static _Thread_local int answer;
    int flag = 0;

    if (answer != 0)
        return answer > 0;
    MPI_Initialized(&flag);
    if (!flag)
        return was_first_to_open;
    if (MPI_Is_thread_main(&flag) == MPI_SUCCESS)
        answer = flag ? 1 : -1;
    return answer > 0;
}

/* Whether this process may call MPI; if not, logs why: MPI was finalised, was
 * inherited by fork(), or is not of the family that the library was built with.
 * Families differ in the types of handles, unless they have MPI 5's ABI. */
static bool mpi_is_usable(void)
{
#if defined(OPEN_MPI)
    static const char built[] = "Open MPI";
    const bool is_open = true;
#else
    static const char built[] = "MPICH or an MPI of its family";
    const bool is_open = false;
#endif
#if defined(MPI_ABI_VERSION)
    const bool is_any = true;
#else
    const bool is_any = false;
#endif
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;

    MPI_Get_library_version(text, &len);
    AMG_ASSERT(len < MPI_MAX_LIBRARY_VERSION_STRING);
    text[strcspn(text, "\t\n")] = '\0';
    if (is_child()) {
        AMG_LOG_ERROR("mpi",
            "MPI was started by the parent of this process, and works there "
            "alone: open na+sm, tcp or self here, or exec() a program");
        return false;
    }
    if (!is_any && (strstr(text, "Open MPI") != NULL) != is_open) {
        AMG_LOG_ERROR("mpi",
            "libamalgam_mpi was built with %s, and this process runs \"%s\": "
            "build Amalgam and the program with the MPI that launches them, "
            "and look at LD_LIBRARY_PATH (ldd shows which libmpi is taken)",
            built, text);
        return false;
    }
    if (!amg_mpi_comm_is_over())
        return true;
    AMG_LOG_ERROR("mpi", "MPI was finalised in this process, and starts only "
                         "once; open the class before MPI_Finalize");
    return false;
}

/* Makes each later log line name the rank of this process in the world, or in
 * `comm` if only sessions started MPI. */
static void log_name_set(MPI_Comm comm)
{
    int is_up = 0;
    int rank = -1;

    MPI_Initialized(&is_up);
    if (MPI_Comm_rank(is_up ? MPI_COMM_WORLD : comm, &rank) == MPI_SUCCESS)
        amg_log_rank_set(rank);
}

bool amg_mpi_comm_is_usable(MPI_Comm comm)
{
    int is_inter = 0;
    int is_up = 0;
    int rc = MPI_SUCCESS;

    if (!mpi_is_usable())
        return false;
    if (comm == MPI_COMM_NULL) {
        AMG_LOG_ERROR("mpi", "the communicator is MPI_COMM_NULL");
        return false;
    }
    MPI_Initialized(&is_up);
    if (!is_up && (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)) {
        AMG_LOG_ERROR("mpi",
            "MPI has not been started, so there is no %s: call MPI_Init_thread "
            "first, or give a communicator of an MPI session",
            comm == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
        return false;
    }
    rc = MPI_Comm_test_inter(comm, &is_inter);
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(
            rc, "looking at the communicator, which may have been freed,");
        return false;
    }
    log_name_set(comm);
    if (is_inter)
        AMG_LOG_ERROR("mpi",
            "the communicator is an intercommunicator: give an "
            "intracommunicator, as MPI_Intercomm_merge() makes");
    return !is_inter;
}

/* Runs at process exit if this library started MPI. A child of fork() inherits
 * this handler, and must not end the rank. A process that fails, or gave up on
 * others, must not wait for them in MPI_Finalize, nor exit without MPI_Abort: a
 * launcher may take such an exit for success. MPI_Finalize ends a class that is
 * still open, as if the program had called MPI_Finalize. */
static void mpi_exit(int status, void *arg)
{
    bool is_alone = atomic_load_explicit(&has_given_up, memory_order_acquire);

    (void)arg;
    if (is_child() || amg_mpi_comm_is_over())
        return;
    if (status == 0 && !is_alone) {
        if (!amg_mpi_comm_is_main())
            AMG_LOG_INFO("mpi", "exit() was called by a thread that did not "
                                "start MPI: MPI_Finalize may fail");
        MPI_Finalize();
        return;
    }
    if (status != 0)
        AMG_LOG_ERROR("mpi",
            "the process exits with code %d before MPI_Finalize: MPI_Abort "
            "ends the job",
            status);
    else
        AMG_LOG_ERROR("mpi", "this rank gave up on ranks that MPI_Finalize "
                             "would wait for: MPI_Abort ends the job; call "
                             "_exit() to let the other ranks go on");
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, status != 0 ? status : EXIT_FAILURE);
}

static int self_deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    if (stop_fn != NULL && !is_child())
        stop_fn();
    return MPI_SUCCESS;
}

static void finalize_hook_set(void)
{
    int keyval = MPI_KEYVAL_INVALID;

    if (has_hook)
        return;
    if (MPI_Comm_create_keyval(
            MPI_COMM_NULL_COPY_FN, self_deleted, &keyval, NULL) != MPI_SUCCESS)
        return;
    has_hook = MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) == MPI_SUCCESS;
    MPI_Comm_free_keyval(&keyval);
}

/* The process manager that started a process for MPI sets variables of its own:
 * PMI_SIZE by hydra and by Slurm's plugin pmi2, OMPI_COMM_WORLD_SIZE by Open
 * MPI's mpirun. Slurm's variables are read only if no manager set its own:
 * Hydra and Open MPI start a helper per node by a step of Slurm, and the ranks
 * inherit variables that describe the helpers. The variables of a whole
 * allocation (SLURM_NTASKS, SLURM_JOB_*) say nothing, as a program may be
 * started alone in an allocation; nor do those of a step with a terminal (srun
 * --pty), as commands typed or submitted from the terminal inherit them. */

/* The number in a variable; 0: unset, or not a number above 0. */
static uint32_t number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);

    if (text == NULL || text[0] == '-' || end == text || *end != '\0' ||
        value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static bool is_first(const char *name)
{
    return number_of(name) == 0;
}

/* If two managers are nested, nothing tells which manager is the inner one. The
 * smaller number of processes is used, which causes fewer false warnings. */
static struct amg_mpi_launch by_manager(uint32_t pmi, uint32_t open_mpi)
{
    struct amg_mpi_launch launch = {pmi, false, is_first("PMI_RANK")};

    if (pmi == 0 || (open_mpi != 0 && open_mpi < pmi)) {
        launch.tasks = open_mpi;
        launch.is_spokesman = is_first("OMPI_COMM_WORLD_RANK");
    }
    return launch;
}

struct amg_mpi_launch amg_mpi_launch_read(void)
{
    struct amg_mpi_launch nobody = {0, false, true};
    uint32_t pmi = number_of("PMI_SIZE");
    uint32_t open_mpi = number_of("OMPI_COMM_WORLD_SIZE");

    if (pmi != 0 || open_mpi != 0)
        return by_manager(pmi, open_mpi);
    /* A manager passed its socket, but not the number of processes. */
    if (getenv("PMI_PORT") != NULL || getenv("PMI_FD") != NULL)
        return nobody;
    if (getenv("SLURM_PTY_PORT") != NULL)
        return nobody;
    nobody.tasks = number_of("SLURM_STEP_NUM_TASKS");
    nobody.is_by_step = nobody.tasks != 0;
    nobody.is_spokesman = nobody.tasks == 0 || is_first("SLURM_PROCID");
    return nobody;
}

/* With the wrong launcher each process becomes a world of its own: warns in one
 * of the processes. */
static void singleton_warn(void)
{
    static bool was_told; /* guarded by start_lock */
    struct amg_mpi_launch launch = amg_mpi_launch_read();
    int size = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1 || launch.tasks <= 1 || !launch.is_spokesman || was_told)
        return;
    was_told = true;
    if (launch.is_by_step)
        AMG_LOG_WARNING("mpi",
            "MPI sees 1 rank, but srun started %u tasks: each of them is a job "
            "of its own. Try srun --mpi=pmi2 (MPICH, MVAPICH), --mpi=pmix "
            "(Open MPI) or --mpi=cray_shasta (Cray MPICH); srun --mpi=list "
            "tells which there are",
            launch.tasks);
    else
        AMG_LOG_WARNING("mpi",
            "MPI sees 1 rank, but the launcher started %u processes: each of "
            "them is a job of its own. Start them by the mpiexec of the MPI "
            "that the program was built with",
            launch.tasks);
}

static hg_return_t mpi_start_locked(bool may_start)
{
    int flag = 0;
    int provided = 0;
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD(&start_lock);
    if (!mpi_is_usable())
        return HG_OPNOTSUPPORTED;
    amg_fork_watch();
    atomic_store_explicit(&owner_forks, amg_fork_count(), memory_order_relaxed);
    MPI_Initialized(&flag);
    if (!flag && !may_start) { /* the user's session started MPI */
        was_first_to_open = was_first_to_open || !has_opened;
        has_opened = true;
        return HG_SUCCESS;
    }
    if (!flag) {
        rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
        if (rc != MPI_SUCCESS)
            return amg_mpi_comm_error(rc, "MPI_Init_thread");
        if (on_exit(mpi_exit, NULL) != 0)
            AMG_LOG_WARNING("mpi", "no exit handler can be registered: the "
                                   "library will not finalise MPI");
    }
    if (has_hook)
        return HG_SUCCESS; /* an earlier call did the rest */
    log_name_set(MPI_COMM_WORLD);
    singleton_warn();
    finalize_hook_set();
    return HG_SUCCESS;
}

static const char *thread_level_text(int level)
{
    return level == MPI_THREAD_MULTIPLE ? "MPI_THREAD_MULTIPLE: any thread"
           : level == MPI_THREAD_SERIALIZED
               ? "MPI_THREAD_SERIALIZED: the library calls MPI from one thread "
                 "at a time; do not call MPI meanwhile"
           : level == MPI_THREAD_FUNNELED
               ? "MPI_THREAD_FUNNELED: only the thread that started MPI makes "
                 "progress, and others' posts wait for it"
               : "MPI_THREAD_SINGLE: only the thread that started MPI may post "
                 "and make progress, others are refused";
}

static int thread_level_get(void)
{
    static atomic_bool was_told;
    int level = MPI_THREAD_FUNNELED;

    if (MPI_Query_thread(&level) != MPI_SUCCESS)
        level = MPI_THREAD_FUNNELED;
    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_INFO("mpi", "thread level %s%s", thread_level_text(level),
            level == MPI_THREAD_MULTIPLE
                ? ""
                : "; MPI_Init_thread with MPI_THREAD_MULTIPLE lifts this, and "
                  "lets a progress thread serve MPI");
    return level;
}

hg_return_t amg_mpi_world_set(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && !amg_mpi_comm_is_usable(comm))
        return HG_INVALID_ARG;
    amg_lock_lock(&start_lock);
    has_world = comm != MPI_COMM_NULL;
    world = comm;
    amg_lock_unlock(&start_lock);
    return HG_SUCCESS;
}

hg_return_t amg_mpi_comm_open(const MPI_Comm *user, void (*stop)(void),
    struct amg_mpi_comm *ret_comm, MPI_Comm *ret_user)
{
    struct amg_mpi_comm comm = {
        .messages = MPI_COMM_NULL, .data = MPI_COMM_NULL};
    MPI_Comm found = MPI_COMM_NULL;
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&start_lock);
    if (stop_fn == NULL) /* the first call */
        amg_bias_init(&turn_lock);
    stop_fn = stop;
    rc = mpi_start_locked(user == NULL);
    found = user != NULL ? *user : has_world ? world : MPI_COMM_WORLD;
    amg_lock_unlock(&start_lock);
    if (rc != HG_SUCCESS)
        return rc;
    comm.thread_level = thread_level_get();
    if (!amg_mpi_comm_may_call(&comm)) {
        AMG_LOG_ERROR("mpi",
            "this thread may not call MPI: open the class in the thread "
            "that started MPI, or start MPI with MPI_THREAD_MULTIPLE");
        return HG_OPNOTSUPPORTED;
    }
    if (comm.thread_level == MPI_THREAD_SERIALIZED)
        comm.lock = &turn_lock;
    atomic_store_explicit(
        &takes_turns, comm.lock != NULL, memory_order_relaxed);
    amg_mpi_comm_lock(&comm);
    log_name_set(found);
    *ret_user = found;
    *ret_comm = comm;
    return HG_SUCCESS;
}

void amg_mpi_comm_give_up(void)
{
    atomic_store_explicit(&has_given_up, true, memory_order_release);
}

void amg_mpi_comm_close(struct amg_mpi_comm *comm, bool is_whole)
{
    if (!is_whole)
        return;
    amg_mpi_comm_lock(comm);
    if (comm->data != MPI_COMM_NULL)
        MPI_Comm_free(&comm->data);
    if (comm->messages != MPI_COMM_NULL)
        MPI_Comm_free(&comm->messages);
    amg_mpi_comm_unlock(comm);
}
