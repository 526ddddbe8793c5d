/* SPDX-License-Identifier: BSD-3-Clause */
/* The line in which a program tells the crossings that it visited. The path and
 * the credits are those that the environment asks for. */
#include "crossings_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8, SOME = 64, KINDS_MAX = 64 };

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
    return credits == 0      ? "default"
           : credits == 1    ? "one"
           : credits <= FEW  ? "few"
           : credits <= SOME ? "some"
                             : "many";
}

void crossings_line_write(struct exchange *exchange, const char *transport,
    const char *(*name)(unsigned kind), const long *counts, unsigned kinds)
{
    long sums[KINDS_MAX];

    if (kinds > KINDS_MAX)
        abort();
    memcpy(sums, counts, kinds * sizeof(*counts));
    exchange_sum(exchange, sums, kinds);
    if (exchange_rank(exchange) != 0)
        return;
    printf("torture: crossings");
    for (unsigned i = 0; i < kinds; i++)
        if (sums[i] > 0)
            printf(" %s:%s:%s=%ld", name(i), path_name(transport),
                credits_name(), sums[i]);
    printf("\n");
    fflush(stdout);
}
