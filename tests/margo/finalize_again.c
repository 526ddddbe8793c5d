/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance that is held is ended by the first margo_finalize(), and the
 * second one does no harm; what is asked of it afterwards is answered. */
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
