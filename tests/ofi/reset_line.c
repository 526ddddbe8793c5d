/* SPDX-License-Identifier: BSD-3-Clause */
/* Reset of the TCP connection to a server, as by a firewall that forgets it,
 * while both processes live and its buffers hold requests: each call ends, with
 * HG_SUCCESS or HG_HOSTUNREACH, and the next one is answered. Skipped without
 * the right to send raw packets. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_proc.h"
#include "servers.h"

enum {
    LEN = 3000, /* of a request; no socket holds CALLS of them */
    CALLS = 64,
    TURNS = 50, /* until all that can has left */
    FD_MAX = 256,
    NO_PROBE = -1, /* ends TCP_REPAIR without a packet */
    SKIPPED = 77,
};

struct blob {
    char bytes[LEN];
};

/* IP and TCP without options. */
struct packet {
    struct iphdr ip;
    struct tcphdr tcp;
};

static pid_t server = -1;

void servers_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    if (server > 0)
        kill(server, SIGKILL);
    exit(EXIT_FAILURE);
}

static hg_return_t blob_proc(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, LEN);
}

static hg_return_t serve_blob(hg_handle_t handle)
{
    CHECK(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void turn(hg_context_t *context)
{
    unsigned count = 0;

    (void)HG_Progress(context, 10);
    (void)HG_Trigger(context, 0, CALLS, &count);
}

static hg_context_t *open_at(hg_id_t *ret_id)
{
    hg_class_t *cls = HG_Init("tcp://127.0.0.1", HG_TRUE);

    CHECK(cls != NULL);
    *ret_id = HG_Register_name(cls, "blob", blob_proc, NULL, serve_blob);
    return HG_Context_create(cls);
}

static void serve(int fd)
{
    hg_id_t id = 0;
    hg_context_t *context = open_at(&id);
    char text[SERVERS_TEXT_CAP] = "";
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(HG_Addr_self(HG_Context_get_class(context), &self) == HG_SUCCESS);
    CHECK(HG_Addr_to_string(HG_Context_get_class(context), text, &len, self) ==
          HG_SUCCESS);
    CHECK(write(fd, text, sizeof(text)) == (ssize_t)sizeof(text));
    for (;;)
        turn(context);
}

/* Internet checksum of `len` bytes, which is even. */
static uint16_t sum_of(const void *bytes, size_t len, uint32_t sum)
{
    for (size_t i = 0; i < len; i += 2) {
        uint16_t word = 0;

        memcpy(&word, (const char *)bytes + i, sizeof(word));
        sum += word;
    }
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void reset_send(int raw, const struct sockaddr_in *from,
    const struct sockaddr_in *to, uint32_t seq, uint32_t ack)
{
    struct packet packet;
    uint32_t pseudo = 0;

    memset(&packet, 0, sizeof(packet));
    packet.ip.version = 4;
    packet.ip.ihl = 5;
    packet.ip.tot_len = htons(sizeof(packet));
    packet.ip.ttl = 64;
    packet.ip.protocol = IPPROTO_TCP;
    packet.ip.saddr = from->sin_addr.s_addr;
    packet.ip.daddr = to->sin_addr.s_addr;
    packet.tcp.source = from->sin_port;
    packet.tcp.dest = to->sin_port;
    packet.tcp.seq = htonl(seq);
    packet.tcp.ack_seq = htonl(ack);
    packet.tcp.doff = 5;
    packet.tcp.rst = 1;
    packet.tcp.ack = 1;
    pseudo = htons(IPPROTO_TCP) + htons(sizeof(packet.tcp));
    pseudo = (uint16_t)~sum_of(&packet.ip.saddr, 8, pseudo);
    packet.tcp.check = sum_of(&packet.tcp, sizeof(packet.tcp), pseudo);
    CHECK(sendto(raw, &packet, sizeof(packet), 0, (const struct sockaddr *)to,
              sizeof(*to)) == (ssize_t)sizeof(packet));
}

static uint32_t seq_of(int fd, int queue)
{
    uint32_t seq = 0;
    socklen_t len = sizeof(seq);

    CHECK(setsockopt(
              fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) == 0);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len) == 0);
    return seq;
}

/* Resets both ends of the connection of this descriptor, if it is one. False:
 * not permitted. */
static bool line_reset(int raw, int fd, unsigned *count)
{
    int on = 1;
    int off = NO_PROBE;
    struct sockaddr_in here;
    struct sockaddr_in there;
    struct tcp_info info;
    socklen_t len = sizeof(info);
    uint32_t sent = 0;
    uint32_t had = 0;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
        info.tcpi_state != TCP_ESTABLISHED)
        return true;
    len = sizeof(here);
    CHECK(getsockname(fd, (struct sockaddr *)&here, &len) == 0);
    len = sizeof(there);
    CHECK(getpeername(fd, (struct sockaddr *)&there, &len) == 0);
    if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) != 0)
        return false;
    sent = seq_of(fd, TCP_SEND_QUEUE);
    had = seq_of(fd, TCP_RECV_QUEUE);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)) == 0);
    reset_send(raw, &here, &there, sent, had);
    reset_send(raw, &there, &here, had, sent);
    (*count)++;
    return true;
}

static hg_return_t answered(const struct hg_cb_info *info)
{
    *(hg_return_t *)info->arg = info->ret;
    return HG_Destroy(info->info.forward.handle);
}

static void post(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_return_t *ret)
{
    static struct blob blob;
    hg_handle_t handle = HG_HANDLE_NULL;

    *ret = HG_RETURN_MAX;
    CHECK(HG_Create(context, addr, id, &handle) == HG_SUCCESS);
    CHECK(HG_Forward(handle, answered, ret, &blob) == HG_SUCCESS);
}

static hg_return_t ask(hg_context_t *context, hg_addr_t addr, hg_id_t id)
{
    hg_return_t ret;

    post(context, addr, id, &ret);
    while (ret == HG_RETURN_MAX)
        turn(context);
    return ret;
}

static int client(const char *address)
{
    int raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    hg_return_t rets[CALLS];
    hg_id_t id = 0;
    hg_context_t *context = open_at(&id);
    hg_class_t *cls = HG_Context_get_class(context);
    hg_addr_t addr = HG_ADDR_NULL;
    unsigned count = 0;
    unsigned lost = 0;
    bool may = raw >= 0;

    CHECK(HG_Addr_lookup2(cls, address, &addr) == HG_SUCCESS);
    CHECK(ask(context, addr, id) == HG_SUCCESS);
    CHECK(kill(server, SIGSTOP) == 0);
    for (unsigned i = 0; i < CALLS; i++)
        post(context, addr, id, &rets[i]);
    for (unsigned i = 0; i < TURNS; i++)
        turn(context);
    for (int fd = 0; fd < FD_MAX && may; fd++)
        may = line_reset(raw, fd, &count);
    CHECK(kill(server, SIGCONT) == 0);
    CHECK(!may || count > 0);
    for (unsigned i = 0; i < CALLS; i++) {
        while (rets[i] == HG_RETURN_MAX)
            turn(context);
        CHECK(rets[i] == HG_SUCCESS || rets[i] == HG_HOSTUNREACH);
        lost += rets[i] == HG_HOSTUNREACH ? 1 : 0;
    }
    printf("%u connections reset, %u of %d calls lost\n", count, lost, CALLS);
    CHECK(ask(context, addr, id) == HG_SUCCESS);
    CHECK(HG_Addr_free(cls, addr) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    return may ? EXIT_SUCCESS : SKIPPED;
}

int main(void)
{
    char address[SERVERS_TEXT_CAP];
    int ends[2];
    int code = EXIT_FAILURE;

    CHECK(pipe(ends) == 0);
    server = fork();
    CHECK(server >= 0);
    if (server == 0)
        serve(ends[1]);
    CHECK(read(ends[0], address, sizeof(address)) == (ssize_t)sizeof(address));
    code = client(address);
    kill(server, SIGKILL);
    CHECK(waitpid(server, NULL, 0) == server);
    return code;
}
