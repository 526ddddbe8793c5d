/* SPDX-License-Identifier: BSD-3-Clause */
/* The world of the target `ofi`: two domains of the driver in one process, each
 * a peer of the other, with operations of the contract under way; and the liar,
 * whom both know, and whom the target plays. */
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
    OFI_SEGMENTS = 4, /* that an operation names at most, on each side */
    OFI_PORT = 1000,  /* of the first side; the others follow */
    OFI_PEERS_MAX = 300,
    OFI_CREDITS = 4, /* of each side at the other */
};

/* One domain, and what it needs. */
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

/* Opens both, which then know each other. */
void ofi_open(void);
/* Ends what is under way, sees that both still hear each other, and closes
 * them; nothing may be left. */
void ofi_close(void);

void ofi_ask(struct ofi_side *side, bool of_liar, uint8_t context,
    uint8_t target_context, uint32_t len, bool wants_reply);
void ofi_move(struct ofi_side *side, bool of_liar,
    const struct amg_remote *remote, uint64_t len, bool is_put);
void ofi_poll(struct ofi_side *side, unsigned times);
/* Cancels the operations under way. */
void ofi_cancel(void);
/* Answers or drops, and releases, what arrived. */
void ofi_release(struct ofi_side *side, bool answers);
/* A tenth of a second has passed; with `is_long`, any deadline. */
void ofi_wait(struct ofi_side *side, bool is_long);

#endif
