/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to servers that may take only so long. */
#ifndef CHECKPOINT_CALL_H
#define CHECKPOINT_CALL_H

#include <stdbool.h>

#include "jobs/apps/checkpoint/job.h"
#include "jobs/apps/checkpoint/stats.h"

/* What the calls of a sender share. Owned by the sender. */
struct callers {
    struct job *job;
    int wait_s;
    hg_addr_t *addrs; /* of the servers */
    bool *is_silent;  /* servers that let a call wait too long */
    bool has_silent;
    struct stats stats;
};

/* One call after the other; lives in its user. */
struct call {
    struct callers *callers;
    /* Runs when the call has ended; the handle is valid meanwhile. */
    void (*done)(struct call *call, hg_return_t ret);
    hg_handle_t handle;
    int server;
    uint64_t start_ns;
    bool is_busy;
    bool is_late;
};

/* False: reported. */
bool callers_open(struct callers *callers, struct job *job, int wait_s);
void callers_close(struct callers *callers);

void call_init(struct call *call, struct callers *callers,
    void (*done)(struct call *call, hg_return_t ret));
/* Sends `in` to a server. On an error `done` does not run. */
hg_return_t call_forward(struct call *call, int server, hg_id_t id, void *in);
/* Ends the call if it has taken too long; `done` runs later, as always. */
void call_poll(struct call *call, uint64_t now_ns);
/* For a message: why a call ended with `ret`. */
const char *call_error(const struct call *call, hg_return_t ret);
void call_fini(struct call *call);

#endif
