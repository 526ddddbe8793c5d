/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a process exposes to itself: a table of it, and copies.
 *
 * A key is the number of a place in the table and the generation of what
 * stands there, so the key of memory that was unregistered finds nothing. A
 * copy runs without the lock; it counts as a user of the memory meanwhile, and
 * unregistering waits for the users. */
#include "transport/self_bulk.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    PLACES_FIRST = 16,
    NAP_NS = 20000, /* between two looks at the users of closing memory */
};

struct amg_self_mem {
    struct amg_mem base;
    uint32_t place;
    uint32_t generation;
    uint32_t users; /* copies in motion */
    uint32_t count;
    uint8_t flags;
    bool is_closed; /* in no place any more */
    struct amg_segment segments[];
};

struct amg_self_place {
    struct amg_self_mem *mem; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

/* A key on the wire. */
struct self_key {
    uint32_t place;
    uint32_t generation;
};

void amg_self_mems_init(struct amg_self_mems *mems)
{
    amg_lock_init(&mems->lock);
    mems->places = NULL;
    mems->cap = 0;
    mems->free = 0;
}

void amg_self_mems_fini(struct amg_self_mems *mems)
{
    for (uint32_t i = 0; i < mems->cap; i++)
        AMG_ASSERT(mems->places[i].mem == NULL);
    amg_mem_free(mems->places);
}

/* Allocates with the lock held, which is rare: the table only doubles. */
static hg_return_t places_grow_locked(struct amg_self_mems *mems)
{
    uint32_t cap = mems->cap == 0 ? PLACES_FIRST : 2 * mems->cap;
    struct amg_self_place *grown =
        amg_mem_realloc(mems->places, cap * sizeof(*grown));

    if (grown == NULL)
        return HG_NOMEM;
    for (uint32_t i = mems->cap; i < cap; i++)
        grown[i] = (struct amg_self_place){.next_free = i + 1};
    mems->places = grown;
    mems->cap = cap;
    return HG_SUCCESS;
}

static hg_return_t place_take_locked(
    struct amg_self_mems *mems, struct amg_self_mem *mem)
{
    struct amg_self_place *place = NULL;

    if (mems->free == mems->cap && places_grow_locked(mems) != HG_SUCCESS)
        return HG_NOMEM;
    place = &mems->places[mems->free];
    mem->place = mems->free;
    mem->generation = place->generation;
    mems->free = place->next_free;
    place->mem = mem;
    return HG_SUCCESS;
}

static void place_give_locked(
    struct amg_self_mems *mems, struct amg_self_mem *mem)
{
    struct amg_self_place *place = &mems->places[mem->place];

    place->mem = NULL;
    place->generation++;
    place->next_free = mems->free;
    mems->free = mem->place;
    mem->is_closed = true;
}

hg_return_t amg_self_mems_add(struct amg_self_mems *mems,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    size_t list_len = count * sizeof(*segments);
    struct amg_self_mem *mem = amg_mem_zalloc(sizeof(*mem) + list_len);
    hg_return_t rc = HG_SUCCESS;

    if (mem == NULL)
        return HG_NOMEM;
    mem->count = count;
    mem->flags = flags;
    if (count > 0)
        memcpy(mem->segments, segments, list_len);
    amg_lock_take(&mems->lock);
    rc = place_take_locked(mems, mem);
    amg_lock_give(&mems->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

hg_return_t amg_self_mems_remove(
    struct amg_self_mems *mems, struct amg_mem *base, unsigned timeout_ms)
{
    struct amg_self_mem *mem = AMG_OBJECT(base, struct amg_self_mem, base);
    uint64_t deadline_ns = 0;
    uint32_t users = 0;

    for (;;) {
        amg_lock_take(&mems->lock);
        if (!mem->is_closed)
            place_give_locked(mems, mem);
        users = mem->users;
        amg_lock_give(&mems->lock);
        if (users == 0)
            break;
        if (deadline_ns == 0)
            deadline_ns = amg_clock_deadline_ns(timeout_ms);
        if (amg_clock_ns() >= deadline_ns) {
            AMG_LOG_WARNING("bulk",
                "self: %u copies still use the memory after %u ms; free it "
                "again later",
                users, timeout_ms);
            return HG_BUSY;
        }
        amg_clock_sleep_ns(NAP_NS);
    }
    amg_mem_free(mem);
    return HG_SUCCESS;
}

void amg_self_key(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct amg_self_mem *mem =
        AMG_OBJECT(base, struct amg_self_mem, base);
    struct self_key key = {mem->place, mem->generation};

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(key);
    memcpy(ret_key->bytes, &key, sizeof(key));
}

/* The memory of `key`, or NULL when it is exposed no more. */
static struct amg_self_mem *mem_find_locked(
    const struct amg_self_mems *mems, const struct self_key *key)
{
    if (key->place >= mems->cap ||
        mems->places[key->place].generation != key->generation)
        return NULL;
    return mems->places[key->place].mem;
}

static hg_return_t access_check_locked(const struct amg_self_mem *mem,
    enum amg_mem_flags direction, const struct amg_place *there, uint64_t len)
{
    if (mem == NULL)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    if (there->segment >= mem->count ||
        there->into > mem->segments[there->segment].len ||
        amg_place_left(there, len) < len)
        return HG_OVERFLOW;
    return HG_SUCCESS;
}

hg_return_t amg_self_mems_access(struct amg_self_mems *mems,
    enum amg_mem_flags direction, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, hg_return_t *ret_ended)
{
    struct amg_place here = *local;
    struct amg_place there = {
        .segment = remote->at.segment, .into = remote->at.into};
    struct amg_self_mem *mem = NULL;
    struct self_key key;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(remote->key.len == sizeof(key)))
        return HG_INVALID_ARG;
    memcpy(&key, remote->key.bytes, sizeof(key));
    amg_lock_take(&mems->lock);
    mem = mem_find_locked(mems, &key);
    if (mem != NULL) {
        there.segments = mem->segments;
        there.count = mem->count;
    }
    rc = access_check_locked(mem, direction, &there, len);
    if (rc == HG_SUCCESS)
        mem->users++;
    amg_lock_give(&mems->lock);
    *ret_ended = rc;
    if (rc != HG_SUCCESS) {
        AMG_LOG_WARNING("bulk",
            "self: refused to %s %llu bytes at %llu of segment %u, key %x/%x: "
            "code %d",
            direction == AMG_MEM_READ ? "get" : "put", (unsigned long long)len,
            (unsigned long long)there.into, there.segment, key.place,
            key.generation, (int)rc);
        return HG_SUCCESS;
    }
    if (direction == AMG_MEM_WRITE)
        amg_place_copy(&there, &here, len);
    else
        amg_place_copy(&here, &there, len);
    amg_lock_take(&mems->lock);
    mem->users--;
    amg_lock_give(&mems->lock);
    return HG_SUCCESS;
}
