/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of calls to groups. */
#include "group_calls.h"

#include <stdlib.h>
#include <string.h>

hg_return_t group_bytes_code(hg_proc_t proc, void *data)
{
    struct group_blob *blob = data;
    void *bytes = NULL;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    blob->is_right = true;
    if (blob->len == 0)
        return HG_SUCCESS;
    bytes = hg_proc_save_ptr(proc, blob->len);
    if (bytes == NULL)
        return HG_OVERFLOW;
    if (hg_proc_get_op(proc) == HG_ENCODE)
        ranks_fill(bytes, blob->len, blob->seed, 0);
    else
        blob->is_right = ranks_is_filled(bytes, blob->len, blob->seed, 0);
    return hg_proc_restore_ptr(proc, bytes, blob->len);
}

hg_return_t group_blob_code(hg_proc_t proc, void *data)
{
    struct group_blob *blob = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &blob->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blob->seed);
    return rc == HG_SUCCESS ? group_bytes_code(proc, blob) : rc;
}

static void shuffle(struct group_draw *draw, unsigned *seed)
{
    for (size_t i = draw->count; i > 1; i--) {
        size_t k = (size_t)rand_r(seed) % i;
        int other = draw->ranks[k];

        draw->ranks[k] = draw->ranks[i - 1];
        draw->ranks[i - 1] = other;
    }
}

void group_draw(struct group_draw *draw, int size, unsigned seed)
{
    unsigned kind = 0;

    CHECK(size <= GROUP_RANKS_MAX);
    seed = seed * 2654435761u + 17;
    kind = (unsigned)rand_r(&seed) % 8;
    draw->count = 0;
    if (kind == 0)
        return;
    if (kind < 3) { /* equal distances, or all */
        int step = kind == 1 ? 1 : 1 + rand_r(&seed) % 3;
        int first = kind == 1 ? 0 : rand_r(&seed) % size;

        for (int rank = first; rank < size; rank += step)
            draw->ranks[draw->count++] = rank;
    } else {
        for (int rank = 0; rank < size; rank++)
            if ((unsigned)rand_r(&seed) % 8 < kind)
                draw->ranks[draw->count++] = rank;
    }
    shuffle(draw, &seed);
}

bool group_draw_has(const struct group_draw *draw, int rank)
{
    for (size_t i = 0; i < draw->count; i++)
        if (draw->ranks[i] == rank)
            return true;
    return false;
}

void group_draw_remove(struct group_draw *draw, int rank)
{
    for (size_t i = 0; i < draw->count; i++)
        if (draw->ranks[i] == rank)
            draw->ranks[i] = draw->ranks[--draw->count];
}

amalgam_group_t group_make(struct ranks *ranks, const struct group_draw *draw)
{
    amalgam_group_t group = NULL;

    OK(amalgam_group_create_ranks(
        ranks->cls, draw->ranks, draw->count, &group));
    return group;
}

hg_handle_t group_handle(struct ranks *ranks, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(HG_Create(ranks->context, HG_ADDR_NULL, id, &handle));
    return handle;
}

void group_begin(struct ranks *ranks, struct ranks_call *call,
    amalgam_group_t group, hg_id_t id, unsigned timeout_ms, void *in)
{
    memset(call, 0, sizeof(*call));
    call->handle = group_handle(ranks, id);
    OK(amalgam_forward_group_timed(
        call->handle, group, timeout_ms, ranks_done, call, in));
}

hg_return_t group_code_of(hg_handle_t handle, int rank)
{
    const hg_return_t *codes = NULL;
    const int *failed = NULL;
    size_t count = 0;

    OK(amalgam_group_failed(handle, &count, &failed, &codes));
    for (size_t i = 0; i < count; i++)
        if (failed[i] == rank)
            return codes[i];
    return HG_SUCCESS;
}

size_t group_failed_count(hg_handle_t handle)
{
    const hg_return_t *codes = NULL;
    const int *failed = NULL;
    size_t count = 0;

    OK(amalgam_group_failed(handle, &count, &failed, &codes));
    CHECK((failed == NULL) == (count == 0) && (codes == NULL) == (count == 0));
    for (size_t i = 0; i < count; i++) {
        CHECK(i == 0 || failed[i - 1] < failed[i]);
        CHECK(codes[i] != HG_SUCCESS);
    }
    return count;
}
