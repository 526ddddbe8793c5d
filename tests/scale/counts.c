/* SPDX-License-Identifier: BSD-3-Clause */
/* What opening a class, a call and closing it cost each rank, as counts:
 * messages and collectives of MPI, system calls, context switches, descriptors,
 * mappings and memory. Rank 0 prints a line for each; counts.sh runs this for
 * several numbers of ranks and compares them.
 *
 * counts TRANSPORT */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "amalgam.h"

enum { PEERS = 1, LIMIT_S = 900 }; /* PEERS: those behind a rank, called */

enum metric {
    MESSAGES,    /* MPI_Isend and its kind, by the library */
    BYTES,       /* of these */
    COLLECTIVES, /* operations of MPI that all ranks of a communicator call */
    SYSCALLS,    /* of all threads, not waits; -1: may not be counted */
    SWITCHES,    /* of context */
    FDS,         /* descriptors more than before */
    MAPS,        /* mappings more than before */
    RSS_KIB,     /* resident more than before */
    METRICS
};

static const char *const metric_names[METRICS] = {"messages", "bytes",
    "collectives", "syscalls", "switches", "descriptors", "mappings",
    "resident_kib"};

static int64_t messages;
static int64_t bytes;
static int64_t collectives;
static int syscall_counter = -1;
static unsigned answered;
static unsigned served;

/* The program's own calls of MPI use PMPI_ and are not counted. */
#define MESSAGE(name, params, args, type, count)                               \
    int name params                                                            \
    {                                                                          \
        int size = 0;                                                          \
        PMPI_Type_size(type, &size);                                           \
        messages++;                                                            \
        bytes += (int64_t)size * (count);                                      \
        return P##name args;                                                   \
    }
#define COLLECTIVE(name, params, args)                                         \
    int name params                                                            \
    {                                                                          \
        collectives++;                                                         \
        return P##name args;                                                   \
    }

MESSAGE(MPI_Isend,
    (const void *buf, int count, MPI_Datatype type, int to, int tag,
        MPI_Comm comm, MPI_Request *request),
    (buf, count, type, to, tag, comm, request), type, count)
MESSAGE(MPI_Issend,
    (const void *buf, int count, MPI_Datatype type, int to, int tag,
        MPI_Comm comm, MPI_Request *request),
    (buf, count, type, to, tag, comm, request), type, count)
MESSAGE(MPI_Sendrecv,
    (const void *buf, int count, MPI_Datatype type, int to, int tag, void *into,
        int room, MPI_Datatype other, int from, int with, MPI_Comm comm,
        MPI_Status *status),
    (buf, count, type, to, tag, into, room, other, from, with, comm, status),
    type, count)
COLLECTIVE(MPI_Iallreduce,
    (const void *buf, void *into, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm, MPI_Request *request),
    (buf, into, count, type, op, comm, request))
COLLECTIVE(MPI_Allreduce,
    (const void *buf, void *into, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm),
    (buf, into, count, type, op, comm))
COLLECTIVE(MPI_Iexscan,
    (const void *buf, void *into, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm comm, MPI_Request *request),
    (buf, into, count, type, op, comm, request))
COLLECTIVE(MPI_Iallgather,
    (const void *buf, int count, MPI_Datatype type, void *into, int room,
        MPI_Datatype other, MPI_Comm comm, MPI_Request *request),
    (buf, count, type, into, room, other, comm, request))
COLLECTIVE(MPI_Allgather,
    (const void *buf, int count, MPI_Datatype type, void *into, int room,
        MPI_Datatype other, MPI_Comm comm),
    (buf, count, type, into, room, other, comm))
COLLECTIVE(MPI_Ibcast,
    (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
        MPI_Request *request),
    (buf, count, type, root, comm, request))
COLLECTIVE(MPI_Bcast,
    (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
    (buf, count, type, root, comm))
COLLECTIVE(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
COLLECTIVE(MPI_Barrier, (MPI_Comm comm), (comm))
COLLECTIVE(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request),
    (comm, made, request))
COLLECTIVE(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
COLLECTIVE(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made),
    (comm, color, key, made))
COLLECTIVE(MPI_Comm_split_type,
    (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
    (comm, type, key, info, made))
COLLECTIVE(MPI_Comm_free, (MPI_Comm * comm), (comm))

static void fail(const char *why)
{
    fprintf(stderr, "counts: %s\n", why);
    PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* From now on all threads of this process count their system calls, but for
 * those that wait: their number depends on how many ranks share a core. */
static void syscalls_begin(void)
{
    static const int waits[] = {
        SYS_sched_yield,
        SYS_futex,
        SYS_ppoll,
        SYS_epoll_pwait,
        SYS_nanosleep,
        SYS_clock_nanosleep,
#ifdef SYS_epoll_wait /* older calls, which newer machines lack */
        SYS_epoll_wait,
        SYS_poll,
#endif
    };
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .inherit = 1};
    char filter[256] = "id >= 0";
    FILE *file =
        fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "r");
    unsigned id = 0;

    if (file == NULL)
        return;
    if (fscanf(file, "%u", &id) == 1) {
        attr.config = id;
        syscall_counter =
            (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul);
    }
    fclose(file);
    for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        size_t length = strlen(filter);

        snprintf(
            filter + length, sizeof(filter) - length, " && id != %d", waits[i]);
    }
    if (syscall_counter >= 0 &&
        ioctl(syscall_counter, PERF_EVENT_IOC_SET_FILTER, filter) != 0)
        fail("the system calls that wait cannot be left out of the count");
}

static int64_t syscalls_now(void)
{
    uint64_t count = 0;

    return syscall_counter >= 0 &&
                   read(syscall_counter, &count, sizeof(count)) == sizeof(count)
               ? (int64_t)count
               : -1;
}

static int64_t entries_of(const char *path)
{
    DIR *folder = opendir(path);
    int64_t count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Lines of a file; `ret_kib` becomes the number behind `name`. */
static int64_t lines_of(const char *path, const char *name, int64_t *ret_kib)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    int64_t count = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (name != NULL && strncmp(line, name, strlen(name)) == 0)
            *ret_kib = strtoll(line + strlen(name), NULL, 10);
        count++;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

/* The counts so far. The calls that this takes come before that of `syscalls`,
 * or, in the next interval, are the same for any number of ranks. */
static void counts_read(int64_t ret_counts[METRICS])
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    ret_counts[MESSAGES] = messages;
    ret_counts[BYTES] = bytes;
    ret_counts[COLLECTIVES] = collectives;
    ret_counts[SWITCHES] = usage.ru_nvcsw + usage.ru_nivcsw;
    ret_counts[FDS] = entries_of("/proc/self/fd");
    ret_counts[MAPS] = lines_of("/proc/self/maps", NULL, NULL);
    (void)lines_of("/proc/self/status", "VmRSS:", &ret_counts[RSS_KIB]);
    ret_counts[SYSCALLS] = syscalls_now();
}

/* Prints the mean and the largest of each count over the ranks. */
static void phase_print(const char *phase, const int64_t from[METRICS],
    const int64_t start[METRICS], const int64_t now[METRICS])
{
    int64_t mine[METRICS];
    int64_t sums[METRICS];
    int64_t most[METRICS];
    int rank = 0;
    int size = 0;

    for (unsigned i = 0; i < METRICS; i++)
        mine[i] = now[i] - (i >= FDS ? start[i] : from[i]);
    if (now[SYSCALLS] < 0)
        mine[SYSCALLS] = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Reduce(mine, sums, METRICS, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(mine, most, METRICS, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    for (unsigned i = 0; i < METRICS && rank == 0; i++)
        printf("count %d %s %s %.2f %" PRId64 "\n", size, phase,
            metric_names[i], (double)sums[i] / size, most[i]);
}

static hg_return_t call_serve(hg_handle_t handle)
{
    served++;
    if (HG_Respond(handle, NULL, NULL, NULL) != HG_SUCCESS)
        fail("a reply was not sent");
    return HG_Destroy(handle);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    if (info->ret != HG_SUCCESS)
        fail("a call failed");
    answered++;
    return HG_SUCCESS;
}

/* Each rank calls those behind it, and serves as many. */
static void calls_make(hg_class_t *cls, hg_context_t *context, hg_id_t id)
{
    hg_handle_t handles[PEERS];
    hg_addr_t peers[PEERS];
    unsigned count = 0;
    int rank = 0;
    int size = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < PEERS; i++)
        if (amalgam_addr_rank(cls, (rank + 1 + i) % size, &peers[i]) !=
                HG_SUCCESS ||
            HG_Create(context, peers[i], id, &handles[i]) != HG_SUCCESS ||
            HG_Forward(handles[i], call_ended, NULL, NULL) != HG_SUCCESS)
            fail("a call could not be made");
    while (answered < PEERS || served < PEERS) {
        (void)HG_Progress(context, 100);
        while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0)
            continue;
    }
    for (int i = 0; i < PEERS; i++) {
        HG_Destroy(handles[i]);
        HG_Addr_free(cls, peers[i]);
    }
}

int main(int argc, char **argv)
{
    int64_t start[METRICS];
    int64_t opened[METRICS];
    int64_t called[METRICS];
    int64_t closed[METRICS];
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;
    hg_id_t id = 0;
    int level = 0;

    alarm(LIMIT_S);
    syscalls_begin();
    PMPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    PMPI_Barrier(MPI_COMM_WORLD);
    counts_read(start);
    cls = amalgam_init(MPI_COMM_WORLD, argc > 1 ? argv[1] : "auto", NULL);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL)
        fail("a class could not be opened");
    counts_read(opened);
    id = HG_Register_name(cls, "call", NULL, NULL, call_serve);
    PMPI_Barrier(MPI_COMM_WORLD);
    calls_make(cls, context, id);
    counts_read(called);
    if (amalgam_finalize(cls) != HG_SUCCESS)
        fail("the class could not be closed");
    counts_read(closed);
    phase_print("open", start, start, opened);
    phase_print("calls", opened, start, called);
    phase_print("close", called, start, closed);
    PMPI_Finalize();
    return EXIT_SUCCESS;
}
