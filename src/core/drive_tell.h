/* SPDX-License-Identifier: BSD-3-Clause */
/* Says in words how a class is driven. */
#ifndef AMG_CORE_DRIVE_TELL_H
#define AMG_CORE_DRIVE_TELL_H

#include "mercury_types.h"

/* To the log: what of the ask made no sense, as warnings; who makes progress,
 * as information, which the first rank of a job also prints for a user who
 * asked for that. */
void amg_drive_tell(const hg_class_t *cls);

#endif
