/* SPDX-License-Identifier: BSD-3-Clause */
/* State of an execution stream that belongs to the stream's OS thread. */
#include "ult/xstream_local.h"

#include <dlfcn.h>
#include <signal.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    SIGNAL_STACK = 64 * 1024, /* the state of the vector registers alone may
                               * take 11 KiB (AMX) */
};

/* Other files read this variable by amg_xstream_local_self() alone: a compiler
 * that saw the variable could keep its address in a register over a switch,
 * after which the caller may run on another OS thread. */
_Thread_local struct amg_xstream_local *amg_xstream_local_of_thread
    __attribute__((tls_model("initial-exec"), used));

AMG_NOINLINE struct amg_xstream_local *amg_xstream_local_far(void)
{
    /* Keeps the compiler from merging two calls. */
    __asm__ volatile("" : : : "memory");
    return amg_xstream_local_of_thread;
}

/* The C++ runtime's state of caught exceptions of this OS thread; NULL: no C++
 * runtime. Looked up by name for each stream, since few programs have a C++
 * runtime, and some load it late. */
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
