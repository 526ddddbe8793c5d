/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of several nodes measure, and come to the same figures, whatever
 * happens to one of them: test_probe CASE, over windows of the test.
 *
 *   plain   on this MPI a dynamic window is slow, and that shows
 *   late    a rank is away for longer than the probe lasts
 *   stuck   one that measures begins later than anybody waits: nobody gives up
 *   error   MPI fails at a rank
 *   wrong   a window gives a rank other bytes than there are
 *   none    there is nothing to reach by a window
 *   gone    a rank never comes: the others wait as long as they are told to
 *
 * Nothing but "plain" looks at the figures, where they are ten times apart. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "mpi_backend/mpi_probe.h"
#include "pair.h"

enum {
    AWAY_NS = 150000000,
    STUCK_MS = 6000,   /* longer than a patience */
    BUDGET_MS = 40000, /* so that a busy machine measures all */
    PATIENCE_MS = 50000,
    SHORT_PATIENCE_MS = 500,
    STUCK_PATIENCE_MS = 4000,
};

static struct amg_mpi_comm comm;
static struct amg_mpi_probe probe;
static const char *fault = "";
static int victim = -1; /* whom it befalls */
static int countdown;   /* that many calls before it does */

/* The victim's MPI: it does not answer for a while. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (strcmp(fault, "late") == 0 && comm.rank == victim && countdown-- == 0)
        amg_clock_sleep_ns(AWAY_NS);
    if (strcmp(fault, "gone") == 0 && comm.rank == victim && countdown <= 0) {
        *flag = 0; /* it looks, and never sees anything */
        return MPI_SUCCESS;
    }
    countdown--;
    return PMPI_Test(request, flag, status);
}

/* The victim has not begun. */
int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm among)
{
    if (strcmp(fault, "stuck") == 0 && comm.rank == victim)
        amg_clock_sleep_ns(STUCK_MS * AMG_NS_PER_MS);
    return PMPI_Allreduce(mine, all, count, type, op, among);
}

/* An error, or other bytes: where the get begins, as if it had ended so. */
int MPI_Rget(void *origin, int count, MPI_Datatype type, int rank,
    MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Win win,
    MPI_Request *request)
{
    if (strcmp(fault, "error") == 0 && comm.rank == victim) {
        *request = MPI_REQUEST_NULL;
        return MPI_ERR_RMA_RANGE;
    }
    if (strcmp(fault, "wrong") == 0 && comm.rank == victim)
        return PMPI_Rget(origin, count - 8, type, rank, disp + 8,
            target_count - 8, target_type, win, request);
    return PMPI_Rget(origin, count, type, rank, disp, target_count, target_type,
        win, request);
}

static void window_make(enum amg_mpi_memory memory, size_t len)
{
    struct amg_mpi_spot *spot = &probe.spots[memory];
    MPI_Aint disp = 0;

    spot->bytes = calloc(1, len);
    CHECK(spot->bytes != NULL);
    if (memory == AMG_MPI_MEMORY_USER) {
        CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm.data, &spot->win) ==
              MPI_SUCCESS);
        CHECK(MPI_Win_attach(spot->win, spot->bytes, (MPI_Aint)len) ==
              MPI_SUCCESS);
        MPI_Get_address(spot->bytes, &disp);
    } else {
        CHECK(MPI_Win_create(spot->bytes, (MPI_Aint)len, 1, MPI_INFO_NULL,
                  comm.data, &spot->win) == MPI_SUCCESS);
    }
    spot->disp = (uint64_t)disp;
    CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, spot->win) == MPI_SUCCESS);
}

static void windows_make(void)
{
    struct amg_mpi_spot *library = &probe.spots[AMG_MPI_MEMORY_LIBRARY];

    window_make(AMG_MPI_MEMORY_LIBRARY, AMG_MPI_PROBE_LEN + AMG_MPI_KNOCK_LEN);
    window_make(AMG_MPI_MEMORY_USER, AMG_MPI_PROBE_LEN);
    probe.knock = *library;
    probe.knock.disp += AMG_MPI_PROBE_LEN;
}

static void windows_free(void)
{
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
        struct amg_mpi_spot *spot = &probe.spots[i];

        if (spot->win == MPI_WIN_NULL)
            continue;
        MPI_Win_unlock_all(spot->win);
        if (i == AMG_MPI_MEMORY_USER)
            MPI_Win_detach(spot->win, spot->bytes);
        MPI_Win_free(&spot->win);
        free(spot->bytes);
    }
}

static void probe_set(void)
{
    probe = (struct amg_mpi_probe){.comm = comm.data,
        .rank = comm.rank,
        .is_leader = comm.node_rank == 0,
        .knock.win = MPI_WIN_NULL,
        .budget_ms = BUDGET_MS,
        .patience_ms = PATIENCE_MS};
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++)
        probe.spots[i].win = MPI_WIN_NULL;
}

/* All ranks have the same figures, to the byte, and so the same choice. */
static void same_check(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice)
{
    struct amg_mpi_choice first;

    amg_mpi_choice_make(figures, ret_choice);
    first = *ret_choice;
    MPI_Bcast(&first, (int)sizeof(first), MPI_BYTE, 0, comm.data);
    CHECK(memcmp(first.is_window, ret_choice->is_window,
              sizeof(first.is_window)) == 0);
    CHECK(first.is_passive == ret_choice->is_passive);
    CHECK(strcmp(first.reason, ret_choice->reason) == 0);
}

/* A message that the probe left behind would be found here. */
static void nothing_is_left(void)
{
    int flag = 1;

    MPI_Barrier(comm.data);
    MPI_Iprobe(
        MPI_ANY_SOURCE, MPI_ANY_TAG, comm.data, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Iprobe(
        MPI_ANY_SOURCE, MPI_ANY_TAG, comm.messages, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
}

static void plain_check(
    const struct amg_mpi_figures *figures, const struct amg_mpi_choice *choice)
{
    const struct amg_mpi_figure *user =
        &figures->of[AMG_MPI_MEMORY_USER][AMG_MPI_SIZE_LARGE];
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int len = 0;

    if (comm.rank == 0)
        printf("%s\n", choice->reason);
    CHECK(figures->trouble == AMG_MPI_TROUBLE_NONE);
    CHECK(user->window_ns > 0 && user->message_ns > 0);
    MPI_Get_library_version(version, &len);
    if (strstr(version, "MPICH Version:\t4.0") == NULL)
        return;
    CHECK(user->window_ns > 2 * user->message_ns);
    CHECK(!choice->is_window[false][AMG_MPI_MEMORY_USER][AMG_MPI_SIZE_LARGE]);
    CHECK(strstr(choice->reason, "user memory by messages (") != NULL ||
          strstr(choice->reason, "user memory by a dynamic window up to") !=
              NULL);
    CHECK(strstr(choice->reason, "a dynamic window moves ") != NULL);
    CHECK(strstr(choice->reason, "1 MiB at ") != NULL);
}

static void fault_check(const char *name, const struct amg_mpi_choice *choice)
{
    static const struct {
        const char *name;
        const char *text;
    } rows[] = {
        {"late", "did not answer in time"},
        {"error", "by messages; rank 0 got an error of MPI"},
        {"wrong", "by messages; rank 0 got wrong bytes from a window"},
        {"none", "user memory by messages (nothing could be measured in time)"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            CHECK(strstr(choice->reason, rows[i].text) != NULL);
    CHECK(!choice->is_passive);
}

/* All give up, and leave their requests to MPI. */
static int gone_check(void)
{
    struct amg_mpi_figures figures;
    hg_return_t rc = HG_SUCCESS;

    probe.budget_ms = SHORT_PATIENCE_MS;
    probe.patience_ms = SHORT_PATIENCE_MS;
    rc = amg_mpi_probe_run(&probe, &figures);
    CHECK(rc == HG_TIMEOUT);
    printf("rank %d survived\n", comm.rank);
    fflush(stdout);
    fault = ""; /* it is back */
    PMPI_Barrier(MPI_COMM_WORLD);
    windows_free();
    MPI_Finalize();
    _exit(EXIT_SUCCESS); /* what was left to MPI is no leak */
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "plain";
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;
    int provided = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    CHECK(amg_mpi_comm_open(&(MPI_Comm){MPI_COMM_WORLD}, &comm) == HG_SUCCESS);
    pair_rank = comm.rank;
    probe_set();
    if (strcmp(name, "none") != 0)
        windows_make();
    victim = strcmp(name, "late") == 0 ? (comm.size - 1) / 2 * 2 : 0;
    countdown = 20; /* in the midst of the rounds */
    fault = name;
    if (strcmp(name, "gone") == 0)
        return gone_check();
    if (strcmp(name, "late") == 0)
        probe.budget_ms = AMG_MPI_PROBE_MS;
    if (strcmp(name, "stuck") == 0)
        probe.patience_ms = STUCK_PATIENCE_MS;
    CHECK(amg_mpi_probe_run(&probe, &figures) == HG_SUCCESS);
    fault = "";
    same_check(&figures, &choice);
    if (strcmp(name, "plain") == 0)
        plain_check(&figures, &choice);
    else if (strcmp(name, "stuck") != 0)
        fault_check(name, &choice);
    nothing_is_left();
    windows_free();
    amg_mpi_comm_close(&comm, true);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
