/* SPDX-License-Identifier: BSD-3-Clause */
/* Fake transport for tests of waiting: the loopback, with events and a
 * descriptor that the test triggers. */
#ifndef TESTS_UNIT_CORE_MEDIUM_H
#define TESTS_UNIT_CORE_MEDIUM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/context.h"

enum { MEDIUM_WAIT_MS = 20000 }; /* longer than any wait of a correct run */

/* Behaviour of its endpoint; all zero after medium_open(). */
struct medium {
    atomic_uint events; /* the next poll returns them */
    atomic_bool is_armed;
    atomic_uint polls;
    atomic_uint arms;
    atomic_uint asked; /* calls of is_oversubscribed */
    atomic_bool is_oversubscribed;
    bool has_moved;       /* every poll reports it */
    bool is_not_pollable; /* has no descriptor */
    int event_fd;
};

extern struct medium medium;

/* Objects that the set-ups below open. */
extern hg_context_t *medium_context;

/* Set-ups of cmocka: one with a descriptor, and one without. */
int medium_open_sleeping(void **state);
int medium_open_not_pollable(void **state);

/* A class with the loopback and this transport as its main route, and a
 * context. */
hg_context_t *medium_open(bool is_not_pollable, bool no_block);
void medium_close(hg_context_t *context);

/* A message arrives: signals the descriptor if the endpoint is armed. */
void medium_send(void);

#endif
