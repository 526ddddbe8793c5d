/* SPDX-License-Identifier: BSD-3-Clause */
/* The helpers as a whole: their version, and their log by another name. */
#include "mercury_util.h"

#include "mercury_class.h"

int HG_Util_version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch)
{
    if (major != NULL)
        *major = HG_UTIL_VERSION_MAJOR;
    if (minor != NULL)
        *minor = HG_UTIL_VERSION_MINOR;
    if (patch != NULL)
        *patch = HG_UTIL_VERSION_PATCH;
    return HG_UTIL_SUCCESS;
}

void HG_Util_set_log_level(const char *level)
{
    HG_Set_log_level(level);
}

void HG_Util_set_log_subsys(const char *subsys)
{
    HG_Set_log_subsys(subsys);
}

void HG_Util_set_log_func(
    int (*log_func)(FILE *stream, const char *format, ...))
{
    HG_Set_log_func(log_func);
}

void HG_Util_set_log_stream(const char *level, FILE *stream)
{
    HG_Set_log_stream(level, stream);
}
