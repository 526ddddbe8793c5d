/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of the programs that callgrind counts. A case runs some times before
 * its counted repetitions, whose counts callgrind dumps under the name
 * "CASE ON COUNTED". */
#ifndef TESTS_COUNT_COUNT_H
#define TESTS_COUNT_COUNT_H

#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

enum { WARM = 500, COUNTED = 500 };

/* Functions called part_* are the parts of a call, of which count.sh prints the
 * instructions. */
#define PART static __attribute__((noinline))

#define OK(call)                                                               \
    do {                                                                       \
        if ((call) != HG_SUCCESS) {                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call);         \
            exit(EXIT_FAILURE);                                                \
        }                                                                      \
    } while (0)

#define COUNT(case, on, repeated)                                              \
    do {                                                                       \
        for (int i_ = 0; i_ < WARM + COUNTED; i_++) {                          \
            if (i_ == WARM)                                                    \
                CALLGRIND_ZERO_STATS;                                          \
            repeated;                                                          \
        }                                                                      \
        count_dump(case, on);                                                  \
    } while (0)

static inline void count_dump(const char *name, const char *on)
{
    char text[64];

    snprintf(text, sizeof(text), "%s %s %d", name, on, COUNTED);
    CALLGRIND_DUMP_STATS_AT(text);
}

#endif
