/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of other processes of this host, which prints its address. Clients
 * give this address to HG_Addr_lookup2().
 *
 * Pages: HG_Init HG_Context_create HG_Addr_self HG_Addr_to_string */
#include <mercury.h>
#include <stdio.h>

int serve(hg_rpc_cb_t sum)
{
    hg_class_t *hg_class = HG_Init("na+sm", HG_TRUE);
    hg_context_t *context = NULL;
    hg_addr_t self = HG_ADDR_NULL;
    char address[256];
    hg_size_t len = sizeof(address);

    if (hg_class == NULL)
        return 1; /* the log says why */
    context = HG_Context_create(hg_class);
    HG_Register_name(hg_class, "sum", NULL, NULL, sum);
    if (HG_Addr_self(hg_class, &self) == HG_SUCCESS &&
        HG_Addr_to_string(hg_class, address, &len, self) == HG_SUCCESS)
        puts(address);
    HG_Addr_free(hg_class, self);
    /* ... HG_Progress() and HG_Trigger(), until the server is to end ... */
    HG_Context_destroy(context);
    return HG_Finalize(hg_class) == HG_SUCCESS ? 0 : 1;
}
