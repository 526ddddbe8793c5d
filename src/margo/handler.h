/* SPDX-License-Identifier: BSD-3-Clause */
/* From a request that has come to the user-level thread that serves it. The
 * macros of margo.h stay thin and call these, which are public for that reason:
 * their declarations stand in margo.h. */
#ifndef AMG_MARGO_HANDLER_H
#define AMG_MARGO_HANDLER_H

#include "margo.h"

/* What margo keeps with each handle (HG_Set_data): part "calls" owns it. */
struct amg_margo_handle;

/* Made when a handle is taken from the cache or a request comes in. */
struct amg_margo_handle *amg_margo_handle_of(hg_handle_t handle);

#endif
