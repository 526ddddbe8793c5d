/* SPDX-License-Identifier: BSD-3-Clause */
/* Deaths of ranks: six ranks on two nodes, of which some die at any moment, also
 * while they tell their neighbours, and some leave.
 *
 *   step of the model  in the code, src/rpc/deaths.c
 *   die                SIGKILL
 *   close              the program calls amalgam_finalize()
 *   leave              src/core/quiesce.c:amg_class_quiesce: all have begun to
 *                      close, or a death ends the wait; then the process ends
 *   look               dead_find_locked(), has_left()
 *   enter              death_enter(), neighbour_tell()
 *   told               amg_deaths_told()
 *
 * Ranks 0, 1, 2 are one node; the jumps 1, 2 and 4 lead from a rank to all
 * others but the opposite one. At the end each rank that has not begun to close
 * knows each dead rank of whose node such a rank is left. No rank is called dead
 * that lives, or that had left when all had begun to close. Two ranks die, or three in
 * the larger form; or one dies, and others close and leave.
 *
 * FAULT_PAGE     the status page is not read
 * FAULT_RING     a rank checks its next mate only, not those behind a dead one
 * FAULT_JUMPS    the neighbours are the next ranks only
 * FAULT_FORWARD  only the rank that notices a death tells */
#define RANKS 6
#define NODE 3
#ifdef FULL
#define DEATHS 3
#else
#define DEATHS 2
#endif

#define BIT(r) (1 << (r))
#define HAS(set, r) (((set) >> (r)) & 1)
#define ALL (BIT(RANKS) - 1)
#define MATE(r, i) (((r) / NODE) * NODE + ((r) + (i)) % NODE)

byte dead, left, closing; /* sets of ranks; `left`: ended after that */
byte early;               /* left after a death, before all had begun to close */
byte known[RANKS];        /* ranks that a rank knows to be dead */
byte gone[RANKS];         /* mates that a rank takes to have left */
byte inbox[RANKS];        /* deaths that a rank is being told of */
bit has_pages;            /* the page of a checked rank is mapped in time */
byte deaths_left = DEATHS;

#define ENDED(r) HAS(dead | left, r)
#define RUNS(r) (!ENDED(r))

/* The next mate of `r` in the ring, or `r` itself. */
#ifdef FAULT_RING
#define NEXT(r) MATE(r, 1)
#else
#define NEXT(r)                                                                \
    (!HAS(known[r] | gone[r], MATE(r, 1)) -> MATE(r, 1) :                      \
        (!HAS(known[r] | gone[r], MATE(r, 2)) -> MATE(r, 2) : (r)))
#endif

inline tell(r, n, x)
{
    if
    :: inbox[n] = inbox[n] | BIT(x)
    :: dies /* before this message */
    fi
}

/* Rank r knows of the death of x from now on. */
inline enter(r, x, is_noticed)
{
    assert(HAS(dead | early, x) && !HAS(left & ~early, x));
    known[r] = known[r] | BIT(x);
    dies = 0;
    if
    :: deaths_left > 0 -> deaths_left--; dies = 1 /* reached */
    :: true
    fi;
#ifdef FAULT_FORWARD
    if
    :: !is_noticed -> skip
    :: else ->
#endif
    tell(r, ((r) + 1) % RANKS, x);
    tell(r, ((r) + RANKS - 1) % RANKS, x);
#ifndef FAULT_JUMPS
    tell(r, ((r) + 2) % RANKS, x);
    tell(r, ((r) + RANKS - 2) % RANKS, x);
#endif
#ifdef FAULT_FORWARD
    fi;
#endif
    if
    :: dies -> dead = dead | BIT(r); inbox[r] = 0; dies = 0
    :: else
    fi
}

/* Rank r checks its next mate, which has ended. */
inline look(r)
{
    x = NEXT(r);
    if
#ifndef FAULT_PAGE
    :: has_pages && HAS(left, x) ->
        gone[r] = gone[r] | BIT(x)
    :: !has_pages && HAS(closing, r) -> /* reached */
        gone[r] = gone[r] | BIT(x)
#endif
    :: else ->
        enter(r, x, 1)
    fi;
    x = 0
}

inline told(r)
{
    x = 0;
    do
    :: !HAS(inbox[r], x) -> x++
    :: else -> break
    od;
    inbox[r] = inbox[r] & ~BIT(x);
    if
    :: !HAS(known[r] | gone[r], x) && x != r -> enter(r, x, 0)
    :: else
    fi;
    x = 0
}

#define MAY_LOOK(r) (RUNS(r) && NEXT(r) != r && ENDED(NEXT(r)) &&              \
    !HAS(known[r] | gone[r], NEXT(r)))
/* After a death also without the others, after some seconds. */
#define MAY_LEAVE(r) (RUNS(r) && HAS(closing, r) &&                            \
    (closing == ALL || known[r] != 0))

/* In the order of the ranks. */
#define MAY_CLOSE(r) (IS_OPEN(r) && may_close &&                               \
    ((closing | dead) & (BIT(r) - 1)) == BIT(r) - 1)

/* Is there a rank on the node of x that runs and has not begun to close? */
#define IS_OPEN(r) (RUNS(r) && !HAS(closing, r))
#define IS_WATCHED(x) (IS_OPEN(MATE(x, 1)) || IS_OPEN(MATE(x, 2)))

#define STEPS(r)                                                               \
    :: atomic { RUNS(r) && deaths_left > 0 ->                                  \
        deaths_left--; dead = dead | BIT(r); inbox[r] = 0 }                    \
    :: atomic { MAY_CLOSE(r) -> closing = closing | BIT(r) }                   \
    :: atomic { MAY_LEAVE(r) ->                                                \
        early = (closing == ALL -> early : early | BIT(r));                    \
        left = left | BIT(r); inbox[r] = 0 }                                   \
    :: atomic { MAY_LOOK(r) -> look(r) }                                       \
    :: atomic { RUNS(r) && inbox[r] != 0 -> told(r) }

active proctype job()
{
    byte x, r;
    bit dies, may_close;

    if
    :: may_close = 1; deaths_left = 1; has_pages = 1
    :: may_close = 1; deaths_left = 1
    :: true
    fi;
    do
    STEPS(0)
    STEPS(1)
    STEPS(2)
    STEPS(3)
    STEPS(4)
    STEPS(5)
    /* Nobody dies any more. */
    :: atomic { deaths_left > 0 -> deaths_left = 0 }
    :: else -> break
    od;
    atomic {
        do
        :: r < RANKS ->
            x = 0;
            do
            :: x < RANKS ->
                assert(!IS_OPEN(r) || !HAS(dead, x) || !IS_WATCHED(x) ||
                       HAS(known[r], x));
                x++
            :: else -> break
            od;
            r++
        :: else -> break
        od
    }
}
