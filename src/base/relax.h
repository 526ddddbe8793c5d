/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the processor that a loop only waits. */
#ifndef AMG_BASE_RELAX_H
#define AMG_BASE_RELAX_H

/* 10 to 50 ns, in which the other hardware thread of the core may compute. */
static inline void amg_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
