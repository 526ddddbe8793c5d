/* SPDX-License-Identifier: BSD-3-Clause */
/* Random datatypes, and what MPI itself says of where their bytes lie. */
#ifndef TESTS_MPI_RANDOM_TYPE_H
#define TESTS_MPI_RANDOM_TYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RANDOM_TYPE_BYTES = 1 << 12, /* a drawn type names at most as many, */
    RANDOM_TYPE_REACH =
        1 << 15, /* and none farther than this from its buffer */
};

/* `count` elements of a committed type. */
struct random_type {
    MPI_Datatype type;
    int count;
    int64_t low;  /* bytes from the buffer: the first one named, and ... */
    int64_t high; /* ... the first one behind all that are */
    int32_t bytes;
};

/* Numbers that depend on the seed alone. */
uint64_t random_next(uint64_t *state);
/* From 0 to below `limit`. */
int random_below(uint64_t *state, int limit);

/* Draws one; all constructors, nested up to `depth` times. is_disjoint: no byte
 * is named twice. */
void random_type_draw(
    uint64_t *state, int depth, bool is_disjoint, struct random_type *ret_type);
/* Draws one that names exactly so many bytes (at most RANDOM_TYPE_BYTES), each
 * once. */
void random_type_draw_bytes(
    uint64_t *state, int depth, int32_t bytes, struct random_type *ret_type);
void random_type_end(struct random_type *type);

/* Where MPI_Pack() finds each byte, in its order: offsets from the buffer. */
void random_type_places(const struct random_type *type, int32_t *ret_places);

#endif
