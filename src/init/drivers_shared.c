/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers in shared libraries.
 *
 * The libraries for MPI and libfabric load large dependencies, which run code
 * at load time: a program that uses neither must not load them. So a driver is
 * first looked up among the loaded libraries; its library is loaded only when
 * an init string asks for the driver. */
#include "init/drivers.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/process.h"

static const struct {
    const char *symbol;
    const char *library;
    const char *what;
} drivers[] = {
    [AMG_DRIVER_MPI] = {"amg_mpi_transport", "libamalgam_mpi.so.0", "MPI"},
    [AMG_DRIVER_MPI_NODE] = {"amg_mpi_node", "libamalgam_mpi.so.0", "MPI"},
    [AMG_DRIVER_OFI] = {"amg_ofi_transport", "libamalgam_ofi.so.0",
        "libfabric"},
    [AMG_DRIVER_OFI_LIST] = {"amg_ofi_providers", "libamalgam_ofi.so.0",
        "libfabric"},
};

const void *amg_driver_find(enum amg_driver driver, bool may_load)
{
    const void *found = NULL;
    struct amg_signals signals;
    void *library = NULL;

    AMG_ASSERT(driver < AMG_DRIVER_COUNT);
    found = dlsym(RTLD_DEFAULT, drivers[driver].symbol);
    if (found != NULL || !may_load)
        return found;
    /* RTLD_NODELETE: MPI cannot be unloaded and started again. */
    amg_signals_save(&signals);
    library =
        dlopen(drivers[driver].library, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    amg_signals_restore(&signals);
    if (library == NULL) {
        AMG_LOG_ERROR("cls", "the %s transport cannot be loaded: %s",
            drivers[driver].what, dlerror());
        return NULL;
    }
    return dlsym(library, drivers[driver].symbol);
}
