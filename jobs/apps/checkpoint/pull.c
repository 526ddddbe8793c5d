/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulls the parts of files from their senders, several pieces at a time. */
#include "jobs/apps/checkpoint/pull.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/apps/checkpoint/report.h"

/* Slots of a server: eight files at full speed, in 32 MiB. */
enum { SLOT_COUNT = 8 * PART_PIECES };

/* Memory for one piece. Owned by its pool; used by one file at a time. */
struct pull_slot {
    struct pull_slot *next; /* in the file, or among the free ones */
    struct pull *pull;
    hg_bulk_t bulk;
    void *bytes;
    uint64_t len;
    hg_return_t ret;
    bool is_here;
};

/* Owned by the store. */
struct pull_pool {
    struct job *job;
    char *memory;
    struct pull_slot slots[SLOT_COUNT];
    struct pull_slot *free;
    unsigned free_count;
    struct pull *first_waiting;
    struct pull *last_waiting;
    bool has_failed; /* since pull_pool_has_failed() asked */
};

bool pull_pool_has_failed(struct pull_pool *pool)
{
    bool has_failed = pool->has_failed;

    pool->has_failed = false;
    return has_failed;
}

bool pull_pool_close(struct pull_pool *pool)
{
    unsigned i = 0;

    if (pool == NULL)
        return true;
    if (pool->free_count < SLOT_COUNT)
        return false;
    for (i = 0; i < SLOT_COUNT; i++)
        if (HG_Bulk_free(pool->slots[i].bulk) != HG_SUCCESS)
            return false;
    free(pool->memory);
    free(pool);
    return true;
}

static void slot_free(struct pull_pool *pool, struct pull_slot *slot)
{
    slot->next = pool->free;
    pool->free = slot;
    pool->free_count++;
}

struct pull_pool *pull_pool_open(struct job *job)
{
    struct pull_pool *pool = calloc(1, sizeof(*pool));
    const hg_size_t len = PIECE_LEN;
    unsigned i = 0;

    if (pool == NULL)
        return NULL;
    pool->job = job;
    pool->memory = malloc((size_t)SLOT_COUNT * PIECE_LEN);
    for (i = 0; pool->memory != NULL && i < SLOT_COUNT; i++) {
        struct pull_slot *slot = &pool->slots[i];

        slot->bytes = pool->memory + (size_t)i * PIECE_LEN;
        if (HG_Bulk_create(job->cls, 1, &slot->bytes, &len, HG_BULK_WRITE_ONLY,
                &slot->bulk) != HG_SUCCESS)
            break;
        slot_free(pool, slot);
    }
    if (i == SLOT_COUNT)
        return pool;
    while (i > 0)
        HG_Bulk_free(pool->slots[--i].bulk);
    free(pool->memory);
    free(pool);
    return NULL;
}

void pull_init(
    struct pull *pull, struct pull_pool *pool, void (*step)(struct pull *))
{
    memset(pull, 0, sizeof(*pull));
    pull->pool = pool;
    pull->step = step;
}

/* The file needs a slot, and there is none. */
static void pull_wait(struct pull *pull)
{
    struct pull_pool *pool = pull->pool;

    if (pull->is_waiting)
        return;
    pull->is_waiting = true;
    pull->next_waiting = NULL;
    if (pool->first_waiting == NULL)
        pool->first_waiting = pull;
    else
        pool->last_waiting->next_waiting = pull;
    pool->last_waiting = pull;
}

static struct pull *waiting_pop(struct pull_pool *pool)
{
    struct pull *pull = pool->first_waiting;

    pool->first_waiting = pull->next_waiting;
    pull->is_waiting = false;
    return pull;
}

static hg_return_t on_piece(const struct hg_cb_info *info)
{
    struct pull_slot *slot = info->arg;

    slot->ret = info->ret;
    slot->is_here = true;
    slot->pull->step(slot->pull);
    return HG_SUCCESS;
}

/* Asks for one piece of `part` into a free slot. An error is kept in the slot,
 * as if it had come from the sender; no callback will tell of it. */
static void piece_ask(struct pull *pull, struct pull_part *part)
{
    struct pull_pool *pool = pull->pool;
    struct pull_slot *slot = pool->free;
    uint64_t left = part->in.len - part->issued;

    pool->free = slot->next;
    pool->free_count--;
    slot->next = NULL;
    slot->pull = pull;
    slot->len = left < PIECE_LEN ? left : PIECE_LEN;
    slot->is_here = false;
    if (pull->oldest == NULL)
        pull->oldest = slot;
    else
        pull->newest->next = slot;
    pull->newest = slot;
    pull->count++;
    slot->ret = HG_Bulk_transfer(pool->job->context, on_piece, slot,
        HG_BULK_PULL, HG_Get_info(part->handle)->addr, part->in.data,
        part->issued, slot->bulk, 0, slot->len, HG_OP_ID_IGNORE);
    if (slot->ret != HG_SUCCESS) {
        slot->is_here = true;
        pool->has_failed = true;
    }
    part->issued += slot->len;
}

/* Asks for as many pieces as the file may have under way. */
static void pull_pump(struct pull *pull)
{
    struct pull_part *part = pull->first;

    while (!pull->is_stopped && pull->count < PART_PIECES && part != NULL) {
        if (part->issued == part->in.len) {
            part = part->next;
            continue;
        }
        if (pull->pool->free == NULL) {
            pull_wait(pull);
            return;
        }
        piece_ask(pull, part);
    }
}

void pull_add(struct pull *pull, struct pull_part *part)
{
    part->next = NULL;
    part->issued = 0;
    part->taken = 0;
    if (pull->first == NULL)
        pull->first = part;
    else
        pull->last->next = part;
    pull->last = part;
    pull_pump(pull);
}

bool pull_peek(const struct pull *pull, struct pull_piece *ret_piece)
{
    const struct pull_slot *slot = pull->oldest;

    if (slot == NULL || !slot->is_here)
        return false;
    ret_piece->bytes = slot->bytes;
    ret_piece->len = slot->len;
    ret_piece->ret = slot->ret;
    return true;
}

void pull_pop(struct pull *pull)
{
    struct pull_pool *pool = pull->pool;
    struct pull_slot *slot = pull->oldest;

    pull->oldest = slot->next;
    pull->count--;
    pull->first->taken += slot->len;
    slot_free(pool, slot);
    /* Others first: they have waited. One slot is free, so one is served, and
     * waits again at the end of the queue if it wants more. */
    if (pool->first_waiting != NULL) {
        struct pull *other = waiting_pop(pool);

        pull_pump(other);
    }
    pull_pump(pull);
}

struct pull_part *pull_part_pop(struct pull *pull)
{
    struct pull_part *part = pull->first;

    if (part != NULL)
        pull->first = part->next;
    return part;
}

static void waiting_remove(struct pull *pull)
{
    struct pull_pool *pool = pull->pool;
    struct pull **link = &pool->first_waiting;
    struct pull *before = NULL;

    while (*link != pull) {
        before = *link;
        link = &before->next_waiting;
    }
    *link = pull->next_waiting;
    if (pool->last_waiting == pull)
        pool->last_waiting = before;
    pull->is_waiting = false;
}

void pull_stop(struct pull *pull)
{
    pull->is_stopped = true;
    if (pull->is_waiting)
        waiting_remove(pull);
}
