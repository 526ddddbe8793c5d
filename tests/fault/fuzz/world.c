/* SPDX-License-Identifier: BSD-3-Clause */
/* World of a target that feeds a driver.
 *
 * Each operation must complete once, at the latest when its endpoint is closed.
 * Unless the target corrupts their own memory, the two sides communicate
 * whatever it sends. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum {
    POLL_MAX = 16,
    DRAIN = 40,      /* polls of each side, */
    DRAIN_MAX = 200, /* and as long as a good operation is in flight */
    ADDR_CAP = 128,
    SAID_LEN = 10000, /* a length of segments in a descriptor */
};

/* An operation; listed until it completes. */
struct job {
    struct amg_op op;
    struct amg_link link;
    struct amg_ep *ep;
    uint8_t *local;
    bool is_good;                            /* not with the liar */
    struct amg_segment here[WORLD_SEGMENTS]; /* of a put or get */
    struct amg_segment there[WORLD_SEGMENTS];
};

/* Arguments of a put or get. */
struct access {
    struct amg_remote remote;
    uint8_t cuts[WORLD_SEGMENTS]; /* of the local memory */
    uint64_t len;
    bool is_put;
};

struct world_side world_sides[WORLD_SIDES];
static struct amg_list jobs;
static unsigned good_count; /* of the jobs */
/* Requests that expected a reply and got none. Each keeps its credit: the
 * caller of a driver has to answer. */
static unsigned drop_count;
static const struct world_medium *const medium = &world_medium;
static const struct amg_transport *driver; /* the medium's */

struct world_side *world_other(const struct world_side *side)
{
    return &world_sides[side == &world_sides[0] ? 1 : 0];
}

static bool is_mad(void)
{
    return world_sides[0].is_mad || world_sides[1].is_mad;
}

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
    FUZZ_CHECK(!job->is_good || is_mad() || op->ret != HG_HOSTUNREACH);
    if (op->ret == HG_SUCCESS && op->data != NULL) {
        volatile const uint8_t *bytes = op->data;

        FUZZ_CHECK(op->len <= medium->longest);
        for (uint64_t i = 0; i < op->len; i++)
            (void)bytes[i];
        driver->msg.release_reply(job->ep, op);
    }
    job_drop(job);
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

/* The liar, or the other side; NULL: the other side was corrupted. */
static struct amg_peer *peer_find(struct world_side *side, bool of_liar)
{
    struct world_side *other = world_other(side);
    struct amg_peer *self = NULL;
    char text[ADDR_CAP];
    size_t len = sizeof(text);

    if (of_liar)
        return side->liar;
    if (side->other != NULL)
        return side->other;
    self = driver->addr.self(other->domain);
    FUZZ_CHECK(
        driver->addr.format(other->domain, self, text, &len) == HG_SUCCESS);
    driver->addr.unref(other->domain, self);
    if (driver->addr.parse(side->domain, text, &side->other) != HG_SUCCESS)
        side->other = NULL;
    FUZZ_CHECK(side->other != NULL || is_mad());
    return side->other;
}

static void ask(struct world_side *side, struct amg_ep *ep,
    struct amg_target to, uint32_t len, bool wants_reply)
{
    struct amg_buf *buf = NULL;
    struct job *job = NULL;

    if (to.peer == NULL || driver->msg.get_buf(ep, to.peer, &buf) != HG_SUCCESS)
        return;
    len = len < buf->cap ? len : buf->cap;
    if (len > 0)
        memset(buf->data, 'q', len);
    job = job_make(ep, 0, to.peer != side->liar);
    if (driver->msg.send_request(ep, to, buf, len, wants_reply, &job->op) ==
        HG_SUCCESS)
        return;
    driver->msg.put_buf(ep, buf);
    job_drop(job);
}

void world_ask(struct fuzz *fuzz, const struct world_step *step)
{
    struct world_side *side = step->side;
    struct amg_target to = {peer_find(side, step->of_liar), step->how / 2 % 3};

    ask(side, side->eps[step->how % WORLD_CONTEXTS], to, fuzz_u16(fuzz),
        step->how / 8 % 4 != 0);
}

/* Splits the local memory into segments of any length, the rest in the last. */
static uint32_t job_cut(
    struct job *job, const uint8_t lens[WORLD_SEGMENTS], uint64_t len)
{
    uint64_t at = 0;
    uint32_t i = 0;

    for (; medium->is_cut && i + 1 < WORLD_SEGMENTS && at < len; i++) {
        uint64_t part = (uint64_t)lens[i] * lens[i];

        part = part < len - at ? part : len - at;
        job->here[i] = (struct amg_segment){job->local + at, part};
        at += part;
    }
    job->here[i] = (struct amg_segment){job->local + at, len - at};
    return i + 1;
}

static void move(struct world_side *side, bool of_liar, struct access *access)
{
    struct amg_ep *ep = side->eps[0];
    struct amg_target to = {NULL, 0};
    struct amg_remote *far = &access->remote;
    struct amg_seg_iter local;
    struct job *job = NULL;

    /* A put to a corrupted table of keys writes anywhere in its owner's memory;
     * here that would be the memory of both. */
    if (access->len == 0 || access->len > medium->memory_len ||
        (access->is_put && world_other(side)->is_astray))
        return;
    to.peer = peer_find(side, of_liar);
    if (to.peer == NULL)
        return;
    job = job_make(ep, access->len, !of_liar);
    local = (struct amg_seg_iter){
        job->here, job_cut(job, access->cuts, access->len), 0, 0};
    memcpy(job->there, far->at.segments, far->at.count * sizeof(job->there[0]));
    far->at.segments = job->there;
    if ((access->is_put ? driver->bulk.put : driver->bulk.get)(
            ep, to, &local, far, access->len, &job->op) != HG_SUCCESS)
        job_drop(job);
}

void world_move(struct fuzz *fuzz, const struct world_step *step)
{
    const struct world_side *other = world_other(step->side);
    uint8_t how = fuzz_u8(fuzz);
    struct amg_segment said[WORLD_SEGMENTS];
    struct access access = {
        .remote = {.key = other->key,
            .at = {said, how / 16 % WORLD_SEGMENTS + 1,
                fuzz_u8(fuzz) % (WORLD_SHOWN + 1), fuzz_near(fuzz, 0)}},
        .len = fuzz_near(fuzz, 1000),
        .is_put = (how & 1) != 0,
    };

    /* A descriptor need not be true. */
    for (unsigned i = 0; i < WORLD_SEGMENTS; i++)
        said[i] =
            (struct amg_segment){other->memory, fuzz_near(fuzz, SAID_LEN)};
    if (medium->is_cut)
        (void)fuzz_bytes(fuzz, access.cuts, sizeof(access.cuts));
    if ((how & 2) != 0)
        fuzz_spoil(fuzz, access.remote.key.bytes, access.remote.key.len);
    if ((how & 4) != 0)
        access.len = (uint64_t)fuzz_u16(fuzz) * (medium->memory_len >> 16);
    move(step->side, step->of_liar, &access);
}

static void done_step(struct amg_list *done)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
}

void world_poll(struct world_side *side, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (unsigned id = 0; id < WORLD_CONTEXTS; id++) {
            struct amg_events events;

            amg_events_init(&events);
            (void)driver->ep.poll(side->eps[id], POLL_MAX, &events);
            done_step(&events.done);
            amg_list_splice(&side->held, &events.arrived);
        }
}

void world_turn(struct fuzz *fuzz, const struct world_step *step)
{
    (void)fuzz;
    world_poll(step->side, step->how % medium->polls_max + 1);
}

void world_cancel(struct fuzz *fuzz, const struct world_step *step)
{
    struct amg_link *link = amg_list_first(&jobs);

    (void)fuzz;
    (void)step;
    while (link != NULL) {
        struct job *job = amg_container_of(link, struct job, link);

        link = amg_list_next(&jobs, link);
        FUZZ_CHECK(driver->ep.cancel(job->ep, &job->op) == HG_SUCCESS);
    }
}

void world_sleep(struct fuzz *fuzz, const struct world_step *step)
{
    (void)fuzz;
    (void)driver->ep.arm(step->side->eps[step->how % WORLD_CONTEXTS]);
}

/* With as many bytes as the request. */
static void arrival_answer(
    struct world_side *side, const struct amg_arrival *arrival)
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

static void arrivals_release(struct world_side *side, bool answers)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&side->held)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        FUZZ_CHECK(arrival->len <= medium->longest);
        if (answers)
            arrival_answer(side, arrival);
        else if (!arrival->is_one_way)
            drop_count++;
        driver->msg.release(side->eps[0], arrival);
    }
}

void world_answer(struct fuzz *fuzz, const struct world_step *step)
{
    (void)fuzz;
    arrivals_release(step->side, step->how % 4 != 0);
}

/* Segments of both memories, in turn long and short, one empty. */
static void memory_show(struct world_side *side)
{
    const uint32_t lens[WORLD_SHOWN] = {
        medium->memory_len / 2, 8192, 100, 1, 0, 3000, 7, 7};
    struct amg_segment segments[WORLD_SHOWN];
    uint64_t at[2] = {0, 0};

    for (unsigned i = 0; i < WORLD_SHOWN; i++) {
        uint8_t *base = i % 2 == 0 ? side->memory : side->other_memory;

        segments[i] = (struct amg_segment){base + at[i % 2], lens[i]};
        at[i % 2] += lens[i];
    }
    FUZZ_CHECK(driver->bulk.reg(side->domain, segments, WORLD_SHOWN,
                   AMG_MEM_READ | AMG_MEM_WRITE, &side->mem) == HG_SUCCESS);
    driver->bulk.key(side->mem, &side->key);
}

static void memory_take_back(struct world_side *side)
{
    hg_return_t rc = driver->bulk.unreg(side->domain, side->mem, 0);

    if (rc == HG_BUSY) {
        medium->free_memory(side);
        rc = driver->bulk.unreg(side->domain, side->mem, 0);
    }
    FUZZ_CHECK(rc == HG_SUCCESS);
}

static void side_open(struct world_side *side)
{
    memset(side, 0, sizeof(*side));
    amg_list_init(&side->held);
    medium->open(side);
    for (uint8_t id = 0; id < WORLD_CONTEXTS; id++)
        FUZZ_CHECK(
            driver->ep.open(side->domain, id, &side->eps[id]) == HG_SUCCESS);
    memory_show(side);
}

static void eps_close(struct world_side *side)
{
    for (unsigned id = 0; id < WORLD_CONTEXTS; id++) {
        struct amg_events events;

        amg_events_init(&events);
        driver->ep.close(side->eps[id], &events);
        done_step(&events.done);
        FUZZ_CHECK(amg_list_is_empty(&events.arrived));
        side->eps[id] = NULL;
    }
}

/* Polls both sides, and answers, at least `least` times. */
static void drain(unsigned least)
{
    struct world_side *side = NULL;
    unsigned most = is_mad() ? least : DRAIN_MAX;

    for (unsigned i = 0; i < least || (i < most && good_count > 0); i++)
        for (side = world_sides; side < world_sides + WORLD_SIDES; side++) {
            medium->wait(side, false);
            world_poll(side, 1);
            arrivals_release(side, true);
        }
}

/* Both sides get answers of each other. */
static void good_ask(void)
{
    struct world_side *side = NULL;

    for (side = world_sides; side < world_sides + WORLD_SIDES; side++)
        ask(side, side->eps[0], (struct amg_target){peer_find(side, false), 0},
            10, true);
    drain(0);
    FUZZ_CHECK(good_count == 0);
}

static void world_open(struct fuzz *fuzz)
{
    driver = medium->driver;
    amg_list_init(&jobs);
    good_count = 0;
    drop_count = 0;
    medium->begin(fuzz);
    for (unsigned i = 0; i < WORLD_SIDES; i++)
        side_open(&world_sides[i]);
    if (medium->meets_first)
        good_ask();
}

/* Completes all operations, checks that both sides still communicate, and
 * closes them; nothing may be left. */
static void world_close(void)
{
    struct world_side *side = NULL;

    medium->calm();
    drain(DRAIN);
    FUZZ_CHECK(is_mad() || drop_count > 0 || good_count == 0);
    world_cancel(NULL, NULL);
    for (side = world_sides; side < world_sides + WORLD_SIDES; side++)
        world_poll(side, 2);
    FUZZ_CHECK(is_mad() || good_count == 0);
    if (!is_mad() && drop_count < WORLD_CREDITS)
        good_ask();
    for (side = world_sides; side < world_sides + WORLD_SIDES; side++) {
        medium->wait(side, true); /* so that closing waits for no peer */
        world_poll(side, 2);
        eps_close(side);
    }
    FUZZ_CHECK(amg_list_is_empty(&jobs));
    for (side = world_sides; side < world_sides + WORLD_SIDES; side++) {
        arrivals_release(side, false);
        memory_take_back(side);
        if (side->other != NULL)
            driver->addr.unref(side->domain, side->other);
    }
    for (side = world_sides; side < world_sides + WORLD_SIDES; side++)
        medium->close(side);
}

void fuzz_run(struct fuzz *fuzz)
{
    world_open(fuzz);
    for (unsigned i = 0; i < medium->steps_max && fuzz->left > 0; i++) {
        unsigned which = fuzz_u8(fuzz) % medium->step_count;
        uint8_t how = fuzz_u8(fuzz);
        struct world_step step = {
            .side = &world_sides[how % WORLD_SIDES],
            .of_liar = how / WORLD_SIDES % medium->liar_odds != 0,
            .how = (uint8_t)(how / WORLD_SIDES / medium->liar_odds),
        };

        medium->steps[which](fuzz, &step);
    }
    world_close();
}
