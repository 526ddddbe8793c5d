/* SPDX-License-Identifier: BSD-3-Clause */
/* What classes have done, told to the program and to the log. */
#ifndef AMG_CORE_DIAG_H
#define AMG_CORE_DIAG_H

#include "mercury_types.h"

/* From now on HG_Diag_dump_counters() shows the class; it is open. */
void amg_diag_join(hg_class_t *cls);
/* Not any more; writes its counters into the log, if the class wants that. */
void amg_diag_leave(hg_class_t *cls);

#endif
