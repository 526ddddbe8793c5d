/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs MPI: classes on communicators, and MPI calls of the program. */
#include <mpi.h>
#include <stdlib.h>

#include "amalgam.h"
#include "content.h"
#include "faults.h"
#include "job.h"
#include "mpi/strict/strict.h"

enum {
    MESSAGE_LEN = 70000,
    TAG = 7,
    WAIT_MS = 60000,
    SALT_BETWEEN = 1000,
    QUIESCE_MS = 2
};

void job_seed(uint64_t seed)
{
    int is_up = 0;

    MPI_Initialized(&is_up);
    if (is_up)
        MPI_Pcontrol(STRICT_RESEED, (unsigned long long)seed);
}

/* Class 0 on all ranks in their order, class 1 on some of them backwards. */
hg_class_t *job_open(struct world_class *cls)
{
    const struct plan *plan = &cls->world->plan;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    hg_class_t *opened = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    unsigned rank = cls->world->rank;
    int is_member = plan_is_member(plan, cls->index, rank);

    MPI_Comm_split(MPI_COMM_WORLD, is_member ? 0 : MPI_UNDEFINED,
        is_member ? (int)plan_class_rank(plan, cls->index, rank) : 0, &comm);
    if (comm == MPI_COMM_NULL)
        return NULL;
    options.contexts = plan->contexts;
    options.no_bulk_eager = plan->no_bulk_eager;
    opened = amalgam_init(comm, cls->world->options.transport, &options);
    MPI_Comm_free(&comm);
    return opened;
}

hg_return_t job_addr(
    struct world_class *cls, unsigned class_rank, hg_addr_t *ret_addr)
{
    return amalgam_addr_rank(cls->cls, (int)class_rank, ret_addr);
}

int job_rank_of(struct world_class *cls, hg_addr_t addr)
{
    int rank = -1;

    return amalgam_addr_get_rank(cls->cls, addr, &rank) == HG_SUCCESS ? rank
                                                                      : -1;
}

hg_return_t job_finalize(struct world_class *cls)
{
    return amalgam_finalize(cls->cls);
}

void *job_alloc(struct world_class *cls, size_t len)
{
    void *memory = NULL;

    do
        memory = amalgam_alloc(cls->cls, len);
    while (faults_again(cls->world, memory == NULL ? HG_NOMEM : HG_SUCCESS));
    return memory;
}

hg_return_t job_free(struct world_class *cls, void *memory)
{
    return amalgam_free(cls->cls, memory);
}

hg_return_t job_bulk_type(struct world_class *cls, const struct plan_bulk *bulk,
    void *memory, uint8_t flags, hg_bulk_t *ret_bulk)
{
    int lens[PLAN_SEGMENTS_MAX];
    MPI_Aint places[PLAN_SEGMENTS_MAX];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint at = 0;
    hg_return_t rc = HG_SUCCESS;

    for (unsigned i = 0; i < bulk->segments; i++) {
        lens[i] = (int)bulk->segment_len[i];
        places[i] = at;
        at += lens[i] + (MPI_Aint)bulk->gap;
    }
    MPI_Type_create_hindexed(
        (int)bulk->segments, lens, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    do
        rc = amalgam_bulk_create_type(
            cls->cls, memory, 1, type, flags, ret_bulk);
    while (faults_again(cls->world, rc));
    MPI_Type_free(&type);
    return rc;
}

hg_return_t job_turn(struct world_class *cls)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    return amalgam_test(cls->cls, &request, &flag, &status);
}

hg_return_t job_quiesce(struct world_class *cls)
{
    return amalgam_quiesce(cls->cls, QUIESCE_MS);
}

/* Messages of the program to the next rank, beside those of the library. */
static void neighbours(struct world *world, unsigned phase)
{
    int size = (int)world->plan.ranks;
    int rank = (int)world->rank;
    int from = (rank + size - 1) % size;
    unsigned char *sent = malloc(MESSAGE_LEN);
    unsigned char *got = malloc(MESSAGE_LEN);
    MPI_Request requests[2];
    uint64_t key = world->plan.hash + phase;

    if (sent == NULL || got == NULL)
        abort();
    content_fill(sent, MESSAGE_LEN, key + (unsigned)rank, 0);
    MPI_Irecv(
        got, MESSAGE_LEN, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, MESSAGE_LEN, MPI_BYTE, (rank + 1) % size, TAG,
        MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++)
        EXPECT_OK(world,
            amalgam_wait(world->classes[0].cls, &requests[i], WAIT_MS, NULL));
    if (content_differs(got, MESSAGE_LEN, key + (unsigned)from, 0) !=
        MESSAGE_LEN)
        book_finding(world->book, "a message of the program differs");
    free(sent);
    free(got);
}

void job_between(struct world *world, unsigned phase)
{
    int one = 1;
    int sum = 0;

    switch (plan_draw(world->plan.hash, SALT_BETWEEN + phase, 4)) {
    case 0:
        if (world->options.faults > 0)
            break; /* the others would wait for a rank that met a fault */
        for (unsigned i = 0; i < world->plan.classes; i++)
            if (world->classes[i].cls != NULL)
                EXPECT_OK(world, amalgam_barrier(world->classes[i].cls));
        break;
    case 1:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case 2:
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != (int)world->plan.ranks)
            book_finding(world->book, "a sum of the program is wrong");
        break;
    default:
        neighbours(world, phase);
    }
}

/* In a library that has it. */
size_t amalgam_write_state(hg_class_t *cls, FILE *out) __attribute__((weak));

size_t job_state(hg_class_t *cls, FILE *out)
{
    return amalgam_write_state == NULL ? 0 : amalgam_write_state(cls, out);
}
