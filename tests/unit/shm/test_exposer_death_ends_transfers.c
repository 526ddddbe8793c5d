/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposer that stops or dies during transfers, by each way: the transfers can
 * be cancelled, they end, and no resource is held afterwards. The exposer is a
 * child that opens its own domain and serves until it is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_domain.h"
#include "mercury.h"
#include "shm/shm_transport.h"

enum {
    LEN = 2 << 20,
    CALLS = 12,
    ENOUGH_MS = 20000, /* for events that must happen */
    TEXT_CAP = 256,
};

static const struct amg_transport *const shm = &amg_shm_transport;

struct shown {
    char address[TEXT_CAP];
    struct amg_key key;
};

struct fixture {
    pid_t child;
    struct shown shown;
    struct amg_domain *domain;
    struct amg_ep *ep;
    struct amg_peer *peer;
    char *locals; /* CALLS times LEN */
    struct amg_op ops[CALLS];
    struct amg_segment here[CALLS];
    struct amg_segment there;
    unsigned ended; /* of those posted */
};

static void op_step(struct amg_op *op)
{
    struct fixture *f = (struct fixture *)(uintptr_t)op->priv[5];

    f->ended++;
}

static void die_if(bool is_bad)
{
    if (is_bad)
        _exit(EXIT_FAILURE);
}

static void domain_open(
    const struct amg_area *area, struct amg_domain **ret_domain)
{
    const struct amg_open how = {
        .info = "", .is_listening = true, .max_contexts = 1, .area = area};

    die_if(shm->domain.open(&how, ret_domain) != HG_SUCCESS);
}

static char *exposed; /* by the child */

/* SIGUSR1 makes a page of it unreadable, SIGUSR2 readable again. */
static void on_signal(int number)
{
    (void)mprotect(exposed + LEN / 2, AMG_SHM_PAGE,
        number == SIGUSR1 ? PROT_NONE : PROT_READ | PROT_WRITE);
}

/* Exposes its area, and serves. */
static void child_main(int out)
{
    struct amg_domain *domain = NULL;
    struct amg_mapping mapping;
    struct amg_area area;
    struct amg_segment segment;
    struct amg_peer *self = NULL;
    struct amg_mem *mem = NULL;
    struct amg_ep *ep = NULL;
    struct shown shown;
    size_t len = sizeof(shown.address);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(&shown, 0, sizeof(shown));
    die_if(amg_mapping_open("test", LEN, &mapping) != HG_SUCCESS);
    area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    domain_open(&area, &domain);
    die_if(shm->ep.open(domain, 0, &ep) != HG_SUCCESS);
    memset(mapping.base, 7, LEN);
    exposed = mapping.base;
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    segment = (struct amg_segment){mapping.base, LEN};
    die_if(shm->bulk.reg(domain, &segment, 1, AMG_MEM_READ | AMG_MEM_WRITE,
               &mem) != HG_SUCCESS);
    shm->bulk.key(mem, &shown.key);
    self = shm->addr.self(domain);
    die_if(shm->addr.format(domain, self, shown.address, &len) != HG_SUCCESS);
    die_if(write(out, &shown, sizeof(shown)) != sizeof(shown));
    for (;;) {
        struct amg_events events;

        amg_events_init(&events);
        if (shm->ep.poll(ep, 16, &events) == 0)
            sched_yield();
    }
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int pipes[2];

    *state = f;
    f->locals = calloc(CALLS, LEN);
    if (pipe(pipes) != 0)
        return 1;
    f->child = fork();
    if (f->child == 0)
        child_main(pipes[1]);
    close(pipes[1]);
    if (read(pipes[0], &f->shown, sizeof(f->shown)) != sizeof(f->shown))
        return 1;
    close(pipes[0]);
    domain_open(NULL, &f->domain);
    return shm->ep.open(f->domain, 0, &f->ep) != HG_SUCCESS ||
           shm->addr.parse(f->domain, f->shown.address, &f->peer) != HG_SUCCESS;
}

static void turn(struct fixture *f)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    if (shm->ep.poll(f->ep, 16, &events) == 0)
        sched_yield();
    while ((link = amg_list_pop(&events.done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
}

#define UNTIL(f, expr)                                                         \
    for (uint64_t end_ns = amg_clock_deadline_ns(ENOUGH_MS); !(expr); turn(f)) \
    assert_true(amg_clock_ns() < end_ns)

static void child_kill(struct fixture *f)
{
    if (f->child == 0)
        return;
    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    f->child = 0;
}

static void child_stop(struct fixture *f)
{
    int status = 0;

    kill(f->child, SIGSTOP);
    assert_int_equal(waitpid(f->child, &status, WUNTRACED), f->child);
    assert_true(WIFSTOPPED(status));
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    struct amg_events events;

    amg_events_init(&events);
    shm->addr.unref(f->domain, f->peer);
    shm->ep.close(f->ep, &events);
    shm->domain.close(f->domain);
    child_kill(f);
    free(f->locals);
    free(f);
    HG_Cleanup();
    return 0;
}

/* Half of them gets, half of them puts. */
static void post_all(struct fixture *f)
{
    const struct amg_remote remote = {
        .key = f->shown.key, .at = {&f->there, 1, 0, 0}};

    f->ended = 0;
    f->there = (struct amg_segment){NULL, LEN};
    for (unsigned i = 0; i < CALLS; i++) {
        struct amg_op *op = &f->ops[i];
        char *local = f->locals + (size_t)i * LEN;
        struct amg_seg_iter here = {&f->here[i], 1, 0, 0};
        hg_return_t rc = HG_SUCCESS;

        f->here[i] = (struct amg_segment){local, LEN};
        *op = (struct amg_op){.step = op_step};
        op->priv[5] = (uint64_t)(uintptr_t)f;
        memset(local, i % 2 == 0 ? 0 : 7, LEN);
        rc = i % 2 == 0 ? shm->bulk.get(f->ep, (struct amg_target){f->peer, 0},
                              &here, &remote, LEN, op)
                        : shm->bulk.put(f->ep, (struct amg_target){f->peer, 0},
                              &here, &remote, LEN, op);
        assert_int_equal(rc, HG_SUCCESS);
    }
}

static void all_end_as(struct fixture *f, hg_return_t one, hg_return_t other)
{
    UNTIL(f, f->ended == CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        assert_true(f->ops[i].ret == one || f->ops[i].ret == other);
}

static void nothing_is_held(struct fixture *f)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(f->domain);

    UNTIL(f, domain->bulk.bounce_used == 0);
    for (uint32_t i = 0; i < domain->bulk.transfers.cap; i++)
        assert_null(domain->bulk.transfers.slots[i].object);
}

static void test_exposer_killed_ends_transfers(void **state)
{
    struct fixture *f = *state;

    for (unsigned turns = 0; f->child != 0; turns = 3) {
        post_all(f);
        for (unsigned i = 0; i < turns; i++)
            turn(f);
        if (turns > 0)
            child_kill(f);
        all_end_as(f, HG_SUCCESS, turns > 0 ? HG_HOSTUNREACH : HG_SUCCESS);
    }
    post_all(f);
    all_end_as(f, HG_HOSTUNREACH, HG_SUCCESS);
    UNTIL(f, amg_shm_peer_of(f->peer)->state == AMG_SHM_PEER_GONE);
    post_all(f);
    all_end_as(f, HG_HOSTUNREACH, HG_HOSTUNREACH);
    nothing_is_held(f);
}

static void transfers_until(struct fixture *f, int number, hg_return_t wanted)
{
    uint64_t end_ns = amg_clock_deadline_ns(ENOUGH_MS);

    kill(f->child, number);
    do {
        assert_true(amg_clock_ns() < end_ns);
        post_all(f);
        all_end_as(f, HG_SUCCESS, HG_NA_ERROR);
    } while (f->ops[0].ret != wanted || f->ops[1].ret != wanted);
}

static bool exposer_copies(void)
{
    const char *way = getenv("AMALGAM_SHM_COPY");

    return way != NULL && strcmp(way, "segment") == 0;
}

/* The watch over silent peers does not name one that answers transfers alone.
 */
static void test_exposer_that_copies_is_heard(void **state)
{
    struct fixture *f = *state;
    struct amg_shm_peer *peer = amg_shm_peer_of(f->peer);

    post_all(f);
    all_end_as(f, HG_SUCCESS, HG_SUCCESS);
    peer->watched.is_heard = false;
    post_all(f);
    all_end_as(f, HG_SUCCESS, HG_SUCCESS);
    assert_true(peer->watched.is_heard == exposer_copies());
}

/* Where the exposer copies, it must not die of its own memory. */
static void test_exposer_with_unreadable_memory_lives(void **state)
{
    struct fixture *f = *state;

    if (!exposer_copies())
        return;
    transfers_until(f, SIGUSR1, HG_NA_ERROR);
    transfers_until(f, SIGUSR2, HG_SUCCESS);
    nothing_is_held(f);
}

/* Only copies through the segment need an exposer that runs. */
static void test_exposer_stopped_transfers_can_be_cancelled(void **state)
{
    struct fixture *f = *state;

    child_stop(f);
    post_all(f);
    for (unsigned i = 0; i < 50; i++)
        turn(f);
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(shm->ep.cancel(f->ep, &f->ops[i]), HG_SUCCESS);
    all_end_as(f, HG_CANCELED, HG_SUCCESS);
    /* Late answers to cancelled transfers do no harm. */
    memset(f->locals, 9, LEN);
    kill(f->child, SIGCONT);
    nothing_is_held(f);
    for (size_t i = 0; i < LEN; i++)
        assert_int_equal(f->locals[i], 9);
    post_all(f);
    all_end_as(f, HG_SUCCESS, HG_SUCCESS);
    for (size_t i = 0; i < CALLS * (size_t)LEN; i++)
        assert_int_equal(f->locals[i], 7);
}

/* The domain closes without answers that never come. */
static void test_exposer_stopped_domain_closes(void **state)
{
    struct fixture *f = *state;

    child_stop(f);
    post_all(f);
    for (unsigned i = 0; i < 50; i++)
        turn(f);
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(shm->ep.cancel(f->ep, &f->ops[i]), HG_SUCCESS);
    all_end_as(f, HG_CANCELED, HG_SUCCESS);
}

static void test_exposer_stopped_endpoint_closes_with_transfers(void **state)
{
    struct fixture *f = *state;
    struct amg_events events;

    child_stop(f);
    post_all(f);
    turn(f);
    amg_events_init(&events);
    shm->ep.close(f->ep, &events);
    while (!amg_list_is_empty(&events.done))
        op_step(
            amg_container_of(amg_list_pop(&events.done), struct amg_op, link));
    assert_int_equal(f->ended, CALLS);
    kill(f->child, SIGCONT);
    assert_int_equal(shm->ep.open(f->domain, 0, &f->ep), HG_SUCCESS);
    nothing_is_held(f);
}

/* The death of the exposer wakes a blocked initiator. */
static void test_exposer_killed_wakes_sleeper(void **state)
{
    struct fixture *f = *state;
    struct pollfd sleep = {.fd = shm->ep.wait_fd(f->ep), .events = POLLIN};

    post_all(f);
    child_stop(f);
    for (unsigned i = 0; i < 200; i++)
        turn(f);
    if (f->ended < CALLS) { /* by the segment */
        if (sleep.fd >= 0 && shm->ep.arm(f->ep)) {
            child_kill(f);
            assert_int_equal(poll(&sleep, 1, ENOUGH_MS), 1);
        }
        child_kill(f);
    }
    all_end_as(f, HG_HOSTUNREACH, HG_SUCCESS);
    nothing_is_held(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_exposer_killed_ends_transfers),
        TEST(test_exposer_that_copies_is_heard),
        TEST(test_exposer_with_unreadable_memory_lives),
        TEST(test_exposer_stopped_transfers_can_be_cancelled),
        TEST(test_exposer_stopped_domain_closes),
        TEST(test_exposer_stopped_endpoint_closes_with_transfers),
        TEST(test_exposer_killed_wakes_sleeper),
    };

    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
