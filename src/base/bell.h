/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor that one thread rings and another sleeps on. */
#ifndef AMG_BASE_BELL_H
#define AMG_BASE_BELL_H

/* Readable from amg_bell_ring() on, until amg_bell_drain(). Returns -1, with
 * `errno` set, when the process has no descriptor left. */
int amg_bell_open(void);
/* Fine with -1. */
void amg_bell_close(int bell);

/* Any thread. A system call, so only where somebody sleeps. */
void amg_bell_ring(int bell);
/* Fine when it was not rung. */
void amg_bell_drain(int bell);

#endif
