/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are too short, too long, of unknown kind or another version, or
 * name an unknown RPC are answered or dropped, with a warning that names the
 * sending rank, and the service goes on. */
#include <string.h>

#include "core/class.h"
#include "mpi_backend/mpi_domain.h"
#include "ranks.h"
#include "wire/header.h"

enum {
    REST_LEN = 64,
    UNKNOWN_ID = 0x7777,
    NO_COOKIE = 0xfffff, /* of no call here */
};

struct message {
    struct amg_mpi_header header;
    struct amg_header rpc;
    unsigned char rest[REST_LEN];
};

static struct ranks all;

static struct amg_mpi_domain *domain_of_class(void)
{
    return amg_mpi_domain_of(all.cls->domains[AMG_ROUTE_MPI]);
}

/* Sends `len` bytes to rank 0, as the driver would. */
static void raw_send(const struct message *message, int len)
{
    struct amg_mpi_domain *domain = domain_of_class();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    MPI_Isend(message, len, MPI_BYTE, 0, amg_mpi_tag(domain, 0),
        domain->comm.messages, &request);
    UNTIL((MPI_Test(&request, &flag, &status), flag != 0));
}

/* A good request, to be damaged. */
static struct message message_make(uint8_t kind)
{
    struct message message;

    memset(&message, 0, sizeof(message));
    message.header.kind = (uint8_t)(AMG_MPI_MAGIC | kind);
    message.header.cookie = NO_COOKIE;
    amg_header_write_request(&message.rpc, 0, UNKNOWN_ID);
    return message;
}

static const int head_len =
    sizeof(struct amg_mpi_header) + sizeof(struct amg_header);

/* Messages that the driver itself refuses. None exceeds the length that was
 * agreed on when the class was opened: MPI passes such an error to the handler
 * of MPI_COMM_WORLD, which is the program's. */
static void driver_lies(void)
{
    struct message message = message_make(AMG_MPI_REQUEST);

    for (int len = 0; len < (int)sizeof(message.header); len++)
        raw_send(&message, len);
    message.header.kind = 0x30; /* another magic */
    raw_send(&message, head_len);
    message.header.kind = AMG_MPI_MAGIC | AMG_MPI_KIND_COUNT;
    raw_send(&message, head_len);
    for (uint8_t kind = AMG_MPI_REPLY; kind < AMG_MPI_DISCONNECT; kind++) {
        message = message_make(kind);
        raw_send(&message, (int)sizeof(message.header));
        raw_send(&message, head_len);
    }
    message = message_make(AMG_MPI_CREDIT);
    message.header.credits = 9;
    raw_send(&message, (int)sizeof(message.header));
}

/* The announcement of a long message, and `data_len` bytes that follow it. */
static void long_send(uint8_t kind, uint32_t len, uint8_t context, int data_len)
{
    struct amg_mpi_domain *domain = domain_of_class();
    struct message message = message_make(AMG_MPI_LONG);
    struct amg_mpi_long body = {.len = len, .kind = kind, .context = context};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    memcpy(&message.rpc, &body, sizeof(body));
    raw_send(&message, (int)(sizeof(message.header) + sizeof(body)));
    if (data_len < 0)
        return;
    message = message_make(kind);
    MPI_Isend(&message, data_len, MPI_BYTE, 0,
        2 * domain->transfers.tags_half + context, domain->comm.data, &request);
    UNTIL((MPI_Test(&request, &flag, &status), flag != 0));
}

/* Announcements that are refused, and messages that were announced otherwise.
 * Nothing follows those that are refused, so that the others stay in step. */
static void long_lies(void)
{
    uint32_t len = domain_of_class()->room_len + 1;

    long_send(AMG_MPI_REQUEST, len - 1, 0, -1);
    long_send(AMG_MPI_REQUEST, UINT32_MAX, 0, -1);
    long_send(AMG_MPI_REQUEST, len, 1, -1); /* it goes to context 0 */
    long_send(AMG_MPI_REPLY, len, 0, -1);
    long_send(AMG_MPI_GET, len, 0, -1);
    long_send(0xff, len, 0, -1);
    long_send(AMG_MPI_REQUEST, len, 0, 0);
    long_send(AMG_MPI_REQUEST, len, 0, 3);
    long_send(AMG_MPI_ONEWAY, len, 0, head_len);
}

/* Messages that only the RPC layer can refuse. */
static void rpc_lies(uint8_t kind)
{
    struct message message = message_make(kind);
    uint64_t no_bulk = 1u << 20;

    raw_send(&message, (int)sizeof(message.header));
    raw_send(&message, (int)sizeof(message.header) + 5);
    raw_send(&message, head_len); /* no such RPC */
    message.rpc.version = AMG_HEADER_VERSION + 1;
    raw_send(&message, head_len);
    message = message_make(kind);
    message.rpc.magic = AMG_HEADER_REPLY;
    raw_send(&message, head_len);
    message = message_make(kind);
    message.rpc.flags = 0x80;
    raw_send(&message, head_len);
    message = message_make(kind);
    message.rpc.flags = AMG_HEADER_ACK | AMG_HEADER_ONE_WAY;
    raw_send(&message, head_len); /* no call waits for it */
    /* Long arguments with an unreadable descriptor. */
    message = message_make(kind);
    amg_header_write_request(&message.rpc, AMG_HEADER_MORE, all.swap);
    memcpy(message.rest, &no_bulk, sizeof(no_bulk));
    raw_send(&message, head_len);
    raw_send(&message, head_len + 8);
    raw_send(&message, head_len + REST_LEN);
}

static void victim_check(FILE *log)
{
    char text[256];
    hg_size_t len = sizeof(text);
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all.cls, 1, &addr));
    OK(HG_Addr_to_string(all.cls, text, &len, addr));
    OK(HG_Addr_free(all.cls, addr));
    CHECK(ranks_log_has(log, "rank 1: a message of unknown form"));
    CHECK(ranks_log_has(log, "rank 1: an answer that matches no call"));
    CHECK(ranks_log_has(log, "rank 1: more credits"));
    CHECK(ranks_log_has(log, text)); /* whose request was refused */
    CHECK(ranks_log_has(log, "another version"));
    CHECK(ranks_log_has(log, "the RPC is not registered here"));
}

int main(void)
{
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    log = ranks_log_catch("warning");
    HG_Set_log_stream("error", log);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 1) {
        driver_lies();
        long_lies();
        rpc_lies(AMG_MPI_REQUEST);
        rpc_lies(AMG_MPI_ONEWAY);
        ranks_echo(&all, 0, 1); /* arrives after all of them */
    }
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0)
        victim_check(log);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
