/* SPDX-License-Identifier: BSD-3-Clause */
/* A hang is reported once for the job, with the ranks that wait for each other
 * and the cause; when the cause goes away, all calls end:
 * hang_is_reported CASE, with AMALGAM_HANG_S=1 and three ranks at least.
 *
 * circle     ranks 1 and 2 call each other in handlers
 * chain      rank 0 calls rank 1, whose handler calls rank 2, which keeps it
 * no_answer  rank 1 keeps a call, and answers other calls of rank 0
 * credits    rank 1 keeps all calls that rank 0 has credits for
 * in_mpi     rank 1 waits in MPI, after a mark; without rank 0 in `in_mpi_0`
 * stopped    rank 1 is stopped by a signal
 * pull       rank 1 waits in MPI, and rank 0 pulls its memory
 * barrier    rank 1 does not come to amalgam_barrier()
 * quiesce    rank 1 does not come to amalgam_quiesce()
 * asked      a user asks at rank 2, whose call rank 1 keeps
 * moves      calls that are answered are not reported, however many */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "exposed.h"

#define SHOW_NS 20000000000ull /* a test that waits so long shows its log */

enum { CREDITS = 4, CALLS = 10, TAG = 7, LEN = 1 << 20, LIMIT_MS = 1000 };

static struct ranks all;
static FILE *file;
static hg_id_t outer, keep;
static hg_handle_t kept[CALLS];
static unsigned kept_count;
static unsigned char bytes[LEN];

/* Counts the lines of this rank's log that have the text. */
static int lines_with(const char *text)
{
    char line[2048];
    int count = 0;

    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, text) != NULL;
    return count;
}

/* Shows the whole log if it is not as expected. */
static void log_show(const char *why)
{
    char line[2048];

    fprintf(stderr, "rank %d: %s:\n", all.rank, why);
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL)
        fputs(line, stderr);
}

/* The log has so many lines with the text. */
static void expect_lines(int wanted, const char *text)
{
    if (lines_with(text) != wanted)
        log_show(text);
    CHECK(lines_with(text) == wanted);
}

/* Has rank 0 sent word that the hang may end? */
static bool may_go_on(void)
{
    int is_there = 0;

    MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    return is_there != 0;
}

static void word_take(void)
{
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void word_send(int rank)
{
    MPI_Send(NULL, 0, MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
}

/* Waits until the report has ended, with this text. */
static void expect_report(const char *end)
{
    uint64_t end_ns = ranks_now_ns() + SHOW_NS;
    bool is_shown = false;

    while (!ranks_log_has(file, end)) {
        ranks_turn();
        if (ranks_now_ns() > end_ns && !is_shown) {
            log_show(end);
            is_shown = true;
        }
    }
}

/* No rank has logged a further report. */
static void expect_reports(int wanted)
{
    int count = lines_with("who waits for whom");

    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (count != wanted)
        log_show("further reports");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(count == wanted);
}

/* The operation that the report begins with is late, but not by a second. */
static void expect_age(void)
{
    char line[2048];
    double age_s = 0;

    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *old = strstr(line, " s old,");

        if (old == NULL)
            continue;
        while (old > line && old[-1] != ' ')
            old--;
        if (age_s == 0)
            age_s = atof(old);
    }
    CHECK(age_s * 1000 >= LIMIT_MS && age_s * 1000 <= LIMIT_MS + 1000);
}

static hg_return_t keep_serve(hg_handle_t handle)
{
    CHECK(kept_count < CALLS);
    kept[kept_count++] = handle;
    return HG_SUCCESS;
}

static void kept_answer(void)
{
    for (unsigned i = 0; i < kept_count; i++) {
        OK(HG_Respond(kept[i], NULL, NULL, NULL));
        OK(HG_Destroy(kept[i]));
    }
    kept_count = 0;
}

/* Calls the rank's neighbour, and waits for the answer without HG_Trigger(). */
static hg_return_t outer_serve(hg_handle_t handle)
{
    ranks_echo_t in = {.value = 1, .from = all.rank};
    struct ranks_call call = {.ret = HG_OTHER_ERROR};

    OK(ranks_begin(&all, &call, all.rank == 1 ? 2 : 1, all.echo, &in));
    while (!may_go_on())
        (void)HG_Progress(all.context, 10);
    word_take();
    OK(HG_Cancel(call.handle));
    OK(HG_Respond(handle, NULL, NULL, NULL));
    while (atomic_load(&call.done) == 0)
        ranks_turn();
    ranks_end(&call);
    return HG_Destroy(handle);
}

/* The handler of a chain's middle: its call is answered once rank 2 may. */
static struct ranks_call middle;
static hg_handle_t middle_up;

static hg_return_t middle_serve(hg_handle_t handle)
{
    middle_up = handle;
    return ranks_begin(&all, &middle, 2, keep, NULL);
}

static void test_circle(void)
{
    struct ranks_call call;

    if (all.rank == 1 || all.rank == 2) {
        OK(ranks_begin(&all, &call, 3 - all.rank, outer, NULL));
        MPI_Sendrecv(NULL, 0, MPI_BYTE, 3 - all.rank, TAG, NULL, 0, MPI_BYTE,
            3 - all.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        OK(ranks_wait(&call));
        ranks_end(&call);
    } else if (all.rank == 0) {
        expect_report("circle: rank ");
        expect_lines(2, "runs 1 handler, \"outer\" for ");
        CHECK(ranks_log_has(file, "rank 1 -> rank 2 -> rank 1") ||
              ranks_log_has(file, "rank 2 -> rank 1 -> rank 2"));
        expect_lines(2, "made in a handler, is queued there");
        expect_age();
        word_send(1);
        word_send(2);
    }
}

static void test_chain(void)
{
    struct ranks_call call;

    if (all.rank == 0) {
        OK(ranks_begin(&all, &call, 1, outer, NULL));
        expect_report("end: rank 2 makes progress");
        CHECK(ranks_log_has(file, ": rank 0 (pid ") ||
              ranks_log_has(file, ": rank 1 (pid "));
        expect_lines(1, "waits for rank 2: its call of \"keep\"");
        expect_lines(1, "runs 1 handler, \"keep\" for ");
        word_send(2);
        OK(ranks_wait(&call));
        ranks_end(&call);
        expect_lines(1, "made in a handler");
    } else if (all.rank == 1) {
        UNTIL(middle_up != HG_HANDLE_NULL);
        OK(ranks_wait(&middle));
        ranks_end(&middle);
        OK(HG_Respond(middle_up, NULL, NULL, NULL));
        OK(HG_Destroy(middle_up));
    } else if (all.rank == 2) {
        UNTIL(may_go_on());
        word_take();
        kept_answer();
    }
}

static void test_kept(unsigned count, const char *text)
{
    struct ranks_call calls[CALLS];

    if (all.rank == 0) {
        for (unsigned i = 0; i < count; i++)
            OK(ranks_begin(&all, &calls[i], 1, keep, NULL));
        while (!ranks_log_has(file, "end: rank 1 makes progress"))
            if (count == 1)
                ranks_echo(&all, 1, 1);
            else
                ranks_turn();
        expect_lines(1, "is there, and its handler has not answered");
        expect_lines(1, text);
        word_send(1);
        for (unsigned i = 0; i < count; i++) {
            OK(ranks_wait(&calls[i]));
            ranks_end(&calls[i]);
        }
    } else if (all.rank == 1) {
        UNTIL(may_go_on());
        word_take();
        UNTIL((kept_answer(), atomic_load(&all.noted) == 1));
    }
    if (all.rank == 0) {
        struct ranks_call call;
        ranks_echo_t in = {.value = 1};

        OK(ranks_begin(&all, &call, 1, all.note, &in));
        OK(ranks_wait(&call));
        ranks_end(&call);
    }
}

/* Rank `silent` waits in MPI; the others see the report of the first of them.
 */
static void test_in_mpi(int silent, bool is_named)
{
    int reporter = silent == 0 ? 1 : 0;
    char text[64];

    snprintf(text, sizeof(text),
        is_named ? "end: rank %d does not call the library"
                 : "end: rank %d does not answer",
        silent);
    if (all.rank == silent) {
        amg_status_mark("exchange halo");
        MPI_Recv(NULL, 0, MPI_BYTE, reporter, TAG, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
        return;
    }
    if (all.rank != reporter) {
        ranks_echo_t in = {.value = 1, .from = all.rank};
        struct ranks_call call;

        OK(ranks_begin(&all, &call, silent, all.echo, &in));
        OK(ranks_wait(&call));
        ranks_end(&call);
        return;
    }
    expect_report(text);
    if (is_named) {
        expect_lines(1, "no progress for at least");
        expect_lines(1, "mark \"exchange halo\"");
    }
    if (!is_named)
        expect_lines(1, "that rank does not tell more");
    else if (!ranks_log_has(file, "waits here for a connection")) /* ofi+tcp */
        expect_lines(1, "was sent, and is not seen there");
    word_send(silent);
}

static void test_stopped(void)
{
    pid_t pid = getpid();

    MPI_Bcast(&pid, sizeof(pid), MPI_BYTE, 1, MPI_COMM_WORLD);
    if (all.rank == 0) {
        ranks_echo_t in = {.value = 1};
        struct ranks_call call;

        CHECK(kill(pid, SIGSTOP) == 0);
        OK(ranks_begin(&all, &call, 1, all.echo, &in));
        expect_report("is stopped by a signal: kill -CONT");
        expect_lines(1, "(state T)");
        CHECK(kill(pid, SIGCONT) == 0);
        OK(ranks_wait(&call));
        ranks_end(&call);
    }
}

static void test_pull(void)
{
    hg_bulk_t mine = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);

    if (all.rank == 1) {
        exposed_send(mine, 0);
        word_take();
    } else if (all.rank == 0) {
        struct ranks_call call = {.ret = HG_OTHER_ERROR};
        hg_bulk_t origin = exposed_take(&all, 1);
        hg_addr_t addr = HG_ADDR_NULL;

        OK(amalgam_addr_rank(all.cls, 1, &addr));
        OK(HG_Bulk_transfer(all.context, ranks_done, &call, HG_BULK_PULL, addr,
            origin, 0, mine, 0, LEN, HG_OP_ID_IGNORE));
        expect_report("end: rank 1 does not call the library");
        expect_lines(1, "waits for rank 1: its transfer");
        word_send(1);
        OK(ranks_wait(&call));
        OK(HG_Addr_free(all.cls, addr));
        OK(HG_Bulk_free(origin));
    }
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(mine));
}

/* Rank 0 serves the class meanwhile: it reads its own log in a thread. */
static void *log_read(void *arg)
{
    while (!ranks_log_has(file, arg))
        usleep(1000);
    word_send(1);
    return NULL;
}

static void test_await(bool is_barrier)
{
    char text[] = "amalgam_barrier() for ";
    pthread_t thread;

    if (!is_barrier)
        strcpy(text, "a quiescence for ");
    if (all.rank == 0)
        CHECK(pthread_create(&thread, NULL, log_read, text) == 0);
    if (all.rank == 1) {
        UNTIL(may_go_on());
        word_take();
    }
    OK(is_barrier ? amalgam_barrier(all.cls) : amalgam_quiesce(all.cls, 60000));
    if (all.rank == 0) {
        CHECK(pthread_join(thread, NULL) == 0);
        expect_lines(1, "; rank 1 is not there");
    }
}

/* What `amalgam_hang --ask` does, in the process itself. */
static void report_ask(void)
{
    struct amg_status *page = NULL;

    OK(amg_status_find((uint32_t)getpid(), 0, &page));
    atomic_store(&page->classes[0].asked, 1u);
    amg_status_drop(page);
}

/* With a long AMALGAM_HANG_S. */
static void test_asked(void)
{
    struct ranks_call call;

    if (all.rank == 2) {
        OK(ranks_begin(&all, &call, 1, keep, NULL));
        ranks_echo(&all, 1, 1); /* the call before has come */
        report_ask();
        UNTIL(may_go_on());
        word_take();
        OK(ranks_wait(&call));
        ranks_end(&call);
    } else if (all.rank == 0) {
        expect_report("end: rank 1 makes progress");
        expect_lines(1, "asked for by a user");
        word_send(1);
        word_send(2);
    } else if (all.rank == 1) {
        UNTIL(may_go_on());
        word_take();
        kept_answer();
    }
}

static void test_moves(void)
{
    uint64_t end_ns = ranks_now_ns() + 3ull * LIMIT_MS * 1000000;

    if (all.rank == 0)
        while (ranks_now_ns() < end_ns)
            ranks_echo(&all, 1, 1);
}

static void run(const char *what)
{
    if (strcmp(what, "circle") == 0)
        test_circle();
    else if (strcmp(what, "chain") == 0)
        test_chain();
    else if (strcmp(what, "no_answer") == 0)
        test_kept(1, "runs 1 handler, \"keep\" for ");
    else if (strcmp(what, "credits") == 0)
        test_kept(CALLS, "; 6 wait here for a credit or room");
    else if (strncmp(what, "in_mpi", strlen("in_mpi")) == 0)
        test_in_mpi(
            strcmp(what, "in_mpi_0") != 0, strcmp(what, "in_mpi_apart") != 0);
    else if (strcmp(what, "stopped") == 0)
        test_stopped();
    else if (strcmp(what, "pull") == 0)
        test_pull();
    else if (strcmp(what, "moves") == 0)
        test_moves();
    else if (strcmp(what, "asked") == 0)
        test_asked();
    else
        test_await(strcmp(what, "barrier") == 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "circle";
    bool is_chain = strcmp(what, "chain") == 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    outer = MERCURY_REGISTER(
        all.cls, "outer", void, void, is_chain ? middle_serve : outer_serve);
    keep = MERCURY_REGISTER(all.cls, "keep", void, void, keep_serve);
    file = ranks_log_catch("warning");
    ranks_meet(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* from here on no rank serves but in run() */
    run(what);
    ranks_meet(MPI_COMM_WORLD);
    expect_reports(strcmp(what, "moves") != 0);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
