/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory with wishes: aligned, behind a header, of huge pages, shared. */
#include "mercury_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

static bool is_power_of_two(size_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

/* Bytes in front of memory that holds a header at its end: so many that the
 * memory stays aligned. */
static size_t front_len(size_t header_size, size_t alignment)
{
    return (header_size + alignment - 1) & ~(alignment - 1);
}

long hg_mem_get_page_size(void)
{
    return sysconf(_SC_PAGESIZE);
}

long hg_mem_get_hugepage_size(void)
{
    static _Atomic long known; /* 0: not asked yet; publishes nothing else */
    char line[128];
    long size = known, kib = 0;
    FILE *file = NULL;

    if (size != 0)
        return size;
    size = -1;
    file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "Hugepagesize: %ld kB", &kib) == 1 && kib > 0)
            size = kib * 1024;
    }
    fclose(file);
    known = size;
    return size;
}

void *hg_mem_aligned_alloc(size_t alignment, size_t size)
{
    if (!AMG_CONTRACT(is_power_of_two(alignment)) ||
        size > SIZE_MAX - alignment)
        return NULL;
    return amg_mem_alloc_aligned(
        alignment < sizeof(void *) ? sizeof(void *) : alignment, size);
}

void hg_mem_aligned_free(void *mem_ptr)
{
    amg_mem_free(mem_ptr);
}

void *hg_mem_header_alloc(size_t header_size, size_t alignment, size_t size)
{
    size_t front = 0;
    char *block = NULL;

    if (!AMG_CONTRACT(is_power_of_two(alignment)) ||
        header_size > SIZE_MAX - alignment)
        return NULL;
    front = front_len(header_size, alignment);
    if (size > SIZE_MAX - front)
        return NULL;
    block = hg_mem_aligned_alloc(alignment, front + size);
    return block != NULL ? block + front : NULL;
}

void hg_mem_header_free(size_t header_size, size_t alignment, void *mem_ptr)
{
    if (mem_ptr != NULL)
        hg_mem_aligned_free(
            (char *)mem_ptr - front_len(header_size, alignment));
}

/* Whole huge pages; 0 when there are none. */
static size_t huge_len(size_t size)
{
    long page = hg_mem_get_hugepage_size();

    if (page <= 0 || size > SIZE_MAX - (size_t)page)
        return 0;
    return (size + (size_t)page - 1) / (size_t)page * (size_t)page;
}

void *hg_mem_huge_alloc(size_t size)
{
    size_t len = huge_len(size);
    void *place = MAP_FAILED;

    if (len > 0)
        place = mmap(NULL, len, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    return place != MAP_FAILED ? place : NULL;
}

int hg_mem_huge_free(void *mem_ptr, size_t size)
{
    if (mem_ptr == NULL)
        return HG_UTIL_SUCCESS;
    return munmap(mem_ptr, huge_len(size)) == 0 ? HG_UTIL_SUCCESS
                                                : HG_UTIL_FAIL;
}

/* Says which shared memory failed, and why. */
static void shm_failed(const char *name, size_t size, const char *why)
{
    AMG_LOG_ERROR(
        "hg_util", "shared memory '%s' of %zu bytes: %s", name, size, why);
}

/* Makes sure that there are `size` bytes behind the descriptor. */
static int shm_resize(int fd, const char *name, size_t size, bool create)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        shm_failed(name, size, strerror(errno));
        return HG_UTIL_FAIL;
    }
    if ((uint64_t)info.st_size >= size)
        return HG_UTIL_SUCCESS;
    if (!create) {
        shm_failed(name, size, "what is there is smaller");
        return HG_UTIL_FAIL;
    }
    /* Not ftruncate(): a full /dev/shm is told now, not by SIGBUS later. */
    errno = posix_fallocate(fd, 0, (off_t)size);
    if (errno == 0)
        return HG_UTIL_SUCCESS;
    shm_failed(name, size, strerror(errno));
    return HG_UTIL_FAIL;
}

void *hg_mem_shm_map(const char *name, size_t size, bool create)
{
    void *place = MAP_FAILED;
    int fd = -1;

    if (!AMG_CONTRACT(name != NULL) ||
        !AMG_CONTRACT(size > 0 && size <= INT64_MAX))
        return NULL;
    fd = shm_open(name, O_RDWR | (create ? O_CREAT : 0), S_IRUSR | S_IWUSR);
    if (fd < 0) {
        shm_failed(name, size, strerror(errno));
        return NULL;
    }
    if (shm_resize(fd, name, size, create) == HG_UTIL_SUCCESS) {
        place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (place == MAP_FAILED)
            shm_failed(name, size, strerror(errno));
    }
    close(fd);
    return place != MAP_FAILED ? place : NULL;
}

int hg_mem_shm_unmap(const char *name, void *mem_ptr, size_t size)
{
    int rc = HG_UTIL_SUCCESS;

    if (mem_ptr != NULL && munmap(mem_ptr, size) != 0) {
        shm_failed(name != NULL ? name : "", size, strerror(errno));
        rc = HG_UTIL_FAIL;
    }
    if (name != NULL && shm_unlink(name) != 0) {
        shm_failed(name, size, strerror(errno));
        rc = HG_UTIL_FAIL;
    }
    return rc;
}
