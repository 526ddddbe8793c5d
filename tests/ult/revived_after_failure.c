/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream whose creation or revival failed for lack of an OS thread succeeds
 * at the next attempt. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "ult.h"

static int failures; /* number of calls that will fail */
static int ran;

/* Replaces the system's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
    void *(*function)(void *), void *arg)
{
    int (*real)(
        pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;

    if (failures > 0) {
        failures--;
        return EAGAIN;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attr, function, arg);
}

static void run(void *arg)
{
    (void)arg;
    ran++;
}

static void run_there(ABT_xstream stream)
{
    ABT_thread thread = ABT_THREAD_NULL;

    OK(ABT_thread_create_on_xstream(
        stream, run, NULL, ABT_THREAD_ATTR_NULL, &thread));
    OK(ABT_thread_free(&thread));
}

int main(void)
{
    ABT_xstream stream = (ABT_xstream)(void *)&ran;

    ult_begin(1);
    failures = 1;
    GIVES(ABT_ERR_SYS, ABT_xstream_create(ABT_SCHED_NULL, &stream));
    CHECK(stream == ABT_XSTREAM_NULL);
    OK(ABT_xstream_create(ABT_SCHED_NULL, &stream));
    run_there(stream);
    for (int i = 1; i < 3; i++) {
        OK(ABT_xstream_join(stream));
        failures = i;
        while (failures > 0)
            GIVES(ABT_ERR_SYS, ABT_xstream_revive(stream));
        OK(ABT_xstream_revive(stream));
        run_there(stream);
    }
    CHECK(ran == 3);
    OK(ABT_xstream_free(&stream));
    ult_end();
    return 0;
}
