/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for MPI while calls are served: requests and barriers. */
#ifndef AMG_MPI_API_WAIT_H
#define AMG_MPI_API_WAIT_H

#include "core/context.h"

/* One wait; the caller's, on its stack. */
struct amg_mpi_api_serve {
    hg_class_t *cls;
    uint64_t news_ns; /* when something last happened; 0: not looked yet */
    unsigned turns;   /* since then */
    unsigned next;    /* context to nap in */
    bool is_oversubscribed; /* others wanted the core when last asked */
    bool leaves_contexts;   /* the program alone drives them */
};

#endif
