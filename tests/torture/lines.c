/* SPDX-License-Identifier: BSD-3-Clause */
/* The last lines of the log, which are written only when something is found. */
#include "lines.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "mercury.h"

enum { LINES = 60, LINE_CAP = 250 };

static struct {
    pthread_mutex_t lock; /* guards what follows */
    char lines[LINES][LINE_CAP];
    unsigned count; /* of all so far */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void lines_add(const char *line)
{
    pthread_mutex_lock(&kept.lock);
    (void)snprintf(kept.lines[kept.count++ % LINES], LINE_CAP, "%s", line);
    pthread_mutex_unlock(&kept.lock);
}

/* A line of the library, in place of fprintf(). */
static int line_print(FILE *stream, const char *format, ...)
{
    char line[LINE_CAP];
    va_list list;

    (void)stream;
    va_start(list, format);
    (void)vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    line[strcspn(line, "\n")] = '\0';
    lines_add(line);
    return 0;
}

void lines_keep(void)
{
    HG_Set_log_func(line_print);
}

static void margo_line_add(void *uargs, const char *line)
{
    (void)uargs;
    lines_add(line);
}

static void margo_line_drop(void *uargs, const char *line)
{
    (void)uargs;
    (void)line;
}

struct margo_logger lines_logger(void)
{
    struct margo_logger logger = {NULL, margo_line_drop, margo_line_drop,
        margo_line_drop, margo_line_add, margo_line_add, margo_line_add};

    return logger;
}

void lines_write(FILE *out)
{
    pthread_mutex_lock(&kept.lock);
    for (unsigned i = 0; i < LINES; i++) {
        const char *line = kept.lines[(kept.count + i) % LINES];

        if (line[0] != '\0')
            fprintf(out, "torture: log: %s\n", line);
    }
    pthread_mutex_unlock(&kept.lock);
}
