/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of /proc: the memory of this process, the segments that it has
 * mapped, and the time that a virtual machine's host took from the machine. */
#ifndef BENCH_PROC_H
#define BENCH_PROC_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the one value of `format` from the first line that matches. False: no
 * line matches. */
bool proc_scan(const char *path, const char *format, ...)
    __attribute__((format(scanf, 2, 3)));

/* In KiB. */
struct smaps {
    double rss;            /* resident pages */
    double anonymous;      /* of rss, the pages of this process alone */
    double shared_len;     /* of all shared writable mappings */
    double shared_touched; /* part of shared_len that any process has touched */
};

/* False when the kernel does not tell. */
bool smaps_read(struct smaps *ret_smaps);
/* Resets the high water mark of resident memory. False when the kernel refuses.
 */
bool smaps_peak_reset(void);
/* The high water mark since smaps_peak_reset(), in KiB; 0: not known. */
double smaps_peak(void);

/* The number of mappings of the library's segments in /dev/shm, also of
 * segments without a name. */
unsigned segments_count(void);

/* A moment, and the time stolen from all cores together until then. */
struct steal {
    double at_us;
    double stolen_us;
};

struct steal steal_now(void);
/* The part of the time of all cores that was stolen since `before`; 0 also
 * where the kernel does not tell. */
double steal_since(const struct steal *before);

#endif
