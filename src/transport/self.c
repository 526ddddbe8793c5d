/* SPDX-License-Identifier: BSD-3-Clause */
/* Loopback: calls and transfers of a process to itself.
 *
 * The smallest complete driver, and the example to copy. The driver receives
 * even if the domain does not listen, because a process can always reach
 * itself.
 *
 * An address is "self://PID-NONCE", where the nonce is drawn for each domain:
 * so the string of another process, or of a closed class, never matches.
 *
 * A key is a cookie of the table, which is reused, and a serial number, which
 * is not: so the key of unregistered memory finds nothing. Serial numbers have
 * 32 bits and begin at random in each domain: a key could be valid again 2^32
 * registrations later, and a key of another process is valid here with a
 * probability of 2^-32. A copy runs without the lock, but counts as a user of
 * the memory; self_bulk_unreg() waits until the memory has no users. */
#include "transport/self.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    CONTEXTS_MAX = 256, /* a context id is one byte */
    MESSAGE_LEN_MIN = 256,
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
};

static const char self_prefix[] = "self://";

/* A key on the wire. */
struct self_key {
    uint32_t number;
    uint32_t serial;
};

struct self_mem {
    struct amg_mem base;
    struct self_key key;
    uint32_t users; /* copies in flight */
    uint32_t count;
    uint8_t flags;
    bool is_closed; /* removed from the table */
    struct amg_segment segments[];
};

static void self_bulk_key(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct self_mem *mem = amg_container_of(base, struct self_mem, base);
    const struct self_key *key = &mem->key;

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(*key);
    memcpy(ret_key->bytes, key, sizeof(*key));
}

/* The memory of `key`, or NULL when it is no longer exposed. */
static AMG_INLINE struct self_mem *mem_find_locked(
    const struct amg_self_mems *mems, const struct self_key *key)
{
    struct amg_table_slot *place = amg_table_find(&mems->table, key->number, 0);
    struct self_mem *mem = place == NULL ? NULL : place->object;

    AMG_ASSERT_HELD(&mems->lock);
    return mem == NULL || mem->key.serial != key->serial ? NULL : mem;
}

bool amg_self_mem_is(const struct amg_domain *base, const struct amg_key *from,
    const struct amg_segment *segments, uint32_t count)
{
    struct amg_self_domain *domain = amg_self_domain_of(base);
    const struct self_mem *mem = NULL;
    struct self_key key;
    bool is_same = false;

    if (from->len != sizeof(key))
        return false;
    memcpy(&key, from->bytes, sizeof(key));
    amg_lock_lock(&domain->mems.lock);
    mem = mem_find_locked(&domain->mems, &key);
    is_same = mem != NULL && mem->count == count &&
              memcmp(mem->segments, segments, count * sizeof(*segments)) == 0;
    amg_lock_unlock(&domain->mems.lock);
    return is_same;
}

static hg_return_t access_check_locked(const struct amg_self_mems *mems,
    const struct self_mem *mem, enum amg_mem_flags direction,
    const struct amg_seg_iter *there, uint64_t len)
{
    AMG_ASSERT_HELD(&mems->lock);
    if (mem == NULL)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    return amg_seg_iter_has(there, len) ? HG_SUCCESS : HG_OVERFLOW;
}

/* Copies to (AMG_MEM_WRITE) or from (AMG_MEM_READ) the memory at `remote` at
 * once; the next poll returns the completion. */
static hg_return_t bulk_move(struct amg_ep *ep, enum amg_mem_flags direction,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    struct amg_self_mems *mems = &amg_self_domain_of(ep->domain)->mems;
    struct amg_seg_iter here = *local;
    struct amg_seg_iter there = {
        .segment = remote->at.segment, .into = remote->at.into};
    struct self_mem *mem = NULL;
    struct self_key key;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Bulk_transfer", remote->key.len == sizeof(key),
            "the key of the remote memory has %u bytes, but keys of this "
            "transport have %u",
            (unsigned)remote->key.len, (unsigned)sizeof(key)))
        return HG_INVALID_ARG;
    memcpy(&key, remote->key.bytes, sizeof(key));
    amg_lock_lock(&mems->lock);
    mem = mem_find_locked(mems, &key);
    if (mem != NULL) {
        there.segments = mem->segments;
        there.count = mem->count;
    }
    rc = access_check_locked(mems, mem, direction, &there, len);
    if (rc == HG_SUCCESS)
        mem->users++;
    amg_lock_unlock(&mems->lock);
    if (rc != HG_SUCCESS) {
        AMG_LOG_WARNING("bulk",
            "self: refused to %s %llu bytes at %llu of segment %u, key %x/%x: "
            "%s",
            direction == AMG_MEM_READ ? "get" : "put", (unsigned long long)len,
            (unsigned long long)there.into, there.segment, key.number,
            key.serial,
            rc == HG_NOENTRY ? "the owner has freed the bulk handle, perhaps "
                               "while a call with the handle was under way"
            : rc == HG_PERMISSION ? "the bulk handle forbids that"
                                  : "the bytes are beyond the memory");
        amg_self_finish(ep, op, rc, 0);
        return HG_SUCCESS;
    }
    if (direction == AMG_MEM_WRITE)
        amg_seg_iter_copy(&there, &here, len);
    else
        amg_seg_iter_copy(&here, &there, len);
    amg_lock_lock(&mems->lock);
    mem->users--;
    amg_lock_unlock(&mems->lock);
    amg_self_finish(ep, op, HG_SUCCESS, len);
    return HG_SUCCESS;
}

/* The only peer is this process; the domain stands for the peer. */
static struct amg_peer *peer_of(const struct amg_domain *domain)
{
    return (struct amg_peer *)(uintptr_t)amg_self_domain_of(domain);
}

/* Writes the address of a domain, and returns its nonce. */
static uint64_t text_make(char *ret_text)
{
    uint64_t nonce = 0;

    if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) !=
        (ssize_t)sizeof(nonce))
        nonce = amg_clock_ns();
    snprintf(ret_text, AMG_SELF_TEXT_CAP, "%s%ld-%016" PRIx64, self_prefix,
        (long)getpid(), nonce);
    return nonce;
}

static uint32_t choose(
    uint32_t wish, enum amg_env_id otherwise, uint32_t min, uint32_t max)
{
    uint64_t value = wish != 0 ? wish : amg_env_number(otherwise);

    return (uint32_t)(value < min ? min : value > max ? max : value);
}

static void limits_choose(
    const struct amg_open *how, struct amg_limits *ret_limits)
{
    uint32_t len = choose(how->message_len, AMG_ENV_MESSAGE_BYTES,
        MESSAGE_LEN_MIN, MESSAGE_LEN_MAX);

    *ret_limits = (struct amg_limits){
        .request_len = len,
        .reply_len = len,
        .credits = choose(how->credits, AMG_ENV_CREDITS, 1, CREDITS_MAX),
        /* Only threads of this process send here; they may need the core. */
        .must_yield = true,
        .reaches_self = true,
    };
}

static hg_return_t self_domain_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct amg_self_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Init",
            how->max_contexts >= 1 && how->max_contexts <= CONTEXTS_MAX,
            "max_contexts is %u, but this transport allows 1 to %u",
            how->max_contexts, (unsigned)CONTEXTS_MAX))
        return HG_INVALID_ARG;
    if (how->info != NULL && how->info[0] != '\0') {
        AMG_LOG_ERROR("cls", "self: self:// takes no address, but '%s' follows",
            how->info);
        return HG_INVALID_ARG;
    }
    domain = amg_mem_zalloc(sizeof(*domain));
    if (domain == NULL)
        return HG_NOMEM;
    domain->base.transport = &amg_self_transport;
    amg_lock_init(&domain->mems.lock);
    amg_table_init(
        &domain->mems.table, AMG_TABLE_INDEX_MASK + 1u, "exposed memories");
    domain->mems.serials = (uint32_t)text_make(domain->text);
    limits_choose(how, &domain->msgs.limits);
    domain->msgs.max_contexts = how->max_contexts;
    domain->base.counts = &domain->msgs.calls.counts;
    rc = amg_self_msgs_init(&domain->msgs);
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
    *ret_limits = amg_self_domain_of(domain)->msgs.limits;
}

/* There is no other process to wait for; but a call to oneself may still wait
 * for its handler, which may make further calls. */
static hg_return_t self_domain_quiesce(struct amg_domain *domain)
{
    return amg_self_owed(&amg_self_domain_of(domain)->msgs) == 0 ? HG_SUCCESS
                                                                 : HG_AGAIN;
}

static bool owed_log(const struct amg_domain *domain, const char *outcome)
{
    uint32_t owed = amg_self_owed(&amg_self_domain_of(domain)->msgs);

    if (owed > 0)
        AMG_LOG_WARNING("cls",
            "self: %u calls of this process to itself are not handled%s; a "
            "handler may keep the handle of a call",
            owed, outcome);
    return owed > 0;
}

static void self_domain_report(struct amg_domain *domain)
{
    (void)owed_log(domain, "");
}

static bool self_domain_abandon(struct amg_domain *domain)
{
    return owed_log(domain, ", and are given up");
}

static void self_domain_stop(struct amg_domain *domain)
{
    (void)domain; /* there are no other processes */
}

/* A call to oneself has always been seen. */
static bool self_domain_look(struct amg_domain *domain, const struct amg_op *op,
    struct amg_whereabouts *ret_where)
{
    (void)domain;
    (void)op;
    (void)ret_where;
    return false;
}

static void self_domain_close(struct amg_domain *base)
{
    struct amg_self_domain *domain = amg_self_domain_of(base);

    for (uint32_t i = 0; i < domain->mems.table.cap; i++)
        AMG_ASSERT(domain->mems.table.slots[i].object == NULL);
    amg_table_fini(&domain->mems.table);
    amg_self_msgs_fini(&domain->msgs);
    amg_mem_free(domain);
}

/* Only threads of this process send here, and a wait yields to them. */
static bool self_ep_is_oversubscribed(struct amg_ep *ep)
{
    (void)ep;
    return false;
}

static struct amg_peer *self_addr_self(struct amg_domain *domain)
{
    return peer_of(domain);
}

static struct amg_peer *self_addr_ref(struct amg_peer *peer)
{
    return peer;
}

static void self_addr_unref(struct amg_domain *domain, struct amg_peer *peer)
{
    AMG_ASSERT(peer == peer_of(domain));
}

static bool self_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return peer == peer_of(domain);
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
    const char *text = amg_self_domain_of(domain)->text;
    size_t need = strlen(text) + 1;
    size_t room = *len;

    AMG_ASSERT(peer == peer_of(domain));
    *len = need;
    if (ret_text == NULL || room < need)
        return HG_OVERFLOW;
    memcpy(ret_text, text, need);
    return HG_SUCCESS;
}

/* Is `text` "self://DIGITS-DIGITS", the last DIGITS hexadecimal? */
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
    struct amg_self_domain *domain = amg_self_domain_of(base);

    if (!text_is_address(text)) {
        AMG_LOG_ERROR("addr",
            "'%s' is not an address of self; addresses look like %s", text,
            domain->text);
        return HG_INVALID_ARG;
    }
    if (strcmp(text, domain->text) != 0) {
        AMG_LOG_ERROR("addr",
            "self: '%s' is of another process or class; only %s can be reached",
            text, domain->text);
        return HG_ADDRNOTAVAIL;
    }
    *ret_peer = peer_of(base);
    return HG_SUCCESS;
}

static hg_return_t self_bulk_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct amg_self_mems *mems = &amg_self_domain_of(base)->mems;
    size_t list_len = count * sizeof(*segments);
    struct self_mem *mem = amg_mem_zalloc(sizeof(*mem) + list_len);
    hg_return_t rc = HG_SUCCESS;

    if (mem == NULL)
        return HG_NOMEM;
    mem->base.transport = &amg_self_transport;
    mem->count = count;
    mem->flags = flags;
    if (count > 0)
        memcpy(mem->segments, segments, list_len);
    amg_lock_lock(&mems->lock);
    mem->key.serial = mems->serials++;
    rc = amg_table_add(&mems->table, mem, 0, &mem->key.number);
    amg_lock_unlock(&mems->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

static hg_return_t self_bulk_unreg(
    struct amg_domain *domain, struct amg_mem *base, unsigned timeout_ms)
{
    struct amg_self_mems *mems = &amg_self_domain_of(domain)->mems;
    struct self_mem *mem = amg_container_of(base, struct self_mem, base);
    uint64_t deadline_ns = 0;
    uint32_t users = 0;
    unsigned tries = 0;

    for (;;) {
        amg_lock_lock(&mems->lock);
        if (!mem->is_closed)
            amg_table_remove(&mems->table, mem->key.number);
        mem->is_closed = true;
        users = mem->users;
        amg_lock_unlock(&mems->lock);
        if (users == 0)
            break;
        if (deadline_ns == 0)
            deadline_ns = amg_clock_deadline_ns(timeout_ms);
        if (amg_clock_ns() >= deadline_ns) {
            AMG_LOG_WARNING("bulk",
                "self: %u copies still use the memory after %u ms; call "
                "HG_Bulk_free() again later",
                users, timeout_ms);
            return HG_BUSY;
        }
        amg_back_off(tries++);
    }
    amg_mem_free(mem);
    return HG_SUCCESS;
}

static hg_return_t self_bulk_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    (void)to;
    return bulk_move(ep, AMG_MEM_WRITE, local, remote, len, op);
}

static hg_return_t self_bulk_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    (void)to;
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
            .stop = self_domain_stop,
            .write_state = amg_self_msgs_write_state,
            .look = self_domain_look,
            .lost = amg_lost_ignore,
            .close = self_domain_close,
        },
    .ep =
        {
            .open = amg_self_ep_open,
            .close = amg_self_ep_close,
            .wait_fd = amg_self_wait_fd,
            .arm = amg_self_arm,
            .is_oversubscribed = self_ep_is_oversubscribed,
            .poll = amg_self_poll,
            .cancel = amg_self_cancel,
            .is_clear = amg_self_is_clear,
        },
    .addr =
        {
            .self = self_addr_self,
            .ref = self_addr_ref,
            .unref = self_addr_unref,
            .is_self = self_addr_is_self,
            .is_same = self_addr_is_same,
            .format = self_addr_format,
            .parse = self_addr_parse,
        },
    .msg =
        {
            .get_buf = amg_self_get_buf,
            .get_long_buf = amg_self_get_long_buf,
            .put_buf = amg_self_put_buf,
            .send_request = amg_self_send_request,
            .send_reply = amg_self_send_reply,
            .request_now = amg_self_request_now,
            .send_ack = amg_self_send_ack,
            .reply_now = amg_reply_by_buf,
            .release = amg_self_release,
            .release_reply = amg_self_release_reply,
        },
    .bulk =
        {
            .reg = self_bulk_reg,
            .unreg = self_bulk_unreg,
            .key = self_bulk_key,
            .put = self_bulk_put,
            .get = self_bulk_get,
        },
};
