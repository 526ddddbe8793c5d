/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread that blocks its whole stream in a call which is no
 * concern of this room - a progress loop that sleeps on descriptors - says so
 * here, and how it is woken when something becomes ready for the stream. */
#ifndef AMG_ULT_DOZE_H
#define AMG_ULT_DOZE_H

#include <stdbool.h>

/* Who dozes; the caller's from begin to end. */
struct amg_doze {
    void (*ring)(void *arg); /* from any thread, also before the sleep begins,
                              * which it then has to end as well */
    void *arg;
};

/* By a user-level thread: from now on a push into one of the pools of its
 * stream rings. False: something is ready there already, or the stream has
 * been asked for something; nothing was announced, do not sleep. */
bool amg_doze_begin(struct amg_doze *doze);

/* It is awake again; after a begin that returned true. Waits for rings that
 * are under way. */
void amg_doze_end(struct amg_doze *doze);

/* How many threads other than the caller are ready in the pools of its stream,
 * and one more when its scheduler has something to look at; no lock. 0 for who
 * is no user-level thread. */
unsigned amg_doze_ready(void);

/* Is the stream of the caller asked to end, and does another one run its pool?
 * It should block for a moment then, to go on there. */
bool amg_doze_must_leave(void);

#endif
