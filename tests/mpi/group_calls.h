/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of calls to groups: bytes as input and output,
 * groups by chance, and the ranks that a call names as failed. */
#ifndef TESTS_MPI_GROUP_CALLS_H
#define TESTS_MPI_GROUP_CALLS_H

#include "amalgam_group.h"
#include "ranks.h"

enum { GROUP_RANKS_MAX = 64 };

/* Bytes of ranks_fill(). */
struct group_blob {
    uint32_t len;
    uint32_t seed;
    bool is_right; /* decoded: the bytes are those of the seed */
};

/* Codes length, seed and bytes. */
hg_return_t group_blob_code(hg_proc_t proc, void *blob);
/* Codes the bytes alone: whoever decodes sets length and seed before. */
hg_return_t group_bytes_code(hg_proc_t proc, void *blob);

/* Ranks of a group, in any order. */
struct group_draw {
    int ranks[GROUP_RANKS_MAX];
    size_t count;
};

/* Draws a group: the same one for the same seed. Some are empty, some have all
 * ranks, some have equal distances. */
void group_draw(struct group_draw *draw, int size, unsigned seed);
bool group_draw_has(const struct group_draw *draw, int rank);
void group_draw_remove(struct group_draw *draw, int rank);
/* Makes the group, which the caller frees. */
amalgam_group_t group_make(struct ranks *ranks, const struct group_draw *draw);

/* A handle for calls to groups. */
hg_handle_t group_handle(struct ranks *ranks, hg_id_t id);
/* Creates the handle and calls the group, for so long; 0: no limit. */
void group_begin(struct ranks *ranks, struct ranks_call *call,
    amalgam_group_t group, hg_id_t id, unsigned timeout_ms, void *in);

/* The code with which the call names the rank, or HG_SUCCESS. */
hg_return_t group_code_of(hg_handle_t handle, int rank);
/* How many ranks the call names, which must be in ascending order. */
size_t group_failed_count(hg_handle_t handle);

#endif
