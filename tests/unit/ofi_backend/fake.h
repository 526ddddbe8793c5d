/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for libfabric that answers as the test demands: which providers
 * exist and what they require, also as NICs do that no test machine has. It
 * keeps the log lines of the library. All other calls are the real ones. */
#ifndef TESTS_UNIT_OFI_BACKEND_FAKE_H
#define TESTS_UNIT_OFI_BACKEND_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ofi_backend/ofi_call.h"

/* One result of fi_getinfo(), returned if the hints allow it. */
struct fake_offer {
    const char *stack;
    const char *nic;
    const char *ip; /* NULL: its addresses are opaque bytes */
    uint64_t mode;  /* bits that the hints must offer */
    int mr_mode;
    size_t key_len;     /* 0: 8 */
    size_t queue_max;   /* 0: as long as requested */
    bool has_threads;   /* refuses FI_PROGRESS_MANUAL */
    const char *fabric; /* the network that it belongs to; NULL: unknown */
    const char *device; /* name and bus of its NIC; NULL: unknown */
    uint8_t bus;        /* of PCI domain 0, device 3, function 1 */
    size_t speed;
    bool is_down;
};

/* Arguments of the last fi_getinfo(). */
struct fake_look {
    unsigned count;
    uint32_t version;
    uint64_t flags;
    char node[128];
    char service[32];
    char nic[64];
    size_t key_len;
    uint8_t key[64];
    int mr_mode;
    char universe[32]; /* FI_UNIVERSE_SIZE during the call */
};

extern struct fake_look fake_look;
/* Result of fi_version(). */
extern uint32_t fake_version;
/* The table of calls; a test may replace further slots before it opens
 * anything. */
extern struct amg_ofi_call fake_call;

/* From now on fi_getinfo() returns these; `offers` NULL: libfabric's own.
 * Forgets the last call and the log. */
void fake_start(const struct fake_offer *offers, size_t count);
void fake_stop(void);

/* Was a line with this text logged? */
bool fake_has_logged(const char *text);
void fake_log_clear(void);

#endif
