/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens when a check fails. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/env.h"
#include "base/log.h"

void amg_assert_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "amalgam: %s:%d: internal error: %s does not hold\n", file,
        line, what);
    fflush(stderr);
    abort();
}

bool amg_contract_broken(const char *what, const char *file, int line)
{
    AMG_LOG_ERROR(
        "cls", "%s:%d: the call broke its contract: %s", file, line, what);
    if (amg_env_number(AMG_ENV_CONTRACT_STOP) != 0)
        amg_assert_fail(what, file, line);
    return false;
}
