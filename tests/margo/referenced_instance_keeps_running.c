/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance is created with one reference, which margo_finalize() releases:
 * further references that come and go, like those of C++ objects, leave it
 * running, also in finalize callbacks. */
#include "alone.h"

static hg_id_t answer_id;
static unsigned ended;

static void reference_come_and_go(void)
{
    unsigned before = 0;
    unsigned refs = 0;

    CHECK_RC(margo_instance_ref_count(pair.mid, &before), HG_SUCCESS);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
    CHECK(refs == before + 1);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
    CHECK(refs == before);
}

static void answer(hg_handle_t handle)
{
    reference_come_and_go();
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(answer)

static void before_end(void *arg)
{
    (void)arg;
    reference_come_and_go();
    alone_call(answer_id);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
}

static void at_end(void *arg)
{
    (void)arg;
    reference_come_and_go();
    ended++;
}

static void open_one(void)
{
    unsigned refs = 0;

    alone_open(NULL, NULL);
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
    CHECK(refs == 1);
    answer_id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    margo_push_prefinalize_callback(pair.mid, before_end, NULL);
    margo_push_finalize_callback(pair.mid, at_end, NULL);
    for (unsigned i = 0; i < 3; i++)
        reference_come_and_go();
    alone_call(answer_id);
    CHECK(ended == 0);
}

int main(void)
{
    margo_instance_id old = MARGO_INSTANCE_NULL;
    unsigned refs = 0;

    CHECK_RC(margo_instance_ref_incr(MARGO_INSTANCE_NULL), HG_INVALID_ARG);
    CHECK_RC(margo_instance_release(MARGO_INSTANCE_NULL), HG_INVALID_ARG);

    open_one();
    margo_finalize(pair.mid);
    CHECK(ended == 1);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_INVALID_ARG);

    /* An extra release does not affect the next instance. */
    old = pair.mid;
    ended = 0;
    open_one();
    CHECK_RC(margo_instance_release(old), HG_INVALID_ARG);
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
    CHECK(refs == 1);
    alone_call(answer_id);

    /* The last reference ends it. */
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    CHECK(ended == 1);
    return 0;
}
