/* SPDX-License-Identifier: BSD-3-Clause */
/* How the arguments of the benchmarks' calls are coded. */
#ifndef BENCH_PROCS_H
#define BENCH_PROCS_H

#include "jobs/bench/frame/pair.h"
#include "mercury_proc.h"

/* The name of a transport. */
struct name {
    char text[PAIR_NAME_CAP];
};

/* Of struct payload, struct echo, struct name. */
hg_return_t procs_payload(hg_proc_t proc, void *data);
hg_return_t procs_echo(hg_proc_t proc, void *data);
hg_return_t procs_name(hg_proc_t proc, void *data);

#endif
