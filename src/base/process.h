/* SPDX-License-Identifier: BSD-3-Clause */
/* The process: fork, signals, guarded calls and spare descriptors. */
#ifndef AMG_BASE_PROCESS_H
#define AMG_BASE_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Counts from now on; more calls change nothing. */
void amg_fork_watch(void);

/* How many forks lie between the first amg_fork_watch() and this process.
 * Cheap.
 */
unsigned amg_fork_count(void);

enum { AMG_SIGNALS = 32 /* the classic ones, from 1 on */ };

struct amg_signals {
    struct sigaction kept[AMG_SIGNALS];
};

/* Notes what each signal leads to. */
void amg_signals_save(struct amg_signals *signals);
/* Puts back what has been changed since. */
void amg_signals_restore(const struct amg_signals *signals);

/* Below the memory; also for functions that skip pages. */
#define AMG_GUARD_LEN ((size_t)64 * 1024)

/* Reserves `len` bytes (> 0, a multiple of pages) that read as zeros and cost
 * memory page by page, once they were touched. NULL: no room; errno says why.
 */
void *amg_guarded_open(size_t len);
void amg_guarded_close(void *base, size_t len);

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
