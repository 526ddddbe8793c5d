/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the instance of another process, which has to allow it. */
#ifndef AMG_MARGO_SHUTDOWN_H
#define AMG_MARGO_SHUTDOWN_H

#include <stdbool.h>

#include "margo.h"

/* Registers the RPC. False: logged. */
bool amg_margo_shutdown_init(margo_instance_id mid);

#endif
