/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of one process. */
#include <stdlib.h>
#include <string.h>

#include "api.h"

static void alone_start(int *ret_rank, int *ret_size)
{
    *ret_rank = 0;
    *ret_size = 1;
}

static hg_return_t alone_address(hg_class_t *cls, int rank, hg_addr_t *ret_addr)
{
    (void)rank;
    return HG_Addr_self(cls, ret_addr);
}

static void alone_barrier_begin(void)
{
}

static bool alone_barrier_is_done(void)
{
    return true;
}

/* Changes the last digit of the number that distinguishes classes. */
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

const struct api_world api_world = {
    .start = alone_start,
    .open = api_init,
    .address = alone_address,
    .barrier_begin = alone_barrier_begin,
    .barrier_is_done = alone_barrier_is_done,
    .make_foreign = alone_make_foreign,
    .stop = alone_stop,
    .die = alone_die,
};
