/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks die, and the others go on: calls and transfers to a dead rank end with
 * HG_HOSTUNREACH, later ones, too; a line names the rank, its process and its
 * host; calls between the survivors work; collective calls end. Run by
 * beside.sh: dead_rank_is_named WHEN VICTIM...
 *
 * calls      the victims die with calls and transfers under way
 * barrier    in amalgam_barrier() of the survivors
 * quiesce    in amalgam_quiesce()
 * finalize   in amalgam_finalize()
 * left       the first victim gives up and exits: no death; the second dies
 *
 * A victim dies when all survivors have sent their last word. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "exposed.h"

enum {
    CALLS = 100,
    ROUNDS = 20,
    RANKS_MAX = 16,
    LEN = 1 << 20,
    TURNS_MAX = 1000,
    TICKS = 3,
    TAG = 5
};

static struct ranks all;
static FILE *file;
static hg_id_t keep;
static bool dies[RANKS_MAX], has_left[RANKS_MAX];
static int pids[RANKS_MAX];
static unsigned char bytes[LEN], theirs[LEN];
static hg_bulk_t shown, exposed[RANKS_MAX];
static int survivors;

/* Keeps the call for ever. */
static hg_return_t keep_serve(hg_handle_t handle)
{
    (void)handle;
    return HG_SUCCESS;
}

/* By MPI, as there may be no credit. */
static void word_send(int rank)
{
    MPI_Send(NULL, 0, MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
}

static bool word_has_come(void)
{
    int flag = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (flag != 0)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
    return flag != 0;
}

/* Every survivor sends its last word to every victim, which then dies. */
static void words_send(void)
{
    for (int rank = 0; rank < all.size; rank++)
        if (dies[rank] && !has_left[rank])
            word_send(rank);
}

static bool is_named(int rank)
{
    char host[64] = "";
    char text[160];

    (void)gethostname(host, 23);
    snprintf(text, sizeof(text), "rank %d (pid %d on %s) has died", rank,
        pids[rank], host);
    return ranks_log_has(file, text);
}

static hg_return_t transfer(int rank, hg_bulk_op_t op)
{
    hg_bulk_t mine = ranks_bulk(&all, theirs, LEN, HG_BULK_READWRITE);
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    OK(amalgam_addr_rank(all.cls, rank, &addr));
    rc = ranks_transfer(&all, op, addr, exposed[rank], 0, mine, 0, LEN);
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(mine));
    return rc;
}

/* Each rank gets the descriptor of the bytes of each rank. */
static void bytes_expose(void)
{
    static char texts[RANKS_MAX][EXPOSED_CAP];
    char text[EXPOSED_CAP] = "";

    shown = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    OK(HG_Bulk_serialize(text, sizeof(text), 0, shown));
    MPI_Allgather(text, EXPOSED_CAP, MPI_BYTE, texts, EXPOSED_CAP, MPI_BYTE,
        MPI_COMM_WORLD);
    for (int rank = 0; rank < all.size; rank++)
        exposed[rank] = exposed_open(&all, texts[rank]);
}

static void bytes_hide(void)
{
    OK(HG_Bulk_free(shown));
    for (int rank = 0; rank < all.size; rank++)
        OK(HG_Bulk_free(exposed[rank]));
}

/* Moves bytes until the rank has died. */
static void transfers_end(int rank)
{
    static const hg_bulk_op_t ops[] = {HG_BULK_PULL, HG_BULK_PUSH};
    hg_return_t rc = HG_SUCCESS;

    for (unsigned i = 0; i < 2; i++) {
        while ((rc = transfer(rank, ops[i])) == HG_SUCCESS)
            continue;
        EXPECT(HG_HOSTUNREACH, rc);
    }
}

/* A call now ends with HG_HOSTUNREACH, and soon. */
static void late_call(int rank)
{
    struct ranks_call call;
    unsigned turns = 0;

    OK(ranks_begin(&all, &call, rank, keep, NULL));
    for (; atomic_load(&call.done) == 0 && turns < TURNS_MAX; turns++)
        ranks_turn();
    CHECK(turns < TURNS_MAX);
    EXPECT(HG_HOSTUNREACH, ranks_wait(&call));
    ranks_end(&call);
}

static void survivors_call(void)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int rank = 0; rank < all.size; rank++)
            if (!dies[rank] && rank != all.rank) {
                ranks_echo(&all, rank, (uint64_t)i);
                ranks_swap(&all, rank, 200001);
            }
}

static void calls_outlive(void)
{
    static struct ranks_call calls[RANKS_MAX][CALLS];

    for (int rank = 0; rank < all.size; rank++)
        for (int i = 0; i < CALLS && dies[rank] && !has_left[rank]; i++)
            OK(ranks_begin(&all, &calls[rank][i], rank, keep, NULL));
    words_send();
    for (int rank = 0; rank < all.size; rank++) {
        if (!dies[rank] || has_left[rank])
            continue;
        transfers_end(rank);
        for (int i = 0; i < CALLS; i++) {
            EXPECT(HG_HOSTUNREACH, ranks_wait(&calls[rank][i]));
            ranks_end(&calls[rank][i]);
        }
        UNTIL(is_named(rank));
        late_call(rank);
    }
    survivors_call();
}

static void victims_await(void)
{
    for (int rank = 0; rank < all.size; rank++)
        UNTIL(!dies[rank] || has_left[rank] || is_named(rank));
}

/* Number of the last look of this rank at the deaths of others, at least. */
static uint64_t tick_now(void)
{
    struct amg_status *page = NULL;
    uint64_t tick = 0;

    OK(amg_status_find((uint32_t)getpid(), 0, &page));
    tick = page->classes[0].doing_ns;
    amg_status_drop(page);
    return tick;
}

/* A rank that exits after it has left is not called dead. */
static void leaver_outlive(int leaver)
{
    uint64_t tick = 0;

    word_send(leaver);
    UNTIL(kill(pids[leaver], 0) != 0 && errno == ESRCH);
    for (int i = 0; i < TICKS; i++) {
        tick = tick_now();
        UNTIL(tick_now() != tick);
    }
    CHECK(!ranks_log_has(file, "has died"));
    has_left[leaver] = true;
}

/* Ends a rank that outlived the others; see ranks_survived(). */
static void survive(void)
{
    printf("rank %d survived\n", all.rank);
    fflush(stdout);
    for (int rank = 0; rank < all.size; rank++)
        if (!dies[rank] && rank != all.rank)
            MPI_Sendrecv(NULL, 0, MPI_BYTE, rank, 0, NULL, 0, MPI_BYTE, rank, 0,
                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    _exit(EXIT_SUCCESS);
}

static void victim_run(bool leaves)
{
    for (int i = 0; i < survivors; i++)
        UNTIL(word_has_come());
    if (!leaves)
        raise(SIGKILL);
    bytes_hide();
    ranks_leave(&all);
    EXPECT(HG_TIMEOUT, amalgam_finalize(all.cls));
    _exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *when = argc > 2 ? argv[1] : "";
    int leaver = strcmp(when, "left") == 0 ? atoi(argv[2]) : -1;
    unsigned long before = 0;
    int pid = (int)getpid();
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == leaver)
        setenv("AMALGAM_GIVE_UP_MS", "1", 1);
    file = ranks_log_catch("info");
    HG_Set_log_stream("warning", file);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(argc > 2 && all.size <= RANKS_MAX);
    for (int i = 2; i < argc; i++)
        dies[atoi(argv[i])] = true;
    survivors = all.size - (argc - 2);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    keep = MERCURY_REGISTER(all.cls, "keep", void, void, keep_serve);
    bytes_expose();
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    before = atomic_load(&all.echoed);
    ranks_meet(MPI_COMM_WORLD);
    if (dies[all.rank])
        victim_run(all.rank == leaver);
    if (leaver >= 0)
        leaver_outlive(leaver);
    if (strcmp(when, "calls") == 0 || leaver >= 0) {
        calls_outlive();
        UNTIL(atomic_load(&all.echoed) - before >=
              (unsigned long)(survivors - 1) * ROUNDS);
    } else {
        words_send();
    }
    if (strcmp(when, "quiesce") == 0)
        EXPECT(HG_HOSTUNREACH, amalgam_quiesce(all.cls, 60000));
    if (strcmp(when, "finalize") != 0) {
        EXPECT(HG_HOSTUNREACH, amalgam_barrier(all.cls));
        EXPECT(HG_HOSTUNREACH, amalgam_quiesce(all.cls, 60000));
        victims_await();
    }
    bytes_hide();
    ranks_leave(&all);
    EXPECT(HG_HOSTUNREACH, amalgam_finalize(all.cls));
    victims_await();
    survive();
}
