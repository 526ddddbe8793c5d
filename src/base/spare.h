/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor kept back, for what must not fail where a process has used up
 * all that its limit allows: a look whether a peer lives, its segment, its
 * bell. Each of them needs one descriptor for some microseconds. */
#ifndef AMG_BASE_SPARE_H
#define AMG_BASE_SPARE_H

#include <stdbool.h>

/* Keeps one back from now on; counted, any thread. */
void amg_spare_hold(void);
void amg_spare_drop(void);

/* As open(); takes the descriptor that was kept back where no other is left.
 * -1: `errno` says why. */
int amg_spare_open(const char *path, int flags);
/* Closes what amg_spare_open() opened, and keeps one back again. */
void amg_spare_close(int fd);
/* Is none kept back just now? Then what is open is to be closed soon. */
bool amg_spare_is_out(void);

#endif
