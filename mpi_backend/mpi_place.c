/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting place of the ranks of a node while a domain opens: a file of /dev/shm
 * that they map. "Node" means the ranks that share that file.
 *
 * Each rank claims a seat in the file, and writes its rank there. After a
 * barrier of all ranks no further rank comes, and the first rank of the node
 * removes the file. A rank with another /dev/shm (in a container), or whose
 * /dev/shm is full, is alone on a node. If a rank fails after it claimed a
 * seat, each rank of the file is alone.
 *
 * The ranks exchange bytes through the seats, in pieces, without a message. A
 * seat has room for two pieces, used in turn. In each round the ranks write,
 * wait for all, and read. A rank overwrites a piece only when all ranks have
 * arrived in the next round, and so have read the piece.
 *
 * The file has seats for all ranks of the job, at most SEATS_MAX; only claimed
 * seats have pages. Each rank reserves the pages of its seat, so that no write
 * raises SIGBUS. Like a segment of the driver for shared memory, the file gets
 * its length and a lock before its name. A process that cleans the folder sees
 * by the lock that the file is in use. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* cpu_set_t, fallocate() */
#endif
#include "mpi_backend/mpi_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"

#define FOLDER "/dev/shm"

enum {
    PIECE_LEN = 256, /* = AMG_NODE_CARD_LEN */
    CPU_WORDS = sizeof(cpu_set_t) / sizeof(uint64_t),
    SEATS_MAX = 65536,
    PATH_CAP = 80,
    OPEN_TRIES = 3, /* a peer may create the file after our open() */
};

struct seat {
    uint32_t rank;
    unsigned char pieces[2][PIECE_LEN];
};

struct shared {
    atomic_uint claimed; /* number of seats */
    /* Publishes `cpus` and seats' ranks (release) to amg_mpi_place_settle(). */
    atomic_uint entered;
    /* Publishes pieces (acquire, release); counts arrivals in all rounds. */
    _Alignas(64) _Atomic uint64_t arrived;
    _Atomic uint64_t cpus[CPU_WORDS]; /* a bit per pu that a rank may use */
    struct seat seats[];
};

/* Owned by the opening rank. */
struct amg_mpi_place {
    struct shared *shared; /* NULL: this rank is alone */
    size_t len;
    uint64_t rounds;
    MPI_Comm data;
    int size;
    int rank; /* on the node */
    int fd;   /* of the file, until settled */
    char path[PATH_CAP];
};

/* Creates the file; -1: `errno` says why. */
static int file_create(const char *path, size_t len)
{
    char from[64];
    int error = 0;
    int fd = amg_file_make(FOLDER, len);

    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    if (fd < 0 ||
        linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Opens the file, or creates it; -1: `errno` says why. */
static int file_open(const char *path, size_t len)
{
    int fd = -1;

    for (int i = 0; i < OPEN_TRIES && fd < 0; i++) {
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 && errno == ENOENT)
            fd = file_create(path, len);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* Reserves pages; false: there are too few. posix_fallocate() would write to
 * the file where the file system cannot reserve. */
static bool file_reserve(int fd, size_t at, size_t len)
{
    int rc = 0;

    do
        rc = fallocate(fd, 0, (off_t)at, (off_t)len);
    while (rc != 0 && errno == EINTR);
    return rc == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
}

/* Maps the file; false: `errno` says why. */
static bool file_map(struct amg_mpi_place *place)
{
    void *base = MAP_FAILED;

    if (!file_reserve(place->fd, 0, sizeof(*place->shared)))
        return false;
    base = mmap(NULL, place->len, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_NORESERVE, place->fd, 0);
    if (base == MAP_FAILED)
        return false;
    place->shared = base;
    return true;
}

/* Claims a seat; false: `errno` says why. */
static bool seat_take(struct amg_mpi_place *place, uint32_t rank)
{
    struct shared *shared = place->shared;
    cpu_set_t set;
    uint64_t cpus[CPU_WORDS] = {1};
    size_t at =
        atomic_fetch_add_explicit(&shared->claimed, 1, memory_order_relaxed);

    at = offsetof(struct shared, seats) + at * sizeof(struct seat);
    errno = ENOSPC;
    if (at >= place->len || !file_reserve(place->fd, at, sizeof(struct seat)))
        return false;
    ((struct seat *)(void *)((char *)shared + at))->rank = rank;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        memcpy(cpus, &set, sizeof(cpus));
    for (int i = 0; i < CPU_WORDS; i++)
        if (cpus[i] != 0)
            atomic_fetch_or_explicit(
                &shared->cpus[i], cpus[i], memory_order_relaxed);
    atomic_fetch_add_explicit(&shared->entered, 1, memory_order_release);
    return true;
}

static void file_close(struct amg_mpi_place *place)
{
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
}

static void file_unmap(struct amg_mpi_place *place)
{
    if (place->shared != NULL)
        munmap(place->shared, place->len);
    place->shared = NULL;
}

struct amg_mpi_place *amg_mpi_place_enter(
    const struct amg_mpi_comm *comm, uint64_t number)
{
    struct amg_mpi_place *place = amg_mem_zalloc(sizeof(*place));
    size_t seats = comm->size < SEATS_MAX ? (size_t)comm->size : SEATS_MAX;

    if (place == NULL)
        return NULL;
    place->data = comm->data;
    place->fd = -1;
    place->len = sizeof(*place->shared) + seats * sizeof(struct seat);
    if (comm->size == 1)
        return place;
    snprintf(place->path, sizeof(place->path),
        FOLDER "/amalgam-%u-meet-%016" PRIx64, (unsigned)geteuid(), number);
    place->fd = file_open(place->path, place->len);
    if (place->fd >= 0 && file_map(place) &&
        seat_take(place, (uint32_t)comm->rank))
        return place;
    AMG_LOG_WARNING("mpi",
        "rank %d cannot share %s (%s), and treats the other ranks of its node "
        "as if they were on other nodes: mount " FOLDER
        ", remove files there, or make it larger (docker run --shm-size)",
        comm->rank, place->path, strerror(errno));
    file_close(place);
    file_unmap(place);
    return place;
}

static uint32_t cpus_count(const struct shared *shared)
{
    uint32_t count = 0;

    for (int i = 0; i < CPU_WORDS; i++)
        count += (uint32_t)__builtin_popcountll(
            atomic_load_explicit(&shared->cpus[i], memory_order_relaxed));
    return count;
}

void amg_mpi_place_settle(
    struct amg_mpi_place *place, struct amg_mpi_comm *comm)
{
    const struct shared *shared = place->shared;
    uint32_t mine = (uint32_t)comm->rank;
    uint32_t first = mine;
    uint32_t before = 0;
    uint32_t count = 1;

    comm->must_yield = comm->size > 1; /* other ranks may have the same pus */
    if (shared != NULL) {
        count = atomic_load_explicit(&shared->entered, memory_order_acquire);
        comm->must_yield = count > cpus_count(shared);
        if (atomic_load_explicit(&shared->claimed, memory_order_relaxed) !=
            count)
            count = 1;
    }
    for (uint32_t i = 0; i < count && count > 1; i++) {
        uint32_t rank = shared->seats[i].rank;

        before += rank < mine;
        first = rank < first ? rank : first;
    }
    AMG_ASSERT(before < count);
    if (before == 0 && place->path[0] != '\0')
        unlink(place->path);
    file_close(place);
    if (count == 1)
        file_unmap(place);
    place->size = comm->node_size = (int)count;
    place->rank = comm->node_rank = (int)before;
    comm->node_first = first;
}

/* Piece of this round, in the seat numbered `rank`. */
static unsigned char *piece_of(const struct amg_mpi_place *place, int rank)
{
    AMG_ASSERT(place->fd < 0 && rank < place->size);
    return place->shared->seats[rank].pieces[place->rounds % 2];
}

/* Waits until all ranks have written their pieces of this round. */
static int all_await(struct amg_mpi_place *place)
{
    _Atomic uint64_t *arrived = &place->shared->arrived;
    uint64_t all = (place->rounds + 1) * (uint64_t)place->size;
    unsigned tests = 0;
    int rc = MPI_SUCCESS;
    int flag = 0;

    atomic_fetch_add_explicit(arrived, 1, memory_order_acq_rel);
    while (rc == MPI_SUCCESS &&
           atomic_load_explicit(arrived, memory_order_acquire) < all) {
        rc = MPI_Iprobe(
            MPI_ANY_SOURCE, 0, place->data, &flag, MPI_STATUS_IGNORE);
        amg_mpi_comm_pause(tests++);
    }
    return rc;
}

static size_t lower(size_t one, size_t other)
{
    return one < other ? one : other;
}

int amg_mpi_place_allgather(
    struct amg_mpi_place *place, const void *mine, size_t len, void *ret_all)
{
    unsigned char *all = ret_all;
    int rc = MPI_SUCCESS;

    if (place->size == 1 && all != NULL)
        memcpy(all, mine, len);
    for (size_t at = 0; at < len && place->size > 1 && rc == MPI_SUCCESS;
         at += PIECE_LEN) {
        size_t part = lower(len - at, PIECE_LEN);

        memcpy(piece_of(place, place->rank), (const char *)mine + at, part);
        rc = all_await(place);
        for (int i = 0; i < place->size && all != NULL; i++)
            memcpy(all + (size_t)i * len + at, piece_of(place, i), part);
        place->rounds++;
    }
    return rc;
}

/* In each round, `root` writes to the pieces of all ranks. */
int amg_mpi_place_bcast(
    struct amg_mpi_place *place, void *bytes, size_t len, int root)
{
    unsigned char *next = bytes;
    int rc = MPI_SUCCESS;

    while (len > 0 && place->size > 1 && rc == MPI_SUCCESS) {
        size_t whole = lower(len, (size_t)place->size * PIECE_LEN);

        if (place->rank != root)
            rc = all_await(place);
        for (size_t at = 0; at < whole; at += PIECE_LEN) {
            unsigned char *piece = piece_of(place, (int)(at / PIECE_LEN));
            size_t part = lower(whole - at, PIECE_LEN);

            if (place->rank == root)
                memcpy(piece, next + at, part);
            else
                memcpy(next + at, piece, part);
        }
        if (place->rank == root)
            rc = all_await(place);
        place->rounds++;
        next += whole;
        len -= whole;
    }
    return rc;
}

void amg_mpi_place_leave(struct amg_mpi_place *place)
{
    if (place == NULL)
        return;
    if (place->fd >= 0) /* not settled */
        unlink(place->path);
    file_close(place);
    file_unmap(place);
    amg_mem_free(place);
}
