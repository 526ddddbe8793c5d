/* SPDX-License-Identifier: BSD-3-Clause */
/* Watch of a rank: a thread that notices when no rank moves any more. It then
 * writes what the program reports of itself and the stacks of all threads; and
 * after the limit it ends the ranks, with a finding. */
#ifndef TESTS_TORTURE_WATCH_H
#define TESTS_TORTURE_WATCH_H

#include <stdio.h>

#include "book.h"
#include "exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*watch_report_fn)(void *arg, FILE *out);

void watch_start(struct book *book, struct exchange *exchange, unsigned limit_s,
    watch_report_fn report, void *arg);
void watch_stop(void);
/* What the rank does: a name that lives on. */
void watch_phase(const char *phase);

#ifdef __cplusplus
}
#endif

#endif
