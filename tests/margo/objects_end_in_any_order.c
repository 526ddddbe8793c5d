/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of Margo that C++ objects make, which count references: copies of
 * engines, addresses, handles and exposed memory come and go, also empty ones,
 * and end after margo_finalize() in any order. One function serves all RPCs;
 * its data say what to do, and one function encodes all arguments. */
#include <stdatomic.h>
#include <string.h>

#include "alone.h"
#include "margo-timer.h"

enum { PROVIDER = 7 };

/* Arguments or results, as hg_proc_cb_t gets them. */
struct coder {
    int32_t *values;
    size_t count;
};

/* The data of an RPC. */
struct function {
    int32_t (*of)(int32_t x, int32_t y);
    bool keeps; /* leaves the answer to the program */
};

/* What a test leaves behind; each has a reference to the instance. */
static struct left {
    hg_addr_t peer;
    hg_handle_t handle;
    hg_bulk_t bulk;
    margo_timer_t timer;
} left;

/* The request that waits for its answer: the handler, which is done with it,
 * stores it, and the program loads it. */
static _Atomic(hg_handle_t) served;

static unsigned functions_freed;
static char callbacks[8]; /* those that ran, a letter each */

static hg_return_t code(hg_proc_t proc, void *data)
{
    const struct coder *coder = data;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    return hg_proc_memcpy(
        proc, coder->values, coder->count * sizeof(coder->values[0]));
}

static int32_t add(int32_t x, int32_t y)
{
    return x + y;
}

static int32_t subtract(int32_t x, int32_t y)
{
    return x - y;
}

static void function_free(void *data)
{
    free(data);
    functions_freed++;
}

static void any(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    /* A copy: the program may deregister the RPC when it has its answer. */
    const struct function function =
        *(const struct function *)margo_registered_data(
            mid, margo_get_info(handle)->id);
    int32_t values[2] = {0, 0};
    struct coder input = {values, 2};
    struct coder output = {values, 1};

    CHECK_RC(margo_instance_ref_incr(mid), HG_SUCCESS);
    CHECK_RC(margo_ref_incr(handle), HG_SUCCESS);
    CHECK_RC(margo_get_input(handle, &input), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &input), HG_SUCCESS);
    values[0] = function.of(values[0], values[1]);
    if (!function.keeps) {
        CHECK_RC(margo_respond(handle, &output), HG_SUCCESS);
        CHECK_RC(margo_destroy(handle), HG_SUCCESS);
        CHECK_RC(margo_instance_release(mid), HG_SUCCESS);
    }
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    if (function.keeps)
        atomic_store(&served, handle);
}
DEFINE_MARGO_RPC_HANDLER(any)

static hg_id_t define(const char *name, uint16_t provider_id, ABT_pool pool,
    struct function function)
{
    struct function *data = malloc(sizeof(*data));
    hg_id_t id = margo_provider_register_name(
        pair.mid, name, code, code, _handler_for_any, provider_id, pool);

    CHECK(data != NULL && id != 0);
    *data = function;
    CHECK_RC(
        margo_register_data(pair.mid, id, data, function_free), HG_SUCCESS);
    CHECK(margo_registered_data(pair.mid, id) == data);
    return id;
}

static int32_t result_of(hg_handle_t handle)
{
    int32_t value = 0;
    struct coder output = {&value, 1};

    CHECK_RC(margo_get_output(handle, &output), HG_SUCCESS);
    CHECK_RC(margo_free_output(handle, &output), HG_SUCCESS);
    return value;
}

static int32_t call(hg_id_t id, uint16_t provider_id, int32_t x, int32_t y)
{
    int32_t values[2] = {x, y};
    struct coder input = {values, 2};
    hg_handle_t handle = alone_handle(id);
    int32_t value = 0;

    CHECK_RC(margo_ref_incr(handle), HG_SUCCESS);
    CHECK_RC(margo_provider_forward_timed(provider_id, handle, &input, 0),
        HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    value = result_of(handle);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    return value;
}

/* Copies of objects that have nothing. */
static void copy_empty_objects(void)
{
    bool is_finalized = false;

    CHECK_RC(margo_instance_ref_incr(MARGO_INSTANCE_NULL), HG_INVALID_ARG);
    CHECK_RC(margo_instance_release(MARGO_INSTANCE_NULL), HG_INVALID_ARG);
    CHECK_RC(margo_instance_is_finalized(MARGO_INSTANCE_NULL, &is_finalized),
        HG_INVALID_ARG);
    CHECK_RC(margo_destroy(HG_HANDLE_NULL), HG_SUCCESS);
    CHECK_RC(margo_ref_incr(HG_HANDLE_NULL), HG_INVALID_ARG);
    CHECK_RC(margo_bulk_free(HG_BULK_NULL), HG_SUCCESS);
    CHECK_RC(margo_bulk_ref_incr(HG_BULK_NULL), HG_INVALID_ARG);
    CHECK_RC(
        margo_addr_free(MARGO_INSTANCE_NULL, HG_ADDR_NULL), HG_INVALID_ARG);
    CHECK_RC(margo_wait(MARGO_REQUEST_NULL), HG_INVALID_ARG);
    CHECK(margo_get_info(HG_HANDLE_NULL) == NULL);
    CHECK(margo_hg_handle_get_instance(HG_HANDLE_NULL) == MARGO_INSTANCE_NULL);
    CHECK(margo_registered_data(MARGO_INSTANCE_NULL, 1) == NULL);
}

/* Copies of an engine, an address and exposed memory. */
static void copy_objects(void)
{
    static char memory[2][64];
    void *parts[2] = {memory[0], memory[1]};
    const hg_size_t sizes[2] = {sizeof(memory[0]), sizeof(memory[1])};
    hg_addr_t twin = HG_ADDR_NULL;
    unsigned before = 0;
    unsigned refs = 0;

    CHECK_RC(margo_instance_ref_count(pair.mid, &before), HG_SUCCESS);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
        CHECK_RC(margo_addr_dup(pair.mid, pair.self, &twin), HG_SUCCESS);
        CHECK(margo_addr_cmp(pair.mid, pair.self, twin) == HG_TRUE);
        CHECK_RC(margo_addr_free(pair.mid, twin), HG_SUCCESS);
        CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    }
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
    /* A handler that answered before may have given its own back meanwhile. */
    CHECK(refs <= before);
    CHECK_RC(margo_addr_free(pair.mid, HG_ADDR_NULL), HG_SUCCESS);

    CHECK_RC(margo_bulk_create_attr(pair.mid, 2, parts, sizes,
                 HG_BULK_READWRITE, NULL, &left.bulk),
        HG_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        CHECK_RC(margo_bulk_ref_incr(left.bulk), HG_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        CHECK_RC(margo_bulk_free(left.bulk), HG_SUCCESS);
    CHECK(margo_bulk_get_size(left.bulk) == sizeof(memory));
    CHECK(margo_bulk_get_segment_count(left.bulk) == 2);
    strcpy(memory[0], "kept");
    CHECK_RC(margo_bulk_transfer_timed(pair.mid, HG_BULK_PULL, pair.self,
                 left.bulk, 0, left.bulk, sizeof(memory[0]), 5, 0),
        HG_SUCCESS);
    CHECK(strcmp(memory[1], "kept") == 0);
}

/* Calls that are under way: one is tested and waited for, two are waited for
 * together, and end as empty requests. */
static void call_without_waiting(hg_id_t id)
{
    int32_t values[2] = {20, 3};
    struct coder input = {values, 2};
    hg_handle_t handles[3];
    margo_request requests[3];
    size_t index = 3;
    int flag = 0;

    for (unsigned i = 0; i < 3; i++) {
        handles[i] = alone_handle(id);
        values[0] = 20 + (int32_t)i;
        CHECK_RC(margo_provider_iforward_timed(MARGO_DEFAULT_PROVIDER_ID,
                     handles[i], &input, 0, &requests[i]),
            HG_SUCCESS);
    }
    while (flag == 0)
        CHECK(margo_test(requests[0], &flag) == 0);
    CHECK_RC(margo_wait(requests[0]), HG_SUCCESS);
    requests[0] = MARGO_REQUEST_NULL;
    for (unsigned i = 0; i < 2; i++) {
        CHECK_RC(margo_wait_any(3, requests, &index), HG_SUCCESS);
        CHECK(index == 1 || index == 2);
        CHECK(requests[index] == MARGO_REQUEST_NULL);
    }
    CHECK_RC(margo_wait_any(3, requests, &index), HG_SUCCESS);
    CHECK(index == 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(result_of(handles[i]) == 23 + (int32_t)i);
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
    }
}

/* A request that outlives its handler is answered later. */
static void answer_later(void)
{
    hg_id_t id = define("later", MARGO_DEFAULT_PROVIDER_ID, ABT_POOL_NULL,
        (struct function){subtract, true});
    int32_t values[2] = {9, 4};
    int32_t answer = 5;
    struct coder input = {values, 2};
    struct coder output = {&answer, 1};
    margo_request request = MARGO_REQUEST_NULL;

    left.handle = alone_handle(id);
    CHECK_RC(margo_provider_iforward_timed(
                 MARGO_DEFAULT_PROVIDER_ID, left.handle, &input, 0, &request),
        HG_SUCCESS);
    while (atomic_load(&served) == HG_HANDLE_NULL)
        margo_thread_sleep(pair.mid, 0.1);
    CHECK_RC(margo_respond(served, &output), HG_SUCCESS);
    CHECK_RC(margo_wait(request), HG_SUCCESS);
    CHECK(result_of(left.handle) == 5);
}

/* A provider whose handlers run in a pool of its own. */
static void provide(void)
{
    struct margo_pool_info pool;
    struct margo_pool_info found;
    struct margo_xstream_info stream;
    char identity[8] = "";
    size_t size = 1;
    unsigned refs = 0;
    hg_id_t id = 0;

    CHECK_RC(margo_add_pool_from_json(
                 pair.mid, "{\"name\":\"own\",\"kind\":\"fifo_wait\"}", &pool),
        HG_SUCCESS);
    CHECK_RC(
        margo_add_xstream_from_json(pair.mid,
            "{\"name\":\"own\",\"scheduler\":{\"pools\":[\"own\"]}}", &stream),
        HG_SUCCESS);
    CHECK_RC(margo_find_pool_by_name(pair.mid, "own", &found), HG_SUCCESS);
    CHECK(found.pool == pool.pool && found.index == pool.index);
    CHECK_RC(margo_find_pool_by_name(pair.mid, "none", &found), HG_NOENTRY);
    CHECK_RC(margo_find_xstream_by_index(pair.mid, stream.index, &stream),
        HG_SUCCESS);
    CHECK(strcmp(stream.name, "own") == 0);

    id = define(
        "minus", PROVIDER, pool.pool, (struct function){subtract, false});
    CHECK(call(id, PROVIDER, 9, 4) == 5);
    CHECK_RC(margo_pool_ref_count_by_name(pair.mid, "own", &refs), HG_SUCCESS);
    CHECK(refs == 2); /* the stream, and the RPC */
    CHECK_RC(margo_pool_ref_incr_by_handle(pair.mid, pool.pool), HG_SUCCESS);
    CHECK_RC(margo_pool_release_by_index(pair.mid, pool.index), HG_SUCCESS);
    CHECK_RC(margo_pool_release_by_name(pair.mid, "own"), HG_PERMISSION);

    CHECK_RC(margo_provider_register_identity(pair.mid, PROVIDER, "minus"),
        HG_SUCCESS);
    CHECK_RC(margo_provider_register_identity(pair.mid, PROVIDER, "plus"),
        HG_INVALID_ARG);
    CHECK_RC(margo_provider_get_identity(
                 pair.mid, pair.self, PROVIDER, identity, &size),
        HG_NOMEM);
    CHECK(size == sizeof("minus"));
    CHECK_RC(margo_provider_get_identity(
                 pair.mid, pair.self, PROVIDER, identity, &size),
        HG_SUCCESS);
    CHECK(strcmp(identity, "minus") == 0);
    CHECK_RC(
        margo_provider_deregister_identity(pair.mid, PROVIDER), HG_SUCCESS);
    CHECK_RC(
        margo_provider_deregister_identity(pair.mid, PROVIDER), HG_NOENTRY);

    CHECK_RC(margo_deregister(pair.mid, id), HG_SUCCESS);
    CHECK(functions_freed == 1);
    CHECK_RC(margo_remove_xstream_by_name(pair.mid, "own"), HG_SUCCESS);
    CHECK_RC(margo_remove_pool_by_handle(pair.mid, pool.pool), HG_SUCCESS);
}

static void note(void *arg)
{
    CHECK(strlen(callbacks) < sizeof(callbacks) - 1);
    strcat(callbacks, arg);
}

static void note_and_call(void *arg)
{
    hg_id_t id = 0;
    hg_bool_t is_there = HG_FALSE;

    note(arg);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    CHECK_RC(
        margo_registered_name(pair.mid, "add", &id, &is_there), HG_SUCCESS);
    CHECK(is_there == HG_TRUE);
    CHECK(call(id, MARGO_DEFAULT_PROVIDER_ID, 1, 1) == 2);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
}

/* Callbacks of the end, of two owners. Runs: 'b', the newer owner's; then 'a';
 * then those of the end, 'd' and 'c'. 'x' and 'y' were taken back. */
static void push_callbacks(void)
{
    margo_instance_id mid = pair.mid;
    margo_finalize_callback_t callback = NULL;
    void *arg = NULL;

    margo_provider_push_prefinalize_callback(mid, &left, note, "a");
    margo_provider_push_prefinalize_callback(mid, &left, note, "x");
    margo_provider_push_prefinalize_callback(mid, &pair, note_and_call, "b");
    CHECK(margo_provider_top_prefinalize_callback(mid, &left, &callback, &arg));
    CHECK(callback == note && strcmp(arg, "x") == 0);
    CHECK(margo_provider_pop_prefinalize_callback(mid, &left) == 1);

    margo_provider_push_finalize_callback(mid, &left, note, "c");
    margo_provider_push_finalize_callback(mid, &pair, note, "d");
    margo_provider_push_finalize_callback(mid, &pair, note, "y");
    CHECK(margo_provider_top_finalize_callback(mid, &pair, &callback, &arg));
    CHECK(callback == note && strcmp(arg, "y") == 0);
    CHECK(margo_provider_pop_finalize_callback(mid, &pair) == 1);
    CHECK(margo_provider_pop_finalize_callback(mid, callbacks) == 0);
}

/* The destructors of what is left; each drops its reference afterwards. */
static void peer_end(void)
{
    CHECK_RC(margo_addr_free(pair.mid, left.peer), HG_SUCCESS);
}

static void handle_end(void)
{
    CHECK_RC(margo_destroy(left.handle), HG_SUCCESS);
}

static void served_end(void)
{
    CHECK_RC(margo_destroy(served), HG_SUCCESS);
}

static void bulk_end(void)
{
    CHECK_RC(margo_bulk_free(left.bulk), HG_SUCCESS);
}

static void timer_end(void)
{
    CHECK(margo_timer_cancel(left.timer) == 0);
    CHECK(margo_timer_destroy(left.timer) == 0);
}

static void engine_end(void)
{
    /* Only has its reference. */
}

static void (*const ends[])(void) = {
    peer_end, handle_end, served_end, bulk_end, timer_end, engine_end};
enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

static void make_objects(void)
{
    hg_id_t id = define("add", MARGO_DEFAULT_PROVIDER_ID, ABT_POOL_NULL,
        (struct function){add, false});

    CHECK(call(id, MARGO_DEFAULT_PROVIDER_ID, 2, 3) == 5);
    copy_objects();
    call_without_waiting(id);
    provide();
    answer_later();
    push_callbacks();
    CHECK_RC(margo_addr_dup(pair.mid, pair.self, &left.peer), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    pair.self = left.peer;
    CHECK(margo_timer_create(pair.mid, note, "t", &left.timer) == 0);
    CHECK(margo_timer_start(left.timer, 60000) == 0);
    /* The served request and the engine's own have theirs already. */
    for (unsigned i = 0; i < ENDS - 2; i++)
        CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
}

/* All objects end after margo_finalize(), from the first'th on, upwards or
 * downwards. */
static void objects_end(const char *json, unsigned first, unsigned step)
{
    bool is_finalized = true;
    unsigned refs = 0;

    served = HG_HANDLE_NULL;
    memset(&left, 0, sizeof(left));
    memset(callbacks, 0, sizeof(callbacks));
    functions_freed = 0;
    alone_open(json, NULL);
    make_objects();
    CHECK_RC(margo_instance_is_finalized(pair.mid, &is_finalized), HG_SUCCESS);
    CHECK(!is_finalized);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    margo_finalize(pair.mid);
    margo_wait_for_finalize(pair.mid); /* returns at once */
    CHECK(strcmp(callbacks, "badc") == 0);
    for (unsigned i = 0; i < ENDS; i++) {
        CHECK_RC(
            margo_instance_is_finalized(pair.mid, &is_finalized), HG_SUCCESS);
        CHECK(is_finalized);
        CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
        CHECK(refs == ENDS - i);
        ends[(first + i * step) % ENDS]();
        CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    }
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_INVALID_ARG);
    CHECK(functions_freed == 3);
    CHECK(strcmp(callbacks, "badc") == 0);
}

int main(void)
{
    copy_empty_objects();
    for (unsigned first = 0; first < ENDS; first++) {
        objects_end(NULL, first, 1);
        objects_end("{\"use_progress_thread\":true,\"rpc_thread_count\":1}",
            first, ENDS - 1);
    }
    CHECK(ABT_initialized() != ABT_SUCCESS);
    return 0;
}
