/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of many numbers: how many, the least, the most, mean, variance
 * and sum. */
#ifndef AMG_MARGO_STATS_H
#define AMG_MARGO_STATS_H

#include <stdint.h>

struct json_object;

/* All zero: of none. Guarded by its owner. */
struct amg_stats {
    uint64_t num;
    double min;
    double max;
    double avg;
    double squares; /* of the distances from the mean, summed up */
    double sum;
};

void amg_stats_add(struct amg_stats *stats, double number);

/* {"num", "min", "max", "avg", "var", "sum"}. NULL: no memory. */
struct json_object *amg_stats_json(
    const struct amg_stats *stats, unsigned precision);

/* A number with so many digits. NULL: no memory. */
struct json_object *amg_stats_number(double number, unsigned precision);

#endif
