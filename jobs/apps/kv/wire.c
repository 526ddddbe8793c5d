/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and replies of the hash table. */
#include "jobs/apps/kv/wire.h"

#include <stdlib.h>

hg_return_t hg_proc_kv_bytes_t(hg_proc_t proc, void *data)
{
    struct kv_bytes *bytes = data;
    hg_return_t ret = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE) {
        free(bytes->data);
        bytes->data = NULL;
        return HG_SUCCESS;
    }
    ret = hg_proc_uint32_t(proc, &bytes->len);
    if (ret != HG_SUCCESS)
        return ret;
    if (hg_proc_get_op(proc) == HG_DECODE) {
        if (bytes->len > KV_SMALL_MAX)
            return HG_OVERFLOW; /* no client of ours sends that */
        bytes->data = malloc(bytes->len + 1);
        if (bytes->data == NULL)
            return HG_NOMEM;
    }
    return bytes->len == 0 ? HG_SUCCESS
                           : hg_proc_raw(proc, bytes->data, bytes->len);
}

uint64_t kv_hash(const char *key)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a, 64 bits */

    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211u;
    return hash ^ hash >> 32;
}
