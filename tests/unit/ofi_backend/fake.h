/* SPDX-License-Identifier: BSD-3-Clause */
/* A libfabric that says what the test has it say: which providers there are and
 * what they demand, as those of NICs that no test machine has; and the lines
 * that the library logs about it. All else is the real one's. */
#ifndef TESTS_UNIT_OFI_BACKEND_FAKE_H
#define TESTS_UNIT_OFI_BACKEND_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ofi_backend/ofi_call.h"

/* One result of fi_getinfo(), given where the hints allow it. */
struct fake_offer {
    const char *stack;
    const char *nic;
    const char *ip; /* NULL: its addresses are bytes of its own */
    uint64_t mode;  /* that the hints have to offer */
    int mr_mode;
    size_t key_len;     /* 0: 8 */
    size_t queue_max;   /* 0: as long as asked for */
    bool has_threads;   /* refuses FI_PROGRESS_MANUAL */
    const char *fabric; /* the network it is of; NULL: it does not say */
    const char *device; /* what its NIC is called, and where it sits; NULL: it
                         * does not say */
    uint8_t bus;        /* of PCI domain 0, device 3, function 1 */
    size_t speed;
    bool is_down;
};

/* What the last look was for. */
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
    char universe[32]; /* FI_UNIVERSE_SIZE meanwhile */
};

extern struct fake_look fake_look;
/* What fi_version() says. */
extern uint32_t fake_version;
/* The table; a test may replace further slots before it opens anything. */
extern struct amg_ofi_call fake_call;

/* Offers these from now on; `offers` NULL: libfabric's own. Forgets the last
 * look and the log. */
void fake_start(const struct fake_offer *offers, size_t count);
void fake_stop(void);

/* Did a line of the log have this text? */
bool fake_has_logged(const char *text);
void fake_log_clear(void);

#endif
