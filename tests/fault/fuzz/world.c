/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of the target `shm`. Each operation must complete once, at the
 * latest when its endpoint is closed. */
#include <stdlib.h>
#include <string.h>

#include "world.h"
#include "shm/shm_transport.h"

enum {
    POLL_MAX = 16,
    DRAIN = 40, /* polls of each side */
    ADDR_CAP = 128,
};

/* An operation; listed until it completes. */
struct job {
    struct amg_op op;
    struct amg_link link;
    struct amg_ep *ep;
    uint8_t *local;
    struct amg_segment here[SHM_SEGMENTS]; /* of a put or get */
    struct amg_segment there[SHM_SEGMENTS];
};

struct shm_side shm_sides[SHM_SIDES];
static struct amg_list jobs;
static bool was_dropped; /* a request that expected a reply */
static const struct amg_transport *const driver = &amg_shm_transport;

static void job_step(struct amg_op *op)
{
    struct job *job = amg_container_of(op, struct job, op);

    FUZZ_CHECK(op->ret >= HG_SUCCESS && op->ret < HG_RETURN_MAX);
    if (op->ret == HG_SUCCESS && op->data != NULL) {
        volatile const uint8_t *bytes = op->data;

        FUZZ_CHECK(op->len <= SHM_LONGEST);
        for (uint64_t i = 0; i < op->len; i++)
            (void)bytes[i];
        driver->msg.release_reply(job->ep, op);
    }
    amg_list_remove(&job->link);
    free(job->local);
    free(job);
}

static struct job *job_make(struct amg_ep *ep, uint64_t local_len)
{
    struct job *job = calloc(1, sizeof(*job));

    FUZZ_CHECK(job != NULL);
    job->op.step = job_step;
    job->ep = ep;
    if (local_len > 0) {
        job->local = malloc(local_len);
        FUZZ_CHECK(job->local != NULL);
        memset(job->local, 'l', local_len);
    }
    amg_list_push(&jobs, &job->link);
    return job;
}

static void job_drop(struct job *job)
{
    amg_list_remove(&job->link);
    free(job->local);
    free(job);
}

static struct shm_side *other_of(const struct shm_side *side)
{
    return &shm_sides[side == &shm_sides[0] ? 1 : 0];
}

bool shm_meet(struct shm_side *side)
{
    struct shm_side *other = other_of(side);
    char text[ADDR_CAP];
    size_t len = sizeof(text);

    if (side->peer != NULL)
        return true;
    FUZZ_CHECK(driver->addr.format(other->domain,
                   driver->addr.self(other->domain), text, &len) == HG_SUCCESS);
    if (driver->addr.parse(side->domain, text, &side->peer) != HG_SUCCESS)
        side->peer = NULL;
    FUZZ_CHECK(side->peer != NULL || other->is_mad || side->is_mad);
    return side->peer != NULL;
}

void shm_ask(struct shm_side *side, uint8_t context, uint8_t target_context,
    uint32_t len, bool wants_reply)
{
    struct amg_ep *ep = side->eps[context % SHM_CONTEXTS];
    struct amg_buf *buf = NULL;
    struct job *job = NULL;

    if (!shm_meet(side) ||
        driver->msg.get_buf(ep, side->peer, &buf) != HG_SUCCESS)
        return;
    len = len < buf->cap ? len : buf->cap;
    if (len > 0)
        memset(buf->data, 'q', len);
    job = job_make(ep, 0);
    if (driver->msg.send_request(ep,
            (struct amg_target){side->peer, target_context}, buf, len,
            wants_reply, &job->op) == HG_SUCCESS)
        return;
    driver->msg.put_buf(ep, buf);
    job_drop(job);
}

/* Splits the local memory into segments of any length, the rest in the last. */
static uint32_t job_cut(
    struct job *job, const uint8_t lens[SHM_SEGMENTS], uint64_t len)
{
    uint64_t at = 0;
    uint32_t i = 0;

    for (i = 0; i + 1 < SHM_SEGMENTS && at < len; i++) {
        uint64_t part = (uint64_t)lens[i] * lens[i];

        part = part < len - at ? part : len - at;
        job->here[i] = (struct amg_segment){job->local + at, part};
        at += part;
    }
    job->here[i] = (struct amg_segment){job->local + at, len - at};
    return i + 1;
}

void shm_move(struct shm_side *side, const struct amg_remote *remote,
    const uint8_t cuts[SHM_SEGMENTS], uint64_t len, bool is_put)
{
    struct amg_ep *ep = side->eps[0];
    struct amg_remote far = *remote;
    struct amg_seg_iter local;
    struct job *job = NULL;
    hg_return_t rc = HG_SUCCESS;

    /* A put to a corrupted table of keys writes anywhere in its owner's memory;
     * here that would be the memory of both. */
    if (len == 0 || len > SHM_MEMORY || (is_put && other_of(side)->is_astray) ||
        !shm_meet(side))
        return;
    job = job_make(ep, len);
    local = (struct amg_seg_iter){job->here, job_cut(job, cuts, len), 0, 0};
    memcpy(job->there, remote->at.segments,
        remote->at.count * sizeof(job->there[0]));
    far.at.segments = job->there;
    rc = is_put ? driver->bulk.put(ep, (struct amg_target){side->peer, 0},
                      &local, &far, len, &job->op)
                : driver->bulk.get(ep, (struct amg_target){side->peer, 0},
                      &local, &far, len, &job->op);
    if (rc != HG_SUCCESS)
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

void shm_poll(struct shm_side *side, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (unsigned id = 0; id < SHM_CONTEXTS; id++) {
            struct amg_events events;

            amg_events_init(&events);
            (void)driver->ep.poll(side->eps[id], POLL_MAX, &events);
            done_step(&events.done);
            amg_list_splice(&side->held, &events.arrived);
        }
}

void shm_cancel(void)
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
    struct shm_side *side, const struct amg_arrival *arrival)
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

void shm_release(struct shm_side *side, bool answers)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&side->held)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        FUZZ_CHECK(arrival->len <= SHM_LONGEST);
        if (answers)
            arrival_answer(side, arrival);
        else if (!arrival->is_one_way)
            was_dropped = true;
        driver->msg.release(side->eps[0], arrival);
    }
}

/* Segments of both kinds of memory, in turn long and short, one empty. */
static void memory_show(struct shm_side *side, struct amg_segment *segments)
{
    static const uint32_t lens[SHM_SHOWN] = {
        SHM_MEMORY / 2, SHM_MEMORY / 2, 100, 1, 0, 3000, 7, 7};
    uint64_t at[2] = {0, 0};

    for (unsigned i = 0; i < SHM_SHOWN; i++) {
        uint8_t *base =
            i % 2 == 0 ? side->memory : (uint8_t *)side->mapping.base;

        segments[i] = (struct amg_segment){base + at[i % 2], lens[i]};
        at[i % 2] += lens[i];
    }
    FUZZ_CHECK(driver->bulk.reg(side->domain, segments, SHM_SHOWN,
                   AMG_MEM_READ | AMG_MEM_WRITE, &side->mem) == HG_SUCCESS);
    driver->bulk.key(side->mem, &side->key);
}

static void side_open(struct shm_side *side)
{
    struct amg_area area;
    const struct amg_open how = {
        .info = "",
        .is_listening = true,
        .message_len = SHM_MESSAGE,
        .credits = 4,
        .max_contexts = SHM_CONTEXTS,
        .area = &area,
    };
    struct amg_segment segments[SHM_SHOWN];

    memset(side, 0, sizeof(*side));
    amg_list_init(&side->held);
    FUZZ_CHECK(
        amg_mapping_open("fuzz", SHM_MEMORY, &side->mapping) == HG_SUCCESS);
    area = (struct amg_area){
        side->mapping.base, side->mapping.len, side->mapping.fd};
    FUZZ_CHECK(driver->domain.open(&how, &side->domain) == HG_SUCCESS);
    for (uint8_t id = 0; id < SHM_CONTEXTS; id++)
        FUZZ_CHECK(
            driver->ep.open(side->domain, id, &side->eps[id]) == HG_SUCCESS);
    side->memory = calloc(1, SHM_MEMORY);
    FUZZ_CHECK(side->memory != NULL);
    memory_show(side, segments);
}

/* The table may name a live process as accessor that never leaves: then the
 * memory stays busy. */
static void memory_take_back(struct shm_side *side)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(side->domain);
    struct amg_shm_key_table *table = domain->region.keys;
    hg_return_t rc = driver->bulk.unreg(side->domain, side->mem, 0);

    if (rc == HG_BUSY) {
        FUZZ_CHECK(side->is_mad);
        memset((void *)table->accessors, 0, sizeof(table->accessors));
        rc = driver->bulk.unreg(side->domain, side->mem, 0);
    }
    FUZZ_CHECK(rc == HG_SUCCESS);
    free(side->memory);
}

static void eps_close(struct shm_side *side)
{
    for (unsigned id = 0; id < SHM_CONTEXTS; id++) {
        struct amg_events events;

        amg_events_init(&events);
        driver->ep.close(side->eps[id], &events);
        done_step(&events.done);
        FUZZ_CHECK(amg_list_is_empty(&events.arrived));
        side->eps[id] = NULL;
    }
}

void shm_open(unsigned copy)
{
    static const char *const ways[] = {"auto", "direct", "cma", "segment"};

    FUZZ_CHECK(setenv("AMALGAM_SHM_COPY", ways[copy % 4], 1) == 0);
    amg_list_init(&jobs);
    was_dropped = false;
    for (unsigned i = 0; i < SHM_SIDES; i++)
        side_open(&shm_sides[i]);
}

void shm_close(void)
{
    struct shm_side *side = NULL;
    bool is_mad = shm_sides[0].is_mad || shm_sides[1].is_mad;

    for (unsigned i = 0; i < DRAIN; i++)
        for (side = shm_sides; side < shm_sides + SHM_SIDES; side++) {
            shm_poll(side, 1);
            shm_release(side, true);
        }
    FUZZ_CHECK(is_mad || was_dropped || amg_list_is_empty(&jobs));
    shm_cancel();
    for (side = shm_sides; side < shm_sides + SHM_SIDES; side++) {
        shm_poll(side, 1);
        eps_close(side);
    }
    FUZZ_CHECK(amg_list_is_empty(&jobs));
    for (side = shm_sides; side < shm_sides + SHM_SIDES; side++) {
        shm_release(side, false);
        memory_take_back(side);
        if (side->peer != NULL)
            driver->addr.unref(side->domain, side->peer);
    }
    for (side = shm_sides; side < shm_sides + SHM_SIDES; side++) {
        driver->domain.close(side->domain);
        amg_mapping_close(&side->mapping);
    }
}
