/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI datatypes as layouts: runs of bytes, in the order of the type map.
 *
 *   runs     [at, at + len)  [at, at + len) ...    merged where they touch
 *   copies   how often all runs are repeated, `stride` bytes apart
 *
 * Copies become runs only when other runs, or copies at another stride, follow:
 * a vector of 10^6 rows stays one run with 10^6 copies until fill(). */
#ifndef AMG_MPI_API_LAYOUT_H
#define AMG_MPI_API_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "bulk/bulk.h"
#include "mercury_core_types.h"

/* False: the result exceeds 64 bits; do not use the result. */
static inline bool amg_checked_add(int64_t one, int64_t other, int64_t *ret_sum)
{
    return !__builtin_add_overflow(one, other, ret_sum);
}

static inline bool amg_checked_mul(
    int64_t one, int64_t other, int64_t *ret_product)
{
    return !__builtin_mul_overflow(one, other, ret_product);
}

/* Bytes at an offset from the buffer that the program passes with the type. */
struct amg_mpi_api_run {
    int64_t at;
    int64_t len; /* > 0 */
};

/* Owned by the caller of init. */
struct amg_mpi_api_layout {
    struct amg_mpi_api_run *runs;
    uint64_t count; /* of runs; 0: empty */
    uint64_t cap;
    int64_t copies; /* of all runs; at least 1 */
    int64_t stride; /* bytes from one copy to the next */
    int64_t low;    /* offset of the lowest byte */
    int64_t high;   /* offset behind the highest byte */
    int64_t len;    /* bytes in all */
};

void amg_mpi_api_layout_init(struct amg_mpi_api_layout *layout);
void amg_mpi_api_layout_fini(struct amg_mpi_api_layout *layout);

/* The next four functions may return HG_INVALID_ARG (an offset or the length
 * exceeds 64 bits), HG_OVERFLOW (more runs than a descriptor can hold), each
 * with a line in the log, or HG_NOMEM; after an error only fini is allowed. */

/* Adds `len` bytes at offset `at`; `len` 0 adds nothing. */
hg_return_t amg_mpi_api_layout_add_run(
    struct amg_mpi_api_layout *layout, int64_t at, int64_t len);
/* Adds `times` (>= 0) copies of `other`: the first copy is moved by `at`, each
 * further copy by `step` more. */
hg_return_t amg_mpi_api_layout_add(struct amg_mpi_api_layout *layout,
    const struct amg_mpi_api_layout *other, int64_t times, int64_t step,
    int64_t at);
/* Replaces the layout by `times` (>= 0) copies of it, `step` bytes apart. */
hg_return_t amg_mpi_api_layout_repeat(
    struct amg_mpi_api_layout *layout, int64_t times, int64_t step);
hg_return_t amg_mpi_api_layout_shift(
    struct amg_mpi_api_layout *layout, int64_t by);

/* Number of segments that fill() writes; UINT64_MAX: 2^32 or more. */
uint64_t amg_mpi_api_layout_count(const struct amg_mpi_api_layout *layout);
/* Writes the segments; `base` + `low` and `base` + `high` must not overflow. */
void amg_mpi_api_layout_fill(const struct amg_mpi_api_layout *layout,
    uint64_t base, struct amg_segment *ret_segments);

/* MPI returns the arguments of a constructor in lists. If the constructor was
 * called with large counts (MPI-4), counts and displacements are in `counts`,
 * else in `ints` and `addrs`. Functions of flatten.c hide the difference. */

/* Owned by its user, with a reference to each type that is not predefined. */
struct amg_mpi_api_contents {
    int combiner;  /* MPI_COMBINER_VECTOR, ... */
    bool is_large; /* made by a call with large counts */
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    MPI_Datatype *types;
    int64_t int_count;
    int64_t addr_count;
    int64_t count_count;
    int64_t type_count; /* 0: no element types, and no lists */
    void *block;        /* memory of the four lists */
};

/* Two functions that read a type, and return the code of MPI. contents_read.c
 * has them for MPI-4, contents_read3.c for an older MPI. */

/* Reads the constructor, and the lengths of the lists. The caller has zeroed
 * `*ret_contents`. */
int amg_mpi_api_contents_envelope(
    MPI_Datatype type, struct amg_mpi_api_contents *ret_contents);
/* Writes the lists, which the caller has allocated. */
int amg_mpi_api_contents_lists(
    MPI_Datatype type, const struct amg_mpi_api_contents *contents);

/* Layout of one element of a valid type; the caller calls fini. Errors of
 * amg_mpi_api_layout_add(), and HG_OPNOTSUPPORTED: unknown constructor, or
 * predefined type with gaps; HG_NA_ERROR: MPI failed. */
hg_return_t amg_mpi_api_type_flatten(
    MPI_Datatype type, struct amg_mpi_api_layout *ret_layout);

/* The distance from one element to the next, in bytes. */
int64_t amg_mpi_api_type_extent(MPI_Datatype type);

#endif
