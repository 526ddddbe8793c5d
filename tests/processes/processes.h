/* SPDX-License-Identifier: BSD-3-Clause */
/* Unrelated processes of one host that run the same test, and synchronise by an
 * inherited memory file, without the library under test. */
#ifndef TESTS_PROCESSES_PROCESSES_H
#define TESTS_PROCESSES_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

enum { PROCESSES_MAX = 8, PROCESSES_TEXT_CAP = 256 };

/* The first process starts this program again for each of the others;
 * TEST_PROCESSES is their total number (2). Must come before the rest of the
 * test. */
void processes_start(int *ret_rank, int *ret_size);
/* The first one waits for the others, and fails if one of them did. */
void processes_stop(void);
/* Ends all of them. */
void processes_die(void);

/* Sends `mine` to the left process, and receives the bytes of the right one. */
void processes_swap_begin(const void *mine, void *ret_right, size_t len);
void processes_barrier_begin(void);
/* Has the pending operation ended? Never blocks. Ends the process if another
 * one has failed. */
bool processes_is_done(void);

/* Publishes a short text; ignored if it equals the last one. processes_shown()
 * waits until the other has published as many texts as this process. */
void processes_show(const char *text);
const char *processes_shown(int rank);

/* The process id of one of the others. */
int processes_pid(int rank);

#endif
