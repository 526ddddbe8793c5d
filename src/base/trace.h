/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace of this process: its events, and the form of its file.
 *
 * A file is a sequence of chunks: a head and, of `len` bytes, a payload, which
 * is events of one thread in order of time, or notes. A note is a line of text
 * that ends with NUL. Numbers are in the byte order of the machine.
 *
 *   note                     meaning
 *   process PID NS HOST      NS: of CLOCK_REALTIME at the first chunk
 *   job RANK SIZE FIRST      rank, ranks of the job, first rank of the node
 *   self NUMBER ADDRESS      number of this process in events of its peers
 *   rpc ID NAME              the name of an RPC
 *
 * Events have ticks of amg_trace_ticks(), and each chunk has the time of
 * amg_clock_ns() at some ticks. */
#ifndef AMG_BASE_TRACE_H
#define AMG_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "amalgam_trace.h"
#include "base/assert.h"
#include "base/clock.h"

enum {
    AMG_TRACE_CHUNK = 0x32474d41, /* "AMG2", the version of the form */
    AMG_TRACE_RING = 1 << 15,     /* events of a ring: 1.3 MiB */
    AMG_TRACE_MARK_CAP = 240,     /* bytes of a mark */
};

/* `peer` and `medium` are set for REQUEST, ARRIVED and ANSWER. */
enum amg_trace_kind {
    AMG_TRACE_NONE,
    AMG_TRACE_REQUEST, /* id: operation or 0; arg: RPC; flags: header's */
    AMG_TRACE_DONE,    /* id: operation; arg: token; flags: return code */
    AMG_TRACE_ARRIVED, /* id: arrival; arg: RPC; len: token; flags: header's */
    AMG_TRACE_BEGIN,   /* a handler begins; id: handle or arrival; arg: RPC;
                        * len: arrival, or 0 */
    AMG_TRACE_END,     /* the handler returned; id: as BEGIN */
    AMG_TRACE_ANSWER,  /* id: arrival; flags: return code */
    AMG_TRACE_PUT,     /* id: operation; arg: medium; len */
    AMG_TRACE_GET,     /* id: operation; arg: medium; len */
    AMG_TRACE_TASK,    /* a handler's ULT begins; id: handle */
    AMG_TRACE_TASK_END,
    AMG_TRACE_MARK, /* 24 bytes of text in id, arg, len; flags: 1: goes on */
    AMG_TRACE_WAIT, /* the program waits; arg: enum amg_await */
    AMG_TRACE_WAIT_END,
    AMG_TRACE_SLEEP, /* the thread blocks */
    AMG_TRACE_SLEEP_END,
    AMG_TRACE_ULT,   /* id: the ULT that runs now; arg: the one before; len: 1:
                      * the one that runs is a scheduler */
    AMG_TRACE_CLOCK, /* amg_clock_ns() here (id), then at rank 0 (arg), then
                      * here (len) */
    AMG_TRACE_KINDS
};

struct amg_trace_event {
    uint64_t ticks;
    uint8_t kind;
    uint8_t flags;
    uint16_t medium; /* first letter of the transport's name */
    uint32_t peer;   /* a hash of its address */
    uint64_t id;
    uint64_t arg;
    uint64_t len;
};

struct amg_trace_chunk {
    uint32_t magic;
    uint32_t thread; /* of gettid(); 0: notes */
    uint64_t len;    /* bytes of the payload */
    uint64_t lost;   /* events of the process that were lost so far */
    uint64_t ns;
    uint64_t ticks; /* at `ns`, with an error of at most `ticks_error` */
    uint64_t ticks_error;
    char name[16]; /* of the thread */
};

/* 0: no trace. Publishes nothing: relaxed. */
extern atomic_int amg_trace_level __attribute__((visibility("hidden")));
/* Do all cores have one constant TSC? Relaxed: stored before the level, in
 * which order other cores of an x86 see both. */
extern atomic_bool amg_trace_has_tsc __attribute__((visibility("hidden")));

static inline bool amg_trace_has(int level)
{
    return !AMG_LIKELY(
        atomic_load_explicit(&amg_trace_level, memory_order_relaxed) < level);
}

/* Time in ticks, which take a third of amg_clock_ns(). */
static inline uint64_t amg_trace_ticks(void)
{
#if defined(__x86_64__)
    if (AMG_LIKELY(
            atomic_load_explicit(&amg_trace_has_tsc, memory_order_relaxed)))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks = 0;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
    return amg_clock_ns();
}

/* Adds an event of the calling thread; a trace runs. Never blocks; the first
 * event of a thread allocates its ring. */
void amg_trace_put(const struct amg_trace_event *event);

/* amg_trace_put() of an event of now, without a peer. */
void amg_trace_add(
    enum amg_trace_kind kind, uint64_t id, uint64_t arg, uint64_t len);

/* amg_trace_add(), if the trace has the level. */
static inline void amg_trace_at(int level, enum amg_trace_kind kind,
    const void *id, uint64_t arg, uint64_t len)
{
    if (amg_trace_has(level))
        amg_trace_add(kind, (uintptr_t)id, arg, len);
}

/* amalgam_trace_mark() without the status page. */
void amg_trace_mark(const char *text);

/* Adds a note to this trace and later ones, unless the note is there already.
 * Does not wait for I/O. */
void amg_trace_note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* amalgam_trace_start() without the open contexts. */
hg_return_t amg_trace_start(const char *folder, int level);

/* Starts a trace if AMALGAM_TRACE says so; later calls have no effect. */
void amg_trace_start_by_env(void);

#endif
