/* SPDX-License-Identifier: BSD-3-Clause */
/* Constructor that installs the shim before main(), in programs that do not
 * know it; a mark in the environment shows that it was loaded, as ld.so ignores
 * libraries that it cannot load. */
#include <stdlib.h>

#include "ofi/shim/shim.h"

__attribute__((constructor)) static void preload_begin(void)
{
    shim_use();
    setenv(SHIM_ENV "_LOADED", "1", 1);
}
