/* SPDX-License-Identifier: BSD-3-Clause */
/* Service threads of a context: its progress thread and its handler threads. */
#ifndef AMG_CORE_SERVICE_THREADS_H
#define AMG_CORE_SERVICE_THREADS_H

#include "core/context.h"

/* Starts the threads of the class's placement, if any. Warns of a thread that
 * cannot be started, and continues without it. */
void amg_service_threads_start(hg_context_t *context);

/* Stops and joins them. False: the caller is one of them, or runs in a callback
 * of one; nothing was done. HG_Trigger() then runs what is left in the queue of
 * served calls. */
bool amg_service_threads_stop(hg_context_t *context);

#endif
