/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry and exit of each call: its thread, its turn, and what is due by it.
 *
 * The lock is held from entry to exit. A call that MPI makes within another one
 * (the callback of an attribute) enters again in its thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr() */
#endif
#include "mpi/strict/strict_core.h"

#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/strict/strict.h"
#include "mpi/strict/strict_rma.h"
#include "mpi/strict/strict_send.h"
#include "mpi/strict/strict_token.h"

enum {
    LIBRARIES = 8,
    OUTPUT_MS = 200, /* a launcher forgets what it has not read yet */
};

int strict_rank = -1;
int strict_size;
uint64_t strict_calls;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned depth;
static _Thread_local const char *call_name = "no call";
static _Thread_local const void *call_from;
/* A byte of the thread that is in MPI; NULL: none. Below MPI_THREAD_MULTIPLE
 * there is one at a time. */
static _Atomic(const char *) inside;
static _Thread_local char self;
static atomic_int level = MPI_THREAD_MULTIPLE;
static const char *main_thread; /* set before `level` */
static atomic_uint findings;

/* Code of Amalgam's libraries and of the program. Set by the constructor. */
static struct {
    uintptr_t begin;
    uintptr_t end;
    bool is_program;
} libraries[LIBRARIES];
static unsigned library_count;

/* The program has no name. */
static int library_note(struct dl_phdr_info *info, size_t len, void *arg)
{
    bool is_program = info->dlpi_name == NULL || info->dlpi_name[0] == '\0';

    (void)len;
    (void)arg;
    if (!is_program && strstr(info->dlpi_name, "/libamalgam") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0 ||
            library_count == LIBRARIES)
            continue;
        libraries[library_count].begin = info->dlpi_addr + part->p_vaddr;
        libraries[library_count].end =
            libraries[library_count].begin + part->p_memsz;
        libraries[library_count].is_program = is_program;
        library_count++;
    }
    return 0;
}

__attribute__((constructor)) static void enter_begin(void)
{
    setenv(STRICT_ENV_LOADED, "1", 1);
    strict_choice_init();
    (void)dl_iterate_phdr(library_note, NULL);
}

const char *strict_call(void)
{
    return call_name;
}

/* -1: it is at none of them. */
static int library_at(const void *code)
{
    uintptr_t at = (uintptr_t)code;

    for (unsigned i = 0; i < library_count; i++)
        if (at >= libraries[i].begin && at < libraries[i].end)
            return (int)i;
    return -1;
}

bool strict_is_library(void)
{
    int at = library_at(call_from);

    return at >= 0 && !libraries[at].is_program;
}

bool strict_is_watched(const void *code)
{
    return library_at(code) >= 0;
}

void strict_finding(const char *what, ...)
{
    const char *end = getenv(STRICT_ENV_END);
    va_list args;
    char text[512];

    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    fprintf(stderr,
        "strict: rank %d: %s: %s (call %llu, of %s, " STRICT_ENV_SEED
        "=%llu)\n",
        strict_rank, call_name, text, (unsigned long long)strict_calls,
        strict_is_library() ? "Amalgam" : "the program",
        (unsigned long long)strict_seed());
    fflush(stderr);
    atomic_fetch_add(&findings, 1);
    if (end != NULL && strcmp(end, "go") == 0)
        return;
    (void)poll(NULL, 0, OUTPUT_MS);
    if (end != NULL && strcmp(end, "exit") == 0)
        _exit(STRICT_EXIT);
    abort();
}

bool strict_has_findings(void)
{
    return atomic_load(&findings) > 0;
}

void strict_level_set(int provided)
{
    main_thread = &self;
    atomic_store(&level, provided);
}

/* The outermost call of this thread begins. */
static void thread_begin(void)
{
    const char *other = NULL;
    int now = atomic_load(&level);

    if (now == MPI_THREAD_MULTIPLE)
        return;
    if (now < MPI_THREAD_SERIALIZED && main_thread != &self)
        strict_finding("a thread that did not start MPI calls it below "
                       "MPI_THREAD_SERIALIZED");
    other = atomic_exchange(&inside, &self);
    if (other != NULL && other != &self)
        strict_finding("another thread is in MPI at the same time, below "
                       "MPI_THREAD_MULTIPLE");
}

void strict_enter(const char *call, const void *caller)
{
    call_name = call;
    call_from = caller;
    if (depth == 0) {
        thread_begin();
        pthread_mutex_lock(&lock);
    }
    depth++;
    strict_calls++;
    strict_token_turn();
    strict_send_move();
    strict_access_move();
}

void strict_leave(void)
{
    if (--depth > 0)
        return;
    pthread_mutex_unlock(&lock);
    atomic_store(&inside, NULL);
}

void strict_flush(void)
{
    strict_send_flush();
    strict_access_flush();
}

unsigned strict_open(void)
{
    unsigned held = depth;

    depth = 0;
    pthread_mutex_unlock(&lock);
    return held;
}

void strict_close(unsigned held)
{
    pthread_mutex_lock(&lock);
    depth = held;
}

void strict_pause(void)
{
    const char *call = call_name;
    const void *from = call_from;
    unsigned held = strict_open();

    if (strict_token_is_mine())
        strict_token_yield();
    else
        sched_yield();
    strict_close(held);
    call_name = call;
    call_from = from;
    strict_calls++;
    strict_send_move();
    strict_access_move();
}

unsigned strict_stall_turns(void)
{
    unsigned first = (unsigned)(strict_mix(strict_seed(), 1001) % 2);

    return (unsigned)strict_rank % 2 == first
               ? strict_dice_upto(strict_choice(STRICT_STALL))
               : 0;
}

void strict_stall(void)
{
    for (unsigned left = strict_stall_turns(); left > 0; left--)
        strict_pause();
}
