/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace has the events of all threads in their order, says how many it lost,
 * and is readable up to the end of any prefix of its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/status.h"
#include "base/trace.h"
#include "log_kept.h"
#include "mercury_log.h"

enum { PER_THREAD = 1000, THREADS = 4, TOO_MANY = 100 };

/* What a file says; `last` and `count`: by thread. */
struct seen {
    uint64_t count[64];
    uint64_t last[64];
    uint64_t lost;
    uint32_t threads[64]; /* of gettid(); 0: free */
    char notes[4096];     /* a line each */
    uint64_t begin_ticks;
    char text[4096]; /* of marks */
};

static char folder[] = "/tmp/amalgam_trace_XXXXXX";

static void events_read(
    struct seen *seen, uint32_t tid, const char *bytes, size_t len)
{
    uint64_t before = 0;
    unsigned thread = 0;

    while (seen->threads[thread] != 0 && seen->threads[thread] != tid)
        thread++;
    assert_true(thread < 63);
    seen->threads[thread] = tid;
    for (; len >= sizeof(struct amg_trace_event);
         len -= sizeof(struct amg_trace_event)) {
        struct amg_trace_event event;

        memcpy(&event, bytes, sizeof(event));
        bytes += sizeof(event);
        assert_true(event.kind > 0 && event.kind < AMG_TRACE_KINDS);
        assert_true(event.ticks >= before);
        before = event.ticks;
        if (event.ticks < seen->begin_ticks) /* left by an earlier trace */
            continue;
        if (event.kind == AMG_TRACE_MARK)
            strncat(seen->text, (const char *)&event.id, 24);
        if (event.kind == AMG_TRACE_DONE)
            assert_int_equal(event.id, seen->last[thread] + 1);
        if (event.kind == AMG_TRACE_DONE)
            seen->last[thread] = event.id;
        seen->count[thread]++;
    }
}

static void bytes_read(struct seen *seen, const char *bytes, size_t len)
{
    struct amg_trace_chunk chunk;
    uint64_t ns = 0;

    for (size_t at = 0; len - at >= sizeof(chunk); at += chunk.len) {
        memcpy(&chunk, bytes + at, sizeof(chunk));
        assert_int_equal(chunk.magic, AMG_TRACE_CHUNK);
        assert_true(chunk.lost >= seen->lost);
        assert_true(chunk.ns >= ns);
        ns = chunk.ns;
        seen->lost = chunk.lost;
        if (at == 0)
            seen->begin_ticks = chunk.ticks;
        at += sizeof(chunk);
        if (chunk.len > len - at)
            chunk.len = len - at;
        for (size_t i = 0; i < chunk.len && chunk.thread == 0; i++)
            strncat(seen->notes, bytes[at + i] == 0 ? "\n" : &bytes[at + i], 1);
        if (chunk.thread != 0 && chunk.len > 0)
            events_read(seen, chunk.thread, bytes + at, chunk.len);
    }
}

/* Reads the first `len` bytes of the newest file, and returns its length. */
static size_t file_read(struct seen *seen, size_t len)
{
    static char bytes[1 << 23];
    static unsigned serial = 0;
    char path[4096];
    char host[64];
    FILE *file = NULL;

    memset(seen, 0, sizeof(*seen));
    gethostname(host, sizeof(host));
    do
        snprintf(path, sizeof(path), "%s/%s.%d.%u.amgtrace", folder, host,
            (int)getpid(), serial + 1);
    while (access(path, R_OK) == 0 && ++serial > 0);
    snprintf(path, sizeof(path), "%s/%s.%d.%u.amgtrace", folder, host,
        (int)getpid(), serial);
    file = fopen(path, "rb");
    assert_non_null(file);
    len = fread(bytes, 1, len < sizeof(bytes) ? len : sizeof(bytes), file);
    fclose(file);
    bytes_read(seen, bytes, len);
    return len;
}

static uint64_t events_count(const struct seen *seen)
{
    uint64_t events = 0;

    for (unsigned i = 0; i < 64; i++)
        events += seen->count[i];
    return events;
}

static void dones_put(uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        amg_trace_add(AMG_TRACE_DONE, i, 0, 0);
}

static void *thread_main(void *arg)
{
    (void)arg;
    dones_put(1, PER_THREAD);
    return NULL;
}

static void test_trace_of_threads_has_all_events(void **state)
{
    pthread_t threads[THREADS];
    struct seen seen;
    unsigned full = 0;
    size_t len = 0;

    (void)state;
    assert_int_equal(amg_trace_start(folder, AMALGAM_TRACE_CALLS), HG_SUCCESS);
    assert_int_equal(amg_trace_start(folder, AMALGAM_TRACE_CALLS), HG_BUSY);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, thread_main, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    amalgam_trace_mark("short");
    amalgam_trace_mark(" and a mark that takes more than one event");
    amg_status_waited(amg_status_none(),
        amg_status_wait(amg_status_none(), AMG_AWAIT_BARRIER)); /* level 2 */
    amg_trace_note("rpc 1 one");
    amg_trace_note("rpc 1 one");
    assert_int_equal(amalgam_trace_stop(), HG_SUCCESS);
    assert_int_equal(amalgam_trace_stop(), HG_NOENTRY);
    len = file_read(&seen, SIZE_MAX);
    for (unsigned i = 0; i < 64; i++)
        full += seen.count[i] == PER_THREAD && seen.last[i] == PER_THREAD;
    assert_int_equal(full, THREADS);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(strncmp(seen.notes, "process ", 8), 0);
    assert_non_null(strstr(seen.notes, "\nrpc 1 one\n"));
    assert_null(strstr(strstr(seen.notes, "rpc 1 one") + 1, "rpc 1 one"));
    assert_string_equal(
        seen.text, "short and a mark that takes more than one event");
    for (size_t i = 0; i < 300; i++)
        (void)file_read(&seen, len - i);
    for (size_t i = 0; i < 300; i++)
        (void)file_read(&seen, i);
}

static void test_trace_after_stop_has_no_events(void **state)
{
    struct seen seen;

    (void)state;
    amalgam_trace_mark("before");
    dones_put(1, 10);
    assert_int_equal(
        amg_trace_start(folder, AMALGAM_TRACE_THREADS), HG_SUCCESS);
    amalgam_trace_mark(NULL);
    assert_int_equal(amalgam_trace_stop(), HG_SUCCESS);
    amalgam_trace_mark("after");
    (void)file_read(&seen, SIZE_MAX);
    assert_string_equal(seen.text, "");
}

static void test_trace_full_file_says_what_it_lost(void **state)
{
    enum { MANY = 10000 };
    struct seen seen;
    uint64_t events = 0;
    size_t len = 0;

    (void)state;
    setenv("AMALGAM_TRACE_BYTES", "65536", 1);
    hg_log_set_func(log_keep);
    assert_int_equal(amg_trace_start(folder, AMALGAM_TRACE_CALLS), HG_SUCCESS);
    dones_put(1, MANY);
    assert_int_equal(amalgam_trace_stop(), HG_SUCCESS);
    unsetenv("AMALGAM_TRACE_BYTES");
    len = file_read(&seen, SIZE_MAX);
    events = events_count(&seen);
    assert_true(len <= 65536 + sizeof(struct amg_trace_chunk));
    assert_true(seen.lost > 0);
    assert_int_equal(events + seen.lost, MANY);
    assert_non_null(strstr(log_text, "AMALGAM_TRACE_BYTES"));
}

static atomic_bool may_drain;
static atomic_uint rounds; /* that the drain has begun */

static void drain_hold(const char *name)
{
    if (strcmp(name, "trace.drain") != 0)
        return;
    rounds++;
    while (!may_drain)
        usleep(100);
}

static void test_trace_full_file_keeps_the_oldest(void **state)
{
    enum { MANY = 10000, LATER = 5 };
    struct seen seen;
    uint64_t events = 0;

    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    may_drain = false;
    amg_test_point_set(drain_hold);
    setenv("AMALGAM_TRACE_BYTES", "65536", 1);
    assert_int_equal(amg_trace_start(folder, AMALGAM_TRACE_CALLS), HG_SUCCESS);
    dones_put(1, MANY); /* more than the file takes, in one chunk */
    rounds = 0;
    may_drain = true;
    while (rounds == 0) /* the round that was held is over */
        usleep(100);
    dones_put(MANY + 1, LATER); /* fewer than the file takes */
    assert_int_equal(amalgam_trace_stop(), HG_SUCCESS);
    unsetenv("AMALGAM_TRACE_BYTES");
    amg_test_point_set(NULL);
    (void)file_read(&seen, SIZE_MAX); /* the first event has the number 1 */
    events = events_count(&seen);
    assert_true(events > 1000);
    assert_int_equal(events + seen.lost, MANY + LATER);
}

static void test_trace_full_ring_loses_the_newest(void **state)
{
    struct seen seen;
    uint64_t events = 0;

    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    may_drain = false;
    amg_test_point_set(drain_hold);
    assert_int_equal(amg_trace_start(folder, AMALGAM_TRACE_CALLS), HG_SUCCESS);
    dones_put(1, AMG_TRACE_RING + TOO_MANY);
    may_drain = true;
    assert_int_equal(amalgam_trace_stop(), HG_SUCCESS);
    amg_test_point_set(NULL);
    (void)file_read(&seen, SIZE_MAX);
    events = events_count(&seen);
    assert_int_equal(events, AMG_TRACE_RING);
    assert_int_equal(seen.lost, TOO_MANY);
}

static void test_trace_of_parent_ignores_child(void **state)
{
    struct seen seen;
    int status = 0;
    pid_t child = 0;

    (void)state;
    assert_int_equal(amg_trace_start(folder, AMALGAM_TRACE_CALLS), HG_SUCCESS);
    amalgam_trace_mark("parent");
    child = fork();
    if (child == 0) {
        amalgam_trace_mark("child");
        exit(amalgam_trace_stop() == HG_NOENTRY ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(amalgam_trace_stop(), HG_SUCCESS);
    (void)file_read(&seen, SIZE_MAX);
    assert_string_equal(seen.text, "parent");
}

static void test_trace_mark_is_in_status_page(void **state)
{
    struct amg_status_class *part = amg_status_open(0, 0, 0, "self");
    struct amg_status *page = NULL;

    (void)state;
    amalgam_trace_mark("without a trace");
    assert_int_equal(amg_status_find((uint32_t)getpid(), 0, &page), HG_SUCCESS);
    assert_string_equal(page->mark, "without a trace");
    amg_status_drop(page);
    amg_status_close(part);
}

static void test_trace_without_folder_is_refused(void **state)
{
    (void)state;
    assert_int_equal(amalgam_trace_start(NULL, 1), HG_INVALID_ARG);
    assert_int_equal(amalgam_trace_start(folder, 0), HG_INVALID_ARG);
    assert_int_equal(amalgam_trace_start(folder, 4), HG_INVALID_ARG);
    assert_int_equal(amalgam_trace_start("/proc/no/folder", 1), HG_NOENTRY);
    assert_int_equal(amalgam_trace_stop(), HG_NOENTRY);
}

/* Makes the folder, and removes it. */
static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    char path[4096];
    struct dirent *entry = NULL;
    DIR *dir = opendir(folder);

    (void)state;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (dir != NULL)
        closedir(dir);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_of_threads_has_all_events),
        cmocka_unit_test(test_trace_after_stop_has_no_events),
        cmocka_unit_test(test_trace_full_file_says_what_it_lost),
        cmocka_unit_test(test_trace_full_file_keeps_the_oldest),
        cmocka_unit_test(test_trace_full_ring_loses_the_newest),
        cmocka_unit_test(test_trace_of_parent_ignores_child),
        cmocka_unit_test(test_trace_mark_is_in_status_page),
        cmocka_unit_test(test_trace_without_folder_is_refused),
    };

    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
