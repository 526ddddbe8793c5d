/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank of torture_hg has open: its classes. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "amalgam_oneway.h"
#include "faults.h"
#include "group.h"
#include "job.h"
#include "later.h"
#include "message.h"
#include "origin.h"
#include "target.h"
#include "turn.h"

enum { NAME_CAP = 64, ADDR_CAP = 256, LEAVE_TURNS = 20 };

uint64_t world_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void world_expect(struct world *world, hg_return_t rc, const char *what,
    const char *file, int line)
{
    const char *name = strrchr(file, '/');

    if (rc != HG_SUCCESS && !faults_may_be(world, (int)rc))
        book_finding(world->book, "%s:%d: %s: %s",
            name == NULL ? file : name + 1, line, what, HG_Error_to_string(rc));
}

struct world_class *world_class_of(const hg_class_t *cls)
{
    return HG_Class_get_data(cls);
}

hg_addr_t world_addr(struct world_class *cls, unsigned rank)
{
    struct world *world = cls->world;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    do
        rc = world->plan.is_job
                 ? job_addr(cls,
                       plan_class_rank(&world->plan, cls->index, rank), &addr)
                 : HG_Addr_dup(cls->cls, cls->addrs[rank], &addr);
    while (faults_again(world, rc));
    EXPECT_OK(world, rc);
    return addr;
}

unsigned world_rank_of(struct world_class *cls, hg_addr_t addr)
{
    const struct plan *plan = &cls->world->plan;
    int from = plan->is_job ? job_rank_of(cls, addr) : -1;

    (void)atomic_load(&cls->world->is_open); /* `addrs` is there */
    if (from >= 0)
        return plan_job_rank(plan, cls->index, (unsigned)from);
    for (unsigned rank = 0; !plan->is_job && rank < plan->ranks; rank++)
        if (cls->addrs[rank] != HG_ADDR_NULL &&
            HG_Addr_cmp(cls->cls, cls->addrs[rank], addr))
            return rank;
    book_finding(cls->world->book, "a call came from no rank");
    return 0;
}

/* A name that ends in a number. */
static hg_id_t register_numbered(struct world_class *cls, const char *name,
    unsigned number, hg_rpc_cb_t handler)
{
    char text[NAME_CAP];

    snprintf(text, sizeof(text), "%s_%u", name, number);
    return HG_Register_name(
        cls->cls, text, message_in_proc, message_out_proc, handler);
}

static void rpcs_register(struct world_class *cls)
{
    struct world *world = cls->world;
    hg_class_t *hg_class = cls->cls;

    cls->ids[WORLD_CALL] = HG_Register_name(hg_class, "torture_call",
        message_in_proc, message_out_proc, target_call);
    cls->ids[WORLD_EMPTY] =
        HG_Register_name(hg_class, "torture_empty", NULL, NULL, target_empty);
    cls->ids[WORLD_ONE_WAY] = HG_Register_name(
        hg_class, "torture_one_way", message_in_proc, NULL, target_call);
    EXPECT_OK(world, HG_Registered_disable_response(
                         hg_class, cls->ids[WORLD_ONE_WAY], HG_TRUE));
    cls->ids[WORLD_STREAM] = world->plan.has_handles
                                 ? HG_Register_name(hg_class, "torture_stream",
                                       NULL, NULL, target_stream_handle)
                                 : amalgam_register_oneway(hg_class,
                                       "torture_stream", target_stream);
    EXPECT_OK(world, HG_Registered_disable_response(
                         hg_class, cls->ids[WORLD_STREAM], HG_TRUE));
    cls->ids[WORLD_STREAM_EMPTY] = amalgam_register_oneway(
        hg_class, "torture_stream_empty", target_stream_empty);
    cls->ids[WORLD_NO_HANDLER] = HG_Register_name(hg_class,
        "torture_no_handler", message_in_proc, message_out_proc, NULL);
    for (unsigned rank = 0; rank < world->plan.ranks; rank++) {
        if (rank == world->rank)
            continue;
        cls->unknown[rank] =
            register_numbered(cls, "torture_unknown", rank, NULL);
        cls->late[rank] = register_numbered(cls, "torture_late", rank, NULL);
        cls->group_late[rank] =
            register_numbered(cls, "torture_group_late", rank, target_call);
        cls->group_unknown[rank] =
            register_numbered(cls, "torture_group_unknown", rank, target_call);
    }
    group_register(cls);
}

void world_register_late(struct world *world)
{
    for (unsigned i = 0; i < world->plan.classes; i++) {
        struct world_class *cls = &world->classes[i];

        hg_return_t rc = HG_SUCCESS;

        if (cls->cls == NULL)
            continue;
        do {
            cls->late[world->rank] = register_numbered(
                cls, "torture_late", world->rank, target_call);
            rc = cls->late[world->rank] == 0 ? HG_NOMEM : HG_SUCCESS;
        } while (faults_again(world, rc));
        do {
            cls->group_late[world->rank] = register_numbered(
                cls, "torture_group_late", world->rank, target_call);
            rc = cls->group_late[world->rank] == 0 ? HG_NOMEM : HG_SUCCESS;
        } while (faults_again(world, rc));
    }
}

static hg_return_t looked_up(const struct hg_cb_info *info)
{
    *(hg_addr_t *)info->arg = info->info.lookup.addr;
    return info->ret;
}

/* Looks up an address, at once or with a callback. */
static void addr_find(
    struct world_class *cls, const char *text, hg_addr_t *ret_addr)
{
    hg_context_t *context = cls->contexts[0].context;
    struct world *world = cls->world;
    hg_return_t rc = HG_SUCCESS;

    if (world->plan.no_loopback) {
        EXPECT_OK(world, HG_Addr_lookup2(cls->cls, text, ret_addr));
        return;
    }
    rc = HG_Addr_lookup1(context, looked_up, ret_addr, text, HG_OP_ID_IGNORE);
    EXPECT_OK(world, rc);
    while (rc == HG_SUCCESS && *ret_addr == HG_ADDR_NULL) {
        (void)HG_Progress(context, 0);
        (void)HG_Trigger(context, 0, 1, NULL);
    }
}

/* All ranks tell their addresses. */
static void addrs_exchange(struct world_class *cls)
{
    struct world *world = cls->world;
    char text[ADDR_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    EXPECT_OK(world, HG_Addr_self(cls->cls, &self));
    EXPECT_OK(world, HG_Addr_to_string(cls->cls, text, &len, self));
    EXPECT_OK(world, HG_Addr_free(cls->cls, self));
    exchange_all(world->exchange, text, sizeof(text));
    for (unsigned rank = 0; rank < world->plan.ranks; rank++) {
        size_t unused = 0;
        const char *theirs = exchange_of(world->exchange, rank, &unused);

        if (rank == world->rank || !world->plan.is_self)
            addr_find(cls, theirs, &cls->addrs[rank]);
    }
    /* A rank that closes ends the lookups of the others. */
    exchange_barrier(world->exchange);
}

static hg_class_t *alone_open(struct world *world)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.na_init_info.max_contexts = (uint8_t)world->plan.contexts;
    info.checksum_level = (hg_checksum_level_t)world->plan.checksums;
    info.no_bulk_eager = world->plan.no_bulk_eager;
    info.no_loopback = world->plan.no_loopback && !world->plan.is_self;
    return HG_Init_opt2(world->options.transport, HG_TRUE,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
}

static bool contexts_open(struct world_class *cls)
{
    for (unsigned k = 0; k < cls->world->plan.contexts; k++) {
        struct world_context *context = &cls->contexts[k];

        pthread_mutex_init(&context->lock, NULL);
        context->context = HG_Context_create_id(cls->cls, (uint8_t)k);
        if (context->context == NULL)
            return false;
    }
    return true;
}

static bool class_open(struct world *world, unsigned index)
{
    struct world_class *cls = &world->classes[index];

    cls->world = world;
    cls->index = index;
    cls->cls = world->plan.is_job ? job_open(cls) : alone_open(world);
    if (cls->cls == NULL)
        return world->plan.is_job &&
               !plan_is_member(&world->plan, index, world->rank);
    EXPECT_OK(world, HG_Class_set_data(cls->cls, cls, NULL));
    EXPECT_OK(world, HG_Class_set_input_offset(cls->cls, world->plan.head_len));
    EXPECT_OK(
        world, HG_Class_set_output_offset(cls->cls, world->plan.head_len));
    rpcs_register(cls);
    if (!contexts_open(cls))
        return false;
    if (!world->plan.is_job)
        addrs_exchange(cls);
    return true;
}

bool world_open(struct world *world)
{
    memset(world->classes, 0, sizeof(world->classes));
    pthread_mutex_init(&world->kept_lock, NULL);
    for (unsigned i = 0; i < world->plan.classes; i++)
        if (!class_open(world, i))
            return false;
    atomic_store(&world->is_open, true);
    exchange_barrier(world->exchange);
    return true;
}

size_t world_state(struct world *world, FILE *out)
{
    size_t count = 0;

    for (unsigned i = 0; i < world->plan.classes; i++)
        if (world->classes[i].cls != NULL)
            count += job_state(world->classes[i].cls, out);
    return count;
}

/* Serves what had come before, and then waits for no more than that. */
void world_leave_context(struct world *world)
{
    struct world_context *context =
        &world->classes[0].contexts[world->plan.gone_context];
    hg_return_t rc = HG_BUSY;

    if (world->plan.gone_context == 0 || world->plan.gone_rank != world->rank)
        return;
    EXPECT_OK(world, HG_Context_unpost(context->context));
    for (unsigned turns = 0; turns < LEAVE_TURNS || later_count() > 0; turns++)
        turn(world);
    while (rc == HG_BUSY || faults_again(world, rc)) {
        turn(world);
        rc = HG_Context_destroy(context->context);
    }
    EXPECT_OK(world, rc);
    context->context = NULL;
}

/* A target that never learns that its long answer was pulled, because there was
 * no memory for the acknowledgement, keeps the answer until its context ends:
 * then the callback of the answer is queued, and wants HG_Trigger(). */
static void context_close(struct world *world, hg_context_t *context)
{
    hg_return_t rc = HG_Context_destroy(context);

    if (rc == HG_BUSY && world->options.faults > 0) {
        while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
            continue;
        rc = HG_Context_destroy(context);
    }
    EXPECT_OK(world, rc);
}

static void contexts_close(struct world_class *cls)
{
    for (unsigned k = cls->world->plan.contexts; k > 0; k--)
        if (cls->contexts[k - 1].context != NULL)
            context_close(cls->world, cls->contexts[k - 1].context);
}

/* A rank that ends while others still call it may have calls of theirs in its
 * handlers: it is busy until these are over. */
static void job_close(struct world_class *cls)
{
    struct world *world = cls->world;
    bool may_be_busy =
        world->plan.end == PLAN_END_EARLY || world->plan.end == PLAN_END_LATE;
    hg_return_t rc = job_finalize(cls);

    while (rc == HG_BUSY && may_be_busy) {
        turn(world);
        rc = job_finalize(cls);
    }
    EXPECT_OK(world, rc);
}

void world_close(struct world *world)
{
    if (world->plan.end == PLAN_END_CONTEXTS || !world->plan.is_job)
        exchange_barrier(world->exchange);
    for (unsigned i = 0; i < world->plan.classes; i++) {
        struct world_class *cls = &world->classes[i];

        if (cls->cls == NULL)
            continue;
        for (unsigned rank = 0; rank < world->plan.ranks; rank++)
            EXPECT_OK(world, HG_Addr_free(cls->cls, cls->addrs[rank]));
        if (world->plan.end == PLAN_END_CONTEXTS || !world->plan.is_job)
            contexts_close(cls);
        if (world->plan.is_job)
            job_close(cls);
        else
            EXPECT_OK(world, HG_Finalize(cls->cls));
        cls->cls = NULL;
        for (unsigned k = 0; k < world->plan.contexts; k++)
            pthread_mutex_destroy(&cls->contexts[k].lock);
    }
    pthread_mutex_destroy(&world->kept_lock);
}
