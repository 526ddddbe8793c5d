/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider of libfabric's kind whose network is this process: fast, and every
 * byte on it may be looked at, or made up.
 *
 * Addresses are 127.0.0.1 with the numbers of endpoints as ports. A message to
 * a port of nobody finds no room for ever, as in a connection that never
 * stands; but what goes to OFI_FAKE_LIAR is shown to the test. */
#ifndef TESTS_FAULT_FUZZ_OFI_FAKE_H
#define TESTS_FAULT_FUZZ_OFI_FAKE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OFI_FAKE_LIAR = 60000,   /* its port */
    OFI_FAKE_KEY_GOOD = 256, /* of its memory: what has it is there */
};

struct ofi_fake {
    /* What was sent to the liar. */
    void (*tap)(const uint8_t *bytes, size_t len);
    uint32_t full; /* the next posts find no room, where a bit is set */
    bool holds;    /* reads and writes do not end */
    unsigned live; /* objects that are open */
};

extern struct ofi_fake ofi_fake;

/* Puts it in libfabric's place. */
void ofi_fake_use(void);
/* The next endpoint to be opened has this port. */
void ofi_fake_port(uint16_t port);
/* As if somebody had sent it to that port. */
void ofi_fake_say(uint16_t port, const void *bytes, size_t len);
void ofi_fake_addr(uint16_t port, struct sockaddr_in *ret_addr);

#endif
