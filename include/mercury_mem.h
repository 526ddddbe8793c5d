/* SPDX-License-Identifier: BSD-3-Clause */
/* Aligned memory, memory with a header, huge pages, and shared memory. */
#ifndef MERCURY_MEM_H
#define MERCURY_MEM_H

#include "mercury_util_config.h"

/* Usual values; hg_mem_get_page_size() returns the size on this machine. */
#define HG_MEM_CACHE_LINE_SIZE 64
#define HG_MEM_PAGE_SIZE       4096

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the size of a page in bytes.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC long hg_mem_get_page_size(void);

/**
 * Get the default size of a huge page in bytes.
 *
 * Owns:      nothing changes hands.
 * Errors:    -1: the system has no huge pages.
 * Threads:   any thread; reads a file the first time.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC long hg_mem_get_hugepage_size(void);

/**
 * Allocate memory that begins at a multiple of `alignment`.
 *
 * @param alignment  [in]  a power of two
 * @param size       [in]  bytes
 * Owns:      the caller owns the result; hg_mem_aligned_free() frees it.
 * Errors:    NULL: alignment is no power of two, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void *hg_mem_aligned_alloc(size_t alignment, size_t size);

/**
 * Free aligned memory.
 *
 * @param mem_ptr  [in]  NULL is allowed
 * Owns:      the memory is consumed.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: the memory is not from hg_mem_aligned_alloc().
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_mem_aligned_free(void *mem_ptr);

/**
 * Allocate aligned memory with room for a header in front of it: the header
 * ends where the memory begins.
 *
 * @param header_size  [in]  bytes of the header
 * @param alignment    [in]  of the memory; a power of two
 * @param size         [in]  bytes of the memory
 * Owns:      the caller owns the result, the address behind the header;
 *            hg_mem_header_free() frees it.
 * Errors:    NULL: alignment is no power of two, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void *hg_mem_header_alloc(
    size_t header_size, size_t alignment, size_t size);

/**
 * Free memory with a header.
 *
 * @param header_size  [in]  as for hg_mem_header_alloc()
 * @param alignment    [in]  as for hg_mem_header_alloc()
 * @param mem_ptr      [in]  NULL is allowed
 * Owns:      the memory is consumed.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: a different size or alignment.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_mem_header_free(
    size_t header_size, size_t alignment, void *mem_ptr);

/**
 * Allocate memory in huge pages, which the system must have reserved
 * (/proc/sys/vm/nr_hugepages).
 *
 * @param size  [in]  bytes; rounded up to whole pages
 * Owns:      the caller owns the result; hg_mem_huge_free() frees it.
 * Errors:    NULL: size is 0, or too few huge pages are free.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void *hg_mem_huge_alloc(size_t size);

/**
 * Free memory in huge pages.
 *
 * @param mem_ptr  [in]  NULL is allowed
 * @param size     [in]  as for hg_mem_huge_alloc()
 * Owns:      the memory is consumed.
 * Errors:    HG_UTIL_FAIL the memory is not from hg_mem_huge_alloc()
 * Threads:   any thread; never blocks.
 * Undefined: a different size.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_mem_huge_free(void *mem_ptr, size_t size);

/**
 * Map memory that processes of this machine share under a name.
 *
 * @param name    [in]  begins with '/', and has no other '/'
 * @param size    [in]  bytes, at least 1
 * @param create  [in]  true: create missing memory, filled with zeros
 * Owns:      the caller owns the result; hg_mem_shm_unmap() frees it. The name
 *            stays until a process unmaps it by name.
 * Errors:    NULL: the shared memory does not exist or is smaller than `size`,
 *            and `create` is false; it belongs to another user; or there is no
 *            memory; the log says why.
 * Threads:   any thread; may do file system calls.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but existing memory is never made smaller.
 */
HG_UTIL_PUBLIC void *hg_mem_shm_map(const char *name, size_t size, bool create);

/**
 * Unmap shared memory, and remove its name.
 *
 * @param name     [in]  NULL: the name stays
 * @param mem_ptr  [in]  NULL: only the name is removed
 * @param size     [in]  as for hg_mem_shm_map()
 * Owns:      the mapping of this process is removed; other processes keep
 *            theirs.
 * Errors:    HG_UTIL_FAIL no such name or memory; the log says why
 * Threads:   any thread; may do file system calls.
 * Undefined: a different size.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_mem_shm_unmap(
    const char *name, void *mem_ptr, size_t size);

#ifdef __cplusplus
}
#endif

#endif
