/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads that wait for a request each, of one class: one of them drives,
 * the other one sleeps. A third thread completes one of the requests, or the
 * driver does. When both waits have ended, the class is finalized.
 *
 *   step of the model  in the code (src/util/request.c)
 *   elect              request_wait: the exchange of `driver`
 *   drive              request_drive
 *   leave              request_wait: the store of `driver`, sleepers_wake
 *   sleep              request_sleep
 *   complete           hg_request_complete, by the driver
 *   outside            hg_request_complete, by another thread
 *   finalize           hg_request_finalize
 *
 * All accesses that two threads share are sequentially consistent or under the
 * mutex, so each statement is one step. Thread 0 may give up by its time limit;
 * thread 1 has none.
 *
 * FAULT_LEAVE   the driver that leaves wakes nobody
 * FAULT_COUNT   a thread counts as sleeper after its checks
 * FAULT_DONE    the driver completes a request and wakes nobody
 * FAULT_MUTEX   another thread than the driver completes without the mutex */
#define WAITERS 2

bit done[WAITERS];
bit answered[WAITERS]; /* the callback of the request is due */
bit waits[WAITERS];    /* in pthread_cond_clockwait() */
bit over[WAITERS];
byte driver;           /* 0: none; else the number of the waiter, from 1 */
byte sleepers;
bit mutex;
bit gone;      /* the class is finalized */
bit is_outside; /* another thread completes request 1 */

inline lock()
{
    atomic { mutex == 0 -> mutex = 1 }
}

inline unlock()
{
    mutex = 0
}

inline broadcast()
{
    atomic { waits[0] = 0; waits[1] = 0 }
}

inline sleepers_wake()
{
    assert(!gone);
    if
    :: sleepers > 0 ->
        lock();
        broadcast();
        unlock()
    :: else
    fi
}

inline complete(i)
{
    if
    :: atomic { answered[i] && !done[i] -> done[i] = 1 };
#ifndef FAULT_DONE
        sleepers_wake()
#endif
    :: else
    fi
}

inline drive(me)
{
    do
    :: done[me] -> break
    :: !done[me] ->
        complete(0);
        complete(1)
    :: me == 0 -> break /* its time is over */
    od
}

inline sleep(me)
{
    lock();
#ifndef FAULT_COUNT
    sleepers++;
#endif
    do
    :: done[me] || driver == 0 -> break
    :: else ->
#ifdef FAULT_COUNT
        sleepers++;
#endif
        atomic { waits[me] = 1; mutex = 0 };
        if
        :: waits[me] == 0 /* reached */
        :: atomic { me == 0 -> waits[me] = 0; late = 1 } /* its time is over */
        fi;
        lock();
#ifdef FAULT_COUNT
        sleepers--;
#endif
        if
        :: late -> break
        :: else
        fi
    od;
#ifndef FAULT_COUNT
    sleepers--;
#endif
    unlock()
}

proctype waiter(byte me)
{
    bit late = 0;
    bit mine = 0;

    do
    :: done[me] || late -> break
    :: else ->
        /* elect */
        atomic {
            if
            :: driver == 0 -> driver = me + 1; mine = 1
            :: else -> mine = 0
            fi
        };
        if
        :: mine ->
            drive(me);
            driver = 0;
#ifndef FAULT_LEAVE
            sleepers_wake();
#endif
            break
        :: else -> sleep(me)
        fi
    od;
    over[me] = 1
}

proctype outside()
{
    if
    :: answered[1] = 1 /* the driver completes it */
    :: is_outside = 1;
#ifndef FAULT_MUTEX
        lock();
#endif
        done[1] = 1;
        assert(!gone);
        if
        :: sleepers > 0 -> broadcast() /* reached */
        :: else
        fi;
#ifndef FAULT_MUTEX
        unlock()
#endif
    fi;
    if
    :: answered[0] = 1
    :: true /* request 0 is never answered */
    fi
}

proctype finalizer()
{
    over[0] && over[1] && (done[1] || !is_outside);
    lock();
    unlock();
    gone = 1
}

init {
    atomic {
        run waiter(0);
        run waiter(1);
        run outside();
        run finalizer()
    }
}

/* ends: weak fairness */
ltl ends { <> over[1] }
