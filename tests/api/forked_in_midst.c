/* SPDX-License-Identifier: BSD-3-Clause */
/* fork() while other threads are inside calls that lock something of the
 * process: the child opens a class of its own, uses it, and hangs nowhere. One
 * thread makes and frees objects; another one is in a log function of the
 * program, which takes long. */
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_log.h"

enum { FORKS = 50, CHILD_S = 20 };

static atomic_bool is_over;
static sem_t is_inside;
static sem_t may_leave;
static bool is_slow = true;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

static int log_slowly(FILE *stream, const char *format, ...)
{
    (void)stream;
    (void)format;
    if (!is_slow)
        return 0;
    sem_post(&is_inside);
    sem_wait(&may_leave);
    return 0;
}

/* Makes and frees an object of most kinds. */
static void use(hg_class_t *cls)
{
    char bytes[8];
    void *ptr = bytes;
    hg_size_t len = sizeof(bytes);
    hg_addr_t addr = HG_ADDR_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK(HG_Addr_self(cls, &addr) == HG_SUCCESS);
    CHECK(HG_Bulk_create(cls, 1, &ptr, &len, HG_BULK_READWRITE, &bulk) ==
          HG_SUCCESS);
    CHECK(HG_Bulk_free(bulk) == HG_SUCCESS);
    CHECK(HG_Addr_free(cls, addr) == HG_SUCCESS);
}

static void *user(void *arg)
{
    while (!atomic_load(&is_over))
        use(arg);
    return NULL;
}

static void *logger(void *arg)
{
    (void)arg;
    CHECK(HG_Init("no such+transport", HG_FALSE) == NULL);
    return NULL;
}

static void child_run(void)
{
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;

    (void)alarm(CHILD_S);
    is_slow = false;
    CHECK(HG_Init("no such+transport", HG_FALSE) == NULL);
    cls = HG_Init("self", HG_FALSE);
    CHECK(cls != NULL);
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    use(cls);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    _exit(0);
}

int main(void)
{
    hg_class_t *cls = HG_Init("self", HG_FALSE);
    pthread_t threads[2];

    CHECK(cls != NULL && sem_init(&is_inside, 0, 0) == 0 &&
          sem_init(&may_leave, 0, 0) == 0);
    hg_log_set_func(log_slowly);
    CHECK(pthread_create(&threads[0], NULL, user, cls) == 0);
    CHECK(pthread_create(&threads[1], NULL, logger, NULL) == 0);
    sem_wait(&is_inside);
    for (unsigned i = 0; i < FORKS; i++) {
        int status = 1;
        pid_t child = fork();

        CHECK(child >= 0);
        if (child == 0)
            child_run();
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    atomic_store(&is_over, true);
    is_slow = false;
    sem_post(&may_leave);
    CHECK(pthread_join(threads[0], NULL) == 0);
    CHECK(pthread_join(threads[1], NULL) == 0);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    return 0;
}
