/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank does later.
 *
 * Two lists, one for threads that make progress, one for the thread that only
 * answers. An entry counts until its function has returned. */
#include "later.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "world.h"

enum { LISTS = 2, PAUSE_NS = 100000 };

struct entry {
    struct entry *next;
    uint64_t due_ns;
    later_fn run;
    void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *lists[LISTS]; /* under the lock, as the next one */
static bool is_closed;
static bool has_thread;
static atomic_size_t count;
static atomic_bool thread_ends;
static pthread_t thread;

bool later_add(unsigned in_us, bool is_own_thread, later_fn run, void *arg)
{
    struct entry *entry = malloc(sizeof(*entry));
    bool is_added = false;

    if (entry == NULL)
        abort();
    entry->due_ns = world_now_ns() + (uint64_t)in_us * 1000;
    entry->run = run;
    entry->arg = arg;
    pthread_mutex_lock(&lock);
    if (!is_closed) {
        int list = is_own_thread && has_thread ? 1 : 0;

        entry->next = lists[list];
        lists[list] = entry;
        atomic_fetch_add(&count, 1);
        is_added = true;
    }
    pthread_mutex_unlock(&lock);
    if (!is_added)
        free(entry);
    return is_added;
}

static void list_turn(int list)
{
    uint64_t now_ns = 0;
    struct entry *due = NULL;

    if (atomic_load(&count) == 0)
        return;
    now_ns = world_now_ns();
    pthread_mutex_lock(&lock);
    for (struct entry **at = &lists[list]; *at != NULL;) {
        struct entry *entry = *at;

        if (entry->due_ns > now_ns) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        entry->next = due;
        due = entry;
    }
    pthread_mutex_unlock(&lock);
    while (due != NULL) {
        struct entry *entry = due;

        due = entry->next;
        entry->run(entry->arg);
        free(entry);
        atomic_fetch_sub(&count, 1);
    }
}

void later_turn(void)
{
    list_turn(0);
}

size_t later_count(void)
{
    return atomic_load(&count);
}

static void closed_set(bool value)
{
    pthread_mutex_lock(&lock);
    is_closed = value;
    pthread_mutex_unlock(&lock);
}

void later_close(void)
{
    closed_set(true);
}

void later_open(void)
{
    closed_set(false);
}

static void *thread_run(void *arg)
{
    const struct timespec pause = {0, PAUSE_NS};

    (void)arg;
    while (!atomic_load(&thread_ends)) {
        list_turn(1);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

void later_thread_start(void)
{
    atomic_store(&thread_ends, false);
    if (pthread_create(&thread, NULL, thread_run, NULL) != 0)
        abort();
    pthread_mutex_lock(&lock);
    has_thread = true;
    pthread_mutex_unlock(&lock);
}

void later_thread_stop(void)
{
    if (!has_thread)
        return;
    atomic_store(&thread_ends, true);
    pthread_join(thread, NULL);
    has_thread = false;
}
