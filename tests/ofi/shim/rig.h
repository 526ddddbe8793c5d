/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint under the shim that sends to itself, for the tests of the shim. */
#ifndef TESTS_OFI_SHIM_RIG_H
#define TESTS_OFI_SHIM_RIG_H

#include <stdbool.h>

#include "ofi_backend/ofi_call.h"

enum { RIG_LEN = 1 << 16 };

struct rig {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t self;
    unsigned char *bytes; /* RIG_LEN, in mapped pages, and */
    struct fid_mr *mr;    /* their registration, for all accesses */
    unsigned char *inbox; /* the same, for received messages */
    struct fid_mr *inbox_mr;
    struct fi_context2 inbox_context;
    struct fi_context2 contexts[4];
};

#define RIG_ACCESS                                                             \
    (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* Ends the program unless `code` is 0. */
void rig_expect(long code, const char *what);

/* Starts the shim with a profile. */
void rig_profile(const char *name);
/* Hints that meet all demands. */
struct fi_info *rig_hints(void);
void rig_info(struct rig *rig);
/* Loads the providers of libfabric, so that the children of fork() need not. */
void rig_load(void);
/* Opens all of it, and posts a buffer for messages. */
void rig_open(struct rig *rig);
void rig_close(struct rig *rig);

/* Mapped pages, or only reserved addresses. */
unsigned char *rig_pages(bool are_there);
/* Registers, binds and enables as the profile demands. */
struct fid_mr *rig_reg(
    struct rig *rig, void *bytes, size_t len, uint64_t access);

/* Posts until it is not refused for lack of room. */
void rig_send(struct rig *rig, const void *bytes, size_t len, void *desc,
    struct fi_context2 *context);
/* Reads memory of the peer, by its key and first address. */
void rig_read(struct rig *rig, size_t len, uint64_t addr, uint64_t key,
    struct fi_context2 *context);
/* Makes progress. */
void rig_poll(struct rig *rig);
/* Reads the queue until the completion of `context`. 0, or the code of its
 * error. */
int rig_wait(struct rig *rig, const struct fi_context2 *context);

#endif
