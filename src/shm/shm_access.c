/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to the memory that a peer exposes: the check in the peer's table
 * before this process copies, and the addresses found in the table.
 *
 * The accessor does not trust the table: no number of the table is used as an
 * index before a check against the table's bounds. */
#include "shm/shm_keys.h"

#include "base/assert.h"

static uint64_t listed_end(const struct amg_shm_list_entry *list, uint32_t i)
{
    return atomic_load_explicit(&list[i].end, memory_order_relaxed);
}

/* The first segment from `low` on that ends behind byte `at` of the list; if no
 * segment does, the last segment. */
static uint32_t listed_search(const struct amg_shm_list_entry *list,
    uint32_t low, uint32_t count, uint64_t at)
{
    uint32_t high = count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (listed_end(list, middle) > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

AMG_NOINLINE static hg_return_t list_find(const struct amg_shm_list_entry *list,
    uint32_t count, const struct amg_shm_access *access,
    struct amg_shm_view *ret_view)
{
    uint32_t i = access->segment;
    uint64_t total = listed_end(list, count - 1);
    uint64_t start = i == 0 ? 0 : listed_end(list, i - 1);
    uint64_t end = listed_end(list, i);
    uint64_t at = start + access->offset;

    if (end < start || total < end)
        return HG_PROTOCOL_ERROR;
    if ((!access->goes_on && access->offset > end - start) ||
        access->offset > total - start ||
        access->len > total - start - access->offset)
        return HG_OVERFLOW;
    if (at >= end) {
        i = listed_search(list, i, count, at);
        start = i == 0 ? 0 : listed_end(list, i - 1);
        end = listed_end(list, i);
    }
    if (at < start || at >= end)
        return HG_PROTOCOL_ERROR;
    ret_view->at = atomic_load_explicit(&list[i].base, memory_order_relaxed) +
                   (at - start);
    ret_view->len = end - at;
    ret_view->end = end;
    ret_view->next = &list[i + 1];
    ret_view->stop = &list[count];
    return HG_SUCCESS;
}

/* Finds the start of an access in an entry that was found live. */
static hg_return_t entry_find(const struct amg_shm_key_table *table,
    const struct amg_shm_entry *entry, const struct amg_shm_access *access,
    struct amg_shm_view *ret_view)
{
    uint32_t count = atomic_load_explicit(&entry->count, memory_order_relaxed);
    uint64_t base = atomic_load_explicit(&entry->base, memory_order_relaxed);
    uint64_t len = atomic_load_explicit(&entry->len, memory_order_relaxed);

    if (access->segment >= count)
        return HG_OVERFLOW;
    if (count > 1) {
        if (base >= AMG_SHM_LIST || count > AMG_SHM_LIST - base)
            return HG_PROTOCOL_ERROR;
        return list_find(&table->list[base], count, access, ret_view);
    }
    if (access->offset > len || access->len > len - access->offset)
        return HG_OVERFLOW;
    ret_view->at = base + access->offset;
    ret_view->len = len - access->offset;
    ret_view->next = NULL;
    ret_view->stop = NULL;
    return HG_SUCCESS;
}

static hg_return_t entry_check(const struct amg_shm_key_table *table,
    const struct amg_shm_access *access, struct amg_shm_view *ret_view)
{
    const struct amg_shm_entry *entry = &table->entries[access->key.index];
    uint64_t state = atomic_load_explicit(&entry->state, memory_order_seq_cst);

    if ((state & AMG_SHM_ENTRY_LIVE) == 0 ||
        state >> 32 != access->key.serial ||
        atomic_load_explicit(&table->salt, memory_order_relaxed) !=
            access->key.salt)
        return HG_NOENTRY;
    if ((state & AMG_SHM_ENTRY_FLAGS & access->direction) == 0)
        return HG_PERMISSION;
    if ((state & AMG_SHM_ENTRY_BY_MESSAGE) != 0)
        return HG_OPNOTSUPPORTED;
    return entry_find(table, entry, access, ret_view);
}

/* Sets the accessor's bit in the entry; only loads if the bit is set. */
static void entry_mark(struct amg_shm_key_table *table,
    const struct amg_shm_accessor *accessor, uint32_t index)
{
    struct amg_shm_entry *entry = &table->entries[index];
    uint32_t bit =
        amg_shm_accessor_bit((uint32_t)(accessor - table->accessors));

    if ((atomic_load_explicit(&entry->accessed_by, memory_order_seq_cst) &
            bit) == 0)
        (void)atomic_fetch_or_explicit(
            &entry->accessed_by, bit, memory_order_seq_cst);
}

hg_return_t amg_shm_access_enter(struct amg_shm_key_table *table,
    struct amg_shm_accessor *accessor, const struct amg_shm_access *access,
    unsigned *ret_slot, struct amg_shm_view *ret_view)
{
    hg_return_t rc = HG_SUCCESS;
    unsigned slot = 0;

    if (access->key.index >= AMG_SHM_ENTRIES)
        return HG_OPNOTSUPPORTED;
    for (slot = 0; slot < AMG_SHM_ACCESSES; slot++) {
        uint32_t none = 0;

        if (atomic_compare_exchange_strong_explicit(&accessor->accesses[slot],
                &none, access->key.index + 1, memory_order_seq_cst,
                memory_order_relaxed))
            break;
    }
    if (slot == AMG_SHM_ACCESSES)
        return HG_AGAIN;
    entry_mark(table, accessor, access->key.index);
    rc = entry_check(table, access, ret_view);
    if (rc != HG_SUCCESS) {
        amg_shm_access_leave(accessor, slot);
        return rc;
    }
    *ret_slot = slot;
    return HG_SUCCESS;
}

void amg_shm_access_leave(struct amg_shm_accessor *accessor, unsigned slot)
{
    AMG_ASSERT(slot < AMG_SHM_ACCESSES);
    /* The copy is complete before the exposer sees that the access ended. */
    atomic_store_explicit(&accessor->accesses[slot], 0, memory_order_release);
}

/* Moves `view` to a segment with bytes left; false: no such segment is left, or
 * the list is damaged. */
static bool view_has_more(struct amg_shm_view *view)
{
    while (view->len == 0 && view->next != view->stop) {
        uint64_t end =
            atomic_load_explicit(&view->next->end, memory_order_relaxed);

        if (end < view->end)
            return false;
        view->at =
            atomic_load_explicit(&view->next->base, memory_order_relaxed);
        view->len = end - view->end;
        view->end = end;
        view->next++;
    }
    return view->len > 0;
}

uint64_t amg_shm_view_take(
    struct amg_shm_view *view, uint64_t max, uint64_t *ret_at)
{
    uint64_t run = 0;

    while (run < max && view_has_more(view)) {
        uint64_t more = view->len < max - run ? view->len : max - run;

        if (run == 0)
            *ret_at = view->at;
        else if (view->at != *ret_at + run)
            break;
        view->at += more;
        view->len -= more;
        run += more;
    }
    return run;
}
