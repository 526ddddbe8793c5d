/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared libraries that a program opens while it runs. */
#include "mercury_dl.h"

#include <dlfcn.h>
#include <string.h>

#include "base/assert.h"

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
    if (!AMG_CONTRACT(handle != NULL) || !AMG_CONTRACT(symbol != NULL))
        return NULL;
    return dlsym(handle, symbol);
}

int hg_dl_close(HG_DL_HANDLE handle)
{
    if (!AMG_CONTRACT(handle != NULL))
        return HG_UTIL_FAIL;
    return dlclose(handle) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_dl_get_path(const void *addr, char *path, size_t path_size)
{
    Dl_info info;
    size_t len = 0;

    if (!AMG_CONTRACT(path != NULL) || dladdr(addr, &info) == 0 ||
        info.dli_fname == NULL)
        return HG_UTIL_FAIL;
    len = strlen(info.dli_fname);
    if (len >= path_size)
        return HG_UTIL_FAIL;
    memcpy(path, info.dli_fname, len + 1);
    return HG_UTIL_SUCCESS;
}
