/* SPDX-License-Identifier: BSD-3-Clause */
/* The control over bare libfabric: a round trip of messages, calls with several
 * in flight, reads and writes.
 *
 * The control opens the stack and host address of the class's driver, but with
 * tagged messages and nothing to sleep on. Libfabric is loaded when needed, as
 * it is large, and other benchmarks measure memory. Each receive is posted
 * before its message is asked for, and short messages are injected. */
#include "jobs/bench/raw/fabric.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/raw/bulk.h"
#include "jobs/bench/raw/calls.h"

enum {
    BATCH = 16, /* completions that are read at once */
    /* Ended operations that were not taken yet: the most possible. */
    ENDED_MAX = 4 * OPTIONS_WINDOW_MAX,
    ADDR_CAP = 256,
    TEXT_CAP = 512,
    QUEUE_LEN = 256,
    CQ_LEN = 1024,
    BACK_LEN = 8,
    TAG_PING = 1,
    TAG_PONG = 2,
    TAG_STOP = 3,
    TAG_REQUEST = 100,
    TAG_REPLY = 101, /* + the place in the window */
};

/* One operation, in flight or not. The provider may use the context. */
struct fabric_op {
    struct fi_context2 context;
    bool is_send;  /* waited for only before its next use */
    bool is_going; /* in flight */
    unsigned place;
};

/* One side of the window of messages. */
struct fabric_lane {
    struct fabric_op receive;
    struct fabric_op send;
    struct head in;
    struct head out;
};

/* Memory that is registered: of the pair, while it stays in place; of rank 1,
 * for the last bulk; and the lanes. */
enum { ROOM, LANDING, END, OWN, MEMORIES };

struct fabric_memory {
    unsigned char *base;
    size_t len;
    struct fid_mr *mr;
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
    const struct duel *duel; /* of bulk data */
    uint64_t far[2];         /* of bulk data: rank 1's address and key */
    struct fabric_memory memories[MEMORIES];
    struct fabric_lane lanes[OPTIONS_WINDOW_MAX];
    struct fabric_op *ended[ENDED_MAX];
    unsigned ended_count;
    unsigned taken_count;
};

/* Functions of libfabric that are symbols; all others are in its objects. */
static struct {
    int (*getinfo)(uint32_t version, const char *node, const char *service,
        uint64_t flags, const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    int (*fabric)(
        struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int code);
} calls;

static void library_load(const struct pair *pair)
{
    const char *const names[] = {
        "fi_getinfo", "fi_freeinfo", "fi_fabric", "fi_strerror"};
    void *const functions[] = {
        &calls.getinfo, &calls.freeinfo, &calls.fabric, &calls.strerror};
    void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        pair_fail(pair, "there is no libfabric.so.1");
    for (unsigned i = 0; i < 4; i++) {
        void *found = dlsym(library, names[i]);

        if (found == NULL)
            pair_fail(pair, "libfabric has no %s", names[i]);
        memcpy(functions[i], &found, sizeof(found));
    }
}

bool fabric_is_way(const struct pair *pair)
{
    return strncmp(pair->via, "ofi+", strlen("ofi+")) == 0;
}

static void fabric_check(
    const struct fabric *fabric, ssize_t code, const char *what)
{
    if (code != 0)
        pair_fail(fabric->pair, "the control over libfabric: %s: %s", what,
            calls.strerror((int)(code < 0 ? -code : code)));
}

#define TRY(fabric, call) fabric_check((fabric), (call), #call)

/* The address of the class: "ofi+STACK://HOST:PORT", IPv6 in brackets, or with
 * something else behind the slashes; then the host is "". */
static void host_read(const struct pair *pair, char ret_host[TEXT_CAP])
{
    char text[TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    CHECK(pair, HG_Addr_self(pair->cls, &self));
    CHECK(pair, HG_Addr_to_string(pair->cls, text, &len, self));
    HG_Addr_free(pair->cls, self);
    if (sscanf(text, "%*[^/]//[%511[^]]]", ret_host) != 1 &&
        (sscanf(text, "%*[^/]//%511[0-9.]", ret_host) != 1 ||
            strchr(ret_host, '.') == NULL))
        ret_host[0] = '\0';
}

/* The stack of providers of the class, at its host. */
static void info_find(struct fabric *fabric)
{
    const char *stack = fabric->pair->via + strlen("ofi+");
    char host[TEXT_CAP] = "";
    struct fi_ep_attr ep = {.type = FI_EP_RDM};
    struct fi_domain_attr domain = {
        .threading = FI_THREAD_DOMAIN,
        .data_progress = FI_PROGRESS_MANUAL,
        .resource_mgmt = FI_RM_ENABLED,
        .mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
                   FI_MR_PROV_KEY | FI_MR_ENDPOINT,
    };
    struct fi_tx_attr tx = {.size = QUEUE_LEN};
    struct fi_rx_attr rx = {.size = QUEUE_LEN};
    struct fi_fabric_attr provider = {.prov_name = (char *)stack};
    struct fi_info hints = {.caps = FI_TAGGED | FI_RMA,
        .mode = FI_CONTEXT | FI_CONTEXT2,
        .tx_attr = &tx,
        .rx_attr = &rx,
        .ep_attr = &ep,
        .domain_attr = &domain,
        .fabric_attr = &provider};

    host_read(fabric->pair, host);
    TRY(fabric, calls.getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
                    host[0] == '\0' ? NULL : host, NULL,
                    host[0] == '\0' ? 0 : FI_SOURCE, &hints, &fabric->info));
    if (strcmp(fabric->info->fabric_attr->prov_name, stack) != 0)
        pair_fail(fabric->pair, "the control got %s instead of %s",
            fabric->info->fabric_attr->prov_name, stack);
}

static void objects_make(struct fabric *fabric)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.size = CQ_LEN,
        .format = FI_CQ_FORMAT_CONTEXT,
        .wait_obj = FI_WAIT_NONE};
    struct fi_info *info = fabric->info;

    TRY(fabric, calls.fabric(info->fabric_attr, &fabric->fabric, NULL));
    TRY(fabric, fi_domain(fabric->fabric, info, &fabric->domain, NULL));
    TRY(fabric, fi_av_open(fabric->domain, &av_attr, &fabric->av, NULL));
    TRY(fabric, fi_cq_open(fabric->domain, &cq_attr, &fabric->cq, NULL));
    TRY(fabric, fi_endpoint(fabric->domain, info, &fabric->ep, NULL));
    TRY(fabric, fi_ep_bind(fabric->ep, &fabric->av->fid, 0));
    TRY(fabric,
        fi_ep_bind(fabric->ep, &fabric->cq->fid, FI_TRANSMIT | FI_RECV));
    TRY(fabric, fi_enable(fabric->ep));
}

static void addresses_swap(struct fabric *fabric)
{
    struct pair *pair = fabric->pair;
    unsigned char own[ADDR_CAP] = {0};
    unsigned char addrs[2][ADDR_CAP];
    size_t len = ADDR_CAP;

    TRY(fabric, fi_getname(&fabric->ep->fid, own, &len));
    MPI_Allgather(
        own, ADDR_CAP, MPI_BYTE, addrs, ADDR_CAP, MPI_BYTE, pair->comm);
    if (fi_av_insert(
            fabric->av, addrs[1 - pair->rank], 1, &fabric->peer, 0, NULL) != 1)
        pair_fail(pair, "libfabric cannot read the other rank's address");
}

static void fabric_know(
    struct fabric *fabric, unsigned which, void *base, size_t len)
{
    struct fabric_memory *memory = &fabric->memories[which];

    if (memory->mr != NULL && memory->base == base && memory->len == len)
        return;
    if (memory->mr != NULL)
        fi_close(&memory->mr->fid);
    *memory = (struct fabric_memory){base, len, NULL};
    TRY(fabric, fi_mr_reg(fabric->domain, base, len,
                    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
                        FI_REMOTE_WRITE,
                    0, ++fabric->next_key, 0, &memory->mr, NULL));
    if ((fabric->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        TRY(fabric, fi_mr_bind(memory->mr, &fabric->ep->fid, 0));
        TRY(fabric, fi_mr_enable(memory->mr));
    }
}

static void fabric_look(struct fabric *fabric)
{
    struct fi_cq_entry entries[BATCH];
    struct fi_cq_err_entry error = {.err = 0};
    ssize_t count = fi_cq_read(fabric->cq, entries, BATCH);

    if (count == -FI_EAGAIN) {
        pair_idle(fabric->pair);
        return;
    }
    if (count == -FI_EAVAIL && fi_cq_readerr(fabric->cq, &error, 0) == 1)
        count = -error.err;
    if (count < 0)
        fabric_check(fabric, count, "an operation");
    for (ssize_t i = 0; i < count; i++) {
        struct fabric_op *op = entries[i].op_context;

        op->is_going = false;
        if (!op->is_send)
            fabric->ended[fabric->ended_count++ % ENDED_MAX] = op;
    }
}

static struct fabric_op *fabric_take(struct fabric *fabric)
{
    while (fabric->taken_count == fabric->ended_count)
        fabric_look(fabric);
    return fabric->ended[fabric->taken_count++ % ENDED_MAX];
}

static void fabric_settle(struct fabric *fabric, const struct fabric_op *op)
{
    while (op->is_going)
        fabric_look(fabric);
}

/* Should the post that returned `code` be repeated? If so, this function has
 * read completions. */
static bool is_again(struct fabric *fabric, ssize_t code)
{
    if (code == -FI_EAGAIN)
        fabric_look(fabric);
    else
        fabric_check(fabric, code, "a post");
    return code == -FI_EAGAIN;
}

static void fabric_receive(struct fabric *fabric, struct fabric_op *op,
    void *buf, size_t len, unsigned which, uint64_t tag)
{
    op->is_send = false;
    op->is_going = true;
    while (is_again(fabric,
        fi_trecv(fabric->ep, buf, len, fi_mr_desc(fabric->memories[which].mr),
            FI_ADDR_UNSPEC, tag, 0, &op->context)))
        ;
}

static void fabric_send(struct fabric *fabric, struct fabric_op *op,
    const void *buf, size_t len, unsigned which, uint64_t tag)
{
    bool is_short = len <= fabric->info->tx_attr->inject_size;

    op->is_send = true;
    op->is_going = !is_short;
    while (is_again(
        fabric, is_short ? fi_tinject(fabric->ep, buf, len, fabric->peer, tag)
                         : fi_tsend(fabric->ep, buf, len,
                               fi_mr_desc(fabric->memories[which].mr),
                               fabric->peer, tag, &op->context)))
        ;
}

static void lane_receive(
    struct fabric *fabric, struct fabric_lane *lane, uint64_t tag)
{
    fabric_receive(fabric, &lane->receive, &lane->in, HEAD_LEN, OWN, tag);
}

static void lane_send(
    struct fabric *fabric, struct fabric_lane *lane, uint64_t tag)
{
    fabric_send(fabric, &lane->send, &lane->out, HEAD_LEN, OWN, tag);
}

void fabric_close(struct fabric *fabric)
{
    if (fabric == NULL)
        return;
    fi_close(&fabric->ep->fid);
    for (unsigned i = 0; i < MEMORIES; i++)
        if (fabric->memories[i].mr != NULL)
            fi_close(&fabric->memories[i].mr->fid);
    fi_close(&fabric->cq->fid);
    fi_close(&fabric->av->fid);
    fi_close(&fabric->domain->fid);
    fi_close(&fabric->fabric->fid);
    calls.freeinfo(fabric->info);
    free(fabric);
}

void fabric_open(struct pair *pair)
{
    struct fabric *fabric = pair_alloc(pair, 1, sizeof(*fabric));

    library_load(pair);
    fabric->pair = pair;
    info_find(fabric);
    for (unsigned i = 0; i < OPTIONS_WINDOW_MAX; i++)
        fabric->lanes[i].receive.place = fabric->lanes[i].send.place = i;
    objects_make(fabric);
    addresses_swap(fabric);
    fabric_know(fabric, OWN, fabric->lanes, sizeof(fabric->lanes));
    pair->fabric = fabric;
    pair->fabric_close = fabric_close;
}

/* The control of the pair, with the pair's memory registered. */
static struct fabric *fabric_of(struct pair *pair)
{
    if (pair->fabric == NULL)
        fabric_open(pair);
    if (pair->room_len > 0) {
        fabric_know(pair->fabric, ROOM, pair->room, pair->room_len);
        fabric_know(pair->fabric, LANDING, pair->landing, pair->room_len);
    }
    return pair->fabric;
}

/* Rank 1: posts the receive of the next ping. */
static void ping_await(struct fabric *fabric, size_t len)
{
    fabric_receive(fabric, &fabric->lanes[0].receive,
        fabric->memories[LANDING].base, len, LANDING, TAG_PING);
}

/* Rank 0's round trip. */
static void ping(struct pair *pair, void *arg)
{
    struct fabric *fabric = pair->fabric;
    struct fabric_lane *lane = &fabric->lanes[0];

    fabric_receive(fabric, &lane->receive, &lane->in, BACK_LEN, OWN, TAG_PONG);
    fabric_send(fabric, &lane->send, fabric->memories[ROOM].base,
        *(const size_t *)arg, ROOM, TAG_PING);
    (void)fabric_take(fabric);
    fabric_settle(fabric, &lane->send);
}

double fabric_trip(struct pair *pair, struct duel *duel)
{
    struct fabric *fabric = fabric_of(pair);
    struct fabric_lane *lane = &fabric->lanes[0];
    size_t len = duel->size == 0 ? BACK_LEN : duel->size;

    pattern_fill(pair->room, len, pair->seed);
    if (pair->rank == 1)
        ping_await(fabric, len);
    MPI_Barrier(pair->comm);
    if (pair->rank == 0)
        return duel_each(pair, duel, ping, &len);
    for (unsigned left = duel_warm(duel) + duel->calls; left > 0; left--) {
        (void)fabric_take(fabric);
        fabric_settle(fabric, &lane->send);
        if (left > 1)
            ping_await(fabric, len);
        fabric_send(fabric, &lane->send, &lane->out, BACK_LEN, OWN, TAG_PONG);
    }
    fabric_settle(fabric, &lane->send);
    pair_verify(pair, pair->landing, len, "the ping");
    return 0.0;
}

/* Rank 0: the next request of that place of the window. */
static void request_post(struct flight_slot *slot)
{
    struct fabric *fabric = slot->flight->arg;
    struct fabric_lane *lane = &fabric->lanes[slot->number];

    fabric_settle(fabric, &lane->send);
    head_write(fabric->pair, slot->flight->posted, slot->number, &lane->out);
    lane_receive(fabric, lane, TAG_REPLY + slot->number);
    lane_send(fabric, lane, TAG_REQUEST);
}

static bool replies_look(struct flight *flight)
{
    struct fabric *fabric = flight->arg;
    struct fabric_op *op = fabric_take(fabric);
    struct fabric_lane *lane = &fabric->lanes[op->place];

    if (memcmp(&lane->in, &lane->out, HEAD_LEN) != 0)
        pair_fail(fabric->pair, "a reply of the control is another's");
    flight_ended(&flight->slots[op->place]);
    return true;
}

double fabric_rate(struct pair *pair, struct duel *duel)
{
    struct fabric *fabric = fabric_of(pair);
    unsigned calls = duel_warm(duel) + duel->calls;
    unsigned window = duel->window;
    struct flight flight = {pair, .arg = fabric, .post = request_post,
        .look = replies_look, .window = window,
        .timed_every = FLIGHT_TIMED_EVERY};

    for (unsigned i = 0; pair->rank == 1 && i < window && i < calls; i++)
        lane_receive(fabric, &fabric->lanes[i], TAG_REQUEST);
    pair_barrier(pair);
    if (pair->rank == 0)
        return flight_batch(&flight, duel);
    for (unsigned i = 0; i < calls; i++) {
        struct fabric_lane *lane = &fabric->lanes[fabric_take(fabric)->place];
        struct head head = head_check(pair, &lane->in, HEAD_LEN);
        struct fabric_lane *out = &fabric->lanes[head.place];

        fabric_settle(fabric, &out->send);
        out->out = head;
        /* Posts a further receive, while more requests will come. */
        if (i + window < calls)
            lane_receive(fabric, lane, TAG_REQUEST);
        lane_send(fabric, out, TAG_REPLY + head.place);
    }
    for (unsigned i = 0; i < OPTIONS_WINDOW_MAX; i++)
        fabric_settle(fabric, &fabric->lanes[i].send);
    return 0.0;
}

/* Rank 0: a transfer at that place of the window. */
static void move_post(struct flight_slot *slot)
{
    struct fabric *fabric = slot->flight->arg;
    const struct bulk *bulk = fabric->duel->arg;
    struct fabric_op *op = &fabric->lanes[slot->number].receive;
    size_t size = fabric->duel->size;
    size_t at = slot->number * size;
    struct iovec here = {fabric->memories[ROOM].base + at, size};
    struct fi_rma_iov there = {fabric->far[0] + at, size, fabric->far[1]};
    void *desc = fi_mr_desc(fabric->memories[ROOM].mr);
    struct fi_msg_rma msg = {&here, &desc, 1, .addr = fabric->peer,
        .rma_iov = &there, .rma_iov_count = 1, .context = &op->context};

    op->is_send = false;
    op->is_going = true;
    while (is_again(fabric, bulk->is_push
                                ? fi_writemsg(fabric->ep, &msg,
                                      FI_COMPLETION | FI_DELIVERY_COMPLETE)
                                : fi_readmsg(fabric->ep, &msg, FI_COMPLETION)))
        ;
}

static bool moves_look(struct flight *flight)
{
    flight_ended(&flight->slots[fabric_take(flight->arg)->place]);
    return true;
}

double fabric_bulk(struct pair *pair, struct duel *duel)
{
    const struct bulk *bulk = duel->arg;
    struct fabric *fabric = fabric_of(pair);
    struct fabric_lane *lane = &fabric->lanes[0];
    struct flight flight = {pair, .arg = fabric, .post = move_post,
        .look = moves_look, .window = duel->window, .timed_every = 1};
    unsigned char *far = pair->rank == 1 ? bulk->end : NULL;
    double elapsed_us = 0.0;

    fabric->duel = duel;
    if (pair->rank == 1) {
        fabric_know(fabric, END, bulk->end, pair->room_len);
        fabric->far[0] = 0;
        if ((fabric->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0)
            fabric->far[0] = (uint64_t)(uintptr_t)bulk->end;
        fabric->far[1] = fi_mr_key(fabric->memories[END].mr);
        lane_receive(fabric, lane, TAG_STOP);
    }
    MPI_Bcast(fabric->far, 2, MPI_UINT64_T, 1, pair->comm);
    bulk_fill(pair, duel, bulk, far);
    if (pair->rank == 0) {
        elapsed_us = flight_batch(&flight, duel);
        lane_send(fabric, lane, TAG_STOP);
        fabric_settle(fabric, &lane->send);
    } else {
        /* Makes progress until rank 0 sends a stop. */
        (void)fabric_take(fabric);
    }
    bulk_verify(pair, duel, bulk, far);
    return elapsed_us;
}
