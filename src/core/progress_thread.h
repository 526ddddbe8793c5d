/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that makes progress while no caller does. */
#ifndef AMG_CORE_PROGRESS_THREAD_H
#define AMG_CORE_PROGRESS_THREAD_H

#include "core/context.h"

/* All that it does, until `must_stop` is set and AMG_CQ_THREAD is roused; its
 * release store pairs with an acquire load here. `is_alone`: nobody else uses
 * its core. */
void amg_progress_thread_run(
    hg_context_t *context, const atomic_bool *must_stop, bool is_alone);

/* Runs served calls that are queued, but not for ever; how many. */
unsigned amg_progress_thread_serve(hg_context_t *context);

#endif
