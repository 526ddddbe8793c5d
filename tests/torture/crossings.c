/* SPDX-License-Identifier: BSD-3-Clause */
/* Crossings that a run visits. */
#include "crossings.h"

#include <stdio.h>
#include <stdlib.h>

enum { LENGTHS = 3, MEDIUM_LEN = 65536, FEW = 8 };

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

static const char *path_name(const char *transport)
{
    const char *copy = getenv("AMALGAM_SHM_COPY");

    return copy == NULL ? transport : copy;
}

static const char *credits_name(void)
{
    const char *text = getenv("AMALGAM_CREDITS");
    long credits = text == NULL ? 0 : strtol(text, NULL, 0);

    if (getenv("AMALGAM_MAX_REQUEST_BYTES") != NULL)
        return "one-first";
    return credits == 0     ? "default"
           : credits == 1   ? "one"
           : credits <= FEW ? "few"
           : credits <= 64  ? "some"
                            : "many";
}

void crossings_write(struct exchange *exchange, const char *transport)
{
    long sums[PLAN_KINDS * LENGTHS];

    for (int i = 0; i < PLAN_KINDS * LENGTHS; i++)
        sums[i] = atomic_load(&counts[i / LENGTHS][i % LENGTHS]);
    exchange_sum(exchange, sums, PLAN_KINDS * LENGTHS);
    if (exchange_rank(exchange) != 0)
        return;
    printf("torture: crossings");
    for (int i = 0; i < PLAN_KINDS * LENGTHS; i++)
        if (sums[i] > 0)
            printf(" %s-%s:%s:%s=%ld",
                plan_kind_name((enum plan_kind)(i / LENGTHS)),
                length_names[i % LENGTHS], path_name(transport), credits_name(),
                sums[i]);
    printf("\n");
    fflush(stdout);
}
