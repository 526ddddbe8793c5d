/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Init() initializes MPI if the program has not, a class may be opened
 * again, and MPI is finalized when the process exits, without a log line. */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "ranks.h"

static atomic_int lines;

static int line_count(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    va_start(args, format);
    len = vfprintf(stream, format, args);
    va_end(args);
    atomic_fetch_add(&lines, 1);
    return len;
}

/* Registered before the library registers its own, and so runs after that
 * one. */
static void exit_check(void)
{
    int is_over = 0;

    MPI_Finalized(&is_over);
    if (!is_over || atomic_load(&lines) > 0) {
        fprintf(stderr, "at exit: finalised %d, lines logged %d\n", is_over,
            atomic_load(&lines));
        _exit(EXIT_FAILURE);
    }
}

static void class_use(const char *transport)
{
    struct ranks all;
    hg_class_t *cls = HG_Init(transport, HG_TRUE);

    CHECK(cls != NULL);
    ranks_adopt(&all, cls);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_leave(&all);
    OK(HG_Context_destroy(all.context));
    OK(HG_Finalize(cls));
}

int main(void)
{
    int flag = 0;
    int level = 0;

    ranks_limit(55);
    CHECK(atexit(exit_check) == 0);
    HG_Set_log_func(line_count);
    MPI_Initialized(&flag);
    CHECK(!flag);
    class_use("mpi");
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Finalized(&flag);
    CHECK(!flag);
    class_use("mpi+p2p");
    return EXIT_SUCCESS;
}
