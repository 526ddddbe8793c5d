/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of datatype constructors for MPI-3, which has no large counts. */
#include "mpi_api/layout.h"

int amg_mpi_api_contents_envelope(
    MPI_Datatype type, struct amg_mpi_api_contents *ret_contents)
{
    int ints = 0;
    int addrs = 0;
    int types = 0;
    int err = MPI_Type_get_envelope(
        type, &ints, &addrs, &types, &ret_contents->combiner);

    ret_contents->int_count = ints;
    ret_contents->addr_count = addrs;
    ret_contents->type_count = types;
    return err;
}

int amg_mpi_api_contents_lists(
    MPI_Datatype type, const struct amg_mpi_api_contents *contents)
{
    return MPI_Type_get_contents(type, (int)contents->int_count,
        (int)contents->addr_count, (int)contents->type_count, contents->ints,
        contents->addrs, contents->types);
}
