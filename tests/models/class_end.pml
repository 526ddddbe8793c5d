/* SPDX-License-Identifier: BSD-3-Clause */
/* End of a class of four ranks that close at any time, with calls under way
 * whose handlers may make further calls while their rank is closing.
 *
 *   step of the model   in the code
 *   call                src/core/context.c: counted by
 *                       amg_class_quiesce (`posted`)
 *   handle, answer      src/rpc/serve.c; the reply, or the credit of a one-way
 *                       call, which its release returns
 *   close               mpi_backend/mpi_close.c:
 *                       disconnect_step_locked,
 *                       mpi_disconnect_tree.c:amg_mpi_tree_close
 *   whole               mpi_disconnect_tree.c:whole_check, phase_begin
 *   CLOSING             on_closing, amg_mpi_tree_next
 *   AGAIN               on_phase
 *   ALL                 outcome_set; mpi_close.c: the class ends
 *
 * Rank 0 has the children 1 and 3, and rank 1 the child 2, as in a tree with two
 * children for each rank. Messages between two ranks keep their order; calls do
 * not keep it among messages of the protocol, which have another tag.
 *
 * In the code and not here: questions for missing ranks, ranks that give up,
 * and other routes of the class: these are quiet before the main one closes.
 * A handler makes its call before it answers, as a call that a program makes
 * from elsewhere is one of its own, before it closes its class.
 *
 * FAULT_ONE_PHASE  the end of the first phase ends the class
 * FAULT_DIRTY      a rank does not tell that it made calls since it closed
 * FAULT_PENDING    a rank closes while its own calls are under way */
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
    byte pending;  /* calls of its own that were not answered */
    byte running;  /* handlers */
    byte from[2];  /* their callers */
    byte posted;   /* calls made since it closed */
    byte phase;
    byte closing;  /* children whose subtree is closing */
    bit is_dirty, is_closing, has_told, is_over, wants_close;
}
rank_state ranks[RANKS];
byte calls_left = CALLS;
byte calls_under_way; /* or being handled */

chan requests[RANKS] = [CALLS] of { byte };       /* the caller */
chan up[RANKS] = [2] of { byte, bit };            /* CLOSING: phase, dirty */
chan down[RANKS] = [2] of { bit };                /* AGAIN or ALL */
#define AGAIN 0
#define ALL 1

#define IS_WHOLE(r)                                                            \
    (ranks[r].is_closing && ranks[r].closing == CHILDREN(r))

#ifdef FAULT_PENDING
#define IS_PENDING(r) false
#else
#define IS_PENDING(r) (ranks[r].pending > 0)
#endif

inline tell_children(r, what)
{
    if
    :: r == 0 -> down[1]!what; down[3]!what
    :: r == 1 -> down[2]!what
    :: else
    fi
}

inline phase_begin(r)
{
    ranks[r].phase++;
    ranks[r].closing = 0;
    ranks[r].is_closing = 0;
    ranks[r].is_dirty = 0;
    ranks[r].has_told = 0;
    tell_children(r, AGAIN)
}

inline end_class(r)
{
    /* No call comes any more, none is answered, no handler runs. */
    assert(calls_under_way == 0);
    ranks[r].is_over = 1;
    tell_children(r, ALL)
}

inline whole(r)
{
    if
    :: IS_WHOLE(r) && r != 0 && !ranks[r].has_told ->
        ranks[r].has_told = 1;
        up[PARENT(r)]!ranks[r].phase, ranks[r].is_dirty
    :: IS_WHOLE(r) && r == 0 ->
        if
#ifdef FAULT_ONE_PHASE
        :: true -> end_class(r)
#else
        :: ranks[r].phase > 0 && !ranks[r].is_dirty -> end_class(r)
        :: else -> phase_begin(r)
#endif
        fi
    :: else
    fi
}

/* To any other rank. */
inline call(r)
{
    if
    :: r != 0 -> other = 0
    :: r != 1 -> other = 1
    :: r != 2 -> other = 2
    :: r != 3 -> other = 3
    fi;
    calls_left--;
    calls_under_way++;
    ranks[r].pending++;
    ranks[r].posted++;
    requests[other]!r;
    other = 0
}

proctype rank(byte r)
{
    byte other;
    bit dirty;

    do
    /* A call of the program, before it closes its class. */
    :: atomic { MAY_CALL(r) && !ranks[r].wants_close -> call(r) }
    :: atomic { !ranks[r].wants_close -> ranks[r].wants_close = 1 }
    :: atomic { len(requests[r]) > 0 && !ranks[r].is_over && ranks[r].running < 2 ->
        requests[r]?other;
        ranks[r].from[ranks[r].running] = other;
        ranks[r].running++;
        other = 0 }
    /* A handler makes a call, */
    :: atomic { ranks[r].running > 0 && calls_left > 0 && !ranks[r].is_over ->
        call(r) } /* reached */
    /* or ends: the oldest one. */
    :: atomic { ranks[r].running > 0 && !ranks[r].is_over ->
        assert(ranks[ranks[r].from[0]].pending > 0);
        ranks[ranks[r].from[0]].pending--;
        calls_under_way--;
        ranks[r].running--;
        ranks[r].from[0] = (ranks[r].running == 1 -> ranks[r].from[1] : 0);
        ranks[r].from[1] = 0 }
    :: atomic { ranks[r].wants_close && !ranks[r].is_closing &&
                    !ranks[r].is_over && !IS_PENDING(r) ->
        ranks[r].is_closing = 1;
#ifndef FAULT_DIRTY
        ranks[r].is_dirty = ranks[r].is_dirty | (ranks[r].posted > 0);
#endif
        ranks[r].posted = 0;
        whole(r) }
    :: atomic { up[r]?other, dirty ->
        assert(other == ranks[r].phase);
        ranks[r].closing++;
        assert(ranks[r].closing <= CHILDREN(r));
        ranks[r].is_dirty = ranks[r].is_dirty | dirty;
        other = 0;
        dirty = 0;
        whole(r) }
    :: atomic { down[r]?dirty ->
        if
        :: dirty == AGAIN ->
            assert(ranks[r].has_told && !ranks[r].is_over);
            phase_begin(r)
        :: else -> dirty = 0; end_class(r)
        fi }
    :: ranks[r].is_over -> break
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

/* The class of every rank ends. */
ltl ends { <> (ranks[0].is_over && ranks[1].is_over && ranks[2].is_over &&
               ranks[3].is_over) }
