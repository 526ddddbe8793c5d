/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for MPI while calls are served: requests and barriers. */
#ifndef AMG_MPI_API_WAIT_H
#define AMG_MPI_API_WAIT_H

#include "core/context.h"

/* State of one wait, on the stack of the caller. */
struct amg_mpi_api_serve {
    hg_class_t *cls;
    uint64_t news_ns;       /* time of the last event; 0: not polled yet */
    unsigned turns;         /* since then */
    unsigned next;          /* context to block in */
    bool is_oversubscribed; /* the core was shared at the last check */
    bool leaves_contexts;   /* only the program makes progress on them */
};

#endif
