/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterator over the bytes of a list of segments. */
#include "transport/seg_iter.h"

#include <string.h>

#include "base/assert.h"

/* Skips used and empty segments; returns the bytes left in the current one. */
static uint64_t segment_left(struct amg_seg_iter *iter)
{
    while (iter->segment < iter->count &&
           iter->into >= iter->segments[iter->segment].len) {
        iter->into -= iter->segments[iter->segment].len;
        iter->segment++;
    }
    if (iter->segment >= iter->count)
        return 0;
    return iter->segments[iter->segment].len - iter->into;
}

uint64_t amg_seg_iter_left(const struct amg_seg_iter *iter, uint64_t max)
{
    struct amg_seg_iter at = *iter;
    uint64_t sum = segment_left(&at);

    while (sum < max && ++at.segment < at.count) {
        uint64_t len = at.segments[at.segment].len;

        sum = len > max - sum ? max : sum + len;
    }
    return sum < max ? sum : max;
}

uint64_t amg_seg_iter_take(
    struct amg_seg_iter *iter, uint64_t max, void **ret_at)
{
    uint64_t left = segment_left(iter);
    uint64_t run = left < max ? left : max;
    uintptr_t end = 0;

    if (run == 0)
        return 0;
    *ret_at = amg_seg_iter_at(iter);
    end = (uintptr_t)*ret_at + run;
    iter->into += run;
    while (run < max) {
        uint64_t more = segment_left(iter);

        if (more == 0 || (uintptr_t)amg_seg_iter_at(iter) != end)
            break;
        more = more < max - run ? more : max - run;
        iter->into += more;
        run += more;
        end += more;
    }
    return run;
}

void amg_seg_iter_skip(struct amg_seg_iter *iter, uint64_t len)
{
    while (len > 0) {
        uint64_t left = segment_left(iter);

        if (left == 0)
            return;
        left = left < len ? left : len;
        iter->into += left;
        len -= left;
    }
}

/* Copies elements of a column without calling memcpy(): a gather of a million
 * rows of 8 bytes takes a quarter of the time. */
static inline void bytes_copy(void *to, const void *from, uint64_t len)
{
    if (len == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (len == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else
        memcpy(to, from, len);
}

/* Copies `len` bytes between a list and `bytes`, segment by segment. */
static AMG_INLINE void bytes_move(
    struct amg_seg_iter *list, char *bytes, uint64_t len, bool is_gather)
{
    while (len > 0) {
        uint64_t left = segment_left(list);
        uint64_t part = left < len ? left : len;

        if (!AMG_CONTRACT_OF("HG_Bulk_transfer", part > 0,
                "the segments end before the transfer does"))
            return;
        if (is_gather)
            bytes_copy(bytes, amg_seg_iter_at(list), part);
        else
            bytes_copy(amg_seg_iter_at(list), bytes, part);
        list->into += part;
        bytes += part;
        len -= part;
    }
}

void amg_seg_iter_gather(void *to, struct amg_seg_iter *from, uint64_t len)
{
    bytes_move(from, to, len, true);
}

void amg_seg_iter_scatter(
    struct amg_seg_iter *to, const void *from, uint64_t len)
{
    bytes_move(to, (char *)(uintptr_t)from, len, false);
}

void amg_seg_iter_copy(
    struct amg_seg_iter *to, struct amg_seg_iter *from, uint64_t len)
{
    void *to_at = NULL;
    void *from_at = NULL;
    uint64_t to_run = 0;
    uint64_t from_run = 0;

    while (len > 0) {
        uint64_t step = 0;

        if (to_run == 0)
            to_run = amg_seg_iter_take(to, len, &to_at);
        if (from_run == 0)
            from_run = amg_seg_iter_take(from, len, &from_at);
        step = to_run < from_run ? to_run : from_run;
        if (!AMG_CONTRACT_OF("HG_Bulk_transfer", step > 0,
                "the segments end before the transfer does"))
            return;
        memmove(to_at, from_at, step);
        to_at = (char *)to_at + step;
        from_at = (char *)from_at + step;
        to_run -= step;
        from_run -= step;
        len -= step;
    }
}

uint64_t amg_seg_iter_runs(
    const struct amg_seg_iter *iter, uint64_t len, uint64_t max)
{
    struct amg_seg_iter at = *iter;
    uint64_t runs = 0;

    while (len > 0 && runs < max) {
        void *from = NULL;
        uint64_t run = amg_seg_iter_take(&at, len, &from);

        if (run == 0)
            break;
        len -= run;
        runs++;
    }
    return runs;
}
