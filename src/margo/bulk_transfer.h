/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk transfers of an instance that are in flight. */
#ifndef AMG_MARGO_BULK_TRANSFER_H
#define AMG_MARGO_BULK_TRANSFER_H

#include "margo.h"

/* Cancels all that have a limit of time; they still end by themselves. */
void amg_margo_bulk_cancel(margo_instance_id mid);

#endif
