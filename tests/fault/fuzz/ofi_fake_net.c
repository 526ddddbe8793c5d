/* SPDX-License-Identifier: BSD-3-Clause */
/* Data path of the fake provider whose network is this process. Sends complete
 * at once; messages stay in the inbox of their endpoint, and reads and writes
 * at their initiator, until the queue there is read. */
#include "ofi_fake_net.h"

#include <stdlib.h>
#include <string.h>

enum { INBOX = 64 };

/* A message in the inbox, or a completion. */
struct event {
    struct amg_link link;
    struct fi_cq_data_entry entry;
    int error;
    size_t len;
    uint8_t bytes[];
};

/* A read or write. */
struct access {
    struct amg_link link;
    void *context;
    bool is_put;
    uint16_t port;
    size_t count;
    size_t far_count;
    struct iovec near[OFI_FAKE_IOVS];
    struct fi_rma_iov far[OFI_FAKE_IOVS];
};

struct ofi_fake ofi_fake;
struct amg_list ofi_fake_eps;
struct amg_list ofi_fake_mrs;

static struct event *event_make(size_t len)
{
    struct event *event = calloc(1, sizeof(*event) + len);

    FUZZ_CHECK(event != NULL);
    event->len = len;
    return event;
}

static struct object *ep_at(uint16_t port)
{
    for (struct amg_link *link = amg_list_first(&ofi_fake_eps); link != NULL;
         link = amg_list_next(&ofi_fake_eps, link))
        if (amg_container_of(link, struct object, link)->port == port)
            return amg_container_of(link, struct object, link);
    return NULL;
}

static void done_add(
    struct object *cq, void *context, uint64_t flags, int error)
{
    struct event *event = event_make(0);

    event->entry.op_context = context;
    event->entry.flags = flags;
    event->error = error;
    amg_list_push(&cq->done, &event->link);
}

/* Moves messages from the inbox into the buffers, as far as there is room. */
static void inbox_empty(struct object *ep)
{
    while (!amg_list_is_empty(&ep->inbox) && ep->receive_count > 0) {
        struct event *event =
            amg_container_of(amg_list_first(&ep->inbox), struct event, link);
        struct ofi_fake_receive *receive = &ep->receives[ep->receive_first];
        size_t len = event->len;

        amg_list_remove(&event->link);
        ep->inbox_count--;
        if (len > receive->len - receive->used)
            len = receive->len - receive->used;
        if (len > 0)
            memcpy(receive->base + receive->used, event->bytes, len);
        event->entry.op_context = receive->context;
        event->entry.flags = FI_RECV | FI_MSG;
        event->entry.len = len;
        event->entry.buf = receive->base + receive->used;
        receive->used += len;
        event->error = len < event->len ? FI_ETRUNC : 0;
        /* Nor does it report the release of a buffer for which a message was
         * too long (as tcp;ofi_rxm, 1.17). */
        if (event->error != 0 || receive->len - receive->used < ep->min_left) {
            event->entry.flags |= event->error == 0 ? FI_MULTI_RECV : 0;
            ep->receive_first = (ep->receive_first + 1) % OFI_FAKE_RECEIVES;
            ep->receive_count--;
        }
        amg_list_push(&ep->of_cq->done, &event->link);
    }
}

static uint8_t *far_at(const struct access *access, size_t i)
{
    const struct fi_rma_iov *far = &access->far[i];
    uint64_t wanted = access->is_put ? FI_REMOTE_WRITE : FI_REMOTE_READ;
    struct amg_link *link = amg_list_first(&ofi_fake_mrs);

    for (; link != NULL; link = amg_list_next(&ofi_fake_mrs, link)) {
        const struct object *mr = amg_container_of(link, struct object, link);

        if (mr->port == access->port && mr->key == far->key &&
            (mr->access & wanted) != 0 && far->addr <= mr->len &&
            far->len <= mr->len - far->addr)
            return mr->base + far->addr;
    }
    return NULL;
}

/* Byte by byte, for simplicity. */
static int access_run(const struct access *access)
{
    size_t near = 0;
    size_t into = 0;

    for (size_t i = 0; i < access->far_count; i++) {
        uint8_t *far = far_at(access, i);

        if (far == NULL && (access->port != OFI_FAKE_LIAR ||
                               access->far[i].key != OFI_FAKE_KEY_GOOD))
            return FI_EKEYREJECTED;
        for (size_t j = 0; j < access->far[i].len; j++) {
            uint8_t *byte = NULL;

            while (into == access->near[near].iov_len) {
                near++;
                into = 0;
            }
            FUZZ_CHECK(near < access->count);
            byte = (uint8_t *)access->near[near].iov_base + into++;
            if (far != NULL && access->is_put)
                far[j] = *byte;
            else if (!access->is_put)
                *byte = far == NULL ? 0 : far[j];
        }
    }
    return 0;
}

static void accesses_run(struct object *ep)
{
    struct amg_link *link = NULL;

    if (ofi_fake.holds)
        return;
    while ((link = amg_list_pop(&ep->accesses)) != NULL) {
        struct access *access = amg_container_of(link, struct access, link);

        done_add(ep->of_cq, access->context, FI_RMA, access_run(access));
        free(access);
    }
}

ssize_t ofi_fake_cq_read(struct fid_cq *fid, void *entries, size_t count)
{
    struct object *cq = object_of(fid);
    struct fi_cq_data_entry *to = entries;
    size_t got = 0;

    inbox_empty(cq->of_ep);
    accesses_run(cq->of_ep);
    while (got < count && !amg_list_is_empty(&cq->done)) {
        struct event *event =
            amg_container_of(amg_list_first(&cq->done), struct event, link);

        if (event->error != 0)
            return got > 0 ? (ssize_t)got : -FI_EAVAIL;
        to[got++] = event->entry;
        amg_list_remove(&event->link);
        free(event);
    }
    return got > 0 ? (ssize_t)got : -FI_EAGAIN;
}

ssize_t ofi_fake_cq_readerr(
    struct fid_cq *fid, struct fi_cq_err_entry *ret_entry)
{
    struct object *cq = object_of(fid);
    struct amg_link *link = amg_list_first(&cq->done);
    struct event *event = NULL;

    if (link == NULL || amg_container_of(link, struct event, link)->error == 0)
        return -FI_EAGAIN;
    event = amg_container_of(link, struct event, link);
    *ret_entry = (struct fi_cq_err_entry){
        .op_context = event->entry.op_context,
        .flags = event->entry.flags,
        .err = event->error,
    };
    amg_list_remove(link);
    free(event);
    return 1;
}

void ofi_fake_say(uint16_t port, const void *bytes, size_t len)
{
    struct object *ep = ep_at(port);
    struct event *event = event_make(len);

    FUZZ_CHECK(ep != NULL);
    if (len > 0)
        memcpy(event->bytes, bytes, len);
    amg_list_push(&ep->inbox, &event->link);
    ep->inbox_count++;
}

static bool is_full(void)
{
    bool is_set = (ofi_fake.full & 1) != 0;

    ofi_fake.full >>= 1;
    return is_set;
}

static ssize_t send_to(
    struct object *ep, const void *bytes, size_t len, fi_addr_t to)
{
    struct object *there = NULL;

    FUZZ_CHECK(to < OFI_FAKE_ADDRS && ep->of_av->ports[to] != 0);
    if (is_full())
        return -FI_EAGAIN;
    if (ep->of_av->ports[to] == OFI_FAKE_LIAR) {
        ofi_fake.tap(bytes, len);
        return 0;
    }
    there = ep_at(ep->of_av->ports[to]);
    if (there == NULL || there->inbox_count >= INBOX)
        return -FI_EAGAIN;
    ofi_fake_say(there->port, bytes, len);
    return 0;
}

ssize_t ofi_fake_send(struct fid_ep *fid, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    struct object *ep = object_of(fid);
    ssize_t code = send_to(ep, bytes, len, to);

    (void)desc;
    if (code == 0)
        done_add(ep->of_cq, context, FI_SEND | FI_MSG, 0);
    return code;
}

ssize_t ofi_fake_inject(
    struct fid_ep *fid, const void *bytes, size_t len, fi_addr_t to)
{
    FUZZ_CHECK(len <= OFI_FAKE_INJECT);
    return send_to(object_of(fid), bytes, len, to);
}

static ssize_t access_post(
    struct object *ep, const struct fi_msg_rma *msg, bool is_put)
{
    struct access *access = calloc(1, sizeof(*access));

    FUZZ_CHECK(access != NULL && msg->iov_count <= OFI_FAKE_IOVS);
    FUZZ_CHECK(
        msg->rma_iov_count <= OFI_FAKE_IOVS && msg->addr < OFI_FAKE_ADDRS);
    if (is_full()) {
        free(access);
        return -FI_EAGAIN;
    }
    access->context = msg->context;
    access->is_put = is_put;
    access->port = ep->of_av->ports[msg->addr];
    access->count = msg->iov_count;
    access->far_count = msg->rma_iov_count;
    memcpy(access->near, msg->msg_iov, msg->iov_count * sizeof(struct iovec));
    memcpy(access->far, msg->rma_iov,
        msg->rma_iov_count * sizeof(struct fi_rma_iov));
    amg_list_push(&ep->accesses, &access->link);
    return 0;
}

ssize_t ofi_fake_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    (void)flags;
    return access_post(object_of(ep), msg, false);
}

ssize_t ofi_fake_writemsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    (void)flags;
    return access_post(object_of(ep), msg, true);
}

ssize_t ofi_fake_recvmsg(
    struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    struct object *ep = object_of(fid);
    unsigned at = (ep->receive_first + ep->receive_count) % OFI_FAKE_RECEIVES;

    FUZZ_CHECK(flags == FI_MULTI_RECV && ep->receive_count < OFI_FAKE_RECEIVES);
    ep->receives[at] = (struct ofi_fake_receive){
        msg->msg_iov->iov_base, msg->msg_iov->iov_len, 0, msg->context};
    ep->receive_count++;
    return 0;
}
