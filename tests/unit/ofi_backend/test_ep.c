/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive buffers that messages still come into: the driver does not post them
 * again. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_domain.h"

enum {
    GAP = 1000,
    SHORT = 20,
    TICKS = 1000 /* longer than any wait of the driver */
};

static struct amg_ofi_call real;
static struct iovec posted; /* last */
static unsigned posts;

static ssize_t call_recvmsg(
    struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    posted = msg->msg_iov[0];
    posts++;
    return real.recvmsg(ep, msg, flags);
}

/* As if the provider had received it. */
static void receive(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, void *at, size_t len, uint64_t flags)
{
    const struct fi_cq_data_entry entry = {
        .buf = at, .len = len, .flags = FI_RECV | flags};

    memset(at, 0, len);
    receive->work.done(domain, &receive->work, &entry, 0);
}

/* A long message, whose memory is the beginning of a buffer, comes late; other
 * messages have filled the rest. */
static void test_ep_late_message_has_its_memory(void **state)
{
    const struct amg_open how = {.info = "127.0.0.1",
        .protocol = "tcp",
        .is_listening = true,
        .max_contexts = 1};
    struct amg_domain *base = NULL;
    struct amg_ofi_domain *domain = NULL;
    struct amg_ofi_receive *buffer = NULL;
    unsigned char *bytes = NULL;
    unsigned before = 0;

    (void)state;
    assert_int_equal(amg_ofi_transport.domain.open(&how, &base), HG_SUCCESS);
    domain = amg_ofi_domain_of(base);
    buffer = &domain->in.receives[0];
    bytes = buffer->bytes;
    amg_bias_lock(&domain->lock);
    before = posts;
    receive(domain, buffer, bytes + GAP, SHORT, FI_MULTI_RECV);
    assert_int_equal(posts, before);
    domain->clock.tick += TICKS;
    amg_ofi_receive_again_locked(domain);
    assert_int_equal(posts, before + 1);
    assert_false((unsigned char *)posted.iov_base < bytes + GAP &&
                 (unsigned char *)posted.iov_base + posted.iov_len > bytes);
    /* The late message does not count for the new buffer. */
    receive(domain, buffer, bytes, GAP, 0);
    assert_true(buffer->is_posted && buffer->sum == 0 && buffer->end == 0);
    /* Messages into the new buffer fill it. */
    receive(domain, buffer, posted.iov_base, posted.iov_len, FI_MULTI_RECV);
    assert_int_equal(posts, before + 2);
    amg_bias_unlock(&domain->lock);
    amg_ofi_transport.domain.close(base);
}

/* The memory kept for late messages is bounded. */
static void test_ep_gaps_take_no_memory_without_end(void **state)
{
    const struct amg_open how = {.info = "127.0.0.1",
        .protocol = "tcp",
        .is_listening = true,
        .max_contexts = 1};
    struct amg_domain *base = NULL;
    struct amg_ofi_domain *domain = NULL;
    struct amg_ofi_receive *buffer = NULL;
    unsigned before = 0;

    (void)state;
    assert_int_equal(amg_ofi_transport.domain.open(&how, &base), HG_SUCCESS);
    domain = amg_ofi_domain_of(base);
    buffer = &domain->in.receives[0];
    amg_bias_lock(&domain->lock);
    before = posts;
    for (unsigned i = 0; i < 100; i++) {
        receive(domain, buffer, buffer->bytes + GAP, SHORT, FI_MULTI_RECV);
        domain->clock.tick += TICKS;
        amg_ofi_receive_again_locked(domain);
    }
    assert_int_equal(posts, before + 100);
    assert_in_range(domain->in.replaced_count, 1, 16);
    amg_bias_unlock(&domain->lock);
    amg_ofi_transport.domain.close(base);
}

static int start(void **state)
{
    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.recvmsg = call_recvmsg;
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
        UNIT_TEST(test_ep_late_message_has_its_memory),
        UNIT_TEST(test_ep_gaps_take_no_memory_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
