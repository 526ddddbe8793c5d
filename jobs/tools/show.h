/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing of the status page of a process, for amalgam_info and
 * amalgam_hang. */
#ifndef TOOLS_SHOW_H
#define TOOLS_SHOW_H

#include <stdio.h>

#include "base/status.h"

/* "PROGRAM: the cause" on stderr: the page of `pid` was not found. */
void show_missing(const char *program, uint32_t pid, hg_return_t rc);

/* Prints what class `i` does, on two or three lines. */
void show_class(const struct amg_status *page, unsigned i,
    const struct amg_status_facts *facts);

/* Prints the page of `pid` every `seconds` until the process ends. False: there
 * is no page, and stderr has the cause. */
bool watch_run(uint32_t pid, double seconds);

#endif
