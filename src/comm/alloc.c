/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a class for the user's own use. */
#include "amalgam.h"
#include "base/assert.h"
#include "core/class.h"

void *amalgam_alloc(hg_class_t *hg_class, size_t len)
{
    void *ptr = NULL;

    if (!AMG_CONTRACT(hg_class != NULL))
        return NULL;
    ptr = amg_class_pool_alloc(hg_class->pool, len, AMG_CLASS_POOL_ANY);
    if (ptr != NULL)
        amg_class_count(hg_class, AMG_CLASS_ALLOCS, 1);
    return ptr;
}

hg_return_t amalgam_free(hg_class_t *hg_class, void *ptr)
{
    if (!AMG_CONTRACT(hg_class != NULL))
        return HG_INVALID_ARG;
    if (ptr == NULL)
        return HG_SUCCESS;
    amg_class_pool_free(hg_class->pool, ptr);
    amg_class_count(hg_class, AMG_CLASS_ALLOCS, -1);
    return HG_SUCCESS;
}
