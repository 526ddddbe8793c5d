/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of libfabric that a domain is made of, memory that it has registered,
 * and buffers that it receives into.
 *
 * If the driver may choose the keys of memory, the driver counts up from a
 * random number of at least 256 (Slingshot reserves smaller keys), so that the
 * key of freed memory, also of a former process at this address, does not soon
 * name other memory. Memory that belongs to an endpoint is bound to the
 * endpoint before the key is read.
 *
 * All messages arrive in a few large buffers, each of which takes messages
 * until the longest message may not fit any more (FI_MULTI_RECV). The buffers
 * are always posted, so that no message is unexpected to the NIC.
 *
 * The provider releases a full buffer, but a message for that buffer may still
 * arrive: a long message, while short messages of other senders fill the bytes
 * behind it (net, 1.17), or a message that was matched when the buffer was
 * posted (tcp;ofi_rxm, 1.17). So the driver posts a buffer again at once only
 * if its messages leave no gap, and the longest message no longer fits. A gap
 * may remain for ever, if the sender is gone or the provider skipped the bytes;
 * or the message comes when the sender's link is back. So after some quiet time
 * the buffer gets other memory, and the driver keeps the former memory for late
 * messages. After REPLACED_MAX such blocks the driver posts the former memory
 * again, after a longer time. */
#include "ofi_backend/ofi_ep.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_select.h"

enum {
    KEY_FIRST = 256,
    KEY_TRIES = 64,           /* keys that may still be in use after a wrap */
    BLOCK_ALIGN = 64,         /* a cache line */
    RECEIVE_LEN_MIN = 131072, /* bytes of a buffer, at least */
    RECEIVE_MESSAGES = 4,     /* longest messages in a buffer, at least */
    CQ_LEN = 1024,
    QUIET_TICKS = 3,        /* 0.3 s; the tick of ofi_poll.c */
    QUIET_TICKS_LAST = 10,  /* if only the last message is missing */
    QUIET_TICKS_LONG = 100, /* before the same memory is posted again */
    REPLACED_MAX = 16,      /* blocks that are kept for late messages */
};

static uint64_t key_next_locked(struct amg_ofi_domain *domain)
{
    if (domain->facts.makes_keys)
        return 0;
    if (domain->mems.next_key < KEY_FIRST ||
        domain->mems.next_key >= domain->facts.key_max)
        domain->mems.next_key = KEY_FIRST;
    return domain->mems.next_key++;
}

static int mr_attach(struct amg_ofi_domain *domain, struct fid_mr *mr)
{
    int code = amg_ofi_call->mr_bind(mr, &domain->fi.ep->fid);

    if (code == 0)
        code = amg_ofi_call->mr_enable(mr);
    return code;
}

/* Some providers register only memory that has pages. */
static hg_return_t pages_back(const struct amg_ofi_domain *domain,
    const void *base, uint64_t len, uint64_t access)
{
    bool is_written = (access & (FI_RECV | FI_READ | FI_REMOTE_WRITE)) != 0;
    hg_return_t rc = HG_SUCCESS;

    if (!domain->facts.needs_pages)
        return HG_SUCCESS;
    rc = amg_pages_back(base, len, is_written);
    if (rc != HG_INVALID_ARG)
        return rc;
    AMG_LOG_ERROR("ofi",
        "of %llu bytes of memory at %p, not all can be %s by this process; is "
        "it freed already, or constant?",
        (unsigned long long)len, base, is_written ? "written" : "read");
    return HG_NA_ERROR;
}

hg_return_t amg_ofi_reg_locked(struct amg_ofi_domain *domain, const void *base,
    uint64_t len, uint64_t access, struct fid_mr **ret_mr)
{
    struct fid_mr *mr = NULL;
    hg_return_t rc = pages_back(domain, base, len, access);
    int code = 0;

    AMG_ASSERT(len > 0 && domain->fi.domain != NULL);
    if (rc != HG_SUCCESS)
        return rc;
    for (unsigned i = 0; i < KEY_TRIES; i++) {
        code = amg_ofi_call->mr_reg(
            domain->fi.domain, base, len, access, key_next_locked(domain), &mr);
        if (code != -FI_ENOKEY && code != -FI_EKEYREJECTED)
            break;
    }
    if (code == 0 && domain->facts.binds_memory) {
        code = mr_attach(domain, mr);
        if (code != 0)
            (void)amg_ofi_call->close(&mr->fid);
    }
    if (code != 0)
        return amg_ofi_error(
            code, "registering memory (see ulimit -l, and the NIC's limits)");
    *ret_mr = mr;
    return HG_SUCCESS;
}

void amg_ofi_unreg_locked(struct fid_mr *mr)
{
    int code = mr == NULL ? 0 : amg_ofi_call->close(&mr->fid);

    if (code != 0)
        (void)amg_ofi_error(code, "ending the registration of memory");
}

hg_return_t amg_ofi_block_make(struct amg_ofi_domain *domain, size_t len,
    uint64_t access, struct amg_ofi_block **ret_block)
{
    size_t head_len = (sizeof(struct amg_ofi_block) + BLOCK_ALIGN - 1) /
                      BLOCK_ALIGN * BLOCK_ALIGN;
    struct amg_ofi_block *block =
        amg_mem_alloc_aligned(BLOCK_ALIGN, head_len + len);
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(len > 0);
    if (block == NULL)
        return HG_NOMEM;
    *block = (struct amg_ofi_block){
        .bytes = (unsigned char *)block + head_len,
    };
    if (domain->facts.needs_desc)
        rc = amg_ofi_reg_locked(domain, block->bytes, len, access, &block->mr);
    if (rc != HG_SUCCESS) {
        amg_mem_free(block);
        return rc;
    }
    *ret_block = block;
    return HG_SUCCESS;
}

void amg_ofi_block_free(struct amg_ofi_block *block)
{
    if (block == NULL)
        return;
    amg_ofi_unreg_locked(block->mr);
    amg_mem_free(block);
}

void amg_ofi_blocks_unreg_locked(struct amg_ofi_block *block)
{
    for (; block != NULL; block = block->next) {
        amg_ofi_unreg_locked(block->mr);
        block->mr = NULL;
    }
}

static hg_return_t enable_error(
    int code, const struct amg_open *how, const struct amg_ofi_domain *domain)
{
    const char *where = how->info == NULL ? "" : how->info;
    char key[AMG_OFI_AUTH_TEXT_CAP];
    char what[400];

    (void)amg_ofi_auth_text(domain->fi.info, key);
    if (code == -FI_EADDRINUSE)
        snprintf(what, sizeof(what),
            "listening at '%s' (ofi+%s): another program uses that port; name "
            "another one, or none to get a free one",
            where, domain->facts.stack);
    else if (key[0] != '\0')
        snprintf(what, sizeof(what),
            "opening ofi+%s at '%s'%s; may this user have that service and "
            "VNI? AMALGAM_SLINGSHOT_VNI chooses one of SLINGSHOT_VNIS",
            domain->facts.stack, where, key);
    else
        snprintf(what, sizeof(what),
            "opening ofi+%s at '%s'; is it an address of this machine?",
            domain->facts.stack, where);
    return amg_ofi_error(code, what);
}

static size_t receive_len(const struct amg_ofi_domain *domain)
{
    size_t len = (size_t)domain->receive_max * RECEIVE_MESSAGES;

    return len < RECEIVE_LEN_MIN ? RECEIVE_LEN_MIN : len;
}

/* Opens the completion queue; with a descriptor if the provider has one. */
static int cq_make(struct amg_ofi_domain *domain, bool no_block)
{
    struct fi_cq_attr attr = {
        .size = CQ_LEN,
        .format = FI_CQ_FORMAT_DATA,
        .wait_obj = no_block ? FI_WAIT_NONE : FI_WAIT_FD,
    };
    int code = 0;

    domain->wait.fd = -1;
    code = amg_ofi_call->cq_open(domain->fi.domain, &attr, &domain->fi.cq);
    if (code == 0 && !no_block &&
        amg_ofi_call->cq_wait_fd(domain->fi.cq, &domain->wait.fd) == 0) {
        domain->facts.can_sleep = true;
        return 0;
    }
    domain->wait.fd = -1;
    if (code == 0 && no_block)
        return 0;
    /* The provider has no descriptor, and may say so only now. */
    if (code == 0)
        (void)amg_ofi_call->close(&domain->fi.cq->fid);
    domain->fi.cq = NULL;
    attr.wait_obj = FI_WAIT_NONE;
    return amg_ofi_call->cq_open(domain->fi.domain, &attr, &domain->fi.cq);
}

static int objects_make(struct amg_ofi_domain *domain, bool no_block)
{
    struct fi_av_attr av_attr = {
        .type = FI_AV_TABLE, .count = domain->fi.universe};
    int code =
        amg_ofi_call->fabric(domain->fi.info->fabric_attr, &domain->fi.fabric);

    if (code == 0)
        code = amg_ofi_call->domain(
            domain->fi.fabric, domain->fi.info, &domain->fi.domain);
    if (code == 0)
        code =
            amg_ofi_call->av_open(domain->fi.domain, &av_attr, &domain->fi.av);
    if (code == 0)
        code = cq_make(domain, no_block);
    if (code == 0)
        code = amg_ofi_call->endpoint(
            domain->fi.domain, domain->fi.info, &domain->fi.ep);
    if (code == 0)
        code = amg_ofi_call->ep_bind(domain->fi.ep, &domain->fi.av->fid, 0);
    if (code == 0)
        code = amg_ofi_call->ep_bind(
            domain->fi.ep, &domain->fi.cq->fid, FI_TRANSMIT | FI_RECV);
    return code;
}

/* Has the provider release a buffer when the longest message no longer fits. If
 * the provider cannot do that, each buffer takes one message. */
static int multi_set(struct amg_ofi_domain *domain)
{
    size_t room = domain->receive_max;
    int code = amg_ofi_call->setopt(
        domain->fi.ep, FI_OPT_MIN_MULTI_RECV, &room, sizeof(room));

    domain->facts.is_multi = code == 0;
    if (code != -FI_ENOPROTOOPT && code != -FI_ENOSYS &&
        code != -FI_EOPNOTSUPP && code != -FI_EINVAL)
        return code;
    AMG_LOG_INFO("ofi", "ofi+%s receives one message per buffer (%s)",
        domain->facts.stack, amg_ofi_call->strerror(-code));
    return 0;
}

hg_return_t amg_ofi_ep_open(struct amg_ofi_domain *domain,
    const struct amg_open *how, uint8_t *ret_addr, uint16_t *ret_len)
{
    size_t addr_len = AMG_OFI_ADDR_MAX;
    int code = objects_make(domain, how->nic.no_block);

    /* The option of multi_set(), before enable, ends the process (shm,
     * 1.17). */
    if (code == 0)
        code = amg_ofi_call->enable(domain->fi.ep);
    if (code == 0)
        code = multi_set(domain);
    if (code != 0)
        return enable_error(code, how, domain);
    code = amg_ofi_call->getname(domain->fi.ep, ret_addr, &addr_len);
    if (code != 0 || addr_len > AMG_OFI_ADDR_MAX)
        return amg_ofi_error(
            code != 0 ? code : -FI_ETOOSMALL, "asking for the own address");
    if (amg_ofi_bind_addr_is_any(domain->facts.addr_format, ret_addr)) {
        AMG_LOG_ERROR("cls",
            "ofi+%s listens at every interface and cannot say where others "
            "reach it; name an interface or host, as in tcp://eth0",
            domain->facts.stack);
        return HG_ADDRNOTAVAIL;
    }
    *ret_len = (uint16_t)addr_len;
    return HG_SUCCESS;
}

/* Posts the buffer; without room of the provider, a later poll does. */
static hg_return_t receive_post_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    struct iovec iov = {receive->bytes, receive_len(domain)};
    void *desc = amg_ofi_reg_desc(receive->block->mr);
    const struct fi_msg msg = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &receive->work.context,
    };
    ssize_t code = amg_ofi_call->recvmsg(
        domain->fi.ep, &msg, domain->facts.is_multi ? FI_MULTI_RECV : 0);

    AMG_ASSERT(!receive->is_posted);
    receive->is_posted = code == 0;
    receive->wants_post = code == -FI_EAGAIN;
    receive->is_withdrawn = code != 0 && code != -FI_EAGAIN;
    receive->tick = domain->clock.tick;
    receive->end = 0;
    receive->sum = 0;
    if (code == -FI_EAGAIN)
        domain->in.wants_receive = true;
    if (code == 0 || code == -FI_EAGAIN)
        return HG_SUCCESS;
    return amg_ofi_error((int)code, "posting a buffer to receive into");
}

void amg_ofi_ep_received_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, const void *at, size_t len)
{
    size_t offset = (size_t)((const unsigned char *)at - receive->bytes);

    /* Else the message is in former memory of the buffer. */
    if (offset > receive_len(domain) || len > receive_len(domain) - offset)
        return;
    AMG_ASSERT(receive->end <= receive_len(domain));
    receive->sum += len;
    if (offset + len > receive->end)
        receive->end = offset + len;
    receive->tick = domain->clock.tick;
}

void amg_ofi_ep_release_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    receive->is_posted = false;
    receive->tick = domain->clock.tick;
}

/* A provider may report that a message was too long, and then ignore the buffer
 * for ever (tcp;ofi_rxm, 1.17): an unknown sender could disable all buffers. So
 * the driver cancels the post, unless the provider has released the buffer. */
void amg_ofi_ep_truncated_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, const void *at)
{
    size_t offset = (size_t)((const unsigned char *)at - receive->bytes);

    /* A truncated message fills the rest of the buffer. */
    if (at != NULL && offset <= receive_len(domain))
        amg_ofi_ep_received_locked(
            domain, receive, at, receive_len(domain) - offset);
    if (at != NULL && !receive->is_posted)
        return;
    (void)amg_ofi_call->cancel(domain->fi.ep, &receive->work.context);
    receive->is_withdrawn = true;
    amg_ofi_ep_release_locked(domain, receive);
}

static bool is_filled(
    const struct amg_ofi_domain *domain, const struct amg_ofi_receive *receive)
{
    return receive->sum == receive->end &&
           (!domain->facts.is_multi ||
               receive_len(domain) - receive->end < domain->receive_max);
}

/* Quiet time, in ticks, before the buffer is posted again. */
static unsigned quiet_ticks_of(
    const struct amg_ofi_domain *domain, const struct amg_ofi_receive *receive)
{
    if (is_filled(domain, receive))
        return receive->is_withdrawn ? QUIET_TICKS : 0;
    return receive->sum == receive->end && !receive->is_withdrawn
               ? QUIET_TICKS_LAST
               : QUIET_TICKS;
}

/* Gives a buffer with a gap other memory. False: none, or REPLACED_MAX. */
static bool memory_replace_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    struct amg_ofi_block *block = NULL;

    if (domain->in.replaced_count >= REPLACED_MAX ||
        amg_ofi_block_make(domain, receive_len(domain), FI_RECV, &block) !=
            HG_SUCCESS)
        return false;
    domain->in.replaced_count++;
    block->next = domain->in.block;
    domain->in.block = block;
    receive->block = block;
    receive->bytes = block->bytes;
    receive->sum = 0;
    receive->end = 0;
    return true;
}

void amg_ofi_ep_refill_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    unsigned quiet_ticks = domain->clock.tick - receive->tick;

    if (receive->is_posted || domain->is_closing)
        return;
    if (!receive->wants_post && quiet_ticks < quiet_ticks_of(domain, receive))
        return;
    if (!receive->wants_post && !is_filled(domain, receive) &&
        !memory_replace_locked(domain, receive) &&
        quiet_ticks < QUIET_TICKS_LONG)
        return;
    (void)receive_post_locked(domain, receive);
}

void amg_ofi_ep_refill_all_locked(struct amg_ofi_domain *domain)
{
    domain->in.wants_receive = false;
    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        amg_ofi_ep_refill_locked(domain, &domain->in.receives[i]);
}

hg_return_t amg_ofi_ep_listen_locked(
    struct amg_ofi_domain *domain, amg_ofi_done_fn on_received)
{
    size_t len = receive_len(domain);
    hg_return_t rc = amg_ofi_block_make(
        domain, AMG_OFI_RECEIVES * len, FI_RECV, &domain->in.block);

    if (rc != HG_SUCCESS)
        return rc;
    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++) {
        struct amg_ofi_receive *receive = &domain->in.receives[i];

        receive->work.done = on_received;
        receive->block = domain->in.block;
        receive->bytes = domain->in.block->bytes + i * len;
        if (receive_post_locked(domain, receive) != HG_SUCCESS)
            return HG_NA_ERROR;
    }
    return HG_SUCCESS;
}

static void object_close(struct fid *fid, const char *what)
{
    int code = amg_ofi_call->close(fid);

    if (code != 0)
        (void)amg_ofi_error(code, what);
}

void amg_ofi_ep_close(struct amg_ofi_domain *domain)
{
    if (domain->fi.ep != NULL)
        object_close(&domain->fi.ep->fid, "closing the endpoint");
    domain->fi.ep = NULL;
}

void amg_ofi_ep_fini(struct amg_ofi_domain *domain)
{
    AMG_ASSERT(domain->fi.ep == NULL);
    while (domain->in.block != NULL) {
        struct amg_ofi_block *block = domain->in.block;

        domain->in.block = block->next;
        amg_ofi_block_free(block);
    }
    if (domain->fi.cq != NULL)
        object_close(&domain->fi.cq->fid, "closing the completion queue");
    if (domain->fi.av != NULL)
        object_close(&domain->fi.av->fid, "closing the address vector");
    if (domain->fi.domain != NULL)
        object_close(&domain->fi.domain->fid, "closing the domain");
    if (domain->fi.fabric != NULL)
        object_close(&domain->fi.fabric->fid, "closing the fabric");
    if (domain->fi.info != NULL)
        amg_ofi_call->freeinfo(domain->fi.info);
}
