/* SPDX-License-Identifier: BSD-3-Clause */
/* How the arguments of the benchmarks' calls are coded. */
#include "jobs/bench/frame/procs.h"

hg_return_t procs_payload(hg_proc_t proc, void *data)
{
    struct payload *payload = data;
    uint32_t cap = payload->len;
    hg_return_t ret = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    ret = hg_proc_uint32_t(proc, &payload->len);
    if (ret == HG_SUCCESS && payload->len > cap)
        ret = HG_OVERFLOW;
    return ret != HG_SUCCESS ? ret
                             : hg_proc_raw(proc, payload->data, payload->len);
}

hg_return_t procs_echo(hg_proc_t proc, void *data)
{
    struct echo *echo = data;
    hg_return_t ret = procs_payload(proc, &echo->payload);

    return ret != HG_SUCCESS ? ret : hg_proc_uint32_t(proc, &echo->wanted);
}

hg_return_t procs_name(hg_proc_t proc, void *data)
{
    struct name *name = data;

    return hg_proc_raw(proc, name->text, sizeof(name->text));
}
