/* SPDX-License-Identifier: BSD-3-Clause */
/* Two new senders of one context over shared memory: each claims a slot, writes
 * a cell, and sets the bit of its slot and the event of the context. The owner
 * of the context opens what the bits name, up to the end of the claimed slots.
 * The bits of both are in one word, so that the owner may take the second one by
 * the event of the first.
 *
 *   step of the model  in the code
 *   end                src/shm/shm_link.c:slot_claim,
 *                      shm_segment.h:amg_shm_end_raise
 *   claim              shm_link.c:link_claim_locked
 *   cell               shm_ring.h:amg_shm_out_push
 *   bit, event         shm_link.c:amg_shm_link_raise_locked, context_raise
 *   take               shm_inring.c:amg_shm_inrings_events_locked,
 *                      slots_take_locked
 *   open               shm_inring.c:slot_take_locked, slots_of_bit_take_locked
 *
 * Memory is that of weak_memory.inc, which has two processes; so one process
 * sends for both, in the order of their slots.
 *
 * In the code and not here: what the sleep of the owner does (shm_ring.pml), the
 * end of a slot (shm_pair.pml), slots whose bit is one bit, words of more bits, a
 * slot that cannot be opened at once, whose bit is set again.
 *
 * FAULT_END    the owner reads the end before the bits
 * FAULT_BIT    the bit is set relaxed
 * FAULT_CLAIM  the claim becomes live after the bit is set */
#define SENDERS 2

#define END 1
#define CLAIM(i) (1 + (i))
#define CELL(i) (3 + (i))
#define BITS 6
#define EVENTS 7
#define WORDS 7
#include "weak_memory.inc"

#define S 0
#define R 1
#define BIT(i) (1 << ((i)-1))
#define ALL (BIT(SENDERS + 1) - 1)

byte opened; /* slots, as bits: for assertions alone */
bit has_sent;

inline claim_live(i)
{
    STORE_RELEASE(S, CLAIM(i), 1)
}

proctype senders()
{
    byte i = 1;

    do
    :: i <= SENDERS ->
        atomic { SEE_NEWEST(S, END); STORE_RELEASE(S, END, i) };
#ifndef FAULT_CLAIM
        claim_live(i);
#endif
        STORE_RELEASE(S, CELL(i), 1);
#ifdef FAULT_BIT
        atomic { SEE_NEWEST(S, BITS); STORE(S, BITS, VIEW(S, BITS) | BIT(i)) };
#else
        atomic {
            SEE_NEWEST(S, BITS);
            STORE_RELEASE(S, BITS, VIEW(S, BITS) | BIT(i))
        };
#endif
#ifdef FAULT_CLAIM
        claim_live(i);
#endif
        atomic { SEE_NEWEST(S, EVENTS); STORE_RELEASE(S, EVENTS, 1) };
        i++
    :: else -> break
    od;
    has_sent = 1
}

inline slot_take(i)
{
    if
    :: (bits & BIT(i)) != 0 && i <= end ->
        atomic { LOAD(R, CLAIM(i), 1, seen) };
        if
        :: seen == 1 -> /* the ring has its cell: the bit was set for that */
            atomic { LOAD(R, CELL(i), 1, seen) };
            assert(seen == 1);
            opened = opened | BIT(i) /* reached */
        :: else
        fi
    :: else
    fi
}

proctype owner()
{
    byte seen, bits, end;

idle:
    do
    :: atomic {
           (HAS_UNSEEN(R, EVENTS) || VIEW(R, EVENTS) != 0) ->
           SEE_NEWEST(R, EVENTS);
           STORE_RELEASE(R, EVENTS, 0)
       };
#ifdef FAULT_END
       atomic { LOAD(R, END, 1, end) };
#endif
       atomic { LOAD(R, BITS, 0, seen) };
       if
       :: seen != 0 ->
           atomic {
               SEE_NEWEST(R, BITS);
               bits = VIEW(R, BITS);
               STORE(R, BITS, 0)
           };
#ifndef FAULT_END
           atomic { LOAD(R, END, 1, end) };
#endif
           slot_take(1);
           slot_take(2);
           bits = 0;
           end = 0
       :: else /* reached */
       fi;
       seen = 0
    :: timeout -> break
    od;
    assert(has_sent && opened == ALL)
}

init {
    atomic {
        run senders();
        run owner()
    }
}

/* opens: weak fairness */
ltl opens { <> [] (opened == ALL) }
