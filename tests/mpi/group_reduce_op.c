/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs are folded by operations of MPI: predefined ones, on numbers, on
 * vectors of some and of many elements, and on a pair with padding; those of
 * the program, on a type of the program, and in the order of the ranks where
 * the operation is not commutative. Types and operations that do not fit are
 * refused, and do not run the program's error handlers, which end the job. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

enum { CALLS = 100, AT_ONCE = 5, FEW = 7, MANY = 4000, PRIME = 10007 };

MERCURY_GEN_PROC(ask_t, ((uint32_t)(root))((uint32_t)(number)))

/* x -> factor * x + add, modulo a prime number. */
struct affine {
    uint64_t factor;
    uint64_t add;
};

struct located {
    double value;
    int rank;
};

/* Outputs of all RPCs. */
union out {
    double sum;
    int32_t few[FEW];
    double many[MANY];
    struct located located;
    struct affine affine[2];
};

/* The RPCs. MIXED: an operation of the program that is commutative. */
enum kind { SUM, FEW_MAX, MANY_SUM, LOCATED, MIXED, COMPOSED, KINDS };

struct ordered {
    struct ranks_call call;
    struct group_draw draw;
    uint32_t number;
};

static struct ranks all;
static hg_id_t ids[KINDS];

#define RAW_PROC(name, member)                                                 \
    static hg_return_t name(hg_proc_t proc, void *data)                        \
    {                                                                          \
        return hg_proc_raw(proc, data, sizeof(((union out *)NULL)->member));   \
    }
RAW_PROC(sum_code, sum)
RAW_PROC(few_code, few)
RAW_PROC(many_code, many)
RAW_PROC(affine_code, affine)

/* Only 12 bytes are sent. */
static hg_return_t located_code(hg_proc_t proc, void *data)
{
    struct located *located = data;
    hg_return_t rc = hg_proc_raw(proc, &located->value, sizeof(double));

    return rc == HG_SUCCESS ? hg_proc_int32_t(proc, &located->rank) : rc;
}

/* What a rank answers. */
static void out_of(enum kind kind, int rank, uint32_t number, union out *out)
{
    unsigned seed = (unsigned)rank * 7919 + number;

    switch (kind) {
    case SUM:
        out->sum = (double)(rand_r(&seed) % 1000);
        break;
    case FEW_MAX:
        for (int i = 0; i < FEW; i++)
            out->few[i] = rand_r(&seed) - (1 << 30);
        break;
    case MANY_SUM:
        for (int i = 0; i < MANY; i++)
            out->many[i] = rank * 1000 + i + (double)number;
        break;
    case LOCATED:
        out->located.value = (rank * 5 + (int)number) % 11;
        out->located.rank = rank;
        break;
    default:
        for (int i = 0; i < 2; i++) {
            out->affine[i].factor = (unsigned)rand_r(&seed) % PRIME;
            out->affine[i].add = (unsigned)rand_r(&seed) % PRIME;
        }
    }
}

/* `inout` becomes the function that runs `from` first. */
static void affine_compose(const struct affine *from, struct affine *inout)
{
    inout->add = (inout->factor * from->add + inout->add) % PRIME;
    inout->factor = inout->factor * from->factor % PRIME;
}

static void compose(void *from, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    CHECK(*count == 2);
    for (int i = 0; i < 2; i++)
        affine_compose((struct affine *)from + i, (struct affine *)inout + i);
}

static void mix(void *from, void *inout, int *count, MPI_Datatype *type)
{
    const uint64_t *words = from;
    uint64_t *mixed = inout;

    (void)type;
    for (int i = 0; i < *count * 2; i++)
        mixed[i] = (mixed[i] + words[i]) % PRIME;
}

static void out_fold(enum kind kind, union out *from, union out *inout)
{
    MPI_Datatype none = MPI_DATATYPE_NULL;
    int two = 2;

    switch (kind) {
    case SUM:
        inout->sum += from->sum;
        break;
    case FEW_MAX:
        for (int i = 0; i < FEW; i++)
            if (from->few[i] > inout->few[i])
                inout->few[i] = from->few[i];
        break;
    case MANY_SUM:
        for (int i = 0; i < MANY; i++)
            inout->many[i] += from->many[i];
        break;
    case LOCATED:
        if (from->located.value >= inout->located.value)
            inout->located = from->located;
        break;
    case MIXED:
        mix(from, inout, &two, &none);
        break;
    default:
        compose(from, inout, &two, &none);
    }
}

static bool out_is_same(
    enum kind kind, const union out *one, const union out *other)
{
    switch (kind) {
    case SUM:
        return one->sum == other->sum;
    case FEW_MAX:
        return memcmp(one->few, other->few, sizeof(one->few)) == 0;
    case MANY_SUM:
        return memcmp(one->many, other->many, sizeof(one->many)) == 0;
    case LOCATED:
        return one->located.value == other->located.value &&
               one->located.rank == other->located.rank;
    default:
        return memcmp(one->affine, other->affine, sizeof(one->affine)) == 0;
    }
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    hg_id_t id = HG_Get_info(handle)->id;
    enum kind kind = SUM;
    union out out;
    ask_t in;

    while (ids[kind] != id)
        kind++;
    OK(HG_Get_input(handle, &in));
    out_of(kind, all.rank, in.number, &out);
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void ordered_begin(struct ordered *ordered, uint32_t number)
{
    ask_t in = {(uint32_t)all.rank, number};
    amalgam_group_t group = NULL;

    ordered->number = number;
    group_draw(&ordered->draw, all.size, in.root * 977 + number);
    group = group_make(&all, &ordered->draw);
    group_begin(&all, &ordered->call, group, ids[number % KINDS], 0, &in);
    OK(amalgam_group_free(group));
}

static void ordered_end(struct ordered *ordered)
{
    enum kind kind = (enum kind)(ordered->number % KINDS);
    hg_handle_t handle = ordered->call.handle;
    static union out wanted;
    static union out out;
    bool has_one = false;

    OK(ranks_wait(&ordered->call));
    CHECK(group_failed_count(handle) == 0);
    for (int rank = all.size - 1; rank >= 0; rank--)
        if (group_draw_has(&ordered->draw, rank)) {
            out_of(kind, rank, ordered->number, has_one ? &out : &wanted);
            if (has_one)
                out_fold(kind, &out, &wanted);
            has_one = true;
        }
    EXPECT(has_one ? HG_SUCCESS : HG_FAULT, HG_Get_output(handle, &out));
    if (has_one) {
        CHECK(out_is_same(kind, &out, &wanted));
        OK(HG_Free_output(handle, &out));
    }
    ranks_end(&ordered->call);
}

static void refused(MPI_Op op, MPI_Datatype type, int count)
{
    EXPECT(HG_INVALID_ARG,
        amalgam_register_reduce_op(all.cls, ids[SUM], op, type, count));
}

static void refusals_check(MPI_Datatype pair, MPI_Op composed)
{
    hg_class_t *other = HG_Init("self", HG_TRUE);
    MPI_Datatype type = MPI_DATATYPE_NULL;

    HG_Set_log_level("none");
    refused(MPI_SUM, pair, 1);
    refused(MPI_BAND, MPI_DOUBLE, 1);
    refused(MPI_SUM, MPI_DATATYPE_NULL, 1);
    refused(MPI_OP_NULL, MPI_DOUBLE, 1);
    refused(MPI_SUM, MPI_DOUBLE, 0);
    refused(MPI_SUM, MPI_DOUBLE, -1);
    MPI_Type_contiguous(2, MPI_INT, &type);
    refused(composed, type, 1); /* not committed */
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_INT, 0, 2, &type);
    MPI_Type_commit(&type);
    refused(composed, type, 1); /* elements overlap */
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)1 << 62, &type);
    MPI_Type_commit(&type);
    refused(composed, type, 4);
    MPI_Type_free(&type);
    EXPECT(HG_INVALID_ARG,
        amalgam_register_reduce_op(NULL, ids[SUM], MPI_SUM, MPI_DOUBLE, 1));
    EXPECT(HG_NOENTRY,
        amalgam_register_reduce_op(all.cls, 4711, MPI_SUM, MPI_DOUBLE, 1));
    CHECK(other != NULL);
    EXPECT(HG_OPNOTSUPPORTED,
        amalgam_register_reduce_op(other, ids[SUM], MPI_SUM, MPI_DOUBLE, 1));
    OK(HG_Finalize(other));
    HG_Set_log_level("warning");
}

int main(void)
{
    static const hg_proc_cb_t procs[KINDS] = {
        sum_code, few_code, many_code, located_code, affine_code, affine_code};
    static struct ordered calls[AT_ONCE];
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Op mixed = MPI_OP_NULL;
    MPI_Op composed = MPI_OP_NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(mix, 1, &mixed);
    MPI_Op_create(compose, 0, &composed);
    ranks_open(&all, MPI_COMM_WORLD);
    for (int kind = 0; kind < KINDS; kind++) {
        char name[24];

        snprintf(name, sizeof(name), "fold %d", kind);
        ids[kind] = HG_Register_name(
            all.cls, name, hg_proc_ask_t, procs[kind], ask_serve);
    }
    OK(amalgam_register_reduce_op(all.cls, ids[SUM], MPI_SUM, MPI_DOUBLE, 1));
    OK(amalgam_register_reduce_op(
        all.cls, ids[FEW_MAX], MPI_MAX, MPI_INT32_T, FEW));
    OK(amalgam_register_reduce_op(
        all.cls, ids[MANY_SUM], MPI_SUM, MPI_DOUBLE, MANY));
    OK(amalgam_register_reduce_op(
        all.cls, ids[LOCATED], MPI_MAXLOC, MPI_DOUBLE_INT, 1));
    OK(amalgam_register_reduce_op(all.cls, ids[MIXED], mixed, pair, 2));
    OK(amalgam_register_reduce_op(all.cls, ids[COMPOSED], composed, pair, 2));
    refusals_check(pair, composed);
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t number = 0; number < CALLS; number += AT_ONCE) {
        for (uint32_t i = 0; i < AT_ONCE; i++)
            ordered_begin(&calls[i], number + i);
        for (uint32_t i = 0; i < AT_ONCE; i++)
            ordered_end(&calls[i]);
    }
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    MPI_Op_free(&mixed);
    MPI_Op_free(&composed);
    MPI_Type_free(&pair);
    return ranks_stop();
}
