/* SPDX-License-Identifier: BSD-3-Clause */
/* Shim between the driver and libfabric: a stand-in for strict hardware. */
#include "ofi/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>

#include "ofi/shim/shim_book.h"
#include "ofi/shim/shim_objects.h"

static const struct amg_ofi_call shim_calls = {
    .version = fi_version,
    .strerror = fi_strerror,
    .getinfo = shim_info_get,
    .dupinfo = shim_info_dup,
    .freeinfo = shim_info_free,
    .fabric = shim_open_fabric,
    .domain = shim_open_domain,
    .close = shim_close,
    .endpoint = shim_ep_open,
    .ep_bind = shim_ep_bind,
    .enable = shim_ep_enable,
    .getname = shim_ep_getname,
    .setopt = shim_ep_setopt,
    .av_open = shim_open_av,
    .av_insert = shim_av_insert,
    .av_remove = shim_av_remove,
    .cq_open = shim_cq_open,
    .cq_read = shim_cq_read,
    .cq_readerr = shim_cq_readerr,
    .cq_wait_fd = shim_cq_wait_fd,
    .cq_trywait = shim_cq_trywait,
    .recvmsg = shim_post_recvmsg,
    .send = shim_post_send,
    .inject = shim_post_inject,
    .readmsg = shim_rma_readmsg,
    .writemsg = shim_rma_writemsg,
    .cancel = shim_post_cancel,
    .mr_reg = shim_mr_reg,
    .mr_bind = shim_mr_bind,
    .mr_enable = shim_mr_enable,
    .mr_key = shim_mr_key,
    .mr_desc = shim_mr_desc,
};

void shim_use(void)
{
    const char *name = getenv(SHIM_ENV);
    const struct shim_profile *profile = NULL;

    if (name == NULL || name[0] == '\0' || shim_profile != NULL)
        return;
    profile = shim_profile_find(name);
    if (profile == NULL) {
        fprintf(stderr, "shim: there is no profile '%s'\n", name);
        exit(EXIT_FAILURE);
    }
    shim_breach_init(profile);
    shim_book_open();
    amg_ofi_call_set(&shim_calls);
}

void shim_end(void)
{
    if (shim_profile == NULL)
        return;
    shim_object_check_all();
    shim_info_check_all();
}
