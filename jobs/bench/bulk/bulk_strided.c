/* SPDX-License-Identifier: BSD-3-Clause */
/* What gaps cost: blocks that lie apart, beside the same bytes in one piece. */
#include "jobs/bench/bulk/bulk.h"
#include "jobs/bench/bulk/bulk_move.h"

enum { KIB = 1024, MANY = 100000, MANY_BLOCK = 8, MANY_CALLS = 8 };

static const struct layout {
    const char *ops[2]; /* pull, push */
    uint32_t blocks;
    size_t block;
    size_t far_stride;
    size_t near_stride;
    unsigned calls; /* in a batch; 0: as others of the size */
} layouts[] = {
    {{"strided_pull", "strided_push"}, KIB, 4 * KIB, 8 * KIB, 4 * KIB, 0},
    {{"strided2_pull", "strided2_push"}, KIB, 4 * KIB, 8 * KIB, 8 * KIB, 0},
    {{"blocks8_pull", "blocks8_push"}, MANY, MANY_BLOCK, 2 * MANY_BLOCK,
        MANY_BLOCK, MANY_CALLS},
};

enum { LAYOUT_COUNT = sizeof(layouts) / sizeof(layouts[0]) };

/* duel->more of these rows. */
struct match {
    struct bulk apart;
    struct bulk whole;
};

size_t bulk_strided_room(void)
{
    size_t len = 0;

    for (unsigned i = 0; i < LAYOUT_COUNT; i++)
        if (layouts[i].blocks * layouts[i].far_stride > len)
            len = layouts[i].blocks * layouts[i].far_stride;
    return len;
}

static double apart_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;

    return bulk_move_run(pair, duel, &match->apart, ret_samples);
}

static double whole_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;

    return bulk_move_run(pair, duel, &match->whole, ret_samples);
}

static unsigned calls_of(
    const struct pair *pair, const struct layout *layout, size_t size)
{
    if (pair->options->calls == 0 && layout->calls != 0)
        return layout->calls;
    return bulk_calls(pair, size, 1);
}

static void match_run(
    struct pair *pair, struct match *match, const struct layout *layout)
{
    size_t size = match->whole.shape.block;
    struct duel duel = {
        .ours = apart_batch,
        .control = whole_batch,
        .size = size,
        .window = 1,
        .calls = calls_of(pair, layout, size),
        .batches = pair->options->batches,
        .figure = DUEL_GBPS,
        .context = DUEL_CONTEXT_BOTH,
        .more = match,
    };
    struct row row = {
        .bench = "bulk",
        .op = layout->ops[match->whole.is_push],
        .memory = bulk_memory(&match->apart),
        .against = "contiguous",
        .control = "the same transfer of as many bytes that lie in one piece "
                   "at both ends",
    };

    duel_run(pair, &duel, &row);
}

static void layout_run(struct pair *pair, const struct layout *layout,
    bool is_library, const struct like *like)
{
    size_t len = layout->blocks * layout->block;
    struct bulk_shape apart = {is_library, layout->blocks, layout->block,
        layout->far_stride, layout->near_stride};
    struct bulk_shape whole = {is_library, 1, len, len, len};
    struct match match;

    bulk_open(pair, &apart, like, &match.apart);
    bulk_open(pair, &whole, like, &match.whole);
    for (unsigned direction = 0; direction < 2; direction++) {
        match.apart.is_push = match.whole.is_push = direction == 1;
        match_run(pair, &match, layout);
    }
    bulk_close(pair, &match.whole);
    bulk_close(pair, &match.apart);
}

void bulk_strided_run(struct pair *pair, const struct like *like)
{
    for (unsigned is_library = 0; is_library < 2; is_library++)
        for (unsigned i = 0; i < LAYOUT_COUNT; i++)
            layout_run(pair, &layouts[i], is_library == 1, like);
}
