/* SPDX-License-Identifier: BSD-3-Clause */
/* The first margo_finalize() ends an instance that has a further reference, and
 * the second has no effect; later calls on it still return. */
#include "alone.h"

static unsigned ended;

static void at_end(void *arg)
{
    (void)arg;
    ended++;
}

int main(void)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    unsigned before = 0;
    unsigned refs = 0;
    bool is_finalized = true;

    alone_open(NULL, NULL);
    mid = pair.mid;
    margo_push_finalize_callback(mid, at_end, NULL);
    CHECK_RC(margo_instance_is_finalized(mid, &is_finalized), HG_SUCCESS);
    CHECK(!is_finalized);
    CHECK_RC(margo_instance_ref_count(mid, &before), HG_SUCCESS);
    CHECK_RC(margo_instance_ref_incr(mid), HG_SUCCESS);
    CHECK_RC(margo_instance_ref_count(mid, &refs), HG_SUCCESS);
    CHECK(refs == before + 1);
    alone_close();
    CHECK_RC(margo_instance_is_finalized(mid, &is_finalized), HG_SUCCESS);
    CHECK(is_finalized);
    CHECK(ended == 1);
    margo_finalize(mid);
    CHECK(ended == 1);
    CHECK_RC(margo_instance_release(mid), HG_SUCCESS);
    return 0;
}
