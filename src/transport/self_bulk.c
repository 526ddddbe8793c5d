/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a process exposes to itself: a table of it, and copies.
 *
 * A key is a number in the table, which comes again, and a serial number, which
 * does not, so the key of memory that was unregistered finds nothing. A copy
 * runs without the lock; it counts as a user of the memory meanwhile, and
 * unregistering waits for the users. */
#include "transport/self_bulk.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { NAP_NS = 20000 }; /* between two looks at the users of closing memory */

/* A key on the wire. */
struct self_key {
    uint32_t number;
    uint32_t serial;
};

struct amg_self_mem {
    struct amg_mem base;
    struct self_key key;
    uint32_t users; /* copies in motion */
    uint32_t count;
    uint8_t flags;
    bool is_closed; /* not in the table any more */
    struct amg_segment segments[];
};

void amg_self_mems_init(struct amg_self_mems *mems)
{
    amg_lock_init(&mems->lock);
    amg_table_init(&mems->table, AMG_TABLE_INDEX_MASK + 1u, "exposed memories");
    mems->serials = 0;
}

void amg_self_mems_fini(struct amg_self_mems *mems)
{
    for (uint32_t i = 0; i < mems->table.cap; i++)
        AMG_ASSERT(mems->table.places[i].object == NULL);
    amg_table_fini(&mems->table);
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
    mem->key.serial = mems->serials++;
    rc = amg_table_add(&mems->table, mem, 0, &mem->key.number);
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
            amg_table_remove(&mems->table, mem->key.number);
        mem->is_closed = true;
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
    const struct self_key *key = &mem->key;

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(*key);
    memcpy(ret_key->bytes, key, sizeof(*key));
}

/* The memory of `key`, or NULL when it is exposed no more. */
static struct amg_self_mem *mem_find_locked(
    const struct amg_self_mems *mems, const struct self_key *key)
{
    struct amg_table_place *place =
        amg_table_find(&mems->table, key->number, 0);
    struct amg_self_mem *mem = place == NULL ? NULL : place->object;

    return mem == NULL || mem->key.serial != key->serial ? NULL : mem;
}

static hg_return_t access_check_locked(const struct amg_self_mem *mem,
    enum amg_mem_flags direction, const struct amg_place *there, uint64_t len)
{
    if (mem == NULL)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    return amg_place_has(there, len) ? HG_SUCCESS : HG_OVERFLOW;
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
            (unsigned long long)there.into, there.segment, key.number,
            key.serial, (int)rc);
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
