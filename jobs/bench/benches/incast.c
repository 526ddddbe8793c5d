/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks but one call that one, as fast as they can.
 *
 * Rank 1 is the target, as of a pair, and rank 0 is one of the origins and
 * keeps the results. A batch lasts a fixed time, and each origin's calls are
 * counted; so it is seen when one gets less done than the others. An origin
 * calls a little longer than what counts, before and after, so all others call,
 * too, during what counts of each, although they do not start at the same
 * moment where ranks share cores. At the end the ranks compare how many calls
 * they made with how many were served.
 *
 * Memory: all that the program itself needs is there before, as the buffers
 * into which handlers pull, and decode. So what the process has at its peak
 * beyond what it had idle, before the first of these calls, is the library's,
 * and MPI's. */
#include <math.h>
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
    MORE_US = 100, /* at a time, while nothing has ended yet */
    US_PER_MS = 1000,
    EDGE_DIVISOR = 4, /* so much of what counts goes before, and comes after */
    SAMPLES = 256,    /* of each origin, for the quantiles of a batch */
    SLOW_LEN = 16384, /* calls of so much take far longer than a look */
    WINDOW_SMOKE = 8,
    GBPS_LEN = 65536,            /* from here on bytes are what counts */
    ROOM_LEN = 64 * 1024 * 1024, /* no more than this, but where asked for */
    PLACES = 8,                  /* into which the target pulls at once */
    LARGE_LEN = 1 << 20,
    LARGE_WINDOW = 8,
    LARGE_MS = 150,
    LARGE_ROUNDS = 3,
    KIB_PER_MIB = 1024,
};

#define LIMIT_MIB 16.0

/* Further figures of a batch, beside the rate; a row of each. */
static const struct row more_rows[] = {
    {.op = "incast_fair", .unit = "of 1", .better = "higher"},
    {.op = "incast_slow", .unit = "of 1", .better = "higher"},
    {.op = "incast_p99", .unit = "us", .better = "lower"},
};

enum { FAIR, SLOWEST, P99, FIGURES };

/* The time in which an origin calls, and what it got done. */
struct stint {
    double now_us; /* as of the last look */
    double from_us;
    double until_us; /* what ends between these two counts */
    double end_us;
    uint64_t base; /* calls that had ended before */
    uint64_t counted;
    double samples[2 * SAMPLES]; /* of what counted; evenly chosen */
    unsigned kept;
    unsigned step;  /* of so many timed calls one is kept */
    unsigned timed; /* since the last one that was */
};

/* The report of one origin to rank 0. */
struct report {
    double kps;
    double samples[SAMPLES];
};

/* A call that is pulled, or waits; owned by itself until it is answered. */
struct pull {
    struct incast *incast;
    struct pull *next;
    hg_handle_t handle;
    hg_bulk_t remote;
    unsigned place;
};

/* All ranks have the same. */
struct incast {
    struct pair *team;
    unsigned counts_ms;
    bool is_bulk; /* calls name bulk data, which the handler pulls; else they
                   * carry duel->size bytes, or nothing */
    hg_id_t null_id;
    hg_id_t input_id;
    hg_id_t bulk_id;
    /* Of a batch: calls, and the sum of their numbers. */
    uint64_t asked[2];
    uint64_t served[2];
    /* The target's, of bulk data: a server that has so many buffers and no
     * more. A call that finds none free waits, as a handle, until one is. */
    size_t len;
    hg_bulk_t landing; /* the places, one behind the other */
    unsigned free_places[PLACES];
    unsigned free_count;
    struct pull *first; /* those that wait, oldest first */
    struct pull **last; /* where the next one goes */
    /* An origin's, of bulk data. */
    hg_bulk_t bulks[OPTIONS_WINDOW_MAX];
};

static unsigned origins_of(const struct pair *team)
{
    return (unsigned)team->world->size - 1;
}

/* Keeps one of `step`; when there is no more room, every second one goes, and
 * of those to come twice as few are kept. */
static void sample_keep(struct flight *flight, double us)
{
    struct stint *stint = flight->timed_arg;

    if (stint->now_us < stint->from_us || stint->now_us >= stint->until_us ||
        ++stint->timed < stint->step)
        return;
    stint->timed = 0;
    stint->samples[stint->kept++] = us;
    if (stint->kept < 2 * SAMPLES)
        return;
    for (unsigned i = 0; i < SAMPLES; i++)
        stint->samples[i] = stint->samples[2 * i];
    stint->kept = SAMPLES;
    stint->step *= 2;
}

/* Calls for its time, at least until one call has counted. */
static void stint_run(struct stint *ret_stint, struct flight *flight,
    unsigned counts_ms, size_t size)
{
    struct stint *stint = ret_stint;
    double counts_us = (double)counts_ms * US_PER_MS;
    double now_us = clock_now_us();

    *stint = (struct stint){.now_us = now_us, .step = 1};
    stint->from_us = now_us + counts_us / EDGE_DIVISOR;
    stint->until_us = stint->from_us + counts_us;
    stint->end_us = stint->until_us + counts_us / EDGE_DIVISOR;
    flight->timed = sample_keep;
    flight->timed_arg = stint;
    flight->timed_every = size >= SLOW_LEN ? 1 : FLIGHT_TIMED_EVERY;
    flight->calls = UINT64_MAX;
    flight_start(flight);
    while (stint->now_us < stint->end_us) {
        flight->look(flight);
        stint->now_us = clock_now_us();
        if (stint->now_us < stint->from_us)
            stint->base = flight->ended;
        else if (stint->now_us < stint->until_us || stint->counted == 0)
            stint->counted = flight->ended - stint->base;
        if (stint->now_us >= stint->until_us && stint->counted == 0)
            stint->until_us = stint->end_us = stint->now_us + MORE_US;
    }
    flight_stop(flight);
}

/* If too few ended for one of them to be timed, their mean stands for all.
 */
static void report_fill(const struct stint *stint, struct report *ret_report)
{
    double counts_us = stint->until_us - stint->from_us;
    double counted = (double)stint->counted;

    ret_report->kps = counted / counts_us * 1e3;
    for (unsigned i = 0; i < SAMPLES; i++)
        ret_report->samples[i] =
            stint->kept == 0
                ? counts_us / counted
                : stint->samples[(size_t)i * stint->kept / SAMPLES];
}

/* The rate of all, Jain's index (1 when all got the same done, 1 / origins when
 * one got everything), and what the slowest origin got done / the fastest. */
static double rates_sum(
    const struct report *reports, int size, double *ret_more)
{
    double kps = 0.0;
    double squares = 0.0;
    double least = INFINITY;
    double most = 0.0;

    for (int i = 0; i < size; i++) {
        double own = reports[i].kps;

        if (i == TARGET)
            continue;
        kps += own;
        squares += own * own;
        least = own < least ? own : least;
        most = own > most ? own : most;
    }
    ret_more[FAIR] = kps * kps / ((size - 1) * squares);
    ret_more[SLOWEST] = least / most;
    return kps;
}

/* The end of a batch, by all ranks; `stint` is NULL at the target. Returns the
 * time in which duel->calls calls are made at the rate of this batch. */
static double batch_end(
    struct pair *team, struct duel *duel, const struct stint *stint)
{
    int size = team->world->size;
    unsigned origins = origins_of(team);
    unsigned each = (duel->calls + origins - 1) / origins;
    struct report own = {.kps = 0.0};
    struct report *reports = pair_alloc(team, (size_t)size, sizeof(*reports));
    double *sorted = NULL;
    double kps = 0.0;

    if (stint != NULL)
        report_fill(stint, &own);
    MPI_Gather(&own, sizeof(own), MPI_BYTE, reports, sizeof(own), MPI_BYTE, 0,
        team->comm);
    if (team->rank != 0) {
        free(reports);
        return 0.0;
    }
    kps = rates_sum(reports, size, duel->more);
    /* From each origin in turn. */
    for (unsigned i = 0; i < duel->calls; i++) {
        unsigned origin = i % origins;

        duel->samples[i] = reports[origin < TARGET ? origin : origin + 1]
                               .samples[(size_t)(i / origins) * SAMPLES / each];
    }
    sorted = pair_alloc(team, duel->calls, sizeof(*sorted));
    memcpy(sorted, duel->samples, duel->calls * sizeof(*sorted));
    stats_sort(sorted, duel->calls);
    duel->more[P99] = stats_quantile(sorted, duel->calls, 0.99);
    free(sorted);
    free(reports);
    return duel->calls / kps * 1e3;
}

static struct incast *incast_of(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);

    return HG_Registered_data(info->hg_class, info->id);
}

/* Takes note of a call that was served, and answers it. */
static hg_return_t call_answer(
    struct incast *incast, hg_handle_t handle, uint64_t number)
{
    incast->served[0]++;
    incast->served[1] += number;
    CHECK(incast->team, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t null_serve(hg_handle_t handle)
{
    return call_answer(incast_of(handle), handle, 0);
}

static hg_return_t input_serve(hg_handle_t handle)
{
    struct incast *incast = incast_of(handle);
    struct pair *team = incast->team;
    struct payload input = {(uint32_t)team->room_len, team->landing};

    CHECK(team, HG_Get_input(handle, &input));
    HG_Free_input(handle, &input);
    return call_answer(
        incast, handle, head_check(team, team->landing, input.len).number);
}

static hg_return_t pull_ended(const struct hg_cb_info *info);

static void pull_start(struct incast *incast, struct pull *pull)
{
    const struct hg_info *info = HG_Get_info(pull->handle);

    pull->place = incast->free_places[--incast->free_count];
    CHECK(incast->team,
        HG_Bulk_transfer(incast->team->context, pull_ended, pull, HG_BULK_PULL,
            info->addr, pull->remote, 0, incast->landing,
            pull->place * incast->len, incast->len, HG_OP_ID_IGNORE));
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
    incast->free_places[incast->free_count++] = pull->place;
    HG_Free_input(pull->handle, &pull->remote);
    call_answer(incast, pull->handle, head.number);
    free(pull);
    pull = incast->first;
    if (pull != NULL) {
        incast->first = pull->next;
        if (incast->first == NULL)
            incast->last = &incast->first;
        pull_start(incast, pull);
    }
    return HG_SUCCESS;
}

static hg_return_t bulk_serve(hg_handle_t handle)
{
    struct incast *incast = incast_of(handle);
    struct pull *pull = pair_alloc(incast->team, 1, sizeof(*pull));

    pull->incast = incast;
    pull->handle = handle;
    CHECK(incast->team, HG_Get_input(handle, &pull->remote));
    if (incast->free_count > 0) {
        pull_start(incast, pull);
        return HG_SUCCESS;
    }
    *incast->last = pull;
    incast->last = &pull->next;
    return HG_SUCCESS;
}

static void incast_open(struct incast *incast)
{
    hg_class_t *cls = incast->team->cls;

    incast->null_id =
        HG_Register_name(cls, "incast null", NULL, NULL, null_serve);
    incast->input_id =
        HG_Register_name(cls, "incast input", procs_payload, NULL, input_serve);
    incast->bulk_id = HG_Register_name(
        cls, "incast bulk", hg_proc_hg_bulk_t, NULL, bulk_serve);
    HG_Register_data(cls, incast->null_id, incast, NULL);
    HG_Register_data(cls, incast->input_id, incast, NULL);
    HG_Register_data(cls, incast->bulk_id, incast, NULL);
}

/* Rank TARGET: places into which calls are pulled. */
static void places_open(struct incast *incast, size_t len)
{
    void *landing = incast->team->landing;
    hg_size_t landing_len = (hg_size_t)len * PLACES;

    incast->len = len;
    incast->free_count = 0;
    for (unsigned i = 0; i < PLACES; i++)
        incast->free_places[incast->free_count++] = i;
    incast->first = NULL;
    incast->last = &incast->first;
    CHECK(incast->team, HG_Bulk_create(incast->team->cls, 1, &landing,
                            &landing_len, HG_BULK_READWRITE, &incast->landing));
}

static void places_close(struct incast *incast)
{
    if (incast->first != NULL || incast->free_count != PLACES)
        pair_fail(incast->team, "pulls are still under way at the end");
    CHECK(incast->team, HG_Bulk_free(incast->landing));
}

static void call_post(struct flight_slot *slot)
{
    const struct duel *duel = slot->flight->arg;
    struct incast *incast = duel->arg;
    struct pair *team = incast->team;
    unsigned char *room = team->room + slot->number * duel->size;
    struct payload payload = {(uint32_t)duel->size, room};
    uint64_t number = incast->asked[0]++;
    void *input = &payload;

    if (incast->is_bulk)
        input = &incast->bulks[slot->number];
    if (duel->size > 0) {
        head_write(team, number, slot->number, room);
        incast->asked[1] += number;
    }
    CHECK(team, HG_Forward(slot->handle, flight_call_ended, slot,
                    duel->size > 0 ? input : NULL));
}

static void origin_run(
    struct pair *team, struct duel *duel, struct stint *ret_stint)
{
    struct incast *incast = duel->arg;
    hg_id_t id = duel->size > 0 ? incast->input_id : incast->null_id;
    struct flight flight = {team, .arg = duel, .post = call_post,
        .look = flight_turn, .window = duel->window};

    for (unsigned i = 0; i < duel->window; i++) {
        void *room = team->room + i * duel->size;
        hg_size_t len = duel->size;

        head_fill(team, room, len);
        if (incast->is_bulk)
            CHECK(team, HG_Bulk_create(team->cls, 1, &room, &len,
                            HG_BULK_READ_ONLY, &incast->bulks[i]));
    }
    flight_handles(&flight, incast->is_bulk ? incast->bulk_id : id);
    pair_barrier_serving(team);
    stint_run(ret_stint, &flight, incast->counts_ms, duel->size);
    flight_handles_free(&flight);
    for (unsigned i = 0; incast->is_bulk && i < duel->window; i++)
        CHECK(team, HG_Bulk_free(incast->bulks[i]));
}

static double calls_batch(struct pair *team, struct duel *duel)
{
    struct incast *incast = duel->arg;
    bool is_target = team->rank == TARGET;
    struct stint stint;
    uint64_t sums[4];

    memset(incast->asked, 0, sizeof(incast->asked));
    memset(incast->served, 0, sizeof(incast->served));
    if (is_target && incast->is_bulk)
        places_open(incast, duel->size);
    if (is_target)
        pair_barrier_serving(team);
    else
        origin_run(team, duel, &stint);
    pair_barrier_serving(team);
    if (is_target && incast->is_bulk)
        places_close(incast);
    memcpy(sums, incast->asked, sizeof(incast->asked));
    memcpy(sums + 2, incast->served, sizeof(incast->served));
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_UINT64_T, MPI_SUM, team->comm);
    if (sums[0] != sums[2] || sums[1] != sums[3])
        pair_fail(team, "%llu calls came instead of %llu",
            (unsigned long long)sums[2], (unsigned long long)sums[0]);
    return batch_end(team, duel, is_target ? NULL : &stint);
}

static double control_batch(struct pair *team, struct duel *duel)
{
    const struct incast *incast = duel->arg;
    bool is_target = team->rank == TARGET;
    size_t len = duel->size == 0 ? HEAD_LEN : duel->size;
    struct mpi_calls calls;
    struct stint stint;

    mpi_calls_open(&calls, team, team->comm, len, is_target ? 0 : duel->window,
        is_target ? mpi_serve_places(team, duel->window) : 0);
    pair_barrier(team);
    if (!is_target)
        stint_run(&stint, &calls.flight, incast->counts_ms, len);
    mpi_calls_close(&calls);
    return batch_end(team, duel, is_target ? NULL : &stint);
}

/* The target's control receives from all origins, but into no more places than
 * a window has at most. */
static size_t room_needed(const struct pair *team, size_t size, unsigned window)
{
    size_t places = (size_t)window * origins_of(team);

    if (places > OPTIONS_WINDOW_MAX)
        places = OPTIONS_WINDOW_MAX;
    return places * (size < HEAD_LEN ? HEAD_LEN : size);
}

/* Of sizes that were asked for, the larger windows may need too much memory. */
static bool window_fits(const struct pair *team, size_t size, unsigned window)
{
    if (window == 1 || room_needed(team, size, window) <= ROOM_LEN)
        return true;
    pair_say(team,
        "incast of %zu B, %u at once, is left out: it takes %zu MiB for what "
        "is received; -w %u takes it nevertheless",
        size, window, room_needed(team, size, window) >> 20, window);
    return false;
}

static void window_run(struct incast *incast, size_t size, unsigned window)
{
    struct pair *team = incast->team;
    unsigned ranks = origins_of(team) + 1;
    struct duel duel = {"incast", "mpi",
        "the same by bare MPI: each origin MPI_Isend of as many bytes "
        "(24 for the null call) and MPI_Irecv of 24 B, as many in "
        "flight; the target up to 64 receives from MPI_ANY_SOURCE, "
        "MPI_Isend, MPI_Testsome",
        .size = size, .window = window, .calls = ranks * SAMPLES,
        .ranks = ranks, .peers = ranks - 2,
        .figure = size < GBPS_LEN ? DUEL_KPS : DUEL_GBPS,
        .ours = {calls_batch, incast, .enters = true},
        .control = {control_batch, incast}, .more_rows = more_rows,
        .more_count = FIGURES};

    pair_need_room(team, room_needed(team, size, window));
    duel_run(team, &duel, NULL);
}

static void size_run(struct incast *incast, size_t size)
{
    static const unsigned windows[] = {1, 8, 64};
    const struct options *options = incast->team->options;
    unsigned only = options->window;

    if (size > 0 && size < HEAD_LEN)
        size = HEAD_LEN;
    if (only == 0 && options->is_smoke)
        only = window_fits(incast->team, size, WINDOW_SMOKE) ? WINDOW_SMOKE : 1;
    if (only != 0)
        window_run(incast, size, only);
    for (unsigned i = 0; i < 3 && only == 0; i++)
        if (window_fits(incast->team, size, windows[i]))
            window_run(incast, size, windows[i]);
}

/* Rank 0 adds a row of the rise of the target's peak while large arguments
 * come. */
static void memory_run(struct incast *incast, bool is_bulk)
{
    struct pair *team = incast->team;
    struct duel duel = {.size = LARGE_LEN,
        .window = LARGE_WINDOW,
        .calls = origins_of(team) * SAMPLES,
        .arg = incast};
    struct row row = {is_bulk ? "incast_memory" : "incast_mem_in",
        .size = LARGE_LEN, .window = LARGE_WINDOW,
        .ranks = origins_of(team) + 1, .peers = origins_of(team) - 1,
        .unit = "MiB", .against = "limit",
        .control = "16 MiB, which it may take", .control_value = LIMIT_MIB,
        .batches = LARGE_ROUNDS};
    double idle = 0.0;
    double rise = -1.0; /* below 0: the kernel does not tell */

    if (limit_is_over(team->comm))
        return;
    duel.samples = pair_alloc(team, duel.calls, sizeof(*duel.samples));
    incast->is_bulk = is_bulk;
    pair_enter(team);
    if (team->rank == TARGET && smaps_peak_reset())
        idle = smaps_peak();
    for (unsigned i = 0; i < LARGE_ROUNDS; i++) {
        team->seed++;
        guard_step("round %u of large arguments from all", i);
        calls_batch(team, &duel);
    }
    if (idle > 0.0)
        rise = (smaps_peak() - idle) / KIB_PER_MIB;
    pair_leave(team);
    guard_rest();
    incast->is_bulk = false;
    free(duel.samples);
    MPI_Bcast(&rise, 1, MPI_DOUBLE, TARGET, team->comm);
    row.value = rise;
    if (rise >= 0.0)
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
    incast_open(&incast);
    incast.counts_ms =
        options_pick(options, COUNTS_MS, COUNTS_QUICK_MS, COUNTS_SMOKE_MS);
    for (unsigned i = 0; i < (options->size != NULL ? 1 : 3); i++)
        size_run(&incast, options->size != NULL ? *options->size : sizes[i]);
    incast.counts_ms = options->is_smoke ? COUNTS_SMOKE_MS : LARGE_MS;
    pair_need_room(&team, (size_t)LARGE_LEN * LARGE_WINDOW);
    memory_run(&incast, true);
    memory_run(&incast, false);
    team_close(&team);
}
