/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of the target `ofi`: two domains of the driver in one process,
 * each a peer of the other, with operations of the contract in flight; and the
 * liar, which both know, and which the target plays. */
#ifndef TESTS_FAULT_FUZZ_OFI_H
#define TESTS_FAULT_FUZZ_OFI_H

#include "fuzz.h"
#include "ofi_backend/ofi_domain.h"
#include "ofi_fake.h"

enum {
    OFI_SIDES = 2,
    OFI_CONTEXTS = 2,
    OFI_MEMORY = 65536,
    OFI_MESSAGE = 512,
    OFI_ROOM = OFI_MESSAGE * AMG_ROOM_FACTOR, /* the longest message */
    OFI_SHOWN = 8,                            /* segments that a side exposes */
    OFI_SEGMENTS = 4, /* at most, of an operation, on each side */
    OFI_PORT = 1000,  /* of the first side; the others follow */
    OFI_PEERS_MAX = 300,
    OFI_CREDITS = 4, /* of each side at the other */
};

/* One domain, and its objects. */
struct ofi_side {
    struct amg_domain *domain;
    struct amg_ep *eps[OFI_CONTEXTS];
    struct amg_peer *other;
    struct amg_peer *liar;
    struct amg_list held; /* arrivals, answered or not */
    struct amg_mem *mem;
    struct amg_key key;
    uint8_t memory[OFI_MEMORY];
};

extern struct ofi_side ofi_sides[OFI_SIDES];

/* Opens both sides, which then know each other. */
void ofi_open(void);
/* Completes all operations, checks that both sides still communicate, and
 * closes them; nothing may be left. */
void ofi_close(void);

void ofi_ask(struct ofi_side *side, bool of_liar, uint8_t context,
    uint8_t target_context, uint32_t len, bool wants_reply);
void ofi_move(struct ofi_side *side, bool of_liar,
    const struct amg_remote *remote, uint64_t len, bool is_put);
void ofi_poll(struct ofi_side *side, unsigned times);
/* Cancels all operations in flight. */
void ofi_cancel(void);
/* Answers or drops, and releases, all arrivals. */
void ofi_release(struct ofi_side *side, bool answers);
/* A tenth of a second passes; with `is_long`, any deadline. */
void ofi_wait(struct ofi_side *side, bool is_long);

#endif
