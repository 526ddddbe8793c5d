/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared libraries that a program opens at run time. */
#ifndef MERCURY_DL_H
#define MERCURY_DL_H

#include "mercury_util_config.h"

typedef void *HG_DL_HANDLE;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Open a shared library and its dependencies.
 *
 * @param filename  [in]  a path, or a name as for dlopen(); NULL: the program
 *                        itself
 * Owns:      the caller owns the result; hg_dl_close() frees it.
 * Errors:    NULL: the library cannot be opened; hg_dl_error() says why.
 * Threads:   any thread; may do file system calls, and runs the constructors of
 *            the library.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC HG_DL_HANDLE hg_dl_open(const char *filename);

/**
 * Get the text of the last error of an hg_dl_*() call in the calling thread, or
 * NULL if there was no error since the last query.
 *
 * Owns:      the result is borrowed from the calling thread, until the thread
 *            makes another hg_dl_*() call.
 * Errors:    none.
 * Threads:   any thread, about its own calls; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC const char *hg_dl_error(void);

/**
 * Get the address of a function or variable in an open library.
 *
 * @param handle  [in]  of hg_dl_open()
 * @param symbol  [in]  name of the function or variable
 * Owns:      the result is borrowed from the library.
 * Errors:    NULL: an argument is NULL; or there is no such symbol, and
 *            hg_dl_error() says why.
 * Threads:   any thread; never blocks.
 * Undefined: the library closed during the call.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void *hg_dl_sym(HG_DL_HANDLE handle, const char *symbol);

/**
 * Close a library.
 *
 * @param handle  [in]  of hg_dl_open()
 * Owns:      the handle is consumed.
 * Errors:    HG_UTIL_FAIL handle is NULL; or the system refuses, and
 *                         hg_dl_error() says why
 * Threads:   any thread; runs the destructors of the library.
 * Undefined: the library was closed before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_dl_close(HG_DL_HANDLE handle);

/**
 * Get the file that an address of this process was loaded from: a library, or
 * the program.
 *
 * @param addr       [in]   of a function or a variable
 * @param path       [out]  a buffer for the path
 * @param path_size  [in]   size of the buffer in bytes, NUL counted
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL no loaded file has the address, path is NULL, or
 *                         path_size is too small; nothing is written then
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_dl_get_path(
    const void *addr, char *path, size_t path_size);

#ifdef __cplusplus
}
#endif

#endif
