/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines: sources, levels, and streams. */
#ifndef AMG_BASE_LOG_H
#define AMG_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "mercury_log.h"

/* The outlet of the library with that name; "hg" when there is none. */
struct hg_log_outlet *amg_outlet_find(const char *name);

/* Adds or removes an outlet of the program: its level is set now and at every
 * change. NULL, and a repeated call, have no effect. */
void amg_outlet_register(struct hg_log_outlet *outlet);
void amg_outlet_deregister(struct hg_log_outlet *outlet);

/* Sets the level of all outlets, and discards levels of single outlets. */
void amg_outlet_set_level(enum hg_log_level level);
enum hg_log_level amg_outlet_get_level(void);
/* Sets the level of an outlet and those below it. False: no room for the name.
 */
bool amg_outlet_set_level_of(const char *name, enum hg_log_level level);

/* "a,b,~c", or NULL; see mercury_log.h. False: too long, nothing changed. */
bool amg_outlet_set_list(const char *list);
const char *amg_outlet_get_list(void);

/* Does any outlet of the library show this level? Cheap. */
bool amg_outlet_any_shows(enum hg_log_level level);
/* Does `outlet` show this level? */
bool amg_outlet_shows(struct hg_log_outlet *outlet, enum hg_log_level level);

/* In the order of the public HG_LOG_LEVEL_*. */
enum amg_log_level {
    AMG_LOG_LEVEL_NONE,
    AMG_LOG_LEVEL_FATAL,
    AMG_LOG_LEVEL_ERROR,
    AMG_LOG_LEVEL_WARNING,
    AMG_LOG_LEVEL_MIN_DEBUG,
    AMG_LOG_LEVEL_INFO,
    AMG_LOG_LEVEL_DEBUG,
    AMG_LOG_LEVEL_COUNT
};

typedef int (*amg_log_write_fn)(FILE *stream, const char *format, ...);

/* Bytes of the text of a line; the rest is cut. */
#define AMG_LOG_LINE_CAP 1024

/* Are lines of this level written? Cheap. */
bool amg_log_is_on(enum amg_log_level level);

__attribute__((format(printf, 3, 4))) void amg_log_write(
    enum amg_log_level level, const char *outlet, const char *format, ...);

/* Writes a line of an outlet: "PROGRAM [id]: level: TEXT", then `end`. */
void amg_log_put(enum amg_log_level level, const char *program,
    const char *text, const char *end);

void amg_log_level_set(enum amg_log_level level);
/* AMG_LOG_LEVEL_COUNT when there is no such name. */
enum amg_log_level amg_log_level_of(const char *name);

/* NULL when there is no such level. */
const char *amg_log_level_name(enum amg_log_level level);

/* NULL restores the default (fprintf, stderr). */
void amg_log_func_set(amg_log_write_fn func);
amg_log_write_fn amg_log_func_get(void);
void amg_log_stream_set(enum amg_log_level level, FILE *stream);
FILE *amg_log_stream_get(enum amg_log_level level);

/* Names this process in all later lines: a rank of a job; -1: none. */
void amg_log_rank_set(int rank);

/* The level of a warning that concerns the whole job, such as an environment
 * that all ranks share: `level` at rank 0 and outside of jobs, else info. Not
 * for errors: another rank may end the job before rank 0 writes its line. */
enum amg_log_level amg_log_job_level(enum amg_log_level level);

#define AMG_LOG(level, outlet, ...)                                            \
    (amg_log_is_on(level) ? amg_log_write(level, outlet, __VA_ARGS__) : (void)0)
#define AMG_LOG_ERROR(outlet, ...)                                             \
    AMG_LOG(AMG_LOG_LEVEL_ERROR, outlet, __VA_ARGS__)
#define AMG_LOG_WARNING(outlet, ...)                                           \
    AMG_LOG(AMG_LOG_LEVEL_WARNING, outlet, __VA_ARGS__)
#define AMG_LOG_INFO(outlet, ...)                                              \
    AMG_LOG(AMG_LOG_LEVEL_INFO, outlet, __VA_ARGS__)
#define AMG_LOG_DEBUG(outlet, ...)                                             \
    AMG_LOG(AMG_LOG_LEVEL_DEBUG, outlet, __VA_ARGS__)

#define AMG_LOG_JOB_WARNING(outlet, ...)                                       \
    AMG_LOG(amg_log_job_level(AMG_LOG_LEVEL_WARNING), outlet, __VA_ARGS__)

#endif
