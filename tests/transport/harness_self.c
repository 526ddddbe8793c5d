/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of one process. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transport/self.h"

static void alone_start(uint32_t *ret_rank, uint32_t *ret_size)
{
    *ret_rank = 0;
    *ret_size = 1;
}

static void alone_swap_begin(const void *mine, void *ret_right, size_t len)
{
    memcpy(ret_right, mine, len);
}

static void alone_barrier_begin(void)
{
}

static bool alone_is_done(void)
{
    return true;
}

/* "self://PID-NONCE": changes the last digit of the nonce. */
static void alone_make_foreign(char *text)
{
    char *last = text + strlen(text) - 1;

    *last = *last == '0' ? '1' : '0';
}

static void alone_stop(void)
{
}

static void alone_die(void)
{
    exit(EXIT_FAILURE);
}

static const struct amg_transport *const alone_transports[] = {
    &amg_self_transport,
    NULL,
};

const struct harness_world harness_world = {
    .transports = alone_transports,
    .start = alone_start,
    .swap_begin = alone_swap_begin,
    .barrier_begin = alone_barrier_begin,
    .is_done = alone_is_done,
    .make_foreign = alone_make_foreign,
    .stop = alone_stop,
    .die = alone_die,
};
