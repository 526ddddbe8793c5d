/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ranks between which all benchmarks measure, and teams of all ranks.
 */
#include "jobs/bench/frame/pair.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam.h"
#include "amalgam_group.h"
#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/frame/report.h"
#include "jobs/bench/frame/watch.h"

enum { PAGE_LEN = 4096, TEXT_LEN = 512, TAG = 3, NAP_US = 2000 };

void pair_fail(const struct pair *pair, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    fprintf(stderr, "amalgam_bench: rank %d: %s\n", pair->rank, what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    abort();
}

void pair_check(const struct pair *pair, hg_return_t ret, const char *what)
{
    if (ret != HG_SUCCESS)
        pair_fail(pair, "%s: %s", what, HG_Error_to_string(ret));
}

void pair_say(const struct pair *pair, const char *format, ...)
{
    va_list args;

    if (pair->rank != 0)
        return;
    va_start(args, format);
    fputs("amalgam_bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void *pair_alloc(const struct pair *pair, size_t count, size_t len)
{
    void *memory = calloc(count == 0 ? 1 : count, len);

    if (memory == NULL)
        pair_fail(pair, "no memory for %zu times %zu bytes", count, len);
    return memory;
}

void pair_verify(
    const struct pair *pair, const void *buf, size_t len, const char *what)
{
    size_t at = pattern_check(buf, len, pair->seed);

    if (at < len)
        pair_fail(
            pair, "%s: byte %zu of %zu is not what was sent", what, at, len);
}

void pair_verify_served(struct pair *pair, uint64_t count)
{
    uint64_t served = atomic_exchange(&pair->served, 0);

    if (pair->is_target && served != count)
        pair_fail(pair, "%llu calls came instead of %llu",
            (unsigned long long)served, (unsigned long long)count);
}

hg_return_t procs_payload(hg_proc_t proc, void *data)
{
    struct payload *payload = data;
    uint32_t cap = payload->len;
    hg_return_t ret = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    ret = hg_proc_uint32_t(proc, &payload->len);
    if (ret == HG_SUCCESS && payload->len > cap)
        ret = HG_OVERFLOW;
    return ret != HG_SUCCESS ? ret
                             : hg_proc_raw(proc, payload->data, payload->len);
}

static hg_return_t procs_echo(hg_proc_t proc, void *data)
{
    struct echo *echo = data;
    hg_return_t ret = procs_payload(proc, &echo->payload);

    return ret != HG_SUCCESS ? ret : hg_proc_uint32_t(proc, &echo->wanted);
}

struct pair *pair_of(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct pair *own = HG_Context_get_data(info->context);

    return own != NULL ? own : HG_Class_get_data(info->hg_class);
}

static hg_return_t null_serve(hg_handle_t handle)
{
    struct pair *pair = pair_of(handle);

    pair_count_served(pair);
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static hg_return_t bytes_serve(hg_handle_t handle)
{
    struct pair *pair = pair_of(handle);
    struct payload input = {(uint32_t)pair->room_len, pair->landing};

    CHECK(pair, HG_Get_input(handle, &input));
    HG_Free_input(handle, &input);
    return null_serve(handle);
}

static hg_return_t echo_serve(hg_handle_t handle)
{
    struct pair *pair = pair_of(handle);
    struct echo input = {{(uint32_t)pair->room_len, pair->landing}, 0};
    struct payload output = {0, pair->room};

    CHECK(pair, HG_Get_input(handle, &input));
    HG_Free_input(handle, &input);
    output.len = input.wanted;
    pair_count_served(pair);
    CHECK(pair, HG_Respond(handle, NULL, NULL, &output));
    return HG_Destroy(handle);
}

static hg_return_t stop_serve(hg_handle_t handle)
{
    struct pair *pair = pair_of(handle);

    HG_Respond(handle, NULL, NULL, NULL);
    HG_Destroy(handle);
    atomic_store_explicit(&pair->is_stopped, true, memory_order_release);
    sem_post(&pair->stopped);
    return HG_SUCCESS;
}

static void calls_register(struct pair *pair)
{
    hg_class_t *cls = pair->cls;

    HG_Class_set_data(cls, pair, NULL);
    pair->null_id = HG_Register_name(cls, "bench null", NULL, NULL, null_serve);
    pair->bytes_id =
        HG_Register_name(cls, "bench bytes", procs_payload, NULL, bytes_serve);
    pair->echo_id = HG_Register_name(
        cls, "bench echo", procs_echo, procs_payload, echo_serve);
    pair->stop_id = HG_Register_name(cls, "bench stop", NULL, NULL, stop_serve);
}

/* Does the string name a transport without ranks? */
static bool transport_is_alone(const char *transport)
{
    static const char *const names[] = {"self", "sm", "shm", "na+self", "na+sm",
        "ofi", "tcp", "verbs", "cxi", "psm2", "opx", "efa", NULL};

    for (unsigned i = 0; transport != NULL && names[i] != NULL; i++) {
        size_t len = strlen(names[i]);

        if (strncmp(transport, names[i], len) == 0 &&
            strchr(":+;", transport[len]) != NULL)
            return true;
    }
    return false;
}

/* Over libfabric NA_NO_BLOCK saves a descriptor if the process never sleeps. */
static hg_class_t *alone_open(const struct pair *pair, const char *transport)
{
    struct hg_init_info how = HG_INIT_INFO_INITIALIZER;

    how.na_init_info.progress_mode = pair->wait_ms == 0 ? NA_NO_BLOCK : 0;
    how.na_init_info.max_contexts = (uint8_t)pair->contexts;
    return HG_Init_opt2(transport, HG_TRUE, HG_VERSION(2, 4), &how);
}

/* Caller and target look each other up by their address strings; over self the
 * caller is its own peer. */
static void peer_by_text(struct pair *pair)
{
    hg_addr_t self = HG_ADDR_NULL;
    char mine[TEXT_LEN] = "";
    char theirs[TEXT_LEN] = "";
    hg_size_t len = sizeof(mine);
    int other = 1 - pair->rank;

    CHECK(pair, HG_Addr_self(pair->cls, &self));
    CHECK(pair, HG_Addr_to_string(pair->cls, mine, &len, self));
    if (pair->is_caller != pair->is_target)
        HG_Addr_free(pair->cls, self);
    else
        pair->peer = self;
    MPI_Sendrecv(mine, TEXT_LEN, MPI_CHAR, other, TAG, theirs, TEXT_LEN,
        MPI_CHAR, other, TAG, pair->comm, MPI_STATUS_IGNORE);
    if (pair->is_caller != pair->is_target)
        pair_check(
            pair, HG_Addr_lookup2(pair->cls, theirs, &pair->peer), theirs);
}

/* A rank has an MPI address even if its calls go another way. Ranks of a node
 * use shared memory if the first call mapped a segment; ranks of two nodes use
 * libfabric if the user named a transport of libfabric. */
static void via_near(struct pair *pair)
{
    int is_near = pair->is_one_machine && segments_count() > pair->segments;

    MPI_Bcast(&is_near, 1, MPI_INT, 0, pair->comm);
    if (strcmp(pair->via, "mpi") != 0)
        return;
    if (is_near)
        snprintf(pair->via, sizeof(pair->via), "shm");
    else if (pair->is_collective && transport_is_alone(pair->transport))
        snprintf(pair->via, sizeof(pair->via), "%s", pair->transport);
}

/* Finds what carries a call from the caller to the target: the scheme of the
 * target's address. One call goes first, to pay the costs of a first call. The
 * report names what makes progress at each of the two ranks. */
static void via_find(struct pair *pair)
{
    char names[2][WORLD_TEXT_CAP];
    char text[TEXT_LEN];
    hg_size_t len = sizeof(text);

    pair_enter(pair);
    world_progress(names[pair->rank % 2]);
    MPI_Bcast(names[1], WORLD_TEXT_CAP, MPI_CHAR, 1, pair->comm);
    for (int i = 0; i < 2 && pair->rank == 0; i++)
        report_progress(i, names[i]);
    pair_greet(pair);
    pair_leave(pair);
    CHECK(pair, HG_Addr_to_string(pair->cls, text, &len, pair->peer));
    snprintf(
        pair->via, sizeof(pair->via), "%.*s", (int)strcspn(text, ":"), text);
    MPI_Bcast(pair->via, PAIR_NAME_CAP, MPI_CHAR, 0, pair->comm);
    via_near(pair);
}

bool pair_open_class(struct pair *pair, const char *transport, bool is_of_ranks)
{
    struct amalgam_options how = AMALGAM_OPTIONS_INITIALIZER;

    pair->is_collective = is_of_ranks || !transport_is_alone(transport);
    how.contexts = pair->contexts;
    guard_step(
        "opening a class over \"%s\"", transport == NULL ? "auto" : transport);
    pair->cls = pair->is_collective ? amalgam_init(pair->comm, transport, &how)
                                    : alone_open(pair, transport);
    if (pair->cls == NULL) {
        fprintf(stderr, "amalgam_bench: rank %d: no class over \"%s\"\n",
            pair->rank, transport == NULL ? "auto" : transport);
        return false;
    }
    pair->segments = segments_count();
    pair->transport = transport == NULL ? "auto" : transport;
    pair->is_caller = pair->rank == 0;
    pair->is_target = pair->rank == 1;
    if (strcmp(HG_Class_get_name(pair->cls), "self") == 0)
        pair->is_target = pair->rank == 0;
    atomic_init(&pair->is_stopped, false);
    atomic_init(&pair->served, 0);
    sem_init(&pair->stopped, 0, 0);
    calls_register(pair);
    return true;
}

void pair_meet(struct pair *pair)
{
    if (!pair->is_collective)
        peer_by_text(pair);
    else
        pair_check(pair,
            amalgam_addr_rank(pair->cls, pair->rank == 1 ? 0 : 1, &pair->peer),
            "amalgam_addr_rank");
    if (pair->via[0] == '\0')
        via_find(pair);
    guard_rest();
}

bool pair_open(struct pair *pair, const char *transport)
{
    if (!pair_open_class(pair, transport, false))
        return false;
    pair_meet(pair);
    return true;
}

void pair_close(struct pair *pair)
{
    guard_step("closing a class over \"%s\"", pair->transport);
    if (pair->fabric != NULL)
        pair->fabric_close(pair->fabric);
    pair->fabric = NULL;
    if (pair->peer != HG_ADDR_NULL)
        HG_Addr_free(pair->cls, pair->peer);
    pair_check(pair,
        pair->is_collective ? amalgam_finalize(pair->cls)
                            : HG_Finalize(pair->cls),
        "the end of the class");
    sem_destroy(&pair->stopped);
    pair_free_room(pair);
}

void pair_copy(const struct pair *pair, struct pair *ret_pair)
{
    *ret_pair = (struct pair){
        .rank = pair->rank,
        .bench = pair->bench,
        .options = pair->options,
        .comm = pair->comm,
        .world = pair->world,
        .is_one_machine = pair->is_one_machine,
        .pin = pair->pin,
    };
    memcpy(ret_pair->cores, pair->cores, sizeof(pair->cores));
}

void pair_open_like(struct pair *pair, const struct pair *like,
    unsigned contexts, unsigned wait_ms)
{
    pair_copy(like, pair);
    memcpy(pair->via, like->via, sizeof(pair->via)); /* the same transport */
    pair->contexts = contexts;
    pair->wait_ms = wait_ms;
    if (!pair_open(pair, pair->options->transport))
        pair_fail(pair, "no class for %s", pair->bench);
}

bool pair_is_of_two(const struct pair *pair, const char *what)
{
    bool is_of_two = pair->is_caller != pair->is_target;

    if (!is_of_two)
        pair_say(pair, "%s is left out: over self there are no two processes",
            what == NULL ? pair->bench : what);
    return is_of_two;
}

void pair_row(const struct pair *pair, struct row *row)
{
    row->bench = pair->bench;
    row->transport = pair->transport;
    row->via = pair->via;
    row->cores = pair->cores;
    if (pair->rank == 0)
        report_row(row);
}

void pair_value(const struct pair *pair, struct row *row)
{
    if (row->control_value > 0.0)
        row->ratio = row->value / row->control_value;
    row->spread[0] = row->spread[1] = row->ratio;
    if (row->batches == 0)
        row->batches = 1;
    if (row->better == NULL)
        row->better = "lower";
    pair_row(pair, row);
}

void pair_wait(const struct pair *pair, MPI_Request *request)
{
    int is_over = 0;

    if (!pair->is_oversubscribed)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else
        while (MPI_Test(request, &is_over, MPI_STATUS_IGNORE), !is_over)
            sched_yield();
}

void pair_barrier(const struct pair *pair)
{
    MPI_Request request;

    MPI_Ibarrier(pair->comm, &request);
    pair_wait(pair, &request);
}

void pair_barrier_serving(struct pair *pair)
{
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(pair->comm, &request);
    while (!is_over)
        if (!pair_turn(pair))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
}

void pair_enter(struct pair *pair)
{
    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_fail(pair, "HG_Context_create() failed");
    atomic_store_explicit(&pair->served, 0, memory_order_relaxed);
    pair_barrier(pair);
}

void pair_leave(struct pair *pair)
{
    CHECK(pair, HG_Context_destroy(pair->context));
    pair->context = NULL;
    pair_barrier(pair);
}

void pair_set_progress(struct pair *pair, enum amalgam_progress progress,
    enum amalgam_wait wait, int core)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    char cpus[32];

    /* A list for both places: this rank may be first or second of its node. */
    snprintf(cpus, sizeof(cpus), "%d,%d", core, core);
    options.progress = progress;
    options.wait = wait;
    options.progress_cpus = core >= 0 ? cpus : NULL;
    CHECK(pair, amalgam_set_progress(pair->cls, &options));
    pair->has_thread = progress == AMALGAM_PROGRESS_THREAD;
}

void pair_by_caller(struct pair *pair, enum amalgam_wait wait)
{
    pair_set_progress(pair, AMALGAM_PROGRESS_CALLER, wait, -1);
}

void pair_by_thread(struct pair *pair, enum amalgam_wait wait, int core)
{
    pair_set_progress(pair, AMALGAM_PROGRESS_THREAD, wait, core);
}

void pair_free_room(struct pair *pair)
{
    free(pair->room);
    free(pair->landing);
    pair->room = NULL;
    pair->landing = NULL;
    pair->room_len = 0;
}

void pair_need_room(struct pair *pair, size_t len)
{
    if (len <= pair->room_len)
        return;
    pair_free_room(pair);
    len = (len + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN;
    pair->room = aligned_alloc(PAGE_LEN, len);
    pair->landing = aligned_alloc(PAGE_LEN, len);
    if (pair->room == NULL || pair->landing == NULL)
        pair_fail(pair, "no memory for twice %zu bytes", len);
    pair->room_len = len;
    memset(pair->room, 0, len);
    memset(pair->landing, 0, len);
}

hg_handle_t pair_handle(struct pair *pair, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK(pair, HG_Create(pair->context, pair->peer, id, &handle));
    if (pair->context_id != 0)
        CHECK(pair, HG_Set_target_id(handle, pair->context_id));
    return handle;
}

void pair_handle_free(struct pair *pair, hg_handle_t handle)
{
    CHECK(pair, HG_Destroy(handle));
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    *(hg_return_t *)info->arg = info->ret;
    return HG_SUCCESS;
}

/* Waits for a call that was made with the return value `ret`. */
static void call_await(
    struct pair *pair, hg_return_t ret, const hg_return_t *ended)
{
    pair_check(pair, ret, "the begin of the call");
    while (*ended == HG_RETURN_MAX)
        pair_turn(pair);
    pair_check(pair, *ended, "the call");
}

void pair_call(struct pair *pair, hg_handle_t handle, void *input)
{
    hg_return_t ended = HG_RETURN_MAX; /* no call returns this code */

    call_await(pair, HG_Forward(handle, call_ended, &ended, input), &ended);
}

void pair_call_all(struct pair *pair, hg_handle_t handle)
{
    hg_return_t ended = HG_RETURN_MAX;

    call_await(pair,
        amalgam_forward_group(
            handle, AMALGAM_GROUP_ALL, call_ended, &ended, NULL),
        &ended);
}

void pair_call_once(struct pair *pair, hg_id_t id)
{
    hg_handle_t handle = pair_handle(pair, id);

    pair_call(pair, handle, NULL);
    pair_handle_free(pair, handle);
}

bool pair_is_stopped(const struct pair *pair)
{
    return atomic_load_explicit(&pair->is_stopped, memory_order_acquire);
}

void pair_await_stop(struct pair *pair)
{
    if (pair->has_thread)
        while (sem_wait(&pair->stopped) != 0 && errno == EINTR)
            ;
    while (!pair_is_stopped(pair))
        pair_turn(pair);
    /* Resets flag and semaphore for the next batch. */
    atomic_store_explicit(&pair->is_stopped, false, memory_order_relaxed);
    while (sem_trywait(&pair->stopped) == 0)
        ;
}

void pair_serve(struct pair *pair)
{
    if (pair->is_target)
        pair_await_stop(pair);
}

void pair_stop(struct pair *pair)
{
    if (!pair->is_target || !pair->is_caller)
        pair_call_once(pair, pair->stop_id);
}

void pair_greet(struct pair *pair)
{
    if (pair->is_caller) {
        pair_call_once(pair, pair->null_id);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    pair_barrier(pair);
}

bool team_is_possible(const struct pair *like)
{
    /* Transports to the own process, or to a rank that told its address. */
    const char *const names[] = {"self", "na+self", "sm", "na+sm"};
    const char *transport = like->options->transport;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (transport != NULL && strcmp(transport, names[i]) == 0) {
            pair_say(like,
                "%s is left out: it needs a transport that leads from rank to "
                "rank, and %s does not",
                like->bench, transport);
            return false;
        }
    return true;
}

/* Pin of one of the two ranks, lifted while all ranks share the cores. */
static struct pin pin_lifted;

void team_join(struct pair *team, const struct pair *like, MPI_Comm comm)
{
    static bool was_said;

    pair_copy(like, team);
    team->comm = comm;
    team->is_oversubscribed = pin_is_oversubscribed(like->pin, comm);
    pin_lifted.is_set = false;
    if (!team->is_oversubscribed)
        return;
    if (team->rank == 0 && !was_said)
        report_warn("the %d ranks of the job have fewer cores: rows of more "
                    "than two ranks measure shared cores",
            team->world->size);
    was_said = true;
    snprintf(team->cores, sizeof(team->cores), "shared");
    /* If only the first two ranks had a core each, and all others shared these
     * cores, the figures would measure the cores. */
    if (like->pin != NULL && like->pin->is_set)
        pin_lift(like->pin, &pin_lifted);
}

void team_leave(struct pair *team)
{
    pin_restore(&pin_lifted);
    pin_lifted.is_set = false;
    team->comm = MPI_COMM_NULL;
}

bool team_open(struct pair *team, const struct pair *like)
{
    if (!team_is_possible(like))
        return false;
    team_join(team, like, like->world->comm);
    if (!pair_open_class(team, like->options->transport, true))
        pair_fail(team, "no class for %s", like->bench);
    pair_meet(team);
    return true;
}

void team_close(struct pair *team)
{
    pair_close(team);
    team_leave(team);
}

void team_part(const struct pair *like, unsigned ranks,
    void (*run)(struct pair *part, unsigned ranks, void *arg), void *arg)
{
    const struct world *world = like->world;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request;
    struct pair part;
    int is_over = 0;
    int order = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &order);
    MPI_Comm_split(world->comm, world->rank < (int)ranks ? 0 : MPI_UNDEFINED,
        order, &comm);
    if (comm != MPI_COMM_NULL) {
        team_join(&part, like, comm);
        MPI_Comm_rank(comm, &part.rank);
        run(&part, ranks, arg);
        MPI_Comm_free(&comm);
        team_leave(&part);
    }
    guard_rest();
    MPI_Ibarrier(world->comm, &request);
    while (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), !is_over)
        pause_us(NAP_US);
}

hg_addr_t *team_addrs(struct pair *team)
{
    int size = team->world->size;
    hg_addr_t *addrs = pair_alloc(team, (size_t)size, sizeof(*addrs));

    for (int i = 0; i < size; i++)
        CHECK(team, amalgam_addr_rank(team->cls, i, &addrs[i]));
    return addrs;
}

void team_addrs_free(struct pair *team, hg_addr_t *addrs)
{
    for (int i = 0; i < team->world->size; i++)
        HG_Addr_free(team->cls, addrs[i]);
    free(addrs);
}
