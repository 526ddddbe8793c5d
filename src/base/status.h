/* SPDX-License-Identifier: BSD-3-Clause */
/* Status page of the process, for readers of the same user and pid namespace.
 *
 * The page is a memory file (memfd) that a reader finds by the pid, in
 * /proc/PID/fd. So the page has no name that a killed process would leave.
 *
 * Each open class has a part of the page. Writers store single words at no
 * cost, and the facts of amg_status_write() some times a second. Writers of a
 * class without a part, as no page can be made or AMG_STATUS_CLASSES others are
 * open, use a part that nobody reads. */
#ifndef AMG_BASE_STATUS_H
#define AMG_BASE_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "mercury_core_types.h"

enum {
    AMG_STATUS_VERSION = 1,
    AMG_STATUS_CLASSES = 4,
    AMG_STATUS_COUNTERS = 40,
    AMG_STATUS_NAME_CAP = 40,
};

#define AMG_STATUS_NOBODY UINT32_MAX /* no rank */

/* Kinds of waits of the program, in a call of the library. */
enum amg_await {
    AMG_AWAIT_NONE,
    AMG_AWAIT_BARRIER,
    AMG_AWAIT_QUIESCE,
    AMG_AWAIT_FINALIZE,
    AMG_AWAIT_MARGO_FINALIZE,
    AMG_AWAIT_MPI_REQUEST,
    AMG_AWAITS
};

/* How far a call or transfer has come. */
enum amg_stage {
    AMG_STAGE_NONE,    /* no such call or transfer */
    AMG_STAGE_CREDIT,  /* waits for a credit of the target */
    AMG_STAGE_ROOM,    /* waits for room in the transport */
    AMG_STAGE_CONNECT, /* waits for a connection */
    AMG_STAGE_SENT,    /* sent; the target has not seen it */
    AMG_STAGE_PULLING, /* the target pulls the arguments */
    AMG_STAGE_QUEUED,  /* queued at the target */
    AMG_STAGE_RUNS,    /* the handler runs, or has not answered */
    AMG_STAGE_ANSWER,  /* the origin pulls the answer */
    AMG_STAGE_MOVES,   /* a transfer */
    AMG_STAGE_UNSEEN,  /* sent; the target does not tell */
    AMG_STAGES
};

/* The source of the facts about a rank, and what else is known. */
enum amg_doing_from {
    AMG_FROM_ITSELF = 0,
    AMG_FROM_PAGE = 1, /* a process of the node, which reads the page */
    AMG_FROM_DEAD = 2, /* the process has died */
    AMG_FROM_LEFT = 4, /* the class has closed */
};

/* Work and waits of a rank: plain numbers, which messages carry, too. */
struct amg_doing {
    uint32_t rank, pid;
    uint32_t idle_ms;    /* since its last progress */
    uint8_t wait;        /* enum amg_await */
    uint8_t stage;       /* enum amg_stage, of `to` */
    uint8_t call_stage;  /* answers only: of the call that was asked about */
    uint8_t from;        /* bits of enum amg_doing_from */
    uint32_t wait_ms;    /* age of `wait` */
    uint32_t call_ms;    /* answers only: age of `call_stage` */
    uint16_t running;    /* calls of peers in handlers */
    uint16_t queued;     /* calls of peers that have not begun */
    uint32_t handler_ms; /* age of the oldest handler */
    uint64_t handler;    /* RPC id of that handler; 0: none */
    uint32_t to;         /* peer of the oldest operation in flight, or NOBODY */
    uint32_t to_ms;      /* age of that operation */
    uint64_t to_call;    /* RPC id of that operation; 0: a transfer */
    uint32_t more;       /* further operations that are as late */
    char state; /* of /proc/PID/stat, by a reader of the page; 0: unknown */
    uint8_t is_served; /* the operation to `to` was begun in a handler */
    uint16_t waiting; /* requests to `to` that wait here for a credit or room */
    char mark[32];    /* the last mark of the program, or "" */
    char host[20];
};

_Static_assert(sizeof(struct amg_doing) == 120, "part of messages");

/* The part of a class. */
struct amg_status_class {
    _Atomic uint32_t serial; /* odd: `doing`, `counters`, names change */
    _Atomic uint32_t is_open;
    _Atomic uint32_t has_left; /* all peers agreed: an end now is no death */
    uint32_t rank, size;       /* size 0: no job */
    _Atomic uint32_t asked;    /* by amalgam_hang: report at the next tick */
    uint64_t job; /* equal for the ranks of a job on this node; 0: unknown */
    /* Time of amg_clock_ns() at the last progress. Hints of the owner: relaxed,
     * as the words below. */
    _Atomic uint64_t progress_ns;
    /* RPC id of the handler that began last; 0: that handler has returned. */
    _Atomic uint64_t handler;
    /* The wait that began first: amg_await << 56 | begin, in ms; 0: none.
     */
    _Atomic uint64_t wait;
    /* Written by amg_status_write(): */
    _Atomic uint64_t doing_ns; /* time of `doing`; 0: never */
    struct amg_doing doing;
    uint64_t counters[AMG_STATUS_COUNTERS]; /* by enum amg_counter */
    char names[2][AMG_STATUS_NAME_CAP]; /* of doing.handler, doing.to_call */
    char reach[96];
};

struct amg_status {
    uint64_t magic;
    uint32_t version, len;
    uint32_t pid;
    _Atomic uint32_t counters; /* how many of the counters are in use */
    uint64_t start_time;       /* of amg_process_start() */
    uint64_t opened_ns;        /* by amg_clock_ns() */
    char host[64], program[64];
    _Atomic uint64_t mark_ns; /* 0: no mark */
    char mark[64]; /* the last mark; torn when a reader meets its writer */
    struct amg_status_class classes[AMG_STATUS_CLASSES];
};

_Static_assert(sizeof(struct amg_status) <= 4096, "one page");

/* The part of no class: nobody reads it. Never NULL. */
struct amg_status_class *amg_status_none(void);

/* Takes a part for a class that opens; the first call makes the page. `size` 0:
 * no job. Returns amg_status_none() where there is no part. */
struct amg_status_class *amg_status_open(
    uint32_t rank, uint32_t size, uint64_t job, const char *reach);
/* The class has ended for its peers, so the end of the process is no death. */
static inline void amg_status_leave(struct amg_status_class *part)
{
    atomic_store_explicit(&part->has_left, 1u, memory_order_release);
}

/* Gives the part back, and ends its wait; accepts amg_status_none(). */
void amg_status_close(struct amg_status_class *part);

/* Called in a child of fork(): the page of the parent becomes private memory of
 * the child, whose own classes get another page. */
void amg_status_inherit(void);

/* Stores the program's mark, cut to 63 bytes; any thread. No effect before the
 * first class opens. */
void amg_status_mark(const char *text);

/* The calling thread has made progress at `now_ns`. */
static inline void amg_status_stamp(
    struct amg_status_class *part, uint64_t now_ns)
{
    atomic_store_explicit(&part->progress_ns, now_ns, memory_order_relaxed);
}

/* The handler of an RPC begins; 0: the handler returned. */
static inline void amg_status_run(struct amg_status_class *part, uint64_t id)
{
    atomic_store_explicit(&part->handler, id, memory_order_relaxed);
}

/* Shows a wait of the program, also in the trace, until amg_status_waited()
 * with the result. Waits that begin within another wait, or in another thread
 * meanwhile, are in the trace only. */
uint64_t amg_status_wait(struct amg_status_class *part, enum amg_await kind);
void amg_status_waited(struct amg_status_class *part, uint64_t word);

/* Facts that are written, and read, as a whole. */
struct amg_status_facts {
    struct amg_doing doing;
    uint64_t counters[AMG_STATUS_COUNTERS];
    char names[2][AMG_STATUS_NAME_CAP];
};

/* Writes those facts of a part that are not NULL: `doing`, the first `count`
 * counters, the names of doing->handler and doing->to_call. Does nothing while
 * another thread writes. The ages in `doing` grow until the next write, so the
 * last write before a pause of the writer has `to` NOBODY. */
void amg_status_write(struct amg_status_class *part, uint64_t now_ns,
    const struct amg_doing *doing, const uint64_t *counters, unsigned count,
    const char *const names[2]);

/* Maps the page of a process, until amg_status_drop(). `start_time` 0: unknown.
 * HG_NOENTRY: no such process, or it has no page; HG_PERMISSION: the process is
 * of another user; HG_PROTONOSUPPORT: its library has another version. */
hg_return_t amg_status_find(
    uint32_t pid, uint64_t start_time, struct amg_status **ret_page);
void amg_status_drop(struct amg_status *status);

/* The facts of class `i` of a page, where `doing` is of now: its ages, `wait`,
 * `mark`, `host`, `state`, and `handler`, if one runs. False: the class is not
 * open, or its writer stopped amid a write. */
bool amg_status_read(const struct amg_status *page, unsigned i,
    struct amg_status_facts *ret_facts);

/* Adds to what this process tells of a class: pid, host, mark, progress, wait.
 */
void amg_doing_complete(
    const struct amg_status_class *part, struct amg_doing *doing);

/* "amalgam_barrier()"; "" for AMG_AWAIT_NONE. */
const char *amg_await_text(enum amg_await kind);
/* The end of a sentence about a call: "is queued there". */
const char *amg_stage_text(enum amg_stage stage);

enum { AMG_DOING_TEXT_CAP = 384 };

/* Write the end of a sentence whose subject is the rank. `name` is that of
 * doing->to_call, or of doing->handler; "": unknown, the id is written. Return
 * `ret_text`.
 *   waits: waits for rank 2: its call of "swap", 60 s old, is queued there
 *          ("" if the rank waits for nobody)
 *   state: made progress 0.0 s ago; runs 1 handler, "swap" for 60 s; ... */
const char *amg_doing_waits(const struct amg_doing *doing, const char *name,
    char ret_text[AMG_DOING_TEXT_CAP]);
const char *amg_doing_state(const struct amg_doing *doing, const char *name,
    char ret_text[AMG_DOING_TEXT_CAP]);

#endif
