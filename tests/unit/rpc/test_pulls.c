/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulled arguments of calls that have not run are bounded in bytes; further
 * requests wait, in order, and end with their context. A peer that changes its
 * length meanwhile has no effect. */
#include "rpc/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "core/progress.h"
#include "init/init.h"
#include "mercury.h"
#include "mercury_proc.h"
#include "wire/header.h"

enum { ID = 4711, CALLS = 40, LEN = 400000, ROOM = 1000000, FIT = 2 };

struct call {
    unsigned number;
    unsigned len;
    hg_handle_t handle;
    unsigned done;
    hg_return_t ret;
};

/* A request that claims arguments which do not exist. */
struct liar {
    struct amg_op op;
    bool is_answered;
    void *data; /* of its message */
};

static hg_class_t *cls;
static hg_context_t *context;
static struct call calls[CALLS];
static unsigned served;
static bool is_lied_to; /* the call after the first FIT is no struct call */
static size_t pulled;   /* for that call */

static hg_return_t call_code(hg_proc_t proc, void *data)
{
    struct call *call = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &call->number);
    void *bytes = NULL;

    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &call->len);
    if (ret != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE)
        return ret;
    bytes = hg_proc_save_ptr(proc, call->len);
    if (bytes == NULL)
        return HG_OVERFLOW;
    if (hg_proc_get_op(proc) == HG_ENCODE)
        memset(bytes, (int)call->number + 1, call->len);
    else
        for (unsigned i = 0; i < call->len; i++)
            assert_int_equal(((unsigned char *)bytes)[i], call->number + 1);
    return hg_proc_restore_ptr(proc, bytes, call->len);
}

static hg_return_t serve(hg_handle_t handle)
{
    struct call call = {0};

    if (is_lied_to && served == FIT) {
        pulled = handle->in.len;
        served++;
        assert_int_equal(HG_Respond(handle, NULL, NULL, NULL), HG_SUCCESS);
        return HG_Destroy(handle);
    }
    assert_int_equal(HG_Get_input(handle, &call), HG_SUCCESS);
    assert_int_equal(call.number, served);
    served++;
    assert_int_equal(HG_Free_input(handle, &call), HG_SUCCESS);
    assert_int_equal(HG_Respond(handle, NULL, NULL, NULL), HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->done++;
    call->ret = info->ret;
    return HG_Destroy(info->info.forward.handle);
}

static void forward(unsigned number, unsigned len)
{
    struct call *call = &calls[number];
    hg_addr_t self = HG_ADDR_NULL;

    *call = (struct call){.number = number, .len = len};
    assert_int_equal(HG_Addr_self(cls, &self), HG_SUCCESS);
    assert_int_equal(HG_Create(context, self, ID, &call->handle), HG_SUCCESS);
    assert_int_equal(
        HG_Forward(call->handle, call_ended, call, call), HG_SUCCESS);
    assert_int_equal(HG_Addr_free(cls, self), HG_SUCCESS);
}

static void forward_all(void)
{
    for (unsigned i = 0; i < CALLS; i++)
        forward(i, LEN);
}

/* Runs no callback. */
static void look(void)
{
    amg_role.is_library_thread = true;
    for (unsigned i = 0; i < 3 * CALLS; i++)
        amg_progress_wait(context, 0);
    amg_role.is_library_thread = false;
}

static void drive(void)
{
    unsigned count = 0;

    do {
        count = 0;
        look();
        (void)HG_Trigger(context, 0, 1, &count);
        assert_true(context->rpc->pulls.len <= context->rpc->pulls.cap);
    } while (count > 0);
}

static unsigned waiting(void)
{
    struct amg_link *link = amg_list_first(&context->rpc->pulls.waiting);
    unsigned count = 0;

    for (; link != NULL;
         link = amg_list_next(&context->rpc->pulls.waiting, link))
        count++;
    return count;
}

static void calls_expect(unsigned from, unsigned to, hg_return_t ret)
{
    for (unsigned i = from; i < to; i++) {
        assert_int_equal(calls[i].done, 1);
        assert_int_equal(calls[i].ret, ret);
    }
}

static void test_pulls_burst_waits_for_room(void **state)
{
    (void)state;
    forward_all();
    look();
    assert_int_equal(waiting(), CALLS - FIT);
    assert_int_equal(served, 0);
    drive();
    assert_int_equal(served, CALLS);
    calls_expect(0, CALLS, HG_SUCCESS);
    assert_int_equal(context->rpc->pulls.len, 0);
    assert_in_range(context->rpc->pulls.peak, FIT * LEN, ROOM);
}

/* Arguments above the limit are pulled alone. */
static void test_pulls_longest_is_pulled_alone(void **state)
{
    (void)state;
    forward(0, LEN);
    forward(1, 3 * ROOM);
    forward(2, LEN);
    look();
    assert_int_equal(waiting(), 2);
    assert_int_equal(HG_Trigger(context, 0, 1, NULL), HG_SUCCESS);
    look();
    assert_int_equal(waiting(), 1);
    assert_in_range(context->rpc->pulls.len, 3 * ROOM, 3 * ROOM + LEN);
    while (served < 3) {
        look();
        (void)HG_Trigger(context, 0, 1, NULL);
    }
    drive();
    calls_expect(0, 3, HG_SUCCESS);
    assert_int_equal(context->rpc->pulls.len, 0);
}

/* The context is not destroyed while callbacks are queued; then waiting
 * requests are refused, and the others are served. */
static void test_pulls_waiting_ends_with_context(void **state)
{
    (void)state;
    forward_all();
    look();
    assert_int_equal(HG_Context_destroy(context), HG_BUSY);
    assert_int_equal(waiting(), 0);
    drive();
    assert_int_equal(served, FIT);
    calls_expect(0, FIT, HG_SUCCESS);
    calls_expect(FIT, CALLS, HG_CANCELED);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    context = NULL;
}

/* Requests posted earlier are served, later ones are not. */
static void test_pulls_waiting_is_served_after_unpost(void **state)
{
    (void)state;
    forward_all();
    look();
    assert_int_equal(HG_Context_unpost(context), HG_SUCCESS);
    drive();
    assert_int_equal(served, CALLS);
    calls_expect(0, CALLS, HG_SUCCESS);
}

static void lie_step(struct amg_op *op)
{
    amg_container_of(op, struct liar, op)->is_answered = true;
}

static void lie(struct liar *liar, const void *bytes, size_t len)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_buf *buf = NULL;
    struct hg_addr self;

    *liar = (struct liar){.op.step = lie_step};
    amg_addr_init_self(cls, &self);
    assert_int_equal(
        ep->transport->msg.get_buf(ep, self.peer, &buf), HG_SUCCESS);
    amg_header_write_request(buf->data, AMG_HEADER_MORE, ID);
    memcpy((char *)buf->data + AMG_HEADER_LEN, bytes, len);
    liar->data = buf->data;
    assert_int_equal(
        ep->transport->msg.send_request(ep, (struct amg_target){self.peer, 0},
            buf, AMG_HEADER_LEN + (uint32_t)len, true, &liar->op),
        HG_SUCCESS);
    amg_addr_fini(&self);
}

/* Over shared memory the sender can still write it. */
static void lie_again(const struct liar *liar, uint64_t len)
{
    memcpy((char *)liar->data + AMG_HEADER_LEN, &len, sizeof(len));
}

static hg_return_t lie_answer(struct liar *liar)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_header header;
    const char *why = NULL;

    assert_true(liar->is_answered);
    assert_int_equal(liar->op.ret, HG_SUCCESS);
    assert_int_equal(amg_header_read(liar->op.data, liar->op.len,
                         AMG_HEADER_REPLY, &header, &why),
        HG_SUCCESS);
    ep->transport->msg.release_reply(ep, &liar->op);
    return (hg_return_t)header.ret;
}

/* Damaged requests give their room back, whatever length they claim. */
static void test_pulls_damaged_releases_room(void **state)
{
    static const uint64_t lens[] = {0, LEN, UINT64_MAX};
    struct liar liars[3 * CALLS];
    uint64_t bytes[8];

    (void)state;
    forward(0, LEN);
    for (unsigned i = 0; i < 3 * CALLS; i++) {
        memset(bytes, 0x5a, sizeof(bytes));
        bytes[0] = lens[i % 3];
        lie(&liars[i], bytes, i % 5 == 0 ? 3 : sizeof(bytes));
    }
    forward(1, LEN);
    for (unsigned i = 0; i < 2 * CALLS; i++) {
        look();
        (void)HG_Trigger(context, 0, 1, NULL);
    }
    calls_expect(0, 2, HG_SUCCESS);
    for (unsigned i = 0; i < 3 * CALLS; i++)
        assert_int_not_equal(lie_answer(&liars[i]), HG_SUCCESS);
    assert_int_equal(context->rpc->pulls.len, 0);
    assert_int_equal(waiting(), 0);
}

/* The length was counted when the request arrived. */
static void test_pulls_length_that_changes_is_not_trusted(void **state)
{
    static char lent[3 * ROOM];
    void *bytes = lent;
    hg_size_t size = sizeof(lent);
    hg_bulk_t bulk = HG_BULK_NULL;
    uint64_t front[32];
    struct liar liar;

    (void)state;
    front[0] = LEN;
    assert_int_equal(
        HG_Bulk_create(cls, 1, &bytes, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    assert_int_equal(amg_bulk_register(bulk), HG_SUCCESS);
    assert_in_range(
        amg_bulk_packed_len(bulk, 0), 1, sizeof(front) - sizeof(front[0]));
    amg_bulk_pack(bulk, 0, &front[1]);
    for (unsigned i = 0; i < FIT; i++)
        forward(i, LEN);
    lie(&liar, front, sizeof(front[0]) + amg_bulk_packed_len(bulk, 0));
    look();
    assert_int_equal(waiting(), 1);
    lie_again(&liar, size);
    is_lied_to = true;
    drive();
    is_lied_to = false;
    assert_int_equal(served, FIT + 1);
    assert_int_equal(pulled, LEN);
    assert_int_equal(lie_answer(&liar), HG_SUCCESS);
    assert_in_range(context->rpc->pulls.peak, FIT * LEN, ROOM);
    assert_int_equal(context->rpc->pulls.len, 0);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static int start(void **state)
{
    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    served = 0;
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    /* With checksums a call to oneself is a message, whose target pulls. */
    info.checksum_level = HG_CHECKSUM_RPC_HEADERS;
    cls = HG_Init_opt2(
        "self", HG_TRUE, HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL ||
        HG_Register(cls, ID, call_code, NULL, serve) != HG_SUCCESS)
        return -1;
    context->rpc->pulls.cap = ROOM;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    if (context != NULL && HG_Context_destroy(context) != HG_SUCCESS)
        return -1;
    return HG_Finalize(cls) == HG_SUCCESS ? 0 : -1;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_pulls_burst_waits_for_room),
        UNIT_TEST(test_pulls_longest_is_pulled_alone),
        UNIT_TEST(test_pulls_waiting_ends_with_context),
        UNIT_TEST(test_pulls_waiting_is_served_after_unpost),
        UNIT_TEST(test_pulls_damaged_releases_room),
        UNIT_TEST(test_pulls_length_that_changes_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
