/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls of an instance to itself, made in its prefinalize callback and
 * by the handler of such a call, are handled before the instance ends. */
#include "alone.h"

enum { ROUNDS = 50, CALLS = 3, HANDLED = 2 * CALLS };

static hg_id_t first_id, second_id;
static unsigned handled;

static void call_itself(hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t self = HG_ADDR_NULL;

    CHECK_RC(margo_addr_self(pair.mid, &self), HG_SUCCESS);
    CHECK_RC(margo_create(pair.mid, self, id, &handle), HG_SUCCESS);
    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, self), HG_SUCCESS);
}

static void second(hg_handle_t handle)
{
    handled++;
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(second)

static void first(hg_handle_t handle)
{
    call_itself(second_id);
    second(handle);
}
DEFINE_MARGO_RPC_HANDLER(first)

static void before_end(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < CALLS; i++)
        call_itself(first_id);
}

int main(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        handled = 0;
        alone_open(NULL, NULL);
        first_id = MARGO_REGISTER(pair.mid, "first", void, void, first);
        second_id = MARGO_REGISTER(pair.mid, "second", void, void, second);
        CHECK_RC(margo_registered_disable_response(pair.mid, first_id, HG_TRUE),
            HG_SUCCESS);
        CHECK_RC(
            margo_registered_disable_response(pair.mid, second_id, HG_TRUE),
            HG_SUCCESS);
        margo_push_prefinalize_callback(pair.mid, before_end, NULL);
        alone_close();
        CHECK(handled == HANDLED);
    }
    return 0;
}
