/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of the calls of Margo under torture, and their contents. */
#include <stdlib.h>

#include "content.h"
#include "margo_torture.h"
#include "mercury_proc_bulk.h"

/* Marks the header of arguments: what was decoded at a wrong place differs. */
enum { MAGIC = 0x6d74617a };

/* An id: instance, root's rank, root's number, depth. */
enum { RANK_AT = 40, NUMBER_AT = 8, INSTANCE_AT = 56 };

uint64_t mt_id_root(unsigned instance, unsigned origin, unsigned number)
{
    return (uint64_t)instance << INSTANCE_AT | (uint64_t)origin << RANK_AT |
           (uint64_t)(number + 1) << NUMBER_AT; /* no id is 0 */
}

uint64_t mt_id_child(uint64_t id)
{
    return id + 1;
}

unsigned mt_id_instance(uint64_t id)
{
    return (unsigned)(id >> INSTANCE_AT);
}

static unsigned id_depth(uint64_t id)
{
    return (unsigned)id & 0xffu;
}

static unsigned id_rank(uint64_t id)
{
    return (unsigned)(id >> RANK_AT) & 0xffffu;
}

static unsigned id_number(uint64_t id)
{
    return ((unsigned)(id >> NUMBER_AT) & 0xffffffffu) - 1;
}

bool mt_id_is_known(const struct mt *mt, uint64_t id)
{
    return mt_id_instance(id) == mt->index && id_rank(id) < mt->size &&
           id_number(id) <= mt_last_number(mt) && id_depth(id) <= MT_DEPTH;
}

unsigned mt_id_origin(const struct mt *mt, uint64_t id)
{
    struct mt_plan plan;

    if (id_depth(id) == 0)
        return id_rank(id);
    mt_plan_make(mt, id - 1, &plan);
    return plan.target;
}

/* A number below `n` that follows from the hash and the name of the draw. */
static unsigned drawn(uint64_t hash, unsigned draw, unsigned n)
{
    return plan_draw(hash, draw, n);
}

/* One of the set bits of the mask; the bit `otherwise` if none is set. */
static unsigned bit_drawn(uint64_t hash, unsigned draw, unsigned mask,
    unsigned count, unsigned otherwise)
{
    unsigned bit = drawn(hash, draw, count);

    for (unsigned i = 0; i < count; i++, bit = (bit + 1) % count)
        if ((mask >> bit & 1) != 0)
            return bit;
    return otherwise;
}

/* Lengths around the limits of messages, blocks and fragments. */
static size_t len_drawn(uint64_t hash, unsigned draw, size_t max)
{
    static const size_t about[] = {
        0, 16, 200, 400, 1000, 4096, 8192, 65536, 262144, MT_BULK_MAX};
    size_t count = sizeof(about) / sizeof(about[0]);
    size_t len = about[drawn(hash, draw, (unsigned)count)];
    size_t apart = drawn(hash, draw + 1, 100);

    if (drawn(hash, draw + 2, 4) != 0) /* long ones are rare: these cost time */
        len = len % 5000;
    len = drawn(hash, draw + 3, 2) != 0 ? len + apart
          : len > apart                 ? len - apart
                                        : 0;
    return len <= max ? len : len % (max + 1);
}

enum draw {
    DRAW_KIND,
    DRAW_WAY,
    DRAW_TARGET,
    DRAW_RPC,
    DRAW_PROVIDER,
    DRAW_SEGMENTS,
    DRAW_LIMIT,
    DRAW_PAUSE,
    DRAW_PAUSE_US,
    DRAW_PAUSE_LEN,
    DRAW_ANSWER,
    DRAW_TRANSFER,
    DRAW_FREES,
    DRAW_MISUSES,
    DRAW_IN = 100,
    DRAW_OUT = 110,
    DRAW_BULK = 120,
};

static enum mt_kind kind_drawn(const struct mt *mt, uint64_t hash, uint64_t id)
{
    enum mt_kind kind =
        (enum mt_kind)bit_drawn(hash, DRAW_KIND, mt->ops, MT_KINDS, MT_ECHO);

    if (kind == MT_NEST && id_depth(id) >= MT_DEPTH)
        return MT_ECHO;
    /* A rank removes its own providers, and so must not call them. */
    if (kind == MT_PROVIDER &&
        (mt->size == 1 || mt->plan->is_self || id_depth(id) > 0))
        return MT_ECHO;
    return kind;
}

bool mt_plan_may_lose(const struct mt_plan *plan)
{
    return plan->way == MT_TIMED || plan->way == MT_CANCEL;
}

static void handler_plan(const struct mt *mt, struct mt_plan *plan)
{
    uint64_t hash = plan->hash;

    plan->pause = (enum mt_pause)bit_drawn(
        hash, DRAW_PAUSE, mt->handlers, MT_PAUSES, MT_GO_ON);
    if (drawn(hash, DRAW_PAUSE_US, 3) == 0)
        plan->pause_us = drawn(hash, DRAW_PAUSE_LEN, 3000);
    plan->answer = (enum mt_answer)bit_drawn(
        hash, DRAW_ANSWER, mt->handlers >> MT_PAUSES, MT_ANSWERS, MT_RESPOND);
    plan->transfer = (enum mt_transfer)drawn(hash, DRAW_TRANSFER, MT_TRANSFERS);
    plan->frees_input_first = drawn(hash, DRAW_FREES, 2) != 0;
}

void mt_plan_make(const struct mt *mt, uint64_t id, struct mt_plan *ret_plan)
{
    uint64_t hash = content_mix(mt->hash ^ content_mix(id));
    struct mt_plan *plan = ret_plan;

    *plan = (struct mt_plan){.id = id, .hash = hash, .depth = id_depth(id)};
    plan->kind = kind_drawn(mt, hash, id);
    plan->is_last = id_number(id) >= mt->plan->calls;
    if (plan->is_last && plan->kind != MT_ONEWAY)
        plan->kind = MT_ECHO;
    plan->way =
        (enum mt_way)bit_drawn(hash, DRAW_WAY, mt->ways, MT_WAYS, MT_FORWARD);
    /* Without a common end the other ranks may have ended by the last call. */
    plan->target = mt->plan->is_self || (plan->is_last && !mt->plan->is_job)
                       ? id_rank(id)
                       : drawn(hash, DRAW_TARGET, mt->size);
    if (plan->kind == MT_PROVIDER && plan->target == id_rank(id))
        plan->target = (plan->target + 1) % mt->size;
    plan->rpc = drawn(hash, DRAW_RPC, MT_RPCS);
    plan->provider = drawn(hash, DRAW_PROVIDER, MT_PROVIDERS);
    plan->in_len = len_drawn(hash, DRAW_IN, mt->len_max);
    plan->out_len = len_drawn(hash, DRAW_OUT, mt->len_max);
    if (plan->kind == MT_PULL || plan->kind == MT_PUSH)
        plan->bulk_len = 1 + len_drawn(hash, DRAW_BULK, MT_BULK_MAX - 1);
    plan->segments = 1 + drawn(hash, DRAW_SEGMENTS, MT_SEGMENTS);
    /* A one-way call that ends early may be lost, and nobody would know. */
    if ((plan->kind == MT_ONEWAY || plan->is_last) && mt_plan_may_lose(plan))
        plan->way = MT_FORWARD;
    if (plan->way == MT_TIMED)
        plan->limit_ms = 0.1 * (1 + drawn(hash, DRAW_LIMIT, 60));
    plan->misuses = drawn(hash, DRAW_MISUSES, 20) == 0;
    handler_plan(mt, plan);
}

/* Is the code one that the documentation names for such a call? */
static bool may_end_by(const struct mt_plan *plan, hg_return_t code)
{
    switch (code) {
    case HG_SUCCESS:
        return true;
    case HG_TIMEOUT:
        return plan->way == MT_TIMED;
    case HG_CANCELED:
        return plan->way == MT_CANCEL;
    case HG_NOENTRY:
        return plan->kind == MT_PROVIDER;
    default:
        return false;
    }
}

const char *mt_plan_judge(
    const struct mt *mt, uint64_t id, const struct book_fate *fate)
{
    struct mt_plan plan;
    hg_return_t code = (hg_return_t)fate->code;

    mt_plan_make(mt, id, &plan);
    if (!fate->was_posted)
        return "handled, and nobody made it";
    if (!may_end_by(&plan, code))
        return "ended with a code that its documentation does not allow";
    if (fate->ends != 1 && !fate->was_refused)
        return fate->ends == 0 ? "never ended" : "ended twice";
    if (fate->handled > 1)
        return "handled more than once";
    if (code == HG_SUCCESS && fate->handled != 1)
        return "ended well, and no handler ran";
    if (code == HG_NOENTRY && fate->handled != 0)
        return "refused as unknown, and its handler ran";
    return NULL;
}

uint16_t mt_provider_number(unsigned rank, unsigned provider)
{
    return (uint16_t)(1 + rank * MT_PROVIDERS + provider);
}

const char *mt_kind_name(unsigned kind)
{
    static const char *const names[MT_KINDS] = {
        [MT_ECHO] = "margo-echo",
        [MT_PULL] = "margo-pull",
        [MT_PUSH] = "margo-push",
        [MT_NEST] = "margo-nest",
        [MT_ONEWAY] = "margo-one-way",
        [MT_PROVIDER] = "margo-provider",
        [MT_LATE] = "margo-late",
    };

    return names[kind];
}

/* What stands in front of the bytes. */
struct head {
    uint32_t magic;
    uint32_t has_bulk;
    uint64_t id;
    uint64_t len;
};

static hg_return_t args_free(hg_proc_t proc, struct mt_args *args)
{
    free(args->bytes);
    args->bytes = NULL;
    return args->bulk == HG_BULK_NULL ? HG_SUCCESS
                                      : hg_proc_hg_bulk_t(proc, &args->bulk);
}

hg_return_t hg_proc_mt_args_t(hg_proc_t proc, void *data)
{
    struct mt_args *args = data;
    hg_proc_op_t op = hg_proc_get_op(proc);
    struct head head = {MAGIC, args->bulk != HG_BULK_NULL, args->id, args->len};
    hg_return_t rc = HG_SUCCESS;

    if (op == HG_FREE)
        return args_free(proc, args);
    rc = hg_proc_raw(proc, &head, sizeof(head));
    if (rc != HG_SUCCESS)
        return rc;
    if (head.magic != MAGIC)
        return HG_PROTOCOL_ERROR;
    if (op == HG_DECODE) {
        if (head.len > PLAN_LEN_MAX)
            return HG_PROTOCOL_ERROR;
        args->id = head.id;
        args->len = (uint32_t)head.len;
        args->bulk = HG_BULK_NULL;
        args->bytes = malloc((size_t)args->len + 1);
        if (args->bytes == NULL)
            return HG_NOMEM;
    }
    rc = hg_proc_raw(proc, args->bytes, args->len);
    if (rc == HG_SUCCESS && head.has_bulk != 0)
        rc = hg_proc_hg_bulk_t(proc, &args->bulk);
    return rc;
}
