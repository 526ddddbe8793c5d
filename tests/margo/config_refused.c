/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that make no sense: margo_init_ext() gives NULL and says which field
 * and why, leaves nothing behind, and a good one is opened afterwards. */
#include "one.h"

static const char *const texts[][2] = {
    {"{\"argobots\":", "ends too early"},
    {"{\"rpc_thread_count\":\"many\"}", "rpc_thread_count has to be"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"},{\"name\":\"p\"}]}}",
        "argobots.pools[1].name"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"__p\"}]}}", "reserved"},
    {"{\"progress_pool\":\"p\"}", "progress_pool names the pool 'p'"},
    {"{\"rpc_pool\":4}", "rpc_pool is the pool 4"},
    {"{\"argobots\":{\"xstreams\":[{\"name\":\"s\",\"scheduler\":"
     "{\"pools\":[\"p\"]}}]}}",
        "scheduler.pools[0] names the pool 'p'"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}]},\"progress_pool\":\"p\"}",
        "no stream runs"},
};

int main(void)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        CHECK(one_open(texts[i][0]) == MARGO_INSTANCE_NULL);
        if (!one_said(texts[i][1])) {
            fprintf(stderr, "%s: %s\n", texts[i][0], one_lines);
            return 1;
        }
    }
    mid = one_open("{\"progress_spindown\":3,\"argobots\":{\"pools\":"
                   "[{},{},{\"kind\":\"stack\"}]}}");
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(one_said("progress_spindown is unknown"));
    CHECK(one_said("argobots.pools[2].kind is 'stack'"));
    margo_finalize(mid);
    return 0;
}
