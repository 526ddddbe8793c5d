/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of calls, transfers and collective calls that wait for long. */
#ifndef AMG_RPC_HANG_H
#define AMG_RPC_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/status.h"
#include "mercury_types.h"

/* hang_walk.c: the walk along a chain of ranks that wait for each other, by the
 * rank that reports: state and decisions, without messages, locks and clocks.
 */

enum {
    AMG_HANG_CHAIN = 32, /* ranks of a report */
    AMG_HANG_CLAIMS = 8, /* claims that wait; further claims come again */
    AMG_HANG_KNOWN = 8,  /* results that are not reported again */
    AMG_HANG_PIECES = 5, /* messages of an answer */
    AMG_HANG_BYTES = 24, /* of the answer in each */
    AMG_HANG_ASKED = 3,  /* ranks that are asked about a silent one */
};

_Static_assert(AMG_HANG_PIECES *AMG_HANG_BYTES == sizeof(struct amg_doing),
    "an answer is a struct amg_doing");

/* Why a walk has ended. */
enum amg_hang_end {
    AMG_HANG_CIRCLE,  /* the last rank waits for chain[circle_at] */
    AMG_HANG_HANDLER, /* the last rank makes progress and waits for nobody */
    AMG_HANG_SILENT,  /* the last rank makes no progress, as its page says */
    AMG_HANG_DEAD,    /* the process of the last rank has ended */
    AMG_HANG_UNSEEN,  /* nobody tells about the rank `lost` */
    AMG_HANG_MOVES,   /* the last rank's own operation is not late */
    AMG_HANG_LONG,    /* there are more ranks than AMG_HANG_CHAIN */
    AMG_HANG_AWAIT,   /* all ranks wait in the collective call of the last */
};

/* Question to a rank about `about`; a message. */
struct amg_hang_ask {
    uint32_t from;   /* where the answer goes */
    uint32_t serial; /* of the question; late answers have another one */
    uint32_t about;
    uint32_t caller; /* and about its oldest call `call`; or NOBODY */
    uint64_t call;
};

/* A part of an answer; a message. */
struct amg_hang_piece {
    uint32_t serial, piece;
    unsigned char bytes[AMG_HANG_BYTES];
};

/* A finished walk. */
struct amg_hang_report {
    uint32_t number; /* of the report; counts from 1 */
    bool is_asked;   /* by a user */
    bool is_again;   /* the result is known: one line is enough */
    enum amg_hang_end end;
    uint32_t count, circle_at, lost;
    struct amg_doing chain[AMG_HANG_CHAIN];
};

/* A result that was reported. */
struct amg_hang_known {
    uint64_t key; /* 0: none */
    uint32_t number;
    uint64_t told_ns, wait_ns; /* not to be told again for that long */
};

/* A rank that waits. */
struct amg_hang_claimant {
    uint32_t rank;
    uint32_t is_asked; /* by a user: also what is not late is reported */
};

/* Guarded by its owner. All zeros but for the first two: no walk. */
struct amg_hang_walk {
    uint32_t size;    /* of the job */
    uint32_t late_ms; /* AMALGAM_HANG_S */
    struct amg_hang_claimant claims[AMG_HANG_CLAIMS];
    unsigned claim_count;
    bool is_walking;
    bool is_over; /* amg_hang_walk_take() gives the result */
    struct amg_hang_report result;
    struct amg_hang_ask ask;
    uint32_t to[AMG_HANG_ASKED]; /* who is to be asked */
    unsigned to_count, to_sent;
    bool is_by_others; /* others are asked about ask.about */
    bool is_checking;  /* the rank before the last is asked once more */
    bool is_closing;   /* a circle: the last rank's call is asked about */
    uint8_t awaited;   /* enum amg_await: ranks not in that call are sought */
    uint64_t check_ns; /* time of that question; 0: not set */
    uint64_t deadline_ns; /* of the answer */
    struct amg_doing answer;
    unsigned pieces;        /* of `answer`, by bits */
    uint32_t answer_serial; /* of the first piece */
    struct amg_hang_known known[AMG_HANG_KNOWN];
    uint32_t reports;
};

/* A rank has an operation that is late, or its user asks for a report. No
 * effect if its walk is due anyway. */
void amg_hang_walk_claim(
    struct amg_hang_walk *walk, uint32_t rank, bool is_asked);
/* Begins a walk, or goes on after a deadline. True: `ret_ask` is to be sent to
 * the rank `*ret_to`, which may be `me`; call again until false. */
bool amg_hang_walk_next(struct amg_hang_walk *walk, uint32_t me,
    uint64_t now_ns, struct amg_hang_ask *ret_ask, uint32_t *ret_to);
/* A piece of an answer has come. */
void amg_hang_walk_tell(
    struct amg_hang_walk *walk, const struct amg_hang_piece *piece);
/* Takes the result of a walk that has ended. False: none, or nothing that is to
 * be told now. */
bool amg_hang_walk_take(struct amg_hang_walk *walk, uint64_t now_ns,
    struct amg_hang_report *ret_report);

/* Is there anything to do? */
static inline bool amg_hang_walk_is_due(const struct amg_hang_walk *walk)
{
    return walk->is_walking || walk->is_over || walk->claim_count > 0;
}

/* The claim of this rank that it waits, until a reporter takes the claim. */
struct amg_hang_claim {
    uint64_t next_ns, wait_ns; /* of the next claim, and until the one after */
    uint64_t try_ns;           /* time to try the next reporter */
    unsigned tried;            /* reporters that were told */
    uint32_t serial;           /* of the claim */
    bool is_asked;             /* by a user */
    bool is_open;              /* no reporter has taken the claim yet */
};

/* State of a class; guarded by the lock. All zeros at first. */
struct amg_hang {
    struct amg_lock lock; /* NOTE(not a leaf): held while a tick looks */
    uint64_t late_ns;     /* AMALGAM_HANG_S; 0: nothing is reported. Constant */
    uint64_t next_ns;     /* of the next tick */
    void (*show)(void);   /* logs blocked threads; NULL: there are none */
    uint64_t show_ns;     /* not before that time */
    struct amg_hang_claim claim;
    struct amg_hang_walk walk; /* by this rank, as the reporter */
};

/* hang_look.c: what this rank does now, and the stage of its oldest call from
 * the rank `caller` to the RPC `call`; caller NOBODY: none. Operations from the
 * age `late_ms` on are late. By one thread at a time. */
void amg_hang_read(hg_class_t *cls, uint32_t late_ms, uint32_t caller,
    uint64_t call, struct amg_doing *ret_doing);

/* hang_report.c: writes a report to the log. */
void amg_hang_log(const hg_class_t *cls, const struct amg_hang_report *report);

void amg_hang_attach(hg_class_t *cls);
/* Lets each report in which this rank occurs also call `show`, which logs the
 * blocked threads of this process. */
void amg_hang_set_show(hg_class_t *cls, void (*show)(void));

/* Does what is due. By progress of context 0 in a tick, or in place of
 * progress that has stopped. */
void amg_hang_look(hg_context_t *context, uint64_t now_ns);
/* A control message has come; `kind`: enum amg_control. */
void amg_hang_told(hg_context_t *context, unsigned kind, const void *bytes);

#endif
