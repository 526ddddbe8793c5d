/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain opens with the way of bulk data that its init string asks for, or
 * that the first ranks of its nodes measured, and keeps no window that nobody
 * uses:
 *
 *   test_bulk_select PROTOCOL [CASE]
 *
 *   late    a rank comes later than the rest
 *   error   MPI fails in a get of rank 0
 *   wrong   a window gives rank 0 other bytes than there are
 *   memory  rank 0 has no memory to measure with
 *   leaders MPI makes no communicator of the ranks that measure; no group is
 *           left
 *   slow    messages are slow, so that windows win
 *
 * PROTOCOL "differ": rank 0 asks for something else than the others. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_rma.h"
#include "pair.h"

#if defined(OPEN_MPI)
#define IS_OPEN_MPI true
#else
#define IS_OPEN_MPI false
#endif

enum {
    AREA_LEN = 8 * 1024 * 1024,
    LATE_NS = 200000000,
    LEN_SLOW = 65536,
    SLOW_S = 100, /* far above the time of any pull, also on a busy machine */
};
#define NS_PER_S 1000000000ull

static unsigned made; /* windows, by this rank */
static unsigned freed;
static unsigned attached;
static unsigned groups;
static uint64_t slow_ns; /* of all slow receives */
static const char *fault = "";
static struct amg_mpi_domain *domain;

int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
    MPI_Comm comm, MPI_Win *win)
{
    made++;
    return PMPI_Win_create(base, size, disp_unit, info, comm, win);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    made++;
    return PMPI_Win_create_dynamic(info, comm, win);
}

int MPI_Win_free(MPI_Win *win)
{
    freed++;
    return PMPI_Win_free(win);
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    attached++;
    return PMPI_Win_attach(win, base, size);
}

int MPI_Win_detach(MPI_Win win, const void *base)
{
    attached--;
    return PMPI_Win_detach(win, base);
}

int MPI_Rget(void *to, int count, MPI_Datatype type, int rank, MPI_Aint at,
    int target_count, MPI_Datatype target_type, MPI_Win win,
    MPI_Request *request)
{
    if (strcmp(fault, "error") == 0 && pair_rank == 0) {
        *request = MPI_REQUEST_NULL;
        return MPI_ERR_RMA_RANGE;
    }
    if (strcmp(fault, "wrong") == 0 && pair_rank == 0)
        count = target_count = count / 2;
    return PMPI_Rget(
        to, count, type, rank, at, target_count, target_type, win, request);
}

/* The measurement begins. */
int MPI_Comm_create_group(
    MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made_comm)
{
    if (strcmp(fault, "memory") == 0 && pair_rank == 0)
        amg_mem_fail_nth(1);
    if (strcmp(fault, "leaders") == 0)
        return MPI_ERR_OTHER;
    return PMPI_Comm_create_group(comm, group, tag, made_comm);
}

int MPI_Group_incl(
    MPI_Group group, int count, const int ranks[], MPI_Group *made_group)
{
    groups++;
    return PMPI_Group_incl(group, count, ranks, made_group);
}

int MPI_Group_free(MPI_Group *group)
{
    groups--;
    return PMPI_Group_free(group);
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    groups++;
    return PMPI_Comm_group(comm, group);
}

/* The clock of the backend and of this test. A slow receive only adds its time
 * to the clock, and does not sleep: so a busy machine cannot be slower than the
 * receive. */
uint64_t amg_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + slow_ns;
}

uint64_t amg_clock_deadline_ns(unsigned timeout_ms)
{
    return amg_clock_ns() + timeout_ms * AMG_NS_PER_MS;
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    if (strcmp(fault, "slow") == 0 && type == MPI_BYTE && count >= LEN_SLOW)
        slow_ns += SLOW_S * NS_PER_S;
    return PMPI_Irecv(bytes, count, type, rank, tag, comm, request);
}

/* Shortens the elapsed time on which the ranks agree, so that all rounds fit
 * in. Rounds up, since ranks also agree by a 1 that one of them has failed. */
int MPI_Iallreduce(const void *mine, void *max, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    static uint64_t ns; /* one is pending at a time */

    if (strcmp(fault, "slow") == 0 && count == 1 && type == MPI_UINT64_T) {
        memcpy(&ns, mine, sizeof(ns));
        ns = (ns + NS_PER_S - 1) / NS_PER_S;
        mine = &ns;
    }
    return PMPI_Iallreduce(mine, max, count, type, op, comm, request);
}

static bool says(const char *text)
{
    return strstr(domain->choice.reason, text) != NULL;
}

static bool uses_windows(void)
{
    return strcmp(amg_mpi_choice_name(&domain->choice), "mpi+p2p") != 0;
}

/* All ranks have the same table and reason. */
static void same_check(void)
{
    struct amg_mpi_choice first = domain->choice;

    MPI_Bcast(&first, (int)sizeof(first), MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(first.is_window, domain->choice.is_window,
              sizeof(first.is_window)) == 0);
    CHECK(first.is_passive == domain->choice.is_passive);
    CHECK(strcmp(first.reason, domain->choice.reason) == 0);
}

static void fault_check(void)
{
    bool is_bad = strcmp(fault, "error") == 0 || strcmp(fault, "wrong") == 0 ||
                  strcmp(fault, "memory") == 0;

    CHECK(says("; rank 0 failed, see its log") == is_bad);
    CHECK(!is_bad || !uses_windows());
    if (strcmp(fault, "slow") == 0)
        CHECK(says("library memory by windows (GB/s of windows, messages: ") &&
              strcmp(amg_mpi_choice_name(&domain->choice), "mpi+rma") == 0);
}

/* Large pulls of user memory: ten times as fast by messages on this MPI. */
static void measured_check(void)
{
    unsigned tried = domain->comm.node_rank == 0 && made > 0 ? 2 : 0;

    CHECK(says("bulk between nodes: user memory by "));
    CHECK(says("; RMA ") && says("2 ranks measured in "));
    CHECK(tried > 0 || !uses_windows() || made == 3);
    CHECK(made == tried + (uses_windows() ? 3 : 0));
    CHECK((domain->rma != NULL) == uses_windows());
    CHECK(freed == tried);
    CHECK(attached == 0);
    if (strcmp(fault, "slow") != 0)
        CHECK(!amg_mpi_choice_is_window(
            &domain->choice, AMG_MPI_MEMORY_USER, 1024 * 1024));
    fault_check();
}

/* All ranks were told of the leader with the highest rank. */
static void leaders_check(void)
{
    CHECK(says("; 0 ranks measured in "));
    CHECK(says("; rank 2 failed, see its log"));
    CHECK(made == 0 && groups == 0 && !uses_windows());
}

static void asked_check(bool is_rma)
{
    CHECK(says("not measured"));
    CHECK(says(is_rma ? "mpi+rma asked for" : "mpi+p2p asked for"));
    CHECK(made == (is_rma ? 3 : 0));
    CHECK((domain->rma != NULL) == is_rma);
    CHECK(uses_windows() == is_rma);
}

/* The pool's memory must be as if it had not been used. */
static void area_check(const unsigned char *bytes)
{
    for (size_t i = 0; i < AREA_LEN; i++)
        CHECK(bytes[i] == 0);
}

static void protocol_check(const char *protocol)
{
    if (strcmp(protocol, "rma") == 0 || strcmp(protocol, "p2p") == 0) {
        asked_check(strcmp(protocol, "rma") == 0);
    } else if (domain->comm.node_size == domain->comm.size) {
        CHECK(made == 0 && domain->rma == NULL);
        CHECK(says("no rank is on another node"));
    } else if (strcmp(fault, "leaders") == 0) {
        leaders_check();
    } else {
        measured_check();
    }
}

int main(int argc, char **argv)
{
    const char *protocol = argc > 1 ? argv[1] : "auto";
    bool must_differ = strcmp(protocol, "differ") == 0;
    struct amg_open how = {.info = "", .is_listening = true, .max_contexts = 1};
    struct amg_mapping mapping;
    struct amg_area area;
    struct amg_events events;
    hg_return_t rc = HG_SUCCESS;
    int provided = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair_rank);
    CHECK(amg_mapping_open("test", AREA_LEN, &mapping) == HG_SUCCESS);
    area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    how.area = &area;
    how.protocol = !must_differ ? protocol : pair_rank == 0 ? "auto" : "p2p";
    if (argc > 2)
        fault = argv[2];
    if (strcmp(fault, "late") == 0 && pair_rank == 1)
        amg_clock_sleep_ns(LATE_NS);
    rc = pair_t->domain.open(&how, &pair_domain);
    CHECK(rc == (must_differ ? HG_INVALID_ARG : HG_SUCCESS));
    if (!must_differ) {
        domain = amg_mpi_domain_of(pair_domain);
        if (pair_rank == 0)
            printf("%s\n", domain->choice.reason);
        if (says("not all ranks have windows") ||
            (IS_OPEN_MPI && says(" failed, see its log"))) {
            puts("skipped: Open MPI may have no windows over several nodes");
            fflush(stdout);
            _exit(77);
        }
        same_check();
        protocol_check(protocol);
        area_check(mapping.base);
        CHECK(pair_t->ep.open(pair_domain, 0, &pair_ep) == HG_SUCCESS);
        UNTIL(pair_t->domain.quiesce(pair_domain) == HG_SUCCESS);
        amg_events_init(&events);
        pair_t->ep.close(pair_ep, &events);
        pair_t->domain.close(pair_domain);
        CHECK(freed == made);
    }
    amg_mapping_close(&mapping);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
