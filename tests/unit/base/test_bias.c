/* SPDX-License-Identifier: BSD-3-Clause */
/* The biased lock excludes other threads in each of its states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "base/bias.h"

enum { THREADS = 4, ROUNDS = 20000, LOCKS = 2000, REPEATS = 20 };

struct shared {
    struct amg_bias bias;
    uint64_t count; /* plain on purpose: only the lock guards it */
    int inside;
    atomic_uint changes;
};

static unsigned barriers_left; /* that fail, as the kernel has no memory */

/* Replaces the function of the C library. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long words[6];
    va_list list;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_membarrier && barriers_left > 0) {
        barriers_left--;
        errno = ENOMEM;
        return -1;
    }
    return real(
        number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static void test_bias_try_held_fails(void **state)
{
    struct amg_bias bias;

    (void)state;
    amg_bias_init(&bias);
    assert_true(amg_bias_trylock(&bias));
    assert_false(amg_bias_trylock(&bias));
    amg_bias_unlock(&bias);
    assert_true(amg_bias_trylock(&bias));
    amg_bias_unlock_fenced(&bias);
}

static void *try_once(void *arg)
{
    struct amg_bias *bias = arg;
    bool has_it = amg_bias_trylock(bias);

    if (has_it)
        amg_bias_unlock(bias);
    return (void *)(uintptr_t)has_it;
}

static uintptr_t try_elsewhere(struct amg_bias *bias)
{
    pthread_t thread;
    void *has_it = NULL;

    assert_int_equal(pthread_create(&thread, NULL, try_once, bias), 0);
    assert_int_equal(pthread_join(thread, &has_it), 0);
    return (uintptr_t)has_it;
}

static void test_bias_end_without_memory_ends(void **state)
{
    struct amg_bias bias;

    (void)state;
    amg_bias_init(&bias);
    amg_bias_lock(&bias);
    amg_bias_unlock(&bias);
    barriers_left = 3;
    assert_int_equal(try_elsewhere(&bias), 1);
    barriers_left = 0; /* this system may have no biased locks */
}

/* While the owner holds the lock, revoking the bias does not block, and no
 * other thread gets the lock. */
static void test_bias_try_owner_inside_fails(void **state)
{
    struct amg_bias bias;

    (void)state;
    amg_bias_init(&bias);
    amg_bias_lock(&bias);
    assert_int_equal(try_elsewhere(&bias), 0);
    assert_int_equal(try_elsewhere(&bias), 0);
    assert_false(amg_bias_trylock(&bias));
    amg_bias_unlock_fenced(&bias);
    assert_int_equal(try_elsewhere(&bias), 1);
    amg_bias_lock(&bias);
    assert_int_equal(try_elsewhere(&bias), 0);
    amg_bias_unlock_fenced(&bias);
    assert_int_equal(try_elsewhere(&bias), 1);
}

static uintptr_t count_once(struct shared *shared)
{
    uintptr_t collisions = shared->inside != 0;

    shared->inside = 1;
    shared->count++;
    shared->inside = 0;
    return collisions;
}

static void *count_up(void *arg)
{
    struct shared *shared = arg;
    uintptr_t collisions = 0;

    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0)
            amg_bias_lock(&shared->bias);
        else
            while (!amg_bias_trylock(&shared->bias))
                continue;
        collisions += count_once(shared);
        amg_bias_unlock(&shared->bias);
    }
    return (void *)collisions;
}

static void threads_run(void *(*run)(void *), void *arg)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, arg), 0);
    for (int i = 0; i < THREADS; i++) {
        void *collisions = NULL;

        assert_int_equal(pthread_join(threads[i], &collisions), 0);
        assert_null(collisions);
    }
}

static void test_bias_take_threads_exclude(void **state)
{
    struct shared shared = {.count = 0};

    (void)state;
    amg_bias_init(&shared.bias);
    threads_run(count_up, &shared);
    assert_int_equal(shared.count, (uint64_t)THREADS * ROUNDS);
}

/* Plain stores while this thread owns the lock, atomic additions afterwards. */
static void *change_up(void *arg)
{
    struct shared *shared = arg;

    for (int i = 0; i < ROUNDS; i++) {
        if (!amg_bias_lock_owned(&shared->bias)) {
            atomic_fetch_add(&shared->changes, 1);
            continue;
        }
        atomic_store_explicit(&shared->changes,
            atomic_load_explicit(&shared->changes, memory_order_relaxed) + 1,
            memory_order_relaxed);
        amg_bias_unlock(&shared->bias);
    }
    return NULL;
}

static void test_bias_take_owned_loses_no_change(void **state)
{
    (void)state;
    for (unsigned i = 0; i < REPEATS; i++) {
        struct shared shared = {.count = 0};

        amg_bias_init(&shared.bias);
        threads_run(change_up, &shared);
        assert_int_equal(atomic_load(&shared.changes), THREADS * ROUNDS);
        assert_true(amg_bias_is_shared(&shared.bias));
        assert_false(amg_bias_lock_owned(&shared.bias));
    }
}

static struct shared many[LOCKS];

static void *count_many(void *arg)
{
    uintptr_t collisions = 0;

    (void)arg;
    for (int i = 0; i < LOCKS; i++)
        for (int round = 0; round < 8; round++) {
            amg_bias_lock(&many[i].bias);
            collisions += count_once(&many[i]);
            amg_bias_unlock(&many[i].bias);
        }
    return (void *)collisions;
}

/* Many locks, so that the bias of some is revoked at each moment. */
static void test_bias_end_of_many_excludes(void **state)
{
    (void)state;
    for (int i = 0; i < LOCKS; i++)
        amg_bias_init(&many[i].bias);
    threads_run(count_many, NULL);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(many[i].count, (uint64_t)THREADS * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bias_try_held_fails),
        cmocka_unit_test(test_bias_end_without_memory_ends),
        cmocka_unit_test(test_bias_try_owner_inside_fails),
        cmocka_unit_test(test_bias_take_threads_exclude),
        cmocka_unit_test(test_bias_end_of_many_excludes),
        cmocka_unit_test(test_bias_take_owned_loses_no_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
