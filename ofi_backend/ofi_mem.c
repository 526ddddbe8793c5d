/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: leases for peers, and their puts and gets by messages.
 *
 * A key consists of a number in a table, which is reused, a serial number,
 * which is not reused, and the salt of the domain; the key is invalid once the
 * memory is unregistered. To reach the memory, the provider needs an address
 * and a provider's key for each segment, which would not fit into our key. So
 * a peer asks for a lease; GRANT has a row of address and key per segment:
 *
 *   LEASE -->  <-- GRANT (or DENY)  reads and writes  (<-- REVOKE)  RETURN -->
 *
 * So this process knows which peers may be reading or writing. Providers check
 * a key when an access begins, at best; closing a registration does not stop an
 * access in flight. To unregister memory, this process revokes the leases; each
 * holder returns its lease when it has no access in flight; then this process
 * closes the registration. A registration begins when a peer first leases the
 * memory, or when our put or get first uses the memory as local side and the
 * provider demands FI_MR_LOCAL; it ends when the program unregisters the
 * memory. So no registration outlives its memory, and malloc() needs no hooks.
 *
 *   exposed --unreg--> closed, revoked --last RETURN, or loss--> freed */
#include "ofi_backend/ofi_rma.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_peer.h"

enum {
    GRANTS_MAX = 4096, /* leases to one peer; above, the peer uses messages */
    PROBES = 64,       /* bytes that one system call reads */
};

/* A lease that a peer has of our memory. Owned by the memory's lists. */
struct grant {
    struct amg_link link;    /* on the memory's `grants` or `revoked` */
    struct amg_link of_peer; /* on the peer's list */
    struct amg_ofi_mem *mem;
    struct amg_peer *peer; /* a reference */
    uint32_t cookie;       /* of the holder's lease; in REVOKE and RETURN */
    uint8_t context;       /* of the holder */
    bool is_revoked;
};

hg_return_t amg_ofi_mem_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    size_t list_len = count * sizeof(*segments);
    struct amg_ofi_mem *mem = amg_mem_zalloc(sizeof(*mem) + list_len);
    hg_return_t rc = HG_SUCCESS;

    if (mem == NULL)
        return HG_NOMEM;
    mem->base.transport = base->transport;
    mem->domain = domain;
    mem->count = count;
    mem->flags = flags;
    amg_list_init(&mem->grants);
    amg_list_init(&mem->revoked);
    if (count > 0)
        memcpy(mem->segments, segments, list_len);
    amg_bias_lock(&domain->lock);
    mem->serial = domain->mems.serials++;
    rc = amg_table_add(&domain->mems.all, mem, 0, &mem->number);
    amg_bias_unlock(&domain->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

void amg_ofi_mem_key(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct amg_ofi_mem *mem =
        amg_container_of(base, struct amg_ofi_mem, base);
    const struct amg_ofi_key key = {
        .number = mem->number,
        .serial = mem->serial,
        .salt = mem->domain->mems.salt,
    };

    static_assert(sizeof(key) <= AMG_KEY_LEN_MAX, "a key fits");
    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(key);
    memcpy(ret_key->bytes, &key, sizeof(key));
}

static struct amg_ofi_mem *mem_find_locked(
    const struct amg_ofi_domain *domain, const struct amg_ofi_key *key)
{
    struct amg_table_slot *slot = NULL;
    struct amg_ofi_mem *mem = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (key->salt != domain->mems.salt)
        return NULL;
    slot = amg_table_find(&domain->mems.all, key->number, 0);
    mem = slot == NULL ? NULL : slot->object;
    return mem == NULL || mem->is_closed || mem->serial != key->serial ? NULL
                                                                       : mem;
}

static void mrs_close_locked(struct amg_ofi_mem *mem)
{
    AMG_ASSERT_HELD_BIAS(&mem->domain->lock);
    for (uint32_t i = 0; mem->mrs != NULL && i < mem->count; i++)
        amg_ofi_unreg_locked(mem->domain, mem->mrs[i]);
    amg_mem_free(mem->mrs);
    mem->mrs = NULL;
}

void amg_ofi_mem_unreg_all_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < domain->mems.all.cap; i++)
        if (domain->mems.all.slots[i].object != NULL)
            mrs_close_locked(domain->mems.all.slots[i].object);
}

/* Access rights for peers, and for our own puts and gets. */
static uint64_t access_of(const struct amg_ofi_mem *mem)
{
    uint64_t access = 0;

    if ((mem->flags & AMG_MEM_READ) != 0)
        access |=
            FI_REMOTE_READ | (mem->domain->facts.needs_desc ? FI_WRITE : 0);
    if ((mem->flags & AMG_MEM_WRITE) != 0)
        access |=
            FI_REMOTE_WRITE | (mem->domain->facts.needs_desc ? FI_READ : 0);
    return access;
}

hg_return_t amg_ofi_mem_mr_locked(
    struct amg_ofi_mem *mem, uint32_t segment, struct fid_mr **ret_mr)
{
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&mem->domain->lock);
    AMG_ASSERT(segment < mem->count && mem->segments[segment].len > 0);
    if (mem->mrs == NULL)
        mem->mrs = amg_mem_zalloc(mem->count * sizeof(struct fid_mr *));
    if (mem->mrs == NULL)
        return HG_NOMEM;
    if (mem->mrs[segment] == NULL)
        rc = amg_ofi_reg_locked(mem->domain, mem->segments[segment].base,
            mem->segments[segment].len, access_of(mem), &mem->mrs[segment]);
    if (rc == HG_SUCCESS)
        *ret_mr = mem->mrs[segment];
    return rc;
}

/* Can the first and the last byte of each segment be read? A provider over the
 * kernel's sockets does not pin pages, and tells the reader nothing if the
 * exposer cannot read them: the reader would wait, and take the bytes of later
 * messages for its data (libfabric 1.17, "internal transfer failed"). The check
 * finds memory that was unmapped or protected, or whose file was truncated, but
 * no gap inside of a segment, as a search would have to touch all pages. */
static bool is_readable(const struct amg_ofi_mem *mem)
{
    struct iovec there[PROBES];
    char bytes[PROBES];
    uint32_t i = 0;

    while (mem->domain->facts.is_tcp && i < mem->count) {
        struct iovec here = {bytes, 0};
        ssize_t got = 0;

        for (; i < mem->count && here.iov_len + 2 <= PROBES; i++) {
            char *first = mem->segments[i].base;

            if (mem->segments[i].len == 0)
                continue;
            there[here.iov_len++] = (struct iovec){first, 1};
            there[here.iov_len++] =
                (struct iovec){first + mem->segments[i].len - 1, 1};
        }
        got = process_vm_readv(getpid(), &here, 1, there, here.iov_len, 0);
        /* If the kernel forbids this call, the memory counts as readable. */
        if (got < 0 ? errno == EFAULT : (size_t)got < here.iov_len)
            return false;
    }
    return true;
}

static void unreadable_log(const struct amg_ofi_mem *mem)
{
    AMG_LOG_ERROR("bulk",
        "ofi: memory of %u segments, the first at %p with %llu bytes, cannot "
        "be read any more, and a peer's transfer of it ends with HG_NA_ERROR; "
        "was it unmapped or protected, or its file truncated, while it was "
        "exposed?",
        mem->count, mem->segments[0].base,
        (unsigned long long)mem->segments[0].len);
}

/* Registers all segments that are not registered yet. */
static hg_return_t mrs_open_locked(struct amg_ofi_mem *mem)
{
    struct fid_mr *mr = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&mem->domain->lock);
    for (uint32_t i = 0; i < mem->count && rc == HG_SUCCESS; i++)
        if (mem->segments[i].len > 0)
            rc = amg_ofi_mem_mr_locked(mem, i, &mr);
    return rc;
}

static void grant_end_locked(struct grant *grant)
{
    AMG_ASSERT_HELD_BIAS(&grant->mem->domain->lock);
    AMG_ASSERT(grant->peer->rma.granted > 0);
    amg_list_remove(&grant->link);
    amg_list_remove(&grant->of_peer);
    grant->peer->rma.granted--;
    AMG_ASSERT(!grant->is_revoked || grant->peer->rma.revoked > 0);
    if (grant->is_revoked)
        grant->peer->rma.revoked--;
    amg_ofi_peer_unref_locked(grant->peer);
    amg_mem_free(grant);
}

static hg_return_t grant_make_locked(struct amg_ofi_mem *mem,
    const struct amg_ofi_message *message, struct grant **ret_grant)
{
    struct grant *grant = amg_mem_zalloc(sizeof(*grant));

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (grant == NULL)
        return HG_NOMEM;
    grant->mem = mem;
    grant->cookie = message->header->cookie;
    grant->context = message->header->context;
    grant->peer = amg_ofi_peer_ref(message->peer);
    grant->peer->rma.granted++;
    amg_list_push(&mem->grants, &grant->link);
    amg_list_push(&grant->peer->rma.grants, &grant->of_peer);
    *ret_grant = grant;
    return HG_SUCCESS;
}

static void row_fill(
    const struct amg_ofi_mem *mem, uint32_t i, struct amg_ofi_row *ret_row)
{
    const struct amg_segment *segment = &mem->segments[i];

    AMG_ASSERT(segment->len == 0 || mem->mrs[i] != NULL);
    ret_row->base =
        mem->domain->facts.is_virtual ? (uintptr_t)segment->base : 0;
    ret_row->len = segment->len;
    ret_row->key = segment->len == 0 ? 0 : amg_ofi_call->mr_key(mem->mrs[i]);
}

/* Sends the rows of the grant, in as many messages as they need. */
static hg_return_t grant_send_locked(const struct grant *grant)
{
    struct amg_ofi_mem *mem = grant->mem;
    struct amg_ofi_grant head = {.flags = mem->flags, .count = mem->count};

    AMG_ASSERT_HELD_BIAS(&grant->mem->domain->lock);
    do {
        struct amg_ofi_msgbuf *msgbuf =
            amg_ofi_msgbuf_get_locked(mem->domain, false);
        struct amg_ofi_row row;
        uint32_t rows = 0;

        if (msgbuf == NULL)
            return HG_NOMEM;
        rows = (uint32_t)((msgbuf->buf.cap - sizeof(head)) / sizeof(row));
        if (rows > mem->count - head.first)
            rows = mem->count - head.first;
        memcpy(msgbuf->data, &head, sizeof(head));
        for (uint32_t i = 0; i < rows; i++) {
            row_fill(mem, head.first + i, &row);
            memcpy(msgbuf->data + sizeof(head) + i * sizeof(row), &row,
                sizeof(row));
        }
        msgbuf->header.cookie = grant->cookie;
        amg_ofi_send_address_locked(msgbuf, grant->peer, 0, grant->context,
            AMG_OFI_GRANT, (uint32_t)(sizeof(head) + rows * sizeof(row)));
        amg_ofi_send_locked(msgbuf);
        head.first += rows;
    } while (head.first < mem->count);
    return HG_SUCCESS;
}

void amg_ofi_mem_on_lease_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease_ask ask;
    struct amg_ofi_mem *mem = NULL;
    struct grant *grant = NULL;
    hg_return_t rc = HG_NOENTRY;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&ask, message->body, sizeof(ask));
    mem = mem_find_locked(message->domain, &ask.key);
    if (mem != NULL && message->peer->rma.granted >= GRANTS_MAX) {
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_LIMIT,
            AMG_OFI_LEASE, (long)message->peer->rma.granted);
        rc = HG_AGAIN;
    } else if (mem != NULL && !is_readable(mem)) {
        unreadable_log(mem);
        rc = HG_NA_ERROR;
    } else if (mem != NULL) {
        rc = mrs_open_locked(mem);
    }
    if (rc == HG_SUCCESS)
        rc = grant_make_locked(mem, message, &grant);
    if (rc == HG_SUCCESS) {
        rc = grant_send_locked(grant);
        if (rc != HG_SUCCESS)
            grant_end_locked(grant);
    }
    if (rc == HG_SUCCESS)
        return;
    amg_ofi_send_answer_locked(message->peer, 0, message->header->context,
        AMG_OFI_DENY, message->header->cookie, rc);
}

/* Finds the memory of an access, and checks permission and bounds. */
static hg_return_t access_check_locked(const struct amg_ofi_message *message,
    const struct amg_ofi_access *access, enum amg_mem_flags direction,
    struct amg_seg_iter *ret_iter)
{
    const struct amg_ofi_mem *mem =
        mem_find_locked(message->domain, &access->key);
    struct amg_seg_iter iter = {
        .segment = access->segment,
        .into = access->into,
    };

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (mem == NULL)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    iter.segments = mem->segments;
    iter.count = mem->count;
    if (access->len == 0 || access->len > access->left ||
        !amg_seg_iter_has(&iter, access->left))
        return HG_OVERFLOW;
    *ret_iter = iter;
    return HG_SUCCESS;
}

static void access_answer_locked(
    const struct amg_ofi_message *message, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (ret != HG_SUCCESS)
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_ACCESS,
            message->header->kind & ~AMG_OFI_MAGIC_MASK, (long)ret);
    amg_ofi_send_answer_locked(message->peer, message->header->target,
        message->header->context, AMG_OFI_DONE, message->header->cookie, ret);
}

void amg_ofi_mem_on_get_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_domain *domain = message->domain;
    struct amg_ofi_access access;
    struct amg_ofi_msgbuf *msgbuf = NULL;
    struct amg_seg_iter iter;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    memcpy(&access, message->body, sizeof(access));
    rc = access_check_locked(message, &access, AMG_MEM_READ, &iter);
    if (rc == HG_SUCCESS && access.len > amg_ofi_fragment_max(domain))
        rc = HG_MSGSIZE;
    if (rc == HG_SUCCESS)
        msgbuf = amg_ofi_msgbuf_get_locked(domain, false);
    if (rc == HG_SUCCESS && msgbuf == NULL)
        rc = HG_NOMEM;
    if (rc != HG_SUCCESS) {
        access_answer_locked(message, rc);
        return;
    }
    amg_seg_iter_gather(msgbuf->data, &iter, access.len);
    msgbuf->header.cookie = message->header->cookie;
    amg_ofi_send_address_locked(msgbuf, message->peer, message->header->target,
        message->header->context, AMG_OFI_DATA, (uint32_t)access.len);
    amg_ofi_send_locked(msgbuf);
}

void amg_ofi_mem_on_put_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_access access;
    struct amg_seg_iter iter;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&access, message->body, sizeof(access));
    rc = access_check_locked(message, &access, AMG_MEM_WRITE, &iter);
    if (rc == HG_SUCCESS && access.len != message->len - sizeof(access))
        rc = HG_MSGSIZE;
    if (rc == HG_SUCCESS)
        amg_seg_iter_scatter(&iter, message->body + sizeof(access), access.len);
    access_answer_locked(message, rc);
}

/* Ends the grant. The search begins at the oldest grant, which peers mostly
 * return first. A RETURN without a grant has crossed a DENY. */
void amg_ofi_mem_on_return_locked(const struct amg_ofi_message *message)
{
    struct amg_link *link = amg_list_first(&message->peer->rma.grants);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    while (
        link != NULL && amg_container_of(link, struct grant, of_peer)->cookie !=
                            message->header->cookie)
        link = amg_list_next(&message->peer->rma.grants, link);
    if (link != NULL)
        grant_end_locked(amg_container_of(link, struct grant, of_peer));
}

void amg_ofi_mem_lost_locked(struct amg_peer *peer)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    while ((link = amg_list_first(&peer->rma.grants)) != NULL)
        grant_end_locked(amg_container_of(link, struct grant, of_peer));
}

bool amg_ofi_mem_is_leased_locked(void *arg)
{
    struct amg_ofi_mem *mem = arg;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&mem->domain->lock);
    mem->is_closed = true;
    while ((link = amg_list_first(&mem->grants)) != NULL) {
        struct grant *grant = amg_container_of(link, struct grant, link);

        if (!amg_ofi_send_control_locked(grant->peer,
                (struct amg_ofi_header){.kind = AMG_OFI_REVOKE,
                    .target = grant->context,
                    .cookie = grant->cookie},
                NULL, 0))
            return true; /* no memory; the next call tries again */
        AMG_ASSERT(!grant->is_revoked);
        grant->is_revoked = true;
        grant->peer->rma.revoked++;
        amg_list_remove(link);
        amg_list_push(&mem->revoked, link);
    }
    return !amg_list_is_empty(&mem->revoked);
}

static void busy_log(const struct amg_ofi_mem *mem, unsigned timeout_ms)
{
    const struct amg_link *link = amg_list_first(
        amg_list_is_empty(&mem->grants) ? &mem->revoked : &mem->grants);
    char text[AMG_OFI_TEXT_CAP];

    AMG_ASSERT(mem->is_closed && link != NULL);
    AMG_LOG_WARNING("bulk",
        "ofi: %s may still access the memory after %u ms, and the memory stays "
        "exposed; free it again later, when the program there makes progress",
        amg_ofi_peer_name(
            amg_container_of(link, struct grant, link)->peer, text),
        timeout_ms);
}

hg_return_t amg_ofi_mem_free_locked(struct amg_ofi_mem *mem, unsigned waited_ms)
{
    AMG_ASSERT_HELD_BIAS(&mem->domain->lock);
    AMG_ASSERT(mem->is_closed);
    if (!amg_list_is_empty(&mem->grants) || !amg_list_is_empty(&mem->revoked)) {
        busy_log(mem, waited_ms);
        return HG_BUSY;
    }
    mrs_close_locked(mem);
    amg_table_remove(&mem->domain->mems.all, mem->number);
    amg_mem_free(mem);
    return HG_SUCCESS;
}
