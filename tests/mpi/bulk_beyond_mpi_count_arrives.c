/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer longer than any count of MPI arrives whole: 2.5 GiB and 3 bytes,
 * pulled and pushed: bulk_beyond_mpi_count_arrives user, or library for the
 * exposed memory. The memory is reserved, and mostly untouched zeros, so that
 * sent user memory takes hardly any pages and received memory all: marks are at
 * the borders of fragments and where mixed-up ones would show. */
#include <string.h>
#include <sys/mman.h>

#include "exposed.h"

#define HUGE_LEN (5ull * (1ull << 29) + 3)
#define MARK_GAP (37ull * (1ull << 20) + 1)

static struct ranks all;

static uint8_t mark_of(uint64_t offset, uint8_t salt)
{
    return (uint8_t)((offset / MARK_GAP * 7 + 1 + salt) | 1);
}

static void marks_set(uint8_t *bytes, uint8_t salt)
{
    for (uint64_t at = 0; at < HUGE_LEN; at += MARK_GAP)
        bytes[at] = mark_of(at, salt);
    bytes[HUGE_LEN - 1] = mark_of(HUGE_LEN - 1, salt);
}

static void marks_check(const uint8_t *bytes, uint8_t salt)
{
    for (uint64_t at = 0; at < HUGE_LEN; at += MARK_GAP) {
        CHECK(bytes[at] == mark_of(at, salt));
        CHECK(at == 0 || (bytes[at - 1] == 0 && bytes[at + 1] == 0));
    }
    CHECK(bytes[HUGE_LEN - 1] == mark_of(HUGE_LEN - 1, salt));
}

static uint8_t *memory_map(void)
{
    void *bytes = mmap(NULL, HUGE_LEN, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(bytes != MAP_FAILED);
    return bytes;
}

/* Returns the pages to the kernel: all bytes are zero again. */
static void memory_clear(uint8_t *bytes)
{
    CHECK(madvise(bytes, HUGE_LEN, MADV_DONTNEED) == 0);
}

/* Exposes library memory, of which it must have that much. */
static hg_bulk_t library_expose(uint8_t **ret_bytes)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_size_t len = HUGE_LEN;
    void *bytes = NULL;

    OK(HG_Bulk_create(all.cls, 1, NULL, &len, HG_BULK_READWRITE, &bulk));
    OK(HG_Bulk_access(
        bulk, 0, HUGE_LEN, HG_BULK_READWRITE, 1, &bytes, NULL, NULL));
    *ret_bytes = bytes;
    return bulk;
}

/* Rank 0 exposes, and serves. */
static void expose(bool is_library)
{
    uint8_t *bytes = is_library ? NULL : memory_map();
    hg_bulk_t bulk = is_library
                         ? library_expose(&bytes)
                         : ranks_bulk(&all, bytes, HUGE_LEN, HG_BULK_READWRITE);

    marks_set(bytes, 0);
    exposed_send(bulk, 1);
    ranks_meet(MPI_COMM_WORLD);
    marks_check(bytes, 100);
    OK(HG_Bulk_free(bulk));
    if (!is_library)
        munmap(bytes, HUGE_LEN);
}

static void transfer(void)
{
    uint8_t *bytes = memory_map();
    hg_bulk_t local = ranks_bulk(&all, bytes, HUGE_LEN, HG_BULK_READWRITE);
    hg_bulk_t origin = exposed_take(&all, 0);
    hg_addr_t addr = HG_ADDR_NULL;

    CHECK(HG_Bulk_get_size(origin) == HUGE_LEN);
    OK(amalgam_addr_rank(all.cls, 0, &addr));
    OK(ranks_transfer(&all, HG_BULK_PULL, addr, origin, 0, local, 0, HUGE_LEN));
    marks_check(bytes, 0);
    memory_clear(bytes);
    marks_set(bytes, 100);
    OK(ranks_transfer(&all, HG_BULK_PUSH, addr, origin, 0, local, 0, HUGE_LEN));
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(origin));
    OK(HG_Bulk_free(local));
    munmap(bytes, HUGE_LEN);
    ranks_meet(MPI_COMM_WORLD);
}

/* Received memory takes all pages; sent library memory does, too. */
static bool has_memory(bool is_library)
{
    unsigned long long wanted = is_library ? 2 * HUGE_LEN : HUGE_LEN;
    unsigned long long kb = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
            break;
    fclose(file);
    return kb * 1024 > wanted + (1ull << 30);
}

int main(int argc, char **argv)
{
    bool is_library = argc > 1 && strcmp(argv[1], "library") == 0;
    int can = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_limit(290);
    can = has_memory(is_library);
    MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!can) {
        printf("not enough memory for %llu bytes\n", HUGE_LEN);
        MPI_Finalize();
        return RANKS_SKIP;
    }
    ranks_open(&all, MPI_COMM_WORLD);
    if (all.rank == 0)
        expose(is_library);
    else
        transfer();
    ranks_close(&all);
    return ranks_stop();
}
