/* SPDX-License-Identifier: BSD-3-Clause */
/* While one thread dumps the state again and again, another one adds pools and
 * streams and removes them: each dump names only pools that were there. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "one.h"

enum { ROUNDS = 20000, LINE_CAP = 256 };

static margo_instance_id mid;
static atomic_bool is_over;

/* Names are those of the instance, or "coming" and its number. */
static void lines_check(const char *name)
{
    char line[LINE_CAP];
    FILE *file = fopen(name, "r");

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        CHECK(strncmp(line, "# Pool ", 7) != 0 ||
              strstr(line, ", coming: ") != NULL ||
              (strstr(line, ", __") != NULL && strstr(line, "__: ") != NULL));
    CHECK(fclose(file) == 0);
}

static void *dump(void *arg)
{
    while (!atomic_load(&is_over)) {
        CHECK(margo_state_dump(mid, arg, 0, NULL) == 0);
        lines_check(arg);
    }
    return NULL;
}

int main(void)
{
    char name[] = "/tmp/margo_dump_XXXXXX";
    int file = mkstemp(name);
    pthread_t thread;

    CHECK(file >= 0 && close(file) == 0);
    mid = one_open("{\"use_progress_thread\":true}");
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(pthread_create(&thread, NULL, dump, name) == 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct margo_pool_info pool;
        struct margo_xstream_info stream;

        CHECK_RC(margo_add_pool_from_json(mid,
                     "{\"name\":\"coming\",\"kind\":\"fifo_wait\"}", &pool),
            HG_SUCCESS);
        if (i % 8 == 0) {
            CHECK_RC(margo_add_xstream_from_json(mid,
                         "{\"scheduler\":{\"pools\":[\"coming\"]}}", &stream),
                HG_SUCCESS);
            CHECK_RC(margo_remove_xstream_by_handle(mid, stream.xstream),
                HG_SUCCESS);
        }
        CHECK_RC(margo_remove_pool_by_handle(mid, pool.pool), HG_SUCCESS);
    }
    atomic_store(&is_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(unlink(name) == 0);
    margo_finalize(mid);
    return 0;
}
