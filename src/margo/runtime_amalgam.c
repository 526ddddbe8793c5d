/* SPDX-License-Identifier: BSD-3-Clause */
/* What the loop asks of our own runtime: a push into a pool of its stream ends
 * its sleep. */
#include "core/progress.h"
#include "margo/runtime.h"
#include "mercury.h"
#include "ult/doze.h"

static void context_ring(void *arg)
{
    amg_progress_ring(arg);
}

unsigned amg_margo_runtime_ready(void)
{
    return amg_doze_ready();
}

hg_return_t amg_margo_runtime_doze(hg_context_t *context, unsigned timeout_ms)
{
    struct amg_doze doze = {.ring = context_ring, .arg = context};
    hg_return_t rc = HG_SUCCESS;

    if (timeout_ms == 0 || !amg_doze_begin(&doze))
        return HG_Progress(context, 0);
    rc = HG_Progress(context, timeout_ms);
    amg_doze_end(&doze);
    return rc;
}
