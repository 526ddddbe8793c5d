/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads that the library starts for a context. */
#ifndef AMG_CORE_CREW_H
#define AMG_CORE_CREW_H

#include "core/context.h"

/* Starts the threads that the class's placement names; none is fine. A thread
 * that cannot be started is warned of, and done without. */
void amg_crew_start(hg_context_t *context);

/* Ends them, and waits until they have. False: the caller is one of them, or
 * runs in a callback of one; nothing was done. What is left in the queue of
 * served calls is run by HG_Trigger() from then on. */
bool amg_crew_stop(hg_context_t *context);

#endif
