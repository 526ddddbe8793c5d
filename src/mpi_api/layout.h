/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of a datatype: runs of bytes, in the order of its type map.
 *
 *   runs     [at, at + len)  [at, at + len) ...    merged where they touch
 *   copies   all of that so many times, `stride` bytes apart
 *
 * The copies are written out only when something else follows them: a vector of
 * a million rows is one run until it is asked for its segments. */
#ifndef AMG_MPI_API_LAYOUT_H
#define AMG_MPI_API_LAYOUT_H

#include <stdint.h>

#include "bulk/bulk.h"

/* Offsets are from the address that the datatype is used with. */
struct amg_mpi_api_run {
    int64_t at;
    int64_t len; /* > 0 */
};

/* Owned by the caller of init. */
struct amg_mpi_api_layout {
    struct amg_mpi_api_run *runs;
    uint64_t count; /* of runs; 0: empty */
    uint64_t cap;
    int64_t copies;
    int64_t stride;
    int64_t low;  /* no byte lies below it ... */
    int64_t high; /* ... and none there or above */
    int64_t len;  /* bytes in all */
};

void amg_mpi_api_layout_init(struct amg_mpi_api_layout *layout);
void amg_mpi_api_layout_fini(struct amg_mpi_api_layout *layout);

/* All of these may return HG_INVALID_ARG (an offset or the length exceeds 64
 * bits), HG_OVERFLOW (more runs than a descriptor can hold), both with a line
 * in the log, and HG_NOMEM; then only fini is allowed. */

/* Adds `len` bytes at `at`; 0 adds nothing. */
hg_return_t amg_mpi_api_layout_add_run(
    struct amg_mpi_api_layout *layout, int64_t at, int64_t len);
/* Adds `times` (>= 0) copies of `other`, the first moved by `at`, each of the
 * next by `step` more. */
hg_return_t amg_mpi_api_layout_add(struct amg_mpi_api_layout *layout,
    const struct amg_mpi_api_layout *other, int64_t times, int64_t step,
    int64_t at);
/* Replaces it by `times` (>= 0) copies of itself, `step` bytes apart. */
hg_return_t amg_mpi_api_layout_repeat(
    struct amg_mpi_api_layout *layout, int64_t times, int64_t step);
hg_return_t amg_mpi_api_layout_shift(
    struct amg_mpi_api_layout *layout, int64_t by);

/* Number of its segments when written out; UINT64_MAX: 2^32 or more. */
uint64_t amg_mpi_api_layout_count(const struct amg_mpi_api_layout *layout);
/* Writes them, for an address to which `low` and `high` may be added. */
void amg_mpi_api_layout_fill(const struct amg_mpi_api_layout *layout,
    uint64_t base, struct amg_segment *ret_segments);

#endif
