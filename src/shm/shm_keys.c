/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the memory that a process exposes: its entries, and the slots of the
 * peers that access the memory.
 *
 * When the exposer checks an access or copies for a peer, it uses only its
 * private records, because every peer can write to the table in the segment.
 *
 * To remove memory, the exposer closes the entry, waits until the accesses of
 * its own threads and of living peers have ended, and then frees the record. */
#include "shm/shm_keys.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    RECORDS_FIRST = 64,
    NO_LIST = 0xffffffff,
    NO_RECORD = 0xffffffff,
};

struct amg_shm_record {
    struct amg_shm_mem *mem; /* NULL: free */
    uint32_t next_free;
};

static void accessor_clear(struct amg_shm_accessor *accessor)
{
    for (unsigned i = 0; i < AMG_SHM_ACCESSES; i++)
        atomic_store_explicit(&accessor->accesses[i], 0, memory_order_release);
    atomic_store_explicit(&accessor->pid, 0, memory_order_relaxed);
    atomic_store_explicit(&accessor->id, 0, memory_order_release);
}

/* Frees the slot of an accessor that died. Returns the pid of an accessor that
 * may be alive; 0: the slot has no such accessor, or has no pid yet. */
static uint32_t accessor_reap(
    struct amg_shm_accessor *accessor, amg_shm_life_fn life)
{
    uint64_t id = atomic_load_explicit(&accessor->id, memory_order_acquire);
    uint32_t pid = atomic_load_explicit(&accessor->pid, memory_order_acquire);

    if (id <= AMG_SHM_CLEARING || pid == 0 ||
        life(pid, atomic_load_explicit(&accessor->start_time,
                      memory_order_relaxed)) != AMG_LIFE_DEAD)
        return id <= AMG_SHM_CLEARING ? 0 : pid;
    if (atomic_compare_exchange_strong_explicit(&accessor->id, &id,
            AMG_SHM_CLEARING, memory_order_acq_rel, memory_order_relaxed))
        accessor_clear(accessor);
    return 0;
}

static bool accessor_take(
    struct amg_shm_accessor *accessor, const struct amg_shm_accessor_id *who)
{
    uint64_t free = 0;

    if (!atomic_compare_exchange_strong_explicit(&accessor->id, &free, who->id,
            memory_order_acq_rel, memory_order_relaxed))
        return false;
    atomic_store_explicit(
        &accessor->start_time, who->start_time, memory_order_relaxed);
    /* Publishes the line above to accessor_reap(). */
    atomic_store_explicit(&accessor->pid, who->pid, memory_order_release);
    return true;
}

/* Reserves the pages of a part of the table; false: no room for them. */
static bool part_reserve(
    const struct amg_shm_region *region, const void *at, uint64_t len)
{
    return region == NULL || amg_shm_region_reserve(region, at, len);
}

/* If a page begins with this accessor, reserves the page, unless the page was
 * reserved with the segment. */
static bool accessor_reserve(const struct amg_shm_key_table *table,
    const struct amg_shm_region *region, uint32_t index)
{
    size_t offset = offsetof(struct amg_shm_key_table, accessors) +
                    index * sizeof(table->accessors[0]);

    return offset % AMG_SHM_PAGE != 0 ||
           offset < AMG_SHM_KEY_TABLE_FIRST_PAGES * AMG_SHM_PAGE ||
           part_reserve(region, &table->accessors[index], AMG_SHM_PAGE);
}

struct amg_shm_accessor *amg_shm_access_claim(struct amg_shm_key_table *table,
    const struct amg_shm_region *region, const struct amg_shm_accessor_id *who,
    amg_shm_life_fn life)
{
    AMG_ASSERT(who->id > AMG_SHM_CLEARING && who->pid != 0);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < AMG_SHM_ACCESSORS; i++) {
            struct amg_shm_accessor *accessor = &table->accessors[i];

            if (!accessor_reserve(table, region, i))
                return NULL;
            if (pass == 1) /* no slot was free: free the slots of the dead */
                (void)accessor_reap(accessor, life);
            if (accessor_take(accessor, who)) {
                amg_shm_end_raise(&table->accessor_end, i + 1);
                return accessor;
            }
        }
    }
    return NULL;
}

void amg_shm_access_release(struct amg_shm_accessor *accessor)
{
    if (accessor != NULL)
        accessor_clear(accessor);
}

void amg_shm_exposer_init(struct amg_shm_exposer *exposer,
    struct amg_shm_key_table *table, uint64_t salt, amg_shm_life_fn life)
{
    memset(exposer, 0, sizeof(*exposer));
    amg_lock_init(&exposer->lock);
    exposer->table = table;
    exposer->life = life;
    exposer->salt = salt;
    exposer->free = NO_RECORD;
    exposer->free_beyond = NO_RECORD;
    exposer->list_end = 1; /* in list_free, 0 means: no free list */
    atomic_store_explicit(&table->salt, salt, memory_order_relaxed);
    atomic_store_explicit(
        &table->magic, AMG_SHM_KEY_TABLE_MAGIC, memory_order_release);
}

void amg_shm_exposer_fini(struct amg_shm_exposer *exposer)
{
    for (uint32_t i = 0; i < exposer->cap; i++)
        AMG_ASSERT(exposer->records[i].mem == NULL);
    amg_mem_free(exposer->records);
    amg_mem_free(exposer->list_next);
}

static void record_free_locked(struct amg_shm_exposer *exposer, uint32_t index)
{
    uint32_t *list =
        index < AMG_SHM_ENTRIES ? &exposer->free : &exposer->free_beyond;

    AMG_ASSERT_HELD(&exposer->lock);
    exposer->records[index].next_free = *list;
    *list = index;
}

/* Doubles `records`, so that allocations under the lock are rare. */
static hg_return_t records_grow_locked(struct amg_shm_exposer *exposer)
{
    uint32_t cap = exposer->cap == 0 ? RECORDS_FIRST : 2 * exposer->cap;
    struct amg_shm_record *grown = NULL;

    AMG_ASSERT_HELD(&exposer->lock);
    if (exposer->cap < AMG_SHM_ENTRIES &&
        !part_reserve(exposer->region, &exposer->table->entries[exposer->cap],
            (cap - exposer->cap) * sizeof(struct amg_shm_entry)))
        return HG_NOMEM;
    grown = amg_mem_realloc(exposer->records, cap * sizeof(*grown));
    if (grown == NULL)
        return HG_NOMEM;
    exposer->records = grown;
    for (uint32_t i = cap; i-- > exposer->cap;) {
        grown[i].mem = NULL;
        record_free_locked(exposer, i);
    }
    exposer->cap = cap;
    return HG_SUCCESS;
}

/* Takes a free record, if possible a record with an entry in the table. */
static hg_return_t record_take_locked(
    struct amg_shm_exposer *exposer, uint32_t *ret_index)
{
    uint32_t *list = &exposer->free;

    AMG_ASSERT_HELD(&exposer->lock);
    if (exposer->free == NO_RECORD && exposer->free_beyond == NO_RECORD &&
        records_grow_locked(exposer) != HG_SUCCESS)
        return HG_NOMEM;
    if (exposer->free == NO_RECORD)
        list = &exposer->free_beyond;
    *ret_index = *list;
    AMG_ASSERT(exposer->records[*ret_index].mem == NULL);
    *list = exposer->records[*ret_index].next_free;
    return HG_SUCCESS;
}

/* The class of a list of `count` segments; the list gets 2^class entries. */
static unsigned list_class(uint32_t count)
{
    return count <= 1 ? 0 : 32u - (unsigned)__builtin_clz(count - 1);
}

/* Takes room for a list. NO_LIST: no room. */
static uint32_t list_take_locked(
    struct amg_shm_exposer *exposer, uint32_t count)
{
    unsigned class = list_class(count);
    uint32_t at = 0;

    AMG_ASSERT_HELD(&exposer->lock);
    if (class >= AMG_SHM_LIST_CLASSES)
        return NO_LIST;
    at = exposer->list_free[class];
    if (at != 0) {
        exposer->list_free[class] = exposer->list_next[at];
        return at;
    }
    if (exposer->list_next == NULL) /* only touched pages take memory */
        exposer->list_next =
            amg_mem_zalloc(AMG_SHM_LIST * sizeof(*exposer->list_next));
    if (exposer->list_next == NULL ||
        (1u << class) > AMG_SHM_LIST - exposer->list_end ||
        !part_reserve(exposer->region, &exposer->table->list[exposer->list_end],
            sizeof(struct amg_shm_list_entry) << class))
        return NO_LIST;
    at = exposer->list_end;
    exposer->list_end += 1u << class;
    return at;
}

/* Writes the entry of the memory, so that peers may access it. */
static void entry_open_locked(
    struct amg_shm_exposer *exposer, struct amg_shm_mem *mem)
{
    struct amg_shm_entry *entry = &exposer->table->entries[mem->key.index];
    uint64_t state =
        (uint64_t)mem->key.serial << 32 | AMG_SHM_ENTRY_LIVE | mem->flags;

    AMG_ASSERT_HELD(&exposer->lock);
    if (mem->count == 1) {
        atomic_store_explicit(&entry->base, (uintptr_t)mem->segments[0].base,
            memory_order_relaxed);
        atomic_store_explicit(
            &entry->len, mem->segments[0].len, memory_order_relaxed);
    } else if (mem->count > 1) {
        mem->list = list_take_locked(exposer, mem->count);
        atomic_store_explicit(&entry->base, mem->list, memory_order_relaxed);
        if (mem->list == NO_LIST)
            state |= AMG_SHM_ENTRY_BY_MESSAGE;
        for (uint32_t i = 0; i < mem->count && mem->list != NO_LIST; i++) {
            struct amg_shm_list_entry *listed =
                &exposer->table->list[mem->list + i];

            atomic_store_explicit(&listed->base,
                (uintptr_t)mem->segments[i].base, memory_order_relaxed);
            atomic_store_explicit(
                &listed->end, mem->ends[i], memory_order_relaxed);
        }
    }
    atomic_store_explicit(&entry->count, mem->count, memory_order_relaxed);
    atomic_store_explicit(&entry->accessed_by, 0, memory_order_relaxed);
    /* Publishes the lines above to entry_check() of peers (shm_access.c). */
    atomic_store_explicit(&entry->state, state, memory_order_seq_cst);
}

/* Describes memory to be exposed. HG_INVALID_ARG: it has 2^64 bytes or more. */
static hg_return_t mem_create(const struct amg_segment *segments,
    uint32_t count, struct amg_shm_mem **ret_mem)
{
    size_t list_len = count * sizeof(*segments);
    struct amg_shm_mem *mem =
        amg_mem_zalloc(sizeof(*mem) + list_len + count * sizeof(*mem->ends));
    uint64_t end = 0;

    if (mem == NULL)
        return HG_NOMEM;
    mem->count = count;
    mem->list = NO_LIST;
    mem->ends = (uint64_t *)(void *)&mem->segments[count];
    if (count > 0)
        memcpy(mem->segments, segments, list_len);
    for (uint32_t i = 0; i < count; i++) {
        if (segments[i].len > UINT64_MAX - end) {
            AMG_LOG_ERROR("bulk",
                "shm: cannot expose %u segments: segments 0 to %u together "
                "have more than 2^64 - 1 bytes",
                count, i);
            amg_mem_free(mem);
            return HG_INVALID_ARG;
        }
        end += segments[i].len;
        mem->ends[i] = end;
    }
    *ret_mem = mem;
    return HG_SUCCESS;
}

hg_return_t amg_shm_exposer_add(struct amg_shm_exposer *exposer,
    const struct amg_transport *transport, const struct amg_segment *segments,
    uint32_t count, uint8_t flags, struct amg_mem **ret_mem)
{
    struct amg_shm_mem *mem = NULL;
    hg_return_t rc = mem_create(segments, count, &mem);
    uint32_t index = 0;

    if (rc != HG_SUCCESS)
        return rc;
    mem->base.transport = transport;
    mem->flags = flags;
    amg_lock_lock(&exposer->lock);
    rc = record_take_locked(exposer, &index);
    if (rc == HG_SUCCESS) {
        mem->key =
            (struct amg_shm_key){index, ++exposer->serial, exposer->salt};
        exposer->records[index].mem = mem;
        if (index < AMG_SHM_ENTRIES)
            entry_open_locked(exposer, mem);
    }
    amg_lock_unlock(&exposer->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

void amg_shm_key_write(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct amg_shm_mem *mem =
        amg_container_of(base, struct amg_shm_mem, base);

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(mem->key);
    memcpy(ret_key->bytes, &mem->key, sizeof(mem->key));
}

hg_return_t amg_shm_key_read(
    const struct amg_key *key, struct amg_shm_key *ret_key)
{
    if (!AMG_CONTRACT_OF("HG_Bulk_transfer", key->len == sizeof(*ret_key),
            "the key of the remote memory has %u bytes, but this transport "
            "makes keys of %u",
            (unsigned)key->len, (unsigned)sizeof(*ret_key)))
        return HG_INVALID_ARG;
    memcpy(ret_key, key->bytes, sizeof(*ret_key));
    return HG_SUCCESS;
}

/* The pid of an accessor that accesses the closed entry `index`, and that is
 * not known to be dead; 0: no such accessor. */
static uint32_t accessor_inside(
    const struct amg_shm_exposer *exposer, uint32_t index)
{
    struct amg_shm_key_table *table = exposer->table;
    uint32_t accessed_by = atomic_load_explicit(
        &table->entries[index].accessed_by, memory_order_seq_cst);
    uint32_t end =
        atomic_load_explicit(&table->accessor_end, memory_order_seq_cst);

    if (accessed_by == 0)
        return 0;
    for (uint32_t i = 0; i < end && i < AMG_SHM_ACCESSORS; i++) {
        struct amg_shm_accessor *accessor = &table->accessors[i];
        uint32_t pid = 0;

        if ((accessed_by & amg_shm_accessor_bit(i)) == 0)
            continue;
        for (unsigned k = 0; k < AMG_SHM_ACCESSES; k++)
            if (atomic_load_explicit(&accessor->accesses[k],
                    memory_order_seq_cst) == index + 1 &&
                (pid = accessor_reap(accessor, exposer->life)) != 0)
                return pid;
    }
    return 0;
}

static void mem_close_locked(
    struct amg_shm_exposer *exposer, struct amg_shm_mem *mem)
{
    AMG_ASSERT_HELD(&exposer->lock);
    AMG_ASSERT(exposer->records[mem->key.index].mem == mem);
    if (mem->is_closed)
        return;
    mem->is_closed = true;
    if (mem->key.index < AMG_SHM_ENTRIES)
        atomic_store_explicit(&exposer->table->entries[mem->key.index].state, 0,
            memory_order_seq_cst);
}

/* Frees the record and the list of closed memory that no access uses. */
static void mem_free_locked(
    struct amg_shm_exposer *exposer, struct amg_shm_mem *mem)
{
    AMG_ASSERT_HELD(&exposer->lock);
    AMG_ASSERT(mem->is_closed && mem->users == 0);
    if (mem->list != NO_LIST) {
        unsigned class = list_class(mem->count);

        AMG_ASSERT(mem->list > 0 && mem->list < exposer->list_end);
        exposer->list_next[mem->list] = exposer->list_free[class];
        exposer->list_free[class] = mem->list;
    }
    exposer->records[mem->key.index].mem = NULL;
    record_free_locked(exposer, mem->key.index);
}

static void busy_log(uint32_t users, uint32_t pid, unsigned timeout_ms)
{
    if (users > 0)
        AMG_LOG_WARNING("bulk",
            "shm: this process still copies from or to the memory (%u copies) "
            "after %u ms; call HG_Bulk_free() again later",
            users, timeout_ms);
    else
        AMG_LOG_WARNING("bulk",
            "shm: process %u is still in the middle of a copy after %u ms (is "
            "it stopped?); call HG_Bulk_free() again later",
            pid, timeout_ms);
}

hg_return_t amg_shm_exposer_remove(
    struct amg_shm_exposer *exposer, struct amg_mem *base, unsigned timeout_ms)
{
    struct amg_shm_mem *mem = amg_container_of(base, struct amg_shm_mem, base);
    uint64_t deadline_ns = 0;
    unsigned tries = 0;

    for (;;) {
        uint32_t users = 0;
        uint32_t pid = 0;

        amg_lock_lock(&exposer->lock);
        mem_close_locked(exposer, mem);
        users = mem->users;
        amg_lock_unlock(&exposer->lock);
        if (users == 0 && mem->key.index < AMG_SHM_ENTRIES)
            pid = accessor_inside(exposer, mem->key.index);
        if (users == 0 && pid == 0)
            break;
        if (deadline_ns == 0)
            deadline_ns = amg_clock_deadline_ns(timeout_ms);
        if (amg_clock_ns() >= deadline_ns) {
            busy_log(users, pid, timeout_ms);
            return HG_BUSY;
        }
        amg_back_off(tries++);
    }
    amg_lock_lock(&exposer->lock);
    mem_free_locked(exposer, mem);
    amg_lock_unlock(&exposer->lock);
    amg_mem_free(mem);
    return HG_SUCCESS;
}

/* Number of bytes in the segments before `segment`. */
static uint64_t mem_start(const struct amg_shm_mem *mem, uint32_t segment)
{
    return segment == 0 ? 0 : mem->ends[segment - 1];
}

static hg_return_t access_check_locked(const struct amg_shm_exposer *exposer,
    const struct amg_shm_access *access, struct amg_shm_mem **ret_mem)
{
    const struct amg_shm_key *key = &access->key;
    struct amg_shm_mem *mem = NULL;
    uint64_t left = 0;

    AMG_ASSERT_HELD(&exposer->lock);
    if (key->index >= exposer->cap || key->salt != exposer->salt)
        return HG_NOENTRY;
    mem = exposer->records[key->index].mem;
    if (mem == NULL || mem->is_closed || mem->key.serial != key->serial)
        return HG_NOENTRY;
    if ((mem->flags & access->direction) == 0)
        return HG_PERMISSION;
    if (access->segment >= mem->count)
        return HG_OVERFLOW;
    if (!access->goes_on && access->offset > mem->segments[access->segment].len)
        return HG_OVERFLOW;
    left = mem->ends[mem->count - 1] - mem_start(mem, access->segment);
    if (access->offset > left || access->len > left - access->offset)
        return HG_OVERFLOW;
    *ret_mem = mem;
    return HG_SUCCESS;
}

/* Finds the start of a checked access. */
static void access_find(const struct amg_shm_mem *mem,
    const struct amg_shm_access *access, struct amg_seg_iter *ret_at)
{
    uint64_t at = mem_start(mem, access->segment) + access->offset;
    uint32_t low = access->segment;
    uint32_t high = mem->count - 1;

    if (at < mem->ends[low])
        high = low;
    while (low < high) { /* the first segment that ends behind `at` */
        uint32_t middle = low + (high - low) / 2;

        if (mem->ends[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    *ret_at = (struct amg_seg_iter){
        mem->segments, mem->count, low, at - mem_start(mem, low)};
}

hg_return_t amg_shm_exposer_enter(struct amg_shm_exposer *exposer,
    const struct amg_shm_access *access, struct amg_shm_mem **ret_mem,
    struct amg_seg_iter *ret_at)
{
    struct amg_shm_mem *mem = NULL;
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&exposer->lock);
    rc = access_check_locked(exposer, access, &mem);
    if (rc == HG_SUCCESS)
        mem->users++;
    amg_lock_unlock(&exposer->lock);
    if (rc != HG_SUCCESS)
        return rc;
    access_find(mem, access, ret_at);
    *ret_mem = mem;
    return HG_SUCCESS;
}

void amg_shm_exposer_leave(
    struct amg_shm_exposer *exposer, struct amg_shm_mem *mem)
{
    amg_lock_lock(&exposer->lock);
    AMG_ASSERT(mem->users > 0);
    mem->users--;
    amg_lock_unlock(&exposer->lock);
}
