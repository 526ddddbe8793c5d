/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory like the library's: a mapping of a file without a name, which another
 * process of the machine can map too. */
#include "jobs/bench/bulk/like.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/bench/base/reach.h"

static unsigned char *file_map(int fd, size_t len)
{
    void *mapped = MAP_FAILED;

    if (fd >= 0)
        mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static int file_make(struct pair *pair, size_t len)
{
    int fd = memfd_create("amalgam_bench", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)len) != 0)
        pair_fail(
            pair, "no file of %zu bytes in memory: %s", len, strerror(errno));
    return fd;
}

void like_open(struct pair *pair, size_t len, struct like *ret_like)
{
    struct reach reach;
    int is_mapped = 0;
    int fd = -1;

    *ret_like = (struct like){.len = len};
    if (pair->rank == 1) {
        fd = file_make(pair, len);
        reach_offer(fd, &reach);
    }
    MPI_Bcast(&reach, sizeof(reach), MPI_BYTE, 1, pair->comm);
    if (pair->rank == 0 && reach.fd >= 0 && pair->is_one_machine)
        fd = reach_open(&reach, O_RDWR);
    ret_like->base = file_map(fd, len);
    is_mapped = ret_like->base != NULL;
    if (!is_mapped && pair->rank == 1)
        pair_fail(pair, "cannot map %zu bytes: %s", len, strerror(errno));
    if (!is_mapped)
        fprintf(stderr,
            "amalgam_bench: the rows against memcpy are left out: no memory is "
            "shared with the other rank\n");
    MPI_Allreduce(MPI_IN_PLACE, &is_mapped, 1, MPI_INT, MPI_MIN, pair->comm);
    if (fd >= 0)
        close(fd);
    ret_like->is_shared = is_mapped != 0;
    /* The pages are there then, and known to either rank. */
    if (ret_like->base != NULL)
        memset(ret_like->base, 0, len);
    MPI_Barrier(pair->comm);
}

void like_close(struct like *like)
{
    if (like->base != NULL)
        munmap(like->base, like->len);
    like->base = NULL;
}
