/* SPDX-License-Identifier: BSD-3-Clause */
/* How a datatype was made: the call that did, and its arguments. */
#include "comm/contents.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

void amg_comm_contents_fini(struct amg_comm_contents *contents)
{
    int64_t i = 0;

    for (i = 0; i < contents->type_count; i++)
        if (amg_comm_contents_is_derived(contents->types[i]))
            MPI_Type_free(&contents->types[i]);
    amg_mem_free(contents->block);
    memset(contents, 0, sizeof(*contents));
}

hg_return_t amg_comm_contents_reserve(struct amg_comm_contents *contents)
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
