/* SPDX-License-Identifier: BSD-3-Clause */
/* Credits of two origins at one target, which share a pool: requests, one-way
 * requests, cancelled calls, wishes, raises, and recalls that are paid back.
 *
 *   step of the model   in the code
 *   post                src/transport/calls.h:amg_calls_post_locked,
 *                       calls.c:amg_calls_wait_locked
 *   go                  calls.c:amg_calls_go_locked
 *   pay_debt, send_wish  flow.c:amg_flow_pay_debt, amg_flow_wish
 *   origin: REPLY       calls.h:amg_calls_settle_locked,
 *                       amg_calls_credit_locked
 *   origin: change      flow.c:change_read, calls.c:amg_calls_on_note_locked
 *   cancel              calls.c:amg_calls_cancel_locked (an ASKED call)
 *   release             flow.h:amg_flow_owe, amg_calls_owe_locked
 *   answer              a reply: amg_flow_take_owed
 *   target: note        flow.c:amg_flow_read_note, wish_read, return_read
 *   pool_serve, pool_recall  flow.c:pool_serve, raise_by, pool_recall, recall_by
 *   pay                 calls.c:amg_calls_pay_one_locked
 *
 * Each step holds the lock of its domain. Notes may arrive in any order, also
 * before or after requests and replies.
 *
 * In the code and not here: which of two origins is first (here any is), the
 * number of owed credits that is worth a message (here any message or none), a
 * medium without room (posts wait as for a credit), origins that are lost
 * (amg_flow_forget), calls in both directions (their states are apart).
 *
 * FAULT_CANCEL   the late reply to a cancelled call returns no credit
 * FAULT_RECALL   a recalled credit is returned while a request uses it
 * FAULT_ONEWAY   credits of one-way requests are sent with replies alone
 * FAULT_DEBT     what was recalled is not paid when a raise comes after it */
#define ORIGINS 2
#define FIRST 1
#define LIMIT 3
#define POOL 2
#ifdef FULL
#define POSTS 4
#else
#define POSTS 3
#endif

#define ANSWERED 0
#define ONE_WAY 1

typedef origin_state {
    byte posts;   /* to be made */
    byte waiting; /* posts without a credit, */
    byte oneway;  /* of which so many are one-way, */
    byte unanswered;
    byte asked;     /* calls without a reply, but those that */
    byte cancelled; /* were cancelled */
    short extra;
    byte debt;
    bit has_wished;
}
typedef target_state { /* of one origin */
    byte held, oneways; /* requests that were not answered, or released */
    byte owed;
    byte granted, wish, recalled;
    short change;
}
origin_state origins[ORIGINS];
target_state peers[ORIGINS];
byte used;
byte under_way; /* messages */

chan requests[ORIGINS] = [LIMIT] of { bit };     /* ONE_WAY or not */
chan notes[ORIGINS] = [3] of { short };          /* returns, or -wishes */
chan replies[ORIGINS] = [LIMIT] of { byte };     /* credits in each */
chan credits[ORIGINS] = [LIMIT] of { byte, short }; /* and a change */
chan later[ORIGINS] = [LIMIT] of { byte, short };   /* which others overtake */

#define CREDITS(o) (FIRST + origins[o].extra)
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define KEPT(o) (peers[o].granted - peers[o].recalled)
#define SHARERS                                                                \
    ((peers[0].wish > 0 || peers[0].granted > 0 -> 1 : 0) +                    \
        (peers[1].wish > 0 || peers[1].granted > 0 -> 1 : 0))
#define SHARE (SHARERS == 2 -> POOL / 2 : POOL)
hidden short n_; /* used within a step only */
hidden byte i_;

inline send_note(o, upper)
{
    notes[o]!upper;
    under_way++
}

inline pay_debt(o)
{
#ifdef FAULT_RECALL
    n_ = origins[o].debt;
#else
    n_ = MIN(origins[o].debt, CREDITS(o) + origins[o].debt -
        (origins[o].unanswered > 0 -> origins[o].unanswered : 1));
#endif
    if
    :: n_ > 0 ->
        origins[o].debt = origins[o].debt - n_;
        send_note(o, n_)
    :: else
    fi
}

inline send_wish(o)
{
    n_ = LIMIT - CREDITS(o);
    if
    :: origins[o].waiting > 0 && !origins[o].has_wished &&
           origins[o].debt == 0 && n_ > 0 ->
        origins[o].has_wished = 1;
        send_note(o, -n_)
    :: else
    fi
}

/* Sends what waits; the one-way requests are the last ones. */
inline go(o)
{
    do
    :: origins[o].waiting > 0 && origins[o].unanswered < CREDITS(o) ->
        origins[o].unanswered++;
        if
        :: origins[o].waiting == origins[o].oneway ->
            origins[o].oneway--;
            requests[o]!ONE_WAY
        :: else ->
            origins[o].asked++;
            requests[o]!ANSWERED
        fi;
        origins[o].waiting--;
        under_way++
    :: else -> break
    od;
    pay_debt(o);
    send_wish(o)
}

inline take_credits(o, c)
{
    assert(c <= origins[o].unanswered);
    origins[o].unanswered = origins[o].unanswered - (c)
}

inline change_read(o, c)
{
    assert(c <= 0 || CREDITS(o) + c + origins[o].debt <= LIMIT);
    origins[o].extra = origins[o].extra + (c);
    origins[o].debt = origins[o].debt + (c < 0 -> -(c) : 0);
    if
    :: c > 0 && CREDITS(o) + 1 <= LIMIT /* the rest of the wish may come */
    :: else -> origins[o].has_wished = 0
    fi;
    if
#ifdef FAULT_DEBT
    :: c > 0
#else
    :: false
#endif
    :: else -> pay_debt(o)
    fi
}

inline on_note(o, count, c)
{
    take_credits(o, count);
    if
    :: c != 0 ->
        change_read(o, c);
        if
        :: origins[o].waiting > 0 -> go(o)
        :: else
        fi
    :: else
    fi;
    if
    :: count > 0 -> go(o)
    :: else
    fi
}

proctype origin(byte o)
{
    byte count;
    short change;

end:
    do
    :: d_step { origins[o].posts > 0 ->
        origins[o].posts--;
        if
        :: origins[o].posts == 0 -> origins[o].oneway++
        :: else
        fi;
        origins[o].waiting++;
        go(o) }
    :: d_step { origins[o].asked > 0 && o == 0 ->
        origins[o].asked--;
        origins[o].cancelled++ }
    :: atomic { replies[o]?count ->
        under_way--;
        if /* any of the calls */
        :: origins[o].asked > 0 ->
            origins[o].asked--;
            take_credits(o, count + 1)
        :: origins[o].cancelled > 0 ->
            origins[o].cancelled--;
#ifdef FAULT_CANCEL
            take_credits(o, count)
#else
            take_credits(o, count + 1)
#endif
        fi;
        d_step { go(o) };
        count = 0 }
    :: d_step { credits[o]?count, change ->
        under_way--;
        on_note(o, count, change);
        count = 0;
        change = 0 }
    :: d_step { later[o]?count, change ->
        under_way--;
        on_note(o, count, change);
        count = 0;
        change = 0 }
    od
}

inline raise_by(p, count)
{
    n_ = MIN(-peers[p].change, count); /* of a recall that was not said */
    n_ = (n_ > 0 -> n_ : 0);
    peers[p].wish = peers[p].wish - (count);
    peers[p].change = peers[p].change + (count);
    peers[p].recalled = peers[p].recalled - n_;
    used = used + (count) - n_;
    peers[p].granted = peers[p].granted + (count) - n_
}

/* Gives what is left of the pool: all, if one origin wishes. */
inline pool_serve()
{
    do
    :: used < POOL && peers[0].wish > 0 && peers[1].wish > 0 ->
        if
        :: KEPT(0) < SHARE || KEPT(1) >= SHARE -> raise_by(0, 1)
        :: KEPT(1) < SHARE || KEPT(0) >= SHARE -> raise_by(1, 1)
        fi
    :: used < POOL && peers[0].wish > 0 && peers[1].wish == 0 ->
        i_ = MIN(peers[0].wish, POOL - used);
        raise_by(0, i_)
    :: used < POOL && peers[0].wish == 0 && peers[1].wish > 0 ->
        i_ = MIN(peers[1].wish, POOL - used);
        raise_by(1, i_)
    :: else -> break
    od
}

inline pool_recall(p)
{
    if
    :: KEPT(p) > SHARE ->
        i_ = KEPT(p) - SHARE;
        n_ = MIN(peers[p].change, i_); /* of a raise that was not said */
        n_ = (n_ > 0 -> n_ : 0);
        peers[p].change = peers[p].change - i_;
        peers[p].granted = peers[p].granted - n_;
        used = used - n_;
        peers[p].recalled = peers[p].recalled + i_ - n_
    :: else
    fi
}

inline wish_read(p, count)
{
    n_ = LIMIT - FIRST - peers[p].granted;
    peers[p].wish = (n_ <= 0 -> 0 : MIN(count, n_));
    pool_serve();
    if
    :: peers[p].wish > 0 -> pool_recall(0); pool_recall(1); pool_serve()
    :: else
    fi
}

#define OWES(p) (peers[p].owed > 0 || peers[p].change != 0)

proctype target()
{
    short upper;
    bit kind;
    byte p;

end:
    do
    :: atomic { requests[0]?kind -> p = 0 }; goto arrive
    :: atomic { requests[1]?kind -> p = 1 }; goto arrive
    :: atomic { notes[0]?upper -> p = 0 }; goto note
    :: atomic { notes[1]?upper -> p = 1 }; goto note
    :: atomic { peers[0].held > 0 -> p = 0; goto answer }
    :: atomic { peers[1].held > 0 -> p = 1; goto answer }
    :: atomic { peers[0].oneways > 0 -> p = 0; goto release }
    :: atomic { peers[1].oneways > 0 -> p = 1; goto release }
#ifdef FAULT_ONEWAY
    :: atomic { peers[0].change != 0 -> p = 0; goto pay }
    :: atomic { peers[1].change != 0 -> p = 1; goto pay }
#else
    :: atomic { OWES(0) -> p = 0; goto pay }
    :: atomic { OWES(1) -> p = 1; goto pay }
#endif

arrive: atomic {
            under_way--;
            peers[p].held = peers[p].held + 1 - kind;
            peers[p].oneways = peers[p].oneways + kind;
            kind = 0
        };
        goto bounded;
note:   atomic {
            under_way--;
            if
            :: upper > 0 ->
                assert(upper <= peers[p].recalled && upper <= peers[p].granted);
                peers[p].granted = peers[p].granted - upper; /* reached */
                peers[p].recalled = peers[p].recalled - upper;
                used = used - upper;
                pool_serve()
            :: else ->
                upper = -upper;
                wish_read(p, upper)
            fi;
            upper = 0
        };
        goto bounded;
answer: atomic {
            peers[p].held--;
            replies[p]!peers[p].owed;
            peers[p].owed = 0;
            under_way++
        };
        goto bounded;
release: atomic {
            peers[p].oneways--;
            peers[p].owed++
        };
        goto bounded;
pay:    atomic {
            if
            :: credits[p]!peers[p].owed, peers[p].change
            :: later[p]!peers[p].owed, peers[p].change
            fi;
            peers[p].owed = 0;
            peers[p].change = 0;
            under_way++
        };
bounded:
        atomic {
            p = 0;
            assert(used <= POOL &&
                   used == peers[0].granted + peers[1].granted);
            assert(origins[0].unanswered <= FIRST + peers[0].granted);
            assert(origins[1].unanswered <= FIRST + peers[1].granted)
        }
    od
}

#define IS_DONE(o) (origins[o].posts == 0 && origins[o].waiting == 0 &&        \
                    origins[o].unanswered == 0)
#define IS_QUIET (under_way == 0 && !OWES(0) && !OWES(1))

init {
    atomic {
        origins[0].posts = POSTS;
        origins[1].posts = POSTS - 1;
        run origin(0);
        run origin(1);
        run target()
    };
    timeout -> /* nobody has anything to do */
        assert(IS_DONE(0) && IS_DONE(1) && IS_QUIET);
        /* All is at home: what was recalled was paid back, and both sides count
         * the same credits. */
        assert(origins[0].debt == 0 && origins[1].debt == 0);
        assert(peers[0].recalled == 0 && peers[1].recalled == 0);
        assert(origins[0].extra == peers[0].granted);
        assert(origins[1].extra == peers[1].granted)
}

/* Each request leaves and is answered, whatever the other origin does. */
ltl settled { <> [] (IS_DONE(0) && IS_DONE(1)) }
