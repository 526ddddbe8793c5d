/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cores a thread may run on. */
#include "place/bind.h"

#include <stdlib.h>

const struct amg_cpuset *amg_bind_process(void)
{
    static struct amg_cpuset none;

    return &none;
}

bool amg_bind_seat(const struct amg_machine *machine,
    const struct amg_seat *seat, const char *who)
{
    (void)machine;
    (void)seat;
    (void)who;
    return false;
}

uint32_t amg_bind_app_threads(void)
{
    return 0;
}
