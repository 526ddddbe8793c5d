/* SPDX-License-Identifier: BSD-3-Clause */
/* An RPC that sums numbers in the memory of its caller: arguments and
 * functions. */
#ifndef AMG_TUTORIAL_MARGO_SUM_H
#define AMG_TUTORIAL_MARGO_SUM_H

#include "margo.h"

/* Only a description of the memory is sent: 8 bytes for the number of values,
 * and the handle that lets a peer access them. */
MERCURY_GEN_PROC(sum_in_t, ((uint64_t)(count))((hg_bulk_t)(numbers)))
MERCURY_GEN_PROC(sum_out_t, ((int32_t)(ret))((int64_t)(sum)))

/* margo_sum_serve.c. Data of the RPC: the number of calls to serve before the
 * instance ends by itself; 0: the program ends it. */
struct sum_server {
    ABT_mutex lock; /* guards `left` */
    unsigned left;
};
hg_id_t sum_serve(margo_instance_id mid, struct sum_server *server);

/* margo_sum_call.c. Registers the RPC without serving it. */
hg_id_t sum_register(margo_instance_id mid);
/* Has 1, 2 ... `count` summed at `server`; returns the sum. */
int64_t sum_call(
    margo_instance_id mid, hg_id_t id, hg_addr_t server, uint64_t count);

/* Ends the process with exit code 1 and a message, unless `ret` is
 * HG_SUCCESS. */
void sum_check(hg_return_t ret, const char *what);

#endif
