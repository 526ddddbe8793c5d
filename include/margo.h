/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo: RPCs whose handlers are user-level threads, and blocking calls that
 * let other threads of the stream run.
 *
 * The only header that programs need to include; it includes:
 *
 *   margo-types.h      types and constants
 *   margo-instance.h   begin and end
 *   margo-callbacks.h  what runs at the end
 *   margo-register.h   which RPCs and providers there are
 *   margo-handler.h    functions that serve them
 *   margo-address.h    whom to call
 *   margo-handle.h     one call's handle and arguments
 *   margo-forward.h    calling
 *   margo-respond.h    answering, and waiting for requests
 *   margo-bulk.h       large data
 *   margo-misc.h       what an instance is asked and told
 *
 * and the companions margo-version.h, margo-logging.h, margo-config.h and
 * margo-monitoring.h. Not in here: margo-timer.h, margo-util.h,
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
/* Needs all of the above. */
#include "margo-monitoring.h"

#endif
