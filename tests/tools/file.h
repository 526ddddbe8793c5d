/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files as texts. */
#ifndef TESTS_TOOLS_FILE_H
#define TESTS_TOOLS_FILE_H

/* The caller frees it with free(); NULL: there is no readable file. */
char *file_read(const char *path);

#endif
