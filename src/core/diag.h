/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of classes, for the program and the log. */
#ifndef AMG_CORE_DIAG_H
#define AMG_CORE_DIAG_H

#include "mercury_types.h"

/* From now on HG_Diag_dump_counters() shows the open class. */
void amg_diag_join(hg_class_t *cls);
/* No longer; logs its counters, if the class wants that. */
void amg_diag_leave(hg_class_t *cls);

#endif
