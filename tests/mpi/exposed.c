/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange of bulk descriptors between ranks, for the tests of bulk data. */
#include "exposed.h"

#include <string.h>

enum { TAG = 11 };

void exposed_send(hg_bulk_t bulk, int rank)
{
    char text[EXPOSED_CAP];

    memset(text, 0, sizeof(text));
    CHECK(HG_Bulk_get_serialize_size(bulk, 0) <= sizeof(text));
    OK(HG_Bulk_serialize(text, sizeof(text), 0, bulk));
    MPI_Send(text, sizeof(text), MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
}

/* Serves meanwhile: the other rank may need this before it sends. */
void exposed_receive(char text[EXPOSED_CAP], int rank)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    MPI_Irecv(text, EXPOSED_CAP, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &request);
    UNTIL((MPI_Test(&request, &flag, &status), flag != 0));
}

hg_bulk_t exposed_open(struct ranks *ranks, const char text[EXPOSED_CAP])
{
    hg_bulk_t bulk = HG_BULK_NULL;

    OK(HG_Bulk_deserialize(ranks->cls, &bulk, text, EXPOSED_CAP));
    return bulk;
}

hg_bulk_t exposed_take(struct ranks *ranks, int rank)
{
    char text[EXPOSED_CAP];

    exposed_receive(text, rank);
    return exposed_open(ranks, text);
}
