/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of another process of this machine. */
#ifndef BENCH_REACH_H
#define BENCH_REACH_H

#include <stdint.h>

/* What a process tells of a descriptor it offers; plain bytes. */
struct reach {
    int32_t pid;
    int32_t fd; /* -1: none */
    uint64_t device;
    uint64_t inode;
};

/* By the owner, who keeps `fd` open until the other has it. */
void reach_offer(int fd, struct reach *ret_reach);

/* By the other: the same file, opened once more; -1 with errno set when it
 * cannot be, or is not the same. */
int reach_open(const struct reach *reach, int flags);

#endif
