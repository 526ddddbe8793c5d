/* SPDX-License-Identifier: BSD-3-Clause */
/* What an OS thread that is a stream knows of the threads it carries. */
#include "ult/host.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/create.h"

/* Read through amg_host_self() alone: a compiler that saw it here would keep
 * its address in a register over a switch, after which that is another OS
 * thread's. */
static _Thread_local struct amg_host *host_of_thread
    __attribute__((tls_model("initial-exec")));

AMG_APART struct amg_host *amg_host_self(void)
{
    /* Keeps the compiler from finding out that two calls give the same. */
    __asm__ volatile("" : : : "memory");
    return host_of_thread;
}

/* NOTE(why): the C++ runtime's name. Weak, since few programs have that. */
__attribute__((weak)) struct amg_caught *__cxa_get_globals(void);

struct amg_host *amg_host_open(struct amg_stream *stream)
{
    struct amg_host *host = amg_mem_zalloc(sizeof(*host));

    AMG_ASSERT(host_of_thread == NULL);
    if (host == NULL) {
        AMG_LOG_ERROR("ult", "no memory for what a stream knows of itself");
        return NULL;
    }
    host->stream = stream;
    if (__cxa_get_globals != NULL)
        host->caught = __cxa_get_globals();
    host->current = &host->own;
    amg_ult_init(&host->own, AMG_ULT_SCHEDULER);
    atomic_store_explicit(&host->own.stream, stream, memory_order_relaxed);
    amg_fibre_open_own(&host->own.fibre);
    host_of_thread = host;
    return host;
}

void amg_host_close(struct amg_host *host)
{
    AMG_ASSERT(host_of_thread == host && host->current == &host->own);
    amg_stack_cache_flush(&host->stacks);
    host_of_thread = NULL;
    amg_mem_free(host);
}

struct amg_ult *amg_ult_current(void)
{
    struct amg_host *host = amg_host_self();

    return host == NULL ? NULL : host->current;
}

struct amg_ult *amg_ult_self(void)
{
    struct amg_ult *ult = amg_ult_current();

    if (ult == NULL ||
        (ult->kind != AMG_ULT_THREAD && ult->kind != AMG_ULT_PRIMARY))
        return NULL;
    return ult;
}
