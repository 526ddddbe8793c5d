/* SPDX-License-Identifier: BSD-3-Clause */
/* One instance in one process, with capture of its log lines. */
#ifndef TESTS_MARGO_ONE_H
#define TESTS_MARGO_ONE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "margo.h"

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,   \
                #what);                                                        \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#define CHECK_RC(call, wanted)                                                 \
    do {                                                                       \
        hg_return_t rc_ = (call);                                              \
        if (rc_ != (wanted)) {                                                 \
            fprintf(stderr, "%s:%d: %s is %s, not %s\n", __FILE__, __LINE__,   \
                #call, HG_Error_to_string(rc_), HG_Error_to_string(wanted));   \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

enum { ONE_LINES_CAP = 65536 };

/* All lines of level warning and above. */
static char one_lines[ONE_LINES_CAP];

static inline void one_keep(void *uargs, const char *message)
{
    size_t len = strlen(one_lines);

    (void)uargs;
    (void)snprintf(one_lines + len, sizeof(one_lines) - len, "%s\n", message);
}

static inline void one_drop(void *uargs, const char *message)
{
    (void)uargs;
    (void)message;
}

static inline struct margo_logger one_logger(void)
{
    one_lines[0] = '\0';
    return (struct margo_logger){
        NULL, one_drop, one_drop, one_drop, one_keep, one_keep, one_keep};
}

static inline bool one_said(const char *words)
{
    return strstr(one_lines, words) != NULL;
}

/* A server over the loopback with this configuration; NULL: refused. */
static inline margo_instance_id one_open(const char *json)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = one_logger();

    info.json_config = json;
    info.logger = &logger;
    return margo_init_ext("self", MARGO_SERVER_MODE, &info);
}

#endif
