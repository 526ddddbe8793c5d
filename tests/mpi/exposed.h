/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of another rank, as the tests of bulk pass it on. */
#ifndef TESTS_MPI_EXPOSED_H
#define TESTS_MPI_EXPOSED_H

#include "ranks.h"

enum { EXPOSED_CAP = 1024 };

/* Sends the descriptor of `bulk` to a rank, by the program's own MPI. */
void exposed_send(hg_bulk_t bulk, int rank);
/* Receives one, as it was sent. */
void exposed_receive(char text[EXPOSED_CAP], int rank);
/* The handle that the bytes stand for. */
hg_bulk_t exposed_open(struct ranks *ranks, const char text[EXPOSED_CAP]);
/* The last two. */
hg_bulk_t exposed_take(struct ranks *ranks, int rank);

#endif
