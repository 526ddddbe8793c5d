/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all ranks run the same program, with the same arguments. */
#include "jobs/bench/frame/binaries.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_CAP = 64, BLOCK = 65536 };

/* FNV-1a, draft-eastlake-fnv: where a hash starts, and what it is multiplied
 * by for each byte. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* What a rank runs: hashes, 0 where a file could not be read. */
struct print {
    uint64_t program;
    uint64_t library; /* libamalgam */
    uint64_t backend; /* libamalgam_mpi */
    uint64_t words;   /* of the command line */
    char host[HOST_CAP];
};

static uint64_t hash_add(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * HASH_PRIME;
    return hash;
}

static uint64_t file_hash(const char *path)
{
    static unsigned char block[BLOCK];
    FILE *file = fopen(path, "rb");
    uint64_t hash = HASH_START;
    size_t len = 0;

    if (file == NULL)
        return 0;
    while ((len = fread(block, 1, sizeof(block), file)) > 0)
        hash = hash_add(hash, block, len);
    if (ferror(file))
        hash = 0;
    fclose(file);
    return hash;
}

/* Of the library that a symbol is in. */
static uint64_t library_hash(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    Dl_info info;

    if (found == NULL || dladdr(found, &info) == 0 || info.dli_fname == NULL)
        return 0;
    return file_hash(info.dli_fname);
}

static void print_take(int argc, char **argv, struct print *ret_print)
{
    memset(ret_print, 0, sizeof(*ret_print));
    ret_print->program = file_hash("/proc/self/exe");
    ret_print->library = library_hash("HG_Init");
    ret_print->backend = library_hash("amalgam_init");
    ret_print->words = HASH_START;
    for (int i = 1; i < argc; i++)
        ret_print->words =
            hash_add(ret_print->words, argv[i], strlen(argv[i]) + 1);
    gethostname(ret_print->host, HOST_CAP - 1);
}

static bool hash_differs(uint64_t one, uint64_t other)
{
    return one != 0 && other != 0 && one != other;
}

/* What of them is not the same; NULL: all is. */
static const char *difference_of(
    const struct print *one, const struct print *other)
{
    if (hash_differs(one->program, other->program))
        return "another amalgam_bench";
    if (hash_differs(one->library, other->library))
        return "another libamalgam";
    if (hash_differs(one->backend, other->backend))
        return "another libamalgam_mpi";
    if (one->words != other->words)
        return "other arguments";
    return NULL;
}

static bool prints_compare(const struct print *prints, int count)
{
    for (int i = 1; i < count; i++) {
        const char *what = difference_of(&prints[0], &prints[i]);

        if (what == NULL)
            continue;
        fprintf(stderr,
            "amalgam_bench: rank %d on %s has %s than rank 0 on %s: start the "
            "same build in the same way everywhere\n",
            i, prints[i].host, what, prints[0].host);
        return false;
    }
    return true;
}

bool binaries_are_same(int argc, char **argv)
{
    struct print own;
    struct print *all = NULL;
    int is_same = 1;
    int rank = 0;
    int size = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    print_take(argc, argv, &own);
    if (rank == 0)
        all = calloc((size_t)size, sizeof(*all));
    if (rank == 0 && all == NULL)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Gather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, 0,
        MPI_COMM_WORLD);
    if (rank == 0)
        is_same = prints_compare(all, size);
    free(all);
    MPI_Bcast(&is_same, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return is_same != 0;
}
