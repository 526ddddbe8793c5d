/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefetch of a cache line that will be written soon. */
#ifndef AMG_BASE_PREFETCH_H
#define AMG_BASE_PREFETCH_H

/* A hint; `line` may be any address. gcc's builtin asks for ownership only with
 * an option that names processors; the instruction does nothing on those that
 * have no such prefetch. */
static inline void amg_prefetch_to_write(const void *line)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

#endif
