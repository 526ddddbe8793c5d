/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulls from exposed memory of the other rank, and pushes to it.
 *
 * The exposed memory is the program's own, or the library's. For each kind of
 * memory the controls do the least work: MPI with messages, or with windows if
 * the library uses windows, and what a node can do without MPI. Blocks with
 * gaps are compared with as many bytes in one piece. If the library chooses how
 * bytes move, its choice is compared with each way that a user can ask for. */
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/raw/bulk.h"
#include "jobs/bench/raw/fabric.h"

enum {
    WINDOW = 4,
    ROUND_SIZE_MAX = 4096,
    KIB = 1024,
    MIB = 1024 * KIB,
    SIZE_LAST = 64 * MIB,
};

/* Sizes of rows, ended by a 0. */
static const size_t sizes[] = {4, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB,
    MIB, 4 * MIB, 16 * MIB, SIZE_LAST, 0};
static const size_t quick_sizes[] = {4, 4 * KIB, 64 * KIB, 4 * MIB, 0};
static const size_t smoke_sizes[] = {4, 4 * KIB, 64 * KIB, 0};
static const size_t choice_sizes[] = {64 * KIB, 4 * KIB, MIB, 16 * MIB};
static const unsigned windows[] = {1, WINDOW, 16};

/* The control of a row. */
struct against {
    const char *name;
    const char *text;
    duel_batch_fn control;
    enum duel_figure figure;
    bool is_open;      /* the control is not MPI: a context may be open */
    struct bulk *bulk; /* what the control moves; NULL: as the row */
    struct pair *pair; /* whose context it uses; NULL: as the row */
};

static const char *const bulk_ops[] = {"bulk_pull", "bulk_push"};

static const struct against by_stream = {"mpi", BULK_STREAM_TEXT, bulk_stream,
                                .figure = DUEL_GBPS},
                            by_fabric = {"libfabric", FABRIC_BULK_TEXT,
                                fabric_bulk, .figure = DUEL_GBPS},
                            by_round = {"round_trip", BULK_ROUND_TEXT,
                                bulk_round, .figure = DUEL_US},
                            by_fixed = {"win_create", BULK_FIXED_TEXT,
                                bulk_window, .figure = DUEL_GBPS},
                            by_dynamic = {"win_dynamic", BULK_DYNAMIC_TEXT,
                                bulk_window, .figure = DUEL_GBPS},
                            by_cross = {"process_vm", BULK_CROSS_TEXT,
                                bulk_cross, .figure = DUEL_GBPS,
                                .is_open = true},
                            by_copy = {"memcpy", BULK_COPY_TEXT, bulk_copy,
                                .figure = DUEL_GBPS, .is_open = true};

/* The sizes of rows, ended by a 0. */
static const size_t *sizes_of(const struct options *options)
{
    static size_t asked[2];

    asked[0] = options->size == NULL ? 0 : *options->size;
    if (asked[0] != 0)
        return asked;
    if (options->is_smoke)
        return smoke_sizes;
    return options->is_quick ? quick_sizes : sizes;
}

/* `ops` are the names of a pull and of a push. */
static void row_run(struct pair *pair, const char *const ops[2],
    struct bulk *bulk, size_t size, unsigned window,
    const struct against *against)
{
    struct bulk *other = against->bulk == NULL ? bulk : against->bulk;
    struct duel duel = {ops[bulk->is_push], against->name, against->text,
        .memory = bulk->shape.is_library ? "library" : "host", .size = size,
        .window = window, .calls = bulk_calls(size, window),
        .warm = bulk_warm(size), .figure = against->figure,
        .is_open = against->is_open,
        .ours = {bulk_move, bulk, .enters = !against->is_open},
        .control = {against->control, other, .pair = against->pair,
            .enters = against->pair != NULL}};

    other->is_push = bulk->is_push;
    if (window * size <= pair->room_len)
        duel_run(pair, &duel);
}

/* Rows with one and with several transfers in flight, or with as many as -w
 * says. */
static void windows_run(struct pair *pair, struct bulk *bulk, size_t size,
    const struct against *against)
{
    const struct options *options = pair->options;

    if (options->window > 0)
        row_run(pair, bulk_ops, bulk, size, options->window, against);
    for (unsigned i = 0; options->window == 0 && i < 3; i++)
        if (windows[i] <= WINDOW || !(options->is_smoke || options->is_quick))
            row_run(pair, bulk_ops, bulk, size, windows[i], against);
}

static void size_run(struct pair *pair, struct bulk *bulk, size_t size)
{
    bool is_library = bulk->shape.is_library;

    if (fabric_is_way(pair)) {
        windows_run(pair, bulk, size, &by_fabric);
        return;
    }
    if (bulk->window != NULL)
        windows_run(pair, bulk, size, is_library ? &by_fixed : &by_dynamic);
    else
        windows_run(pair, bulk, size, &by_stream);
    if (size <= ROUND_SIZE_MAX)
        row_run(pair, bulk_ops, bulk, size, 1, &by_round);
    if (bulk->far_pid != 0)
        row_run(pair, bulk_ops, bulk, size, 1, &by_cross);
    /* Transfers through MPI within a node are compared with MPI alone. */
    if (is_library && bulk->like->is_shared && strcmp(pair->via, "mpi") != 0)
        row_run(pair, bulk_ops, bulk, size, 1, &by_copy);
}

/* The rows of one kind of memory, in both directions. */
static void memory_run(struct pair *pair, bool is_library,
    const struct like *like, const struct bulk_window *window)
{
    size_t len = pair->room_len;
    struct bulk_shape shape = {is_library, 1, len, len, len};
    struct bulk bulk;

    bulk_open(pair, &shape, like, &bulk);
    bulk.window = window;
    if (!is_library && strcmp(pair->via, "mpi") != 0 && !fabric_is_way(pair))
        bulk_cross_init(pair, &bulk);
    for (unsigned direction = 0; direction < 2; direction++) {
        bulk.is_push = direction == 1;
        for (const size_t *size = sizes_of(pair->options); *size != 0; size++)
            size_run(pair, &bulk, *size);
    }
    bulk_close(pair, &bulk);
}

/* Blocks with gaps between them at the target, or at the caller, too. */
static const struct layout {
    const char *ops[2]; /* pull, push */
    size_t near_stride;
} layouts[] = {
    {{"strided_pull", "strided_push"}, 4 * KIB},
    {{"strided2_pull", "strided2_push"}, 8 * KIB},
};

enum {
    BLOCKS = KIB,
    BLOCK = 4 * KIB,
    FAR_STRIDE = 8 * KIB,
    STRIDED_ROOM = BLOCKS * FAR_STRIDE,
};

static void layout_run(struct pair *pair, const struct layout *layout,
    bool is_library, const struct like *like)
{
    size_t len = (size_t)BLOCKS * BLOCK;
    struct bulk_shape gaps = {
        is_library, BLOCKS, BLOCK, FAR_STRIDE, layout->near_stride};
    struct bulk_shape piece = {is_library, 1, len, len, len};
    struct bulk apart;
    struct bulk whole;
    struct against against = {"contiguous",
        "the same transfer of as many bytes that lie in one piece at both ends",
        bulk_move, .figure = DUEL_GBPS, .is_open = true, .bulk = &whole};

    bulk_open(pair, &gaps, like, &apart);
    bulk_open(pair, &piece, like, &whole);
    row_run(pair, layout->ops, &apart, len, 1, &against);
    apart.is_push = true;
    row_run(pair, layout->ops, &apart, len, 1, &against);
    bulk_close(pair, &whole);
    bulk_close(pair, &apart);
}

static bool is_named(const struct pair *pair, const char *name)
{
    const char *asked = pair->options->transport;

    return strcmp(asked == NULL ? "auto" : asked, name) == 0;
}

static void choice_memory_run(struct pair *pair, struct pair *asked_pair,
    bool is_library, const struct like *like)
{
    static const char *const ops[] = {"choice_pull", "choice_push"};
    const unsigned *only = pair->options->size;
    bool is_one = only != NULL && *only > 0;
    size_t len = pair->room_len;
    struct bulk_shape shape = {is_library, 1, len, len, len};
    struct bulk chosen;
    struct bulk asked;
    struct against against = {asked_pair->transport,
        "the same transfers in a class over the transport that is named; the "
        "best of them counts",
        bulk_move, .figure = DUEL_GBPS, .bulk = &asked, .pair = asked_pair};

    bulk_open(pair, &shape, like, &chosen);
    bulk_open(asked_pair, &shape, like, &asked);
    for (unsigned direction = 0; direction < 2; direction++) {
        chosen.is_push = direction == 1;
        for (unsigned i = 0; i < (is_one ? 1 : 4); i++)
            if (options_takes(pair->options, i))
                row_run(pair, ops, &chosen, is_one ? *only : choice_sizes[i],
                    WINDOW, &against);
    }
    bulk_close(asked_pair, &asked);
    bulk_close(pair, &chosen);
}

/* Compares the choice with a class over one way, open during all rows. Only the
 * class that moves bytes has a context; both classes use the same memory. */
static void way_run(struct pair *pair, const char *way, const struct like *like)
{
    struct pair asked;

    pair_copy(pair, &asked);
    if (!pair_open(&asked, way)) {
        pair_say(pair,
            "the rows against %s are left out: there is no such way here", way);
        return;
    }
    asked.room = pair->room;
    asked.landing = pair->landing;
    asked.room_len = pair->room_len;
    for (unsigned is_library = 0; is_library < 2; is_library++)
        choice_memory_run(pair, &asked, is_library == 1, like);
    asked.room = NULL;
    asked.landing = NULL;
    pair_close(&asked);
}

/* The smallest of the ratios tells how close the choice is to the best way. */
static void choice_run(struct pair *pair, const struct like *like)
{
    static const char *const ways[] = {"shm", "mpi+p2p", "mpi+rma"};

    if (!is_named(pair, "auto") && !is_named(pair, "mpi"))
        return;
    for (unsigned i = 0; i < 3; i++)
        if (i > 0 || (is_named(pair, "auto") && strcmp(pair->via, "shm") == 0))
            way_run(pair, ways[i], like);
}

/* Do the transfers go through windows of MPI, because that was asked for? */
static bool has_windows(const struct pair *pair)
{
    size_t len = strlen(pair->transport);

    return len >= 4 && strcmp(pair->transport + len - 4, "+rma") == 0;
}

/* Room for the longest transfer, and for several of the others. */
static size_t room_needed(const struct pair *pair)
{
    const struct options *options = pair->options;
    unsigned window = options->window > WINDOW ? options->window : WINDOW;
    size_t len = 0;

    for (const size_t *size = sizes_of(options); *size != 0; size++)
        len = *size;
    if (len <= SIZE_LAST / window)
        len *= window;
    if (options->size == NULL && len < STRIDED_ROOM)
        len = STRIDED_ROOM;
    return len;
}

void bench_bulk(struct pair *pair)
{
    struct bulk_window all[2]; /* the program's memory, the library's */
    bool has_all = has_windows(pair);
    struct like like;

    pair_need_room(pair, room_needed(pair));
    like_open(pair, pair->room_len, &like);
    for (unsigned i = 0; has_all && i < 2; i++)
        bulk_window_open(pair, i == 0, i == 1 ? like.base : pair->landing,
            pair->room_len, &all[i]);
    for (unsigned i = 0; i < 2; i++)
        memory_run(pair, i == 1, &like, has_all ? &all[i] : NULL);
    for (unsigned i = 0; pair->options->size == NULL && i < 4; i++)
        layout_run(pair, &layouts[i % 2], i >= 2, &like);
    for (unsigned i = 0; has_all && i < 2; i++)
        bulk_window_close(pair, &all[i]);
    choice_run(pair, &like);
    like_close(&like);
    pair_free_room(pair);
}
