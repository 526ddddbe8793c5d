/* SPDX-License-Identifier: BSD-3-Clause */
/* Random datatypes, and the layout of their bytes according to MPI. */
#include "random_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS_MAX = 4,
    DIMS_MAX = 3,
    TRIES = 8,
    PLACE_BYTES = 3, /* of a byte's index, one per pass */
};

typedef MPI_Datatype (*draw_fn)(uint64_t *state, MPI_Datatype part);

static MPI_Datatype type_draw(uint64_t *state, int depth);

uint64_t random_next(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15ull; /* splitmix64 */

    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}

int random_below(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}

static int between(uint64_t *state, int low, int high)
{
    return low + random_below(state, high - low + 1);
}

/* Sets `count` numbers from `low` to `high`. */
static void draw_ints(uint64_t *state, int count, int low, int high, int *ret)
{
    for (int i = 0; i < count; i++)
        ret[i] = between(state, low, high);
}

static void draw_places(uint64_t *state, int count, MPI_Aint *ret)
{
    for (int i = 0; i < count; i++)
        ret[i] = between(state, -100, 300);
}

static MPI_Datatype draw_contiguous(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI_Type_contiguous(between(state, 0, 4), part, &type);
    return type;
}

/* In units of `unit` bytes. Not -1 byte, which Open MPI takes for as far as the
 * part reaches. */
static int draw_stride(uint64_t *state, int low, int high, MPI_Aint unit)
{
    int stride = between(state, low, high);

    return stride * unit == -1 ? 0 : stride;
}

static MPI_Datatype draw_vector(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint extent = 0;
    MPI_Aint low = 0;
    int stride = 0;

    MPI_Type_get_extent(part, &low, &extent);
    stride = draw_stride(state, -4, 6, extent);
    MPI_Type_vector(
        between(state, 0, 5), between(state, 0, 3), stride, part, &type);
    return type;
}

static MPI_Datatype draw_hvector(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int stride = draw_stride(state, -60, 120, 1);

    MPI_Type_create_hvector(
        between(state, 0, 5), between(state, 0, 3), stride, part, &type);
    return type;
}

static MPI_Datatype draw_indexed(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = between(state, 0, PARTS_MAX);
    int blocks[PARTS_MAX];
    int places[PARTS_MAX];

    draw_ints(state, PARTS_MAX, 0, 3, blocks);
    draw_ints(state, PARTS_MAX, -10, 12, places);
    MPI_Type_indexed(count, blocks, places, part, &type);
    return type;
}

static MPI_Datatype draw_hindexed(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = between(state, 0, PARTS_MAX);
    int blocks[PARTS_MAX];
    MPI_Aint places[PARTS_MAX];

    draw_ints(state, PARTS_MAX, 0, 3, blocks);
    draw_places(state, PARTS_MAX, places);
    MPI_Type_create_hindexed(count, blocks, places, part, &type);
    return type;
}

static MPI_Datatype draw_indexed_block(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = between(state, 0, PARTS_MAX);
    int places[PARTS_MAX];

    draw_ints(state, PARTS_MAX, -10, 12, places);
    MPI_Type_create_indexed_block(
        count, between(state, 0, 3), places, part, &type);
    return type;
}

static MPI_Datatype draw_hindexed_block(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = between(state, 0, PARTS_MAX);
    MPI_Aint places[PARTS_MAX];

    draw_places(state, PARTS_MAX, places);
    MPI_Type_create_hindexed_block(
        count, between(state, 0, 3), places, part, &type);
    return type;
}

/* Not with negative extents: where copies of such a type are repeated, MPICH
 * 4.0.2 packs other bytes than its own extents say. */
static MPI_Datatype draw_resized(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI_Type_create_resized(
        part, between(state, -30, 30), between(state, 0, 90), &type);
    return type;
}

static MPI_Datatype draw_dup(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    (void)state;
    MPI_Type_dup(part, &type);
    return type;
}

static int draw_order(uint64_t *state)
{
    return random_below(state, 2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
}

static MPI_Datatype draw_subarray(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int dims = between(state, 1, DIMS_MAX);
    int sizes[DIMS_MAX];
    int parts[DIMS_MAX];
    int starts[DIMS_MAX];

    for (int i = 0; i < dims; i++) {
        sizes[i] = between(state, 1, 5);
        parts[i] = between(state, 1, sizes[i]);
        starts[i] = between(state, 0, sizes[i] - parts[i]);
    }
    MPI_Type_create_subarray(
        dims, sizes, parts, starts, draw_order(state), part, &type);
    return type;
}

static int darray_try(
    uint64_t *state, MPI_Datatype part, MPI_Datatype *ret_type)
{
    int dims = between(state, 1, DIMS_MAX);
    int sizes[DIMS_MAX];
    int distribs[DIMS_MAX];
    int args[DIMS_MAX];
    int procs[DIMS_MAX];
    int total = 1;

    for (int i = 0; i < dims; i++) {
        sizes[i] = between(state, 1, 9);
        procs[i] = between(state, 1, 3);
        args[i] = MPI_DISTRIBUTE_DFLT_DARG;
        distribs[i] = MPI_DISTRIBUTE_BLOCK;
        switch (random_below(state, 4)) {
        case 0: /* blocks that are long enough for all */
            args[i] =
                (sizes[i] + procs[i] - 1) / procs[i] + random_below(state, 2);
            break;
        case 1:
            distribs[i] = MPI_DISTRIBUTE_CYCLIC;
            args[i] = between(state, 1, 3);
            break;
        case 2:
            distribs[i] = MPI_DISTRIBUTE_NONE;
            procs[i] = 1;
            break;
        default:
            break;
        }
        total *= procs[i];
    }
    return MPI_Type_create_darray(total, random_below(state, total), dims,
        sizes, distribs, args, procs, draw_order(state), part, ret_type);
}

/* Open MPI 4.1.4 refuses some; after a few other tries it is not distributed.
 */
static MPI_Datatype draw_darray(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int rc = MPI_ERR_TYPE;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int tries = 0; rc != MPI_SUCCESS && tries < TRIES; tries++)
        rc = darray_try(state, part, &type);
    if (rc != MPI_SUCCESS)
        MPI_Type_dup(part, &type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    return type;
}

/* A member without bytes has blocks of length 0 here, not empty parts: MPICH
 * 4.0.2 divides by zero while packing such a struct. */
static MPI_Datatype draw_member(uint64_t *state, int depth)
{
    MPI_Datatype type = type_draw(state, depth);
    int size = 0;

    MPI_Type_size(type, &size);
    if (size == 0) {
        MPI_Type_free(&type);
        MPI_Type_dup(MPI_INT, &type);
    }
    return type;
}

static MPI_Datatype draw_struct(uint64_t *state, int depth)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = between(state, 1, PARTS_MAX);
    MPI_Datatype types[PARTS_MAX];
    int blocks[PARTS_MAX];
    MPI_Aint places[PARTS_MAX];

    types[0] = draw_member(state, depth);
    for (int i = 1; i < count; i++) /* repeating a type is a case of its own */
        types[i] = random_below(state, 2) == 0
                       ? types[i - 1]
                       : draw_member(state, between(state, 0, depth));
    draw_ints(state, PARTS_MAX, 0, 3, blocks);
    draw_places(state, PARTS_MAX, places);
    MPI_Type_create_struct(count, blocks, places, types, &type);
    for (int i = count - 1; i >= 0; i--)
        if (i == 0 || types[i] != types[i - 1])
            MPI_Type_free(&types[i]);
    return type;
}

#if MPI_VERSION >= 4 && !defined(TESTS_MPI_3)
static MPI_Datatype draw_large_grid(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count sizes[2] = {5, 6};
    MPI_Count parts[2] = {between(state, 1, 5), between(state, 1, 6)};
    MPI_Count starts[2] = {5 - parts[0], 6 - parts[1]};
    int distribs[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int args[2] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    int procs[2] = {2, 1};

    if (random_below(state, 2) == 0)
        MPI_Type_create_darray_c(2, random_below(state, 2), 2, sizes, distribs,
            args, procs, draw_order(state), part, &type);
    else
        MPI_Type_create_subarray_c(
            2, sizes, parts, starts, draw_order(state), part, &type);
    return type;
}

/* The calls with large counts. */
static MPI_Datatype draw_large(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count blocks[2] = {between(state, 0, 3), between(state, 0, 3)};
    MPI_Count places[2] = {between(state, -50, 90), between(state, -50, 90)};
    MPI_Datatype types[2] = {part, MPI_SHORT};
    int size = 0;

    MPI_Type_size(part, &size);
    if (size == 0) /* as for draw_member() */
        types[0] = MPI_INT;
    switch (random_below(state, 11)) {
    case 0:
        MPI_Type_contiguous_c(blocks[0], part, &type);
        break;
    case 1:
        MPI_Type_vector_c(blocks[0], blocks[1], 4, part, &type);
        break;
    case 2:
        MPI_Type_create_hvector_c(blocks[0], blocks[1], places[0], part, &type);
        break;
    case 3:
        MPI_Type_indexed_c(2, blocks, places, part, &type);
        break;
    case 4:
        MPI_Type_create_hindexed_c(2, blocks, places, part, &type);
        break;
    case 5:
        MPI_Type_create_indexed_block_c(2, blocks[0], places, part, &type);
        break;
    case 6:
        MPI_Type_create_hindexed_block_c(2, blocks[0], places, part, &type);
        break;
    case 7:
        MPI_Type_create_struct_c(2, blocks, places, types, &type);
        break;
    case 8:
        MPI_Type_create_resized_c(part, places[0], 33, &type);
        break;
    default:
        return draw_large_grid(state, part);
    }
    return type;
}
#else
static MPI_Datatype draw_large(uint64_t *state, MPI_Datatype part)
{
    return draw_dup(state, part);
}
#endif

/* A type that may be freed: a predefined one is duplicated. */
static MPI_Datatype type_draw(uint64_t *state, int depth)
{
    /* Without types that have padding bits, which copies need not keep. */
    static const MPI_Datatype leaves[] = {MPI_CHAR, MPI_SHORT, MPI_INT,
        MPI_DOUBLE, MPI_FLOAT, MPI_BYTE, MPI_INT64_T, MPI_2INT, MPI_SHORT_INT,
        MPI_DOUBLE_INT, MPI_LONG_INT, MPI_FLOAT_INT, MPI_C_DOUBLE_COMPLEX};
    static const draw_fn draws[] = {draw_contiguous, draw_vector, draw_hvector,
        draw_indexed, draw_hindexed, draw_indexed_block, draw_hindexed_block,
        draw_resized, draw_dup, draw_subarray, draw_darray, draw_large};
    enum {
        LEAVES = sizeof(leaves) / sizeof(leaves[0]),
        DRAWS = sizeof(draws) / sizeof(draws[0]),
    };
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Datatype part = MPI_DATATYPE_NULL;
    int which = random_below(state, DRAWS + 2);

    if (depth == 0) {
        MPI_Type_dup(leaves[random_below(state, LEAVES)], &type);
        return type;
    }
    if (which >= DRAWS)
        return draw_struct(state, depth - 1);
    part = type_draw(state, depth - 1);
    type = draws[which](state, part);
    MPI_Type_free(&part);
    return type;
}

/* Fills in facts about `count` elements; false when they have too many bytes,
 * or are too far away. Three extents are more than all overflows of int. */
static bool type_measure(
    MPI_Datatype type, int count, struct random_type *ret_type)
{
    MPI_Count size = 0;
    MPI_Count low = 0;
    MPI_Count extent = 0;
    MPI_Count true_low = 0;
    MPI_Count true_extent = 0;
    MPI_Count last = 0;

    MPI_Type_size_x(type, &size);
    MPI_Type_get_extent_x(type, &low, &extent);
    MPI_Type_get_true_extent_x(type, &true_low, &true_extent);
    last = count > 0 ? (count - 1) * extent : 0;
    ret_type->type = type;
    ret_type->count = count;
    ret_type->low = true_low + (last < 0 ? last : 0);
    ret_type->high = true_low + true_extent + (last > 0 ? last : 0);
    if (size * count > RANDOM_TYPE_BYTES ||
        ret_type->low < -RANDOM_TYPE_REACH ||
        ret_type->high > RANDOM_TYPE_REACH)
        return false;
    ret_type->bytes = (int32_t)(size * count);
    return true;
}

void random_type_places(const struct random_type *type, int32_t *ret_places)
{
    unsigned char *bytes = malloc(2 * RANDOM_TYPE_REACH);
    unsigned char *packed = malloc(RANDOM_TYPE_BYTES + 1);

    memset(ret_places, 0, (size_t)type->bytes * sizeof(*ret_places));
    for (int pass = 0; pass < PLACE_BYTES; pass++) {
        int len = 0;

        for (int i = 0; i < 2 * RANDOM_TYPE_REACH; i++)
            bytes[i] = (unsigned char)(i >> 8 * pass);
        MPI_Pack(bytes + RANDOM_TYPE_REACH, type->count, type->type, packed,
            RANDOM_TYPE_BYTES + 1, &len, MPI_COMM_SELF);
        if (len != type->bytes) {
            fprintf(stderr, "MPI packs %d bytes where %d are named\n", len,
                type->bytes);
            abort();
        }
        for (int i = 0; i < len; i++)
            ret_places[i] |= packed[i] << 8 * pass;
    }
    for (int i = 0; i < type->bytes; i++)
        ret_places[i] -= RANDOM_TYPE_REACH;
    free(packed);
    free(bytes);
}

static bool type_is_disjoint(const struct random_type *type)
{
    int32_t *places = malloc((size_t)(type->bytes + 1) * sizeof(*places));
    bool *is_named = calloc(2 * RANDOM_TYPE_REACH, sizeof(*is_named));
    bool is_disjoint = true;

    random_type_places(type, places);
    for (int i = 0; i < type->bytes; i++) {
        bool *named = &is_named[places[i] + RANDOM_TYPE_REACH];

        is_disjoint = is_disjoint && !*named;
        *named = true;
    }
    free(is_named);
    free(places);
    return is_disjoint;
}

void random_type_draw(
    uint64_t *state, int depth, bool is_disjoint, struct random_type *ret_type)
{
    for (;;) {
        MPI_Datatype type = type_draw(state, between(state, 0, depth));

        MPI_Type_commit(&type);
        if (type_measure(type, between(state, 0, 5), ret_type) &&
            (!is_disjoint || type_is_disjoint(ret_type)))
            return;
        MPI_Type_free(&type);
    }
}

void random_type_draw_bytes(
    uint64_t *state, int depth, int32_t bytes, struct random_type *ret_type)
{
    for (;;) {
        struct random_type drawn;
        MPI_Datatype whole = MPI_DATATYPE_NULL;
        int blocks[2] = {0, bytes};
        MPI_Aint places[2] = {0, 0};
        MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
        MPI_Aint low = 0;
        MPI_Aint extent = 0;
        bool is_good = false;

        random_type_draw(state, depth, true, &drawn);
        if (drawn.bytes > 0) { /* as often as it fits, then single bytes */
            int size = drawn.bytes / drawn.count;

            MPI_Type_get_extent(drawn.type, &low, &extent);
            types[0] = drawn.type;
            blocks[0] = bytes / size;
            blocks[1] = bytes % size;
            places[1] = low + extent * blocks[0] + RANDOM_TYPE_REACH / 2;
        }
        MPI_Type_create_struct(2, blocks, places, types, &whole);
        random_type_end(&drawn);
        MPI_Type_commit(&whole);
        is_good = type_measure(whole, 1, ret_type) &&
                  ret_type->bytes == bytes && type_is_disjoint(ret_type);
        if (is_good)
            return;
        MPI_Type_free(&whole);
    }
}

void random_type_end(struct random_type *type)
{
    MPI_Type_free(&type->type);
}
