/* SPDX-License-Identifier: BSD-3-Clause */
/* One core for each rank, while a benchmark runs. */
#ifndef BENCH_PIN_H
#define BENCH_PIN_H

#include <sched.h>
#include <stdbool.h>

/* Owned by main(). */
struct pin {
    cpu_set_t before; /* where the thread might run */
    bool is_set;
};

/* Collective over the world. Binds this thread to a core of its own if the
 * ranks of this machine are no more than the cores they may use, and does
 * nothing otherwise, or where the launcher has bound it already. Returns the
 * core, or -1. */
int pin_set(struct pin *pin);
void pin_restore(const struct pin *pin);

#endif
