/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasklets can set, signal and take free locks; operations that would block
 * their stream are refused, without effect. */
#include "ult.h"

static struct {
    ABT_mutex mutex;
    ABT_cond cond;
    ABT_eventual to_set;
    ABT_eventual never;
    ABT_future future;
    ABT_barrier barrier;
    ABT_rwlock rwlock;
    int ran;
} the;

static void run(void *arg)
{
    ABT_unit_type type = ABT_UNIT_TYPE_THREAD;
    ABT_bool is_ready = ABT_TRUE;

    (void)arg;
    OK(ABT_self_get_type(&type));
    CHECK(type == ABT_UNIT_TYPE_TASK);
    OK(ABT_mutex_lock(the.mutex));
    GIVES(ABT_ERR_COND, ABT_cond_wait(the.cond, the.mutex));
    OK(ABT_mutex_unlock(the.mutex));
    OK(ABT_cond_signal(the.cond));
    OK(ABT_cond_broadcast(the.cond));
    GIVES(ABT_ERR_EVENTUAL, ABT_eventual_wait(the.never, NULL));
    GIVES(ABT_ERR_FUTURE, ABT_future_wait(the.future));
    GIVES(ABT_ERR_BARRIER, ABT_barrier_wait(the.barrier));
    OK(ABT_rwlock_rdlock(the.rwlock));
    GIVES(ABT_ERR_RWLOCK, ABT_rwlock_wrlock(the.rwlock));
    OK(ABT_rwlock_unlock(the.rwlock));
    OK(ABT_eventual_test(the.never, NULL, &is_ready));
    CHECK(is_ready == ABT_FALSE);
    OK(ABT_future_set(the.future, NULL));
    OK(ABT_future_wait(the.future));
    the.ran = 1;
    OK(ABT_eventual_set(the.to_set, &the.ran, sizeof(the.ran)));
    OK(ABT_eventual_wait(the.to_set, NULL));
}

int main(void)
{
    ABT_task task = ABT_TASK_NULL;
    void *value = NULL;

    ult_begin(1);
    OK(ABT_mutex_create(&the.mutex));
    OK(ABT_cond_create(&the.cond));
    OK(ABT_eventual_create(sizeof(int), &the.to_set));
    OK(ABT_eventual_create(0, &the.never));
    OK(ABT_future_create(1, NULL, &the.future));
    OK(ABT_barrier_create(2, &the.barrier));
    OK(ABT_rwlock_create(&the.rwlock));
    OK(ABT_task_create(ult_pool(0), run, NULL, &task));
    OK(ABT_eventual_wait(the.to_set, &value));
    CHECK(*(int *)value == 1);
    OK(ABT_task_join(task));
    OK(ABT_task_free(&task));
    CHECK(task == ABT_TASK_NULL);
    OK(ABT_rwlock_free(&the.rwlock));
    OK(ABT_barrier_free(&the.barrier));
    OK(ABT_future_free(&the.future));
    OK(ABT_eventual_free(&the.never));
    OK(ABT_eventual_free(&the.to_set));
    OK(ABT_cond_free(&the.cond));
    OK(ABT_mutex_free(&the.mutex));
    ult_end();
    return 0;
}
