/* SPDX-License-Identifier: BSD-3-Clause */
/* From a request that has come to the user-level thread that serves it. The
 * macros of margo.h stay thin and call these, which are public for that reason:
 * their declarations stand in margo.h. */
#ifndef AMG_MARGO_HANDLER_H
#define AMG_MARGO_HANDLER_H

#include "margo.h"
#include "margo/handle.h"

#endif
