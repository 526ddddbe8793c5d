/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-written functions of a handler, which use the names of Margo's macros,
 * are served and counted like others: the monitor is called, they may end the
 * instance, and they refuse with a code. */
#include <stdatomic.h>

#include "alone.h"

_Static_assert(__MARGO_PROVIDER_ID_SIZE == 2 && __MARGO_RPC_HASH_SIZE == 6,
    "an id holds a provider's number and the hash of a name");

static atomic_uint served[2]; /* begun, ended */
static atomic_uint came[2];
static atomic_uint finalized;

static void add(hg_handle_t handle)
{
    int32_t number = 0;

    CHECK_RC(margo_get_input(handle, &number), HG_SUCCESS);
    number++;
    CHECK_RC(margo_respond(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void stop(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);

    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    margo_finalize(mid);
}

/* The functions by hand, as in existing programs. */
#define BY_HAND(name)                                                          \
    static void name##_main(void *arg)                                         \
    {                                                                          \
        hg_handle_t handle = arg;                                              \
        margo_instance_id mid = margo_hg_handle_get_instance(handle);          \
        struct margo_monitor_rpc_ult_args args;                                \
                                                                               \
        __margo_internal_pre_wrapper_hooks(mid, handle, &args);                \
        name(handle);                                                          \
        __margo_internal_post_wrapper_hooks(mid, &args);                       \
    }                                                                          \
    static hg_return_t name##_handler(hg_handle_t handle)                      \
    {                                                                          \
        margo_instance_id mid = margo_hg_handle_get_instance(handle);          \
        ABT_pool pool = margo_hg_handle_get_handler_pool(handle);              \
        struct margo_monitor_rpc_handler_args args;                            \
                                                                               \
        CHECK(mid == pair.mid && pool != ABT_POOL_NULL);                       \
        CHECK(!__margo_internal_finalize_requested(mid));                      \
        CHECK_RC(__margo_internal_set_handle_data(handle), HG_SUCCESS);        \
        __margo_internal_incr_pending(mid);                                    \
        __margo_internal_pre_handler_hooks(mid, handle, pool, &args);          \
        args.ret = ABT_thread_create(pool, name##_main, handle,                \
                       ABT_THREAD_ATTR_NULL, NULL) == ABT_SUCCESS              \
                       ? HG_SUCCESS                                            \
                       : HG_NOMEM;                                             \
        __margo_internal_post_handler_hooks(mid, &args);                       \
        return args.ret;                                                       \
    }
BY_HAND(add)
BY_HAND(stop)

static hg_return_t refuse_handler(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);

    CHECK_RC(__margo_internal_set_handle_data(handle), HG_SUCCESS);
    __margo_internal_incr_pending(mid);
    __margo_respond_with_error(handle, HG_PERMISSION);
    __margo_internal_decr_pending(mid);
    return margo_destroy(handle);
}

static void on_rpc_ult(void *uargs, double timestamp,
    margo_monitor_event_t kind, margo_monitor_rpc_ult_args_t args)
{
    (void)uargs;
    (void)timestamp;
    CHECK(args->handle != HG_HANDLE_NULL);
    atomic_fetch_add(&served[kind == MARGO_MONITOR_FN_END], 1);
}

static void on_rpc_handler(void *uargs, double timestamp,
    margo_monitor_event_t kind, margo_monitor_rpc_handler_args_t args)
{
    (void)uargs;
    (void)timestamp;
    CHECK(args->handle != HG_HANDLE_NULL && args->pool != ABT_POOL_NULL);
    atomic_fetch_add(&came[kind == MARGO_MONITOR_FN_END], 1);
}

static void finalize(void *uargs)
{
    (void)uargs;
    atomic_fetch_add(&finalized, 1);
}

static const struct margo_monitor monitor = {.finalize = finalize,
    .on_rpc_ult = on_rpc_ult,
    .on_rpc_handler = on_rpc_handler};

static void added(hg_id_t id)
{
    hg_handle_t handle = alone_handle(id);
    int32_t number = 41;

    CHECK_RC(margo_provider_forward(0, handle, &number), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &number), HG_SUCCESS);
    CHECK(number == 42);
    CHECK_RC(margo_free_output(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

int main(void)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t add_id = 0;
    hg_id_t stop_id = 0;
    hg_id_t refuse_id = 0;

    /* With a limit on handlers, which these do not count for. */
    alone_open("{\"amalgam\":{\"max_concurrent_rpcs\":1}}", &monitor);
    add_id = margo_register_name(
        pair.mid, "add", hg_proc_int32_t, hg_proc_int32_t, add_handler);
    stop_id = margo_register_name(pair.mid, "stop", NULL, NULL, stop_handler);
    refuse_id =
        margo_register_name(pair.mid, "refuse", NULL, NULL, refuse_handler);
    CHECK(add_id != 0 && stop_id != 0 && refuse_id != 0);
    for (unsigned i = 0; i < 10; i++)
        added(add_id);
    handle = alone_handle(refuse_id);
    CHECK_RC(margo_provider_forward(0, handle, NULL), HG_PERMISSION);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    handle = alone_handle(stop_id);
    CHECK_RC(margo_provider_forward(0, handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_wait_for_finalize(pair.mid);
    CHECK(atomic_load(&finalized) == 1);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(atomic_load(&served[i]) == 11);
        CHECK(atomic_load(&came[i]) == 11);
    }
    return 0;
}
