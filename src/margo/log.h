/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of margo, by the logger of an instance or the global one. */
#ifndef AMG_MARGO_LOG_H
#define AMG_MARGO_LOG_H

#include <stdarg.h>
#include <stdatomic.h>

#include "margo-logging.h"

/* Where the lines of an instance go. The level is a lone value, so relaxed. */
struct amg_margo_log {
    struct margo_logger to;
    atomic_int level; /* of enum margo_log_level */
};

/* As a new instance has it: its own logger, or without one the global one as it
 * is now, and the global level. */
void amg_margo_log_init(
    struct amg_margo_log *log, const struct margo_logger *own);

/* One line, if the level of `log` lets it pass. */
__attribute__((format(printf, 3, 4))) void amg_margo_log_write(
    const struct amg_margo_log *log, margo_log_level level, const char *fmt,
    ...);

enum { AMG_MARGO_ABT_ERROR_CAP = 64 };

/* The name of an error code of Argobots for a log line, as "ABT_ERR_INV_POOL",
 * in `ret_text`, which is returned. */
const char *amg_margo_abt_error(
    int error, char ret_text[AMG_MARGO_ABT_ERROR_CAP]);

#endif
