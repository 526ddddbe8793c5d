/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: demands of the NICs that the shim stands in for. From manuals and
 * sources of libfabric's providers, not from hardware; limits that depend on
 * the device are small here. If a provider has two modes, the profile is the
 * stricter one: efa has the demands of "efa-direct" for local memory and
 * contexts. */
#include "ofi/shim/shim_profile.h"

#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

static const struct shim_profile profiles[] = {
    /* Slingshot: memory belongs to an endpoint. */
    {
        .name = "cxi",
        .mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
        .key_len = 8,
        .inject_len = 192,
        .iov_max = 1,
        .rma_iov_max = 1,
        .message_max = 1u << 30,
        .depth = 256,
        .wait = SHIM_WAIT_FD,
        .release = SHIM_RELEASE_ALONE,
        .again = 8,
        .delay = 4,
        .alarms = 32,
        .reorders = true,
    },
    /* The same with keys of four bytes that the user chooses. */
    {
        .name = "cxi-keys",
        .mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED,
        .key_len = 4,
        .inject_len = 192,
        .iov_max = 1,
        .rma_iov_max = 1,
        .message_max = 1u << 30,
        .depth = 256,
        .wait = SHIM_WAIT_FD,
        .release = SHIM_RELEASE_ALONE,
        .again = 8,
        .delay = 4,
        .alarms = 32,
        .reorders = true,
    },
    /* InfiniBand under ofi_rxm, which has descriptors of its own. */
    {
        .name = "verbs",
        .mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
        .key_len = 4,
        .inject_len = 64,
        .iov_max = 4,
        .rma_iov_max = 1,
        .message_max = 1u << 30,
        .depth = 64,
        .wait = SHIM_WAIT_FD,
        .release = SHIM_RELEASE_WITH_DATA,
        .refusals = 20,
        .again = 8,
        .delay = 4,
        .alarms = 16,
    },
    /* AWS: no connections, no order of completions, no descriptor to wait for.
     */
    {
        .name = "efa",
        .mr_mode =
            FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
        .mode = FI_CONTEXT2,
        .key_len = 4,
        .inject_len = 32,
        .iov_max = 2,
        .rma_iov_max = 1,
        .message_max = 1u << 30,
        .depth = 32,
        .wait = SHIM_WAIT_LATE,
        .release = SHIM_RELEASE_ALONE,
        .again = 32,
        .delay = 16,
        .reorders = true,
    },
    /* The same with one message per buffer, as in "efa-direct". */
    {
        .name = "efa-direct",
        .mr_mode =
            FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
        .mode = FI_CONTEXT2,
        .key_len = 4,
        .inject_len = 32,
        .iov_max = 2,
        .rma_iov_max = 1,
        .message_max = 1u << 30,
        .depth = 32,
        .wait = SHIM_WAIT_LATE,
        .release = SHIM_RELEASE_ALONE,
        .is_single = true,
        .again = 32,
        .delay = 16,
        .reorders = true,
    },
    /* Omni-Path: registers memory itself, but demands contexts. */
    {
        .name = "opx",
        .mode = FI_CONTEXT2,
        .key_len = 8,
        .inject_len = 64,
        .iov_max = 1,
        .rma_iov_max = 1,
        .message_max = 1u << 30,
        .depth = 128,
        .wait = SHIM_WAIT_REFUSED,
        .release = SHIM_RELEASE_WITH_DATA,
        .again = 16,
        .delay = 8,
    },
    /* All demands at once. */
    {
        .name = "worst",
        .mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
                   FI_MR_PROV_KEY | FI_MR_ENDPOINT,
        .mode = FI_CONTEXT2,
        .key_len = 4,
        .inject_len = 16,
        .iov_max = 1,
        .rma_iov_max = 1,
        .message_max = 200000,
        .depth = 6,
        .wait = SHIM_WAIT_FD,
        .release = SHIM_RELEASE_EITHER,
        .refusals = 10,
        .again = 64,
        .delay = 24,
        .alarms = 64,
        .reorders = true,
    },
};

const struct shim_profile *shim_profile_find(const char *name)
{
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    return NULL;
}
