/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C and SIGTERM: ask for an orderly end. */
#ifndef CHECKPOINT_STOP_H
#define CHECKPOINT_STOP_H

#include <stdbool.h>

/* The exit code of a job that was told to stop. */
enum { STOP_CODE = 130 };

/* From now on the two signals only set a mark. If the process has not ended
 * some seconds later, partial files are removed and it ends on the spot. */
void stop_install(void);
bool stop_is_asked(void);

/* Ends the process the same way, with code 1 and a message, unless this is
 * called again within `seconds`; 0 ends the watch. For calls of MPI that wait
 * for other ranks. */
void stop_watch(unsigned seconds);

#endif
