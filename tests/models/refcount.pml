/* SPDX-License-Identifier: BSD-3-Clause */
/* A count with spare references, of an object in a pool. A program holds a
 * reference, takes a spare one for an operation, and drops its own. The end of
 * the operation, in another thread, drops the spare one; a third thread drops a
 * reference that it holds, too. Who drops the last reference destroys the
 * object, and the program makes a new one in the same memory.
 *
 *   step of the model   in the code (src/base/refcount.h)
 *   take                amg_refs_take_spare
 *   unref               amg_refs_unref
 *   destroy             e.g. handle_destroy and amg_handle_create of rpc
 *
 * `held` counts the references that somebody holds: no object is destroyed
 * while it is not 0, and the first object is destroyed in the end. The full
 * form has two operations.
 *
 * FAULT_AFTER   the spare is read when the reference is gone
 * FAULT_BEFORE  the count is not checked to be as it was read
 * FAULT_ORDER   the spare is read before the count */
#define SPARE 2
#if defined(FULL)
#define OPS 2
#else
#define OPS 1
#endif

byte count = 2 + SPARE; /* of the program and of the third thread */
byte spare = SPARE;
byte held = 2;
byte object;            /* number of the object in this memory */
byte started;           /* operations */
bit has_started;        /* no operation follows */
byte ended;             /* references dropped */

inline destroy()
{
    assert(held == 0);
    assert(object == 0); /* the second object is never dropped */
    object++;
    count = 1 + SPARE;
    spare = SPARE;
    held = 1
}

inline last()
{
    d_step {
        held--;
        destroy() /* reached */
    }
}

/* Each reads or changes one word in one step. */
inline unref(before, extra)
{
#if defined(FAULT_AFTER)
    atomic { before = count; count--; held-- }
    extra = spare;
    if
    :: before == 1 + extra -> d_step { destroy() }
    :: else
    fi;
#else
#if defined(FAULT_ORDER)
    extra = spare;
#endif
    before = count;
    do
    ::
#if !defined(FAULT_ORDER)
        extra = spare;
#endif
        if
        :: before == 1 + extra -> last(); break
        :: else
        fi;
#if defined(FAULT_BEFORE)
        atomic { count--; held--; break }
#else
        if
        :: atomic { count == before -> count--; held--; break }
        :: atomic { count != before -> before = count } /* reached */
        fi
#endif
    od;
#endif
    atomic { before = 0; extra = 0; ended++ }
}

proctype operation()
{
    byte before, extra;

    unref(before, extra)
}

active proctype program()
{
    byte before, extra;

    do
    :: started < OPS ->
        extra = spare;
        spare = extra - 1; /* take: only this thread takes */
        held++;
        started++;
        run operation()
    :: break
    od;
    has_started = 1;
    unref(before, extra)
}

active proctype third()
{
    byte before, extra;

    unref(before, extra);
    ended == 2 + started && has_started;
    assert(object == 1)
}
