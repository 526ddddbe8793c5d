/* SPDX-License-Identifier: BSD-3-Clause */
/* One end of the raw control over libfabric.
 *
 * Opened as the class's driver does, on the same host address, but without what
 * only a library needs: nothing to sleep on, no demands on memory but the
 * provider's. The addresses go by MPI. Libfabric is loaded when it is needed,
 * because it is large, and other benchmarks measure memory. */
#include "jobs/bench/fabric/fabric_end.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ADDR_CAP = 256,
    TEXT_CAP = 512,
    QUEUE_LEN = 256,
    CQ_LEN = 1024,
    TAG_HELLO = 1,
};

/* What libfabric exports; all else is reached through its objects. */
static struct {
    void *library;
    uint32_t (*version)(void);
    int (*getinfo)(uint32_t version, const char *node, const char *service,
        uint64_t flags, const struct fi_info *hints, struct fi_info **info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    void (*freeinfo)(struct fi_info *info);
    int (*fabric)(
        struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int code);
} calls;

static void symbol_find(
    const struct pair *pair, const char *name, void *ret_function)
{
    void *found = dlsym(calls.library, name);

    if (found == NULL)
        pair_fail(pair, "libfabric has no %s", name);
    memcpy(ret_function, &found, sizeof(found));
}

/* False where there is none. */
static bool library_load(const struct pair *pair)
{
    if (calls.library != NULL)
        return true;
    calls.library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (calls.library == NULL)
        return false;
    symbol_find(pair, "fi_version", &calls.version);
    symbol_find(pair, "fi_getinfo", &calls.getinfo);
    symbol_find(pair, "fi_dupinfo", &calls.dupinfo);
    symbol_find(pair, "fi_freeinfo", &calls.freeinfo);
    symbol_find(pair, "fi_fabric", &calls.fabric);
    symbol_find(pair, "fi_strerror", &calls.strerror);
    return true;
}

bool fabric_is_way(const struct pair *pair)
{
    return strncmp(pair->via, "ofi+", strlen("ofi+")) == 0;
}

void fabric_check(const struct fabric *fabric, ssize_t code, const char *what)
{
    if (code != 0)
        pair_fail(fabric->pair, "the control over libfabric: %s: %s", what,
            calls.strerror((int)(code < 0 ? -code : code)));
}

/* Where an end is to be. */
struct place {
    char stack[TEXT_CAP];
    char host[TEXT_CAP]; /* "": where libfabric likes it best */
};

/* That of the class, from its address: "ofi+STACK://HOST:PORT", or with
 * something else behind the slashes. */
static void place_read(const struct pair *pair, struct place *ret_place)
{
    char text[TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;
    const char *host = NULL;
    const char *port = NULL;

    pair_check(pair, HG_Addr_self(pair->cls, &self), "HG_Addr_self");
    pair_check(pair, HG_Addr_to_string(pair->cls, text, &len, self),
        "HG_Addr_to_string");
    HG_Addr_free(pair->cls, self);
    host = strstr(text, "://");
    port = strrchr(text, ':');
    if (host == NULL)
        pair_fail(pair, "no provider is named by %s", text);
    snprintf(ret_place->stack, TEXT_CAP, "%.*s",
        (int)(host - text - (int)strlen("ofi+")), text + strlen("ofi+"));
    host += strlen("://");
    /* Version 6 stands in brackets. */
    host += host[0] == '[';
    snprintf(ret_place->host, TEXT_CAP, "%.*s",
        port > host ? (int)(port - host - (port[-1] == ']')) : 0, host);
}

static struct fi_info *hints_make(
    const struct fabric *fabric, const char *stack)
{
    struct fi_info *hints = calls.dupinfo(NULL);

    if (hints == NULL)
        pair_fail(fabric->pair, "no memory for libfabric");
    hints->caps = FI_TAGGED | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                  FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->size = QUEUE_LEN;
    hints->rx_attr->size = QUEUE_LEN;
    hints->fabric_attr->prov_name = strdup(stack);
    return hints;
}

/* That stack of providers, at that address if it has such. 0, or libfabric's
 * code. */
static int info_find(struct fabric *fabric, const struct place *place)
{
    uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    uint32_t version = calls.version();
    struct fi_info *hints = NULL;
    int code = 0;

    if (FI_VERSION_LT(ours, version))
        version = ours;
    hints = hints_make(fabric, place->stack);
    code = calls.getinfo(version, NULL, NULL, 0, hints, &fabric->info);
    if (code == 0 && place->host[0] != '\0' &&
        (fabric->info->addr_format == FI_SOCKADDR_IN ||
            fabric->info->addr_format == FI_SOCKADDR_IN6)) {
        calls.freeinfo(fabric->info);
        fabric->info = NULL;
        code = calls.getinfo(
            version, place->host, NULL, FI_SOURCE, hints, &fabric->info);
    }
    calls.freeinfo(hints);
    if (code == 0 &&
        strcmp(fabric->info->fabric_attr->prov_name, place->stack) != 0)
        pair_fail(fabric->pair, "the control got %s instead of %s",
            fabric->info->fabric_attr->prov_name, place->stack);
    return code;
}

static void objects_make(struct fabric *fabric)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {
        .size = CQ_LEN,
        .format = FI_CQ_FORMAT_CONTEXT,
        .wait_obj = FI_WAIT_NONE,
    };
    struct fi_info *info = fabric->info;

    fabric_check(fabric, calls.fabric(info->fabric_attr, &fabric->fabric, NULL),
        "fi_fabric");
    fabric_check(fabric, fi_domain(fabric->fabric, info, &fabric->domain, NULL),
        "fi_domain");
    fabric_check(fabric,
        fi_av_open(fabric->domain, &av_attr, &fabric->av, NULL), "fi_av_open");
    fabric_check(fabric,
        fi_cq_open(fabric->domain, &cq_attr, &fabric->cq, NULL), "fi_cq_open");
    fabric_check(fabric, fi_endpoint(fabric->domain, info, &fabric->ep, NULL),
        "fi_endpoint");
    fabric_check(
        fabric, fi_ep_bind(fabric->ep, &fabric->av->fid, 0), "fi_ep_bind");
    fabric_check(fabric,
        fi_ep_bind(fabric->ep, &fabric->cq->fid, FI_TRANSMIT | FI_RECV),
        "fi_ep_bind");
    fabric_check(fabric, fi_enable(fabric->ep), "fi_enable");
}

static void addresses_swap(struct fabric *fabric)
{
    struct pair *pair = fabric->pair;
    unsigned char addrs[2][ADDR_CAP] = {{0}};
    size_t len = ADDR_CAP;
    int other = 1 - pair->rank;

    fabric_check(fabric, fi_getname(&fabric->ep->fid, addrs[pair->rank], &len),
        "fi_getname");
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, addrs, ADDR_CAP, MPI_BYTE,
        pair->comm);
    if (fi_av_insert(fabric->av, addrs[other], 1, &fabric->peer, 0, NULL) != 1)
        pair_fail(pair, "libfabric cannot read the other rank's address");
}

void fabric_know(struct fabric *fabric, struct fabric_memory *memory,
    unsigned char *base, size_t len)
{
    int mode = fabric->info->domain_attr->mr_mode;

    if (memory->mr != NULL && memory->base == base && memory->len == len)
        return;
    if (memory->mr != NULL)
        fi_close(&memory->mr->fid);
    *memory = (struct fabric_memory){.base = base, .len = len};
    fabric_check(fabric,
        fi_mr_reg(fabric->domain, base, len,
            FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
                FI_REMOTE_WRITE,
            0, ++fabric->next_key, 0, &memory->mr, NULL),
        "fi_mr_reg");
    if ((mode & FI_MR_ENDPOINT) != 0) {
        fabric_check(
            fabric, fi_mr_bind(memory->mr, &fabric->ep->fid, 0), "fi_mr_bind");
        fabric_check(fabric, fi_mr_enable(memory->mr), "fi_mr_enable");
    }
    if ((mode & FI_MR_VIRT_ADDR) != 0)
        memory->remote = (uint64_t)(uintptr_t)base;
}

void fabric_look(struct fabric *fabric)
{
    struct fi_cq_entry entries[FABRIC_BATCH];
    struct fi_cq_err_entry error = {.err = 0};
    ssize_t count = fi_cq_read(fabric->cq, entries, FABRIC_BATCH);

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
            fabric->ended[fabric->ended_count++ % FABRIC_ENDED_MAX] = op;
    }
}

struct fabric_op *fabric_take(struct fabric *fabric)
{
    while (fabric->taken_count == fabric->ended_count)
        fabric_look(fabric);
    return fabric->ended[fabric->taken_count++ % FABRIC_ENDED_MAX];
}

void fabric_settle(struct fabric *fabric, const struct fabric_op *op)
{
    while (op->is_going)
        fabric_look(fabric);
}

void fabric_receive(struct fabric *fabric, struct fabric_op *op, void *buf,
    size_t len, const struct fabric_memory *memory, uint64_t tag)
{
    ssize_t code = -FI_EAGAIN;

    op->is_send = false;
    op->is_going = true;
    while (code == -FI_EAGAIN) {
        code = fi_trecv(fabric->ep, buf, len, fi_mr_desc(memory->mr),
            FI_ADDR_UNSPEC, tag, 0, &op->context);
        if (code == -FI_EAGAIN)
            fabric_look(fabric);
    }
    fabric_check(fabric, code, "fi_trecv");
}

void fabric_send(struct fabric *fabric, struct fabric_op *op, const void *buf,
    size_t len, const struct fabric_memory *memory, uint64_t tag)
{
    bool is_short = len <= fabric->info->tx_attr->inject_size;
    ssize_t code = -FI_EAGAIN;

    op->is_send = true;
    op->is_going = !is_short;
    while (code == -FI_EAGAIN) {
        code = is_short ? fi_tinject(fabric->ep, buf, len, fabric->peer, tag)
                        : fi_tsend(fabric->ep, buf, len, fi_mr_desc(memory->mr),
                              fabric->peer, tag, &op->context);
        if (code == -FI_EAGAIN)
            fabric_look(fabric);
    }
    fabric_check(fabric, code, "fi_tsend");
}

/* A message in each direction, so that both have a connection. */
static void greet(struct fabric *fabric)
{
    struct fabric_lane *lane = &fabric->lanes[0];

    fabric_receive(fabric, &lane->receive, &lane->in, sizeof(lane->in),
        &fabric->own, TAG_HELLO);
    MPI_Barrier(fabric->pair->comm);
    if (fabric->pair->rank == 1)
        (void)fabric_take(fabric);
    fabric_send(fabric, &lane->send, &lane->out, sizeof(lane->out),
        &fabric->own, TAG_HELLO);
    if (fabric->pair->rank == 0)
        (void)fabric_take(fabric);
    fabric_settle(fabric, &lane->send);
    MPI_Barrier(fabric->pair->comm);
}

static void objects_close(struct fabric *fabric)
{
    struct fabric_memory *memories[] = {
        &fabric->room, &fabric->landing, &fabric->end, &fabric->own};

    fi_close(&fabric->ep->fid);
    for (unsigned i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        if (memories[i]->mr != NULL)
            fi_close(&memories[i]->mr->fid);
    fi_close(&fabric->cq->fid);
    fi_close(&fabric->av->fid);
    fi_close(&fabric->domain->fid);
    fi_close(&fabric->fabric->fid);
}

void fabric_close(struct fabric *fabric)
{
    if (fabric == NULL)
        return;
    /* Objects are there all, or none is. */
    if (fabric->ep != NULL)
        objects_close(fabric);
    if (fabric->info != NULL)
        calls.freeinfo(fabric->info);
    free(fabric->lanes);
    free(fabric);
}

/* Without its objects. */
static struct fabric *end_make(struct pair *pair)
{
    struct fabric *fabric = calloc(1, sizeof(*fabric));

    if (fabric != NULL)
        fabric->lanes = calloc(OPTIONS_WINDOW_MAX, sizeof(*fabric->lanes));
    if (fabric == NULL || fabric->lanes == NULL)
        pair_fail(pair, "no memory for the control over libfabric");
    fabric->pair = pair;
    for (unsigned i = 0; i < OPTIONS_WINDOW_MAX; i++)
        fabric->lanes[i].receive.place = fabric->lanes[i].send.place = i;
    return fabric;
}

/* The rest, when it is known what to open. */
static void end_open(struct fabric *fabric)
{
    objects_make(fabric);
    addresses_swap(fabric);
    fabric_know(fabric, &fabric->own, (unsigned char *)fabric->lanes,
        OPTIONS_WINDOW_MAX * sizeof(*fabric->lanes));
    greet(fabric);
    fabric->pair->fabric = fabric;
}

struct fabric *fabric_get(struct pair *pair)
{
    struct fabric *fabric = pair->fabric;
    struct place place;

    if (fabric != NULL)
        return fabric;
    if (!library_load(pair))
        pair_fail(pair, "libfabric for the control: %s", dlerror());
    fabric = end_make(pair);
    place_read(pair, &place);
    fabric_check(fabric, info_find(fabric, &place), place.stack);
    end_open(fabric);
    return fabric;
}

bool fabric_open(struct pair *pair, const char *stack)
{
    struct fabric *fabric = NULL;
    struct place place = {.host = ""};
    int is_there = library_load(pair) ? 1 : 0;

    snprintf(place.stack, TEXT_CAP, "%s", stack);
    if (is_there) {
        fabric = end_make(pair);
        is_there = info_find(fabric, &place) == 0;
    }
    MPI_Allreduce(MPI_IN_PLACE, &is_there, 1, MPI_INT, MPI_MIN, pair->comm);
    if (!is_there) {
        fabric_close(fabric);
        return false;
    }
    end_open(fabric);
    return true;
}

void fabric_prepare(struct pair *pair)
{
    (void)fabric_get(pair);
}
