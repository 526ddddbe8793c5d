/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program may ask of its class. */
#include "base/assert.h"
#include "core/class.h"
#include "mercury_class.h"

const char *HG_Class_get_name(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_OK(hg_class))
        return NULL;
    return hg_class->plan.name;
}

const char *HG_Class_get_protocol(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_OK(hg_class))
        return NULL;
    return hg_class->plan.protocol;
}

bool HG_Class_is_listening(const hg_class_t *hg_class)
{
    return AMG_CLASS_OK(hg_class) && hg_class->plan.how.is_listening;
}

hg_size_t HG_Class_get_input_eager_size(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_OK(hg_class))
        return 0;
    return hg_class->limits.request_len - hg_class->plan.head_len;
}

hg_size_t HG_Class_get_output_eager_size(const hg_class_t *hg_class)
{
    if (!AMG_CLASS_OK(hg_class))
        return 0;
    return hg_class->limits.reply_len - hg_class->plan.head_len;
}

hg_return_t HG_Class_set_data(
    hg_class_t *hg_class, void *data, void (*free_callback)(void *))
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_INVALID_ARG;
    hg_class->data = data;
    hg_class->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Class_get_data(const hg_class_t *hg_class)
{
    return AMG_CLASS_OK(hg_class) ? hg_class->data : NULL;
}
