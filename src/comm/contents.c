/* SPDX-License-Identifier: BSD-3-Clause */
/* How a datatype was made: the call that did, and its arguments. */
#include "comm/contents.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

bool amg_comm_contents_is_derived(MPI_Datatype type)
{
    struct amg_comm_contents contents;

    memset(&contents, 0, sizeof(contents));
    if (amg_comm_contents_envelope(type, &contents) != MPI_SUCCESS)
        return false;
    /* A struct without members is made of no type, and yet not predefined. */
    return contents.type_count > 0 || contents.combiner == MPI_COMBINER_STRUCT;
}

/* Makes the four lists as long as the counts say. */
static hg_return_t lists_reserve(struct amg_comm_contents *contents)
{
    size_t counts_len = (size_t)contents->count_count * sizeof(MPI_Count);
    size_t addrs_len = (size_t)contents->addr_count * sizeof(MPI_Aint);
    size_t types_len = (size_t)contents->type_count * sizeof(MPI_Datatype);
    size_t ints_len = (size_t)contents->int_count * sizeof(int);
    char *block = amg_mem_alloc(counts_len + addrs_len + types_len + ints_len);

    if (block == NULL)
        return HG_NOMEM;
    contents->block = block; /* the widest first, so that all are aligned */
    contents->counts = (MPI_Count *)(void *)block;
    contents->addrs = (MPI_Aint *)(void *)(block + counts_len);
    contents->types = (MPI_Datatype *)(void *)(block + counts_len + addrs_len);
    contents->ints =
        (int *)(void *)(block + counts_len + addrs_len + types_len);
    return HG_SUCCESS;
}

static hg_return_t refuse_reading(int err)
{
    AMG_LOG_ERROR(
        "bulk", "MPI cannot tell how a datatype was made: error %d", err);
    return HG_NA_ERROR;
}

void amg_comm_contents_fini(struct amg_comm_contents *contents)
{
    int64_t i = 0;

    for (i = 0; i < contents->type_count; i++)
        if (amg_comm_contents_is_derived(contents->types[i]))
            MPI_Type_free(&contents->types[i]);
    amg_mem_free(contents->block);
    memset(contents, 0, sizeof(*contents));
}

hg_return_t amg_comm_contents_read(
    MPI_Datatype type, struct amg_comm_contents *ret_contents)
{
    struct amg_comm_contents contents;
    hg_return_t rc = HG_SUCCESS;
    int err = MPI_SUCCESS;

    memset(&contents, 0, sizeof(contents));
    err = amg_comm_contents_envelope(type, &contents);
    if (err != MPI_SUCCESS)
        return refuse_reading(err);
    if (contents.type_count > 0) { /* else there is nothing to get */
        rc = lists_reserve(&contents);
        if (rc != HG_SUCCESS)
            return rc;
        err = amg_comm_contents_lists(type, &contents);
        if (err != MPI_SUCCESS) {
            contents.type_count = 0; /* MPI gave no shares */
            amg_comm_contents_fini(&contents);
            return refuse_reading(err);
        }
    }
    *ret_contents = contents;
    return HG_SUCCESS;
}

int64_t amg_comm_contents_count(
    const struct amg_comm_contents *contents, int64_t i)
{
    AMG_ASSERT(
        i < (contents->is_large ? contents->count_count : contents->int_count));
    return contents->is_large ? contents->counts[i] : contents->ints[i];
}

int64_t amg_comm_contents_bytes(
    const struct amg_comm_contents *contents, int64_t before, int64_t i)
{
    AMG_ASSERT(contents->is_large ? before + i < contents->count_count
                                  : i < contents->addr_count);
    return contents->is_large ? contents->counts[before + i]
                              : contents->addrs[i];
}
