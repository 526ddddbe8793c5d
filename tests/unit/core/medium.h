/* SPDX-License-Identifier: BSD-3-Clause */
/* A medium for tests of waiting: the loopback, with events and a descriptor
 * that the test itself makes. */
#ifndef TESTS_UNIT_CORE_MEDIUM_H
#define TESTS_UNIT_CORE_MEDIUM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/context.h"

enum { MEDIUM_WAIT_MS = 20000 }; /* longer than any wait of a test that works */

/* What its one endpoint does; all zero from medium_open() on. */
struct medium {
    atomic_uint events; /* the next poll tells and forgets them */
    atomic_bool is_armed;
    atomic_uint polls;
    atomic_uint arms;
    atomic_uint asked; /* for company */
    atomic_bool is_oversubscribed;
    bool has_moved;       /* each poll says so */
    bool is_not_pollable; /* has no descriptor */
    int event_fd;
};

extern struct medium medium;

/* What the set-ups below have opened. */
extern hg_context_t *medium_context;

/* Set-ups of cmocka: one that has a descriptor, and one that has none. */
int medium_open_sleeping(void **state);
int medium_open_not_pollable(void **state);

/* A class with the loopback and this as its main route, and a context. */
hg_context_t *medium_open(bool is_not_pollable, bool no_block);
void medium_close(hg_context_t *context);

/* Somebody sends: the descriptor is rung when the endpoint is armed. */
void medium_send(void);

#endif
