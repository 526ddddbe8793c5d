/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's signal handlers, kept while code that is loaded runs. */
#ifndef AMG_BASE_SIGNALS_H
#define AMG_BASE_SIGNALS_H

#include <signal.h>

enum { AMG_SIGNALS = 32 /* the classic ones, from 1 on */ };

struct amg_signals {
    struct sigaction kept[AMG_SIGNALS];
};

/* Notes what each signal leads to. */
void amg_signals_save(struct amg_signals *signals);
/* Puts back what has been changed since. */
void amg_signals_restore(const struct amg_signals *signals);

#endif
