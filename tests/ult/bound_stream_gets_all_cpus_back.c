/* SPDX-License-Identifier: BSD-3-Clause */
/* A primary stream that the program has bound to one core, before the library
 * asked for the cores of the process, may be bound to all of them again. */
#include <sched.h>

#include "ult.h"

int main(void)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    cpu_set_t cpus;
    int first = 0;
    int all = 0;

    CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
    if (CPU_COUNT(&cpus) < 2)
        return ULT_SKIP;
    while (!CPU_ISSET(first, &cpus))
        first++;
    OK(ABT_init(0, NULL));
    OK(ABT_xstream_self(&self));
    OK(ABT_xstream_set_cpubind(self, first));
    OK(ABT_xstream_get_affinity(self, 0, NULL, &all));
    CHECK(all == 1);
    OK(ABT_xstream_set_affinity(self, 0, NULL));
    OK(ABT_xstream_get_affinity(self, 0, NULL, &all));
    CHECK(all == CPU_COUNT(&cpus));
    OK(ABT_finalize());
    return EXIT_SUCCESS;
}
