/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that has nothing to do. */
#ifndef BENCH_PAUSE_H
#define BENCH_PAUSE_H

/* The calling thread sleeps so long. */
void pause_us(unsigned us);

#endif
