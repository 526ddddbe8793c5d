/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes by MPI, on a communicator of their own: first the lengths, then the
 * bytes. */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exchange_ways.h"
#include "plan.h"

enum {
    PATH_CAP = 256,
};

struct by_mpi {
    struct exchange base;
    MPI_Comm comm;
    MPI_Request request;
    bool has_lengths; /* the bytes are under way */
    bool is_done;
    void *mine;
    int mine_len;
    int lengths[PLAN_RANKS_MAX];
    int places[PLAN_RANKS_MAX];
    uint8_t *all;
};

static void *memory(void *old, size_t len)
{
    void *bytes = realloc(old, len + 1);

    if (bytes == NULL)
        abort();
    return bytes;
}

static void by_mpi_begin(
    struct exchange *exchange, const void *mine, size_t len)
{
    struct by_mpi *by_mpi = (struct by_mpi *)exchange;

    if (len > INT_MAX)
        abort();
    by_mpi->mine = memory(by_mpi->mine, len);
    if (len > 0)
        memcpy(by_mpi->mine, mine, len);
    by_mpi->mine_len = (int)len;
    by_mpi->has_lengths = false;
    by_mpi->is_done = false;
    MPI_Iallgather(&by_mpi->mine_len, 1, MPI_INT, by_mpi->lengths, 1, MPI_INT,
        by_mpi->comm, &by_mpi->request);
}

static void bytes_begin(struct by_mpi *by_mpi)
{
    size_t sum = 0;

    for (unsigned rank = 0; rank < by_mpi->base.size; rank++) {
        by_mpi->places[rank] = (int)sum;
        sum += (size_t)by_mpi->lengths[rank];
    }
    if (sum > INT_MAX)
        abort();
    by_mpi->has_lengths = true;
    by_mpi->is_done = sum == 0;
    by_mpi->all = memory(by_mpi->all, sum);
    if (sum > 0)
        MPI_Iallgatherv(by_mpi->mine, by_mpi->mine_len, MPI_BYTE, by_mpi->all,
            by_mpi->lengths, by_mpi->places, MPI_BYTE, by_mpi->comm,
            &by_mpi->request);
}

static bool by_mpi_test(struct exchange *exchange)
{
    struct by_mpi *by_mpi = (struct by_mpi *)exchange;
    int flag = 0;

    if (by_mpi->is_done)
        return true;
    MPI_Test(&by_mpi->request, &flag, MPI_STATUS_IGNORE);
    if (flag != 0 && by_mpi->has_lengths)
        by_mpi->is_done = true;
    else if (flag != 0)
        bytes_begin(by_mpi);
    return by_mpi->is_done;
}

static const void *by_mpi_of(
    struct exchange *exchange, unsigned rank, size_t *ret_len)
{
    struct by_mpi *by_mpi = (struct by_mpi *)exchange;

    *ret_len = (size_t)by_mpi->lengths[rank];
    return by_mpi->all + by_mpi->places[rank];
}

static void by_mpi_abort(struct exchange *exchange)
{
    (void)exchange;
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Nothing of the library may be left on the program's communicator. */
static int by_mpi_stop(struct exchange *exchange, int code)
{
    struct by_mpi *by_mpi = (struct by_mpi *)exchange;
    int flag = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(
        MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (flag != 0) {
        fputs("torture: FINDING: a message on MPI_COMM_WORLD\n", stderr);
        code = EXIT_FAILURE;
    }
    MPI_Comm_free(&by_mpi->comm);
    MPI_Finalize();
    free(by_mpi->mine);
    free(by_mpi->all);
    free(by_mpi);
    return code;
}

static const struct exchange_ops by_mpi_ops = {
    .begin = by_mpi_begin,
    .test = by_mpi_test,
    .of = by_mpi_of,
    .abort = by_mpi_abort,
    .stop = by_mpi_stop,
};

/* A file of rank 0 that the others find by its name. */
static int board_open(const struct by_mpi *by_mpi, char *path, size_t cap)
{
    const char *folder = getenv("TMPDIR");
    int file = -1;

    if (by_mpi->base.rank == 0) {
        (void)snprintf(
            path, cap, "%s/torture-XXXXXX", folder != NULL ? folder : "/tmp");
        file = mkstemp(path);
        if (file >= 0 &&
            ftruncate(file, (off_t)by_mpi->base.size * EXCHANGE_BOARD_LEN) != 0)
            abort();
    }
    MPI_Bcast(path, (int)cap, MPI_CHAR, 0, by_mpi->comm);
    return by_mpi->base.rank == 0 ? file : open(path, O_RDWR | O_CLOEXEC);
}

/* All ranks have the board, or none. */
static void *board_make(const struct by_mpi *by_mpi)
{
    size_t len = (size_t)by_mpi->base.size * EXCHANGE_BOARD_LEN;
    char path[PATH_CAP] = "";
    int file = board_open(by_mpi, path, sizeof(path));
    void *board = MAP_FAILED;
    int has_board = 0;
    int have_all = 0;

    if (file >= 0) {
        board = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        (void)close(file);
    }
    has_board = board != MAP_FAILED;
    MPI_Allreduce(&has_board, &have_all, 1, MPI_INT, MPI_MIN, by_mpi->comm);
    if (by_mpi->base.rank == 0)
        (void)unlink(path);
    return have_all ? board : NULL;
}

struct exchange *exchange_start_mpi(int level)
{
    struct by_mpi *by_mpi = calloc(1, sizeof(*by_mpi));
    int provided = 0;
    int number = 0;

    if (by_mpi == NULL)
        return NULL;
    MPI_Init_thread(NULL, NULL, level, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &by_mpi->comm);
    by_mpi->base.ops = &by_mpi_ops;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    by_mpi->base.rank = (unsigned)number;
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    by_mpi->base.size = (unsigned)number;
    by_mpi->is_done = true;
    if (provided < level || number > PLAN_RANKS_MAX) {
        MPI_Finalize();
        return NULL;
    }
    by_mpi->base.board = board_make(by_mpi);
    return &by_mpi->base;
}
