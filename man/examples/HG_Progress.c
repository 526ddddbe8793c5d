/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of a program: callbacks that are ready run first, then the thread
 * waits for up to 100 ms. */
#include <mercury.h>

void loop(hg_context_t *context, const bool *is_over)
{
    while (!*is_over) {
        unsigned count = 0;
        hg_return_t ret = HG_SUCCESS;

        do
            ret = HG_Trigger(context, 0, 1, &count);
        while (ret == HG_SUCCESS && count > 0 && !*is_over);
        if (*is_over)
            break;
        ret = HG_Progress(context, 100);
        if (ret != HG_SUCCESS && ret != HG_TIMEOUT)
            break;
    }
}
