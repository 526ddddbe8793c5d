/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain with one endpoint, in this process or in a child that serves. */
#ifndef TESTS_UNIT_SHM_PARTY_H
#define TESTS_UNIT_SHM_PARTY_H

#include <stdbool.h>
#include <sys/types.h>

#include "shm/shm_domain.h"

enum {
    PARTY_TEXT_CAP = 128,
    PARTY_ENOUGH_MS = 30000, /* for events that must happen */
    PARTY_BYE = 0xb1e,       /* the number of the last request */
};

/* Behaviour of a child towards requests. */
enum party_role {
    PARTY_ECHO,     /* answers with the same bytes; polls without pause */
    PARTY_SLEEPER,  /* the same, and blocks when idle */
    PARTY_NAMELESS, /* a sleeper whose segment has lost its name */
    PARTY_DEAF,     /* never polls */
    PARTY_KEEPER,   /* receives them and does not reply */
    PARTY_LEAVER,   /* echoes, and closes at once after PARTY_BYE */
    PARTY_QUITTER,  /* the same, and exits without closing */
};

/* The domain of this process. */
struct party {
    struct amg_domain *domain;
    struct amg_ep *ep;
    unsigned served;
    uint32_t heard; /* the number of the last request */
};

struct party_child {
    pid_t pid;
    int in; /* written to: the child closes its domain and ends */
    char address[PARTY_TEXT_CAP];
};

/* `name` is chosen, or "". */
void party_open(struct party *party, const char *name, uint32_t credits);
void party_close(struct party *party);
/* One poll: takes completions, and echoes requests. */
unsigned party_poll(struct party *party);
/* Blocks until an event, at most PARTY_ENOUGH_MS. */
void party_sleep(struct party *party);

/* Call it before the process opens a domain of its own. */
void party_child_start(
    struct party_child *child, enum party_role role, const char *name);
/* Lets the child close its domain, and waits for its end. */
void party_child_end(struct party_child *child);
void party_child_kill(struct party_child *child);
/* Waits until a child has ended by itself. */
void party_child_join(struct party_child *child);

/* A call, with its result. */
struct party_call {
    struct amg_op op;
    unsigned done;
};

/* Posts a request of `len` bytes; the first are `number`. */
void party_ask(struct party *party, struct amg_peer *peer,
    struct party_call *call, uint32_t number, uint32_t len);
/* Polls until the call has ended. Returns its result. */
hg_return_t party_wait(struct party *party, struct party_call *call);
/* The same, blocking. */
hg_return_t party_wait_asleep(struct party *party, struct party_call *call);
/* Releases the reply. Was it `number`? */
bool party_answer_is(
    struct party *party, struct party_call *call, uint32_t number);

struct amg_peer *party_find(struct party *party, const char *address);

#endif
