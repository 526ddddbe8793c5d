/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks except the target call the target, as fast as they can.
 *
 * Rank 1 is the target, as in a pair; rank 0 is one of the origins, and keeps
 * the results. A batch lasts a fixed time, in which the calls of each origin
 * are counted, so that an origin that gets less done than the others shows.
 * Each origin also calls for a while before and after its counted time, so that
 * all other origins call during that time, although ranks that share cores
 * start at different moments. At the end the ranks compare how many calls they
 * made with how many were served.
 *
 * Memory: before the calls, the program allocates its own buffers, into which
 * handlers pull and decode. So the difference between the target's peak and its
 * idle memory before these calls is memory of the library and of MPI. */
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"
#include "mercury_bulk.h"
#include "mercury_proc_bulk.h"

enum {
    TARGET = 1, /* the target of a pair, too */
    RANKS_MIN = 3,
    COUNTS_MS = 30,
    COUNTS_QUICK_MS = 20,
    COUNTS_SMOKE_MS = 2,
    EDGE_DIVISOR = 4, /* calls before and after: counted time / 4 */
    SAMPLES = 256,    /* of each origin, for the quantiles of a batch */
    SLOW_LEN = 16384, /* such calls take far longer than a clock read */
    WINDOW_SMOKE = 8,
    GBPS_LEN = 65536,            /* from here on rows are in GB/s */
    ROOM_LEN = 64 * 1024 * 1024, /* most memory, unless -w asks for more */
    PLACES = 8,                  /* buffers for pulls of the target */
    LARGE_LEN = 1 << 20,
    LARGE_WINDOW = 8,
    LARGE_MS = 150,
    LARGE_ROUNDS = 3,
    KIB_PER_MIB = 1024,
};

#define LIMIT_MIB 16.0

/* The row of a further figure of a batch, beside the rate. */
static const struct row fair_row = {
    .op = "incast_fair", .unit = "of 1", .better = "higher"};

/* The input of a call: none, bytes, or a bulk handle whose data the handler
 * pulls. */
enum load { NOTHING, INPUT, BULK, LOADS };

/* A place into which the target pulls. */
struct pull {
    struct incast *incast;
    unsigned place;
    hg_handle_t handle; /* of the call */
    hg_bulk_t remote;
};

/* State of the benchmark at a rank. */
struct incast {
    struct pair *team;
    unsigned counts_ms;
    enum load load;
    hg_id_t ids[LOADS];
    /* Of a batch: calls, and the sum of their numbers. */
    uint64_t asked[2];
    uint64_t served[2];
    /* At the target, for bulk data: a server with PLACES buffers. A call that
     * finds no free buffer waits, as a handle, until a buffer is free. */
    size_t len;
    hg_bulk_t landing; /* the places, one behind the other */
    struct pull pulls[PLACES];
    struct pull *free[PLACES];
    unsigned free_count;
    hg_handle_t *calls; /* a ring of `call_cap` calls that wait */
    unsigned call_cap;
    unsigned came;
    unsigned started;
    /* At an origin, for bulk data. */
    hg_bulk_t bulks[OPTIONS_WINDOW_MAX];
};

static unsigned origins_of(const struct pair *team)
{
    return (unsigned)team->world->size - 1;
}

/* Calls for `us`, and until at least `least` calls have ended in all. Returns
 * the time. */
static double calls_run(struct flight *flight, double us, uint64_t least)
{
    double start_us = clock_now_us();
    double now_us = start_us;

    while (now_us < start_us + us || flight->ended < least) {
        flight->look(flight);
        now_us = clock_now_us();
    }
    return now_us - start_us;
}

/* Calls for the counted time, and before and after. If no call was timed, the
 * mean time stands for all. */
static void origin_call(const struct incast *incast, struct flight *flight,
    size_t size, struct ways_slice *ret_slice)
{
    double counts_us = (double)incast->counts_ms * 1e3;
    double elapsed_us = 0.0;
    uint64_t base = 0;

    flight->timed_arg = ret_slice;
    flight->timed_every = size >= SLOW_LEN ? 1 : FLIGHT_TIMED_EVERY;
    flight->calls = UINT64_MAX;
    flight_start(flight);
    calls_run(flight, counts_us / EDGE_DIVISOR, 0);
    base = flight->ended;
    flight->timed = ways_timed;
    elapsed_us = calls_run(flight, counts_us, base + 1);
    flight->timed = NULL;
    ret_slice->kps = (double)(flight->ended - base) / elapsed_us * 1e3;
    if (ret_slice->sample_count == 0)
        ways_sample(ret_slice, 1e3 / ret_slice->kps);
    calls_run(flight, counts_us / EDGE_DIVISOR, 0);
    flight_stop(flight);
}

/* Collective end of a batch; the slice of the target has no calls. Jain's index
 * is 1 if all origins made as many calls, and 1 / origins if one origin made
 * all. Returns the time that duel->calls calls take at the rate of this
 * batch. */
static double batch_end(
    struct pair *team, struct duel *duel, const struct ways_slice *own)
{
    int size = team->world->size;
    unsigned origins = origins_of(team);
    struct ways_slice *all = pair_alloc(team, (size_t)size, sizeof(*all));
    double kps = 0.0;
    double squares = 0.0;

    MPI_Gather(own, sizeof(*own), MPI_BYTE, all, sizeof(*own), MPI_BYTE, 0,
        team->comm);
    for (int i = 0; i < size; i++) {
        kps += all[i].kps;
        squares += all[i].kps * all[i].kps;
    }
    /* Samples of each origin in turn. */
    for (unsigned i = 0; i < duel->calls && team->rank == 0; i++) {
        unsigned origin = i % origins;
        const struct ways_slice *slice =
            &all[origin < TARGET ? origin : origin + 1];
        unsigned kept = slice->sample_count < WAYS_SAMPLES ? slice->sample_count
                                                           : WAYS_SAMPLES;

        duel->samples[i] = slice->samples_us[i / origins % kept];
    }
    free(all);
    if (team->rank != 0)
        return 0.0;
    duel->more[0] = kps * kps / (origins * squares);
    return duel->calls / kps * 1e3;
}

static struct incast *incast_of(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);

    return HG_Registered_data(info->hg_class, info->id);
}

/* Counts a served call, and answers it. */
static hg_return_t call_answer(
    struct incast *incast, hg_handle_t handle, uint64_t number)
{
    incast->served[0]++;
    incast->served[1] += number;
    CHECK(incast->team, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t call_serve(hg_handle_t handle)
{
    struct incast *incast = incast_of(handle);
    struct pair *team = incast->team;
    struct payload input = {(uint32_t)team->room_len, team->landing};

    if (incast->load == NOTHING)
        return call_answer(incast, handle, 0);
    CHECK(team, HG_Get_input(handle, &input));
    HG_Free_input(handle, &input);
    return call_answer(
        incast, handle, head_check(team, team->landing, input.len).number);
}

static hg_return_t pull_ended(const struct hg_cb_info *info);

/* Starts as many of the waiting calls as there are free places. */
static void pulls_start(struct incast *incast)
{
    struct pair *team = incast->team;

    while (incast->free_count > 0 && incast->started < incast->came) {
        struct pull *pull = incast->free[--incast->free_count];

        pull->handle = incast->calls[incast->started++ % incast->call_cap];
        CHECK(team, HG_Get_input(pull->handle, &pull->remote));
        CHECK(
            team, HG_Bulk_transfer(team->context, pull_ended, pull,
                      HG_BULK_PULL, HG_Get_info(pull->handle)->addr,
                      pull->remote, 0, incast->landing,
                      pull->place * incast->len, incast->len, HG_OP_ID_IGNORE));
    }
}

static hg_return_t pull_ended(const struct hg_cb_info *info)
{
    struct pull *pull = info->arg;
    struct incast *incast = pull->incast;
    struct pair *team = incast->team;
    struct head head;

    pair_check(team, info->ret, "a pull");
    head = head_check(
        team, team->landing + pull->place * incast->len, incast->len);
    HG_Free_input(pull->handle, &pull->remote);
    call_answer(incast, pull->handle, head.number);
    incast->free[incast->free_count++] = pull;
    pulls_start(incast);
    return HG_SUCCESS;
}

static hg_return_t bulk_serve(hg_handle_t handle)
{
    struct incast *incast = incast_of(handle);

    incast->calls[incast->came++ % incast->call_cap] = handle;
    pulls_start(incast);
    return HG_SUCCESS;
}

static void calls_register(struct incast *incast)
{
    hg_class_t *cls = incast->team->cls;

    incast->ids[NOTHING] =
        HG_Register_name(cls, "incast null", NULL, NULL, call_serve);
    incast->ids[INPUT] =
        HG_Register_name(cls, "incast input", procs_payload, NULL, call_serve);
    incast->ids[BULK] = HG_Register_name(
        cls, "incast bulk", hg_proc_hg_bulk_t, NULL, bulk_serve);
    for (unsigned i = 0; i < LOADS; i++)
        HG_Register_data(cls, incast->ids[i], incast, NULL);
}

/* Exposes, at each rank, the places for pulls, which the target uses, and the
 * memory that calls name, which origins use. */
static void bulks_open(struct incast *incast, size_t len, unsigned window)
{
    struct pair *team = incast->team;
    void *landing = team->landing;
    hg_size_t landing_len = (hg_size_t)len * PLACES;

    incast->len = len;
    incast->call_cap = window * origins_of(team);
    incast->calls = pair_alloc(team, incast->call_cap, sizeof(*incast->calls));
    incast->came = incast->started = incast->free_count = 0;
    for (unsigned i = 0; i < PLACES; i++) {
        incast->pulls[i] = (struct pull){.incast = incast, .place = i};
        incast->free[incast->free_count++] = &incast->pulls[i];
    }
    CHECK(team, HG_Bulk_create(team->cls, 1, &landing, &landing_len,
                    HG_BULK_READWRITE, &incast->landing));
    for (unsigned i = 0; i < window; i++) {
        void *room = team->room + i * len;
        hg_size_t room_len = len;

        CHECK(team, HG_Bulk_create(team->cls, 1, &room, &room_len,
                        HG_BULK_READ_ONLY, &incast->bulks[i]));
    }
}

static void bulks_close(struct incast *incast, unsigned window)
{
    if (incast->started != incast->came || incast->free_count != PLACES)
        pair_fail(incast->team, "pulls are still under way at the end");
    CHECK(incast->team, HG_Bulk_free(incast->landing));
    for (unsigned i = 0; i < window; i++)
        CHECK(incast->team, HG_Bulk_free(incast->bulks[i]));
    free(incast->calls);
}

static void call_post(struct flight_slot *slot)
{
    const struct duel *duel = slot->flight->arg;
    struct incast *incast = duel->arg;
    struct pair *team = incast->team;
    unsigned char *room = team->room + slot->number * duel->size;
    struct payload payload = {(uint32_t)duel->size, room};
    void *inputs[LOADS] = {NULL, &payload, &incast->bulks[slot->number]};
    uint64_t number = incast->asked[0]++;

    if (incast->load != NOTHING) {
        head_write(team, number, slot->number, room);
        incast->asked[1] += number;
    }
    CHECK(team, HG_Forward(slot->handle, flight_call_ended, slot,
                    inputs[incast->load]));
}

/* One batch of calls; `ret_slice` stays as it is at the target. */
static void calls_make(
    struct pair *team, struct duel *duel, struct ways_slice *ret_slice)
{
    struct incast *incast = duel->arg;
    struct flight flight = {team, .arg = duel, .post = call_post,
        .look = flight_turn, .window = duel->window};

    memset(incast->asked, 0, sizeof(incast->asked));
    memset(incast->served, 0, sizeof(incast->served));
    for (unsigned i = 0; i < duel->window; i++)
        head_fill(team, team->room + i * duel->size, duel->size);
    flight_handles(&flight, incast->ids[incast->load]);
    pair_barrier_serving(team);
    if (team->rank != TARGET)
        origin_call(incast, &flight, duel->size, ret_slice);
    flight_handles_free(&flight);
    pair_barrier_serving(team);
    served_verify(team, team->comm, incast->asked, incast->served);
}

static double calls_batch(struct pair *team, struct duel *duel)
{
    struct ways_slice slice = {.kps = 0.0};

    calls_make(team, duel, &slice);
    return batch_end(team, duel, &slice);
}

static double control_batch(struct pair *team, struct duel *duel)
{
    bool is_target = team->rank == TARGET;
    size_t len = duel->size == 0 ? HEAD_LEN : duel->size;
    struct mpi_calls calls;
    struct ways_slice slice = {.kps = 0.0};

    mpi_calls_open(&calls, team, team->comm, len, is_target ? 0 : duel->window,
        is_target ? mpi_serve_places(team, duel->window) : 0);
    pair_barrier(team);
    if (!is_target)
        origin_call(duel->arg, &calls.flight, len, &slice);
    mpi_calls_close(&calls);
    return batch_end(team, duel, &slice);
}

/* For sizes of --size, the larger windows may need too much memory. */
static void window_run(struct incast *incast, size_t size, unsigned window)
{
    struct pair *team = incast->team;
    unsigned ranks = origins_of(team) + 1;
    size_t room = mpi_serve_places(team, window) *
                  (size < HEAD_LEN ? (size_t)HEAD_LEN : size);
    struct duel duel = {"incast", "mpi",
        "the same by bare MPI: each origin MPI_Isend of as many bytes "
        "(24 for the null call) and MPI_Irecv of 24 B, as many in "
        "flight; the target up to 64 receives from MPI_ANY_SOURCE, "
        "MPI_Isend, MPI_Testsome",
        .size = size, .window = window, .calls = ranks * SAMPLES,
        .ranks = ranks, .peers = ranks - 2,
        .figure = size < GBPS_LEN ? DUEL_KPS : DUEL_GBPS,
        .ours = {calls_batch, incast, .enters = true},
        .control = {control_batch, incast}, .more_rows = &fair_row,
        .more_count = 1};

    if (window > 1 && team->options->window == 0 && room > ROOM_LEN) {
        pair_say(team,
            "incast of %zu B, %u at once, is left out: it takes %zu MiB; "
            "-w %u takes it nevertheless",
            size, window, room >> 20, window);
        return;
    }
    incast->load = size == 0 ? NOTHING : INPUT;
    pair_need_room(team, room);
    duel_run(team, &duel);
}

static void size_run(struct incast *incast, size_t size)
{
    static const unsigned windows[] = {1, 8, 64};
    const struct options *options = incast->team->options;

    if (size > 0 && size < HEAD_LEN)
        size = HEAD_LEN;
    for (unsigned i = 0; i < 3 && options->window == 0; i++)
        if (!options->is_smoke || windows[i] == WINDOW_SMOKE)
            window_run(incast, size, windows[i]);
    if (options->window != 0)
        window_run(incast, size, options->window);
}

/* Rank 0 adds a row of the rise of the target's peak while large arguments
 * come. */
static void memory_run(struct incast *incast, enum load load)
{
    struct pair *team = incast->team;
    struct duel duel = {
        .size = LARGE_LEN, .window = LARGE_WINDOW, .arg = incast};
    struct row row = {load == BULK ? "incast_memory" : "incast_mem_in",
        .size = LARGE_LEN, .window = LARGE_WINDOW,
        .ranks = origins_of(team) + 1, .peers = origins_of(team) - 1,
        .unit = "MiB", .against = "limit",
        .control = "16 MiB, which it may take", .control_value = LIMIT_MIB,
        .batches = LARGE_ROUNDS};
    struct ways_slice slice = {.kps = 0.0};
    double idle = 0.0;

    if (limit_is_over(team->comm))
        return;
    incast->load = load;
    row.value = -1.0; /* the kernel does not tell */
    pair_enter(team);
    bulks_open(incast, LARGE_LEN, LARGE_WINDOW);
    if (team->rank == TARGET && smaps_peak_reset())
        idle = smaps_peak();
    for (unsigned i = 0; i < LARGE_ROUNDS; i++) {
        team->seed++;
        guard_step("round %u of large arguments from all", i);
        calls_make(team, &duel, &slice);
    }
    if (idle > 0.0)
        row.value = (smaps_peak() - idle) / KIB_PER_MIB;
    bulks_close(incast, LARGE_WINDOW);
    pair_leave(team);
    guard_rest();
    MPI_Bcast(&row.value, 1, MPI_DOUBLE, TARGET, team->comm);
    if (row.value >= 0.0)
        pair_value(team, &row);
    else
        pair_say(team, "the peak of memory is left out: the kernel does not "
                       "tell it (/proc/self/clear_refs, VmHWM)");
}

void bench_incast(struct pair *pair)
{
    static const size_t sizes[] = {0, 1024, 65536};
    const struct options *options = pair->options;
    struct pair team;
    struct incast incast = {.team = &team};

    if (pair->world->size < RANKS_MIN) {
        pair_say(pair, "incast is left out: of two ranks only one can call: "
                       "start it with -n 4 or more");
        return;
    }
    if (!team_open(&team, pair))
        return;
    calls_register(&incast);
    incast.counts_ms =
        options_pick(options, COUNTS_MS, COUNTS_QUICK_MS, COUNTS_SMOKE_MS);
    for (unsigned i = 0; i < (options->size != NULL ? 1 : 3); i++)
        size_run(&incast, options->size != NULL ? *options->size : sizes[i]);
    incast.counts_ms = options->is_smoke ? COUNTS_SMOKE_MS : LARGE_MS;
    pair_need_room(&team, (size_t)LARGE_LEN * LARGE_WINDOW);
    memory_run(&incast, BULK);
    memory_run(&incast, INPUT);
    team_close(&team);
}
