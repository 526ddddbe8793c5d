/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the child of a fork() from its parent. */
#ifndef AMG_BASE_FORK_H
#define AMG_BASE_FORK_H

/* Counts from now on; more calls change nothing. */
void amg_fork_watch(void);

/* How many forks lie between the first amg_fork_watch() and this process.
 * Cheap.
 */
unsigned amg_fork_count(void);

#endif
