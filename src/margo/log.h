/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of margo, by the logger of an instance or the global one. */
#ifndef AMG_MARGO_LOG_H
#define AMG_MARGO_LOG_H

#include "margo-logging.h"

/* The logger that a new instance has. */
struct margo_logger amg_margo_log_default(void);

#endif
