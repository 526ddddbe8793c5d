/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the contexts of a class while the program waits for MPI. */
#ifndef AMG_COMM_SERVE_H
#define AMG_COMM_SERVE_H

#include "core/context.h"

/* One wait; the caller's, on its stack. */
struct amg_comm_serve {
    hg_class_t *cls;
    uint64_t news_ns;     /* when something last happened; 0: not looked yet */
    unsigned turns;       /* since then */
    unsigned next;        /* context to nap in */
    bool is_crowded;      /* others wanted the core when last asked */
    bool leaves_contexts; /* the program alone drives them */
};

void amg_comm_serve_init(struct amg_comm_serve *serve, hg_class_t *cls);

/* Progress, and the callbacks that are due, of all contexts. Returns how many
 * things happened. */
unsigned amg_comm_serve_once(struct amg_comm_serve *serve);

/* The same; where nothing happened, and others want the core, it is given away:
 * until a context has news, the moment has come, or a look at MPI is due, which
 * nothing tells of. `now_ns` is the present. */
void amg_comm_serve_turn(
    struct amg_comm_serve *serve, uint64_t now_ns, uint64_t deadline_ns);

#endif
