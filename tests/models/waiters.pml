/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes the progress of a context: callers of HG_Progress(), of which one is
 * the owner and the others wait in a list, and a thread that stands by behind all
 * callers: the progress thread, or a loop of Margo, which also runs entries
 * (`heeds`). A sender causes what somebody must see: an event of an
 * endpoint, an entry of another thread in the queue, a post that only the next
 * poll sees, a check at an earlier time, callbacks that it has run, which end
 * all waits. One caller may end its wait by a time limit, and each may stop after
 * any callback.
 *
 *   step of the model  in the code
 *   own                src/core/progress.h:amg_progress_own
 *   poll               core/progress.c:amg_progress_poll, hot_look
 *   arm                core/cq.c:amg_cq_arm; core/wakeup.c:
 *                      amg_wakeup_arm, which arms the endpoints
 *   block              core/wakeup.c:amg_wakeup_block
 *   leave              core/progress.h:amg_progress_disown; core/cq.c:
 *                      amg_cq_hand_over
 *   enter, look, sleep core/progress.c:waiter_wait; core/cq.c:
 *                      amg_cq_enter, amg_cq_leave; core/wakeup.c:
 *                      amg_wakeup_sleep
 *   thread             core/standby.c:drive, drive_sleep, sleep_behind
 *   event, entry, post core/cq.c:amg_cq_pushed_unlock, amg_cq_wake_armed
 *   look               core/context.c:amg_context_look_at
 *   ring               core/progress.c:ran_tell, ran_is_news; core/context.c:
 *                      amg_context_ring; core/cq.c:amg_cq_ring
 *
 * Memory is sequentially consistent: what is under the lock of the queue is one
 * step, and a fence stands between each store and the load that follows it here:
 * in amg_bias_unlock_fenced(), amg_cq_enter(), amg_cq_arm().
 *
 * In the code and not here: the endpoints' own protocol (shm_ring.pml); the
 * event loop of a program, which arms as the progress thread does; threads in
 * HG_Trigger(), which wait in a list of their own and never own; handlers that
 * wait in the progress thread, and may run incoming calls alone; naps, after
 * which a thread looks again by itself; a progress thread that stops, but for
 * the larger form.
 *
 * FAULT_ENTER     a caller tries to own before it is in the list
 * FAULT_HAND_ON   a waiter that leaves does not hand on a free role
 * FAULT_OWNER     an owner that leaves wakes no waiter
 * FAULT_STANDBY   an owner that leaves does not wake the armed progress thread
 * FAULT_RESET     a waiter clears its wake word after it has looked
 * FAULT_EPOCH     a wake between the last poll and the announcement is lost
 * FAULT_LOOK      the endpoints are armed without another look at them
 * FAULT_RAN       an owner does not look for news after its announcement
 * FAULT_HEED      an entry does not wake a thread that runs entries
 * FAULT_BEHIND    the progress thread sleeps behind an owner without a last try
 *                 to own */
#define CALLERS 2
#define THREAD CALLERS
#define NOBODY 9

byte owner = NOBODY;
byte pending; /* what the next poll finds */
byte entries; /* of the queue */
bit has_look; /* a check of the context is due */
#define OWNER 0
#define STANDBY 1
bit is_old[2]; /* a wake came since the epoch was read */

byte list[CALLERS], listed; /* the waiters, in order */
bit is_woken[CALLERS];      /* wake words */

bit is_armed[2], bell[2];   /* of the blocked owner, and of the thread */
bit are_eps_armed, has_ep_event;

bit must_stop, has_thread;
bit heeds; /* the thread runs entries of the queue, as Margo's loop does */
bit has_news[CALLERS]; /* a ring came, and the caller has not returned since */
bit sleeps[CALLERS];   /* for assertions alone */

/* Wakes the first waiter. */
inline first_wake()
{
    if
    :: listed > 0 -> is_woken[list[0]] = 1
    :: else
    fi
}

inline bell_ring(who)
{
    if
    :: is_armed[who] -> bell[who] = 1
    :: else
    fi
}

/* amg_cq_wake_armed() */
inline wake()
{
    is_old[OWNER] = 1;
    is_old[STANDBY] = 1;
    bell_ring(OWNER);
    bell_ring(STANDBY)
}

inline list_remove(me)
{
    at = 0;
    do
    :: list[at] == me -> break
    :: else -> at++
    od;
    listed--;
    do
    :: at < listed -> list[at] = list[at + 1]; at++
    :: else -> break
    od;
    at = 0
}

inline poll_eps()
{
    are_eps_armed = 0;
    has_ep_event = 0;
    found = pending > 0;
    entries = entries + pending;
    pending = 0
}

/* By the owner: gives up the role, then looks for those who wait for it. */
inline leave()
{
    owner = NOBODY;
    atomic {
        is_old[OWNER] = 1;
        is_old[STANDBY] = 1;
        if
        :: listed > 0 ->
#ifndef FAULT_OWNER
            first_wake()
#endif
        :: else ->
#ifndef FAULT_STANDBY
            bell_ring(STANDBY)
#endif
        fi
    }
}

/* Announces to the queue and the endpoints that `who` will block; `armed`. */
inline arm(who, heeds_entries)
{
    atomic {
        armed = (!heeds_entries || entries == 0);
#ifndef FAULT_EPOCH
        armed = armed && !is_old[who];
#endif
        is_armed[who] = armed
    };
    atomic {
        are_eps_armed = are_eps_armed || armed;
#ifndef FAULT_LOOK
        if
        :: armed && pending > 0 ->
            armed = 0;
            is_armed[who] = 0;
            bell[who] = 0
        :: else
        fi
#endif
    }
}

inline disarm(who)
{
    atomic { is_armed[who] = 0; bell[who] = 0 }
}

proctype caller(byte me; bit is_patient)
{
    bit found, armed;
    byte at;

progress:
    if
    :: atomic { owner == NOBODY -> owner = me }; goto own
    :: owner != NOBODY
    fi;
#ifndef FAULT_ENTER
    atomic { list[listed] = me; listed++ };
#endif
again:
#ifndef FAULT_RESET
    is_woken[me] = 0;
#endif
    if
    :: entries > 0 || has_news[me] -> goto go
    :: else
    fi;
    if
    :: atomic { owner == NOBODY -> owner = me };
#ifndef FAULT_ENTER
       atomic { list_remove(me) };
#endif
       goto own
    :: owner != NOBODY
    fi;
#ifdef FAULT_ENTER
    atomic { list[listed] = me; listed++ };
#endif
#ifdef FAULT_RESET
    is_woken[me] = 0;
#endif
    sleeps[me] = 1;
end_listed:
    if
    :: atomic { is_woken[me] -> sleeps[me] = 0 };
#ifdef FAULT_ENTER
       atomic { list_remove(me) };
#endif
       goto again /* reached */
    :: atomic { !is_patient -> sleeps[me] = 0 } /* its time limit */
    fi;

go: /* hands on a role that nobody has */
    atomic { list_remove(me) };
#ifndef FAULT_HAND_ON
    if
    :: atomic { owner == NOBODY -> owner = me }; leave()
    :: owner != NOBODY
    fi;
#endif
    goto trigger;

own:
    do
    :: is_old[OWNER] = 0;
       atomic {
           poll_eps();
           found = found || entries > 0 || has_news[me] || has_look;
           has_look = 0;
           if
           :: found -> break
           :: else
           fi
       };
       arm(OWNER, true);
#ifndef FAULT_RAN
       if
       :: armed && has_news[me] -> disarm(OWNER); break
       :: else
       fi;
#endif
       if
       :: armed ->
           sleeps[me] = 1;
end_owner:
           if
           :: atomic { bell[OWNER] || has_ep_event -> sleeps[me] = 0 }
           :: atomic { !is_patient -> sleeps[me] = 0 }; found = 1
           fi;
           disarm(OWNER);
           if
           :: found -> break
           :: else
           fi
       :: else
       fi
    od;
    leave();

trigger:
    atomic {
        found = 0;
        armed = 0;
        has_news[me] = 0;
        if
        :: entries > 0 -> entries--
        :: else
        fi
    };
    if
    :: goto progress
    :: true /* this thread calls no more, at least one other one does */
    fi
}

proctype thread()
{
    bit found, armed;

    do
    :: must_stop -> break
    :: !must_stop ->
       atomic {
           if
           :: heeds && entries > 0 -> entries--
           :: else
           fi
       };
       if
       :: atomic { owner == NOBODY -> owner = THREAD };
          is_old[STANDBY] = 0;
          atomic { poll_eps(); found = found || has_look; has_look = 0 };
          if
          :: found || listed > 0 -> leave()
          :: else ->
              arm(STANDBY, heeds);
              if
              :: armed ->
                  owner = NOBODY;
                  atomic {
                      if
                      :: listed > 0 -> first_wake()
                      :: else
                      fi
                  };
end_armed:
                  bell[STANDBY] || has_ep_event;
                  armed = 0;
                  disarm(STANDBY)
              :: else -> leave()
              fi
          fi
       :: owner != NOBODY ->
          is_old[STANDBY] = 0;
          atomic {
              found = 0;
              armed = !is_old[STANDBY] && !(heeds && entries > 0);
              is_armed[STANDBY] = armed
          };
          if
          :: armed ->
#ifndef FAULT_BEHIND
              if
              :: atomic { owner == NOBODY -> owner = THREAD };
                 disarm(STANDBY);
                 leave()
              :: owner != NOBODY ->
#endif
end_behind:
                 bell[STANDBY];
                 armed = 0;
                 disarm(STANDBY)
#ifndef FAULT_BEHIND
              fi
#endif
          :: else
          fi
       fi
    od;
    if
    :: atomic { owner == NOBODY -> owner = THREAD };
       atomic { poll_eps() };
       leave()
    :: owner != NOBODY
    fi
}

/* What somebody must see. */
proctype event()
{
    atomic {
        pending++;
        has_ep_event = has_ep_event || are_eps_armed
    }
}

proctype entry()
{
    atomic {
        entries++;
        bell_ring(OWNER);
#ifndef FAULT_HEED
        if
        :: heeds -> bell_ring(STANDBY)
        :: else
        fi;
#endif
        first_wake()
    }
}

proctype post()
{
    pending++;
    atomic {
        if
        :: is_armed[OWNER] || is_armed[STANDBY] -> wake()
        :: else
        fi
    }
}

/* amg_context_look_at() */
proctype look()
{
    has_look = 1;
    atomic { wake() }
}

/* A thread has run callbacks, and counted: ran_tell(). amg_context_ring() wakes
 * in any case. */
proctype ring()
{
    byte i;

    d_step {
        do
        :: i < CALLERS -> has_news[i] = 1; i++
        :: else -> break
        od;
        i = 0
    };
    atomic {
        if
        :: listed > 0 || is_armed[OWNER] ->
            is_old[OWNER] = 1;
            is_old[STANDBY] = 1;
            bell_ring(OWNER);
            do
            :: i < listed -> is_woken[list[i]] = 1; i++
            :: else -> break
            od
        :: else
        fi
    }
}

proctype stop()
{
    must_stop = 1;
    bell[STANDBY] = 1
}

#define A_CALLER_SLEEPS (sleeps[0] || sleeps[1])
#define IS_TOLD(i)      (!(sleeps[i] && has_news[i]))

/* When all stand. */
proctype judge()
{
    timeout ->
    assert(!(A_CALLER_SLEEPS && (pending > 0 || entries > 0 || has_look)));
    assert(!(has_thread && !must_stop && (pending > 0 || has_look)));
    assert(!(has_thread && heeds && entries > 0));
    assert(!(listed > 0 && owner == NOBODY));
    assert(IS_TOLD(0) && IS_TOLD(1))
}

init
{
    byte i = 0;
    byte count = 0;

    atomic {
        do
        :: i < CALLERS ->
            if
            :: run caller(i, i == 0); count++ /* the first has no time limit */
            :: true                           /* never calls */
            fi;
            i++
        :: else -> break
        od;
        if
        :: has_thread = 1;
            if
            :: count < CALLERS -> heeds = 1 /* fewer states */
            :: true
            fi;
            run thread();
#ifdef FULL
            if
            :: run stop()
            :: true
            fi
#endif
        :: true
        fi;
        if
        :: run event()
        :: run entry()
        :: run post()
        :: run ring()
        :: run look()
        fi;
#ifdef FULL
        if
        :: run event()
        :: run entry()
        fi;
#endif
        run judge()
    }
}
