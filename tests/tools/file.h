/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files as texts. */
#ifndef TESTS_TOOLS_FILE_H
#define TESTS_TOOLS_FILE_H

/* To be freed with free(); NULL: there is none that can be read. */
char *file_read(const char *path);

#endif
