/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of the target `ofi`. Each operation must complete once, at the
 * latest when its endpoint is closed; and whatever the liar sends, the two
 * sides communicate. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ofi.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_domain.h"

enum {
    POLL_MAX = 16,
    DRAIN = 200, /* polls of each side */
};

/* An operation; listed until it completes. */
struct job {
    struct amg_op op;
    struct amg_link link;
    struct amg_ep *ep;
    uint8_t *local;
    bool is_good; /* not with the liar */
    struct amg_segment here;
    struct amg_segment there[OFI_SEGMENTS];
};

struct ofi_side ofi_sides[OFI_SIDES];
static struct amg_list jobs;
/* Requests that expected a reply and got none. Each keeps its credit: the
 * caller of a driver has to answer. */
static unsigned drop_count;
static unsigned good_count;
static const struct amg_transport *const driver = &amg_ofi_transport;

static void job_drop(struct job *job)
{
    amg_list_remove(&job->link);
    good_count -= job->is_good ? 1 : 0;
    free(job->local);
    free(job);
}

static void job_step(struct amg_op *op)
{
    struct job *job = amg_container_of(op, struct job, op);

    FUZZ_CHECK(op->ret >= HG_SUCCESS && op->ret < HG_RETURN_MAX);
    FUZZ_CHECK(!job->is_good || op->ret != HG_HOSTUNREACH);
    if (op->ret == HG_SUCCESS && op->data != NULL) {
        volatile const uint8_t *bytes = op->data;

        FUZZ_CHECK(op->len <= OFI_ROOM);
        for (uint64_t i = 0; i < op->len; i++)
            (void)bytes[i];
        driver->msg.release_reply(job->ep, op);
    }
    job_drop(job);
}

/* The clock of the driver, in place of the library's: waits take no time, but
 * bring deadlines nearer. */
static uint64_t napped_ns;

uint64_t amg_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * AMG_NS_PER_MS + (uint64_t)now.tv_nsec +
           napped_ns;
}

uint64_t amg_clock_deadline_ns(unsigned timeout_ms)
{
    return amg_clock_ns() + (uint64_t)timeout_ms * AMG_NS_PER_MS;
}

void amg_clock_sleep_ns(uint64_t ns)
{
    napped_ns += ns;
}

static struct job *job_make(struct amg_ep *ep, uint64_t local_len, bool is_good)
{
    struct job *job = calloc(1, sizeof(*job));

    FUZZ_CHECK(job != NULL);
    job->op.step = job_step;
    job->ep = ep;
    job->is_good = is_good;
    good_count += is_good ? 1 : 0;
    if (local_len > 0) {
        job->local = malloc(local_len);
        FUZZ_CHECK(job->local != NULL);
        memset(job->local, 'l', local_len);
    }
    amg_list_push(&jobs, &job->link);
    return job;
}

void ofi_ask(struct ofi_side *side, bool of_liar, uint8_t context,
    uint8_t target_context, uint32_t len, bool wants_reply)
{
    struct amg_ep *ep = side->eps[context % OFI_CONTEXTS];
    struct amg_peer *peer = of_liar ? side->liar : side->other;
    struct amg_buf *buf = NULL;
    struct job *job = NULL;

    if (driver->msg.get_buf(ep, peer, &buf) != HG_SUCCESS)
        return;
    len = len < buf->cap ? len : buf->cap;
    if (len > 0)
        memset(buf->data, 'q', len);
    job = job_make(ep, 0, !of_liar);
    if (driver->msg.send_request(ep, (struct amg_target){peer, target_context},
            buf, len, wants_reply, &job->op) == HG_SUCCESS)
        return;
    driver->msg.put_buf(ep, buf);
    job_drop(job);
}

void ofi_move(struct ofi_side *side, bool of_liar,
    const struct amg_remote *remote, uint64_t len, bool is_put)
{
    struct amg_ep *ep = side->eps[0];
    struct amg_remote far = *remote;
    struct amg_seg_iter local;
    struct job *job = NULL;

    if (len == 0 || len > OFI_MEMORY)
        return;
    job = job_make(ep, len, !of_liar);
    job->here = (struct amg_segment){job->local, len};
    local = (struct amg_seg_iter){&job->here, 1, 0, 0};
    memcpy(job->there, remote->at.segments,
        remote->at.count * sizeof(job->there[0]));
    far.at.segments = job->there;
    if ((is_put ? driver->bulk.put : driver->bulk.get)(ep,
            (struct amg_target){of_liar ? side->liar : side->other, 0}, &local,
            &far, len, &job->op) != HG_SUCCESS)
        job_drop(job);
}

static void done_step(struct amg_list *done)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
}

void ofi_poll(struct ofi_side *side, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (unsigned id = 0; id < OFI_CONTEXTS; id++) {
            struct amg_events events;

            amg_events_init(&events);
            (void)driver->ep.poll(side->eps[id], POLL_MAX, &events);
            done_step(&events.done);
            amg_list_splice(&side->held, &events.arrived);
        }
}

void ofi_cancel(void)
{
    struct amg_link *link = amg_list_first(&jobs);

    while (link != NULL) {
        struct job *job = amg_container_of(link, struct job, link);

        link = amg_list_next(&jobs, link);
        FUZZ_CHECK(driver->ep.cancel(job->ep, &job->op) == HG_SUCCESS);
    }
}

/* With as many bytes as the request. */
static void arrival_answer(
    struct ofi_side *side, const struct amg_arrival *arrival)
{
    struct amg_ep *ep = side->eps[0];
    struct amg_buf *buf = NULL;
    uint32_t len = arrival->len;

    if (arrival->is_one_way || arrival->is_late || ep == NULL ||
        driver->msg.get_buf(ep, arrival->from, &buf) != HG_SUCCESS)
        return;
    len = len < buf->cap ? len : buf->cap;
    if (len > 0)
        memcpy(buf->data, arrival->data, len);
    if (driver->msg.send_reply(ep, arrival, buf, len, NULL) != HG_SUCCESS)
        driver->msg.put_buf(ep, buf);
}

void ofi_release(struct ofi_side *side, bool answers)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&side->held)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        FUZZ_CHECK(arrival->len <= OFI_ROOM);
        if (answers)
            arrival_answer(side, arrival);
        else if (!arrival->is_one_way)
            drop_count++;
        driver->msg.release(side->eps[0], arrival);
    }
}

void ofi_wait(struct ofi_side *side, bool is_long)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(side->domain);
    struct amg_link *link = amg_list_first(&domain->peers.all);
    unsigned count = 0;

    domain->clock.tick_ns = 0;
    for (; link != NULL; link = amg_list_next(&domain->peers.all, link)) {
        struct amg_peer *peer = amg_container_of(link, struct amg_peer, all);

        peer->conn.retry_ns = 0;
        if (is_long)
            peer->conn.deadline_ns = 0;
        count++;
    }
    FUZZ_CHECK(count <= OFI_PEERS_MAX);
}

/* Long and short segments, one empty. */
static void memory_show(struct ofi_side *side)
{
    static const uint32_t lens[OFI_SHOWN] = {
        OFI_MEMORY / 2, 8192, 100, 1, 0, 3000, 7, 7};
    struct amg_segment segments[OFI_SHOWN];
    uint64_t at = 0;

    for (unsigned i = 0; i < OFI_SHOWN; i++) {
        segments[i] = (struct amg_segment){side->memory + at, lens[i]};
        at += lens[i];
    }
    FUZZ_CHECK(driver->bulk.reg(side->domain, segments, OFI_SHOWN,
                   AMG_MEM_READ | AMG_MEM_WRITE, &side->mem) == HG_SUCCESS);
    driver->bulk.key(side->mem, &side->key);
}

static void side_open(struct ofi_side *side, uint16_t port)
{
    const struct amg_open how = {
        .info = "",
        .protocol = "tcp",
        .is_listening = true,
        .message_len = OFI_MESSAGE,
        .credits = OFI_CREDITS,
        .max_contexts = OFI_CONTEXTS,
    };

    memset(side, 0, sizeof(*side));
    amg_list_init(&side->held);
    ofi_fake_port(port);
    FUZZ_CHECK(driver->domain.open(&how, &side->domain) == HG_SUCCESS);
    /* The kernel does not know the ports of this network. */
    amg_ofi_domain_of(side->domain)->facts.is_tcp = false;
    for (uint8_t id = 0; id < OFI_CONTEXTS; id++)
        FUZZ_CHECK(
            driver->ep.open(side->domain, id, &side->eps[id]) == HG_SUCCESS);
    FUZZ_CHECK(driver->addr.parse(side->domain, "ofi+tcp://127.0.0.1:60000",
                   &side->liar) == HG_SUCCESS);
    memory_show(side);
}

/* Polls both sides until no operation between them is in flight. */
static void good_wait(void)
{
    struct ofi_side *side = NULL;

    for (unsigned i = 0; i < DRAIN && good_count > 0; i++)
        for (side = ofi_sides; side < ofi_sides + OFI_SIDES; side++) {
            ofi_wait(side, false);
            ofi_poll(side, 1);
            ofi_release(side, true);
        }
}

static void good_ask(void)
{
    for (unsigned i = 0; i < OFI_SIDES; i++)
        ofi_ask(&ofi_sides[i], false, 0, 0, 10, true);
    good_wait();
    FUZZ_CHECK(good_count == 0);
}

void ofi_open(void)
{
    amg_list_init(&jobs);
    drop_count = 0;
    ofi_fake.full = 0;
    ofi_fake.holds = false;
    for (unsigned i = 0; i < OFI_SIDES; i++)
        side_open(&ofi_sides[i], (uint16_t)(OFI_PORT + i));
    for (unsigned i = 0; i < OFI_SIDES; i++)
        FUZZ_CHECK(
            driver->addr.parse(ofi_sides[i].domain,
                i == 0 ? "ofi+tcp://127.0.0.1:1001" : "tcp://127.0.0.1:1000",
                &ofi_sides[i].other) == HG_SUCCESS);
    good_ask();
}

/* A liar may keep a lease until it is lost. */
static void memory_take_back(struct ofi_side *side)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(side->domain);
    hg_return_t rc = driver->bulk.unreg(side->domain, side->mem, 0);

    if (rc == HG_BUSY) {
        amg_bias_lock(&domain->lock);
        amg_ofi_connect_lost_locked(side->liar, "it lied");
        amg_bias_unlock(&domain->lock);
        rc = driver->bulk.unreg(side->domain, side->mem, 0);
    }
    FUZZ_CHECK(rc == HG_SUCCESS);
}

static void eps_close(struct ofi_side *side)
{
    for (unsigned id = 0; id < OFI_CONTEXTS; id++) {
        struct amg_events events;

        amg_events_init(&events);
        driver->ep.close(side->eps[id], &events);
        done_step(&events.done);
        FUZZ_CHECK(amg_list_is_empty(&events.arrived));
        side->eps[id] = NULL;
    }
}

void ofi_close(void)
{
    struct ofi_side *side = NULL;

    ofi_fake.full = 0;
    ofi_fake.holds = false;
    good_wait();
    FUZZ_CHECK(good_count == 0 || drop_count > 0);
    ofi_cancel();
    for (side = ofi_sides; side < ofi_sides + OFI_SIDES; side++)
        ofi_poll(side, 2);
    FUZZ_CHECK(good_count == 0);
    if (drop_count < OFI_CREDITS)
        good_ask();
    for (side = ofi_sides; side < ofi_sides + OFI_SIDES; side++) {
        ofi_release(side, false);
        memory_take_back(side);
        ofi_wait(side, true); /* so that closing waits for no peer */
        ofi_poll(side, 2);
        eps_close(side);
    }
    FUZZ_CHECK(amg_list_is_empty(&jobs));
    for (side = ofi_sides; side < ofi_sides + OFI_SIDES; side++) {
        driver->addr.unref(side->domain, side->other);
        driver->addr.unref(side->domain, side->liar);
        driver->domain.close(side->domain);
    }
    FUZZ_CHECK(ofi_fake.live == 0);
}
