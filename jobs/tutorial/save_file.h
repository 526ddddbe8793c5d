/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files, for the program save; independent of RPC. */
#ifndef AMG_TUTORIAL_SAVE_FILE_H
#define AMG_TUTORIAL_SAVE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The functions return 0 or an errno. */

/* Reads all of `path` into memory, which the caller frees by free(). */
int file_read(const char *path, void **ret_bytes, size_t *ret_len);

/* Writes a file that gets its name only when it is complete. */
int file_write(const char *path, const void *bytes, size_t len);

/* A checksum of the bytes (FNV-1a, 64 bits). */
uint64_t file_checksum(const void *bytes, size_t len);

/* Creates a new directory below $TMPDIR, or /tmp. */
int folder_create(char *ret_path, size_t cap);

/* Removes a directory and the files in it. */
int folder_destroy(const char *path);

#endif
