/* SPDX-License-Identifier: BSD-3-Clause */
/* Finalize callbacks run in reverse order of registration; prefinalize ones
 * may still call, finalize ones may still deregister. Another process can
 * end an instance only with permission, and releasing the last reference
 * ends it, too. */
#include <string.h>

#include "alone.h"

static char order[16];
static hg_id_t answer_id;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void note(void *arg)
{
    strcat(order, arg);
}

static void note_and_call(void *arg)
{
    alone_call(answer_id);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    note(arg);
}

static void note_and_deregister(void *arg)
{
    CHECK_RC(margo_deregister(pair.mid, answer_id), HG_SUCCESS);
    note(arg);
}

static void open_and_push(void)
{
    static char owner;
    margo_finalize_callback_t function = NULL;
    void *arg = NULL;

    alone_open(NULL, NULL);
    answer_id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    order[0] = '\0';
    CHECK(margo_pop_finalize_callback(pair.mid) == 0);
    margo_push_finalize_callback(pair.mid, note_and_deregister, "d");
    margo_push_finalize_callback(pair.mid, note, "c");
    margo_provider_push_finalize_callback(pair.mid, &owner, note, "x");
    margo_push_prefinalize_callback(pair.mid, note_and_call, "b");
    margo_provider_push_prefinalize_callback(pair.mid, &owner, note, "a");
    CHECK(margo_provider_top_prefinalize_callback(
              pair.mid, &owner, &function, &arg) == 1);
    CHECK(function == note && strcmp(arg, "a") == 0);
    CHECK(margo_top_finalize_callback(pair.mid, &function, &arg) == 1);
    CHECK(function == note && strcmp(arg, "c") == 0);
    CHECK(margo_provider_pop_finalize_callback(pair.mid, &owner) == 1);
    CHECK(margo_provider_pop_finalize_callback(pair.mid, &owner) == 0);
}

int main(void)
{
    open_and_push();
    margo_finalize_and_wait(pair.mid);
    CHECK(strcmp(order, "abcd") == 0);

    open_and_push();
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    CHECK(order[0] == '\0');
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    CHECK(strcmp(order, "abcd") == 0);
    CHECK_RC(margo_instance_release(pair.mid), HG_INVALID_ARG);

    open_and_push();
    CHECK(margo_shutdown_remote_instance(pair.mid, pair.self) == -1);
    CHECK(order[0] == '\0');
    margo_enable_remote_shutdown(pair.mid);
    CHECK(margo_shutdown_remote_instance(pair.mid, pair.self) == 0);
    margo_wait_for_finalize(pair.mid);
    CHECK(strcmp(order, "abcd") == 0);
    return 0;
}
