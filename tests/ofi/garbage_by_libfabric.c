/* SPDX-License-Identifier: BSD-3-Clause */
/* A foreign libfabric endpoint that sends a server messages of any length and
 * content: random bytes, CONNECTs nearly right in the name of others, messages
 * of all kinds with invented tokens. The server answers its client all the
 * time, and neither its memory nor its descriptors grow. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ofi_backend/ofi_wire.h"
#include "servers.h"

enum {
    ROUNDS = 600,
    LOOKS = 200,
    ASK_EVERY = 50,
    LEN_MAX = 300000,       /* longer than the server's receive buffers */
    GROWTH_MAX_KIB = 32768, /* of a server that was sent 10 MiB and more */
};

/* The endpoint, and the objects below it. */
struct raw {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct sockaddr_in self;
    fi_addr_t server;
};

static void raw_open(struct raw *raw, const char *stack, unsigned short port)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.size = 256, .format = FI_CQ_FORMAT_MSG};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    size_t len = sizeof(raw->self);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(hints != NULL);
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(stack);
    CHECK(fi_getinfo(FI_VERSION(1, 15), "127.0.0.1", NULL, FI_SOURCE, hints,
              &raw->info) == 0);
    fi_freeinfo(hints);
    CHECK(fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL) == 0);
    CHECK(fi_domain(raw->fabric, raw->info, &raw->domain, NULL) == 0);
    CHECK(fi_av_open(raw->domain, &av_attr, &raw->av, NULL) == 0);
    CHECK(fi_cq_open(raw->domain, &cq_attr, &raw->cq, NULL) == 0);
    CHECK(fi_endpoint(raw->domain, raw->info, &raw->ep, NULL) == 0);
    CHECK(fi_ep_bind(raw->ep, &raw->av->fid, 0) == 0);
    CHECK(fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_RECV) == 0);
    CHECK(fi_enable(raw->ep) == 0);
    CHECK(fi_getname(&raw->ep->fid, &raw->self, &len) == 0);
    CHECK(fi_av_insert(raw->av, &to, 1, &raw->server, 0, NULL) == 1);
}

/* The provider may stay busy for ever with messages that never left; errors are
 * ignored. */
static void raw_close(struct raw *raw)
{
    (void)fi_close(&raw->ep->fid);
    (void)fi_close(&raw->cq->fid);
    (void)fi_close(&raw->av->fid);
    (void)fi_close(&raw->domain->fid);
    (void)fi_close(&raw->fabric->fid);
    fi_freeinfo(raw->info);
}

/* Sends, and waits some time for the completion, which does not come if the
 * server does not take the message. The client makes progress meanwhile. */
static void raw_say(
    struct raw *raw, struct servers *client, void *bytes, size_t len)
{
    struct fi_cq_msg_entry entry;
    struct fi_cq_err_entry error = {.err = 0};
    ssize_t code = -FI_EAGAIN;
    unsigned count = 0;

    for (unsigned i = 0; i < LOOKS && code == -FI_EAGAIN; i++) {
        code = fi_send(raw->ep, bytes, len, NULL, raw->server, NULL);
        if (code == -FI_EAGAIN)
            (void)fi_cq_read(raw->cq, &entry, 1);
        (void)HG_Progress(client->context, 0);
    }
    for (unsigned i = 0; i < LOOKS && code == 0; i++) {
        code = fi_cq_read(raw->cq, &entry, 1);
        if (code == -FI_EAVAIL)
            (void)fi_cq_readerr(raw->cq, &error, 0);
        code = code == -FI_EAGAIN ? 0 : 1;
        (void)HG_Progress(client->context, 0);
    }
    (void)HG_Trigger(client->context, 0, 1, &count);
}

static uint32_t noise(void)
{
    return (uint32_t)rand() << 16 ^ (uint32_t)rand();
}

/* One of the lengths that a provider treats differently: one packet, several,
 * read by the receiver, truncated. */
static size_t noise_fill(uint8_t *bytes)
{
    static const size_t lens[] = {
        0, 1, 15, 16, 17, 176, 4096, 16000, 40000, 100000, LEN_MAX};
    size_t len = lens[(size_t)rand() % (sizeof(lens) / sizeof(lens[0]))];

    memset(bytes, (int)noise(), len);
    for (size_t i = 0; i < len && i < 512; i++)
        bytes[i] = (uint8_t)noise();
    return len;
}

static size_t connect_fill(
    uint8_t *bytes, const struct raw *raw, unsigned short port)
{
    struct amg_ofi_header header = {.kind = AMG_OFI_MAGIC | AMG_OFI_CONNECT};
    struct sockaddr_in addr = raw->self;
    struct amg_ofi_connect connect = {
        .magic = AMG_OFI_CONNECT_MAGIC,
        .version = (uint16_t)(AMG_OFI_VERSION + (rand() % 4 == 0)),
        .addr_len = sizeof(addr),
        .token = noise(),
        .incarnation = noise(),
        .message_len = rand() % 4 == 0 ? noise() : 16384,
    };

    if (rand() % 2 == 0)
        addr.sin_port = (in_port_t)noise();
    if (rand() % 8 == 0)
        addr.sin_port = htons(port); /* of the server */
    memcpy(connect.addr, &addr, sizeof(addr));
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), &connect, sizeof(connect));
    if (rand() % 8 == 0)
        bytes[rand() % (int)sizeof(connect)] = (uint8_t)noise();
    return sizeof(header) + sizeof(connect);
}

static size_t message_fill(uint8_t *bytes)
{
    const struct amg_ofi_header header = {
        .kind =
            (uint8_t)(AMG_OFI_MAGIC | (unsigned)rand() % AMG_OFI_KIND_COUNT),
        .credits = (uint8_t)noise(),
        .cookie = (uint32_t)rand() % 8,
        .token = (uint64_t)noise() << 32 | noise(),
    };
    size_t len = (size_t)rand() % 512;

    for (size_t i = 0; i < len; i++)
        bytes[sizeof(header) + i] = (uint8_t)noise();
    memcpy(bytes, &header, sizeof(header));
    return sizeof(header) + len;
}

static long resident_kib(pid_t pid)
{
    char text[256];
    long kib = 0;
    FILE *file = NULL;

    snprintf(text, sizeof(text), "/proc/%d/status", (int)pid);
    file = fopen(text, "r");
    CHECK(file != NULL);
    while (fgets(text, sizeof(text), file) != NULL)
        (void)sscanf(text, "VmRSS: %ld kB", &kib);
    fclose(file);
    return kib;
}

/* The raw endpoint makes progress, too: the server may be reading a message
 * from it that was too long to be sent at once, into a buffer that others need.
 */
static void ask(struct servers *client, struct raw *raw, const char *address,
    uint32_t number)
{
    struct fi_cq_msg_entry entry;
    struct fi_cq_err_entry error = {.err = 0};
    struct servers_call call;

    servers_post(client, address, client->ask, number, &call);
    while (call.done == 0) {
        unsigned count = 0;

        (void)HG_Progress(client->context, 1);
        (void)HG_Trigger(client->context, 0, 1, &count);
        if (raw != NULL && fi_cq_read(raw->cq, &entry, 1) == -FI_EAVAIL)
            (void)fi_cq_readerr(raw->cq, &error, 0);
    }
    CHECK(call.ret == HG_SUCCESS && call.answer == number);
}

static void test(struct servers *client)
{
    static uint8_t bytes[LEN_MAX + 1];
    char address[SERVERS_TEXT_CAP];
    char stack[SERVERS_TEXT_CAP];
    pid_t pid = servers_start("127.0.0.1", address);
    unsigned short port = (unsigned short)atoi(strrchr(address, ':') + 1);
    struct raw raw;
    long before_kib = 0;

    snprintf(stack, sizeof(stack), "%.*s",
        (int)(strstr(address, "://") - strchr(address, '+') - 1),
        strchr(address, '+') + 1);
    raw_open(&raw, stack, port);
    ask(client, &raw, address, 1);
    before_kib = resident_kib(pid);
    srand(11);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        size_t len = i % 3 == 0   ? noise_fill(bytes)
                     : i % 3 == 1 ? connect_fill(bytes, &raw, port)
                                  : message_fill(bytes);

        raw_say(&raw, client, bytes, len);
        if (i % ASK_EVERY == 0)
            ask(client, &raw, address, i);
    }
    printf("%d messages that mean nothing: from %ld to %ld KiB resident\n",
        ROUNDS, before_kib, resident_kib(pid));
    CHECK(resident_kib(pid) - before_kib < GROWTH_MAX_KIB);
    raw_close(&raw);
    ask(client, NULL, address, 9);
    servers_kill(pid);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
