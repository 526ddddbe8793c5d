/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes that cannot be exposed are refused with a reason; no error handler
 * of the program is called, and nothing has changed. */
#include <string.h>

#include "ranks.h"

static struct ranks all;
static FILE *lines;
static char block[64];

/* An error handler that must not be called. */
static void handler(MPI_Comm *comm, int *err, ...)
{
    (void)comm;
    (void)err;
    CHECK(!"the program's error handler was called");
}

static void handlers_set(void)
{
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;

    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    MPI_Errhandler_free(&own);
}

/* Must be refused with `rc`, and a log line with `text`. */
static void refused(hg_return_t rc, const char *text, void *buf,
    MPI_Count count, MPI_Datatype type)
{
    hg_bulk_t bulk = (hg_bulk_t)block;

    if (lines != NULL)
        fclose(lines);
    lines = ranks_log_catch("error");
    EXPECT(rc, amalgam_bulk_create_type(
                   all.cls, buf, count, type, HG_BULK_READ_ONLY, &bulk));
    CHECK(bulk == (hg_bulk_t)block);
    if (!ranks_log_has(lines, text)) {
        fprintf(stderr, "no line has '%s'\n", text);
        CHECK(!"the log does not say why");
    }
}

static void arguments_are_refused(void)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    EXPECT(HG_INVALID_ARG, amalgam_bulk_create_type(NULL, block, 1, MPI_CHAR,
                               HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG, amalgam_bulk_create_type(all.cls, block, 1, MPI_CHAR,
                               HG_BULK_READ_ONLY, NULL));
    EXPECT(HG_INVALID_ARG,
        amalgam_bulk_create_type(all.cls, block, 1, MPI_CHAR, 0, &bulk));
    EXPECT(HG_INVALID_ARG,
        amalgam_bulk_create_type(all.cls, block, 1, MPI_CHAR, 64, &bulk));
    CHECK(bulk == HG_BULK_NULL);
    refused(HG_INVALID_ARG, "-1 elements", block, -1, MPI_CHAR);
}

static void types_are_refused(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    refused(HG_INVALID_ARG, "MPI_DATATYPE_NULL", block, 1, MPI_DATATYPE_NULL);
    refused(HG_INVALID_ARG, "MPI_DATATYPE_NULL", block, 0, MPI_DATATYPE_NULL);
    MPI_Type_vector(3, 1, 2, MPI_CHAR, &type);
    refused(HG_INVALID_ARG, "MPI_Type_commit()", block, 1, type);
    refused(HG_INVALID_ARG, "MPI_Type_commit()", block, 0, type);
    MPI_Type_free(&type);
}

/* Two bytes, `places` bytes apart. */
static void apart_is_refused(void *buf, MPI_Aint places, const char *text)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int blocks[2] = {1, 1};
    MPI_Aint at[2] = {0, places};

    MPI_Type_create_hindexed(2, blocks, at, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    refused(HG_INVALID_ARG, text, buf, 1, type);
    MPI_Type_free(&type);
}

static void addresses_are_refused(void)
{
    MPI_Aint here = 0;

    MPI_Get_address(block, &here);
    apart_is_refused(block, -here - 4096, "the addresses overflow");
    apart_is_refused(block, -here, "no memory is there");
    apart_is_refused(block, INT64_MAX, "overflows 64 bits");
    apart_is_refused((char *)(UINTPTR_MAX - 10), 20, "the addresses overflow");
    apart_is_refused(NULL, here, "MPI_BOTTOM");
    refused(HG_INVALID_ARG, "MPI_BOTTOM", NULL, 1, MPI_CHAR);
}

static void sizes_are_refused(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    refused(HG_INVALID_ARG, "overflows 64 bits", block, INT64_MAX, MPI_DOUBLE);
    MPI_Type_create_resized(MPI_CHAR, 0, 2, &type);
    MPI_Type_commit(&type);
    refused(HG_OVERFLOW, "expose the memory in parts", block,
        (MPI_Count)1 << 32, type);
    MPI_Type_free(&type);
}

/* 2^30 elements of `type`, which is freed. */
static MPI_Datatype gibi_of(MPI_Datatype type)
{
    MPI_Datatype more = MPI_DATATYPE_NULL;

    MPI_Type_contiguous(1 << 30, type, &more);
    MPI_Type_free(&type);
    return more;
}

/* More bytes than MPI counts: MPICH takes 2^90 for 0. */
static void uncounted_sizes_are_refused(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count size = 0;

    MPI_Type_dup(MPI_BYTE, &type);
    type = gibi_of(gibi_of(gibi_of(type)));
    MPI_Type_commit(&type);
    MPI_Type_size_x(type, &size);
    fprintf(stderr, "2^90 bytes are %lld for this MPI\n", (long long)size);
    refused(HG_INVALID_ARG, "overflows 64 bits", block, 1, type);
    MPI_Type_free(&type);
}

/* Unusual arguments that are allowed. */
static void nothing_is_allowed(void)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    OK(amalgam_bulk_create_type(
        all.cls, NULL, 0, MPI_INT, HG_BULK_READ_ONLY, &bulk));
    CHECK(HG_Bulk_get_size(bulk) == 0);
    CHECK(HG_Bulk_get_segment_count(bulk) == 1);
    OK(HG_Bulk_free(bulk));
}

static void class_without_ranks_is_refused(void)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_bulk_t bulk = HG_BULK_NULL;

    EXPECT(HG_OPNOTSUPPORTED, amalgam_bulk_create_type(cls, block, 1, MPI_CHAR,
                                  HG_BULK_READ_ONLY, &bulk));
    OK(HG_Finalize(cls));
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    handlers_set();
    arguments_are_refused();
    types_are_refused();
    addresses_are_refused();
    sizes_are_refused();
    uncounted_sizes_are_refused();
    nothing_is_allowed();
    class_without_ranks_is_refused();
    HG_Set_log_stream("error", stderr);
    ranks_close(&all); /* would return busy if a handle were left */
    return ranks_stop();
}
