/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, shared memory and memory pools of mercury_mem*.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "mercury_mem.h"
#include "mercury_mem_pool.h"

static bool is_power_of_two(size_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

/* Bytes in front of the program's memory: `header_size`, rounded up so that the
 * memory is aligned. The header ends where the memory begins. */
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
    static _Atomic long known; /* 0: not read yet; -1: no huge pages */
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
    if (!AMG_CONTRACT(is_power_of_two(alignment),
            "alignment is %zu; it must be a power of 2", alignment) ||
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

    if (!AMG_CONTRACT(is_power_of_two(alignment),
            "alignment is %zu; it must be a power of 2", alignment) ||
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

/* `size` rounded up to whole huge pages; 0: no huge pages, or an overflow. */
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

/* Logs that shared memory cannot be used, unmapped or removed (`what`). */
static void shm_failed(
    const char *what, const char *name, size_t size, const char *why)
{
    AMG_LOG_ERROR("hg_util", "cannot %s shared memory '%s' of %zu bytes: %s",
        what, name, size, why);
}

/* Makes sure that the shared memory has `size` bytes; grows it if `create`. */
static int shm_resize(int fd, const char *name, size_t size, bool create)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        shm_failed("use", name, size, strerror(errno));
        return HG_UTIL_FAIL;
    }
    if ((uint64_t)info.st_size >= size)
        return HG_UTIL_SUCCESS;
    if (!create) {
        shm_failed("use", name, size, "an object of that name is smaller");
        return HG_UTIL_FAIL;
    }
    /* Not ftruncate(): in a full /dev/shm accesses would then raise SIGBUS. */
    if (amg_file_may_have(size))
        errno = posix_fallocate(fd, 0, (off_t)size);
    if (errno == 0)
        return HG_UTIL_SUCCESS;
    shm_failed("use", name, size, strerror(errno));
    return HG_UTIL_FAIL;
}

void *hg_mem_shm_map(const char *name, size_t size, bool create)
{
    void *place = MAP_FAILED;
    int fd = -1;

    if (!AMG_GIVEN(name) || !AMG_CONTRACT(size > 0 && size <= INT64_MAX,
                                "size is %zu; it must be 1 to 2^63 - 1", size))
        return NULL;
    fd = shm_open(name, O_RDWR | (create ? O_CREAT : 0), S_IRUSR | S_IWUSR);
    if (fd < 0) {
        shm_failed("use", name, size, strerror(errno));
        return NULL;
    }
    if (shm_resize(fd, name, size, create) == HG_UTIL_SUCCESS) {
        place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (place == MAP_FAILED)
            shm_failed("use", name, size, strerror(errno));
    }
    close(fd);
    return place != MAP_FAILED ? place : NULL;
}

int hg_mem_shm_unmap(const char *name, void *mem_ptr, size_t size)
{
    int rc = HG_UTIL_SUCCESS;

    if (mem_ptr != NULL && munmap(mem_ptr, size) != 0) {
        shm_failed("unmap", name != NULL ? name : "", size, strerror(errno));
        rc = HG_UTIL_FAIL;
    }
    if (name != NULL && shm_unlink(name) != 0) {
        shm_failed("remove", name, size, strerror(errno));
        rc = HG_UTIL_FAIL;
    }
    return rc;
}

/* Free chunks of all blocks are on one list, linked by their first words, so
 * that no search for a free chunk is needed. To find the block of a chunk, the
 * pool searches all blocks, which are few, for the chunk's address. */

/* Chunks begin on a cache line, so that no two chunks share a line. */
enum { CHUNK_ALIGN = 64 };

/* Owned by its pool, as is the memory of the chunks. */
struct block {
    struct amg_link link;
    void *mr_handle;
    char *chunks;
};

/* The first word of a free chunk. */
struct free_chunk {
    struct free_chunk *next;
};

/* Owned by the program, from create to destroy. */
struct hg_mem_pool {
    size_t chunk_size; /* bytes that the program asked for */
    size_t step;       /* from one chunk to the next */
    size_t chunk_count;
    hg_mem_pool_register_func_t register_func;
    hg_mem_pool_deregister_func_t deregister_func;
    unsigned long flags;
    void *arg;
    struct amg_lock lock; /* guards blocks and free */
    struct amg_list blocks;
    struct free_chunk *free;
};

static void block_destroy(struct hg_mem_pool *pool, struct block *block)
{
    if (pool->register_func != NULL && pool->deregister_func != NULL &&
        pool->deregister_func(block->mr_handle, pool->arg) != HG_UTIL_SUCCESS)
        AMG_LOG_ERROR("hg_util",
            "a block of %zu bytes could not be deregistered; it is freed "
            "nevertheless",
            pool->step * pool->chunk_count);
    amg_mem_free(block->chunks);
    amg_mem_free(block);
}

/* Creates a block, not listed yet; registers it by register_func, if any. */
static struct block *block_create(const struct hg_mem_pool *pool)
{
    size_t len = pool->step * pool->chunk_count;
    struct block *block = amg_mem_zalloc(sizeof(*block));

    if (block == NULL)
        return NULL;
    block->chunks = amg_mem_alloc_aligned(CHUNK_ALIGN, len);
    if (block->chunks == NULL)
        goto free_block;
    if (pool->register_func != NULL &&
        pool->register_func(block->chunks, len, pool->flags, &block->mr_handle,
            pool->arg) != HG_UTIL_SUCCESS) {
        AMG_LOG_ERROR("hg_util", "register_func failed for %zu bytes", len);
        goto free_chunks;
    }
    return block;

free_chunks:
    amg_mem_free(block->chunks);
free_block:
    amg_mem_free(block);
    return NULL;
}

static void chunk_push_locked(struct hg_mem_pool *pool, void *chunk)
{
    struct free_chunk *kept = chunk;

    AMG_ASSERT_HELD(&pool->lock);
    kept->next = pool->free;
    pool->free = kept;
}

static int pool_grow(struct hg_mem_pool *pool)
{
    struct block *block = block_create(pool);

    if (block == NULL)
        return HG_UTIL_FAIL;
    amg_lock_lock(&pool->lock);
    amg_list_push(&pool->blocks, &block->link);
    for (size_t i = pool->chunk_count; i-- > 0;)
        chunk_push_locked(pool, block->chunks + i * pool->step);
    amg_lock_unlock(&pool->lock);
    return HG_UTIL_SUCCESS;
}

/* The block that contains the chunk, or NULL. */
static struct block *block_of_locked(
    const struct hg_mem_pool *pool, const void *chunk)
{
    uintptr_t place = (uintptr_t)chunk;
    size_t len = pool->step * pool->chunk_count;

    AMG_ASSERT_HELD(&pool->lock);
    for (struct amg_link *at = amg_list_first(&pool->blocks); at != NULL;
         at = amg_list_next(&pool->blocks, at)) {
        struct block *block = amg_container_of(at, struct block, link);
        uintptr_t first = (uintptr_t)block->chunks;

        if (place >= first && place - first < len &&
            (place - first) % pool->step == 0)
            return block;
    }
    return NULL;
}

static void stranger_warn(const void *mem_ptr)
{
    AMG_LOG_ERROR("hg_util", "%p is not a chunk of the pool", mem_ptr);
}

struct hg_mem_pool *hg_mem_pool_create(size_t chunk_size, size_t chunk_count,
    size_t block_count, hg_mem_pool_register_func_t register_func,
    unsigned long flags, hg_mem_pool_deregister_func_t deregister_func,
    void *arg)
{
    struct hg_mem_pool *pool = NULL;
    size_t step = 0;

    if (!AMG_CONTRACT(chunk_size > 0 && chunk_count > 0 && block_count > 0,
            "chunk_size is %zu, chunk_count %zu, block_count %zu; each must be "
            "at least 1",
            chunk_size, chunk_count, block_count) ||
        chunk_size > SIZE_MAX - CHUNK_ALIGN)
        return NULL;
    step = (chunk_size + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
    if (step > (SIZE_MAX - CHUNK_ALIGN) / chunk_count)
        return NULL;
    pool = amg_mem_zalloc(sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->chunk_size = chunk_size;
    pool->step = step;
    pool->chunk_count = chunk_count;
    pool->register_func = register_func;
    pool->deregister_func = deregister_func;
    pool->flags = flags;
    pool->arg = arg;
    amg_lock_init(&pool->lock);
    amg_list_init(&pool->blocks);
    for (size_t i = 0; i < block_count; i++) {
        if (pool_grow(pool) != HG_UTIL_SUCCESS) {
            hg_mem_pool_destroy(pool);
            return NULL;
        }
    }
    return pool;
}

void hg_mem_pool_destroy(struct hg_mem_pool *hg_mem_pool)
{
    struct amg_link *link = NULL;

    if (hg_mem_pool == NULL)
        return;
    while ((link = amg_list_pop(&hg_mem_pool->blocks)) != NULL)
        block_destroy(hg_mem_pool, amg_container_of(link, struct block, link));
    amg_mem_free(hg_mem_pool);
}

void *hg_mem_pool_alloc(
    struct hg_mem_pool *hg_mem_pool, size_t size, void **mr_handle)
{
    struct free_chunk *chunk = NULL;

    if (!AMG_GIVEN(hg_mem_pool) ||
        !AMG_CONTRACT(size <= hg_mem_pool->chunk_size,
            "size is %zu, but a chunk of this pool has %zu bytes", size,
            hg_mem_pool->chunk_size) ||
        !AMG_CONTRACT(mr_handle != NULL || hg_mem_pool->register_func == NULL,
            "mr_handle is NULL, but the pool registers its memory"))
        return NULL;
    /* Tries again after a growth: other threads may take all the new chunks. */
    for (;;) {
        amg_lock_lock(&hg_mem_pool->lock);
        chunk = hg_mem_pool->free;
        if (chunk != NULL) {
            hg_mem_pool->free = chunk->next;
            if (mr_handle != NULL)
                *mr_handle = block_of_locked(hg_mem_pool, chunk)->mr_handle;
        }
        amg_lock_unlock(&hg_mem_pool->lock);
        if (chunk != NULL)
            return chunk;
        if (pool_grow(hg_mem_pool) != HG_UTIL_SUCCESS)
            return NULL;
    }
}

void hg_mem_pool_free(
    struct hg_mem_pool *hg_mem_pool, void *mem_ptr, void *mr_handle)
{
    struct block *block = NULL;

    (void)mr_handle;
    if (mem_ptr == NULL || !AMG_GIVEN(hg_mem_pool))
        return;
    amg_lock_lock(&hg_mem_pool->lock);
    block = block_of_locked(hg_mem_pool, mem_ptr);
    if (block != NULL)
        chunk_push_locked(hg_mem_pool, mem_ptr);
    amg_lock_unlock(&hg_mem_pool->lock);
    if (block == NULL)
        stranger_warn(mem_ptr);
}

size_t hg_mem_pool_chunk_offset(
    struct hg_mem_pool *hg_mem_pool, void *mem_ptr, void *mr_handle)
{
    struct block *block = NULL;

    (void)mr_handle;
    if (!AMG_GIVEN(hg_mem_pool))
        return 0;
    amg_lock_lock(&hg_mem_pool->lock);
    block = block_of_locked(hg_mem_pool, mem_ptr);
    amg_lock_unlock(&hg_mem_pool->lock);
    if (block != NULL)
        return (size_t)((char *)mem_ptr - block->chunks);
    stranger_warn(mem_ptr);
    return 0;
}
