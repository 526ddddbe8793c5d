/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages over MPI between two ranks that call each other: announcement,
 * bytes, room at the receiver, cancelled calls, and a context that closes.
 *
 *   step of the model   in the code
 *   send                mpi_backend/mpi_send.c:long_post_locked,
 *                       longs_send_locked; mpi_long.c:
 *                       amg_mpi_long_announce_locked
 *   ANNOUNCE            mpi_long.c:amg_mpi_long_on_message_locked
 *   start               mpi_long.c:amg_mpi_longs_start_locked,
 *                       long_has_room, long_receive_locked
 *   match               MPI: the oldest send and the oldest receive of a sender
 *                       and tag; mpi_long.c:long_take_locked
 *   answer, refuse      mpi_msg.c:long_release, the reply or a refusal
 *   cancel              src/transport/calls.c:amg_calls_abandon_locked
 *   close               mpi_long.c:amg_mpi_longs_detach_locked
 *
 * Each call and each reply is long. Rank 1 answers only when its own calls were
 * answered, as a program may do that waits in a handler. There is room for the
 * bytes of two short requests, or of one that is longer.
 *
 * In the code and not here: order among the requests of a peer that are long
 * and those that are not (`behind`), lack of memory (a start that is tried
 * again), several contexts (one tag each), wrong announcements, and
 * amg_mpi_longs_drop_locked, when the wait of the end was given up.
 *
 * FAULT_PASS    an announcement with room passes an older one without
 * FAULT_QUEUE   requests and replies have one tag, and one list that waits
 * FAULT_UNSENT  later messages do not wait behind one that MPI refused
 * FAULT_DETACH  requests that wait for room are forgotten when their context
 *               closes */
#ifdef FULL
#define CALLS 4
#else
#define CALLS 3 /* of rank 0; rank 1 has one */
#endif
#define ROOM 2
#define LEN(id) ((id) == 2 -> 2 : 1)

#define REQUEST 0
#define REPLY 1
#define REFUSAL 2 /* a message of its own, and not long */
#ifdef FAULT_QUEUE
#define TAG(rank, kind) (2 * (rank))
#else
#define TAG(rank, kind) (2 * (rank) + (kind))
#endif

/* By receiver, or by receiver and tag; message: kind and number. */
chan announced[2] = [8] of { byte, byte };
chan waiting[4] = [CALLS + 1] of { byte, byte }; /* for room; by TAG */
chan posted[4] = [CALLS + 1] of { byte, byte };  /* receives; by TAG */
chan bytes[4] = [CALLS + 1] of { byte, byte };   /* sends that MPI has */
chan unsent[2] = [CALLS + 1] of { byte, byte };  /* by sender */
chan arrived[2] = [CALLS + 1] of { byte };       /* requests, for handlers */

byte to_post[2], asked[2], held[2], cancelled[2];
bit is_closed; /* the context of rank 1 */
bit is_cancelled;

/* Announces a message, and gives its bytes to MPI, which may refuse them. */
inline send(r, kind, id)
{
    announced[1 - r]!kind, id;
    if
#ifndef FAULT_UNSENT
    :: len(unsent[r]) == 0 -> bytes[TAG(1 - r, kind)]!kind, id
#else
    :: true -> bytes[TAG(1 - r, kind)]!kind, id
#endif
    :: kind == REQUEST || len(unsent[r]) > 0 -> unsent[r]!kind, id
    fi
}

#define HAS_ROOM(r, kind, id)                                                  \
    ((kind) == REPLY || ((r) == 1 && is_closed) || held[r] == 0 ||             \
        held[r] + LEN(id) <= ROOM)
/* Does it count for the context? */
#define COUNTS(r, kind) ((kind) == REQUEST && !((r) == 1 && is_closed))

inline receive(r, kind, id)
{
    held[r] = held[r] + (COUNTS(r, kind) -> LEN(id) : 0);
    posted[TAG(r, kind)]!kind, id
}

/* Begins what has room, in the order of the announcements. */
inline start(r, tag)
{
    do
    :: len(waiting[tag]) > 0 ->
        waiting[tag]?<what, number>;
        if
        :: HAS_ROOM(r, what, number) ->
            waiting[tag]?what, number;
            receive(r, what, number)
        :: else -> break
        fi
    :: else -> break
    od;
    what = 0;
    number = 0
}

inline on_announcement(r)
{
    if
#ifdef FAULT_PASS
    :: HAS_ROOM(r, what, number) -> receive(r, what, number)
    :: else -> waiting[TAG(r, what)]!what, number
#else
    :: true -> waiting[TAG(r, what)]!what, number; start(r, TAG(r, what))
#endif
    fi
}

/* MPI has matched the oldest of both; the message has come. */
inline match(r, tag)
{
    posted[tag]?what, number;
    bytes[tag]?kind, id;
    assert(kind == what && id == number); /* the announced one */
    if
    :: kind == REPLY -> on_reply(r)
    :: kind == REQUEST && !(r == 1 && is_closed) -> arrived[r]!id
    :: kind == REQUEST && r == 1 && is_closed -> /* counts no longer */
        announced[1 - r]!REFUSAL, id
    fi;
    what = 0;
    number = 0;
    kind = 0;
    id = 0
}

inline on_reply(r)
{
    if
    :: cancelled[r] > 0 -> cancelled[r]-- /* reached */
    :: cancelled[r] == 0 -> assert(asked[r] > 0); asked[r]--
    fi
}

proctype rank(byte r)
{
    byte what, number, kind, id;

end:
    do
    :: atomic { to_post[r] > 0 ->
        id = to_post[r];
        to_post[r]--;
        asked[r]++;
        send(r, REQUEST, id);
        id = 0 }
    :: atomic { len(unsent[r]) > 0 -> /* a poll: MPI takes it now */
        unsent[r]?kind, id;
        bytes[TAG(1 - r, kind)]!kind, id;
        kind = 0;
        id = 0 }
    :: atomic { announced[r]?what, number ->
        if
        :: what == REFUSAL -> on_reply(r)
        :: else -> on_announcement(r)
        fi;
        what = 0;
        number = 0 }
    :: atomic { len(posted[2 * r]) > 0 && len(bytes[2 * r]) > 0 ->
        match(r, 2 * r) }
#ifndef FAULT_QUEUE
    :: atomic { len(posted[2 * r + 1]) > 0 && len(bytes[2 * r + 1]) > 0 ->
        match(r, 2 * r + 1) }
#endif
    /* A handler ends, with a reply, and gives the room back. */
    :: atomic { len(arrived[r]) > 0 && (r == 0 || asked[1] == 0) ->
        arrived[r]?id;
        held[r] = held[r] - LEN(id);
        send(r, REPLY, id);
        if
#ifdef FAULT_DETACH
        :: r == 1 && is_closed
#else
        :: false
#endif
        :: else -> start(r, 2 * r)
        fi;
        id = 0 }
    :: atomic { r == 0 && asked[0] > 0 && !is_cancelled ->
        is_cancelled = 1;
        asked[0]--;
        cancelled[0]++ }
    :: atomic { r == 1 && !is_closed && to_post[1] == 0 && asked[1] == 0 ->
        is_closed = 1;
        kind = len(posted[2]); /* those count no longer */
        do
        :: kind > 0 ->
            posted[2]?what, number;
            held[1] = held[1] - (what == REQUEST -> LEN(number) : 0);
            posted[2]!what, number;
            kind--
        :: else -> break
        od;
#ifndef FAULT_DETACH
        start(1, 2);
#endif
        kind = 0 } /* reached */
    od
}

init {
    atomic {
        to_post[0] = CALLS;
        to_post[1] = 1;
        run rank(0);
        run rank(1)
    };
    timeout -> /* nobody has anything to do */
        assert(asked[0] == 0 && asked[1] == 0 && cancelled[0] == 0);
        assert(held[0] == 0 && held[1] == 0);
        assert(len(unsent[0]) == 0 && len(unsent[1]) == 0)
}

/* Each call ends. */
ltl answered { <> [] (asked[0] == 0 && asked[1] == 0 && cancelled[0] == 0) }
