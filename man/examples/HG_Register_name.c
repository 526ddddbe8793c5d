/* SPDX-License-Identifier: BSD-3-Clause */
/* An RPC with two numbers as input, and one as output. Both sides register it;
 * the caller passes NULL as handler. Data of the program go with the RPC:
 * HG_Registered_data() returns them in the handler. */
#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc.h>

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

hg_id_t sum_register(hg_class_t *hg_class, hg_rpc_cb_t handler, void *data)
{
    hg_id_t id = HG_Register_name(
        hg_class, "sum", hg_proc_pair_t, hg_proc_int32_t, handler);

    if (id != 0 && data != NULL)
        HG_Register_data(hg_class, id, data, NULL);
    return id; /* 0: the log says why */
}
