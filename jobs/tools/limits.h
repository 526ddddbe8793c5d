/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of the processes of a job, beside what their class needs. */
#ifndef TOOLS_LIMITS_H
#define TOOLS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum { LIMITS_ADVICE_MAX = 3, LIMITS_TEXT_CAP = 320 };

/* UINT64_MAX: no limit. Where the class is over MPI, the limits are the lowest
 * of all ranks, and what is in use is the most that any rank uses. */
struct limits {
    uint64_t locked;     /* bytes that may be locked (ulimit -l) */
    uint64_t locked_now; /* by MPI and by the class */
    bool is_locking;     /* the network locks the memory that it transfers */
    uint64_t files;      /* descriptors (ulimit -n) */
    uint64_t files_open;
    uint64_t files_need; /* when all ranks of the job have called each other */
    /* Bytes that the ranks of the node still take in /dev/shm when all have
     * called each other, and at most; 0: the class shares no memory. */
    uint64_t shm_called;
    uint64_t shm_most;
    uint64_t shm_free;
    bool is_shm_known;
};

/* Facts of a class. */
struct limits_ask {
    const char *reach;   /* "ofi+tcp to 2 ranks of 1 other node" */
    const char *address; /* own, "ofi+tcp://..." */
    uint32_t ranks;      /* of the job */
    uint32_t local;      /* of them on this node */
    bool shares_memory;
};

/* Sets the limits, and what is in use. */
void limits_read(struct limits *ret_limits);

/* Whether a class sends by this provider ("ofi+tcp;ofi_rxm") of libfabric. */
bool limits_is_by(const struct limits_ask *ask, const char *provider);
/* Sets the descriptors that the class needs; `provider`: by which the class
 * sends; NULL: none of libfabric. */
void limits_need_files(
    struct limits *limits, const struct limits_ask *ask, const char *provider);

/* Writes a line for each limit that is too small, with what to do; returns the
 * number of lines. */
unsigned limits_advise(const struct limits *limits,
    char ret_lines[LIMITS_ADVICE_MAX][LIMITS_TEXT_CAP]);

#endif
