/* SPDX-License-Identifier: BSD-3-Clause */
/* Service threads of a context: its progress thread and its handler threads. */
#ifndef AMG_CORE_SERVICE_THREADS_H
#define AMG_CORE_SERVICE_THREADS_H

#include "core/context.h"

/* Starts the threads that the class's placement names; none is fine. A thread
 * that cannot be started is warned of, and done without. */
void amg_service_threads_start(hg_context_t *context);

/* Ends them, and waits until they have. False: the caller is one of them, or
 * runs in a callback of one; nothing was done. What is left in the queue of
 * served calls is run by HG_Trigger() from then on. */
bool amg_service_threads_stop(hg_context_t *context);

#endif
