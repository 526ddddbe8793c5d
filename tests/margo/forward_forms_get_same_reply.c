/* SPDX-License-Identifier: BSD-3-Clause */
/* Each form of a call gets the same reply: blocking, by request, by callback,
 * with and without a timeout, with and without a provider. */
#include <string.h>

#include "echo.h"
#include "pair.h"

enum { PROVIDER = 7, MANY = 5 };

#define LIMIT_MS 20000.0

static hg_id_t echo_id;
static hg_id_t for_provider_id;
static hg_id_t null_id;

static void echo(hg_handle_t handle)
{
    const struct hg_info *info = margo_get_info(handle);
    echo_t in;
    echo_t out;

    CHECK_RC(margo_get_input(handle, &in), HG_SUCCESS);
    out.number = in.number + (info->id & 0xffffu);
    out.text = in.text;
    CHECK_RC(margo_respond(handle, &out), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(echo)

static void null(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(null)

static void enrol(void)
{
    echo_id = MARGO_REGISTER(pair.mid, "echo", echo_t, echo_t, echo);
    for_provider_id = MARGO_REGISTER_PROVIDER(
        pair.mid, "echo", echo_t, echo_t, echo, PROVIDER, ABT_POOL_NULL);
    null_id = MARGO_REGISTER(pair.mid, "null", void, void, null);
    CHECK(echo_id != 0 && for_provider_id != 0 && null_id != 0);
}

/* Checks the reply to `number`, served by `provider`. */
static void answer_check(hg_handle_t handle, uint64_t number, uint16_t provider)
{
    echo_t out;

    CHECK_RC(margo_get_output(handle, &out), HG_SUCCESS);
    CHECK(out.number == number + provider);
    CHECK(strcmp(out.text, "text") == 0);
    CHECK_RC(margo_free_output(handle, &out), HG_SUCCESS);
}

static void waiting_forms(hg_handle_t handle)
{
    echo_t in = {1, "text"};

    CHECK_RC(margo_forward(handle, &in), HG_SUCCESS);
    answer_check(handle, 1, MARGO_DEFAULT_PROVIDER_ID);
    in.number = 2;
    CHECK_RC(margo_forward_timed(handle, &in, LIMIT_MS), HG_SUCCESS);
    answer_check(handle, 2, MARGO_DEFAULT_PROVIDER_ID);
    in.number = 3;
    CHECK_RC(margo_provider_forward(PROVIDER, handle, &in), HG_SUCCESS);
    answer_check(handle, 3, PROVIDER);
    in.number = 4;
    CHECK_RC(margo_provider_forward_timed(PROVIDER, handle, &in, LIMIT_MS),
        HG_SUCCESS);
    answer_check(handle, 4, PROVIDER);
}

static void wait_check(
    margo_request req, hg_handle_t handle, uint64_t number, uint16_t provider)
{
    CHECK(margo_request_get_handle(req) == handle);
    CHECK(margo_request_get_type(req) == MARGO_FORWARD_REQUEST);
    CHECK(margo_request_get_instance(req) == pair.mid);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
    answer_check(handle, number, provider);
}

static void request_forms(hg_handle_t handle)
{
    margo_request req = MARGO_REQUEST_NULL;
    echo_t in = {5, "text"};
    int flag = 0;

    CHECK_RC(margo_iforward(handle, &in, &req), HG_SUCCESS);
    wait_check(
        req, handle, 5, PROVIDER); /* provider of the last call of the handle */
    CHECK_RC(margo_provider_iforward(PROVIDER, handle, &in, &req), HG_SUCCESS);
    wait_check(req, handle, 5, PROVIDER);
    CHECK_RC(margo_iforward_timed(handle, &in, LIMIT_MS, &req), HG_SUCCESS);
    while (!flag)
        CHECK(margo_test(req, &flag) == 0);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
    CHECK_RC(
        margo_provider_iforward_timed(PROVIDER, handle, &in, LIMIT_MS, &req),
        HG_SUCCESS);
    wait_check(req, handle, 5, PROVIDER);
}

static void is_over(void *arg, hg_return_t ret)
{
    CHECK_RC(ret, HG_SUCCESS);
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
}

static void over_wait(ABT_eventual eventual, hg_handle_t handle)
{
    CHECK(ABT_eventual_wait(eventual, NULL) == ABT_SUCCESS);
    CHECK(ABT_eventual_reset(eventual) == ABT_SUCCESS);
    answer_check(handle, 6, PROVIDER);
}

static void callback_forms(hg_handle_t handle)
{
    ABT_eventual over = ABT_EVENTUAL_NULL;
    echo_t in = {6, "text"};

    CHECK(ABT_eventual_create(0, &over) == ABT_SUCCESS);
    CHECK_RC(margo_cforward(handle, &in, is_over, &over), HG_SUCCESS);
    over_wait(over, handle);
    CHECK_RC(margo_cforward_timed(handle, &in, LIMIT_MS, is_over, &over),
        HG_SUCCESS);
    over_wait(over, handle);
    CHECK_RC(margo_provider_cforward(PROVIDER, handle, &in, is_over, &over),
        HG_SUCCESS);
    over_wait(over, handle);
    CHECK_RC(margo_provider_cforward_timed(
                 PROVIDER, handle, &in, LIMIT_MS, is_over, &over),
        HG_SUCCESS);
    over_wait(over, handle);
    CHECK(ABT_eventual_free(&over) == ABT_SUCCESS);
}

/* Each one ends once, in any order; the others are unchanged. */
static void any_of_many(void)
{
    margo_request reqs[MANY];
    hg_handle_t handles[MANY];
    size_t index = 0;
    bool was[MANY] = {false};

    for (uint64_t i = 0; i < MANY; i++) {
        echo_t in = {i, "text"};

        handles[i] = pair_handle(echo_id);
        CHECK_RC(margo_iforward(handles[i], &in, &reqs[i]), HG_SUCCESS);
    }
    for (int left = MANY; left > 0; left--) {
        CHECK_RC(margo_wait_any(MANY, reqs, &index), HG_SUCCESS);
        CHECK(index < MANY && !was[index]);
        CHECK(reqs[index] == MARGO_REQUEST_NULL);
        was[index] = true;
        answer_check(handles[index], index, MARGO_DEFAULT_PROVIDER_ID);
    }
    CHECK_RC(margo_wait_any(MANY, reqs, &index), HG_SUCCESS);
    CHECK(index == MANY);
    for (int i = 0; i < MANY; i++)
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
}

/* A request that is listed twice is waited for once, and removed from both
 * entries. */
static void any_of_twins(void)
{
    hg_handle_t handle = pair_handle(echo_id);
    margo_request reqs[3] = {MARGO_REQUEST_NULL};
    size_t index = 0;
    echo_t in = {7, "text"};

    CHECK_RC(margo_iforward(handle, &in, &reqs[0]), HG_SUCCESS);
    reqs[2] = reqs[0];
    CHECK_RC(margo_wait_any(3, reqs, &index), HG_SUCCESS);
    CHECK(index == 0);
    CHECK(reqs[0] == MARGO_REQUEST_NULL && reqs[2] == MARGO_REQUEST_NULL);
    answer_check(handle, 7, MARGO_DEFAULT_PROVIDER_ID);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void without_arguments(void)
{
    hg_handle_t handle = pair_handle(null_id);

    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK(HG_Get_input_payload_size(handle) == 0);
    CHECK(HG_Get_output_payload_size(handle) == 0);
    CHECK_RC(margo_get_output(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_free_output(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void test(void)
{
    hg_handle_t handle = pair_handle(echo_id);

    waiting_forms(handle);
    request_forms(handle);
    callback_forms(handle);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    any_of_many();
    any_of_twins();
    without_arguments();
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
