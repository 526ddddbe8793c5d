/* SPDX-License-Identifier: BSD-3-Clause */
/* Failure of the n-th call of libfabric, for n = 1, 2, ... until no call is
 * left to fail: all operations end, and no object is lost. Binding does not
 * fail: an endpoint that is bound to nothing cannot be closed (tcp;ofi_rxm,
 * 1.17, crashes). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_domain.h"

enum {
    LEN = 3 << 20,
    SHORT = 100,
    UNREG_MS = 20000,
    TEXT_CAP = 512,
    N_MAX = 500
};

static uint8_t exposed[LEN];
static uint8_t landing[LEN];

static struct amg_ofi_call real;
static unsigned fail_in; /* calls until one fails; 0: none fails */
static int opened;       /* objects that are open */

static bool must_fail(void)
{
    return fail_in > 0 && --fail_in == 0;
}

/* Counts opened objects. */
static int open_end(int code)
{
    if (code == 0)
        opened++;
    return code;
}

static int nth_fabric(
    struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric)
{
    return must_fail() ? -FI_ENOMEM : open_end(real.fabric(attr, ret_fabric));
}

static int nth_domain(struct fid_fabric *fabric, struct fi_info *info,
    struct fid_domain **ret_domain)
{
    return must_fail() ? -FI_ENOMEM
                       : open_end(real.domain(fabric, info, ret_domain));
}

static int nth_endpoint(
    struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep)
{
    return must_fail() ? -FI_ENOMEM
                       : open_end(real.endpoint(domain, info, ret_ep));
}

static int nth_av_open(
    struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **ret_av)
{
    return must_fail() ? -FI_ENOMEM
                       : open_end(real.av_open(domain, attr, ret_av));
}

static int nth_cq_open(
    struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **ret_cq)
{
    return must_fail() ? -FI_ENOMEM
                       : open_end(real.cq_open(domain, attr, ret_cq));
}

static int nth_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    return must_fail()
               ? -FI_ENOMEM
               : open_end(real.mr_reg(domain, bytes, len, access, key, ret_mr));
}

static int nth_close(struct fid *fid)
{
    int code = real.close(fid);

    if (code == 0)
        opened--;
    return code;
}

static int nth_enable(struct fid_ep *ep)
{
    return must_fail() ? -FI_ENOMEM : real.enable(ep);
}

static int nth_setopt(
    struct fid_ep *ep, int option, const void *value, size_t len)
{
    return must_fail() ? -FI_ENOMEM : real.setopt(ep, option, value, len);
}

static int nth_getname(struct fid_ep *ep, void *addr, size_t *len)
{
    return must_fail() ? -FI_ENOMEM : real.getname(ep, addr, len);
}

static int nth_av_insert(struct fid_av *av, const void *addr, fi_addr_t *ret)
{
    return must_fail() ? -FI_ENOMEM : real.av_insert(av, addr, ret);
}

static ssize_t nth_recvmsg(
    struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    return must_fail() ? -FI_ENOMEM : real.recvmsg(ep, msg, flags);
}

static ssize_t nth_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    return must_fail() ? -FI_ENOMEM
                       : real.send(ep, bytes, len, desc, to, context);
}

static ssize_t nth_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    return must_fail() ? -FI_ENOMEM : real.inject(ep, bytes, len, to);
}

static ssize_t nth_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return must_fail() ? -FI_ENOMEM : real.readmsg(ep, msg, flags);
}

static ssize_t nth_writemsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return must_fail() ? -FI_ENOMEM : real.writemsg(ep, msg, flags);
}

/* One of two processes, as they see each other. */
struct side {
    struct amg_domain *domain;
    struct amg_ep *ep;
};

static bool side_open(struct side *side)
{
    const struct amg_open how = {.info = "127.0.0.1",
        .protocol = "tcp",
        .is_listening = true,
        .max_contexts = 1};

    if (amg_ofi_transport.domain.open(&how, &side->domain) != HG_SUCCESS)
        return false;
    assert_int_equal(
        amg_ofi_transport.ep.open(side->domain, 0, &side->ep), HG_SUCCESS);
    return true;
}

static void side_close(struct side *side)
{
    struct amg_events events;

    amg_events_init(&events);
    amg_ofi_transport.ep.close(side->ep, &events);
    assert_true(amg_list_is_empty(&events.done));
    amg_ofi_transport.domain.close(side->domain);
}

/* Returns the number of operations that ended. */
static unsigned side_poll(struct side *side)
{
    struct amg_events events;
    unsigned count = 0;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(side->ep, 16, &events);
    while (amg_list_pop(&events.done) != NULL)
        count++;
    return count;
}

static struct amg_peer *peer_of(const struct side *side, struct side *other)
{
    char text[TEXT_CAP];
    size_t len = sizeof(text);
    struct amg_peer *self = amg_ofi_transport.addr.self(other->domain);
    struct amg_peer *peer = NULL;

    assert_int_equal(
        amg_ofi_transport.addr.format(other->domain, self, text, &len),
        HG_SUCCESS);
    amg_ofi_transport.addr.unref(other->domain, self);
    assert_int_equal(
        amg_ofi_transport.addr.parse(side->domain, text, &peer), HG_SUCCESS);
    return peer;
}

/* Transfers so many bytes, in either direction, unless a call fails. Received
 * bytes are right. */
static void move(struct side *mover, struct side *owner, struct amg_peer *peer,
    const struct amg_remote *remote, uint64_t len, bool is_put)
{
    struct amg_segment segment = {landing, LEN};
    const struct amg_seg_iter local = {.segments = &segment, .count = 1};
    struct amg_op op;

    memset(&op, 0, sizeof(op));
    memset(landing, is_put ? 7 : 0, LEN);
    memset(exposed, is_put ? 0 : 9, LEN);
    assert_int_equal(
        (is_put ? amg_ofi_transport.bulk.put : amg_ofi_transport.bulk.get)(
            mover->ep, (struct amg_target){peer, 0}, &local, remote, len, &op),
        HG_SUCCESS);
    while (side_poll(mover) == 0)
        (void)side_poll(owner);
    if (op.ret == HG_SUCCESS)
        assert_memory_equal(landing, exposed, len);
}

static void live_both(struct side *mover, struct side *owner)
{
    const struct amg_segment segment = {exposed, LEN};
    struct amg_remote remote = {.at = {.segments = &segment, .count = 1}};
    struct amg_peer *peer = peer_of(mover, owner);
    struct amg_mem *mem = NULL;

    assert_int_equal(amg_ofi_transport.bulk.reg(owner->domain, &segment, 1,
                         AMG_MEM_READ | AMG_MEM_WRITE, &mem),
        HG_SUCCESS);
    amg_ofi_transport.bulk.key(mem, &remote.key);
    /* As if local memory had to be registered, too. */
    amg_ofi_domain_of(mover->domain)->facts.needs_desc = true;
    move(mover, owner, peer, &remote, SHORT, false);
    move(mover, owner, peer, &remote, LEN, false);
    move(mover, owner, peer, &remote, LEN, true);
    move(mover, owner, peer, &remote, SHORT, true);
    amg_ofi_transport.addr.unref(mover->domain, peer);
    side_close(mover);
    assert_int_equal(
        amg_ofi_transport.bulk.unreg(owner->domain, mem, UNREG_MS), HG_SUCCESS);
    side_close(owner);
}

static void live(void)
{
    struct side owner;
    struct side mover;

    if (!side_open(&owner))
        return;
    if (side_open(&mover))
        live_both(&mover, &owner);
    else
        side_close(&owner);
}

static void test_nth_call_fails_and_all_ends(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    bool has_failed = true;

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    for (unsigned n = 1; has_failed; n++) {
        assert_true(n < N_MAX);
        opened = 0;
        amg_mem_stats_get(&before);
        fail_in = n;
        live();
        has_failed = fail_in == 0;
        fail_in = 0;
        amg_mem_stats_get(&after);
        if (opened != 0 || after.live != before.live)
            print_message("call %u failing\n", n);
        assert_int_equal(opened, 0);
        assert_int_equal(after.live, before.live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nth_call_fails_and_all_ends),
    };
    struct amg_ofi_call call = *amg_ofi_call;

    real = call;
    call.fabric = nth_fabric;
    call.domain = nth_domain;
    call.endpoint = nth_endpoint;
    call.av_open = nth_av_open;
    call.cq_open = nth_cq_open;
    call.mr_reg = nth_mr_reg;
    call.close = nth_close;
    call.enable = nth_enable;
    call.setopt = nth_setopt;
    call.getname = nth_getname;
    call.av_insert = nth_av_insert;
    call.recvmsg = nth_recvmsg;
    call.send = nth_send;
    call.inject = nth_inject;
    call.readmsg = nth_readmsg;
    call.writemsg = nth_writemsg;
    amg_ofi_call_set(&call);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
