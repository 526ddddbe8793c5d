/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for the person who waits: errors, notes, and the count of errors. */
#ifndef CHECKPOINT_REPORT_H
#define CHECKPOINT_REPORT_H

/* Who speaks in all lines from now on. */
void report_rank_set(int rank);

/* One line to stderr, with the rank in front, and counted. */
__attribute__((format(printf, 1, 2))) void report_error(
    const char *format, ...);

/* The same, but not an error. */
__attribute__((format(printf, 1, 2))) void report_note(const char *format, ...);

/* Errors of this rank so far. */
unsigned long report_error_count(void);

#endif
