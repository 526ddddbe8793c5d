/* SPDX-License-Identifier: BSD-3-Clause */
/* State of an execution stream that only the stream's OS thread touches.
 *
 * When a user-level thread overruns its stack, the guard page below the stack
 * raises SIGSEGV. The handler, which runs on a stack of its own, writes a line
 * that names the thread if the address of the fault lies in a guard page. Then
 * the handler restores the previous action: the fault occurs again when the
 * handler returns, and a signal that was sent is raised again, so the kernel
 * delivers them with the flags of that action. From then on the process has no
 * lines about overrun stacks, until the next first ABT_init(). A program's
 * action may remember this handler and call it. If the runtime was opened again
 * meanwhile, that action is this handler's previous action, and the two would
 * call each other for ever: so the handler, called while its previous action is
 * in place, restores the default action. */
#include "ult/xstream_local.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"

enum {
    SIGNAL_STACK = 64 * 1024, /* the state of the vector registers alone may
                               * take 11 KiB (AMX) */
    LINE_CAP = 320,
};

/* Read through amg_xstream_local_self() alone: a compiler that saw the variable
 * would keep its address in a register over a switch, after which another OS
 * thread may run. */
_Thread_local struct amg_xstream_local *amg_xstream_local_of_thread
    __attribute__((tls_model("initial-exec"), used));

AMG_NOINLINE struct amg_xstream_local *amg_xstream_local_far(void)
{
    /* Keeps the compiler from merging two calls. */
    __asm__ volatile("" : : : "memory");
    return amg_xstream_local_of_thread;
}

/* The C++ runtime's state of caught exceptions of this OS thread; NULL: no C++
 * runtime. Looked up by name for each stream, as few programs have that runtime
 * and some load it late. */
static struct amg_caught *caught_find(void)
{
    struct amg_caught *(*get)(void) = NULL;

    *(void **)&get = dlsym(RTLD_DEFAULT, "__cxa_get_globals");
    return get == NULL ? NULL : get();
}

/* Sets a stack for the signal handler, unless the OS thread has one. False: no
 * memory. */
static bool signal_stack_set(struct amg_xstream_local *local)
{
    stack_t stack;

    if (sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0)
        return true;
    local->signal_stack = amg_mem_alloc(SIGNAL_STACK);
    if (local->signal_stack == NULL)
        return false;
    stack = (stack_t){.ss_sp = local->signal_stack, .ss_size = SIGNAL_STACK};
    sigaltstack(&stack, NULL);
    return true;
}

struct amg_xstream_local *amg_xstream_local_open(struct amg_xstream *xstream)
{
    struct amg_xstream_local *local = amg_mem_zalloc(sizeof(*local));

    AMG_ASSERT(amg_xstream_local_of_thread == NULL);
    if (local == NULL || !signal_stack_set(local)) {
        AMG_LOG_ERROR("ult", "no memory for the state of an execution stream");
        amg_mem_free(local);
        return NULL;
    }
    local->xstream = xstream;
    local->caught = caught_find();
    local->current = &local->own;
    amg_ult_init(&local->own, AMG_ULT_SCHEDULER);
    atomic_store_explicit(&local->own.xstream, xstream, memory_order_relaxed);
    amg_fibre_open_own(&local->own.fibre);
    amg_ult_set_state(&local->own, AMG_ULT_RUNNING);
    amg_xstream_local_of_thread = local;
    return local;
}

void amg_xstream_local_close(struct amg_xstream_local *local)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now;

    AMG_ASSERT(
        amg_xstream_local_of_thread == local && local->current == &local->own);
    /* The program may have set its own signal stack meanwhile. */
    if (local->signal_stack != NULL && sigaltstack(NULL, &now) == 0 &&
        now.ss_sp == local->signal_stack)
        sigaltstack(&none, NULL);
    amg_mem_free(local->signal_stack);
    amg_stack_cache_flush(&local->stacks);
    amg_xstream_local_of_thread = NULL;
    amg_mem_free(local);
}

void amg_xstream_local_leave(void)
{
    amg_xstream_local_of_thread = NULL;
}

int amg_ult_none_code(void)
{
    int rc = ABT_initialized();

    return rc == ABT_SUCCESS ? ABT_ERR_INV_XSTREAM : rc;
}

static struct sigaction action_before;

/* The calling thread, if `address` lies in the guard of its stack, or NULL. */
static const struct amg_ult *overrun_of(uintptr_t address)
{
    const struct amg_ult *ult = amg_ult_current();
    uintptr_t base = 0;

    if (ult == NULL || ult->stack == NULL)
        return NULL;
    base = (uintptr_t)ult->stack_base;
    return address < base && address >= base - AMG_GUARD_LEN ? ult : NULL;
}

static void overrun_report(const struct amg_ult *ult)
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
        return; /* nothing more can be done */
}

static void segv_handle(int number, siginfo_t *info, void *context)
{
    /* Sent by kill() or the like: no fault, so it does not come again. */
    bool is_sent = info->si_code <= 0;
    const struct amg_ult *ult =
        is_sent ? NULL : overrun_of((uintptr_t)info->si_addr);
    struct sigaction now;

    (void)context;
    if (ult != NULL)
        overrun_report(ult);
    if (sigaction(number, NULL, &now) == 0 &&
        now.sa_sigaction == action_before.sa_sigaction)
        now = (struct sigaction){.sa_handler = SIG_DFL};
    else
        now = action_before;
    (void)sigaction(number, &now, NULL);
    if (is_sent)
        (void)raise(number);
}

void amg_stack_guard_open(void)
{
    struct sigaction action = {.sa_sigaction = segv_handle,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &action_before);
}

void amg_stack_guard_close(void)
{
    struct sigaction now;

    /* An action that the program has set meanwhile stays. */
    if (sigaction(SIGSEGV, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == segv_handle)
        sigaction(SIGSEGV, &action_before, NULL);
}
