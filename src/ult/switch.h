/* SPDX-License-Identifier: BSD-3-Clause */
/* From one stack to another. The file that is built for the machine fills this
 * in: switch_x86_64, switch_aarch64, or switch_ucontext elsewhere.
 *
 * Kept over a switch are the registers that a function must keep, the rounding
 * and exceptions of floating point, and nothing else: the signal mask and
 * thread-local memory are the OS thread's. */
#ifndef AMG_ULT_SWITCH_H
#define AMG_ULT_SWITCH_H

#include <stddef.h>

/* The first switch to what is returned calls entry(arg) on the stack of `len`
 * bytes from `base`; entry never returns. */
void *amg_switch_prepare(
    void *base, size_t len, void (*entry)(void *arg), void *arg);

/* Leaves the stack of the caller, stores in `ret_sp` where it goes on, and goes
 * on at `to`. Returns when a thread switches to what was stored, maybe on
 * another OS thread. */
void amg_switch(void **ret_sp, void *to);

/* Its name, for the state of the runtime. */
extern const char amg_switch_name[];

#endif
