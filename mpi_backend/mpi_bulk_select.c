/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides from a measurement, while the domain opens, whether bulk data moves
 * over MPI through windows or by messages.
 *
 * Messages always work: they can be cancelled, they gather short runs, and the
 * exposer checks each access. A window is used if it is 5 % faster than
 * messages; a window that needs no help of its target may be 5 % slower, since
 * the target can compute meanwhile. No window is used if the post of an access
 * waits for a target that is outside of MPI (osc/rdma of Open MPI 4.1.4 takes a
 * lock in the post), because the caller could neither cancel that post nor
 * serve peers. The init string or AMALGAM_TRANSPORT may force windows or
 * messages. Windows over all ranks are created only if transfers will use them.
 *
 * The first ranks of up to AMG_MPI_LEADERS nodes measure, on a communicator and
 * two windows of their own. They form pairs: in each round one rank pulls once
 * by each way while its partner serves the pulls, then the two swap. A round
 * begins only if the rest of BUDGET_MS exceeds the time that the slowest pair
 * took for the previous round. A rank's result is the median of its rounds, or
 * its best one. For windows the slowest rank counts, for messages the fastest.
 *
 * Only pulls are measured, because a push takes the same time through the same
 * window (1.28 GB/s through a dynamic window, MPICH 4.0.2, ch4:ucx). */

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_rma.h"

enum {
    BUDGET_MS = 50, /* for the rounds of pulls of all lengths */
    ROUNDS = 7,     /* per length; the first, which connects, is not counted */
    ROUNDS_MIN = 4, /* fewer rounds give no result */
    AREA_LEN = AMG_MPI_MEASURED_LARGE,
    ACCESS_WORDS = 8, /* of a descriptor, AMG_MPI_DESC_LEN bytes */
    AREA_CAP = AREA_LEN + ACCESS_WORDS * sizeof(int64_t),
    NOTE_WORDS = 6,            /* of a note: 48 B, like a GET with its header */
    TARGET_SLEEP_NS = 2000000, /* far above the time of a get */
    CLEAR_NS = 100000,         /* time for the target to leave MPI and sleep */
    YIELDS = 200,              /* tests of a request before the thread yields */
    RANKS_MAX = 4096,          /* larger domains are not measured */
    GAIN_PERCENT = 105,
    GAIN_PASSIVE_PERCENT = 95,
};

/* Ways of a pull: a window is named as in enum amg_mpi_memory. */
enum { WAY_MESSAGE = AMG_MPI_MEMORIES, WAYS };

/* A note to the partner: a number of bytes to send, NOTE_DONE or NOTE_SLEEP. */
enum { NOTE_DONE, NOTE_SLEEP };

static const uint64_t lens[AMG_MPI_SIZES] = {
    AMG_MPI_MEASURED_MEDIUM, AMG_MPI_MEASURED_LARGE};

/* State of a measuring rank; lives as long as the measurement. */
struct bench {
    MPI_Comm comm; /* of the ranks that measure */
    int rank;      /* in the domain */
    int me;        /* rank in `comm` */
    int partner;   /* MPI_PROC_NULL (< 0): none, the number of ranks is odd */
    MPI_Win windows[AMG_MPI_MEMORIES];
    MPI_Aint at[AMG_MPI_MEMORIES]; /* displacement of the partner's bytes */
    unsigned char *area;           /* memory of both windows, AREA_CAP bytes */
    unsigned char *landing;
    uint64_t ns[AMG_MPI_SIZES][WAYS][ROUNDS];
    unsigned rounds[AMG_MPI_SIZES]; /* made so far */
    struct amg_mpi_figures figures;
};

/* True: MPI succeeded; else logs the error, and marks the figures failed. */
static bool is_good(struct bench *bench, int code)
{
    if (code == MPI_SUCCESS)
        return true;
    (void)amg_mpi_comm_error(code, "measuring bulk data between nodes");
    bench->figures.failed = 1 + (uint64_t)bench->rank;
    return false;
}

/* True: MPI created the window; else logs why, and marks the figures failed. */
static bool is_window(struct bench *bench, int code)
{
    if (amg_mpi_comm_is_window(code, "a window to measure bulk data"))
        return true;
    bench->figures.failed = 1 + (uint64_t)bench->rank;
    return false;
}

/* Tests until the request has ended. Yields, because other pairs measure at the
 * same time, maybe on this core. */
static int request_wait(MPI_Request *request)
{
    int flag = 0;

    for (unsigned tests = 0;; tests++) {
        int rc = MPI_Test(request, &flag, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS || flag)
            return rc;
        if (tests >= YIELDS)
            sched_yield();
    }
}

/* Waits for the request if `code` says that MPI started it. */
static bool is_ended(struct bench *bench, int code, MPI_Request *request)
{
    return is_good(bench, code == MPI_SUCCESS ? request_wait(request) : code);
}

static bool bytes_send(struct bench *bench, const void *bytes, uint64_t len)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Isend(
        bytes, (int)len, MPI_BYTE, bench->partner, 0, bench->comm, &request);

    return is_ended(bench, rc, &request);
}

static bool bytes_receive(struct bench *bench, void *bytes, uint64_t len)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Irecv(
        bytes, (int)len, MPI_BYTE, bench->partner, 0, bench->comm, &request);

    return is_ended(bench, rc, &request);
}

static bool note_send(struct bench *bench, uint64_t what)
{
    const uint64_t note[NOTE_WORDS] = {what};

    return bytes_send(bench, note, sizeof(note));
}

/* The maximum over the ranks that measure. */
static uint64_t bench_max(struct bench *bench, uint64_t word)
{
    MPI_Request request = MPI_REQUEST_NULL;
    uint64_t max = 0;
    int rc = MPI_Iallreduce(
        &word, &max, 1, MPI_UINT64_T, MPI_MAX, bench->comm, &request);

    return is_ended(bench, rc, &request) ? max : UINT64_MAX;
}

static bool window_get(struct bench *bench, unsigned memory, uint64_t len)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Rget(bench->landing, (int)len, MPI_BYTE, bench->partner,
        bench->at[memory], (int)len, MPI_BYTE, bench->windows[memory],
        &request);

    return is_ended(bench, rc, &request);
}

/* Posts the atomic operation that acquires an access (mpi_export.h). */
static int access_post(
    const struct bench *bench, int64_t *ret_seen, MPI_Request *ret_request)
{
    static const int64_t enter[ACCESS_WORDS] = {1};

    return MPI_Rget_accumulate(enter, ACCESS_WORDS, MPI_INT64_T, ret_seen,
        ACCESS_WORDS, MPI_INT64_T, bench->partner, AREA_LEN, ACCESS_WORDS,
        MPI_INT64_T, MPI_SUM, bench->windows[AMG_MPI_MEMORY_LIBRARY],
        ret_request);
}

/* Pulls like a transfer: acquires an access, and gets the bytes. The release of
 * the access is not timed, as a transfer does not wait for it. */
static uint64_t window_pull(struct bench *bench, unsigned memory, uint64_t len)
{
    static const int64_t leave = -1;
    int64_t seen[ACCESS_WORDS];
    MPI_Request request = MPI_REQUEST_NULL;
    uint64_t ns = amg_clock_ns();
    int rc = access_post(bench, seen, &request);

    if (is_ended(bench, rc, &request))
        (void)window_get(bench, memory, len);
    ns = amg_clock_ns() - ns;
    rc = MPI_Raccumulate(&leave, 1, MPI_INT64_T, bench->partner, AREA_LEN, 1,
        MPI_INT64_T, MPI_SUM, bench->windows[AMG_MPI_MEMORY_LIBRARY], &request);
    (void)is_ended(bench, rc, &request);
    return ns;
}

static uint64_t message_pull(struct bench *bench, uint64_t len)
{
    uint64_t ns = amg_clock_ns();

    if (note_send(bench, len))
        (void)bytes_receive(bench, bench->landing, len);
    return amg_clock_ns() - ns;
}

/* Checks the pulled bytes: each is the partner's rank in `comm` plus 1. */
static void landing_check(struct bench *bench, uint64_t len)
{
    const unsigned char *bytes = bench->landing;

    if (bytes[0] == bench->partner + 1 &&
        memcmp(bytes, bytes + 1, len - 1) == 0)
        return;
    AMG_LOG_WARNING("mpi", "a window of MPI returned wrong bytes");
    bench->figures.failed = 1 + (uint64_t)bench->rank;
}

/* Pulls once by messages, and once through each window. */
static void ways_pull(struct bench *bench, unsigned size)
{
    unsigned round = bench->rounds[size];
    uint64_t len = lens[size];

    AMG_ASSERT(round < ROUNDS && bench->partner >= 0);
    bench->ns[size][WAY_MESSAGE][round] = message_pull(bench, len);
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
        if (bench->figures.failed != 0)
            return;
        if (round == 0)
            memset(bench->landing, 0, len);
        bench->ns[size][i][round] = window_pull(bench, i, len);
        if (round == 0)
            landing_check(bench, len);
    }
}

/* Tests whether the post of an access, or a get by a window, waits for a target
 * that sleeps outside of MPI. The sleep begins after asked_ns, so the target
 * sleeps at least until asked_ns + TARGET_SLEEP_NS: gets that end earlier did
 * not wait for the target. */
static void passive_check(struct bench *bench)
{
    uint64_t asked_ns = amg_clock_ns();
    int64_t seen[ACCESS_WORDS];
    MPI_Request request = MPI_REQUEST_NULL;
    uint64_t post_ns = 0;
    int rc = MPI_SUCCESS;
    bool is_done =
        note_send(bench, NOTE_SLEEP) && bytes_receive(bench, bench->landing, 1);

    if (!is_done)
        return;
    amg_clock_sleep_ns(CLEAR_NS);
    post_ns = amg_clock_ns();
    rc = access_post(bench, seen, &request);
    if (amg_clock_ns() - post_ns > TARGET_SLEEP_NS / 2)
        bench->figures.is_blocking = 1;
    for (unsigned i = 0; i < AMG_MPI_MEMORIES && is_done; i++)
        is_done = window_get(bench, i, sizeof(uint64_t));
    if (is_done && amg_clock_ns() - asked_ns < TARGET_SLEEP_NS)
        bench->figures.needs_target = 0;
    (void)is_ended(bench, rc, &request);
}

/* Serves the partner until it has finished its part of a round. */
static void partner_serve(struct bench *bench)
{
    uint64_t note[NOTE_WORDS];

    while (bytes_receive(bench, note, sizeof(note)) && note[0] != NOTE_DONE) {
        AMG_ASSERT(note[0] <= AREA_LEN);
        (void)bytes_send(
            bench, bench->area, note[0] == NOTE_SLEEP ? 1 : note[0]);
        if (note[0] == NOTE_SLEEP)
            amg_clock_sleep_ns(TARGET_SLEEP_NS);
    }
}

/* The two ranks of a pair pull in turn, or (`size` is AMG_MPI_SIZES) test
 * whether windows need the target to call MPI. */
static void round_run(struct bench *bench, unsigned size)
{
    for (int puller = 0; puller < 2 && bench->partner >= 0; puller++) {
        if (bench->me % 2 != puller) {
            partner_serve(bench);
            continue;
        }
        if (size < AMG_MPI_SIZES)
            ways_pull(bench, size);
        else if (bench->figures.failed == 0)
            passive_check(bench);
        (void)note_send(bench, NOTE_DONE);
    }
}

static int ns_compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

/* Fills in the medians; or the best rounds if these favour messages more: on a
 * busy machine medians are unreliable, and messages are the safe choice. */
static void figures_fill(struct bench *bench)
{
    for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
        unsigned count = bench->rounds[size];
        uint64_t *message_ns = bench->ns[size][WAY_MESSAGE] + 1;

        if (bench->partner < 0 || count < ROUNDS_MIN)
            continue;
        qsort(message_ns, count - 1, sizeof(*message_ns), ns_compare);
        for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
            uint64_t *ns = bench->ns[size][i] + 1;
            unsigned at = (count - 1) / 2;

            qsort(ns, count - 1, sizeof(*ns), ns_compare);
            if ((double)ns[0] * (double)message_ns[at] >
                (double)ns[at] * (double)message_ns[0])
                at = 0;
            bench->figures.window_ns[i][size] = ns[at];
            bench->figures.message_inverse[i][size] =
                INT64_MAX - message_ns[at];
        }
    }
}

static void rounds_run(struct bench *bench)
{
    const uint64_t budget_ns = BUDGET_MS * AMG_NS_PER_MS;
    const uint64_t start_ns = amg_clock_ns();
    uint64_t round_ns = 0; /* time of the round before, at the slowest pair */
    uint64_t now_ns = 0;   /* since the start; equal on all measuring ranks */

    bench->figures.needs_target = bench->partner >= 0;
    for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
        round_ns *= size > 0 ? lens[size] / lens[size - 1] : 0;
        while (bench->rounds[size] < ROUNDS && now_ns + round_ns < budget_ns) {
            round_run(bench, size);
            bench->rounds[size]++;
            round_ns = now_ns;
            now_ns = bench_max(bench, amg_clock_ns() - start_ns);
            round_ns = now_ns - round_ns;
        }
    }
    round_run(bench, AMG_MPI_SIZES);
    figures_fill(bench);
}

/* Creates two windows over the same memory. Each rank makes all collective
 * calls, even after a failure. False: not all ranks have both windows. */
static bool windows_make(struct bench *bench)
{
    MPI_Win *windows = bench->windows;
    MPI_Aint at = 0;
    bool is_made =
        is_window(bench, MPI_Win_create(bench->area, AREA_CAP, 1, MPI_INFO_NULL,
                             bench->comm, &windows[AMG_MPI_MEMORY_LIBRARY]));

    is_made =
        is_window(bench, MPI_Win_create_dynamic(MPI_INFO_NULL, bench->comm,
                             &windows[AMG_MPI_MEMORY_USER])) &&
        is_made &&
        is_good(bench, MPI_Win_attach(windows[AMG_MPI_MEMORY_USER], bench->area,
                           AREA_LEN));
    for (unsigned i = 0; i < AMG_MPI_MEMORIES && is_made; i++) {
        MPI_Win_set_errhandler(windows[i], MPI_ERRORS_RETURN);
        is_made =
            is_good(bench, MPI_Win_lock_all(MPI_MODE_NOCHECK, windows[i]));
    }
    MPI_Get_address(bench->area, &at);
    is_made = is_good(bench,
                  MPI_Sendrecv(&at, 1, MPI_AINT, bench->partner, 0,
                      &bench->at[AMG_MPI_MEMORY_USER], 1, MPI_AINT,
                      bench->partner, 0, bench->comm, MPI_STATUS_IGNORE)) &&
              is_made;
    return bench_max(bench, !is_made) == 0;
}

static void windows_free(struct bench *bench)
{
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
        MPI_Win_unlock_all(bench->windows[i]);
        if (i == AMG_MPI_MEMORY_USER)
            MPI_Win_detach(bench->windows[i], bench->area);
        MPI_Win_free(&bench->windows[i]);
    }
}

/* Runs on measuring ranks. If not all of them have both windows, no rank frees
 * windows, as freeing is collective: windows and area stay allocated. */
static void bench_run(struct bench *bench)
{
    uint64_t start_ns = amg_clock_ns();
    bool has_memory = false;
    int size = 0;

    MPI_Comm_set_errhandler(bench->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(bench->comm, &bench->me);
    MPI_Comm_size(bench->comm, &size);
    bench->partner = (bench->me ^ 1) < size ? bench->me ^ 1 : MPI_PROC_NULL;
    bench->figures.ranks = (uint64_t)(size & ~1);
    bench->area = amg_mem_alloc_aligned(AMG_PAGE_LEN, AREA_CAP);
    bench->landing = amg_mem_alloc(AREA_LEN);
    has_memory = bench->area != NULL && bench->landing != NULL;
    if (!has_memory)
        (void)is_good(bench, MPI_ERR_NO_MEM);
    else
        memset(bench->area, bench->me + 1, AREA_CAP);
    if (bench_max(bench, !has_memory) == 0) {
        if (windows_make(bench)) {
            rounds_run(bench);
            windows_free(bench);
        } else {
            bench->area = NULL;
        }
    }
    amg_mem_free(bench->area);
    amg_mem_free(bench->landing);
    MPI_Comm_free(&bench->comm);
    bench->figures.took_ns = amg_clock_ns() - start_ns;
}

/* Called by the ranks that measure: creates a communicator of these ranks. */
static int leaders_comm(const struct amg_mpi_comm *comm, MPI_Comm *ret_comm)
{
    const struct amg_mpi_facts *facts = &comm->facts;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group leaders = MPI_GROUP_NULL;
    int ranks[AMG_MPI_LEADERS];
    int rc = MPI_Comm_group(comm->data, &all);

    for (uint32_t i = 0; i < facts->leader_count; i++)
        ranks[i] = (int)facts->leaders[i];
    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_Group_incl(all, (int)facts->leader_count, ranks, &leaders);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_create_group(comm->data, leaders, 0, ret_comm);
    if (leaders != MPI_GROUP_NULL)
        MPI_Group_free(&leaders);
    MPI_Group_free(&all);
    return rc;
}

/* Measures on some ranks. Collective over all; the result is the same on all
 * ranks. HG_NA_ERROR: MPI failed. */
static hg_return_t figures_measure(
    const struct amg_mpi_comm *comm, struct amg_mpi_figures *ret_figures)
{
    struct bench bench = {.comm = MPI_COMM_NULL, .rank = comm->rank};
    const int words = sizeof(bench.figures) / sizeof(uint64_t);
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;

    if (amg_mpi_facts_is_leader(&comm->facts, (uint32_t)comm->rank) &&
        is_good(&bench, leaders_comm(comm, &bench.comm)))
        bench_run(&bench);
    /* A failed leader takes part, as the other ranks wait for all figures. */
    rc = MPI_Iallreduce(&bench.figures, ret_figures, words, MPI_UINT64_T,
        MPI_MAX, comm->data, &request);
    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "choosing the way of bulk data");
    return HG_SUCCESS;
}

/* Makes all transfers use windows, or none. */
static void choice_set(
    struct amg_mpi_choice *choice, bool is_window, const char *reason)
{
    memset(choice->is_window, is_window, sizeof(choice->is_window));
    choice->is_passive = false;
    snprintf(choice->reason, sizeof(choice->reason), "%s", reason);
}

__attribute__((format(printf, 2, 3))) static void reason_add(
    struct amg_mpi_choice *choice, const char *format, ...)
{
    size_t len = strlen(choice->reason);
    va_list args;

    va_start(args, format);
    vsnprintf(choice->reason + len, sizeof(choice->reason) - len, format, args);
    va_end(args);
}

/* Chooses the ways of `memory`; adds to the reason, e.g., "user memory by
 * messages (GB/s of windows, messages: 64 KiB 3.4, 13; 1 MiB 1.1, 16)". */
static void memory_choose(const struct amg_mpi_figures *figures,
    enum amg_mpi_memory memory, struct amg_mpi_choice *choice)
{
    static const char *const names[] = {"64 KiB", "1 MiB"};
    static const char *const ways[] = {"messages", "windows up to 256 KiB",
        "windows above 256 KiB", "windows"};
    const uint64_t percent =
        choice->is_passive ? GAIN_PASSIVE_PERCENT : GAIN_PERCENT;
    const uint64_t *window_ns = figures->window_ns[memory];
    bool *is_window = choice->is_window[memory];
    uint64_t message_ns[AMG_MPI_SIZES];

    for (unsigned i = 0; i < AMG_MPI_SIZES; i++) {
        message_ns[i] = INT64_MAX - figures->message_inverse[memory][i];
        is_window[i] = figures->failed == 0 && figures->is_blocking == 0 &&
                       window_ns[i] > 0 &&
                       message_ns[i] >= window_ns[i] * percent / 100;
    }
    reason_add(choice, "%s memory by %s",
        memory == AMG_MPI_MEMORY_USER ? "user" : "library",
        ways[is_window[0] + 2 * is_window[1]]);
    for (unsigned i = 0; i < AMG_MPI_SIZES && window_ns[i] > 0; i++)
        reason_add(choice, "%s%s %.2g, %.2g%s",
            i == 0 ? " (GB/s of windows, messages: " : "; ", names[i],
            (double)lens[i] / (double)window_ns[i],
            (double)lens[i] / (double)message_ns[i],
            i + 1 == AMG_MPI_SIZES || window_ns[i + 1] == 0 ? ")" : "");
}

void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice)
{
    struct amg_mpi_choice *choice = ret_choice;

    choice_set(choice, false, "bulk between nodes: ");
    choice->is_passive = figures->needs_target == 0;
    memory_choose(figures, AMG_MPI_MEMORY_USER, choice);
    reason_add(choice, ", ");
    memory_choose(figures, AMG_MPI_MEMORY_LIBRARY, choice);
    reason_add(choice, "; RMA %s its target; %u ranks measured in %.1f ms",
        choice->is_passive     ? "does not need"
        : figures->is_blocking ? "blocks its caller without"
                               : "needs",
        (unsigned)figures->ranks, (double)figures->took_ns / AMG_NS_PER_MS);
    if (figures->failed != 0)
        reason_add(choice, "; rank %u failed, see its log",
            (unsigned)(figures->failed - 1));
}

static unsigned windows_count(const struct amg_mpi_choice *choice)
{
    unsigned count = 0;

    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
            count += choice->is_window[i][size];
    return count;
}

const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice)
{
    unsigned count = windows_count(choice);

    return count == 0                                  ? "mpi+p2p"
           : count == AMG_MPI_MEMORIES * AMG_MPI_SIZES ? "mpi+rma"
                                                       : "mpi+p2p and mpi+rma";
}

/* Why bulk data is not measured; NULL: bulk data is measured. */
static const char *unmeasured_reason(
    const struct amg_mpi_comm *comm, const char *protocol)
{
    if (strcmp(protocol, "rma") == 0)
        return "bulk by windows: mpi+rma asked for, not measured";
    if (strcmp(protocol, "p2p") == 0)
        return "bulk by messages: mpi+p2p asked for, not measured";
    if (strcmp(protocol, "mpi") != 0 && strcmp(protocol, "static") != 0 &&
        strcmp(protocol, "auto") != 0)
        return "bulk by messages: not measured";
    if (comm->size > RANKS_MAX)
        return "bulk by messages: not measured, more than 4096 ranks";
    if (comm->node_size == comm->size)
        return "bulk by messages: not measured, no rank is on another node";
    return NULL;
}

hg_return_t amg_mpi_bulk_select(
    struct amg_mpi_domain *domain, const struct amg_open *how)
{
    const char *protocol = how->protocol == NULL ? "" : how->protocol;
    const char *reason = unmeasured_reason(&domain->comm, protocol);
    struct amg_mpi_choice *choice = &domain->choice;
    struct amg_mpi_figures figures = {.failed = 0};

    if (reason != NULL) {
        choice_set(choice, strcmp(protocol, "rma") == 0, reason);
    } else {
        hg_return_t rc = figures_measure(&domain->comm, &figures);

        if (rc != HG_SUCCESS)
            return rc;
        amg_mpi_choice_make(&figures, choice);
    }
    if (windows_count(choice) > 0 &&
        amg_mpi_rma_open(domain, how->area, strcmp(protocol, "rma") == 0) !=
            HG_SUCCESS)
        choice_set(choice, false,
            "bulk by messages: not all ranks have windows, see the log");
    return HG_SUCCESS;
}
