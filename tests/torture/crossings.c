/* SPDX-License-Identifier: BSD-3-Clause */
/* Crossings that a run visits. */
#include "crossings.h"

#include <stdio.h>

#include "crossings_line.h"

enum { LENGTHS = 3, MEDIUM_LEN = 65536 };

static const char *const length_names[LENGTHS] = {"short", "medium", "long"};
static atomic_long counts[PLAN_KINDS][LENGTHS];

void crossings_count(struct world *world, const struct plan_call *call)
{
    uint32_t len = call->arg_len;

    if (call->reply_len > len)
        len = call->reply_len;
    if (call->bulk.size > len)
        len = call->bulk.size;
    atomic_fetch_add(&counts[call->kind][len < world->plan.message_bytes ? 0
                                         : len <= MEDIUM_LEN             ? 1
                                                                         : 2],
        1);
}

static const char *kind_name(unsigned kind)
{
    static char text[64];

    (void)snprintf(text, sizeof(text), "%s-%s",
        plan_kind_name((enum plan_kind)(kind / LENGTHS)),
        length_names[kind % LENGTHS]);
    return text;
}

void crossings_write(struct exchange *exchange, const char *transport)
{
    long visits[PLAN_KINDS * LENGTHS];

    for (int i = 0; i < PLAN_KINDS * LENGTHS; i++)
        visits[i] = atomic_load(&counts[i / LENGTHS][i % LENGTHS]);
    crossings_line_write(
        exchange, transport, kind_name, visits, PLAN_KINDS * LENGTHS);
}
