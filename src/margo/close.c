/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes back what opening an instance made; also half of it. */
#include "base/assert.h"
#include "core/class.h"
#include "margo/instance.h"

static void hg_close(margo_instance_id mid)
{
    hg_return_t rc = HG_SUCCESS;

    if (mid->hg_context != NULL && mid->owns_context)
        rc = HG_Context_destroy(mid->hg_context);
    if (rc != HG_SUCCESS)
        margo_error(mid,
            "the context stays open: HG_Context_destroy() says %s; the line "
            "before this one says what is in use",
            HG_Error_to_string(rc));
    else if (mid->hg_class != NULL && mid->owns_class &&
             (rc = HG_Finalize(mid->hg_class)) != HG_SUCCESS)
        margo_error(mid,
            "the class stays open: HG_Finalize() says %s; the line before "
            "this one says what is still held, which is to be freed before "
            "margo_finalize()",
            HG_Error_to_string(rc));
    mid->hg_context = NULL;
    mid->hg_class = NULL;
}

void amg_margo_close_network(margo_instance_id mid)
{
    if (mid->ending.is_stuck)
        return;
    (void)amg_margo_handles_report(mid);
    amg_margo_rpcs_fini(mid);
    amg_margo_identities_fini(mid);
    amg_margo_handles_close(mid);
    hg_close(mid);
    amg_margo_monitoring_close(mid);
}

void amg_margo_close_rest(margo_instance_id mid)
{
    amg_margo_loop_stop(mid);
    if (mid->ending.is_stuck)
        return;
    amg_margo_pools_close(mid);
    amg_margo_config_free(&mid->config);
}
