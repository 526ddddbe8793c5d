/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes that the ranks exchange outside of the library. */
#include "exchange.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exchange_ways.h"

unsigned exchange_rank(const struct exchange *exchange)
{
    return exchange->rank;
}

unsigned exchange_size(const struct exchange *exchange)
{
    return exchange->size;
}

void *exchange_board(const struct exchange *exchange)
{
    return exchange->board;
}

void exchange_begin(struct exchange *exchange, const void *mine, size_t len)
{
    exchange->ops->begin(exchange, mine, len);
}

bool exchange_test(struct exchange *exchange)
{
    return exchange->ops->test(exchange);
}

const void *exchange_of(
    struct exchange *exchange, unsigned rank, size_t *ret_len)
{
    return exchange->ops->of(exchange, rank, ret_len);
}

void exchange_all(struct exchange *exchange, const void *mine, size_t len)
{
    const struct timespec pause = {0, 50000};

    exchange_begin(exchange, mine, len);
    for (unsigned turn = 0; !exchange_test(exchange); turn++)
        if (turn < 100)
            sched_yield();
        else
            (void)nanosleep(&pause, NULL);
}

void exchange_barrier(struct exchange *exchange)
{
    exchange_all(exchange, NULL, 0);
}

void exchange_sum(struct exchange *exchange, long *numbers, unsigned count)
{
    exchange_all(exchange, numbers, count * sizeof(*numbers));
    for (unsigned i = 0; i < count; i++)
        numbers[i] = 0;
    for (unsigned rank = 0; rank < exchange->size; rank++) {
        size_t len = 0;
        const long *theirs = exchange_of(exchange, rank, &len);

        for (unsigned i = 0; i < count; i++)
            numbers[i] += theirs[i];
    }
}

void exchange_abort(struct exchange *exchange)
{
    fflush(NULL);
    exchange->ops->abort(exchange);
    _Exit(EXIT_FAILURE);
}

int exchange_stop(struct exchange *exchange, int code)
{
    fflush(NULL);
    return exchange->ops->stop(exchange, code);
}
