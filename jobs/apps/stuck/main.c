/* SPDX-License-Identifier: BSD-3-Clause */
/* A job that deadlocks on purpose, and ends by the library's report of that.
 *
 * Ranks 1 and 2 call each other. Each handler calls back the rank that called
 * it, and waits for the answer inside the handler. As handlers of a rank run
 * one after another, neither answer can come: a circle. Rank 0 takes no part;
 * the library's report appears in its log, after AMALGAM_HANG_S (here 2 s
 * unless the environment says otherwise). A real job would stand still from
 * here on. This one lets rank 0 read its own log, and send word to the handlers
 * by MPI; they cancel their calls, so all calls end, and the job goes on. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam.h"
#include "mercury_macros.h"

enum { RANKS_MIN = 3, WORD_TAG = 1, PROGRESS_MS = 10, LINE_CAP = 2048 };

static hg_context_t *context;
static hg_id_t ask_id, reply_id;
static int rank;
static atomic_bool is_reported; /* rank 0: the log has the end of the report */

static void check(hg_return_t ret, const char *what)
{
    if (ret == HG_SUCCESS)
        return;
    fprintf(stderr, "stuck: rank %d: %s: %s\n", rank, what,
        HG_Error_to_string(ret));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Prints a line of the log, and looks for the end of the report. */
static int line_print(FILE *stream, const char *format, ...)
{
    char line[LINE_CAP];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (strstr(line, "circle: rank ") != NULL)
        atomic_store(&is_reported, true);
    return fputs(line, stream);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    *(bool *)info->arg = true;
    return HG_SUCCESS;
}

/* Calls another rank. */
static hg_handle_t call_begin(int to, hg_id_t id, bool *is_over)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t addr = HG_ADDR_NULL;

    *is_over = false;
    check(amalgam_addr_rank(HG_Context_get_class(context), to, &addr),
        "amalgam_addr_rank");
    check(HG_Create(context, addr, id, &handle), "HG_Create");
    check(HG_Forward(handle, call_ended, is_over, NULL), "HG_Forward");
    check(HG_Addr_free(HG_Context_get_class(context), addr), "HG_Addr_free");
    return handle;
}

static void turn(void)
{
    unsigned count = 0;

    (void)HG_Progress(context, PROGRESS_MS);
    while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0)
        continue;
}

/* Makes progress in the handler, but runs no other handler, until rank 0 sends
 * word: the mistake that this job shows. */
static void word_await(void)
{
    int is_there = 0;

    while (!is_there) {
        (void)HG_Progress(context, PROGRESS_MS);
        MPI_Iprobe(0, WORD_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, WORD_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    static bool is_over;
    hg_handle_t back = call_begin(3 - rank, reply_id, &is_over);

    word_await();
    check(HG_Cancel(back), "HG_Cancel");
    check(HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    check(HG_Destroy(back), "HG_Destroy");
    return HG_Destroy(handle);
}

static hg_return_t reply_serve(hg_handle_t handle)
{
    check(HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    return HG_Destroy(handle);
}

/* Ranks 1 and 2 call each other; returns when the calls have ended. */
static void calls_make(void)
{
    bool is_over = false;
    hg_handle_t handle = call_begin(3 - rank, ask_id, &is_over);

    while (!is_over)
        turn();
    check(HG_Destroy(handle), "HG_Destroy");
}

/* Rank 0 waits for the report, and sends word to the handlers. */
static void report_await(void)
{
    while (!atomic_load(&is_reported))
        turn();
    for (int to = 1; to <= 2; to++)
        MPI_Send(NULL, 0, MPI_BYTE, to, WORD_TAG, MPI_COMM_WORLD);
    printf("stuck: the report has come; the handlers give up their calls\n");
}

int main(int argc, char **argv)
{
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    hg_class_t *cls = NULL;
    int ranks = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < RANKS_MIN || argc > 1) {
        if (rank == 0)
            fprintf(stderr, "stuck: needs 3 ranks at least, no arguments\n");
        MPI_Finalize();
        return 2;
    }
    setenv("AMALGAM_HANG_S", "2", 0);
    progress.progress = AMALGAM_PROGRESS_CALLER; /* handlers: HG_Trigger() */
    options.progress = &progress;
    cls = amalgam_init(MPI_COMM_WORLD, NULL, &options);
    check(cls == NULL ? HG_OTHER_ERROR : HG_SUCCESS, "amalgam_init");
    HG_Set_log_func(line_print);
    ask_id = MERCURY_REGISTER(cls, "ask", void, void, ask_serve);
    reply_id = MERCURY_REGISTER(cls, "reply", void, void, reply_serve);
    context = HG_Context_create(cls);
    check(context == NULL ? HG_NOMEM : HG_SUCCESS, "HG_Context_create");
    if (rank == 0)
        report_await();
    else if (rank <= 2)
        calls_make();
    check(amalgam_finalize(cls), "amalgam_finalize");
    MPI_Finalize();
    return 0;
}
