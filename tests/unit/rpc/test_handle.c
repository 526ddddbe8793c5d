/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle goes through the states of its table, is counted, and is released
 * with its last reference. */
#include "rpc/handle.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mercury.h"

enum { THREADS = 2, ROUNDS = 20000, SPINS = 10000 };

static hg_class_t *cls;
static hg_context_t *context;
static hg_addr_t self;
static hg_id_t id;
static enum amg_handle_state state_in_callback;
static enum amg_handle_state state_in_handler;
static enum amg_handle_state state_after_answer;

static hg_return_t serve(hg_handle_t handle)
{
    state_in_handler = amg_handle_state(handle);
    (void)HG_Respond(handle, NULL, NULL, NULL);
    state_after_answer = amg_handle_state(handle);
    return HG_Destroy(handle);
}

static int context_setup(void **state)
{
    (void)state;
    cls = HG_Init("self", HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL)
        return 1;
    id = HG_Register_name(cls, "null", NULL, NULL, serve);
    return HG_Addr_self(cls, &self) != HG_SUCCESS;
}

static int context_teardown(void **state)
{
    (void)state;
    return HG_Addr_free(cls, self) != HG_SUCCESS ||
           HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(cls) != HG_SUCCESS;
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    state_in_callback = amg_handle_state(info->info.forward.handle);
    *(bool *)info->arg = true;
    return HG_SUCCESS;
}

static void test_handle_goes_through_its_states(void **state)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    bool is_ended = false;

    (void)state;
    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    assert_int_equal(amg_handle_state(handle), AMG_HANDLE_IDLE);
    assert_int_equal(HG_Forward(handle, ended, &is_ended, NULL), HG_SUCCESS);
    assert_int_equal(amg_handle_state(handle), AMG_HANDLE_POSTED);
    assert_int_equal(HG_Ref_get(handle), 2);
    while (amg_handle_state(handle) != AMG_HANDLE_READY) {
        assert_int_equal(HG_Progress(context, 1000), HG_SUCCESS);
        if (amg_handle_state(handle) == AMG_HANDLE_POSTED)
            (void)HG_Trigger(context, 0, 1, NULL);
    }
    assert_false(is_ended);
    assert_int_equal(HG_Trigger(context, 0, 1, NULL), HG_SUCCESS);
    assert_true(is_ended);
    assert_int_equal(state_in_handler, AMG_HANDLE_RUNNING);
    assert_int_equal(state_after_answer, AMG_HANDLE_ANSWERED);
    assert_int_equal(state_in_callback, AMG_HANDLE_DONE);
    assert_int_equal(HG_Ref_get(handle), 1);
    assert_int_equal(HG_Reset(handle, HG_ADDR_NULL, 0), HG_SUCCESS);
    assert_int_equal(amg_handle_state(handle), AMG_HANDLE_IDLE);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
}

/* One call to self, from beginning to end. */
static void call(hg_handle_t handle)
{
    bool is_ended = false;

    assert_int_equal(HG_Forward(handle, ended, &is_ended, NULL), HG_SUCCESS);
    assert_int_equal(HG_Ref_get(handle), 2);
    while (!is_ended) {
        (void)HG_Progress(context, 100);
        (void)HG_Trigger(context, 0, 1, NULL);
    }
    assert_int_equal(HG_Ref_get(handle), 1);
}

static void test_handle_without_spare_references_adds_some(void **state)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    int spare = 0;

    (void)state;
    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    spare = atomic_load(&handle->spare);
    /* As if all references but one were in use. */
    atomic_fetch_sub(&handle->refs, spare - 1);
    atomic_store(&handle->spare, 1);
    for (unsigned i = 0; i < 3; i++)
        call(handle);
    assert_int_equal(atomic_load(&handle->spare), spare - 2);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(amg_tally_sum(&context->handles), 0);
}

static void test_handle_of_user_is_counted(void **state)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    struct hg_handle *inner = NULL;

    (void)state;
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_HANDLES), 0);
    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_HANDLES), 1);
    inner = amg_handle_create(context, false);
    assert_non_null(inner);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_HANDLES), 1);
    assert_int_equal(amg_tally_sum(&context->handles), 2);
    amg_handle_unref(inner);
    assert_int_equal(HG_Ref_incr(handle), HG_SUCCESS);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_HANDLES), 1);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_HANDLES), 0);
    assert_int_equal(amg_tally_sum(&context->handles), 0);
}

static void data_free(void *data)
{
    (*(unsigned *)data)++;
}

static void test_handle_data_end_with_the_last_reference(void **state)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned freed = 0;

    (void)state;
    assert_int_equal(HG_Create(context, HG_ADDR_NULL, 0, &handle), HG_SUCCESS);
    assert_int_equal(HG_Set_data(handle, &freed, data_free), HG_SUCCESS);
    amg_handle_ref(handle);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(freed, 0);
    amg_handle_unref(handle);
    assert_int_equal(freed, 1);
}

/* State that the threads of the next test share. */
struct sharers {
    hg_handle_t handle;
    atomic_uint come; /* over all rounds, two steps each */
    atomic_uint lost;
};

static void sharers_meet(struct sharers *sharers, unsigned wanted)
{
    atomic_fetch_add(&sharers->come, 1u);
    for (unsigned i = 0; atomic_load(&sharers->come) < wanted; i++)
        if (i >= SPINS)
            sched_yield();
}

static void *sharer_run(void *arg)
{
    struct sharers *sharers = arg;
    unsigned meets = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        sharers_meet(sharers, ++meets * THREADS);
        (void)HG_Ref_incr(sharers->handle);
        sharers_meet(sharers, ++meets * THREADS);
        if (HG_Ref_get(sharers->handle) != 1 + THREADS)
            atomic_fetch_add(&sharers->lost, 1u);
        sharers_meet(sharers, ++meets * THREADS);
        if (atomic_load(&sharers->lost) > 0)
            break; /* the handle is gone, or will be */
        (void)HG_Destroy(sharers->handle);
    }
    return NULL;
}

static void test_handle_shared_by_threads_loses_no_reference(void **state)
{
    struct sharers sharers = {.handle = HG_HANDLE_NULL};
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(
        HG_Create(context, HG_ADDR_NULL, 0, &sharers.handle), HG_SUCCESS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, sharer_run, &sharers), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sharers.lost, 0);
    assert_int_equal(HG_Ref_get(sharers.handle), 1);
    assert_int_equal(HG_Destroy(sharers.handle), HG_SUCCESS);
}

struct writer {
    hg_handle_t handle;
    unsigned written;
};

static void *writer_run(void *arg)
{
    struct writer *writer = arg;

    writer->written = 1;
    (void)HG_Destroy(writer->handle);
    return NULL;
}

/* For a thread sanitizer, and for machines that reorder loads. */
static void test_handle_last_reference_sees_writes_of_others(void **state)
{
    struct writer writer = {.handle = HG_HANDLE_NULL};
    pthread_t thread;

    (void)state;
    assert_int_equal(
        HG_Create(context, HG_ADDR_NULL, 0, &writer.handle), HG_SUCCESS);
    assert_int_equal(HG_Ref_incr(writer.handle), HG_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, writer_run, &writer), 0);
    while (HG_Ref_get(writer.handle) != 1)
        sched_yield();
    assert_int_equal(writer.written, 1);
    pthread_join(thread, NULL);
    assert_int_equal(HG_Destroy(writer.handle), HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handle_goes_through_its_states),
        cmocka_unit_test(test_handle_without_spare_references_adds_some),
        cmocka_unit_test(test_handle_of_user_is_counted),
        cmocka_unit_test(test_handle_data_end_with_the_last_reference),
        cmocka_unit_test(test_handle_shared_by_threads_loses_no_reference),
        cmocka_unit_test(test_handle_last_reference_sees_writes_of_others),
    };

    return cmocka_run_group_tests(tests, context_setup, context_teardown);
}
