/* SPDX-License-Identifier: BSD-3-Clause */
/* The status page is found by pid and start time, not in the name of a child,
 * and its facts are whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/status.h"

static const char *const no_names[2] = {"", ""};

/* The page of this process; the caller drops it. */
static struct amg_status *own_page(void)
{
    struct amg_status *page = NULL;

    assert_int_equal(amg_status_find((uint32_t)getpid(), 0, &page), HG_SUCCESS);
    return page;
}

static void test_status_find_before_open_finds_nothing(void **state)
{
    struct amg_status *page = NULL;

    (void)state;
    amg_status_mark("too early");
    assert_int_equal(amg_status_find((uint32_t)getpid(), 0, &page), HG_NOENTRY);
    assert_int_equal(amg_status_find(INT32_MAX, 0, &page), HG_NOENTRY);
    assert_null(page);
}

static void test_status_find_compares_start_time_and_version(void **state)
{
    uint32_t pid = (uint32_t)getpid();
    uint64_t start_time = amg_process_start(pid);
    struct amg_status_class *part = amg_status_open(3, 8, 0, "shm to all");
    struct amg_status *page = own_page();
    struct amg_status *other = NULL;

    (void)state;
    assert_true(page->opened_ns != 0);
    assert_int_equal(page->start_time, start_time);
    assert_string_equal(page->program, program_invocation_short_name);
    assert_string_equal(page->classes[0].reach, "shm to all");
    assert_int_equal(page->classes[0].rank, 3);
    assert_int_equal(page->classes[0].size, 8);
    assert_int_equal(amg_status_find(pid, start_time, &other), HG_SUCCESS);
    amg_status_drop(other);
    assert_int_equal(amg_status_find(pid, start_time + 1, &other), HG_NOENTRY);
    page->version++;
    assert_int_equal(amg_status_find(pid, 0, &other), HG_PROTONOSUPPORT);
    page->version--;
    amg_status_drop(page);
    amg_status_close(part);
}

static void test_status_class_beyond_the_last_part_is_nobodys(void **state)
{
    struct amg_status_class *parts[AMG_STATUS_CLASSES];
    struct amg_status_facts facts;
    struct amg_status *page = NULL;
    struct amg_status_class *fifth = NULL;
    uint64_t counter = 1;

    (void)state;
    for (unsigned i = 0; i < AMG_STATUS_CLASSES; i++)
        parts[i] = amg_status_open(i, 9, 0, "");
    fifth = amg_status_open(4, 9, 0, "");
    assert_ptr_equal(fifth, amg_status_none());
    amg_status_write(fifth, 1, NULL, &counter, 1, no_names);
    amg_status_close(fifth);
    page = own_page();
    amg_status_close(parts[2]);
    assert_false(amg_status_read(page, 2, &facts));
    assert_true(amg_status_read(page, 3, &facts));
    assert_int_equal(facts.doing.rank, 3);
    parts[2] = amg_status_open(7, 9, 0, "");
    assert_true(amg_status_read(page, 2, &facts));
    assert_int_equal(facts.doing.rank, 7);
    assert_int_equal(facts.doing.to, AMG_STATUS_NOBODY);
    for (unsigned i = 0; i < AMG_STATUS_CLASSES; i++)
        amg_status_close(parts[i]);
    amg_status_drop(page);
}

static void test_status_read_brings_facts_up_to_now(void **state)
{
    struct amg_status_class *part = amg_status_open(1, 2, 0, "");
    struct amg_status *page = own_page();
    struct amg_doing doing = {.to = AMG_STATUS_NOBODY};
    const char *const names[2] = {"put", "get"};
    uint64_t second_ago_ns = amg_clock_ns() - 1000 * AMG_NS_PER_MS;
    uint64_t counters[2] = {11, 12};
    struct amg_status_facts facts;
    uint64_t wait = 0;

    (void)state;
    doing.to = 5;
    doing.to_ms = 7000;
    doing.to_call = 77;
    amg_status_write(part, second_ago_ns, &doing, counters, 2, names);
    amg_status_stamp(part, second_ago_ns);
    amg_status_run(part, 42);
    amg_status_mark("step 12");
    wait = amg_status_wait(part, AMG_AWAIT_BARRIER);
    assert_int_equal(amg_status_wait(part, AMG_AWAIT_QUIESCE), 0);
    amg_status_waited(part, 0);
    assert_true(amg_status_read(page, 0, &facts));
    assert_int_equal(page->counters, 2);
    assert_int_equal(facts.counters[1], 12);
    assert_string_equal(facts.names[0], "");
    assert_string_equal(facts.names[1], "get");
    assert_int_equal(facts.doing.pid, getpid());
    assert_true(facts.doing.to_ms >= 8000 && facts.doing.idle_ms >= 1000);
    assert_int_equal(facts.doing.handler, 42);
    assert_int_equal(facts.doing.running, 1);
    assert_int_equal(facts.doing.wait, AMG_AWAIT_BARRIER);
    assert_string_equal(facts.doing.mark, "step 12");
    assert_int_equal(facts.doing.state, 'R');
    assert_int_equal(facts.doing.from, AMG_FROM_PAGE);
    amg_status_waited(part, wait);
    amg_status_run(part, 0);
    amg_status_leave(part);
    assert_true(amg_status_read(page, 0, &facts));
    assert_int_equal(facts.doing.wait, AMG_AWAIT_NONE);
    assert_int_equal(facts.doing.running, 0);
    assert_int_equal(facts.doing.from, AMG_FROM_PAGE | AMG_FROM_LEFT);
    amg_status_close(part);
    amg_status_drop(page);
}

static void test_status_read_of_a_stopped_writer_fails(void **state)
{
    struct amg_status_class *part = amg_status_open(1, 2, 0, "");
    struct amg_status *page = own_page();
    struct amg_status_facts facts;
    uint64_t counter = 1;

    (void)state;
    assert_true(amg_status_read(page, 0, &facts));
    atomic_fetch_add(&part->serial, 1u);
    assert_false(amg_status_read(page, 0, &facts));
    amg_status_write(part, 1, NULL, &counter, 1, NULL);
    assert_int_equal(page->classes[0].counters[0], 0);
    amg_status_close(part);
    amg_status_drop(page);
}

enum { WRITES = 20000 };

struct writer {
    struct amg_status_class *part;
    atomic_bool is_over;
};

static void *facts_write(void *arg)
{
    struct writer *writer = arg;
    uint64_t counters[AMG_STATUS_COUNTERS];
    struct amg_doing doing = {.to = AMG_STATUS_NOBODY};

    for (unsigned i = 0; i < WRITES; i++) {
        doing.handler = doing.to_call = i;
        for (unsigned k = 0; k < AMG_STATUS_COUNTERS; k++)
            counters[k] = i;
        amg_status_write(writer->part, amg_clock_ns(), &doing, counters,
            AMG_STATUS_COUNTERS, no_names);
    }
    atomic_store(&writer->is_over, true);
    return NULL;
}

/* Two writers, of which one at a time writes. */
static void test_status_read_is_whole_while_two_threads_write(void **state)
{
    struct writer writer = {.part = amg_status_open(0, 1, 0, "")};
    struct amg_status *page = own_page();
    struct amg_status_facts facts;
    pthread_t threads[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, facts_write, &writer), 0);
    while (!atomic_load(&writer.is_over)) {
        if (!amg_status_read(page, 0, &facts))
            continue; /* a writer lost its core amid a write */
        assert_int_equal(facts.doing.handler, facts.doing.to_call);
        assert_int_equal(facts.doing.handler, facts.counters[0]);
        for (unsigned k = 1; k < AMG_STATUS_COUNTERS; k++)
            assert_int_equal(facts.counters[k], facts.counters[0]);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    amg_status_close(writer.part);
    amg_status_drop(page);
}

/* In the child: the parent's page is not found in the child's name, the child's
 * writes stay its own, and its classes get another page. */
static bool child_is_apart(struct amg_status_class *part, pid_t parent)
{
    struct amg_status *page = NULL;
    struct amg_status *own = NULL;
    bool is_apart = true;

    if (amg_status_find((uint32_t)getpid(), 0, &page) != HG_NOENTRY)
        return false;
    amg_status_inherit();
    amg_status_run(part, 1234);
    amg_status_mark("of the child");
    if (amg_status_find((uint32_t)getpid(), 0, &page) != HG_NOENTRY)
        return false;
    part = amg_status_open(6, 9, 0, "");
    if (amg_status_find((uint32_t)parent, 0, &page) != HG_SUCCESS ||
        amg_status_find((uint32_t)getpid(), 0, &own) != HG_SUCCESS)
        return false;
    is_apart = page->classes[0].handler == 0 && page->mark_ns == 0 &&
               page->classes[0].rank == 1 && own->classes[0].rank == 6;
    amg_status_close(part);
    return is_apart;
}

static void test_status_child_of_fork_is_apart(void **state)
{
    struct amg_status_class *part = amg_status_open(1, 2, 0, "");
    pid_t parent = getpid();
    struct amg_status *page = own_page();
    int status = -1;
    pid_t pid = -1;

    (void)state;
    page->mark_ns = 0;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(child_is_apart(part, parent) ? 0 : 1);
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    amg_status_drop(page);
    amg_status_close(part);
}

static void test_status_texts_name_rank_call_and_mark(void **state)
{
    struct amg_doing doing = {.to = 2, .to_ms = 60400, .to_call = 0x77};
    char text[AMG_DOING_TEXT_CAP];

    (void)state;
    doing.stage = AMG_STAGE_QUEUED;
    doing.is_served = 1;
    doing.more = 3;
    assert_string_equal(amg_doing_waits(&doing, "swap", text),
        "waits for rank 2: its call of \"swap\", 60 s old, made in a handler, "
        "is queued there; 3 more are as late");
    doing.to_call = 0;
    doing.more = 0;
    doing.is_served = 0;
    doing.stage = AMG_STAGE_MOVES;
    assert_string_equal(amg_doing_waits(&doing, "", text),
        "waits for rank 2: its transfer, 60 s old, moves data");
    doing.to = AMG_STATUS_NOBODY;
    assert_string_equal(amg_doing_waits(&doing, "", text), "");
    doing.wait = AMG_AWAIT_BARRIER;
    doing.wait_ms = 9876;
    assert_string_equal(amg_doing_waits(&doing, "", text),
        "waits in amalgam_barrier() for 9.8 s");
    assert_string_equal(amg_doing_state(&doing, "", text),
        "made progress 0.0 s ago; runs no handler; 0 calls are queued; no "
        "mark");
    doing.from = AMG_FROM_PAGE;
    doing.state = 'T';
    doing.idle_ms = 61000;
    doing.running = 2;
    doing.handler = 0x77;
    doing.handler_ms = 60000;
    doing.queued = 1;
    strcpy(doing.mark, "step 12");
    assert_string_equal(amg_doing_state(&doing, "", text),
        "made no progress for at least 61 s; runs 2 handlers, RPC 0x77 for 60 "
        "s; 1 call is queued; its process is stopped by a signal (state T); "
        "mark \"step 12\"");
}

static void test_status_every_kind_has_a_text(void **state)
{
    (void)state;
    for (unsigned i = 1; i < AMG_AWAITS; i++)
        assert_true(amg_await_text(i)[0] != '\0');
    for (unsigned i = 0; i < AMG_STAGES; i++)
        assert_true(amg_stage_text(i)[0] != '\0');
    assert_string_equal(amg_await_text(200), "");
    assert_string_equal(amg_stage_text(200), amg_stage_text(AMG_STAGE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_find_before_open_finds_nothing),
        cmocka_unit_test(test_status_find_compares_start_time_and_version),
        cmocka_unit_test(test_status_class_beyond_the_last_part_is_nobodys),
        cmocka_unit_test(test_status_read_brings_facts_up_to_now),
        cmocka_unit_test(test_status_read_of_a_stopped_writer_fails),
        cmocka_unit_test(test_status_read_is_whole_while_two_threads_write),
        cmocka_unit_test(test_status_child_of_fork_is_apart),
        cmocka_unit_test(test_status_texts_name_rank_call_and_mark),
        cmocka_unit_test(test_status_every_kind_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
