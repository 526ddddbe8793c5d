/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the shim in place before main(), in programs that do not know it. */
#include "ofi/shim/shim.h"

__attribute__((constructor)) static void preload_begin(void)
{
    shim_use();
}
