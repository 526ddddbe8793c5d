/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain over an unusual provider: with fewer options, without a descriptor,
 * without a reachable address, or with shorter messages than its peer. All by
 * tcp on the loopback interface, with single calls replaced. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fake.h"
#include "ofi_backend/ofi_ep.h"
#include "party.h"

enum { SHORT_LEN = 40, LEN = 900, MESSAGES = 40, BLOCK_LEN = 100000 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

struct world {
    struct amg_domain *domain;
    struct amg_ep *ep;
    struct amg_peer *self;
};

static struct amg_ofi_call real;
static unsigned trywaits;
static enum fi_wait_obj waits;
static bool has_descriptor;
static int ready_fd = -1;
static const char *written_at;
static const char *written_end;

static int call_setopt(
    struct fid_ep *ep, int option, const void *value, size_t len)
{
    (void)ep;
    (void)option;
    (void)value;
    (void)len;
    return -FI_ENOPROTOOPT;
}

static int call_getname_any(struct fid_ep *ep, void *addr, size_t *len)
{
    int code = real.getname(ep, addr, len);

    ((struct sockaddr_in *)addr)->sin_addr.s_addr = htonl(INADDR_ANY);
    return code;
}

static int call_cq_open(
    struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **ret_cq)
{
    waits = attr->wait_obj;
    return real.cq_open(domain, attr, ret_cq);
}

static int call_cq_wait_fd(struct fid_cq *cq, int *ret_fd)
{
    if (ready_fd >= 0) {
        *ret_fd = ready_fd;
        return 0;
    }
    return has_descriptor ? real.cq_wait_fd(cq, ret_fd) : -FI_ENOSYS;
}

/* tcp crashes on a queue that was not opened for waiting (1.17). */
static int call_cq_trywait(struct fid_fabric *fabric, struct fid_cq *cq)
{
    trywaits++;
    assert_int_equal(waits, FI_WAIT_FD);
    return real.cq_trywait(fabric, cq);
}

/* A provider of short messages. */
static size_t longest;

static int call_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
    int code = real.getinfo(version, node, service, flags, hints, ret_info);

    for (struct fi_info *at = *ret_info; code == 0 && at != NULL; at = at->next)
        at->ep_attr->max_msg_size = longest;
    return code;
}

static hg_return_t world_try(
    struct world *world, const char *info, bool no_block)
{
    const struct amg_open how = {.info = info,
        .protocol = "tcp",
        .is_listening = true,
        .nic.no_block = no_block,
        .max_contexts = 1};

    return amg_ofi_transport.domain.open(&how, &world->domain);
}

static void world_open_at(struct world *world, const char *info, bool no_block)
{
    assert_int_equal(world_try(world, info, no_block), HG_SUCCESS);
    assert_int_equal(
        amg_ofi_transport.ep.open(world->domain, 0, &world->ep), HG_SUCCESS);
    world->self = amg_ofi_transport.addr.self(world->domain);
}

static void world_open(struct world *world, bool no_block)
{
    world_open_at(world, "127.0.0.1", no_block);
}

static void world_close(struct world *world)
{
    struct amg_events events;

    amg_events_init(&events);
    amg_ofi_transport.addr.unref(world->domain, world->self);
    amg_ofi_transport.ep.close(world->ep, &events);
    amg_ofi_transport.domain.close(world->domain);
}

/* Sends several messages to itself at once, and receives all of them. */
static void world_talk(struct world *world)
{
    static struct amg_op ops[MESSAGES];
    struct amg_events events;
    struct amg_link *link = NULL;
    unsigned sent = 0;
    unsigned arrived = 0;

    for (unsigned i = 0; i < MESSAGES; i++) {
        struct amg_buf *buf = NULL;

        assert_int_equal(
            amg_ofi_transport.msg.get_buf(world->ep, world->self, &buf),
            HG_SUCCESS);
        memset(buf->data, (int)i, LEN);
        memset(&ops[i], 0, sizeof(ops[i]));
        assert_int_equal(
            amg_ofi_transport.msg.send_request(world->ep,
                (struct amg_target){world->self, 0}, buf, LEN, false, &ops[i]),
            HG_SUCCESS);
    }
    amg_events_init(&events);
    while (sent < MESSAGES || arrived < MESSAGES) {
        (void)amg_ofi_transport.ep.arm(world->ep);
        (void)amg_ofi_transport.ep.poll(world->ep, 100, &events);
        while ((link = amg_list_pop(&events.done)) != NULL) {
            assert_int_equal(
                amg_container_of(link, struct amg_op, link)->ret, HG_SUCCESS);
            sent++;
        }
        while ((link = amg_list_pop(&events.arrived)) != NULL) {
            struct amg_arrival *arrival =
                amg_container_of(link, struct amg_arrival, link);

            assert_int_equal(arrival->len, LEN);
            assert_int_equal(
                ((const unsigned char *)arrival->data)[LEN - 1], arrived);
            amg_ofi_transport.msg.release(world->ep, arrival);
            arrived++;
        }
    }
}

static void test_domain_with_a_buffer_for_each_message(void **state)
{
    struct world world;

    (void)state;
    fake_call.setopt = call_setopt;
    world_open(&world, false);
    assert_false(amg_ofi_domain_of(world.domain)->facts.is_multi);
    world_talk(&world);
    world_close(&world);
}

static void test_domain_of_short_messages(void **state)
{
    struct world world;
    struct amg_limits limits;

    (void)state;
    fake_call.getinfo = call_getinfo;
    longest = 1024;
    world_open(&world, false);
    amg_ofi_transport.domain.limits(world.domain, &limits);
    assert_true(limits.request_len > LEN && limits.request_len < longest);
    assert_int_equal(amg_ofi_domain_of(world.domain)->message_max, longest);
    world_talk(&world);
    world_close(&world);
    longest = 100;
    assert_int_equal(world_try(&world, "127.0.0.1", false), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("messages of up to 100 bytes"));
}

/* The call ends as soon as the peer has answered, and the log says why. */
static void test_domain_of_shorter_messages_is_refused(void **state)
{
    static struct amg_op op;
    struct party parties[2];
    struct amg_peer *peer = NULL;
    struct amg_buf *buf = NULL;
    struct amg_events events;
    struct amg_link *link = NULL;

    (void)state;
    fake_call.getinfo = call_getinfo;
    longest = 1024;
    party_open(&parties[0], 0, 1);
    longest = 2048;
    party_open(&parties[1], 0, 1);
    peer = party_meet(&parties[0], &parties[1]);
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(parties[0].ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, SHORT_LEN);
    assert_int_equal(
        amg_ofi_transport.msg.send_request(parties[0].ep,
            (struct amg_target){peer, 0}, buf, SHORT_LEN, true, &op),
        HG_SUCCESS);
    amg_events_init(&events);
    for (unsigned i = 0; link == NULL; i++) {
        (void)amg_ofi_transport.ep.poll(parties[i % 2].ep, 100, &events);
        link = amg_list_pop(&events.done);
    }
    assert_ptr_equal(link, &op.link);
    assert_int_equal(op.ret, HG_HOSTUNREACH);
    assert_true(fake_has_logged("its version or sizes differ"));
    amg_ofi_transport.addr.unref(parties[0].domain, peer);
    (void)party_close(&parties[0]);
    (void)party_close(&parties[1]);
}

static void test_domain_without_a_wait_object(void **state)
{
    struct world world;
    struct amg_limits limits;

    (void)state;
    world_open(&world, true);
    assert_int_equal(waits, FI_WAIT_NONE);
    assert_int_equal(amg_ofi_transport.ep.wait_fd(world.ep), -1);
    world_talk(&world);
    assert_int_equal(trywaits, 0);
    amg_ofi_transport.domain.limits(world.domain, &limits);
    assert_true(limits.is_spinning && !limits.must_yield);
    world_close(&world);
}

static void test_domain_without_a_descriptor(void **state)
{
    struct world world;
    struct amg_limits limits;

    (void)state;
    has_descriptor = false;
    world_open(&world, false);
    assert_int_equal(waits, FI_WAIT_NONE);
    world_talk(&world);
    assert_int_equal(trywaits, 0);
    amg_ofi_transport.domain.limits(world.domain, &limits);
    assert_true(limits.is_spinning && limits.must_yield);
    world_close(&world);
}

static void test_domain_that_blocks(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, false);
    assert_int_equal(waits, FI_WAIT_FD);
    assert_true(amg_ofi_transport.ep.wait_fd(world.ep) >= 0);
    world_talk(&world);
    assert_true(trywaits > 0);
    world_close(&world);
}

/* As the provider net of 1.17: after the first event its descriptor stays
 * readable. */
static void test_domain_with_a_stale_descriptor(void **state)
{
    struct world world;
    struct amg_events events;
    int event_fd = eventfd(1, EFD_CLOEXEC);
    unsigned looks = 0;

    (void)state;
    assert_true(event_fd >= 0);
    ready_fd = event_fd;
    world_open(&world, false);
    world_talk(&world);
    amg_events_init(&events);
    while (!amg_ofi_transport.ep.arm(world.ep)) {
        (void)amg_ofi_transport.ep.poll(world.ep, 10, &events);
        assert_true(++looks < 1000);
    }
    /* From now on the descriptor is not used, and waits are short. */
    assert_int_equal(amg_ofi_domain_of(world.domain)->wait.fd, -1);
    assert_true(fake_has_logged("readable though its queue is empty"));
    (void)amg_ofi_transport.ep.poll(world.ep, 10, &events);
    world_talk(&world);
    world_close(&world);
    ready_fd = -1;
    close(event_fd);
}

static void test_domain_at_ipv6(void **state)
{
    struct world world;
    char text[256];
    size_t len = sizeof(text);

    (void)state;
    if (world_try(&world, "[::1]", false) != HG_SUCCESS)
        skip(); /* this machine has no IPv6 */
    amg_ofi_transport.domain.close(world.domain);
    world_open_at(&world, "[::1]", false);
    assert_int_equal(
        amg_ofi_transport.addr.format(world.domain, world.self, text, &len),
        HG_SUCCESS);
    assert_non_null(strstr(text, "://[::1]:"));
    world_talk(&world);
    world_close(&world);
}

static void test_domain_at_no_address_is_refused(void **state)
{
    struct world world;

    (void)state;
    fake_call.getname = call_getname_any;
    assert_int_equal(world_try(&world, "127.0.0.1", false), HG_ADDRNOTAVAIL);
    assert_true(fake_has_logged("cannot say where others reach it"));
}

static void test_domain_at_a_port_in_use_is_refused(void **state)
{
    struct world world;
    struct world other;
    char text[256];
    char wanted[320];
    size_t len = sizeof(text);

    (void)state;
    world_open(&world, false);
    assert_int_equal(
        amg_ofi_transport.addr.format(world.domain, world.self, text, &len),
        HG_SUCCESS);
    assert_int_equal(
        world_try(&other, strstr(text, "://") + 3, false), HG_ADDRINUSE);
    snprintf(wanted, sizeof(wanted),
        "opening ofi+tcp;ofi_rxm at '%s'; another program uses that port",
        strstr(text, "://") + 3);
    assert_true(fake_has_logged(wanted));
    world_talk(&world);
    world_close(&world);
}

static int refusal; /* of the NIC */

static int call_enable(struct fid_ep *ep)
{
    (void)ep;
    return refusal;
}

static int call_domain(
    struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain)
{
    (void)fabric;
    (void)info;
    (void)domain;
    return refusal;
}

/* Slingshot: Slurm has reserved too few resources of the NIC. */
static void test_domain_of_a_full_nic_names_the_remedy(void **state)
{
    const int codes[] = {-FI_ENOSPC, -FI_EDOMAIN};
    struct world world;

    (void)state;
    fake_call.enable = call_enable;
    for (unsigned i = 0; i < 2; i++) {
        fake_log_clear();
        refusal = codes[i];
        assert_int_equal(world_try(&world, "127.0.0.1", false), HG_NA_ERROR);
        assert_true(fake_has_logged("Slurm's --network=depth=N"));
        assert_false(fake_has_logged("of this machine?"));
    }
}

/* Slingshot: Slurm has given no VNI to a job on one node. */
static void test_domain_without_a_vni_names_the_remedy(void **state)
{
    struct world world;

    (void)state;
    fake_call.domain = call_domain;
    refusal = -FI_ENOSYS;
    assert_int_equal(world_try(&world, "127.0.0.1", false), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("Slurm's --network=single_node_vni"));
}

static void test_domain_without_memory_logs_it(void **state)
{
    struct world world;

    (void)state;
    for (uint64_t n = 1; n <= 4; n++) {
        fake_log_clear();
        amg_mem_fail_nth(n);
        assert_int_equal(world_try(&world, "127.0.0.1", false), HG_NOMEM);
        amg_mem_fail_nth(0);
        assert_true(fake_has_logged("ofi+tcp: there is no memory for a class"));
    }
}

static void test_domain_at_a_foreign_address_is_refused(void **state)
{
    struct world world;

    (void)state;
    /* Reserved for documentation (RFC 5737): no machine has it. */
    assert_int_not_equal(world_try(&world, "203.0.113.77", false), HG_SUCCESS);
    assert_true(fake_has_logged("203.0.113.77"));
    assert_true(fake_has_logged("of this machine?"));
}

/* Takes the place of libc's: notes the memory that got pages to write. */
int madvise(void *at, size_t len, int advice)
{
    if (advice == MADV_POPULATE_WRITE) {
        written_at = at;
        written_end = (char *)at + len;
    }
    return (int)syscall(SYS_madvise, at, len, advice);
}

static int call_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    assert_int_equal(access, FI_SEND);
    assert_true(written_at <= (const char *)bytes &&
                written_end >= (const char *)bytes + len);
    return real.mr_reg(domain, bytes, len, access, key, ret_mr);
}

/* A page that was only read may be the kernel's page of zeros, and the block
 * gets another page when a message is written after the registration. */
static void test_block_to_send_from_is_registered_with_own_pages(void **state)
{
    struct world world;
    struct amg_ofi_domain *domain = NULL;
    struct amg_ofi_block *block = NULL;

    (void)state;
    world_open(&world, false);
    fake_call.mr_reg = call_mr_reg;
    domain = amg_ofi_domain_of(world.domain);
    domain->facts.needs_desc = true;
    domain->facts.needs_pages = true;
    amg_bias_lock(&domain->lock);
    assert_int_equal(
        amg_ofi_block_make_locked(domain, BLOCK_LEN, FI_SEND, &block),
        HG_SUCCESS);
    amg_ofi_block_free_locked(domain, block);
    amg_bias_unlock(&domain->lock);
    world_close(&world);
}

static int start(void **state)
{
    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.cq_open = call_cq_open;
    fake_call.cq_wait_fd = call_cq_wait_fd;
    fake_call.cq_trywait = call_cq_trywait;
    hg_log_set_level(HG_LOG_LEVEL_INFO);
    has_descriptor = true;
    trywaits = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_domain_with_a_buffer_for_each_message),
        UNIT_TEST(test_domain_of_short_messages),
        UNIT_TEST(test_domain_of_shorter_messages_is_refused),
        UNIT_TEST(test_domain_without_a_wait_object),
        UNIT_TEST(test_domain_without_a_descriptor),
        UNIT_TEST(test_domain_that_blocks),
        UNIT_TEST(test_domain_with_a_stale_descriptor),
        UNIT_TEST(test_domain_at_ipv6),
        UNIT_TEST(test_domain_at_no_address_is_refused),
        UNIT_TEST(test_domain_at_a_port_in_use_is_refused),
        UNIT_TEST(test_domain_of_a_full_nic_names_the_remedy),
        UNIT_TEST(test_domain_without_a_vni_names_the_remedy),
        UNIT_TEST(test_domain_without_memory_logs_it),
        UNIT_TEST(test_domain_at_a_foreign_address_is_refused),
        UNIT_TEST(test_block_to_send_from_is_registered_with_own_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
