/* SPDX-License-Identifier: BSD-3-Clause */
/* Each form of a response arrives, short or long, once; a second one, or a
 * missing one, is an error on both sides. */
#include <string.h>

#include "echo.h"
#include "pair.h"

enum form { WAIT, WAIT_TIMED, REQUEST, REQUEST_TIMED, BACK, BACK_TIMED, FORMS };

enum { LONG_LEN = 300000 };

#define LIMIT_MS 20000.0

static hg_id_t answer_id;
static hg_id_t silent_id;
static hg_id_t one_way_id;
static ABT_eventual one_way_came;

static void is_over(void *arg, hg_return_t ret)
{
    CHECK_RC(ret, HG_SUCCESS);
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
}

static void request_wait(hg_return_t rc, hg_handle_t handle, margo_request req)
{
    CHECK_RC(rc, HG_SUCCESS);
    CHECK(margo_request_get_handle(req) == handle);
    CHECK(margo_request_get_type(req) == MARGO_RESPONSE_REQUEST);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
}

static void answer_by(enum form form, hg_handle_t handle, echo_t *out)
{
    margo_request req = MARGO_REQUEST_NULL;
    ABT_eventual over = ABT_EVENTUAL_NULL;
    hg_return_t rc = HG_SUCCESS;

    CHECK(ABT_eventual_create(0, &over) == ABT_SUCCESS);
    if (form == WAIT)
        CHECK_RC(margo_respond(handle, out), HG_SUCCESS);
    if (form == WAIT_TIMED)
        CHECK_RC(margo_respond_timed(handle, out, LIMIT_MS), HG_SUCCESS);
    if (form == REQUEST) {
        rc = margo_irespond(handle, out, &req);
        request_wait(rc, handle, req);
    }
    if (form == REQUEST_TIMED) {
        rc = margo_irespond_timed(handle, out, LIMIT_MS, &req);
        request_wait(rc, handle, req);
    }
    if (form == BACK)
        CHECK_RC(margo_crespond(handle, out, is_over, &over), HG_SUCCESS);
    if (form == BACK_TIMED)
        CHECK_RC(margo_crespond_timed(handle, out, LIMIT_MS, is_over, &over),
            HG_SUCCESS);
    if (form == BACK || form == BACK_TIMED)
        CHECK(ABT_eventual_wait(over, NULL) == ABT_SUCCESS);
    CHECK(ABT_eventual_free(&over) == ABT_SUCCESS);
}

static void answer(hg_handle_t handle)
{
    echo_t in;

    CHECK_RC(margo_get_input(handle, &in), HG_SUCCESS);
    answer_by((enum form)in.number, handle, &in);
    CHECK(margo_respond(handle, &in) != HG_SUCCESS); /* a second one */
    CHECK_RC(margo_free_input(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(answer)

static void silent(hg_handle_t handle)
{
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(silent)

static void one_way(hg_handle_t handle)
{
    CHECK(margo_respond(handle, NULL) != HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(ABT_eventual_set(one_way_came, NULL, 0) == ABT_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(one_way)

static void enrol(void)
{
    int is_disabled = 0;

    CHECK(ABT_eventual_create(0, &one_way_came) == ABT_SUCCESS);
    answer_id = MARGO_REGISTER(pair.mid, "answer", echo_t, echo_t, answer);
    silent_id = MARGO_REGISTER(pair.mid, "silent", void, void, silent);
    one_way_id = MARGO_REGISTER(pair.mid, "one_way", void, void, one_way);
    CHECK_RC(
        margo_registered_disable_response(pair.mid, one_way_id, 1), HG_SUCCESS);
    CHECK_RC(
        margo_registered_disabled_response(pair.mid, one_way_id, &is_disabled),
        HG_SUCCESS);
    CHECK(is_disabled);
}

static void forms_check(const char *text)
{
    for (unsigned form = 0; form < FORMS; form++) {
        hg_handle_t handle = pair_handle(answer_id);
        echo_t in = {form, text};
        echo_t out;

        CHECK_RC(margo_forward(handle, &in), HG_SUCCESS);
        CHECK_RC(margo_get_output(handle, &out), HG_SUCCESS);
        CHECK(out.number == form && strcmp(out.text, text) == 0);
        CHECK_RC(margo_free_output(handle, &out), HG_SUCCESS);
        CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    }
}

static void test(void)
{
    static char long_text[LONG_LEN];
    hg_handle_t handle = pair_handle(silent_id);

    forms_check("short");
    memset(long_text, 'x', sizeof(long_text) - 1);
    forms_check(long_text);

    CHECK_RC(margo_forward(handle, NULL), HG_CANCELED);
    CHECK_RC(margo_get_output(handle, NULL), HG_CANCELED);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);

    handle = pair_handle(one_way_id);
    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(ABT_eventual_wait(one_way_came, NULL) == ABT_SUCCESS);
    CHECK(ABT_eventual_free(&one_way_came) == ABT_SUCCESS);
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
