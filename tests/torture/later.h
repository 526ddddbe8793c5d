/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank does later: at some time after a call was posted or handled, in
 * a thread of the program that makes progress, or in one that answers only. */
#ifndef TESTS_TORTURE_LATER_H
#define TESTS_TORTURE_LATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*later_fn)(void *arg);

/* Runs `run` in so many microseconds. False: nothing is done later any more. */
bool later_add(unsigned in_us, bool is_own_thread, later_fn run, void *arg);
/* Runs what is due. */
void later_turn(void);
/* What is not done yet. */
size_t later_count(void);
/* From now on later_add() returns false. */
void later_close(void);
void later_open(void);

/* The thread that runs what has its own thread. */
void later_thread_start(void);
void later_thread_stop(void);

#endif
