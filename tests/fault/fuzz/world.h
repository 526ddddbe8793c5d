/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of the target `shm`: two domains of the driver in one process,
 * each a peer of the other, with operations of the contract in flight. */
#ifndef TESTS_FAULT_FUZZ_WORLD_H
#define TESTS_FAULT_FUZZ_WORLD_H

#include "base/mem.h"
#include "fuzz.h"
#include "shm/shm_domain.h"

enum {
    SHM_SIDES = 2,
    SHM_CONTEXTS = 2,
    SHM_MEMORY = 3 * 65536,
    SHM_MESSAGE = 256,
    SHM_ROOM = SHM_MESSAGE * AMG_ROOM_FACTOR, /* the longest in a msgbuf, */
    SHM_LONGEST = AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN, /* and at all */
    SHM_SHOWN = 8,    /* segments that a side exposes */
    SHM_SEGMENTS = 4, /* at most, of an operation, on each side */
};

/* One domain, and its objects. */
struct shm_side {
    struct amg_domain *domain;
    struct amg_ep *eps[SHM_CONTEXTS];
    struct amg_peer *peer; /* the other side; NULL: not looked up yet */
    struct amg_list held;  /* arrivals, answered or not */
    struct amg_mem *mem;
    struct amg_key key;
    uint8_t *memory;            /* even exposed segments */
    struct amg_mapping mapping; /* of the shared heap; odd segments */
    bool is_mad;                /* its segment was corrupted */
    bool is_astray;             /* and its table of exposed memory */
};

extern struct shm_side shm_sides[SHM_SIDES];

/* `copy` chooses the way of bulk data. */
void shm_open(unsigned copy);
/* Completes all operations, and closes both sides; nothing may be left. */
void shm_close(void);

/* Looks the other side up, once. */
bool shm_meet(struct shm_side *side);
void shm_ask(struct shm_side *side, uint8_t context, uint8_t target_context,
    uint32_t len, bool wants_reply);
/* `cuts` says how to split the local memory into segments. */
void shm_move(struct shm_side *side, const struct amg_remote *remote,
    const uint8_t cuts[SHM_SEGMENTS], uint64_t len, bool is_put);
void shm_poll(struct shm_side *side, unsigned times);
/* Cancels all operations in flight. */
void shm_cancel(void);
/* Answers or drops, and releases, all arrivals. */
void shm_release(struct shm_side *side, bool answers);

#endif
