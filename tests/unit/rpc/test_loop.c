/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a context to itself, which go without a message: none is lost, in
 * whatever order handles are answered and destroyed, they begin in order beside
 * those that are messages, and a thread that sleeps is woken for them. */
#include "rpc/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "amalgam_oneway.h"
#include "mercury.h"
#include "mercury_macros.h"

enum { MANY = 3000, MIXED = 60, LONG = 100000, THREADS = 3, EACH = 2000 };

typedef struct {
    uint32_t number;
    uint32_t len;
} head_t;

static hg_class_t *cls;
static hg_context_t *context;
static hg_context_t *second; /* another context of the class */
static hg_addr_t self;
static hg_id_t call_id;
static hg_id_t note_id;
static atomic_uint served;
static atomic_uint ended;
static atomic_uint canceled;
static unsigned expected; /* number that the next handler must see */
static unsigned looped;   /* handlers whose call was no message */
static bool checks_order;
static bool answers_never;
static hg_handle_t kept;

static hg_return_t hg_proc_head_t(hg_proc_t proc, void *data)
{
    static _Thread_local uint8_t bytes[LONG];
    head_t *head = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &head->number);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &head->len);
    return rc != HG_SUCCESS ? rc : hg_proc_bytes(proc, bytes, head->len);
}

static void see(unsigned number)
{
    if (checks_order)
        assert_int_equal(number, expected);
    expected++;
}

static hg_return_t serve(hg_handle_t handle)
{
    head_t head = {0, 0};

    looped += handle->arrival == NULL;
    atomic_fetch_add(&served, 1);
    assert_int_equal(HG_Get_input(handle, &head), HG_SUCCESS);
    assert_int_equal(HG_Free_input(handle, &head), HG_SUCCESS);
    see(head.number);
    if (!answers_never)
        assert_int_equal(HG_Respond(handle, NULL, NULL, &head), HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t keep(hg_handle_t handle)
{
    kept = handle;
    return HG_SUCCESS;
}

static void note(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    uint64_t number = 0;

    (void)from_rank;
    assert_ptr_equal(hg_class, cls);
    assert_int_equal(len, sizeof(number));
    memcpy(&number, arg, sizeof(number));
    see((unsigned)number);
    atomic_fetch_add(&served, 1);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    if (info->ret == HG_CANCELED)
        atomic_fetch_add(&canceled, 1);
    else
        assert_int_equal(info->ret, HG_SUCCESS);
    atomic_fetch_add(&ended, 1);
    return HG_SUCCESS;
}

static void turn(unsigned timeout_ms)
{
    unsigned count = 0;

    (void)HG_Progress(context, timeout_ms);
    do {
        (void)HG_Trigger(context, 0, 1, &count);
    } while (count > 0);
    (void)HG_Progress(second, 0);
    (void)HG_Trigger(second, 0, 1, &count);
}

static hg_handle_t call(hg_id_t id, head_t head, uint8_t target)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    assert_int_equal(HG_Set_target_id(handle, target), HG_SUCCESS);
    assert_int_equal(HG_Forward(handle, call_ended, NULL, &head), HG_SUCCESS);
    return handle;
}

static void test_loop_more_than_there_are_credits(void **state)
{
    static hg_handle_t handles[MANY];

    (void)state;
    checks_order = true;
    for (unsigned i = 0; i < MANY; i++)
        handles[i] = call(call_id, (head_t){i, i % 24}, 0);
    while (atomic_load(&ended) < MANY)
        turn(10);
    assert_int_equal(atomic_load(&served), MANY);
    assert_int_equal(looped, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        head_t head = {0, 0};

        assert_int_equal(HG_Get_output(handles[i], &head), HG_SUCCESS);
        assert_int_equal(head.number, i);
        assert_int_equal(HG_Free_output(handles[i], &head), HG_SUCCESS);
        assert_int_equal(HG_Destroy(handles[i]), HG_SUCCESS);
    }
}

/* One-way calls without a handle are messages, the calls between are not,
 * unless they would overtake one. */
static void test_loop_keeps_the_order_beside_messages(void **state)
{
    hg_handle_t handles[MIXED];
    unsigned count = 0;

    (void)state;
    checks_order = true;
    for (uint64_t i = 0; i < MIXED; i++) {
        if (i % 7 < 3)
            assert_int_equal(
                amalgam_forward_oneway(context, self, note_id, &i, sizeof(i)),
                HG_SUCCESS);
        else
            handles[count++] = call(call_id,
                (head_t){(uint32_t)i, i % 11 == 0 ? LONG : (uint32_t)i % 3}, 0);
        if (i % 20 == 19)
            while (atomic_load(&served) <= i)
                turn(10);
    }
    while (atomic_load(&ended) < count)
        turn(10);
    assert_in_range(looped, 1, count - 1);
    while (count > 0)
        assert_int_equal(HG_Destroy(handles[--count]), HG_SUCCESS);
}

/* A call to another context of the class is a message. */
static void test_loop_is_for_the_own_context(void **state)
{
    hg_handle_t one = call(call_id, (head_t){0, 3}, 1);
    hg_handle_t other = HG_HANDLE_NULL;

    (void)state;
    while (atomic_load(&ended) < 1)
        turn(10);
    assert_int_equal(looped, 0);
    other = call(call_id, (head_t){1, 3}, 0);
    while (atomic_load(&ended) < 2)
        turn(10);
    assert_int_equal(looped, 1);
    assert_int_equal(HG_Destroy(one), HG_SUCCESS);
    assert_int_equal(HG_Destroy(other), HG_SUCCESS);
}

/* The origin is told if nobody answers, and may be destroyed before. */
static void test_loop_ends_in_any_order(void **state)
{
    hg_id_t keep_id = MERCURY_REGISTER(cls, "keep", head_t, head_t, keep);
    hg_handle_t handle = HG_HANDLE_NULL;

    (void)state;
    answers_never = true;
    handle = call(call_id, (head_t){0, 0}, 0);
    while (atomic_load(&ended) < 1)
        turn(10);
    assert_int_equal(atomic_load(&canceled), 1);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    for (uint32_t len = 0; len <= LONG; len += LONG / 2) {
        handle = call(keep_id, (head_t){0, len}, 0);
        assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
        kept = HG_HANDLE_NULL;
        while (kept == HG_HANDLE_NULL)
            turn(10);
        assert_int_equal(
            HG_Respond(kept, NULL, NULL, &(head_t){1, len}), HG_SUCCESS);
        assert_int_equal(HG_Respond(kept, NULL, NULL, NULL), HG_BUSY);
        turn(0);
        assert_int_equal(HG_Destroy(kept), HG_SUCCESS);
    }
    assert_int_equal(atomic_load(&ended), 4);
    assert_int_equal(atomic_load(&canceled), 1);
    assert_int_equal(HG_Context_unpost(context), HG_SUCCESS);
    handle = call(call_id, (head_t){0, 0}, 0);
    while (atomic_load(&ended) < 5)
        turn(10);
    assert_int_equal(atomic_load(&canceled), 2);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
}

static bool is_over;

static hg_return_t call_again(const struct hg_cb_info *info)
{
    assert_int_equal(info->ret, HG_SUCCESS);
    return is_over ? HG_Destroy(info->info.forward.handle)
                   : HG_Forward(info->info.forward.handle, call_again, NULL,
                         &(head_t){0, 0});
}

/* HG_Trigger() ends although each callback makes a further call; progress makes
 * the chain go on. */
static void test_loop_chain_lets_trigger_end(void **state)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned count = 0;

    (void)state;
    is_over = false;
    assert_int_equal(HG_Create(context, self, call_id, &handle), HG_SUCCESS);
    assert_int_equal(
        HG_Forward(handle, call_again, NULL, &(head_t){0, 0}), HG_SUCCESS);
    while (atomic_load(&served) < MANY) {
        (void)HG_Trigger(context, 0, UINT32_MAX, &count);
        assert_in_range(count, 0, MANY / 2);
        (void)HG_Progress(context, 10);
    }
    is_over = true;
    while (amg_tally_sum(&context->handles) > 0)
        turn(10);
}

/* RPCs whose ids share a place among those found lately go this way, too. */
static void test_loop_of_ids_that_collide(void **state)
{
    hg_handle_t handles[AMG_RPC_RECENT + 1];

    (void)state;
    for (hg_id_t i = 0; i <= AMG_RPC_RECENT; i++)
        assert_int_equal(
            HG_Register(cls, i + 1, hg_proc_head_t, hg_proc_head_t, serve),
            HG_SUCCESS);
    for (unsigned i = 0; i <= AMG_RPC_RECENT; i++)
        assert_int_equal(
            HG_Create(context, self, i + 1, &handles[i]), HG_SUCCESS);
    for (unsigned i = 0; i <= AMG_RPC_RECENT; i++)
        assert_int_equal(
            HG_Forward(handles[i], call_ended, NULL, &(head_t){0, 0}),
            HG_SUCCESS);
    while (atomic_load(&ended) <= AMG_RPC_RECENT)
        turn(10);
    assert_int_equal(looped, AMG_RPC_RECENT + 1);
    for (unsigned i = 0; i <= AMG_RPC_RECENT; i++)
        assert_int_equal(HG_Destroy(handles[i]), HG_SUCCESS);
}

static void nothing(struct amg_cq_entry *entry)
{
    (void)entry;
}

/* A handler in the progress thread of another context calls: the progress
 * thread of this context must look once more before it sleeps. */
static void test_loop_tells_the_thread_of_another_context(void **state)
{
    struct amg_cq_entry entry = {.run = nothing, .is_incoming = true};
    unsigned epoch = amg_cq_epoch(&context->cq);

    (void)state;
    amg_role.is_library_thread = true;
    amg_role.serves = second;
    amg_context_queue_apart(context, &entry);
    amg_role.serves = NULL;
    amg_role.is_library_thread = false;
    assert_int_not_equal(amg_cq_epoch(&context->cq), epoch);
    assert_ptr_equal(amg_cq_pop(&context->incoming), &entry);
}

static void *caller(void *arg)
{
    for (unsigned i = 0; i < EACH; i++)
        assert_int_equal(
            HG_Destroy(call(call_id, (head_t){i, i % 24}, 0)), HG_SUCCESS);
    return arg;
}

/* Threads call while one thread runs the handlers, and sleeps between. */
static void test_loop_wakes_a_sleeping_thread(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, caller, NULL), 0);
    while (atomic_load(&ended) < THREADS * EACH) {
        unsigned count = 0;

        (void)HG_Progress(context, 10000);
        (void)HG_Trigger(context, 0, 100, &count);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&served), THREADS * EACH);
    assert_int_equal(looped, THREADS * EACH);
}

static int start(void **state)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    (void)state;
    HG_Set_log_level("none");
    info.na_init_info.max_contexts = 2;
    cls = HG_Init_opt2(
        "self", HG_TRUE, HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    second = context == NULL ? NULL : HG_Context_create_id(cls, 1);
    if (second == NULL || HG_Addr_self(cls, &self) != HG_SUCCESS)
        return -1;
    call_id = MERCURY_REGISTER(cls, "call", head_t, head_t, serve);
    note_id = amalgam_register_oneway(cls, "note", note);
    atomic_store(&served, 0);
    atomic_store(&ended, 0);
    atomic_store(&canceled, 0);
    expected = 0;
    looped = 0;
    checks_order = false;
    answers_never = false;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
        continue;
    if (HG_Addr_free(cls, self) != HG_SUCCESS ||
        HG_Context_destroy(second) != HG_SUCCESS ||
        HG_Context_destroy(context) != HG_SUCCESS)
        return -1;
    return HG_Finalize(cls) == HG_SUCCESS ? 0 : -1;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_loop_more_than_there_are_credits),
        UNIT_TEST(test_loop_keeps_the_order_beside_messages),
        UNIT_TEST(test_loop_is_for_the_own_context),
        UNIT_TEST(test_loop_ends_in_any_order),
        UNIT_TEST(test_loop_chain_lets_trigger_end),
        UNIT_TEST(test_loop_of_ids_that_collide),
        UNIT_TEST(test_loop_tells_the_thread_of_another_context),
        UNIT_TEST(test_loop_wakes_a_sleeping_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
