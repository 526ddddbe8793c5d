/* SPDX-License-Identifier: BSD-3-Clause */
/* A call with a time limit. After HG_Cancel() the callback still has to run,
 * with HG_CANCELED or with an answer that came before. */
#include <mercury.h>
#include <mercury_time.h>

struct wait {
    bool is_over;
    hg_return_t ret;
};

static hg_return_t ended(const struct hg_cb_info *info)
{
    struct wait *wait = info->arg;

    wait->ret = info->ret;
    wait->is_over = true;
    return HG_SUCCESS;
}

hg_return_t call_within(
    hg_context_t *context, hg_handle_t handle, void *input, double limit_s)
{
    struct wait wait = {false, HG_SUCCESS};
    bool is_cancelled = false;
    hg_time_t start, now;
    hg_return_t ret = HG_Forward(handle, ended, &wait, input);

    if (ret != HG_SUCCESS)
        return ret;
    hg_time_get_current(&start);
    while (!wait.is_over) {
        hg_time_get_current(&now);
        if (!is_cancelled && hg_time_diff(now, start) >= limit_s) {
            HG_Cancel(handle);
            is_cancelled = true;
        }
        HG_Progress(context, 10);
        while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
            continue;
    }
    return wait.ret;
}
