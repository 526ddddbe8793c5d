/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools whose threads would never run cause a warning when an instance is
 * opened: no stream has them, they come after the progress pool, or no stream
 * has them first; and stacks whose size is not the requested one do. */
#include "one.h"

static const char *const texts[][2] = {
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}]}}",
        "no stream runs the pool p"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}, {\"name\":\"q\"}],"
     "\"xstreams\":[{\"scheduler\":{\"pools\":[\"p\",\"q\"]}}]}}",
        "the pool q is the first one of no stream"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}, {\"name\":\"q\"}],"
     "\"xstreams\":[{\"scheduler\":{\"pools\":[\"p\",\"q\"]}}]},"
     "\"progress_pool\":\"p\"}",
        "the pool q stands behind the progress pool in every stream"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}, {\"name\":\"q\"}],"
     "\"xstreams\":[{\"scheduler\":{\"pools\":[\"p\",\"q\"]}},"
     "{\"scheduler\":{\"pools\":[\"q\",\"p\"]}}]},"
     "\"progress_pool\":\"p\"}",
        "the pool q stands behind the progress pool in a stream"},
};

static void stacks_of_others(void)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    CHECK(margo_set_environment(
              "{\"argobots\":{\"abt_thread_stacksize\":4194304}}") == 0);
    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    mid = one_open("{\"argobots\":{\"abt_thread_stacksize\":2097152,"
                   "\"abt_mem_max_num_stacks\":5}}");
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(one_said("stacks of 4194304 bytes; 2097152 are wanted"));
    CHECK(one_said("ABT_MEM_MAX_NUM_STACKS was 8; 5 are wanted"));
    margo_finalize(mid);
    mid = one_open("{}");
    CHECK(mid != MARGO_INSTANCE_NULL && one_lines[0] == '\0');
    margo_finalize(mid);
    CHECK(ABT_finalize() == ABT_SUCCESS);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        margo_instance_id mid = one_open(texts[i][0]);

        CHECK(mid != MARGO_INSTANCE_NULL);
        if (!one_said(texts[i][1])) {
            fprintf(stderr, "%s: %s\n", texts[i][0], one_lines);
            return 1;
        }
        CHECK(strchr(one_lines, '\n') == strrchr(one_lines, '\n'));
        margo_finalize(mid);
    }
    stacks_of_others();
    return 0;
}
