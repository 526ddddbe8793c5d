/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without json-c cannot read what is expected. */
#include <stdio.h>

#include "jobs/bench/frame/report.h"

bool expect_open(const char *path)
{
    fprintf(stderr,
        "amalgam_bench: cannot read %s: this build has no json-c "
        "(AMALGAM_JSON=OFF)\n",
        path);
    return false;
}

unsigned expect_row(const struct row *row)
{
    (void)row;
    return 0;
}

unsigned expect_close(const char *bench, const char *transport, bool is_whole)
{
    (void)bench;
    (void)transport;
    (void)is_whole;
    return 0;
}
