/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers without a pidfd: a wakeup checks few of them, and a dead one is
 * detected, also before its parent has waited for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

#define PERIOD_NS (100 * AMG_NS_PER_MS) /* between two checks */

enum {
    PEERS = 20,
    LOOKS = 16, /* at most, in one wakeup */
    ROUNDS = 50,
    LIVING = 0, /* numbers of peers */
    ZOMBIE = 1,
    GONE = PEERS - 1,
    SHORT = 16,
};

static const struct amg_transport *const shm = &amg_shm_transport;

static unsigned looks;

/* Both replace functions of the C library. */
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
    if (number == SYS_pidfd_open) {
        errno = ENOSYS;
        return -1;
    }
    return real(
        number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int kill(pid_t pid, int signal)
{
    looks += signal == 0;
    return (int)syscall(SYS_kill, (long)pid, (long)signal);
}

static unsigned looks_of_wake(struct party *party)
{
    looks = 0;
    (void)party_poll(party);
    return looks;
}

static void wakes_look_at_few(struct party *party)
{
    uint64_t start_ns = 0;
    uint64_t periods = 0;
    unsigned seen = 0;

    for (unsigned wakes = 0; seen < 2 * PEERS; wakes++) {
        unsigned count = 0;

        assert_true(wakes < ROUNDS);
        party_sleep(party);
        count = looks_of_wake(party);
        assert_true(count <= LOOKS);
        seen += count;
    }
    /* Other wakeups in between cause no additional checks. */
    start_ns = amg_clock_ns();
    seen = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_true(shm->ep.arm(party->ep));
        seen += looks_of_wake(party);
    }
    periods = (amg_clock_ns() - start_ns) / PERIOD_NS + 1;
    assert_true(seen <= periods * LOOKS);
}

static void test_few_checks_and_no_death_is_missed(void **state)
{
    struct party_child children[PEERS];
    struct amg_peer *peers[PEERS];
    struct party_call calls[PEERS];
    struct party party;
    siginfo_t info;

    (void)state;
    for (unsigned i = 0; i < PEERS; i++)
        party_child_start(
            &children[i], i == LIVING ? PARTY_SLEEPER : PARTY_DEAF, "");
    party_open(&party, "", 0);
    for (unsigned i = 0; i < PEERS; i++)
        peers[i] = party_find(&party, children[i].address);
    wakes_look_at_few(&party);

    party_ask(&party, peers[ZOMBIE], &calls[ZOMBIE], 1, SHORT);
    party_ask(&party, peers[GONE], &calls[GONE], 2, SHORT);
    assert_int_equal(kill(children[ZOMBIE].pid, SIGKILL), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)children[ZOMBIE].pid, &info, WEXITED | WNOWAIT), 0);
    party_child_kill(&children[GONE]);
    assert_int_equal(party_wait_asleep(&party, &calls[ZOMBIE]), HG_HOSTUNREACH);
    assert_int_equal(party_wait_asleep(&party, &calls[GONE]), HG_HOSTUNREACH);
    party_child_kill(&children[ZOMBIE]);

    party_ask(&party, peers[LIVING], &calls[LIVING], 3, SHORT);
    assert_int_equal(party_wait_asleep(&party, &calls[LIVING]), HG_SUCCESS);
    assert_true(party_answer_is(&party, &calls[LIVING], 3));
    for (unsigned i = 0; i < PEERS; i++) {
        shm->addr.unref(party.domain, peers[i]);
        if (i != ZOMBIE && i != GONE)
            party_child_end(&children[i]);
    }
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_checks_and_no_death_is_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
