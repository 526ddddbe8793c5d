/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptor by which a thread wakes another thread that blocks on it. */
#ifndef AMG_BASE_BELL_H
#define AMG_BASE_BELL_H

/* Readable from amg_bell_ring() until amg_bell_drain(). Returns -1, with
 * `errno` set, when the process has no descriptor left. */
int amg_bell_open(void);
/* Accepts -1. */
void amg_bell_close(int bell);

/* Any thread. A system call: only call it when a thread blocks. */
void amg_bell_ring(int bell);
/* Clears the bell; harmless when nobody rang it. */
void amg_bell_drain(int bell);

#endif
