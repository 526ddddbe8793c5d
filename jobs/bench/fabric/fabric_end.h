/* SPDX-License-Identifier: BSD-3-Clause */
/* One end of the raw control over libfabric. */
#ifndef BENCH_FABRIC_END_H
#define BENCH_FABRIC_END_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "jobs/bench/fabric/fabric.h"

enum {
    FABRIC_BATCH = 16, /* completions that are read at once */
    /* Ended operations that nobody has taken yet: all there can be. */
    FABRIC_ENDED_MAX = 4 * OPTIONS_WINDOW_MAX,
    FABRIC_WORDS = 3, /* 24 bytes */
};

/* One operation, in flight or not. The provider may use the context. */
struct fabric_op {
    struct fi_context2 context;
    bool is_send;  /* nobody waits for its end but who uses it again */
    bool is_going; /* in flight */
    unsigned place;
};

/* { number, place in the window, number ^ place }: seen to be right. */
struct fabric_message {
    uint64_t words[FABRIC_WORDS];
};

/* One side of the window of messages. */
struct fabric_lane {
    struct fabric_op receive;
    struct fabric_op send;
    struct fabric_message in;
    struct fabric_message out;
    double posted_us; /* 0: not timed */
};

/* Memory that libfabric knows. */
struct fabric_memory {
    unsigned char *base;
    size_t len;
    struct fid_mr *mr;
    uint64_t remote; /* what the other side calls its first byte */
};

/* Owned by its pair, from the first use to pair_close(). */
struct fabric {
    struct pair *pair;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t peer;
    uint64_t next_key;
    struct fabric_memory room;    /* of the pair, as long as it stays there */
    struct fabric_memory landing; /* the same */
    struct fabric_memory end;     /* rank 1's of the last bulk */
    struct fabric_memory own;     /* the lanes */
    struct fabric_lane *lanes;    /* OPTIONS_WINDOW_MAX */
    struct fabric_op *ended[FABRIC_ENDED_MAX];
    unsigned ended_count;
    unsigned taken_count;
};

/* The pair's, opened when it is needed first. By both ranks. */
struct fabric *fabric_get(struct pair *pair);

/* Ends the job with a word when `code` is not 0. */
void fabric_check(const struct fabric *fabric, ssize_t code, const char *what);

/* Has libfabric know `len` bytes, unless it knows them. */
void fabric_know(struct fabric *fabric, struct fabric_memory *memory,
    unsigned char *base, size_t len);

/* Looks once for ended operations. */
void fabric_look(struct fabric *fabric);
/* The next receive, read or write that ended; looks until there is one. */
struct fabric_op *fabric_take(struct fabric *fabric);
/* Until it has ended; for one that nobody takes. */
void fabric_settle(struct fabric *fabric, const struct fabric_op *op);

void fabric_receive(struct fabric *fabric, struct fabric_op *op, void *buf,
    size_t len, const struct fabric_memory *memory, uint64_t tag);
/* `buf` may be used again when `op` is not going. */
void fabric_send(struct fabric *fabric, struct fabric_op *op, const void *buf,
    size_t len, const struct fabric_memory *memory, uint64_t tag);

#endif
