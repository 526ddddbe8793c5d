/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace of this process: rings of its threads, and the thread that writes them.
 *
 * A ring has one writer, its thread, and one reader, the drain. The thread
 * stores `head` (release) behind an event, and reads `tail` (acquire) before it
 * overwrites an older event; the drain stores `tail` behind its write. A full
 * ring loses the new event, and counts it. A thread wakes the drain once per
 * half ring; else the drain looks every PERIOD_NS.
 *
 * The file is appended to, by one write per chunk, and not mapped: in a mapped
 * file the page faults and the write-back would stop the threads that are
 * traced (on a parallel file system for milliseconds), and a full disk would
 * end the process by SIGBUS. A killed process loses only what its rings held,
 * 10 ms or less; the chunk in which the file ends is read up to its last whole
 * event. Only the drain writes, also the notes. */
#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"

#define PERIOD_NS (10 * AMG_NS_PER_MS)

enum {
    NOTES_CAP = 1 << 16, /* bytes of all notes; further ones are dropped */
    NOTE_CAP = 512,
    TEXT_PER_EVENT = 3 * sizeof(uint64_t),
};

/* A ring is not freed, but serves a later thread: its thread ends it (release),
 * then the drain, which has read all events, frees it (release). */
enum ring_state { RING_USED, RING_ENDED, RING_FREE };

struct ring {
    struct ring *next; /* in `rings` */
    uint32_t tid;
    char name[16]; /* of the thread */
    _Atomic(enum ring_state) state;
    atomic_uint head; /* events so far; see the first comment */
    char apart[64];   /* two threads write the words around it */
    atomic_uint tail; /* events that the drain has read */
    struct amg_trace_event events[AMG_TRACE_RING];
};

atomic_int amg_trace_level;
atomic_bool amg_trace_has_tsc;

static _Thread_local struct ring *mine
    __attribute__((tls_model("initial-exec")));
static _Atomic(struct ring *) rings; /* publishes new rings: release, acquire */
static atomic_uint_fast64_t lost;    /* events; relaxed */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;

static struct amg_lock start_lock AMG_LOCK_KEPT; /* guards start and stop */
static pthread_t drain;
static atomic_uint drain_word; /* the drain sleeps on it; bit 0: must end */

static struct amg_lock lock AMG_LOCK_KEPT; /* guards adding notes, rings */
static char notes[NOTES_CAP];              /* each ends with NUL */
static atomic_size_t notes_len; /* publishes the bytes below: release */

/* The drain's, while it runs. */
static struct {
    int fd;    /* -1: no trace */
    int error; /* of the first failed write; nothing is written after that */
    uint64_t len;
    uint64_t cap;
    size_t notes_len; /* of `notes`, in the file */
} file = {.fd = -1};

void amg_trace_note(const char *format, ...)
{
    char text[NOTE_CAP];
    size_t at = 0;
    size_t len = 0;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    amg_lock_lock(&lock);
    len = atomic_load_explicit(&notes_len, memory_order_relaxed);
    while (at < len && strcmp(&notes[at], text) != 0)
        at += strlen(&notes[at]) + 1;
    if (at == len && strlen(text) < NOTES_CAP - at) {
        strcpy(&notes[at], text);
        atomic_store_explicit(
            &notes_len, at + strlen(text) + 1, memory_order_release);
    }
    amg_lock_unlock(&lock);
}

static void ring_leave(void *arg)
{
    struct ring *ring = arg;

    mine = NULL;
    atomic_store_explicit(&ring->state, RING_ENDED, memory_order_release);
}

/* Gives the calling thread a ring. NULL: no memory. */
AMG_NOINLINE static struct ring *ring_make(void)
{
    struct ring *ring = NULL;

    amg_lock_lock(&lock);
    ring = atomic_load_explicit(&rings, memory_order_relaxed);
    while (ring != NULL && atomic_load_explicit(
                               &ring->state, memory_order_acquire) != RING_FREE)
        ring = ring->next;
    if (ring == NULL && (ring = amg_mem_zalloc(sizeof(*ring))) != NULL) {
        ring->next = atomic_load_explicit(&rings, memory_order_relaxed);
        atomic_store_explicit(&rings, ring, memory_order_release);
    }
    if (ring != NULL) {
        ring->tid = (uint32_t)syscall(SYS_gettid);
        (void)pthread_getname_np(
            pthread_self(), ring->name, sizeof(ring->name));
        (void)pthread_setspecific(thread_end, ring);
        atomic_store_explicit(&ring->state, RING_USED, memory_order_relaxed);
    }
    amg_lock_unlock(&lock);
    return mine = ring;
}

static void drain_wake(unsigned add)
{
    atomic_fetch_add_explicit(&drain_word, add, memory_order_release);
    amg_futex_wake(&drain_word, 1);
}

void amg_trace_put(const struct amg_trace_event *event)
{
    struct ring *ring = AMG_LIKELY(mine != NULL) ? mine : ring_make();
    unsigned head = 0;

    if (ring != NULL)
        head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (ring == NULL || !AMG_LIKELY(head - atomic_load_explicit(&ring->tail,
                                               memory_order_acquire) <
                                    AMG_TRACE_RING)) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
        return;
    }
    ring->events[head % AMG_TRACE_RING] = *event;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    if (!AMG_LIKELY((head + 1) % (AMG_TRACE_RING / 2) != 0))
        drain_wake(2);
}

void amg_trace_add(
    enum amg_trace_kind kind, uint64_t id, uint64_t arg, uint64_t len)
{
    amg_trace_put(&(struct amg_trace_event){.ticks = amg_trace_ticks(),
        .kind = (uint8_t)kind,
        .id = id,
        .arg = arg,
        .len = len});
}

void amg_trace_mark(const char *text)
{
    struct amg_trace_event event = {.kind = AMG_TRACE_MARK, .flags = 1};
    char words[AMG_TRACE_MARK_CAP] = {0};
    size_t at = 0;

    if (!amg_trace_has(AMALGAM_TRACE_CALLS))
        return;
    memcpy(words, text, strnlen(text, sizeof(words)));
    event.ticks = amg_trace_ticks();
    for (; event.flags != 0; at += TEXT_PER_EVENT) {
        memcpy(&event.id, &words[at], TEXT_PER_EVENT);
        event.flags = at + TEXT_PER_EVENT < sizeof(words) &&
                      words[at + TEXT_PER_EVENT] != '\0';
        amg_trace_put(&event);
    }
}

/* Appends a chunk of payload in two pieces. False: not written, by an error. */
static bool chunk_write(struct amg_trace_chunk *chunk, const void *one,
    size_t one_len, const void *other, size_t other_len)
{
    struct iovec parts[3] = {{chunk, sizeof(*chunk)}, {(void *)one, one_len},
        {(void *)other, other_len}};
    size_t len = sizeof(*chunk) + one_len + other_len;
    ssize_t done = 0;

    if (file.error != 0)
        return false;
    chunk->magic = AMG_TRACE_CHUNK;
    chunk->len = one_len + other_len;
    chunk->lost = atomic_load_explicit(&lost, memory_order_relaxed);
    done = writev(file.fd, parts, 3);
    if (done != (ssize_t)len)
        file.error = done < 0 ? errno : ENOSPC;
    file.len += len;
    return file.error == 0;
}

/* The first of `count` events that the file has room for. If it has not room
 * for all, no later events are written: a file keeps the oldest. */
static unsigned events_fit(unsigned count)
{
    uint64_t used = file.len + sizeof(struct amg_trace_chunk);
    uint64_t room = file.cap > used ? file.cap - used : 0;

    if (count * sizeof(struct amg_trace_event) <= room)
        return count;
    file.cap = 0;
    return (unsigned)(room / sizeof(struct amg_trace_event));
}

/* Writes what is in the ring, whose thread may be a new one if it has events.
 */
static void ring_drain(struct ring *ring, struct amg_trace_chunk *chunk)
{
    enum ring_state state =
        atomic_load_explicit(&ring->state, memory_order_acquire);
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    unsigned count =
        atomic_load_explicit(&ring->head, memory_order_acquire) - tail;
    unsigned at = tail % AMG_TRACE_RING;
    unsigned fit = events_fit(count);
    unsigned one = fit < AMG_TRACE_RING - at ? fit : AMG_TRACE_RING - at;

    if (count > 0) {
        chunk->thread = ring->tid;
        memcpy(chunk->name, ring->name, sizeof(chunk->name));
        if (fit > 0 &&
            !chunk_write(chunk, &ring->events[at], one * sizeof(*ring->events),
                ring->events, (fit - one) * sizeof(*ring->events)))
            fit = 0;
        atomic_fetch_add_explicit(&lost, count - fit, memory_order_relaxed);
        atomic_store_explicit(&ring->tail, tail + count, memory_order_release);
    }
    if (state == RING_ENDED)
        atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
}

/* Sets the time of a chunk, and writes it with the notes that are new. */
static void notes_drain(struct amg_trace_chunk *chunk, bool must_write)
{
    size_t len = atomic_load_explicit(&notes_len, memory_order_acquire);

    chunk->ticks_error = UINT64_MAX;
    for (int i = 0; i < 4; i++) { /* some may be interrupted */
        uint64_t before = amg_trace_ticks();
        uint64_t ns = amg_clock_ns();
        uint64_t error = (amg_trace_ticks() - before) / 2 + 1;

        if (error < chunk->ticks_error) {
            chunk->ticks = before + error;
            chunk->ticks_error = error;
            chunk->ns = ns;
        }
    }
    chunk->thread = 0;
    if (len > file.notes_len || must_write)
        (void)chunk_write(
            chunk, &notes[file.notes_len], len - file.notes_len, NULL, 0);
    file.notes_len = len;
}

/* The thread that writes notes and rings. */
static void *drain_main(void *arg)
{
    struct amg_trace_chunk chunk = {0};
    unsigned word = 0;

    (void)arg;
    do {
        struct ring *ring = NULL;

        AMG_TEST_POINT("trace.drain");
        word = atomic_load_explicit(&drain_word, memory_order_acquire);
        notes_drain(&chunk, false);
        ring = atomic_load_explicit(&rings, memory_order_acquire);
        for (; ring != NULL; ring = ring->next)
            ring_drain(ring, &chunk);
        if ((word & 1) == 0)
            (void)amg_futex_wait_until(
                &drain_word, word, amg_clock_ns() + PERIOD_NS);
    } while ((word & 1) == 0);
    notes_drain(&chunk, true); /* with the number of lost events */
    return NULL;
}

/* A child of fork() has no drain, and must not write into the file. */
static void child_forget(void)
{
    atomic_store_explicit(&amg_trace_level, 0, memory_order_relaxed);
    if (file.fd >= 0)
        close(file.fd);
    file.fd = -1;
}

static void exit_stop(void)
{
    if (atomic_load_explicit(&amg_trace_level, memory_order_relaxed) > 0)
        (void)amalgam_trace_stop();
}

static void first_start(void)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;

    /* Invariant TSC: Intel SDM volume 3, 18.17.1; AMD APM volume 3, E.4. */
    atomic_store_explicit(&amg_trace_has_tsc,
        __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0,
        memory_order_relaxed);
#endif
    (void)pthread_key_create(&thread_end, ring_leave);
    amg_fork_watch();
    amg_fork_tell(NULL, NULL, child_forget);
    (void)atexit(exit_stop);
}

/* Creates the file. HG_NOENTRY: the log has the cause. */
static hg_return_t file_open(const char *folder)
{
    static unsigned serial;
    struct amg_trace_chunk chunk = {0};
    struct timespec now;
    char host[64] = "host";
    char path[4096];
    int fd = -1;

    clock_gettime(CLOCK_REALTIME, &now);
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(path, sizeof(path), "%s/%s.%d.%u.amgtrace", folder, host,
        (int)getpid(), ++serial);
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        fd = open(
            path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        AMG_LOG_ERROR(
            "cls", "the trace %s cannot be created: %s", path, strerror(errno));
        return HG_NOENTRY;
    }
    amg_trace_note("process %d %" PRIu64 " %s", (int)getpid(),
        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, host);
    file.fd = fd;
    file.error = 0;
    file.len = file.notes_len = 0;
    file.cap = amg_env_number(AMG_ENV_TRACE_BYTES);
    atomic_store_explicit(&lost, 0, memory_order_relaxed);
    notes_drain(&chunk, true); /* no event is older */
    return HG_SUCCESS;
}

hg_return_t amg_trace_start(const char *folder, int level)
{
    hg_return_t rc = HG_BUSY;
    sigset_t all;
    sigset_t was;

    (void)pthread_once(&once, first_start);
    sigfillset(&all);
    amg_lock_lock(&start_lock);
    if (!amg_trace_has(AMALGAM_TRACE_CALLS))
        rc = file_open(folder);
    if (rc == HG_SUCCESS) {
        pthread_sigmask(SIG_SETMASK, &all, &was); /* the drain gets none */
        atomic_store_explicit(&drain_word, 0, memory_order_relaxed);
        if (pthread_create(&drain, NULL, drain_main, NULL) == 0) {
            atomic_store_explicit(
                &amg_trace_level, level, memory_order_relaxed);
        } else {
            child_forget();
            rc = HG_NOMEM;
        }
        pthread_sigmask(SIG_SETMASK, &was, NULL);
    }
    amg_lock_unlock(&start_lock);
    return rc;
}

hg_return_t amalgam_trace_stop(void)
{
    uint64_t missed = 0;
    int error = 0;

    amg_lock_lock(&start_lock);
    if (!amg_trace_has(AMALGAM_TRACE_CALLS)) {
        amg_lock_unlock(&start_lock);
        return HG_NOENTRY;
    }
    atomic_store_explicit(&amg_trace_level, 0, memory_order_relaxed);
    drain_wake(1);
    (void)pthread_join(drain, NULL);
    missed = atomic_load_explicit(&lost, memory_order_relaxed);
    error = file.error;
    child_forget();
    amg_lock_unlock(&start_lock);
    if (missed > 0)
        AMG_LOG_WARNING("cls",
            "the trace of this process lacks %" PRIu64 " events: %s", missed,
            error != 0 ? strerror(error)
                       : "a ring was full, or the file has reached "
                         "AMALGAM_TRACE_BYTES");
    return error != 0 ? HG_NOMEM : HG_SUCCESS;
}

void amg_trace_start_by_env(void)
{
    static atomic_flag was_read = ATOMIC_FLAG_INIT;
    const char *folder = amg_env_text(AMG_ENV_TRACE);

    if (folder != NULL &&
        !atomic_flag_test_and_set_explicit(&was_read, memory_order_relaxed))
        (void)amg_trace_start(folder, (int)amg_env_number(AMG_ENV_TRACE_LEVEL));
}
