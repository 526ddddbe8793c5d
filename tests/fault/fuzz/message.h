/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of the target `message`: a class that serves several RPCs, and a
 * way to inject any message. */
#ifndef TESTS_FAULT_FUZZ_MESSAGE_H
#define TESTS_FAULT_FUZZ_MESSAGE_H

#include "mercury.h"
#include "mercury_bulk.h"

enum {
    MESSAGE_LEN_MAX = 1024,
    MESSAGE_CONTEXTS = 2,
    MESSAGE_STEPS_MAX = 24,
};

enum message_rpc {
    MESSAGE_ARGS,    /* ints, strings, objects and raw bytes, returned */
    MESSAGE_BULK,    /* pulls from the handle it receives */
    MESSAGE_ONE_WAY, /* no reply */
    MESSAGE_LONG,    /* an output too long for one message */
    MESSAGE_LIAR,    /* answers with the bytes in message_world.lie */
    MESSAGE_LATER,   /* answered when the input ends */
    MESSAGE_DEAF,    /* registered without a callback */
    MESSAGE_BARE,    /* one-way, its handler gets no handle */
    MESSAGE_RPC_COUNT
};

/* State of one input. */
struct message_world {
    unsigned variant;
    hg_class_t *cls;
    hg_context_t *contexts[MESSAGE_CONTEXTS];
    hg_addr_t self;
    hg_id_t ids[MESSAGE_RPC_COUNT];
    hg_bulk_t bulk; /* exposed */
    unsigned in_flight;
    hg_handle_t later[MESSAGE_STEPS_MAX];
    unsigned later_count;
    uint64_t tokens[2 * MESSAGE_STEPS_MAX]; /* of long replies not yet pulled */
    unsigned token_count;
    uint8_t lie[MESSAGE_LEN_MAX]; /* a reply with its header */
    uint32_t lie_len;
    bool is_late; /* the next one-way arrival becomes a late reply */
};

extern struct message_world message_world;

/* `variant` chooses checksums, user headers, and early release. */
void message_open(unsigned variant);
/* Answers held calls, acknowledges long replies, makes a good call of each
 * kind, and closes; nothing may be left. */
void message_close(void);

/* Progress and callbacks until nothing is in flight. */
void message_drain(void);

/* Sends the bytes as they are. */
void message_inject(
    const void *bytes, uint32_t len, bool wants_reply, uint8_t context);
/* Calls an RPC like a program. Other messages in the name of this process may
 * disturb the call, unless it `is_good`: then there were none. */
void message_call(enum message_rpc rpc, bool is_good);

/* Good arguments of an RPC; returns their length. */
size_t message_args(enum message_rpc rpc, void *ret_args, size_t cap);

#endif
