/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo: RPCs whose handlers are user-level threads, and blocking calls that
 * let other threads of the stream run.
 *
 * The only header that programs need to include; it includes:
 *
 *   margo-types.h      types and constants
 *   margo-instance.h   creation and teardown of instances
 *   margo-callbacks.h  callbacks of the teardown
 *   margo-register.h   registration of RPCs and providers
 *   margo-handler.h    functions that serve RPCs
 *   margo-address.h    addresses of processes
 *   margo-handle.h     handles and arguments of calls
 *   margo-forward.h    calls
 *   margo-respond.h    answers, and waits for operations
 *   margo-bulk.h       bulk data
 *   margo-misc.h       settings and diagnostics of an instance
 *
 * and the companions margo-version.h, margo-logging.h, margo-config.h and
 * margo-monitoring.h. Not included: margo-timer.h, margo-util.h,
 * margo-bulk-pool.h, margo-bulk-util.h, margo-hg-shim.h. */
#ifndef MARGO_H
#define MARGO_H

#include "margo-address.h"
#include "margo-bulk.h"
#include "margo-callbacks.h"
#include "margo-config.h"
#include "margo-forward.h"
#include "margo-handle.h"
#include "margo-handler.h"
#include "margo-instance.h"
#include "margo-logging.h"
#include "margo-misc.h"
#include "margo-register.h"
#include "margo-respond.h"
#include "margo-types.h"
#include "margo-version.h"
/* margo-handler.h includes this header, too. */
#include "margo-monitoring.h"

#endif
