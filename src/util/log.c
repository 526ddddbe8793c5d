/* SPDX-License-Identifier: BSD-3-Clause */
/* The log as programs steer it. */
#include "base/log.h"

#include "mercury_class.h"

void HG_Set_log_level(const char *level)
{
    enum amg_log_level found = AMG_LOG_LEVEL_COUNT;

    if (level != NULL)
        found = amg_log_level_of(level);
    if (found == AMG_LOG_LEVEL_COUNT)
        AMG_LOG_WARNING(
            "cls", "'%s' is no log level; the level stays as it is", level);
    else
        amg_log_level_set(found);
}

void HG_Set_log_subsys(const char *subsys)
{
    amg_log_subsys_set(subsys);
}

void HG_Set_log_func(int (*log_func)(FILE *stream, const char *format, ...))
{
    amg_log_func_set(log_func);
}

void HG_Set_log_stream(const char *level, FILE *stream)
{
    enum amg_log_level found = AMG_LOG_LEVEL_COUNT;

    if (level != NULL)
        found = amg_log_level_of(level);
    amg_log_stream_set(found, stream);
}
