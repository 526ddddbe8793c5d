/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers in static libraries.
 *
 * No library is loaded: a shared libamalgam_mpi would load a second libamalgam
 * into the process. The references are weak, so that a program which uses one
 * driver links without the others. For a weak reference a linker takes no
 * object out of an archive; so the CMake targets and .pc files of static
 * libraries ask for each symbol by the option -u. */
#include "init/drivers.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/log.h"
#include "transport/boot.h"
#include "transport/registry.h"
#include "transport/transport.h"

extern const struct amg_transport amg_mpi_transport AMG_WEAK;
extern const struct amg_node_ops amg_mpi_node AMG_WEAK;
extern const struct amg_transport amg_ofi_transport AMG_WEAK;
extern const struct amg_providers amg_ofi_providers AMG_WEAK;

const void *amg_driver_find(enum amg_driver driver, bool may_load)
{
    static const void *const drivers[] = {
        [AMG_DRIVER_MPI] = &amg_mpi_transport,
        [AMG_DRIVER_MPI_NODE] = &amg_mpi_node,
        [AMG_DRIVER_OFI] = &amg_ofi_transport,
        [AMG_DRIVER_OFI_LIST] = &amg_ofi_providers,
    };

    AMG_ASSERT(driver < AMG_DRIVER_COUNT);
    if (drivers[driver] == NULL && may_load)
        AMG_LOG_ERROR("cls",
            "the %s transport is not in this program, which was linked with "
            "static libraries: link %s, or by the flags of pkg-config --static "
            "amalgam",
            driver < AMG_DRIVER_OFI ? "MPI" : "libfabric",
            driver < AMG_DRIVER_OFI ? "amalgam::mpi"
                                    : "amalgam::amalgam with AMALGAM_OFI=ON");
    return drivers[driver];
}
