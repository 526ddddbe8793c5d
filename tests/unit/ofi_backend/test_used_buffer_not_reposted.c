/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive buffers while a message may still be written into them: the driver
 * does not post them again. A domain of this process, and a provider that only
 * records posts and cancels. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_domain.h"

enum { LONG_AGO = 1000, TICKS_MAX = 100 };

static struct amg_domain *base;
static struct amg_ep *ep;
static struct amg_ofi_receive *receive; /* the first one */
static size_t receive_len;
static unsigned posts;
static unsigned cancels;

static struct amg_ofi_domain *domain(void)
{
    return amg_ofi_domain_of(base);
}

static ssize_t call_recvmsg(
    struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    (void)fid;
    (void)flags;
    receive_len = msg->msg_iov[0].iov_len;
    posts++;
    return 0;
}

static ssize_t call_cancel(struct fid_ep *fid, void *context)
{
    (void)fid;
    (void)context;
    cancels++;
    return 0;
}

static void begin(void)
{
    const struct amg_open how = {.info = "127.0.0.1",
        .protocol = "tcp",
        .is_listening = true,
        .max_contexts = 1};

    fake_start(NULL, 0);
    fake_call.recvmsg = call_recvmsg;
    fake_call.cancel = call_cancel;
    assert_int_equal(amg_ofi_transport.domain.open(&how, &base), HG_SUCCESS);
    assert_int_equal(amg_ofi_transport.ep.open(base, 0, &ep), HG_SUCCESS);
    assert_int_equal(posts, AMG_OFI_RECEIVES);
    receive = &domain()->in.receives[0];
    domain()->clock.tick += LONG_AGO; /* no message came for long */
    posts = 0;
    cancels = 0;
}

static void end(void)
{
    struct amg_events events;

    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        domain()->in.receives[i].is_posted = false; /* they were never posted */
    amg_events_init(&events);
    amg_ofi_transport.ep.close(ep, &events);
    amg_ofi_transport.domain.close(base);
    fake_stop();
    posts = 0;
}

/* The provider reports a completion of `len` bytes at `at`, in the first
 * buffer. */
static void say(void *at, size_t len, uint64_t flags, int error)
{
    const struct fi_cq_data_entry entry = {
        .buf = at, .len = len, .flags = FI_RECV | flags};

    amg_bias_lock(&domain()->lock);
    receive->work.done(domain(), &receive->work, &entry, error);
    amg_bias_unlock(&domain()->lock);
}

/* Ticks until the buffer is posted; TICKS_MAX: more. */
static unsigned ticks_until_posted(void)
{
    unsigned count = 0;

    amg_bias_lock(&domain()->lock);
    amg_ofi_receive_again_locked(domain());
    while (!receive->is_posted && count < TICKS_MAX) {
        domain()->clock.tick++;
        count++;
        amg_ofi_receive_again_locked(domain());
    }
    amg_bias_unlock(&domain()->lock);
    return count;
}

static void test_receive_that_is_full_is_posted_at_once(void **state)
{
    unsigned char *bytes = NULL;

    (void)state;
    begin();
    bytes = receive->bytes;
    say(bytes, receive_len - domain()->receive_max, 0, 0);
    assert_int_equal(posts, 0);
    say(bytes + receive_len - domain()->receive_max, 100, FI_MULTI_RECV, 0);
    assert_int_equal(posts, 1);
    assert_ptr_equal(receive->bytes, bytes);
    end();
}

/* As tcp;ofi_rxm (1.17) does when a message that it reads came before the
 * buffer. */
static void test_receive_given_back_too_early_waits_for_the_rest(void **state)
{
    unsigned char *bytes = NULL;

    (void)state;
    begin();
    bytes = receive->bytes;
    say(bytes, 100, 0, 0);
    domain()->clock.tick += LONG_AGO;
    say(NULL, 0, FI_MULTI_RECV, 0);
    assert_int_equal(posts, 0);
    say(bytes + 100, 0, 0, FI_ETRUNC);
    assert_int_equal(posts, 1);
    assert_int_equal(cancels, 0);
    assert_ptr_equal(receive->bytes, bytes);
    end();
}

static void test_receive_given_up_is_posted_with_other_memory(void **state)
{
    unsigned char *bytes = NULL;
    unsigned count = 0;

    (void)state;
    begin();
    bytes = receive->bytes;
    say(NULL, 0, FI_MULTI_RECV, 0);
    count = ticks_until_posted();
    assert_in_range(count, 1, TICKS_MAX - 1);
    assert_ptr_not_equal(receive->bytes, bytes);
    for (unsigned i = 1; i < AMG_OFI_RECEIVES; i++)
        assert_ptr_not_equal(receive->bytes, domain()->in.receives[i].bytes);
    /* A late message does not count for the new memory. */
    say(bytes, 200, 0, 0);
    assert_int_equal(receive->end, 0);
    assert_int_equal(receive->sum, 0);
    assert_true(receive->is_posted);
    end();
}

static void test_receive_that_was_cut_off_is_taken_back(void **state)
{
    unsigned char *bytes = NULL;

    (void)state;
    begin();
    bytes = receive->bytes;
    say(bytes, 0, 0, FI_ETRUNC);
    assert_int_equal(cancels, 1);
    assert_int_equal(
        posts, 0); /* the provider may report its return once more */
    say(NULL, 0, 0, FI_ECANCELED);
    assert_int_equal(posts, 0);
    assert_in_range(ticks_until_posted(), 1, TICKS_MAX - 1);
    assert_ptr_equal(receive->bytes, bytes);
    end();
}

static void test_receive_that_failed_is_posted_with_other_memory(void **state)
{
    unsigned char *bytes = NULL;

    (void)state;
    begin();
    bytes = receive->bytes;
    say(NULL, 0, 0, FI_ENOTCONN);
    assert_int_equal(cancels, 1);
    assert_in_range(ticks_until_posted(), 1, TICKS_MAX - 1);
    assert_ptr_not_equal(receive->bytes, bytes);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receive_that_is_full_is_posted_at_once),
        cmocka_unit_test(test_receive_given_back_too_early_waits_for_the_rest),
        cmocka_unit_test(test_receive_given_up_is_posted_with_other_memory),
        cmocka_unit_test(test_receive_that_was_cut_off_is_taken_back),
        cmocka_unit_test(test_receive_that_failed_is_posted_with_other_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
