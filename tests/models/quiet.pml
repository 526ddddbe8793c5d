/* SPDX-License-Identifier: BSD-3-Clause */
/* Quiescence of four ranks: the end of all calls, those that handlers and
 * callbacks make with them, while the ranks go on afterwards.
 *
 *   step of the model   in the code
 *   call                src/rpc/forward.c, oneway.c: AMG_COUNT_REQUESTS_SENT
 *   arrive, end         src/rpc/serve.c
 *   home                the reply has come, or the credit of a one-way call
 *   callback            HG_Trigger(): in_flight of the context
 *   enter               quiet.c: enter()
 *   tell                quiet.c: part_tell_locked() after sent_if_idle()
 *   AGAIN, OVER         quiet.c: round_end_locked(), children_tell_locked(),
 *                       end_locked()
 *
 * Rank 0 has the children 1 and 3, and rank 1 the child 2. A one-way call may
 * be home before its handler has ended.
 *
 * FAULT_ONE_ROUND  the first round ends the quiescence
 * FAULT_HOME       a rank is idle although calls of its own are not home
 * FAULT_RUNNING    a rank is idle although handlers run
 * FAULT_SUM        a rank counts nothing: only the last round must be idle */
#define RANKS 4
#define CALLS 3 /* of all ranks together, those of handlers with them */
#ifdef FULL
#define MAY_CALL(r) (calls_left > 0)
#else
#define MAY_CALL(r) (calls_left == CALLS && r >= 2) /* the first one */
#endif

#define PARENT(r) ((r) == 2 -> 1 : 0)
#define CHILDREN(r) ((r) == 0 -> 2 : ((r) == 1 -> 1 : 0))

typedef rank_state {
    byte out;     /* own calls that are not home, or whose callback is due */
    byte ready;   /* of them, answered: the callback is due */
    byte running; /* handlers */
    byte from[2]; /* their callers; SELF: of a one-way call that is home */
    byte sent;    /* calls made here */
    byte round, came, sum;
    bit has_entered, has_told, is_over;
}
rank_state ranks[RANKS];
byte calls_left = CALLS;
byte under_way; /* calls whose handler or callback has not ended */
byte before;    /* sum of the round before, at rank 0 */
#define NOBODY 9

chan requests[RANKS] = [CALLS] of { byte, bit }; /* the caller, one-way */
chan up[RANKS] = [2] of { byte };                /* the sum of a part */
chan down[RANKS] = [1] of { bit };
#define AGAIN 0
#define OVER 1

#ifdef FAULT_HOME
#define IS_HOME(r) true
#else
#define IS_HOME(r) (ranks[r].out == 0)
#endif
#ifdef FAULT_RUNNING
#define IS_STILL(r) true
#else
#define IS_STILL(r) (ranks[r].running == 0)
#endif

inline tell_children(r, what)
{
    if
    :: r == 0 -> down[1]!what; down[3]!what
    :: r == 1 -> down[2]!what
    :: else
    fi
}

inline over(r)
{
    /* No call is on its way, no handler and no callback runs, anywhere. */
    assert(under_way == 0);
    ranks[r].is_over = 1;
    tell_children(r, OVER)
}

inline again(r)
{
    ranks[r].round++;
    ranks[r].came = 0;
    ranks[r].sum = 0;
    ranks[r].has_told = 0;
    tell_children(r, AGAIN)
}

inline tell(r)
{
#ifndef FAULT_SUM
    ranks[r].sum = ranks[r].sum + ranks[r].sent;
#endif
    ranks[r].has_told = 1;
    if
    :: r != 0 -> up[PARENT(r)]!ranks[r].sum
#ifdef FAULT_ONE_ROUND
    :: r == 0 -> over(r)
#else
    :: r == 0 && ranks[r].round > 0 && ranks[r].sum == before -> over(r)
    :: r == 0 && (ranks[r].round == 0 || ranks[r].sum != before) ->
        before = ranks[r].sum;
        again(r)
#endif
    fi
}

/* To any other rank; any kind. */
inline call(r)
{
    if
    :: r != 0 -> other = 0
    :: r != 1 -> other = 1
    :: r != 2 -> other = 2
    :: r != 3 -> other = 3
    fi;
    calls_left--;
    under_way++;
    ranks[r].out++;
    ranks[r].sent++;
    if
    :: true -> requests[other]!r, 0
    :: true -> requests[other]!r, 1
    fi;
    other = 0
}

proctype rank(byte r)
{
    byte other;
    bit what;

    do
    /* A call of the program, before it enters. */
    :: atomic { MAY_CALL(r) && !ranks[r].has_entered -> call(r) }
    :: atomic { !ranks[r].has_entered -> ranks[r].has_entered = 1 }
    :: atomic { len(requests[r]) > 0 && ranks[r].running < 2 ->
        requests[r]?other, what;
        if
        :: what == 1 -> /* a one-way call may be home before its handler ran */
            ranks[other].out--;
            other = NOBODY
        :: true
        fi;
        ranks[r].from[ranks[r].running] = other;
        ranks[r].running++;
        other = 0;
        what = 0 }
    /* A handler makes a call, */
    :: atomic { ranks[r].running > 0 && calls_left > 0 -> call(r) } /* reached */
    /* or ends: the oldest one. */
    :: atomic { ranks[r].running > 0 ->
        if
        :: ranks[r].from[0] == NOBODY -> under_way--
        :: else -> ranks[ranks[r].from[0]].ready++
        fi;
        ranks[r].running--;
        ranks[r].from[0] = (ranks[r].running == 1 -> ranks[r].from[1] : 0);
        ranks[r].from[1] = 0 }
    /* A callback makes a call, */
    :: atomic { ranks[r].ready > 0 && calls_left > 0 -> call(r) } /* reached */
    /* or ends. */
    :: atomic { ranks[r].ready > 0 ->
        ranks[r].ready--;
        ranks[r].out--;
        under_way-- }
    :: atomic { up[r]?other ->
        ranks[r].came++;
        ranks[r].sum = ranks[r].sum + other;
        other = 0 }
    :: atomic { ranks[r].has_entered && !ranks[r].has_told &&
                    ranks[r].came == CHILDREN(r) && !ranks[r].is_over &&
                    IS_HOME(r) && IS_STILL(r) ->
        tell(r) }
    :: atomic { down[r]?what ->
        if
        :: what == AGAIN -> again(r)
        :: else -> what = 0; over(r)
        fi }
    :: ranks[r].is_over && calls_left == 0 -> break
    :: ranks[r].is_over && under_way == 0 -> break
    od;
}

init {
    atomic {
        run rank(0);
        run rank(1);
        run rank(2);
        run rank(3)
    };
    (_nr_pr == 1)
}

/* The quiescence ends at every rank. */
ltl ends { <> (ranks[0].is_over && ranks[1].is_over && ranks[2].is_over &&
               ranks[3].is_over) }
