/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread that has used up its stack is named before the process
 * ends.
 *
 * The guard below the stack raises SIGSEGV. The handler runs on a stack of its
 * own, looks where the fault was, writes a line where it was in a guard, and
 * lets the action that stood before decide: the fault comes again when it
 * returns, and is raised again where somebody has sent the signal. */
#include "ult/overflow.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/guarded.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/host.h"

enum {
    SIGNAL_STACK = 64 * 1024, /* the state of the vector registers alone may
                               * take 11 KiB (AMX) */
    LINE_CAP = 320,
};

static struct sigaction action_before;

/* The thread whose guard `address` lies in, or NULL. */
static const struct amg_ult *overflow_of(uintptr_t address)
{
    const struct amg_ult *ult = amg_ult_current();
    uintptr_t base = 0;

    if (ult == NULL || ult->stack == NULL)
        return NULL;
    base = (uintptr_t)ult->stack_base;
    return address < base && address >= base - AMG_GUARD_LEN ? ult : NULL;
}

static void overflow_tell(const struct amg_ult *ult)
{
    char line[LINE_CAP];
    int len = snprintf(line, sizeof(line),
        "amalgam: user-level thread %p (id %llu, function %p) has used up its "
        "stack of %zu bytes, from %p on; give it more by "
        "ABT_thread_attr_set_stacksize(), or all threads by "
        "ABT_THREAD_STACKSIZE=%zu in the environment\n",
        (const void *)ult, (unsigned long long)ult->id,
        (void *)(uintptr_t)ult->function, ult->stack_len, ult->stack_base,
        ult->stack_len * 4);

    if (len > 0 &&
        write(STDERR_FILENO, line,
            (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1) < 0)
        return; /* nobody listens */
}

static void overflow_catch(int number, siginfo_t *info, void *context)
{
    /* By kill() and the like: no fault, so it does not come again. */
    bool is_sent = info->si_code <= 0;
    const struct amg_ult *ult =
        is_sent ? NULL : overflow_of((uintptr_t)info->si_addr);

    if (ult != NULL)
        overflow_tell(ult);
    if ((action_before.sa_flags & SA_SIGINFO) != 0) {
        action_before.sa_sigaction(number, info, context);
        return;
    }
    if (action_before.sa_handler != SIG_DFL &&
        action_before.sa_handler != SIG_IGN) {
        action_before.sa_handler(number);
        return;
    }
    if (is_sent && action_before.sa_handler == SIG_IGN)
        return;
    signal(number, SIG_DFL);
    if (is_sent)
        raise(number);
}

void amg_overflow_open(void)
{
    struct sigaction action = {.sa_sigaction = overflow_catch,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &action_before);
}

void amg_overflow_close(void)
{
    struct sigaction now;

    /* Who has set another one meanwhile keeps it. */
    if (sigaction(SIGSEGV, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == overflow_catch)
        sigaction(SIGSEGV, &action_before, NULL);
}

bool amg_overflow_stream_begin(struct amg_overflow *overflow)
{
    stack_t stack;

    overflow->stack = NULL;
    if (sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0)
        return true;
    overflow->stack = amg_mem_alloc(SIGNAL_STACK);
    if (overflow->stack == NULL) {
        AMG_LOG_ERROR("ult", "no memory for the signal stack of a stream");
        return false;
    }
    stack = (stack_t){.ss_sp = overflow->stack, .ss_size = SIGNAL_STACK};
    sigaltstack(&stack, NULL);
    return true;
}

void amg_overflow_stream_end(struct amg_overflow *overflow)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (overflow->stack == NULL)
        return;
    sigaltstack(&none, NULL);
    amg_mem_free(overflow->stack);
    overflow->stack = NULL;
}
