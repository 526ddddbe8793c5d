/* SPDX-License-Identifier: BSD-3-Clause */
/* Two calls of one root to a group, while ranks die, are wrongly taken for dead,
 * or refuse, and messages arrive late. The root is rank 0. Each rank asks the
 * next one: the interior rank 1, and the leaf 2. The full model has two interior
 * ranks, 1 and 2, and the leaf 3.
 *
 *   step of the model   in the code
 *   call_begin          group_root.c: serial_take, amg_group_call_begin
 *   settle              group.c: amg_group_call_settle, at the root
 *   root_end            group_root.c: root_end
 *   ask                 group.c: part_ask
 *   take                group.c: edge_run
 *   fail                group.c: edge_over, of a rank that has failed
 *   arrive              group_serve.c: request_serve, call_enter
 *   floor_raise         group_serve.c: floor_raise
 *   serve               group_serve.c: call_fill; group.c: amg_group_call_begin
 *   count, of the rank  group.c: own_step
 *   told                group_serve.c: settle_told
 *   served_end          group_serve.c: served_end
 *
 * A rank runs its handler when it enters the name of a call into its map. All
 * requests for a call under way wait for its end, and get one answer. A call
 * that has ended stays in the map, and later requests get its answer, unless its
 * request came from the root and was no retry: then no other rank asks. The
 * floor of the root, the oldest of its calls under way when a call begins, comes
 * with each request of that call. Calls below the floor are freed when they have
 * ended, and are refused when they are unknown.
 *
 * The root of a settled call waits no more. Other ranks may be told, before the
 * request comes, too, or not: the messages to them are not ordered, and a rank
 * that was told goes on to ask its children: the worst case for the names. A
 * rank that was told does not begin the handler.
 *
 * No step can be undone, so each run comes to a state in which nothing moves.
 * There each call must have ended at each rank that lives.
 *
 * FAULT_KEEP    a rank forgets each call that has ended
 * FAULT_RETRY   a rank forgets a call that the root asked for by a retry
 * FAULT_FLOOR   a rank serves unknown calls below the floor
 * FAULT_NEWEST  the floor is the newest call
 * FAULT_ONE     one of the requests that wait is answered
 * FAULT_LATE    an answer counts although its rank was taken for dead
 * FAULT_TOLD    a rank forgets that it was told before the request came */
#ifdef FULL
#define RANKS 4
#else
#define RANKS 3
#endif
#define CALLS 2
#define DEATHS 1
#define DOUBTS 1 /* living ranks that are taken for dead, or refuse */
#ifdef FULL /* else the search is too long */
#define MAY_BE_TOLD(r, s) ((r) == 2 && (s) == 0)
#else
#define MAY_BE_TOLD(r, s) true
#endif

/* Members of the group, a bit for each rank, and those of rank r's part. */
#define MEMBER(r) (1 << (r))
#define PART(r) ((1 << RANKS) - (1 << (r)))

/* Answers that are no sets of members. */
#define REFUSED 128 /* any code but HG_EXIST */
#define UNKNOWN 129 /* HG_EXIST */

mtype = { NONE, SENT, WAITS, ANSWERED, OVER };

/* A request of rank r to rank c. */
typedef edge_state {
    mtype state = NONE;
    bit is_awaited; /* by rank r */
    byte answer;
}
edge_state edges[CALLS * RANKS * RANKS];
#define EDGE(r, c, s) edges[((s) * RANKS + (r)) * RANKS + (c)]

/* A call at a rank. */
typedef call_state {
    bit is_known; /* in the map; at the root: under way */
    bit is_kept, is_due, has_run, has_ended, is_told;
    byte answered, named, answer;
}
call_state calls[CALLS * RANKS];
#define CALL(r, s) calls[(s) * RANKS + (r)]
/* Of the group, which the root does not belong to. */
#define IS_OVER(r, s)                                                          \
    ((CALL(r, s).answered | CALL(r, s).named) == PART(r == 0 -> 1 : r))

bit is_dead[RANKS];
bit is_doubted[RANKS];
bit is_settled[CALLS];
bit has_floor[RANKS]; /* has kept a call of the root */
byte floors[RANKS];
byte floor_of[CALLS]; /* in the requests of each call */
byte deaths, doubts;  /* that are left in this run */

#if defined(FAULT_KEEP)
#define IS_TO_KEEP(r, c) false
#elif defined(FAULT_RETRY)
#define IS_TO_KEEP(r, c) (r != 0)
#else
#define IS_TO_KEEP(r, c) (r != 0 || c != 1)
#endif
#ifdef FAULT_FLOOR
#define IS_BELOW(r, s) false
#else
#define IS_BELOW(r, s) (has_floor[r] && s < floors[r])
#endif

/* Each member counts once. */
inline count(r, s, answers, names)
{
    assert(((CALL(r, s).answered | CALL(r, s).named) & (answers | names)) == 0);
    CALL(r, s).answered = CALL(r, s).answered | (answers);
    CALL(r, s).named = CALL(r, s).named | (names)
}

/* Drops an answer that nobody awaits. */
inline late_drop(from, to, nr)
{
#ifdef FAULT_LATE
    skip
#else
    if
    :: EDGE(from, to, nr).state == ANSWERED &&
       !EDGE(from, to, nr).is_awaited ->
        EDGE(from, to, nr).state = OVER;
        EDGE(from, to, nr).answer = 0
    :: else
    fi
#endif
}

inline ask(me, child, call_no)
{
    assert(EDGE(me, child, call_no).state == NONE);
    EDGE(me, child, call_no).state = SENT;
    EDGE(me, child, call_no).is_awaited = 1
}

/* Names a rank, and asks its child. */
inline fail(r, c, s)
{
    EDGE(r, c, s).is_awaited = 0;
    late_drop(r, c, s);
    count(r, s, 0, MEMBER(c));
    if
    :: c + 1 < RANKS -> ask(r, c + 1, s) /* reached */
    :: else
    fi
}

inline take(r, c, s)
{
    if
    :: EDGE(r, c, s).answer == REFUSED -> fail(r, c, s) /* reached */
    :: EDGE(r, c, s).answer == UNKNOWN ->
        assert(CALL(0, s).has_ended); /* the root does not wait for it */
        count(r, s, 0, PART(c)) /* reached */
    :: else ->
        count(r, s, EDGE(r, c, s).answer, PART(c) - EDGE(r, c, s).answer)
    fi;
    EDGE(r, c, s).is_awaited = 0;
    late_drop(r, c, s)
}

inline reply(asker, me, call_no, what)
{
    EDGE(asker, me, call_no).answer = what;
    EDGE(asker, me, call_no).state = ANSWERED;
    late_drop(asker, me, call_no)
}

inline forget(r, s)
{
    CALL(r, s).is_known = 0;
    CALL(r, s).is_kept = 0;
    CALL(r, s).has_ended = 0;
    CALL(r, s).answer = 0
}

inline floor_raise(r, s)
{
    if
    :: has_floor[r] && floors[r] < floor_of[s] ->
        floors[r] = floor_of[s];
        if /* of two calls, the first one alone can be below the floor */
        :: CALL(r, 0).is_kept && CALL(r, 0).has_ended ->
            forget(r, 0) /* reached */
        :: else
        fi
    :: else
    fi
}

/* Enters the name, starts the handler, and asks the child. */
inline serve(r, c, s)
{
    assert(!CALL(c, s).has_run && !CALL(c, s).is_told);
    EDGE(r, c, s).state = WAITS;
    CALL(c, s).is_known = 1;
    CALL(c, s).is_kept = IS_TO_KEEP(r, c);
    if
    :: IS_TO_KEEP(r, c) && !has_floor[c] ->
        has_floor[c] = 1;
        floors[c] = floor_of[s]
    :: else
    fi;
    CALL(c, s).has_run = 1;
    CALL(c, s).is_due = 1;
    if
    :: c + 1 < RANKS -> ask(c, c + 1, s)
    :: else
    fi
}

inline arrive(r, c, s)
{
    floor_raise(c, s);
    if
    :: CALL(c, s).is_known && CALL(c, s).has_ended ->
        reply(r, c, s, CALL(c, s).answer) /* reached */
    :: CALL(c, s).is_known && !CALL(c, s).has_ended ->
        EDGE(r, c, s).state = WAITS /* reached */
    :: !CALL(c, s).is_known && IS_BELOW(c, s) ->
        reply(r, c, s, UNKNOWN) /* reached */
    :: !CALL(c, s).is_known && !IS_BELOW(c, s) -> serve(r, c, s)
    :: !CALL(c, s).is_known && !IS_BELOW(c, s) && doubts > 0 ->
        doubts--; /* no memory */
        is_doubted[c] = 1;
        reply(r, c, s, REFUSED)
    fi
}

proctype edge(byte r, c, s)
{
end:
    do
    :: atomic { EDGE(r, c, s).state == SENT && !is_dead[c] -> arrive(r, c, s) }
    :: atomic { EDGE(r, c, s).is_awaited && EDGE(r, c, s).state == ANSWERED ->
        take(r, c, s) }
    :: atomic { EDGE(r, c, s).is_awaited && is_dead[c] -> fail(r, c, s) }
    :: atomic { EDGE(r, c, s).is_awaited && !is_dead[c] && doubts > 0 ->
        doubts--;
        is_doubted[c] = 1;
        fail(r, c, s) }
#ifdef FAULT_LATE
    :: atomic { !EDGE(r, c, s).is_awaited && EDGE(r, c, s).state == ANSWERED &&
                    EDGE(r, c, s).answer < REFUSED ->
        EDGE(r, c, s).state = OVER;
        take(r, c, s) }
#endif
    od
}

/* Answers all requests that wait. */
inline served_end(r, s)
{
    CALL(r, s).has_ended = 1;
    CALL(r, s).answer = CALL(r, s).answered;
    CALL(r, s).answered = 0;
    CALL(r, s).named = 0;
    if
    :: true
    :: doubts > 0 -> /* no memory to fold: the outputs are lost here */
        doubts--;
        is_doubted[r] = 1;
        CALL(r, s).answer = REFUSED
    fi;
    for (other : 0 .. r - 1) {
        if
        :: EDGE(other, r, s).state == WAITS ->
            reply(other, r, s, CALL(r, s).answer);
#ifdef FAULT_ONE
            break
#endif
        :: else
        fi
    }
    other = 0;
    if
    :: CALL(r, s).is_kept && !IS_BELOW(r, s)
    :: else -> forget(r, s)
    fi
}

/* Its requests may still arrive. */
inline die(r)
{
    is_dead[r] = 1;
    for (call_no : 0 .. CALLS - 1) {
        forget(r, call_no);
        CALL(r, call_no).is_due = 0;
        CALL(r, call_no).answered = 0;
        CALL(r, call_no).named = 0;
        for (other : r + 1 .. RANKS - 1) {
            EDGE(r, other, call_no).is_awaited = 0;
            late_drop(r, other, call_no)
        }
    }
    call_no = 0;
    other = 0
}

/* A call of which the rank is told, once. */
inline told(r, s)
{
    CALL(r, s).is_told = 1;
    if
    :: CALL(r, s).is_due ->
        CALL(r, s).is_due = 0; /* reached */
        count(r, s, 0, MEMBER(r))
    :: !CALL(r, s).is_known && !IS_BELOW(r, s) ->
#ifndef FAULT_TOLD
        CALL(r, s).is_known = 1; /* reached */
        CALL(r, s).is_kept = 1;
        CALL(r, s).has_ended = 1;
        CALL(r, s).answer = REFUSED;
        has_floor[r] = 1
#endif
    :: else
    fi
}

#define HANDLER_END(s)                                                         \
    atomic { CALL(r, s).is_due ->                                              \
        CALL(r, s).is_due = 0;                                                 \
        count(r, s, MEMBER(r), 0) }

/* A rank but the root. */
proctype rank(byte r)
{
    byte other, call_no;

end:
    do
    :: HANDLER_END(0)
    :: HANDLER_END(1)
    :: atomic { is_settled[0] && !CALL(r, 0).is_told && MAY_BE_TOLD(r, 0) ->
        told(r, 0) }
    :: atomic { is_settled[1] && !CALL(r, 1).is_told && MAY_BE_TOLD(r, 1) ->
        told(r, 1) }
    :: atomic { CALL(r, 0).is_known && !CALL(r, 0).has_ended && IS_OVER(r, 0) ->
        served_end(r, 0) }
    :: atomic { CALL(r, 1).is_known && !CALL(r, 1).has_ended && IS_OVER(r, 1) ->
        served_end(r, 1) }
    :: atomic { deaths > 0 ->
        deaths--;
        die(r);
        break }
    od
}

inline call_begin(s)
{
    floor_of[s] = s;
#ifndef FAULT_NEWEST
    if
    :: s == 1 && CALL(0, 0).is_known -> floor_of[s] = 0
    :: else
    fi;
#endif
    CALL(0, s).is_known = 1;
    ask(0, 1, s)
}

inline settle(s)
{
    is_settled[s] = 1;
    count(0, s, 0, PART(1) - (CALL(0, s).answered | CALL(0, s).named))
}

inline root_end(s)
{
    for (r : 1 .. RANKS - 1) {
        /* Ranks that have answered ran the handler; others have a reason. */
        assert((CALL(0, s).answered & MEMBER(r)) == 0 || CALL(r, s).has_run);
        assert((CALL(0, s).answered & MEMBER(r)) != 0 || is_dead[r] ||
               is_doubted[r] || is_settled[s]);
        EDGE(0, r, s).is_awaited = 0;
        late_drop(0, r, s)
    }
    r = 0;
    CALL(0, s).is_known = 0;
    CALL(0, s).has_ended = 1;
    CALL(0, s).answered = 0;
    CALL(0, s).named = 0
}

/* A call of the root, which may be settled before its end. */
proctype root(byte s)
{
    byte r;
    bit is_patient;

    atomic { s == 0 || CALL(0, 0).is_known || CALL(0, 0).has_ended ->
        call_begin(s);
        if
        :: true -> is_patient = 1
        :: true
        fi }
    atomic {
        if
        :: IS_OVER(0, s)
        :: !is_patient && !IS_OVER(0, s) -> settle(s)
        fi;
        root_end(s);
        is_patient = 0
    }
}

init {
    byte r, c, s;

    atomic {
        select(deaths : 0 .. DEATHS);
        select(doubts : 0 .. DOUBTS);
        for (s : 0 .. CALLS - 1) {
            run root(s);
            for (c : 1 .. RANKS - 1) {
                for (r : 0 .. c - 1) {
                    run edge(r, c, s)
                }
            }
        }
        for (r : 1 .. RANKS - 1) {
            run rank(r)
        }
        r = 0;
        c = 0;
        s = 0
    };
    atomic { timeout ->
        for (s : 0 .. CALLS - 1) {
            assert(CALL(0, s).has_ended); /* reached */
            for (r : 1 .. RANKS - 1) {
                assert(is_dead[r] || !CALL(r, s).is_known ||
                       CALL(r, s).has_ended)
            }
        }
    }
}
