/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C and SIGTERM: ask for an orderly end. */
#ifndef CHECKPOINT_STOP_H
#define CHECKPOINT_STOP_H

#include <stdbool.h>

/* The exit code of a job that was told to stop. */
enum { STOP_CODE = 130 };

/* From now on the two signals only set a mark. If the process has not ended
 * STOP_LIMIT_S later, partial files are removed and it ends on the spot. */
void stop_install(void);
bool stop_is_asked(void);

#endif
