/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread-specific values of a user-level thread, by key.
 *
 * A table is a chain of arrays of a few slots, and is read without a lock;
 * writers hold the thread's lock. A slot belongs to the number of a key, which
 * no other key ever gets, and keeps the destructor: so keys may go before
 * threads. */
#include "ult/ult.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/xstream_local.h"

/* A key, behind ABT_key; the program's. */
struct key {
    uint32_t number;
    void (*destructor)(void *value);
};

/* Number of the newest key; 0 is no key. */
static _Atomic uint32_t last_number;

static void slot_clear(struct amg_key_slot *slot)
{
    void *value =
        atomic_exchange_explicit(&slot->value, NULL, memory_order_acquire);

    if (atomic_load_explicit(&slot->number, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
    if (value != NULL && slot->destructor != NULL)
        slot->destructor(value);
}

void amg_key_table_clear_slowly(struct amg_key_table *table)
{
    struct amg_key_table *more =
        atomic_load_explicit(&table->more, memory_order_acquire);

    for (unsigned i = 0; i < AMG_KEY_SLOTS; i++)
        if (atomic_load_explicit(
                &table->slots[i].number, memory_order_acquire) != 0)
            slot_clear(&table->slots[i]);
    atomic_store_explicit(&table->more, NULL, memory_order_relaxed);
    while (more != NULL) {
        struct amg_key_table *next =
            atomic_load_explicit(&more->more, memory_order_acquire);

        for (unsigned i = 0; i < AMG_KEY_SLOTS; i++)
            slot_clear(&more->slots[i]);
        amg_mem_free(more);
        more = next;
    }
}

/* The slot of that number, or NULL. */
static struct amg_key_slot *slot_find(
    struct amg_key_table *table, uint32_t number)
{
    /* Acquire: pairs with the release of slot_add_locked(). */
    for (; table != NULL;
         table = atomic_load_explicit(&table->more, memory_order_acquire))
        for (unsigned i = 0; i < AMG_KEY_SLOTS; i++)
            if (atomic_load_explicit(
                    &table->slots[i].number, memory_order_acquire) == number)
                return &table->slots[i];
    return NULL;
}

/* Adds a slot for a key that has none. False: no memory. */
static bool slot_add_locked(
    struct amg_key_table *table, const struct key *key, void *value)
{
    struct amg_key_slot *slot = slot_find(table, 0);
    struct amg_key_table *more = NULL;

    AMG_ASSERT(key->number != 0);
    if (slot == NULL) {
        more = amg_mem_zalloc(sizeof(*more));
        if (more == NULL)
            return false;
        slot = &more->slots[0];
    }
    atomic_store_explicit(&slot->value, value, memory_order_relaxed);
    slot->destructor = key->destructor;
    atomic_store_explicit(&slot->number, key->number, memory_order_release);
    if (more == NULL)
        return true;
    /* The newest array is inserted right behind the first. */
    atomic_store_explicit(&more->more,
        atomic_load_explicit(&table->more, memory_order_relaxed),
        memory_order_relaxed);
    atomic_store_explicit(&table->more, more, memory_order_release);
    return true;
}

static int key_set(struct amg_key_table *table, struct amg_lock *lock,
    ABT_key handle, void *value)
{
    const struct key *key = (const struct key *)(void *)handle;
    struct amg_key_slot *slot = NULL;
    bool is_set = true;

    if (key == NULL)
        return ABT_ERR_INV_KEY;
    slot = slot_find(table, key->number);
    if (slot != NULL) {
        atomic_store_explicit(&slot->value, value, memory_order_release);
        return ABT_SUCCESS;
    }
    amg_lock_lock(lock);
    slot = slot_find(table, key->number);
    if (slot != NULL)
        atomic_store_explicit(&slot->value, value, memory_order_release);
    else
        is_set = slot_add_locked(table, key, value);
    amg_lock_unlock(lock);
    if (is_set)
        return ABT_SUCCESS;
    AMG_LOG_ERROR("ult", "no memory for a value of key %u", key->number);
    return ABT_ERR_MEM;
}

static int key_get(
    struct amg_key_table *table, ABT_key handle, void **ret_value)
{
    const struct key *key = (const struct key *)(void *)handle;
    struct amg_key_slot *slot = NULL;

    if (key == NULL)
        return ABT_ERR_INV_KEY;
    if (ret_value == NULL)
        return ABT_ERR_INV_ARG;
    slot = slot_find(table, key->number);
    *ret_value = slot == NULL
                     ? NULL
                     : atomic_load_explicit(&slot->value, memory_order_acquire);
    return ABT_SUCCESS;
}

int ABT_key_create(void (*destructor)(void *value), ABT_key *newkey)
{
    struct key *key = NULL;

    if (newkey == NULL)
        return ABT_ERR_INV_ARG;
    key = amg_mem_alloc(sizeof(*key));
    if (key == NULL)
        return ABT_ERR_MEM;
    key->number =
        atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    key->destructor = destructor;
    *newkey = (ABT_key)(void *)key;
    return ABT_SUCCESS;
}

int ABT_key_free(ABT_key *key)
{
    return amg_handle_free(key, ABT_ERR_INV_KEY);
}

int ABT_thread_set_specific(ABT_thread thread, ABT_key key, void *value)
{
    struct amg_ult *ult = amg_ult_of(thread);

    return ult == NULL ? ABT_ERR_INV_THREAD
                       : key_set(&ult->keys, &ult->lock, key, value);
}

int ABT_thread_get_specific(ABT_thread thread, ABT_key key, void **value)
{
    struct amg_ult *ult = amg_ult_of(thread);

    return ult == NULL ? ABT_ERR_INV_THREAD : key_get(&ult->keys, key, value);
}

int ABT_key_set(ABT_key key, void *value)
{
    ABT_thread self = amg_ult_handle(amg_ult_current());

    return self == ABT_THREAD_NULL ? ABT_ERR_INV_XSTREAM
                                   : ABT_thread_set_specific(self, key, value);
}

int ABT_key_get(ABT_key key, void **value)
{
    ABT_thread self = amg_ult_handle(amg_ult_current());

    return self == ABT_THREAD_NULL ? ABT_ERR_INV_XSTREAM
                                   : ABT_thread_get_specific(self, key, value);
}

int ABT_self_set_specific(ABT_key key, void *value)
{
    return ABT_key_set(key, value);
}

int ABT_self_get_specific(ABT_key key, void **value)
{
    return ABT_key_get(key, value);
}
