/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast one rank pulls from exposed memory of the other, and pushes to it.
 *
 * The exposed memory is the program's own, or the library's; each has the
 * controls that do the least work for it: what MPI does with messages, or with
 * windows where the library uses such, and what a node can do without MPI. */
#include "jobs/bench/bulk/bulk.h"

#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/bulk/bulk_move.h"
#include "jobs/bench/bulk/bulk_near.h"
#include "jobs/bench/bulk/bulk_stream.h"
#include "jobs/bench/bulk/bulk_window.h"
#include "jobs/bench/fabric/fabric.h"

enum { WINDOW = 4, ROUND_SIZE_MAX = 4096, KIB = 1024, MIB = 1024 * KIB };

static const unsigned windows[] = {1, WINDOW, 16};
static const size_t sizes[] = {4, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB,
    MIB, 4 * MIB, 16 * MIB, 64 * MIB};
static const size_t quick_sizes[] = {4, 4 * KIB, 64 * KIB, 4 * MIB};
static const size_t smoke_sizes[] = {4, 4 * KIB, 64 * KIB};

enum {
    WINDOW_COUNT = sizeof(windows) / sizeof(windows[0]),
    SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]),
    QUICK_SIZE_COUNT = sizeof(quick_sizes) / sizeof(quick_sizes[0]),
    SMOKE_SIZE_COUNT = sizeof(smoke_sizes) / sizeof(smoke_sizes[0]),
};

/* What a row is compared with. */
struct against {
    const char *name;
    const char *text;
    duel_batch_fn control;
    enum duel_figure figure;
};

static const struct against stream_against = {
    "mpi", BULK_STREAM_TEXT, bulk_stream, DUEL_GBPS};
static const struct against fabric_against = {
    "libfabric", FABRIC_BULK_TEXT, fabric_bulk, DUEL_GBPS};
static const struct against round_against = {
    "round_trip", BULK_ROUND_TEXT, bulk_round, DUEL_US};
static const struct against fixed_against = {
    "win_create", BULK_FIXED_TEXT, bulk_window, DUEL_GBPS};
static const struct against dynamic_against = {
    "win_dynamic", BULK_DYNAMIC_TEXT, bulk_window, DUEL_GBPS};
static const struct against cross_against = {
    "process_vm", BULK_CROSS_TEXT, bulk_cross, DUEL_GBPS};
static const struct against copy_against = {
    "memcpy", BULK_COPY_TEXT, bulk_copy, DUEL_GBPS};

void bulk_sizes_get(const struct pair *pair, struct bulk_sizes *ret_sizes)
{
    static size_t asked;
    const struct options *options = pair->options;

    if (options->size != NULL && *options->size != 0) {
        asked = *options->size;
        *ret_sizes = (struct bulk_sizes){&asked, 1};
    } else if (options->is_smoke)
        *ret_sizes = (struct bulk_sizes){smoke_sizes, SMOKE_SIZE_COUNT};
    else if (options->is_quick)
        *ret_sizes = (struct bulk_sizes){quick_sizes, QUICK_SIZE_COUNT};
    else
        *ret_sizes = (struct bulk_sizes){sizes, SIZE_COUNT};
}

static void row_run(struct pair *pair, struct bulk *bulk, size_t size,
    unsigned window, const struct against *against)
{
    struct duel duel = {
        .ours = bulk_move,
        .control = against->control,
        .size = size,
        .window = window,
        .calls = bulk_calls(pair, size, window),
        .batches = pair->options->batches,
        .figure = against->figure,
        .context = against == &cross_against || against == &copy_against
                       ? DUEL_CONTEXT_BOTH
                       : DUEL_CONTEXT_OURS,
        .more = bulk,
    };
    struct row row = {
        .bench = "bulk",
        .op = bulk->is_push ? "bulk_push" : "bulk_pull",
        .memory = bulk_memory(bulk),
        .against = against->name,
        .control = against->text,
    };

    if (window * size <= pair->room_len)
        duel_run(pair, &duel, &row);
}

/* One at a time and several, or as many as were asked for. */
static void windows_run(struct pair *pair, struct bulk *bulk, size_t size,
    const struct against *against)
{
    const struct options *options = pair->options;

    if (options->window > 0)
        row_run(pair, bulk, size, options->window, against);
    for (unsigned i = 0; options->window == 0 && i < WINDOW_COUNT; i++)
        if (windows[i] <= WINDOW || !(options->is_smoke || options->is_quick))
            row_run(pair, bulk, size, windows[i], against);
}

/* What goes through MPI also within a node is compared with MPI alone. */
static bool is_by_mpi(const struct pair *pair)
{
    return strcmp(pair->via, "mpi") == 0;
}

static void size_run(struct pair *pair, struct bulk *bulk, size_t size)
{
    bool is_library = bulk->shape.is_library;

    if (fabric_is_way(pair)) {
        windows_run(pair, bulk, size, &fabric_against);
        return;
    }
    if (bulk->window != NULL)
        windows_run(
            pair, bulk, size, is_library ? &fixed_against : &dynamic_against);
    else
        windows_run(pair, bulk, size, &stream_against);
    if (size <= ROUND_SIZE_MAX)
        row_run(pair, bulk, size, 1, &round_against);
    if (bulk->far_pid != 0)
        row_run(pair, bulk, size, 1, &cross_against);
    if (is_library && bulk->like->is_shared && !is_by_mpi(pair))
        row_run(pair, bulk, size, 1, &copy_against);
}

/* The rows of one kind of memory, in both directions. */
static void memory_run(struct pair *pair, bool is_library,
    const struct like *like, const struct bulk_window *window)
{
    size_t len = pair->room_len;
    struct bulk_shape shape = {is_library, 1, len, len, len};
    struct bulk_sizes all;
    struct bulk bulk;

    bulk_sizes_get(pair, &all);
    bulk_open(pair, &shape, like, &bulk);
    bulk.window = window;
    if (!is_library && !is_by_mpi(pair) && !fabric_is_way(pair))
        bulk_cross_init(pair, &bulk);
    for (unsigned direction = 0; direction < 2; direction++) {
        bulk.is_push = direction == 1;
        for (unsigned i = 0; i < all.count; i++)
            size_run(pair, &bulk, all.sizes[i]);
    }
    bulk_close(pair, &bulk);
}

/* Do the transfers go through windows of MPI, because that was asked for? */
static bool has_windows(const struct pair *pair)
{
    size_t len = strlen(pair->transport);

    return len >= 4 && strcmp(pair->transport + len - 4, "+rma") == 0;
}

/* So much that the longest fit, and several of the others. */
static size_t room_needed(const struct pair *pair)
{
    unsigned window =
        pair->options->window > WINDOW ? pair->options->window : WINDOW;
    struct bulk_sizes all;
    size_t longest = 0;
    size_t len = 0;

    bulk_sizes_get(pair, &all);
    longest = all.sizes[all.count - 1];
    len =
        longest <= sizes[SIZE_COUNT - 1] / window ? window * longest : longest;
    if (pair->options->size == NULL && len < bulk_strided_room())
        len = bulk_strided_room();
    return len;
}

void bench_bulk(struct pair *pair)
{
    struct bulk_window windows[2]; /* the program's memory, the library's */
    struct like like;

    pair_need_room(pair, room_needed(pair));
    like_open(pair, pair->room_len, &like);
    for (unsigned i = 0; has_windows(pair) && i < 2; i++)
        bulk_window_open(pair,
            i == 1 ? BULK_WINDOW_CREATED : BULK_WINDOW_DYNAMIC,
            i == 1 ? like.base : pair->landing, pair->room_len, &windows[i]);
    for (unsigned i = 0; i < 2; i++)
        memory_run(pair, i == 1, &like, has_windows(pair) ? &windows[i] : NULL);
    if (pair->options->size == NULL)
        bulk_strided_run(pair, &like);
    for (unsigned i = 0; has_windows(pair) && i < 2; i++)
        bulk_window_close(pair, &windows[i]);
    if (bulk_choice_is_made(pair))
        bulk_choice_run(pair, &like);
    like_close(&like);
    pair_free_room(pair);
}
