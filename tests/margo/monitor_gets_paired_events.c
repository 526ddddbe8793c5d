/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-defined monitor gets all 32 events, which it counts in arrays indexed
 * by MARGO_MONITOR_ON_*; each start has an end, with the uid that the monitor
 * set at the start, also for a call that ends at its time limit, and which
 * cannot be cancelled; requests and handles keep separate ones. */
#include <stdatomic.h>
#include <string.h>

#include "alone.h"

enum { SHORT_MS = 20 };

static const char *const names[MARGO_MONITOR_MAX] = {
#define X(NAME, name) [MARGO_MONITOR_ON_##NAME] = #name,
    MARGO_EXPAND_MONITOR_MACROS
#undef X
};

static atomic_uint starts[MARGO_MONITOR_MAX];
static atomic_uint ends[MARGO_MONITOR_MAX];
static atomic_uint points[MARGO_MONITOR_MAX];
static unsigned initialized;
static unsigned finalized;

static void count(unsigned event, double timestamp, margo_monitor_event_t kind,
    margo_monitor_data_t *uctx)
{
    CHECK(timestamp > 0);
    if (kind == MARGO_MONITOR_FN_START) {
        atomic_fetch_add(&starts[event], 1);
        uctx->i = 1000 + (int64_t)event;
    } else if (kind == MARGO_MONITOR_FN_END) {
        if (uctx->i != 1000 + (int64_t)event)
            fprintf(stderr, "%s ends without its begin\n", names[event]);
        CHECK(uctx->i == 1000 + (int64_t)event);
        atomic_fetch_add(&ends[event], 1);
    } else {
        atomic_fetch_add(&points[event], 1);
    }
}

static unsigned late; /* callbacks of operations whose time limit passed */

/* Callbacks of calls, responses and transfers have arguments of one type. */
static void done_check(
    margo_monitor_event_t kind, const struct margo_monitor_cb_args *args)
{
    CHECK(args->info != NULL && args->request != MARGO_REQUEST_NULL);
    if (kind == MARGO_MONITOR_FN_END && args->ret != HG_SUCCESS) {
        CHECK_RC(args->ret, HG_TIMEOUT);
        late++;
    }
}

static void trigger_check(
    margo_monitor_event_t kind, const struct margo_monitor_trigger_args *args)
{
    CHECK(args->timeout_ms == 0 && args->max_count > 0);
    if (kind == MARGO_MONITOR_FN_END)
        CHECK(args->actual_count <= args->max_count);
}

static void register_check(
    margo_monitor_event_t kind, const struct margo_monitor_register_args *args)
{
    if (kind == MARGO_MONITOR_FN_END)
        CHECK(args->ret == HG_SUCCESS && args->id != 0);
}

static atomic_uint selves;

static void lookup_check(
    margo_monitor_event_t kind, const struct margo_monitor_lookup_args *args)
{
    if (args->name == NULL && kind == MARGO_MONITOR_FN_END) {
        CHECK(args->addr != HG_ADDR_NULL && args->ret == HG_SUCCESS);
        atomic_fetch_add(&selves, 1);
    }
}

/* Further checks, by the type of the arguments. */
#define MORE(kind, args)                                                       \
    _Generic((args), struct margo_monitor_cb_args *                            \
             : done_check, struct margo_monitor_trigger_args *                 \
             : trigger_check, struct margo_monitor_register_args *             \
             : register_check, struct margo_monitor_lookup_args *              \
             : lookup_check, default                                           \
             : nothing_check)(kind, args)

static void nothing_check(margo_monitor_event_t kind, const void *args)
{
    (void)kind;
    CHECK(args != NULL);
}

#define X(NAME, name)                                                          \
    static void on_##name(void *uargs, double timestamp,                       \
        margo_monitor_event_t kind, margo_monitor_##name##_args_t args)        \
    {                                                                          \
        CHECK(uargs == &initialized);                                          \
        count(MARGO_MONITOR_ON_##NAME, timestamp, kind, &args->uctx);          \
        MORE(kind, args);                                                      \
    }
MARGO_EXPAND_MONITOR_MACROS
#undef X

static void *initialize(
    margo_instance_id mid, void *uargs, struct json_object *config)
{
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(uargs == &finalized);
    CHECK(config == NULL);
    initialized++;
    return &initialized;
}

static void finalize(void *uargs)
{
    CHECK(uargs == &initialized);
    finalized++;
}

static void dump(
    void *uargs, margo_monitor_dump_fn dump_fn, void *dump_args, bool reset)
{
    CHECK(uargs == &initialized);
    CHECK(reset);
    dump_fn(dump_args, "{}", 2);
}

static const struct margo_monitor monitor = {.uargs = &finalized,
    .initialize = initialize,
    .finalize = finalize,
    .dump = dump,
#define X(NAME, name) .on_##name = on_##name,
    MARGO_EXPAND_MONITOR_MACROS
#undef X
};

static void take_dump(void *uargs, const char *content, size_t size)
{
    CHECK(size == 2 && memcmp(content, "{}", 2) == 0);
    ++*(unsigned *)uargs;
}

static void pull(hg_handle_t handle)
{
    int32_t numbers[4] = {0, 0, 0, 0};
    void *ptr = numbers;
    hg_size_t size = sizeof(numbers);
    hg_bulk_t local = HG_BULK_NULL;
    hg_bulk_t remote = HG_BULK_NULL;
    const struct hg_info *info = margo_get_info(handle);

    CHECK_RC(margo_get_input(handle, &remote), HG_SUCCESS);
    CHECK_RC(
        margo_bulk_create(pair.mid, 1, &ptr, &size, HG_BULK_WRITE_ONLY, &local),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_transfer(
                 pair.mid, HG_BULK_PULL, info->addr, remote, 0, local, 0, size),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_free(local), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &remote), HG_SUCCESS);
    CHECK_RC(margo_respond(handle, &numbers[3]), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(pull)

static ABT_eventual gate;

static void hold(hg_handle_t handle)
{
    CHECK(ABT_eventual_wait(gate, NULL) == ABT_SUCCESS);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(hold)

static void late_call(void)
{
    hg_id_t id = MARGO_REGISTER(pair.mid, "hold", void, void, hold);
    hg_handle_t handle = alone_handle(id);

    CHECK(ABT_eventual_create(0, &gate) == ABT_SUCCESS);
    CHECK_RC(margo_forward_timed(handle, NULL, SHORT_MS), HG_TIMEOUT);
    CHECK(ABT_eventual_set(gate, NULL, 0) == ABT_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void words_check(hg_handle_t handle, margo_request request)
{
    margo_monitor_data_t data = {.i = 77};

    CHECK_RC(margo_set_monitoring_data(handle, data), HG_SUCCESS);
    data.i = 78;
    CHECK_RC(margo_request_set_monitoring_data(request, data), HG_SUCCESS);
    CHECK_RC(margo_get_monitoring_data(handle, &data), HG_SUCCESS);
    CHECK(data.i == 77);
    CHECK_RC(margo_request_get_monitoring_data(request, &data), HG_SUCCESS);
    CHECK(data.i == 78);
    CHECK_RC(margo_set_monitoring_data(HG_HANDLE_NULL, data), HG_INVALID_ARG);
    CHECK_RC(margo_get_monitoring_data(handle, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_request_get_monitoring_data(MARGO_REQUEST_NULL, &data),
        HG_INVALID_ARG);
}

static void one_call(hg_id_t id)
{
    int32_t numbers[4] = {1, 2, 3, 4};
    void *ptr = numbers;
    hg_size_t size = sizeof(numbers);
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_handle_t handle = alone_handle(id);
    margo_request request = MARGO_REQUEST_NULL;
    int32_t out = 0;

    CHECK_RC(
        margo_bulk_create(pair.mid, 1, &ptr, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    CHECK_RC(margo_iforward(handle, &bulk, &request), HG_SUCCESS);
    words_check(handle, request);
    CHECK_RC(margo_wait(request), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &out), HG_SUCCESS);
    CHECK(out == 4);
    CHECK_RC(margo_free_output(handle, &out), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(bulk), HG_SUCCESS);
}

/* Creates and removes pools and streams, and looks up an address. */
static void others(void)
{
    struct margo_pool_info pool;
    struct margo_xstream_info stream;
    char text[256];
    hg_size_t len = sizeof(text);
    hg_addr_t addr = HG_ADDR_NULL;

    CHECK_RC(margo_add_pool_from_json(pair.mid,
                 "{\"name\":\"extra\",\"kind\":\"fifo_wait\"}", &pool),
        HG_SUCCESS);
    CHECK_RC(margo_add_xstream_from_json(pair.mid,
                 "{\"name\":\"more\",\"scheduler\":{\"pools\":[\"extra\"]}}",
                 &stream),
        HG_SUCCESS);
    CHECK_RC(margo_remove_xstream_by_name(pair.mid, "more"), HG_SUCCESS);
    CHECK_RC(margo_remove_pool_by_name(pair.mid, "extra"), HG_SUCCESS);
    CHECK_RC(margo_addr_to_string(pair.mid, text, &len, pair.self), HG_SUCCESS);
    CHECK_RC(margo_addr_lookup(pair.mid, text, &addr), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, addr), HG_SUCCESS);
    margo_thread_sleep(pair.mid, 1);
}

int main(void)
{
    struct margo_monitor_user_args args = {.args = NULL};
    unsigned dumps = 0;
    hg_id_t id = 0;

    alone_open(NULL, &monitor);
    CHECK(initialized == 1);
    CHECK(atomic_load(&selves) >= 1);
    id = MARGO_REGISTER(pair.mid, "pull", hg_bulk_t, int32_t, pull);
    for (unsigned i = 0; i < 10; i++)
        one_call(id);
    late_call();
    others();
    CHECK_RC(margo_deregister(pair.mid, id), HG_SUCCESS);
    CHECK_RC(margo_monitor_call_user(pair.mid, MARGO_MONITOR_FN_START, &args),
        HG_SUCCESS);
    CHECK_RC(margo_monitor_call_user(pair.mid, MARGO_MONITOR_FN_END, &args),
        HG_SUCCESS);
    CHECK_RC(margo_monitor_call_user(pair.mid, MARGO_MONITOR_POINT, &args),
        HG_SUCCESS);
    CHECK_RC(margo_monitor_call_user(NULL, MARGO_MONITOR_POINT, &args),
        HG_INVALID_ARG);
    CHECK_RC(margo_monitor_dump(pair.mid, take_dump, &dumps, true), HG_SUCCESS);
    CHECK_RC(margo_monitor_dump(pair.mid, NULL, NULL, true), HG_INVALID_ARG);
    CHECK(dumps == 1);
    alone_close();
    CHECK(ABT_eventual_free(&gate) == ABT_SUCCESS);
    CHECK(finalized == 1);
    CHECK(atomic_load(&points[MARGO_MONITOR_ON_USER]) == 1);
    for (unsigned i = 0; i < MARGO_MONITOR_MAX; i++) {
        unsigned begun = atomic_load(&starts[i]);

        if (begun == 0 || begun != atomic_load(&ends[i]))
            fprintf(stderr, "%s: %u begins, %u ends\n", names[i], begun,
                atomic_load(&ends[i]));
        CHECK(begun > 0);
        CHECK(begun == atomic_load(&ends[i]));
    }
    CHECK(atomic_load(&starts[MARGO_MONITOR_ON_RPC_ULT]) == 11);
    CHECK(atomic_load(&starts[MARGO_MONITOR_ON_FORWARD]) == 11);
    CHECK(atomic_load(&starts[MARGO_MONITOR_ON_FORWARD_CB]) == 11 && late == 1);
    CHECK(atomic_load(&starts[MARGO_MONITOR_ON_BULK_TRANSFER_CB]) == 10);
    return 0;
}
