/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries, time and versions of mercury_dl.h, mercury_time.h and
 * mercury_util.h. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "mercury_class.h"
#include "mercury_dl.h"
#include "mercury_time.h"
#include "mercury_util.h"

HG_DL_HANDLE hg_dl_open(const char *filename)
{
    return dlopen(filename, RTLD_NOW);
}

const char *hg_dl_error(void)
{
    return dlerror();
}

void *hg_dl_sym(HG_DL_HANDLE handle, const char *symbol)
{
    if (!AMG_GIVEN(handle) || !AMG_GIVEN(symbol))
        return NULL;
    return dlsym(handle, symbol);
}

int hg_dl_close(HG_DL_HANDLE handle)
{
    if (!AMG_GIVEN(handle))
        return HG_UTIL_FAIL;
    return dlclose(handle) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_dl_get_path(const void *addr, char *path, size_t path_size)
{
    Dl_info info;
    size_t len = 0;

    if (!AMG_GIVEN(path) || dladdr(addr, &info) == 0 || info.dli_fname == NULL)
        return HG_UTIL_FAIL;
    len = strlen(info.dli_fname);
    if (len >= path_size)
        return HG_UTIL_FAIL;
    memcpy(path, info.dli_fname, len + 1);
    return HG_UTIL_SUCCESS;
}

enum { STAMP_CAP = 64 };

static int clock_read(clockid_t clock, hg_time_t *tv)
{
    if (!AMG_CONTRACT_OF("hg_time_get_current", tv != NULL, "tv is NULL"))
        return HG_UTIL_FAIL;
    return clock_gettime(clock, tv) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_time_get_current(hg_time_t *tv)
{
    return clock_read(CLOCK_MONOTONIC, tv);
}

int hg_time_get_current_ms(hg_time_t *tv)
{
    return clock_read(CLOCK_MONOTONIC_COARSE, tv);
}

int hg_time_sleep(const hg_time_t rqt)
{
    hg_time_t left = rqt;

    while (nanosleep(&left, &left) != 0) {
        if (errno != EINTR)
            return HG_UTIL_FAIL;
    }
    return HG_UTIL_SUCCESS;
}

char *hg_time_stamp(void)
{
    static _Thread_local char stamp[STAMP_CAP];
    time_t now = time(NULL);
    struct tm day;

    if (localtime_r(&now, &day) == NULL ||
        strftime(stamp, sizeof(stamp), "%a %b %d %H:%M:%S %Y", &day) == 0)
        stamp[0] = '\0';
    return stamp;
}

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
