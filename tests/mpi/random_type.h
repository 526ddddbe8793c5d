/* SPDX-License-Identifier: BSD-3-Clause */
/* Random datatypes, and the layout of their bytes according to MPI. */
#ifndef TESTS_MPI_RANDOM_TYPE_H
#define TESTS_MPI_RANDOM_TYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RANDOM_TYPE_BYTES = 1 << 12, /* limit on the bytes of a drawn type, */
    RANDOM_TYPE_REACH = 1 << 15, /* and on their distance from the buffer */
};

/* `count` elements of a committed type. */
struct random_type {
    MPI_Datatype type;
    int count;
    int64_t low;  /* offset from the buffer of its first byte, and ... */
    int64_t high; /* ... of the end of its last one */
    int32_t bytes;
};

/* Numbers that depend on the seed alone. */
uint64_t random_next(uint64_t *state);
/* From 0 to below `limit`. */
int random_below(uint64_t *state, int limit);

/* Draws one; all constructors, nested up to `depth` times. is_disjoint: no byte
 * occurs twice. */
void random_type_draw(
    uint64_t *state, int depth, bool is_disjoint, struct random_type *ret_type);
/* Draws one of exactly so many bytes (at most RANDOM_TYPE_BYTES), each once. */
void random_type_draw_bytes(
    uint64_t *state, int depth, int32_t bytes, struct random_type *ret_type);
void random_type_end(struct random_type *type);

/* Offset from the buffer of each byte, in the order of MPI_Pack(). */
void random_type_places(const struct random_type *type, int32_t *ret_places);

#endif
