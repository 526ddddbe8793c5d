/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads how a datatype was made, large counts included: for MPI-4. */
#include <string.h>

#include "base/log.h"
#include "comm/contents.h"

/* What was given is zeros. Returns MPI's code. */
static int envelope_get(
    MPI_Datatype type, struct amg_comm_contents *ret_contents)
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

bool amg_comm_contents_is_derived(MPI_Datatype type)
{
    struct amg_comm_contents contents;

    memset(&contents, 0, sizeof(contents));
    return envelope_get(type, &contents) == MPI_SUCCESS &&
           contents.type_count > 0;
}

hg_return_t amg_comm_contents_read(
    MPI_Datatype type, struct amg_comm_contents *ret_contents)
{
    struct amg_comm_contents contents;
    hg_return_t rc = HG_SUCCESS;
    int err = MPI_SUCCESS;

    memset(&contents, 0, sizeof(contents));
    err = envelope_get(type, &contents);
    if (err != MPI_SUCCESS)
        goto fail;
    if (contents.type_count == 0) { /* predefined: there is nothing to get */
        *ret_contents = contents;
        return HG_SUCCESS;
    }
    rc = amg_comm_contents_reserve(&contents);
    if (rc != HG_SUCCESS)
        return rc;
    err = MPI_Type_get_contents_c(type, contents.int_count, contents.addr_count,
        contents.count_count, contents.type_count, contents.ints,
        contents.addrs, contents.counts, contents.types);
    if (err != MPI_SUCCESS) {
        contents.type_count = 0; /* MPI gave no shares */
        amg_comm_contents_fini(&contents);
        goto fail;
    }
    *ret_contents = contents;
    return HG_SUCCESS;

fail:
    AMG_LOG_ERROR(
        "bulk", "MPI cannot tell how a datatype was made: error %d", err);
    return HG_NA_ERROR;
}
