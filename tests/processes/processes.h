/* SPDX-License-Identifier: BSD-3-Clause */
/* Unrelated processes of one host that run the same test, and how they meet:
 * a memory file that they inherit, and nothing of the library under test. */
#ifndef TESTS_PROCESSES_PROCESSES_H
#define TESTS_PROCESSES_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

enum { PROCESSES_MAX = 8, PROCESSES_TEXT_CAP = 256 };

/* The first process starts this program again for each of the others, as many
 * as TEST_PROCESSES says (2). Before anything else of the test. */
void processes_start(int *ret_rank, int *ret_size);
/* The first one waits for the others, and fails if one of them did. */
void processes_stop(void);
/* Ends all of them. */
void processes_die(void);

/* My bytes go to the left, the right one's bytes come here. */
void processes_swap_begin(const void *mine, void *ret_right, size_t len);
void processes_barrier_begin(void);
/* Has what was begun ended? Never blocks. Ends when another one has failed. */
bool processes_is_done(void);

/* A short text that each shows to all; the same one again is no news. The
 * other waits until as many have been shown there as here. */
void processes_show(const char *text);
const char *processes_shown(int rank);

/* The process id of one of the others. */
int processes_pid(int rank);

#endif
