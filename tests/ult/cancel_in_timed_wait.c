/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that is cancelled in a timed wait on a condition whose deadline has
 * passed ends, and leaves condition and mutex usable. */
#include "ult.h"

static ABT_cond cond;
static ABT_mutex mutex;
static bool is_waiting;

static void wait_again(void *arg)
{
    const struct timespec past = {.tv_sec = 1};

    (void)arg;
    for (;;) {
        OK(ABT_mutex_lock(mutex));
        is_waiting = true;
        GIVES(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(cond, mutex, &past));
        OK(ABT_mutex_unlock(mutex));
    }
}

int main(void)
{
    ABT_thread thread = ABT_THREAD_NULL;

    ult_begin(1);
    OK(ABT_mutex_create(&mutex));
    OK(ABT_cond_create(&cond));
    thread = ult_start(0, wait_again, NULL);
    while (!is_waiting)
        OK(ABT_thread_yield());
    OK(ABT_thread_cancel(thread));
    ult_join(&thread);
    OK(ABT_mutex_trylock(mutex));
    OK(ABT_mutex_unlock(mutex));
    OK(ABT_cond_free(&cond));
    OK(ABT_mutex_free(&mutex));
    ult_end();
    return 0;
}
