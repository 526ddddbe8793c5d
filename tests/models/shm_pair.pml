/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact and end of a pair over shared memory: a sender claims a slot in
 * the segment of a receiver, sends one request by it, and leaves; the receiver
 * opens the slot, or refuses the sender, reads, frees the slot, and may close
 * its domain at any time. A second sender waits for the same slot. Each sender
 * may die before any of its steps.
 *
 *   step of the model   in the code
 *   look                src/shm/shm_link.c:amg_shm_link_open_locked
 *   claim, name, live   shm_link.c:slot_claim, link_claim_locked
 *   push, raise         shm_send.c:cell_wake_locked (shm_ring.pml)
 *   leave               shm_link.c:link_leave_locked
 *   checks              shm_liveness.c:peer_check_locked, and the timer of
 *                       amg_shm_liveness_tick_locked while a ring is unseen
 *   events              shm_inring.c:slots_take_locked, slot_take_locked
 *   open, refuse        shm_inring.c:slot_open_locked, sender_refuse
 *   peers               shm_inring.c:claims_check_locked, rings_check_locked
 *   read, free          shm_inring.c:amg_shm_inrings_reap_locked, slot_free
 *   close               shm_transport.c:close_tell_locked,
 *                       shm_inring.c:amg_shm_inrings_wake_unopened_locked
 *
 * Stores are seen at once: each step below has its release and acquire, and the
 * two Dekkers (claim and is_closed, cell and poll_state) have fences, which
 * shm_ring.pml shows to be enough for such a pair.
 *
 * In the code and not here: several slots and contexts, memory of /dev/shm that
 * ends, descriptors that end for a while (MAP_WAIT_NS), pid namespaces.
 *
 * FAULT_TELL   a domain that closes wakes nobody
 * FAULT_CLAIM  a sender leaves a slot by a store, not by a compare and exchange
 * FAULT_DEAD   the slot of a dead sender is freed before its cells were read
 * FAULT_RESET  a slot is freed before its ring is reset */
#define SENDERS 2
#ifdef FULL
#define TURNS 8
#else
#define TURNS 4
#endif

/* The slot: its claim is one word. */
mtype = { free, making, live, leaving };
mtype claim = free;
byte claimer, turn;
byte name, cell; /* the ring: written by the sender that is named */
bit is_read;     /* the reader's position is behind the cell */
mtype = { unseen, refused, polled };
mtype poll_state = unseen;

bit rings_event, peers_event, is_closed; /* of the receiver */
byte opened; /* the sender whose ring is open */
bit is_leaving, may_close;

/* Of senders 1 and 2. */
bit died[SENDERS + 1], has_closed[SENDERS + 1], is_woken[SENDERS + 1];
bit served[SENDERS + 1], told[SENDERS + 1], sent[SENDERS + 1];

/* Before each step of a sender. */
#define STEP                                                                   \
    if                                                                         \
    :: goto dead                                                               \
    :: true                                                                    \
    fi

proctype sender(byte i)
{
    byte mine; /* the turn of the claim */

look:
    atomic {
        if
        :: is_closed -> told[i] = 1; goto done
        :: else
        fi;
        STEP
    };
    /* Without a free slot a timer wakes it, and the owner looks for dead. */
    atomic {
        if
        :: claim == free -> claim = making; claimer = i; mine = turn
        :: claim != free && !peers_event -> peers_event = 1; goto look
        :: is_closed -> goto look
        fi
    };
    atomic { STEP; name = i };
    atomic { STEP; claim = live };
    atomic {
        STEP;
        if
        :: is_closed -> told[i] = 1; goto done
        :: else
        fi
    };
    atomic { STEP; cell = i; sent[i] = 1 };
    atomic { STEP; rings_event = 1 };
    /* The answer, a refusal or the close. An unseen ring has a timer. */
    do
    :: atomic { is_woken[i] || poll_state != polled || claimer != i ->
        STEP;
        is_woken[i] = 0 };
        atomic {
            if
            :: served[i] -> break
            :: !served[i] && is_closed -> told[i] = 1; goto done
            :: !served[i] && !is_closed && poll_state == refused &&
                   claimer == i -> told[i] = 1; break
            :: !served[i] && !is_closed && poll_state == unseen &&
                   claimer == i && (rings_event || peers_event)
            :: !served[i] && !is_closed && poll_state == polled &&
                   claimer == i
            fi
        }
    od;
    atomic { STEP; has_closed[i] = 1; peers_event = 1 };
    atomic {
        STEP;
        if
#ifdef FAULT_CLAIM
        :: true -> claim = leaving; rings_event = 1
#else
        :: claim == live && claimer == i && turn == mine ->
            claim = leaving;
            rings_event = 1
        :: else
#endif
        fi
    };
    goto done;
dead:
    died[i] = 1;
done:
    skip
}

inline slot_free()
{
#ifdef FAULT_RESET
    atomic { claim = free; claimer = 0; turn = (turn + 1) % TURNS };
    atomic { name = 0; cell = 0; is_read = 0; poll_state = unseen }
#else
    atomic { name = 0; cell = 0; is_read = 0; poll_state = unseen };
    atomic { claim = free; claimer = 0; turn = (turn + 1) % TURNS }
#endif
}

/* The open ring is freed. */
#ifdef FAULT_DEAD
#define IS_DUE (opened != 0 && is_leaving)
#else
#define IS_DUE (opened != 0 && is_leaving && (cell == 0 || is_read))
#endif
#define HAS_CELL (opened != 0 && cell != 0 && !is_read)
#define IS_GONE(i) (died[i] || has_closed[i])

proctype receiver()
{
end:
    do
    :: atomic { rings_event -> rings_event = 0 };
        if
        :: opened != 0 && claim == leaving -> is_leaving = 1
        :: opened == 0 && poll_state == refused && claim == leaving ->
            slot_free()
        :: opened == 0 && poll_state != refused &&
               (claim == live || claim == leaving) ->
            if
            :: died[name] || (has_closed[name] && claim == live) -> slot_free()
            :: !died[name] -> /* its segment is mapped: it is a peer */
                atomic {
                    opened = name;
                    is_leaving = (claim == leaving);
                    poll_state = polled
                }
            :: !died[name] && claim == live -> poll_state = refused /* reached */
            fi
        :: else
        fi
    /* A poll does all that is due: this does not keep the rest from it. */
    :: atomic { peers_event && !rings_event && !IS_DUE &&
                    !HAS_CELL -> peers_event = 0 };
        if
        :: opened != 0 && IS_GONE(opened) -> is_leaving = 1
        :: opened == 0 && (claim == making || claim == live) &&
               died[claimer] ->
            slot_free()
        :: opened == 0 && claim == leaving && poll_state == refused ->
            slot_free()
        :: else
        fi
    /* The kernel tells that a peer has died. */
    :: opened != 0 && died[opened] && !is_leaving -> is_leaving = 1
    :: atomic { HAS_CELL ->
        assert(cell == opened); /* not of another one */
        is_read = 1;
        served[cell] = 1;
        is_woken[cell] = 1 }
    :: IS_DUE -> goto release
    :: may_close -> is_closed = 1;
#ifndef FAULT_TELL
        is_woken[1] = 1;
        is_woken[2] = 1;
#endif
        goto done
release:
        atomic {
            /* What a sender wrote before its end was read. */
            assert(!sent[opened] || served[opened]);
            opened = 0;
            is_leaving = 0
        };
        slot_free()
    od;
done:
    skip
}

init {
    atomic {
        if
        :: may_close = 1
        :: true
        fi;
        run receiver();
        run sender(1);
        run sender(2)
    };
    timeout ->
        assert(died[1] || served[1] || told[1]);
        assert(died[2] || served[2] || told[2]);
        /* No slot is lost, but for a dead claimer that nobody missed yet. */
        assert(is_closed || claim == free || died[claimer])
}

/* ends: weak fairness */
/* Each sender that lives is served or told. */
ltl ends { <> [] ((died[1] || served[1] || told[1]) &&
                  (died[2] || served[2] || told[2])) }
