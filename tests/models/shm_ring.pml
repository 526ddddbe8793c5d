/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring and doorbells of shared memory between two processes: a sender fills a
 * ring of one or two cells and blocks when it is full; the receiver reads it and
 * blocks when it is empty. In each run one of them may die before any of its
 * steps, or the receiver closes its context, or its domain, between two polls.
 *
 *   step of the model      in the code
 *   post                   src/shm/shm_send.c:amg_shm_send_request,
 *                          request_link_locked
 *   push                   shm_ring.h:amg_shm_out_continue, amg_shm_out_push,
 *                          shm_send.c:cell_wake_locked
 *   room                   shm_ring.h:amg_shm_out_has_room,
 *                          shm_send.c:amg_shm_send_waiting_locked
 *   RAISE                  shm_link.c:context_raise, sleeper_claim
 *   sender: block          shm_ep.c:amg_shm_poll_arm, block_announce,
 *                          shm_deferred.c:amg_shm_send_ask_for_room_locked,
 *                          shm_ep.c:block_confirm; core/wakeup.c:
 *                          amg_wakeup_arm, amg_wakeup_block
 *   DISARM                 shm_ep.c:poll_disarm_locked
 *   receiver: events       shm_inring.c:amg_shm_inrings_events_locked,
 *                          slot_take_locked; shm_inbox.c:
 *                          amg_shm_inbox_activate
 *   cell, READ             shm_ring.h:amg_shm_in_has, amg_shm_in_continue,
 *                          amg_shm_in_pop; shm_msg.c:amg_shm_inring_report
 *   is_leaving             shm_inring.c:amg_shm_inrings_reap_locked
 *   receiver: block        shm_ep.c:amg_shm_poll_arm,
 *                          shm_inbox.c:amg_shm_inbox_prepare_block
 *   close                  shm_transport.c:close_tell_locked; shm_ep.c:
 *                          amg_shm_ep_close, poll_closed_locked;
 *                          shm_inbox.c:amg_shm_inbox_close_locked
 *   *_died                 shm_liveness.c:amg_shm_liveness_check_deaths_locked,
 *                          shm_inring.c:rings_check_locked
 *
 * Memory is that of weak_memory.inc: each load may return an old value. The
 * kernel makes the stores of a dead process visible before its pidfd is
 * readable.
 *
 * A step has loads, and then stores: as loads may return old values, and stores
 * may be seen late, this loses nothing. Loads that follow a store are the next
 * step.
 *
 * In the small form the ring has one cell, so that no message has two.
 *
 * In the code and not here: messages in msgbufs (their loan is one more word
 * with release and acquire), several rings and bits of slots (here an event is
 * for the one ring), amg_shm_inbox_prune (as amg_shm_inbox_prepare_block, but
 * does not block), doorbells that cannot be opened, a second sender, credits
 * (credits.pml), claims of slots (shm_pair.pml), contexts that open again. The
 * sender blocks only for lack of room; after the last look it goes on with what
 * found room, where the code blocks until a reply wakes it.
 *
 * FAULT_ACQUIRE     amg_shm_in_has loads relaxed
 * FAULT_LAST_POLL   the receiver does not look at the ring after it announced
 *                   that it blocks
 * FAULT_BARRIER     the receiver blocks after a fence of its own alone
 * FAULT_CONFIRM     the sender does not look for room after it asked for it
 * FAULT_CLOSE       inbox_close_locked ends without a barrier
 * FAULT_FORGOTTEN   a request waits for room also when the context is closed
 * FAULT_EARLY       the receiver reports a cell as read before it reads it */
#define N messages
#define CELLS cells_of_ring
#define REPORT CELLS /* cells between two stores of `consumed` */
byte messages, cells_of_ring;

/* Words of the shared segments. */
#define SEQ(c) (1 + (c))
#define BYTES(c) (3 + (c)) /* of a cell: number of its message, + MORE */
#define IS_FULL 5
#define POLL_STATE 6
#define CONSUMED 7
#define IS_OPEN 8
#define EVENTS 9 /* of the receiver's context */
#define SLEEP 10
#define CLAIM 11
#define IS_CLOSED 12 /* of the receiver's domain */
#define BACK_EVENTS 13 /* of the sender's context */
#define BACK_SLEEP 14
#define WORDS 14
#include "weak_memory.inc"

#define S 0 /* the sender, in `memory` */
#define R 1

#define MORE 16 /* the message continues in the next cell */

/* Values of words; 0 is the first state of each. */
#define DORMANT 1 /* 0: UNSEEN */
#define POLLED 2
#define CLOSED 3
#define CONTEXT_CLOSED 1
#define LEAVING 1
#define RINGS 1
#define PEERS 2
#define AWAKE 0
#define ASLEEP 1
#define WOKEN 2

mtype = { nothing, sender_dies, receiver_dies, context_closes, domain_closes };
mtype scene;
byte fifo, back_fifo;
bit has_membarrier;

/* What became of message k, bit k: for assertions alone. */
short handled, refused, told;
byte pushed; /* cells */
bit sender_died, receiver_died, is_gone, is_sent;

#define BIT(k) (1 << (k))
#define ALL (BIT(N + 1) - 2)

#include "doorbell.inc"

/* Before each step of the sender, or receiver. */
#define S_STEP                                                                 \
    if                                                                         \
    :: scene == sender_dies -> goto died                                       \
    :: true                                                                    \
    fi
#define R_STEP                                                                 \
    if                                                                         \
    :: scene == receiver_dies -> goto died                                     \
    :: true                                                                    \
    fi

proctype sender()
{
    byte k = 1, tail, room, due, seen, cells;
    bit has_posted; /* all, and the rest waits behind this one */

    room = CELLS;
post:
    do
    :: k > N -> break
    :: k <= N && has_posted -> goto again
    :: else ->
        atomic {
            S_STEP;
            LOAD(S, POLL_STATE, 0, seen);
            if
            :: seen == DORMANT || seen == POLLED
            :: else ->
                LOAD(S, IS_OPEN, 1, seen);
                if
                :: seen == CONTEXT_CLOSED ->
                    told = told | BIT(k);
                    k++;
                    seen = 0;
                    goto post
                :: else
                fi
            fi;
            seen = 0
        };
again:  atomic {
            S_STEP;
            if
            :: room == 0 ->
                LOAD(S, CONSUMED, 1, seen);
                room = CELLS - (tail - seen);
                seen = 0
            :: else
            fi;
            if
            :: room == 0 ->
#ifndef FAULT_FORGOTTEN
                LOAD(S, IS_OPEN, 1, seen);
                if
                :: seen == CONTEXT_CLOSED ->
                    told = told | BIT(k);
                    k++;
                    seen = 0;
                    goto post
                :: else
                fi;
#endif
                goto block
            :: else
            fi;
            /* push */
            cells = (k == 2 && room >= 2 -> 2 : 1); /* unreached */
            STORE(S, BYTES(tail % CELLS), k + (cells == 2 -> MORE : 0));
            if
            :: cells == 2 ->
                STORE(S, SEQ((tail + 1) % CELLS), tail + 2);
                STORE(S, BYTES((tail + 1) % CELLS), k)
            :: else
            fi;
            STORE_RELEASE(S, SEQ(tail % CELLS), tail + 1);
            tail = tail + cells;
            room = room - cells;
            pushed = pushed + cells;
            cells = 0;
            LIGHT_FENCE(S)
        };
        atomic {
            S_STEP;
            LOAD(S, POLL_STATE, 0, seen);
            if
            :: seen != POLLED -> RAISE_BEGIN(S, EVENTS, RINGS)
            :: else
            fi
        };
        if
        :: seen != POLLED ->
            RAISE_END(S, SLEEP, fifo, S_STEP);
            atomic {
                S_STEP;
                LOAD(S, IS_OPEN, 1, seen);
                if
                :: seen == CONTEXT_CLOSED ->
                    LOAD(S, CONSUMED, 1, seen);
                    told = told | (seen != tail -> BIT(k) : 0)
                :: else
                fi
            }
        :: else
        fi;
        atomic { seen = 0; k++ }
    od;
    is_sent = 1;
    atomic {
        (scene != nothing || handled == ALL); /* the peer answers */
        S_STEP;
        SEE_NEWEST(S, CLAIM);
        STORE_RELEASE(S, CLAIM, LEAVING);
        RAISE_BEGIN(S, EVENTS, RINGS)
    };
    RAISE_END(S, SLEEP, fifo, S_STEP);
    goto done;

block:
    atomic {
        S_STEP;
        has_posted = 1;
        STORE(S, IS_FULL, 1);
        STORE_RELEASE(S, BACK_SLEEP, ASLEEP);
        BARRIER(S)
    };
    atomic {
        S_STEP;
        LOAD(S, BACK_EVENTS, 0, seen);
        if
        :: seen != 0 -> goto disarm
        :: else
        fi;
#ifndef FAULT_CONFIRM
        LOAD(S, CONSUMED, 1, seen);
        room = CELLS - (tail - seen);
        seen = 0;
#ifndef FAULT_FORGOTTEN
        LOAD(S, IS_OPEN, 1, seen); /* as above, before it sleeps */
#endif
        if
        :: room > 0 || seen == CONTEXT_CLOSED -> seen = 0; goto disarm
        :: else
        fi
#endif
    };
    atomic { /* waits, as epoll does */
        if
        :: back_fifo > 0
        :: receiver_died -> is_gone = 1
        fi;
        S_STEP
    };
disarm:
    atomic { S_STEP; DISARM(S, BACK_SLEEP, back_fifo, due) };
    atomic {
        S_STEP;
        LOAD(S, BACK_EVENTS, 0, seen);
        if
        :: seen != 0 ->
            SEE_NEWEST(S, BACK_EVENTS);
            STORE_RELEASE(S, BACK_EVENTS, 0);
            LOAD(S, IS_CLOSED, 1, seen);
            is_gone = is_gone | seen;
            seen = 0
        :: else
        fi
    };
    if
    :: is_gone -> goto done
    :: else -> goto again
    fi;

died:
    atomic { k = 0; tail = 0; room = 0; due = 0; seen = 0; cells = 0;
        SEE_ALL(R); sender_died = 1 };
done:
    skip
}

/* Reads the bytes of the next message: whole, and of the right one. */
#define READ(set)                                                              \
    LOAD(R, BYTES(head % CELLS), 0, seen);                                     \
    cells = (seen & MORE -> 2 : 1);                                            \
    seen = seen & (MORE - 1);                                                  \
    assert(seen == next);                                                      \
    set = set | BIT(seen);                                                     \
    if                                                                         \
    :: cells == 2 ->                                                           \
        LOAD(R, BYTES((head + 1) % CELLS), 0, seen);                           \
        assert(seen == next)                                                   \
    :: else                                                                    \
    fi;                                                                        \
    next++;                                                                    \
    head = head + cells;                                                       \
    is_due = (head % REPORT < cells);                                          \
    seen = 0;                                                                  \
    cells = 0

/* Reports what was read; its caller has stored CONSUMED. */
#define REPORT_END(step)                                                       \
    atomic {                                                                   \
        step;                                                                  \
        LOAD(R, IS_FULL, 0, seen);                                             \
        if                                                                     \
        :: seen != 0 ->                                                        \
            STORE(R, IS_FULL, 0);                                              \
            RAISE_BEGIN(R, BACK_EVENTS, PEERS)                                 \
        :: else                                                                \
        fi                                                                     \
    };                                                                         \
    if                                                                         \
    :: seen != 0 -> RAISE_END(R, BACK_SLEEP, back_fifo, step)                  \
    :: else                                                                    \
    fi

#define IS_CLOSING (scene == context_closes || scene == domain_closes)

proctype receiver()
{
    byte head, next = 1, due, seen, cells;
    bit is_open, is_active, is_leaving, is_due;

poll:
    do
    :: IS_CLOSING -> goto close
    :: true ->
        /* events */
        atomic {
            R_STEP;
            LOAD(R, EVENTS, 0, seen);
            if
            :: seen != 0 -> SEE_NEWEST(R, EVENTS); STORE_RELEASE(R, EVENTS, 0)
            :: else
            fi
        };
        if
        :: seen != 0 ->
            atomic {
                R_STEP;
                LOAD(R, CLAIM, 1, seen);
                is_leaving = is_leaving | seen;
                seen = 0;
                is_open = 1;
                STORE(R, POLL_STATE, (is_active -> POLLED : DORMANT));
                is_active = 1
            }
        :: else
        fi;
        /* cell */
        atomic {
            R_STEP;
            if
            :: is_active -> LOAD(R, SEQ(head % CELLS),
#ifdef FAULT_ACQUIRE
                0,
#else
                1,
#endif
                seen)
            :: else
            fi;
            if
            :: is_active && seen == head + 1
            :: else ->
                seen = 0;
                if
                :: is_active && is_leaving ->
                    assert(head == pushed); /* the end is final */
                    goto done
                :: else -> goto block
                fi
            fi;
#ifdef FAULT_EARLY
            STORE_RELEASE(R, CONSUMED, head + 1)
        };
        atomic {
            R_STEP;
#endif
            READ(handled);
            if
            :: is_due -> STORE_RELEASE(R, CONSUMED, head); LIGHT_FENCE(R)
            :: else
            fi
        };
        if
        :: is_due -> is_due = 0; REPORT_END(R_STEP)
        :: else
        fi
    od;

block:
    atomic {
        R_STEP;
        STORE_RELEASE(R, SLEEP, ASLEEP);
        if
        :: is_active -> STORE_RELEASE(R, CONSUMED, head); LIGHT_FENCE(R)
        :: else
        fi
    };
    if
    :: is_active -> REPORT_END(R_STEP)
    :: else
    fi;
    atomic {
        R_STEP;
        seen = VIEW(R, POLL_STATE);
        if
        :: is_active -> STORE(R, POLL_STATE, DORMANT)
        :: else
        fi;
#ifndef FAULT_BARRIER
        if
        :: is_active && seen == POLLED -> BARRIER(R)
        :: else -> FENCE(R)
        fi;
#else
        FENCE(R);
#endif
        seen = 0
    };
    atomic {
        R_STEP;
#ifndef FAULT_LAST_POLL
        if
        :: is_active ->
            LOAD(R, SEQ(head % CELLS), 1, seen);
            if
            :: seen == head + 1 -> seen = 0; goto not_quiet
            :: else -> seen = 0
            fi
        :: else
        fi;
#endif
        LOAD(R, EVENTS, 0, seen);
        if
        :: seen != 0 -> seen = 0; goto not_quiet
        :: else
        fi;
        is_active = 0
    };
    atomic {
        if
        :: fifo > 0
        :: sender_died -> is_leaving = 1; is_active = is_open
        :: IS_CLOSING /* timeout */
        fi;
        R_STEP
    };
    atomic { R_STEP; DISARM(R, SLEEP, fifo, due) };
    if
    :: sender_died && !is_open -> goto done /* an unopened slot is freed */
    :: else -> goto poll
    fi;

not_quiet:
    atomic {
        R_STEP;
        if
        :: is_active -> STORE(R, POLL_STATE, POLLED)
        :: else
        fi;
        DISARM(R, SLEEP, fifo, due)
    };
    goto poll;

close:
    if
    :: is_open ->
        atomic { STORE_RELEASE(R, CONSUMED, head); LIGHT_FENCE(R) };
        REPORT_END(skip)
    :: else
    fi;
    atomic {
        STORE_RELEASE(R, IS_OPEN, CONTEXT_CLOSED);
        if
        :: is_open -> STORE(R, POLL_STATE, CLOSED); is_active = 1
        :: else
        fi;
#ifndef FAULT_CLOSE
        BARRIER(R)
#endif
    };
    atomic {
        LOAD(R, EVENTS, 0, seen);
        if
        :: seen != 0 ->
            SEE_NEWEST(R, EVENTS);
            STORE_RELEASE(R, EVENTS, 0);
            STORE(R, POLL_STATE, CLOSED);
            is_active = 1;
            seen = 0
        :: else
        fi
    };
    due = CELLS; /* no endless stream; the variable has no other use now */
    do
    :: is_active && due > 0 ->
        atomic {
            LOAD(R, SEQ(head % CELLS), 1, seen);
            if
            :: seen == head + 1
            :: else -> seen = 0; break
            fi;
            due--;
            READ(refused);
            if
            :: is_due -> STORE_RELEASE(R, CONSUMED, head); LIGHT_FENCE(R)
            :: else
            fi
        };
        if
        :: is_due -> is_due = 0; REPORT_END(skip)
        :: else
        fi
    :: else -> break
    od;
    if
    :: scene == domain_closes ->
        atomic { STORE_RELEASE(R, IS_CLOSED, 1);
            RAISE_BEGIN(R, BACK_EVENTS, PEERS) };
        RAISE_END(R, BACK_SLEEP, back_fifo, skip)
    :: else
    fi;
    goto done;

died:
    atomic { head = 0; next = 0; seen = 0; cells = 0; is_active = 0;
        is_leaving = 0; SEE_ALL(S); receiver_died = 1 };
done:
    atomic { due = 0; is_open = 0 }
}

init {
    atomic {
        if
        :: scene = nothing
#ifndef LTL /* the formula is for that alone */
        :: scene = sender_dies
        :: scene = receiver_dies
        :: scene = context_closes
        :: scene = domain_closes
#endif
        fi;
        has_membarrier = 1;
        cells_of_ring = 1;
#ifdef FAULT_FORGOTTEN
        messages = 3;
#else
        messages = (scene == nothing -> 3 : 2);
#endif
#ifdef FULL
        if
        :: messages = 3
        :: messages = 3; cells_of_ring = 2
        :: messages = 4
        fi;
        if
        :: true
        :: has_membarrier = 0
        fi;
#endif
        run sender();
        run receiver()
    };
    /* A process that waits for ever is an error by itself: its wait is no valid
     * end of it. */
    (_nr_pr == 1);
    /* Each message was handled, or its sender knows that it was not. */
    assert(sender_died || receiver_died || is_gone ||
           (handled | refused | told) == ALL);
    assert((handled & (refused | told)) == 0);
    assert(scene != nothing || handled == ALL)
}

/* What was sent is handled. */
ltl settled { [] ((is_sent && scene == nothing) -> <> (handled == ALL)) }
