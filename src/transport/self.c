/* SPDX-License-Identifier: BSD-3-Clause */
/* The loopback driver: a process calls itself.
 *
 * The smallest whole driver, and the example to copy: here are the domain, its
 * endpoints and its one address; messages are in self_msg.c, exposed memory in
 * self_bulk.c. It receives whether the domain listens or not, because to
 * oneself everybody is reachable.
 *
 * An address is "self://PID-NONCE", where the nonce is drawn for each domain:
 * the string of another process, or of a class that ended, is not mistaken
 * for this one's. */
#include "transport/self.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/self_bulk.h"
#include "transport/self_msg.h"

enum {
    TEXT_CAP = 48,      /* "self://" + 10 digits + '-' + 16 digits + NUL */
    CONTEXTS_MAX = 256, /* a context id is one byte */
};

static const char self_prefix[] = "self://";

/* The only one. Lives as long as its domain. */
struct amg_peer {
    struct amg_domain *domain;
};

/* Owned by who opened it, until close. */
struct self_domain {
    struct amg_domain base;
    struct amg_peer peer;
    char text[TEXT_CAP]; /* the address of `peer` */
    struct amg_self_msgs msgs;
    struct amg_self_mems mems;
};

static struct self_domain *domain_of(const struct amg_domain *domain)
{
    return AMG_OBJECT(domain, struct self_domain, base);
}

static struct self_domain *domain_of_ep(const struct amg_ep *ep)
{
    return domain_of(ep->domain);
}

static void text_make(char *ret_text)
{
    uint64_t nonce = 0;

    if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) !=
        (ssize_t)sizeof(nonce))
        nonce = amg_clock_ns();
    snprintf(ret_text, TEXT_CAP, "%s%ld-%016" PRIx64, self_prefix,
        (long)getpid(), nonce);
}

static hg_return_t self_domain_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct self_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(
            how->max_contexts >= 1 && how->max_contexts <= CONTEXTS_MAX))
        return HG_INVALID_ARG;
    if (how->info != NULL && how->info[0] != '\0') {
        AMG_LOG_ERROR(
            "cls", "self: '%s' follows self://, but nothing may", how->info);
        return HG_INVALID_ARG;
    }
    domain = amg_mem_zalloc(sizeof(*domain));
    if (domain == NULL)
        return HG_NOMEM;
    domain->base.transport = &amg_self_transport;
    domain->peer.domain = &domain->base;
    text_make(domain->text);
    amg_self_mems_init(&domain->mems);
    rc = amg_self_msgs_init(&domain->msgs, how);
    if (rc != HG_SUCCESS) {
        amg_self_msgs_fini(&domain->msgs);
        amg_mem_free(domain);
        return rc;
    }
    *ret_domain = &domain->base;
    return HG_SUCCESS;
}

static void self_domain_limits(
    const struct amg_domain *domain, struct amg_limits *ret_limits)
{
    *ret_limits = domain_of(domain)->msgs.limits;
}

/* There is nobody to wait for. */
static hg_return_t self_domain_quiesce(struct amg_domain *domain)
{
    (void)domain;
    return HG_SUCCESS;
}

static void self_domain_report(struct amg_domain *domain)
{
    (void)domain;
}

static void self_domain_abandon(struct amg_domain *domain)
{
    (void)domain;
}

static void self_domain_close(struct amg_domain *base)
{
    struct self_domain *domain = domain_of(base);

    amg_self_mems_fini(&domain->mems);
    amg_self_msgs_fini(&domain->msgs);
    amg_mem_free(domain);
}

static hg_return_t self_ep_open(
    struct amg_domain *domain, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct amg_self_ep *ep = amg_mem_zalloc(sizeof(*ep));
    hg_return_t rc = HG_NOMEM;

    if (ep == NULL)
        return HG_NOMEM;
    ep->base.transport = &amg_self_transport;
    ep->base.domain = domain;
    ep->base.context_id = context_id;
    rc = amg_self_msgs_join(&domain_of(domain)->msgs, ep);
    if (rc != HG_SUCCESS) {
        amg_mem_free(ep);
        return rc;
    }
    *ret_ep = &ep->base;
    return HG_SUCCESS;
}

static void self_ep_close(struct amg_ep *base, struct amg_news *ret_news)
{
    struct amg_self_ep *ep = AMG_OBJECT(base, struct amg_self_ep, base);

    amg_self_msgs_leave(ep, ret_news);
    amg_mem_free(ep);
}

/* Only threads of this process bring news, and waiting yields to them. */
static bool self_ep_is_crowded(struct amg_ep *ep)
{
    (void)ep;
    return false;
}

static struct amg_peer *self_addr_self(struct amg_domain *domain)
{
    return &domain_of(domain)->peer;
}

static struct amg_peer *self_addr_hold(struct amg_peer *peer)
{
    return peer;
}

static void self_addr_drop(struct amg_domain *domain, struct amg_peer *peer)
{
    AMG_ASSERT(peer == &domain_of(domain)->peer);
}

static bool self_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return peer == &domain_of(domain)->peer;
}

static bool self_addr_is_same(const struct amg_domain *domain,
    const struct amg_peer *one, const struct amg_peer *other)
{
    (void)domain;
    return one == other;
}

static hg_return_t self_addr_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    const char *text = domain_of(peer->domain)->text;
    size_t need = strlen(text) + 1;
    size_t room = *len;

    (void)domain;
    *len = need;
    if (ret_text == NULL || room < need)
        return HG_OVERFLOW;
    memcpy(ret_text, text, need);
    return HG_SUCCESS;
}

/* Is it "self://DIGITS-DIGITS", the second ones hexadecimal? */
static bool text_is_address(const char *text)
{
    size_t prefix_len = strlen(self_prefix);
    size_t pid_len = 0;

    if (strncmp(text, self_prefix, prefix_len) != 0)
        return false;
    text += prefix_len;
    pid_len = strspn(text, "0123456789");
    if (pid_len == 0 || text[pid_len] != '-')
        return false;
    text += pid_len + 1;
    return text[0] != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

static hg_return_t self_addr_parse(
    struct amg_domain *base, const char *text, struct amg_peer **ret_peer)
{
    struct self_domain *domain = domain_of(base);

    if (!text_is_address(text)) {
        AMG_LOG_ERROR("addr",
            "self: '%s' is none of its addresses; they look "
            "like %s",
            text, domain->text);
        return HG_INVALID_ARG;
    }
    if (strcmp(text, domain->text) != 0) {
        AMG_LOG_ERROR("addr",
            "self: '%s' is of another process or class; "
            "only %s can be reached",
            text, domain->text);
        return HG_ADDRNOTAVAIL;
    }
    *ret_peer = &domain->peer;
    return HG_SUCCESS;
}

static hg_return_t self_bulk_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct amg_mem *mem = NULL;
    hg_return_t rc = amg_self_mems_add(
        &domain_of(domain)->mems, segments, count, flags, &mem);

    if (rc != HG_SUCCESS)
        return rc;
    mem->transport = &amg_self_transport;
    *ret_mem = mem;
    return HG_SUCCESS;
}

static hg_return_t self_bulk_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms)
{
    return amg_self_mems_remove(&domain_of(domain)->mems, mem, timeout_ms);
}

/* The bytes move here and now; the next poll says so. */
static hg_return_t bulk_move(struct amg_ep *ep, enum amg_mem_flags direction,
    const struct amg_place *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    hg_return_t ended = HG_SUCCESS;
    hg_return_t rc = amg_self_mems_access(
        &domain_of_ep(ep)->mems, direction, local, remote, len, &ended);

    if (rc != HG_SUCCESS)
        return rc;
    amg_self_finish(AMG_OBJECT(ep, struct amg_self_ep, base), op, ended,
        ended == HG_SUCCESS ? len : 0);
    return HG_SUCCESS;
}

static hg_return_t self_bulk_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op)
{
    (void)peer;
    (void)target_context;
    return bulk_move(ep, AMG_MEM_WRITE, local, remote, len, op);
}

static hg_return_t self_bulk_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op)
{
    (void)peer;
    (void)target_context;
    return bulk_move(ep, AMG_MEM_READ, local, remote, len, op);
}

const struct amg_transport amg_self_transport = {
    .name = "self",
    .schemes = "self na+self",
    .domain =
        {
            .open = self_domain_open,
            .limits = self_domain_limits,
            .quiesce = self_domain_quiesce,
            .report = self_domain_report,
            .abandon = self_domain_abandon,
            .close = self_domain_close,
        },
    .ep =
        {
            .open = self_ep_open,
            .close = self_ep_close,
            .wait_fd = amg_self_wait_fd,
            .arm = amg_self_arm,
            .is_crowded = self_ep_is_crowded,
            .poll = amg_self_poll,
            .cancel = amg_self_cancel,
        },
    .addr =
        {
            .self = self_addr_self,
            .hold = self_addr_hold,
            .drop = self_addr_drop,
            .is_self = self_addr_is_self,
            .is_same = self_addr_is_same,
            .format = self_addr_format,
            .parse = self_addr_parse,
        },
    .msg =
        {
            .get_buf = amg_self_get_buf,
            .put_buf = amg_self_put_buf,
            .send_request = amg_self_send_request,
            .send_reply = amg_self_send_reply,
            .release = amg_self_release,
            .release_reply = amg_self_release_reply,
        },
    .bulk =
        {
            .reg = self_bulk_reg,
            .unreg = self_bulk_unreg,
            .key = amg_self_key,
            .put = self_bulk_put,
            .get = self_bulk_get,
        },
};
