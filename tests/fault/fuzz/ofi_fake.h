/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake libfabric provider whose network is this process: fast, and every byte
 * on it may be inspected, or invented.
 *
 * Addresses are 127.0.0.1 with the numbers of endpoints as ports. A message to
 * an unused port finds no room for ever, as over a connection that is never
 * established; messages to OFI_FAKE_LIAR are passed to the test. */
#ifndef TESTS_FAULT_FUZZ_OFI_FAKE_H
#define TESTS_FAULT_FUZZ_OFI_FAKE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OFI_FAKE_LIAR = 60000,   /* its port */
    OFI_FAKE_KEY_GOOD = 256, /* of its memory: this key exists */
};

struct ofi_fake {
    /* Receives messages to the liar. */
    void (*tap)(const uint8_t *bytes, size_t len);
    uint32_t full; /* the next posts find no room, where a bit is set */
    bool holds;    /* reads and writes do not complete */
    unsigned live; /* open objects */
};

extern struct ofi_fake ofi_fake;

/* Installs it in place of libfabric. */
void ofi_fake_use(void);
/* Sets the port of the next endpoint. */
void ofi_fake_port(uint16_t port);
/* Delivers a message to that port. */
void ofi_fake_say(uint16_t port, const void *bytes, size_t len);
void ofi_fake_addr(uint16_t port, struct sockaddr_in *ret_addr);

#endif
