/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of this machine its host gave to others. */
#include "jobs/bench/base/steal.h"

#include <stdio.h>
#include <unistd.h>

#include "jobs/bench/base/clock.h"

enum { LINE_CAP = 256 };

bool steal_parse(const char *line, unsigned long long *ret_ticks)
{
    /* user nice system idle iowait irq softirq, and stolen */
    return sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", ret_ticks) == 1;
}

static double stolen_us(void)
{
    FILE *file = fopen("/proc/stat", "r");
    char line[LINE_CAP] = "";
    unsigned long long ticks = 0;
    bool is_told = false;

    if (file == NULL)
        return 0.0;
    is_told =
        fgets(line, sizeof(line), file) != NULL && steal_parse(line, &ticks);
    fclose(file);
    return is_told ? (double)ticks * 1e6 / (double)sysconf(_SC_CLK_TCK) : 0.0;
}

struct steal steal_now(void)
{
    return (struct steal){clock_now_us(), stolen_us()};
}

double steal_since(const struct steal *before)
{
    struct steal now = steal_now();
    double cores_us =
        (now.at_us - before->at_us) * (double)sysconf(_SC_NPROCESSORS_ONLN);

    return cores_us > 0.0 ? (now.stolen_us - before->stolen_us) / cores_us
                          : 0.0;
}
