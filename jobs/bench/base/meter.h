/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on the terminal that tells what is being measured. */
#ifndef BENCH_METER_H
#define BENCH_METER_H

/* Once, at the rank that speaks; at others, and where nobody looks, all of this
 * does nothing. */
void meter_init(void);
/* What is under way from now on, in a few words. */
void meter_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The part of it that begins now. */
void meter_tick(unsigned part, unsigned parts);
/* Makes room for other lines. */
void meter_erase(void);
/* What makes room when printed; "" where there is no meter. */
const char *meter_eraser(void);

#endif
