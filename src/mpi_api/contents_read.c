/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of datatype constructors for MPI-4, with large counts. */
#include "mpi_api/layout.h"

int amg_mpi_api_contents_envelope(
    MPI_Datatype type, struct amg_mpi_api_contents *ret_contents)
{
    MPI_Count ints = 0;
    MPI_Count addrs = 0;
    MPI_Count counts = 0;
    MPI_Count types = 0;
    int err = MPI_Type_get_envelope_c(
        type, &ints, &addrs, &counts, &types, &ret_contents->combiner);

    ret_contents->is_large = counts > 0;
    ret_contents->int_count = ints;
    ret_contents->addr_count = addrs;
    ret_contents->count_count = counts;
    ret_contents->type_count = types;
    return err;
}

int amg_mpi_api_contents_lists(
    MPI_Datatype type, const struct amg_mpi_api_contents *contents)
{
    return MPI_Type_get_contents_c(type, contents->int_count,
        contents->addr_count, contents->count_count, contents->type_count,
        contents->ints, contents->addrs, contents->counts, contents->types);
}
