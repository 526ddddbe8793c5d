/* SPDX-License-Identifier: BSD-3-Clause */
/* Invalid configurations: margo_init_ext() returns NULL, logs the field and the
 * reason, leaks nothing, and a valid one opens afterwards. So does a transport
 * that does not exist; the line names the one of the environment. */
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
    {"{\"argobots\":{\"pools\":[{},{},{\"kind\":\"stack\"}]}}",
        "argobots.pools[2].kind is 'stack'"},
    {"{\"argobots\":{\"pools\":[{\"kind\":\"external\"}]}}",
        "argobots.pools[0].kind is 'external'"},
    {"{\"argobots\":{\"pools\":[{\"kind\":\"custom\"}]}}",
        "argobots.pools[0].kind is 'custom'"},
    {"{\"argobots\":{\"pools\":[{\"access\":\"all\"}]}}",
        "argobots.pools[0].access is 'all'"},
    {"{\"argobots\":{\"pools\":[{}],\"xstreams\":[{\"scheduler\":{\"type\":"
     "\"best\",\"pools\":[0]}}]}}",
        "argobots.xstreams[0].scheduler.type is 'best'"},
    {"{\"mercury\":{\"checksum_level\":\"crc\"}}",
        "mercury.checksum_level is 'crc'"},
};

/* The stream of main() belongs to the program, if it has started Argobots. */
static void primary_after_init(void)
{
    static const char *const taken[] = {
        "{\"argobots\":{\"pools\":[{\"name\":\"__primary__\"}]}}",
        "{\"argobots\":{\"pools\":[{\"name\":\"p\"}],\"xstreams\":[{\"name\":"
        "\"__primary__\",\"scheduler\":{\"pools\":[\"p\"]}}]}}",
    };

    for (unsigned i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        margo_instance_id mid = one_open(taken[i]);

        CHECK(mid != MARGO_INSTANCE_NULL);
        margo_finalize(mid);
        CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
        CHECK(one_open(taken[i]) == MARGO_INSTANCE_NULL);
        CHECK(one_said("defines __primary__, but ABT_init() was called"));
        CHECK(ABT_finalize() == ABT_SUCCESS);
    }
}

static void transport_of_environment(void)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = one_logger();

    info.logger = &logger;
    CHECK(setenv("AMALGAM_TRANSPORT", "nowhere", 1) == 0);
    CHECK(margo_init_ext("auto", MARGO_SERVER_MODE, &info) ==
          MARGO_INSTANCE_NULL);
    CHECK(one_said("transport \"nowhere\", by AMALGAM_TRANSPORT,"));
    CHECK(unsetenv("AMALGAM_TRANSPORT") == 0);
    CHECK(margo_init_ext("elsewhere", MARGO_SERVER_MODE, &info) ==
          MARGO_INSTANCE_NULL);
    CHECK(one_said("transport \"elsewhere\" cannot"));
}

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
    mid = one_open("{\"progress_spindown\":3, /* and commas */}");
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(one_said("progress_spindown is unknown"));
    margo_finalize(mid);
    transport_of_environment();
    primary_after_init();
    return 0;
}
