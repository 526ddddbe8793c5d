/* SPDX-License-Identifier: BSD-3-Clause */
/* ABT_finalize() waits for a stream of the program whose thread still runs, and
 * says so in the log; the thread ends when it has seen that line. */
#include "log_kept.h"
#include "mercury_class.h"
#include "ult.h"

static void run(void *arg)
{
    (void)arg;
    while (atomic_load(&log_lines) == 0)
        (void)ABT_thread_yield();
}

int main(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    HG_Set_log_func(log_keep);
    ult_begin(1);
    OK(ABT_xstream_create(ABT_SCHED_NULL, &stream));
    OK(ABT_thread_create_on_xstream(
        stream, run, NULL, ABT_THREAD_ATTR_NULL, NULL));
    ult_end();
    HG_Set_log_func(NULL);
    CHECK(log_has("the join of execution stream 1 has waited"));
    return 0;
}
