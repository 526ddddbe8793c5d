/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of margo, by the logger of an instance or the global logger. */
#ifndef AMG_MARGO_LOG_H
#define AMG_MARGO_LOG_H

#include <stdarg.h>
#include <stdatomic.h>

#include "margo-logging.h"

/* Logger and level of an instance, or the global logger and level. Accesses to
 * `level` are relaxed, as no other data depends on it. */
struct amg_margo_log {
    struct margo_logger to;
    atomic_int level; /* an enum margo_log_level; -1: not read yet */
};

/* Sets the logger to `own`, or to the present global logger if `own` is NULL;
 * sets the level to the global level. */
void amg_margo_log_init(
    struct amg_margo_log *log, const struct margo_logger *own);

/* Logs a line, if `level` is not below the level of `log`. */
__attribute__((format(printf, 3, 4))) void amg_margo_log_write(
    const struct amg_margo_log *log, margo_log_level level, const char *fmt,
    ...);

#endif
