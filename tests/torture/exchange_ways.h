/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ways of notes: what each of them implements. */
#ifndef TESTS_TORTURE_EXCHANGE_WAYS_H
#define TESTS_TORTURE_EXCHANGE_WAYS_H

#include "exchange.h"

struct exchange_ops {
    void (*begin)(struct exchange *exchange, const void *mine, size_t len);
    bool (*test)(struct exchange *exchange);
    const void *(*of)(
        struct exchange *exchange, unsigned rank, size_t *ret_len);
    void (*abort)(struct exchange *exchange);
    int (*stop)(struct exchange *exchange, int code);
};

/* The first member of each way's own struct. */
struct exchange {
    const struct exchange_ops *ops;
    void *board; /* NULL: the ranks share no memory */
    unsigned rank;
    unsigned size;
};

#endif
