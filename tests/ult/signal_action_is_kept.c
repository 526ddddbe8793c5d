/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's action for SIGSEGV keeps its flags and its chain while the
 * runtime is open, and the program's signal stack outlives the runtime. */
#include "ult.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS_MAX = 3, TOO_OFTEN = 9 };

/* The thread sanitizer delivers a raised signal later than raise() returns. */
#ifdef __SANITIZE_THREAD__
enum { RAISES = 0 };
#else
enum { RAISES = 1 };
#endif

static int runs;
static struct sigaction before;

static void count(void)
{
    if (++runs > RUNS_MAX)
        _exit(TOO_OFTEN);
}

static void show(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    count();
}

static void show_and_raise(int number, siginfo_t *info, void *context)
{
    show(number, info, context);
    raise(number);
    _exit(TOO_OFTEN);
}

static void show_and_chain(int number, siginfo_t *info, void *context)
{
    count();
    if ((before.sa_flags & SA_SIGINFO) != 0)
        before.sa_sigaction(number, info, context);
    else
        signal(number, SIG_DFL);
}

static void action_set(
    void (*function)(int, siginfo_t *, void *), unsigned flags)
{
    struct sigaction action = {
        .sa_sigaction = function, .sa_flags = (int)(SA_SIGINFO | flags)};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before);
}

static void fault(void)
{
    int *volatile page = mmap(
        NULL, sizeof(*page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *page = 1;
}

static void by_one_fault(void)
{
    action_set(show, SA_RESETHAND);
    OK(ABT_init(0, NULL));
    fault();
}

static void by_raise_inside(void)
{
    action_set(show_and_raise, SA_RESETHAND | SA_NODEFER);
    OK(ABT_init(0, NULL));
    fault();
}

static void by_raise_twice(void)
{
    action_set(show, SA_RESETHAND);
    OK(ABT_init(0, NULL));
    raise(SIGSEGV);
    raise(SIGSEGV);
}

static void in_a_second_life(void)
{
    OK(ABT_init(0, NULL));
    action_set(show_and_chain, SA_NODEFER);
    OK(ABT_finalize());
    OK(ABT_init(0, NULL));
    fault();
}

/* The child ends by SIGSEGV, as without the runtime. */
static void child_check(void (*function)(void))
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        function();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void signal_stack_check(void)
{
    static char bytes[1 << 17];
    stack_t mine = {.ss_sp = bytes, .ss_size = sizeof(bytes)};
    stack_t now;

    OK(ABT_init(0, NULL));
    CHECK(sigaltstack(&mine, NULL) == 0);
    OK(ABT_finalize());
    CHECK(sigaltstack(NULL, &now) == 0);
    CHECK((now.ss_flags & SS_DISABLE) == 0 && now.ss_sp == mine.ss_sp);
}

int main(void)
{
    child_check(by_one_fault);
    if (RAISES) {
        child_check(by_raise_inside);
        child_check(by_raise_twice);
    }
    child_check(in_a_second_life);
    signal_stack_check();
    return 0;
}
