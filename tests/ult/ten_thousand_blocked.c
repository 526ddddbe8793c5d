/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten thousand threads wait at once: they use no CPU, little memory besides the
 * pages of their stacks that they touched, and all of them continue. */
#include "ult.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum {
    MANY = 10000,
    MEMORY_BYTES = 16 * 1024,   /* for each, besides the stack */
    STACK_BYTES = 2 * 4096,     /* pages of its stack that it touches */
    REST_MS = 200,              /* idle time */
    REST_CPU_NS = 100 * 1000000 /* limit on the CPU time meanwhile */
};

static ABT_eventual go;
static atomic_int waiting;
static atomic_int gone;

static void wait_for_go(void *arg)
{
    void *value = NULL;

    (void)arg;
    atomic_fetch_add(&waiting, 1);
    OK(ABT_eventual_wait(go, &value));
    CHECK(*(int *)value == 7);
    atomic_fetch_add(&gone, 1);
}

static long resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    long resident = 0;

    CHECK(file != NULL);
    CHECK(fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* The caller sleeps as an OS thread, and so does every stream. */
static void check_rest_is_idle(void)
{
    const struct timespec rest = {.tv_nsec = REST_MS * 1000000L};
    uint64_t before = 0;

    nanosleep(&rest, NULL); /* streams poll a moment before they sleep */
    before = ult_cpu_ns();
    nanosleep(&rest, NULL);
    CHECK(ult_cpu_ns() - before < REST_CPU_NS);
}

int main(void)
{
    const int many = ult_bearable(MANY);
    ABT_thread *threads = calloc((size_t)many, sizeof(ABT_thread));
    int value = 7;
    long before = 0;
    long used = 0;

    CHECK(threads != NULL);
    ult_begin(3);
    OK(ABT_eventual_create(sizeof(value), &go));
    before = resident_bytes();
    for (int i = 0; i < many; i++)
        threads[i] = ult_start(i, wait_for_go, NULL);
    while (atomic_load(&waiting) < many)
        OK(ABT_thread_yield());
    used = resident_bytes() - before;
    CHECK(atomic_load(&gone) == 0);
    if (many == MANY) {
        printf("%ld bytes for each of %d\n", used / many, many);
        CHECK(used / many <= MEMORY_BYTES + STACK_BYTES);
    }
    check_rest_is_idle();
    OK(ABT_eventual_set(go, &value, sizeof(value)));
    OK(ABT_thread_free_many(many, threads));
    CHECK(atomic_load(&gone) == many);
    OK(ABT_eventual_free(&go));
    ult_end();
    free(threads);
    return 0;
}
