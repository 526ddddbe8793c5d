/* SPDX-License-Identifier: BSD-3-Clause */
/* Stack switch. The build takes the implementation for the machine:
 * switch_x86_64, switch_aarch64, or switch_ucontext elsewhere.
 *
 * A switch preserves the callee-saved registers, and the rounding mode and
 * exception mask of floating point. Thread-local memory belongs to the OS
 * thread, and so does the signal mask, except in switch_ucontext. */
#ifndef AMG_ULT_SWITCH_H
#define AMG_ULT_SWITCH_H

#include <stddef.h>

/* Prepares a stack of `len` bytes from `base`. The first switch to the returned
 * context calls entry(arg) on that stack; entry never returns. */
void *amg_switch_prepare(
    void *base, size_t len, void (*entry)(void *arg), void *arg);

/* Saves the context of the caller in `ret_sp`, and continues at `to`. Returns
 * when a thread switches to the saved context, maybe on another OS thread. */
void amg_switch(void **ret_sp, void *to);

/* Name of the implementation in this build, for ABT_info_print_config(). */
extern const char amg_switch_name[];

#endif
