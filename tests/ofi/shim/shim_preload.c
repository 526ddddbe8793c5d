/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the shim in place before main(), in programs that do not know it; and
 * says so in the environment, as ld.so goes on without what it cannot load. */
#include <stdlib.h>

#include "ofi/shim/shim.h"

__attribute__((constructor)) static void preload_begin(void)
{
    shim_use();
    setenv(SHIM_ENV "_LOADED", "1", 1);
}
