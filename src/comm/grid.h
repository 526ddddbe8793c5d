/* SPDX-License-Identifier: BSD-3-Clause */
/* The two datatypes that are parts of a grid: subarray and darray. */
#ifndef AMG_COMM_GRID_H
#define AMG_COMM_GRID_H

#include "comm/contents.h"
#include "comm/layout.h"

/* Both turn the layout of an element, `extent` apart from the next, into that
 * of the part. Errors as in layout.h. */
hg_return_t amg_comm_grid_subarray(const struct amg_comm_contents *contents,
    int64_t extent, struct amg_comm_layout *layout);
hg_return_t amg_comm_grid_darray(const struct amg_comm_contents *contents,
    int64_t extent, struct amg_comm_layout *layout);

#endif
