/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines: sources, levels, and streams. */
#ifndef AMG_BASE_LOG_H
#define AMG_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "mercury_log.h"

/* The outlet of the library with that name; "hg" when there is none. */
struct hg_log_outlet *amg_outlet_find(const char *name);

/* Does `outlet` show this level? */
static inline bool amg_outlet_shows(
    struct hg_log_outlet *outlet, enum hg_log_level level)
{
    return (int32_t)level <= hg_atomic_get32(&outlet->level);
}

/* Bytes of the text of a line; the rest is cut. */
#define AMG_LOG_LINE_CAP 1024

/* Does any outlet of the library show lines of this level? Cheap. */
bool amg_log_is_on(enum hg_log_level level);

__attribute__((format(printf, 3, 4))) void amg_log_write(
    enum hg_log_level level, const char *outlet, const char *format, ...);

/* Writes "PROGRAM [rank N]: LEVEL: TEXT" and `end`; "[rank N]" only in jobs. */
void amg_log_put(enum hg_log_level level, const char *program, const char *text,
    const char *end);

/* Names this process in all later lines by its rank in the job; -1: no rank. */
void amg_log_rank_set(int rank);

/* The level of a warning that concerns the whole job, such as an environment
 * that all ranks share: `level` at rank 0 and outside of jobs, else info. Not
 * for errors: another rank may end the job before rank 0 writes its line. */
enum hg_log_level amg_log_job_level(enum hg_log_level level);

#define AMG_LOG(level, outlet, ...)                                            \
    (amg_log_is_on(level) ? amg_log_write(level, outlet, __VA_ARGS__) : (void)0)
#define AMG_LOG_ERROR(outlet, ...)                                             \
    AMG_LOG(HG_LOG_LEVEL_ERROR, outlet, __VA_ARGS__)
#define AMG_LOG_WARNING(outlet, ...)                                           \
    AMG_LOG(HG_LOG_LEVEL_WARNING, outlet, __VA_ARGS__)
#define AMG_LOG_INFO(outlet, ...)                                              \
    AMG_LOG(HG_LOG_LEVEL_INFO, outlet, __VA_ARGS__)
#define AMG_LOG_DEBUG(outlet, ...)                                             \
    AMG_LOG(HG_LOG_LEVEL_DEBUG, outlet, __VA_ARGS__)

#define AMG_LOG_JOB_WARNING(outlet, ...)                                       \
    AMG_LOG(amg_log_job_level(HG_LOG_LEVEL_WARNING), outlet, __VA_ARGS__)

#endif
