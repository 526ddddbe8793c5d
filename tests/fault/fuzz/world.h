/* SPDX-License-Identifier: BSD-3-Clause */
/* World of a target that feeds a driver: two domains of the driver in one
 * process, each a peer of the other, with operations of the contract in flight.
 *
 * A target has `world_medium`: how to open a domain, and the steps of which an
 * input is a sequence. Steps that attack are the target's; steps that use the
 * driver as the library does are functions of this file. */
#ifndef TESTS_FAULT_FUZZ_WORLD_H
#define TESTS_FAULT_FUZZ_WORLD_H

#include "fuzz.h"
#include "transport/transport.h"

enum {
    WORLD_SIDES = 2,
    WORLD_CONTEXTS = 2,
    WORLD_SHOWN = 8,    /* segments that a side exposes */
    WORLD_SEGMENTS = 4, /* at most, of an operation, on each side */
    WORLD_CREDITS = 4,  /* of each side at the other */
};

/* One domain, and its objects. */
struct world_side {
    struct amg_domain *domain;
    struct amg_ep *eps[WORLD_CONTEXTS];
    struct amg_peer *other; /* the other side; NULL: not looked up yet */
    struct amg_peer *liar;  /* played by the target; NULL: there is none */
    struct amg_list held;   /* arrivals, answered or not */
    struct amg_mem *mem;
    struct amg_key key;
    uint8_t *memory;       /* even exposed segments */
    uint8_t *other_memory; /* odd exposed segments */
    bool is_mad;           /* its own memory was corrupted */
    bool is_astray;        /* its table of exposed memory was corrupted, too */
};

extern struct world_side world_sides[WORLD_SIDES];

/* One step of an input. */
struct world_step {
    struct world_side *side;
    bool of_liar; /* with the liar, rather than the other side */
    uint8_t how;
};

typedef void (*world_step_fn)(struct fuzz *fuzz, const struct world_step *step);

/* What differs between the drivers. */
struct world_medium {
    const struct amg_transport *driver;
    uint32_t memory_len; /* of each memory of a side */
    uint32_t longest;    /* message that may arrive */
    bool is_cut;         /* local memory is cut into segments by the input */
    unsigned liar_odds;  /* one of so many steps is with the other side, the
                          * rest with the liar; 1: there is no liar */
    unsigned polls_max;  /* of a step */
    unsigned steps_max;  /* of an input */
    unsigned step_count;
    const world_step_fn *steps;

    /* An input begins; it may choose settings. */
    void (*begin)(struct fuzz *fuzz);
    /* Opens the domain, finds the liar, and sets both memories. */
    void (*open)(struct world_side *side);
    /* Undoes `open`, after endpoints were closed and memory was taken back. */
    void (*close)(struct world_side *side);
    /* The two sides know each other before the input begins. */
    bool meets_first;
    /* The medium of both sides works again. */
    void (*calm)(void);
    /* A tenth of a second passes; with `is_long`, any deadline. */
    void (*wait)(struct world_side *side, bool is_long);
    /* Ends the access that keeps exposed memory busy. */
    void (*free_memory)(struct world_side *side);
};

/* The target's. */
extern const struct world_medium world_medium;

struct world_side *world_other(const struct world_side *side);

/* Polls all contexts of a side. */
void world_poll(struct world_side *side, unsigned times);

/* Step: a valid request. */
void world_ask(struct fuzz *fuzz, const struct world_step *step);
/* Step: a put or get, valid, or with an altered key. */
void world_move(struct fuzz *fuzz, const struct world_step *step);
/* Step: one side polls. */
void world_turn(struct fuzz *fuzz, const struct world_step *step);
/* Step: answers or drops, and releases, all arrivals. */
void world_answer(struct fuzz *fuzz, const struct world_step *step);
/* Step: announces that it will block. */
void world_sleep(struct fuzz *fuzz, const struct world_step *step);
/* Step: cancels all operations in flight. */
void world_cancel(struct fuzz *fuzz, const struct world_step *step);

#endif
