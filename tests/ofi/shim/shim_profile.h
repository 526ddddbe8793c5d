/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NICs demand that the shim stands in for. */
#ifndef TESTS_OFI_SHIM_SHIM_PROFILE_H
#define TESTS_OFI_SHIM_SHIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_wait {
    SHIM_WAIT_FD,      /* the queue has a descriptor, which may lie */
    SHIM_WAIT_REFUSED, /* a queue that has one cannot be opened */
    SHIM_WAIT_LATE,    /* it can, but does not tell the descriptor */
};

enum shim_release {
    SHIM_RELEASE_WITH_DATA, /* a full buffer comes back with its last message */
    SHIM_RELEASE_ALONE,     /* after it, by itself */
    SHIM_RELEASE_EITHER,
};

struct shim_profile {
    const char *name;
    uint64_t mr_mode; /* that hints must offer, and that is granted */
    uint64_t mode;    /* the same */
    size_t key_len;   /* bytes of a key that are in use */
    size_t inject_len;
    size_t iov_max;
    size_t rma_iov_max;
    size_t message_max;
    unsigned depth; /* sends, reads and writes in flight; more is EAGAIN */
    enum shim_wait wait;
    enum shim_release release;
    unsigned refusals; /* so many first posts to a peer get EAGAIN */
    unsigned again;    /* and so many of 256 later ones */
    unsigned delay;    /* a completion waits up to so many reads of the queue */
    unsigned alarms;   /* so many of 256 waits are told EAGAIN, and as many
                        * descriptors become ready for nothing */
    bool is_single;    /* a buffer takes one message */
    bool reorders;     /* completions of sends, reads and writes */
};

/* NULL: there is none of that name. */
const struct shim_profile *shim_profile_find(const char *name);

#endif
