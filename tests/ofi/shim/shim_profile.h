/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: demands of the NICs that the shim stands in for. */
#ifndef TESTS_OFI_SHIM_SHIM_PROFILE_H
#define TESTS_OFI_SHIM_SHIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_wait {
    SHIM_WAIT_FD, /* the queue has a descriptor, which may be ready for nothing
                   */
    SHIM_WAIT_REFUSED, /* a queue with a descriptor cannot be opened */
    SHIM_WAIT_LATE, /* it can be opened, but does not return the descriptor */
};

enum shim_release {
    SHIM_RELEASE_WITH_DATA, /* a full buffer is returned with its last message
                             */
    SHIM_RELEASE_ALONE,     /* by a completion of its own after that */
    SHIM_RELEASE_EITHER,
};

struct shim_profile {
    const char *name;
    uint64_t mr_mode; /* hints must offer it, and the domain has it */
    uint64_t mode;    /* the same */
    size_t key_len;   /* significant bytes of a key */
    size_t inject_len;
    size_t iov_max;
    size_t rma_iov_max;
    size_t message_max;
    unsigned depth; /* sends, reads and writes in flight; more is EAGAIN */
    enum shim_wait wait;
    enum shim_release release;
    unsigned refusals; /* so many first posts to a peer get EAGAIN */
    unsigned again;    /* and so many of 256 later ones */
    unsigned delay;    /* reads of the queue that delay a completion, at most */
    unsigned alarms;   /* so many of 256 trywaits get EAGAIN, and as many
                          descriptors become ready for nothing */
    bool is_single;    /* a buffer takes one message */
    bool reorders;     /* those of sends, reads and writes */
};

/* NULL: no profile has that name. */
const struct shim_profile *shim_profile_find(const char *name);

#endif
