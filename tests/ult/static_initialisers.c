/* SPDX-License-Identifier: BSD-3-Clause */
/* Statically initialized objects work like created ones: before ABT_init()
 * between OS threads, and after it between all. */
#include "ult.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 500, WORKERS = 6, DEPTH = 3 };

static ABT_mutex_memory mutex_memory = ABT_MUTEX_INITIALIZER;
static ABT_mutex_memory recursive_memory = ABT_RECURSIVE_MUTEX_INITIALIZER;
static ABT_cond_memory cond_memory = ABT_COND_INITIALIZER;
static ABT_rwlock_memory rwlock_memory = ABT_RWLOCK_INITIALIZER;

#define MUTEX     ABT_MUTEX_MEMORY_GET_HANDLE(&mutex_memory)
#define RECURSIVE ABT_MUTEX_MEMORY_GET_HANDLE(&recursive_memory)
#define COND      ABT_COND_MEMORY_GET_HANDLE(&cond_memory)
#define RWLOCK    ABT_RWLOCK_MEMORY_GET_HANDLE(&rwlock_memory)

/* Plain on purpose: each is guarded by one of the locks above. */
static int by_mutex;
static int by_recursive;
static int by_rwlock;
static int at_meeting;

/* The value of an eventual on this stack. */
struct answer {
    ABT_eventual_memory ready;
    int value;
};

static void give_answer(void *arg)
{
    struct answer *answer = arg;

    answer->value = 42;
    OK(ABT_eventual_set(
        ABT_EVENTUAL_MEMORY_GET_HANDLE(&answer->ready), NULL, 0));
}

static void *give_answer_by_thread(void *arg)
{
    give_answer(arg);
    return NULL;
}

static void work(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        OK(ABT_mutex_lock(MUTEX));
        by_mutex++;
        OK(ABT_mutex_unlock(MUTEX));
        for (int depth = 0; depth < DEPTH; depth++)
            OK(ABT_mutex_lock(RECURSIVE));
        by_recursive++;
        for (int depth = 0; depth < DEPTH; depth++)
            OK(ABT_mutex_unlock(RECURSIVE));
        OK(ABT_rwlock_wrlock(RWLOCK));
        by_rwlock++;
        OK(ABT_rwlock_unlock(RWLOCK));
        OK(ABT_rwlock_rdlock(RWLOCK));
        CHECK(by_rwlock > i);
        OK(ABT_rwlock_unlock(RWLOCK));
        if (i % 16 == 0)
            OK(ABT_thread_yield());
    }
    OK(ABT_mutex_lock(MUTEX));
    at_meeting++;
    if (at_meeting == WORKERS)
        OK(ABT_cond_broadcast(COND));
    while (at_meeting < WORKERS)
        OK(ABT_cond_wait(COND, MUTEX));
    OK(ABT_mutex_unlock(MUTEX));
}

static void *work_by_thread(void *arg)
{
    work(arg);
    return NULL;
}

static void check_all_done(void)
{
    CHECK(by_mutex == WORKERS * ROUNDS);
    CHECK(by_recursive == WORKERS * ROUNDS);
    CHECK(by_rwlock == WORKERS * ROUNDS);
    by_mutex = 0;
    by_recursive = 0;
    by_rwlock = 0;
    at_meeting = 0;
}

static void between_threads(void)
{
    pthread_t threads[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, work_by_thread, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    check_all_done();
}

static void between_all(void)
{
    pthread_t threads[WORKERS / 2];
    ABT_thread ults[WORKERS / 2];

    for (int i = 0; i < WORKERS / 2; i++) {
        ults[i] = ult_start(i, work, NULL);
        CHECK(pthread_create(&threads[i], NULL, work_by_thread, NULL) == 0);
    }
    for (int i = 0; i < WORKERS / 2; i++) {
        ult_join(&ults[i]);
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    check_all_done();
}

static void wait_for_answers(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct answer answer = {.ready = ABT_EVENTUAL_INITIALIZER};
        ABT_eventual ready = ABT_EVENTUAL_MEMORY_GET_HANDLE(&answer.ready);
        ABT_thread ult = ult_start(i, give_answer, &answer);
        pthread_t thread;
        void *value = &answer;

        OK(ABT_eventual_wait(ready, &value));
        CHECK(value == NULL && answer.value == 42);
        ult_join(&ult);
        if (i % 10 != 0)
            continue;
        answer.value = 0;
        OK(ABT_eventual_reset(ready));
        CHECK(
            pthread_create(&thread, NULL, give_answer_by_thread, &answer) == 0);
        OK(ABT_eventual_wait(ready, NULL));
        CHECK(answer.value == 42);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

int main(void)
{
    between_threads();
    ult_begin(3);
    between_all();
    wait_for_answers();
    ult_end();
    return 0;
}
