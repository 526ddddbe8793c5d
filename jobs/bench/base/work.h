/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program does that computes. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

/* One piece of work, always the same: about half a millisecond. */
void work_unit(void);
/* Works for so long. */
void work_for_us(double us);

#endif
