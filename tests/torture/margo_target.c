/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of Margo under torture: what a call does at its target. */
#include <stdlib.h>
#include <time.h>

#include "content.h"
#include "margo_torture.h"

/* A request that is being served. */
struct served {
    struct mt *mt;
    struct mt_plan plan;
    hg_handle_t handle;
    struct mt_args in;
    bool has_in;
    ABT_eventual over;
    hg_return_t rc;
};

static void input_free(struct served *it)
{
    if (it->has_in)
        MT_OK(it->mt, margo_free_input(it->handle, &it->in));
    it->has_in = false;
}

/* False: nobody knows which call it is. */
static bool input_get(struct served *it)
{
    hg_return_t rc = margo_get_input(it->handle, &it->in);
    const struct mt_plan *plan = &it->plan;

    if (rc != HG_SUCCESS) {
        book_finding(
            it->mt->book, "a handler has no input: %s", HG_Error_to_string(rc));
        return false;
    }
    it->has_in = true;
    if (!mt_id_is_known(it->mt, it->in.id)) {
        book_finding(it->mt->book, "a handler got call %llx, which is none",
            (unsigned long long)it->in.id);
        return false;
    }
    mt_plan_make(it->mt, it->in.id, &it->plan);
    (void)book_handle(it->mt->book, it->in.id);
    if (it->in.len != plan->in_len)
        book_finding(it->mt->book, "call %llx: %u bytes came, and not %zu",
            (unsigned long long)plan->id, it->in.len, plan->in_len);
    else if (content_differs(it->in.bytes, it->in.len,
                 content_key(plan->hash, CONTENT_ARGUMENT), 0) != it->in.len)
        book_finding(it->mt->book,
            "call %llx: its argument of %u bytes differs",
            (unsigned long long)plan->id, it->in.len);
    if (plan->target != it->mt->rank)
        book_finding(it->mt->book, "call %llx came to the wrong rank",
            (unsigned long long)plan->id);
    return true;
}

static void pass_time(const struct served *it)
{
    struct timespec moment = {0, (long)it->plan.pause_us * 100};

    switch (it->plan.pause) {
    case MT_YIELD:
        for (unsigned i = 0; i < it->plan.pause_us / 20; i++)
            (void)ABT_self_yield();
        break;
    case MT_SLEEP:
        margo_thread_sleep(it->mt->mid, it->plan.pause_us / 1000.0);
        break;
    case MT_COMPUTE: /* keeps the stream */
        (void)nanosleep(&moment, NULL);
        break;
    default:
        break;
    }
}

static void answered(void *arg, hg_return_t rc)
{
    struct served *it = arg;

    it->rc = rc;
    (void)ABT_eventual_set(it->over, NULL, 0);
}

static hg_return_t answer_send(struct served *it, struct mt_args *out)
{
    margo_request request = MARGO_REQUEST_NULL;
    hg_return_t rc = HG_SUCCESS;

    switch (it->plan.answer) {
    case MT_IRESPOND:
        rc = margo_irespond(it->handle, out, &request);
        return rc == HG_SUCCESS ? margo_wait(request) : rc;
    case MT_CRESPOND:
        if (ABT_eventual_create(0, &it->over) != ABT_SUCCESS)
            abort();
        rc = margo_crespond(it->handle, out, answered, it);
        if (rc == HG_SUCCESS) {
            (void)ABT_eventual_wait(it->over, NULL);
            rc = it->rc;
        }
        (void)ABT_eventual_free(&it->over);
        return rc;
    default:
        return margo_respond(it->handle, out);
    }
}

static void answer(struct served *it)
{
    struct mt_args out = {.id = it->plan.id, .len = (uint32_t)it->plan.out_len};
    hg_return_t rc = HG_SUCCESS;

    if (it->plan.kind == MT_ONEWAY)
        return;
    out.bytes = malloc(it->plan.out_len + 1);
    if (out.bytes == NULL)
        abort();
    content_fill(
        out.bytes, out.len, content_key(it->plan.hash, CONTENT_REPLY), 0);
    rc = answer_send(it, &out);
    if (rc != HG_SUCCESS && !mt_plan_may_lose(&it->plan))
        book_finding(it->mt->book, "call %llx: its answer is %s",
            (unsigned long long)it->plan.id, HG_Error_to_string(rc));
    free(out.bytes);
}

/* All that follows the input. */
static void serve_on(struct served *it)
{
    const struct hg_info *info = margo_get_info(it->handle);
    struct mt *mt = it->mt;

    if (it->plan.kind == MT_PULL || it->plan.kind == MT_PUSH)
        mt_transfer(mt, &it->plan, info->addr, it->in.bulk);
    pass_time(it);
    if (it->plan.kind == MT_NEST)
        mt_call(mt, mt_id_child(it->plan.id));
    if (it->plan.frees_input_first)
        input_free(it);
    answer(it);
    input_free(it);
    MT_OK(mt, margo_destroy(it->handle));
    /* That of the post of a one-way call, which nobody else ends. */
    if (it->plan.kind == MT_ONEWAY)
        book_over(mt->book);
    book_over(mt->book);
}

/* A thread that answers when the handler has returned. */
static void serve_late(void *arg)
{
    struct served *it = arg;

    serve_on(it);
    free(it);
}

static void hand_over(const struct served *it)
{
    struct served *late = malloc(sizeof(*late));
    ABT_pool pool = ABT_POOL_NULL;

    if (late == NULL || margo_get_handler_pool(it->mt->mid, &pool) != 0)
        abort();
    *late = *it;
    if (ABT_thread_create(pool, serve_late, late, ABT_THREAD_ATTR_NULL, NULL) !=
        ABT_SUCCESS)
        abort();
}

static void mt_serve(hg_handle_t handle)
{
    struct served it = {
        .mt = mt_of(margo_hg_handle_get_instance(handle)), .handle = handle};

    book_begin(it.mt->book);
    if (!input_get(&it)) {
        input_free(&it);
        MT_OK(it.mt, margo_destroy(handle));
        book_over(it.mt->book);
    } else if (it.plan.kind == MT_LATE) {
        hand_over(&it);
    } else {
        serve_on(&it);
    }
}
DEFINE_MARGO_RPC_HANDLER(mt_serve)

void mt_register(struct mt *mt)
{
    static const char *const names[MT_RPCS] = {"mt_a", "mt_b", "mt_c"};

    for (unsigned i = 0; i < MT_RPCS; i++)
        mt->call_ids[i] =
            MARGO_REGISTER(mt->mid, names[i], mt_args_t, mt_args_t, mt_serve);
    mt->one_way_id =
        MARGO_REGISTER(mt->mid, "mt_one_way", mt_args_t, void, mt_serve);
    MT_OK(mt, margo_registered_disable_response(mt->mid, mt->one_way_id, 1));
    mt->provider_id =
        MARGO_REGISTER(mt->mid, "mt_provided", mt_args_t, mt_args_t, NULL);
}

hg_id_t mt_provider_register(struct mt *mt, unsigned provider, ABT_pool pool)
{
    return MARGO_REGISTER_PROVIDER(mt->mid, "mt_provided", mt_args_t, mt_args_t,
        mt_serve, mt_provider_number(mt->rank, provider), pool);
}
