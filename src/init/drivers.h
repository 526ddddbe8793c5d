/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers of libamalgam_mpi and libamalgam_ofi; libamalgam needs neither. A
 * shared library of these is loaded when an init string asks for it; a static
 * one is in the program if the program was linked with it. */
#ifndef AMG_INIT_DRIVERS_H
#define AMG_INIT_DRIVERS_H

#include <stdbool.h>
#include <stddef.h>

/* Objects of the two libraries. */
enum amg_driver {
    AMG_DRIVER_MPI,      /* struct amg_transport */
    AMG_DRIVER_MPI_NODE, /* struct amg_node_ops */
    AMG_DRIVER_OFI,      /* struct amg_transport */
    AMG_DRIVER_OFI_LIST, /* struct amg_providers */
    AMG_DRIVER_COUNT
};

/* The object, or NULL. `may_load`: loads the library of the driver if needed,
 * and logs a failure. */
const void *amg_driver_find(enum amg_driver driver, bool may_load);

struct amg_providers;

/* The providers of libfabric, or NULL. Loads libamalgam_ofi if needed. */
static inline const struct amg_providers *amg_driver_providers(void)
{
    return amg_driver_find(AMG_DRIVER_OFI, true) == NULL
               ? NULL
               : amg_driver_find(AMG_DRIVER_OFI_LIST, false);
}

#endif
