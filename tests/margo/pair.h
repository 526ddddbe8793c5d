/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes with an instance of Margo each, which run the same test.
 *
 * The first argument is the transport, the second, if any, the JSON
 * configuration. SIGALRM ends a test that hangs. */
#ifndef TESTS_MARGO_PAIR_H
#define TESTS_MARGO_PAIR_H

#include <stdio.h>
#include <stdlib.h>

#include "margo.h"

struct pair {
    margo_instance_id mid;
    int rank;
    hg_addr_t other;
    hg_addr_t self;
};

/* The pair of this process, for handlers. */
extern struct pair pair;

/* The whole program: registers, waits for the other process, runs `test`,
 * ends. */
int pair_main(int argc, char **argv, void (*enrol)(void), void (*test)(void));

/* Returns when both have called it; requests are served meanwhile. */
void pair_barrier(void);

/* Returns when nothing is under way in this process: all credits and buffers
 * are home. */
void pair_settle(void);

/* A handle for `id` at the other process. */
hg_handle_t pair_handle(hg_id_t id);

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d (rank %d): %s does not hold\n", __FILE__,   \
                __LINE__, pair.rank, #what);                                   \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#define CHECK_RC(call, wanted)                                                 \
    do {                                                                       \
        hg_return_t rc_ = (call);                                              \
        if (rc_ != (wanted)) {                                                 \
            fprintf(stderr, "%s:%d (rank %d): %s is %s, not %s\n", __FILE__,   \
                __LINE__, pair.rank, #call, HG_Error_to_string(rc_),           \
                HG_Error_to_string(wanted));                                   \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#endif
