/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange of bulk descriptors between ranks, for the tests of bulk data. */
#ifndef TESTS_MPI_EXPOSED_H
#define TESTS_MPI_EXPOSED_H

#include "ranks.h"

enum { EXPOSED_CAP = 1024 };

/* Sends the descriptor of `bulk` to a rank, over the program's own MPI. */
void exposed_send(hg_bulk_t bulk, int rank);
/* Receives one. */
void exposed_receive(char text[EXPOSED_CAP], int rank);
/* The handle of these bytes. */
hg_bulk_t exposed_open(struct ranks *ranks, const char text[EXPOSED_CAP]);
/* exposed_receive() and exposed_open(). */
hg_bulk_t exposed_take(struct ranks *ranks, int rank);

#endif
