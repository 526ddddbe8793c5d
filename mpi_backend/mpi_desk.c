/* SPDX-License-Identifier: BSD-3-Clause */
/* What this rank exposes by windows: the entries that peers knock at.
 *
 * An entry is only changed by accumulate operations of this rank on itself,
 * all with MPI_SUM: peers add their visits at the same time, and the standard
 * promises nothing for plain stores beside that. What is added is the
 * difference to what stands there; only the door is changed by others, and of
 * it only the part that this rank does not write. Such an operation with its
 * flush takes 0.7 us (MPICH 4.0.2), and waits for no other rank.
 *
 * The end of an exposure: the door closes, by an operation that tells who is
 * inside; then the visits go down to 0; then the memory is detached. */
#include "mpi_backend/mpi_desk.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"

enum {
    SEGMENTS_MAX = 1024, /* of one handle; each is attached for itself */
};

static hg_return_t region_attach(void *arg, void *base, uint64_t len)
{
    struct amg_mpi_desk *desk = arg;
    int rc = MPI_Win_attach(
        desk->windows->ways[AMG_MPI_WAY_DYNAMIC], base, (MPI_Aint)len);

    return rc == MPI_SUCCESS
               ? HG_SUCCESS
               : amg_mpi_comm_error(rc, "attaching memory to a window");
}

static void region_detach(void *arg, void *base)
{
    struct amg_mpi_desk *desk = arg;
    int rc = MPI_Win_detach(desk->windows->ways[AMG_MPI_WAY_DYNAMIC], base);

    if (rc != MPI_SUCCESS)
        (void)amg_mpi_comm_error(rc, "detaching memory from a window");
}

void amg_mpi_desk_init(struct amg_mpi_desk *desk,
    struct amg_mpi_windows *windows, uint64_t len_min)
{
    static_assert(AMG_MPI_ENTRIES <= UINT16_MAX, "entries are 16 bits");
    memset(desk, 0, sizeof(*desk));
    desk->windows = windows;
    desk->len_min = len_min;
    amg_list_init(&desk->leaving);
    amg_mpi_attach_init(&desk->attach,
        &(struct amg_mpi_attacher){region_attach, region_detach, desk});
}

void amg_mpi_desk_fini(struct amg_mpi_desk *desk)
{
    amg_mpi_attach_fini(&desk->attach);
}

/* Adds to the words of an entry of ours. */
static hg_return_t words_add(struct amg_mpi_desk *desk, uint32_t index,
    const uint64_t words[AMG_MPI_ENTRY_WORDS])
{
    MPI_Win window = desk->windows->desk;
    int rank = desk->windows->rank;
    int rc = MPI_Accumulate(words, AMG_MPI_ENTRY_WORDS, MPI_UINT64_T, rank,
        (MPI_Aint)index * AMG_MPI_ENTRY_LEN, AMG_MPI_ENTRY_WORDS, MPI_UINT64_T,
        MPI_SUM, window);

    if (rc == MPI_SUCCESS)
        rc = MPI_Win_flush(rank, window);
    return rc == MPI_SUCCESS ? HG_SUCCESS
                             : amg_mpi_comm_error(rc, "exposing memory");
}

/* Adds to the door of an entry of ours; what it was before. */
static hg_return_t door_add(
    struct amg_mpi_desk *desk, uint32_t index, uint64_t add, uint64_t *ret_door)
{
    MPI_Win window = desk->windows->desk;
    int rank = desk->windows->rank;
    uint64_t door = 0;
    int rc = MPI_Fetch_and_op(&add, &door, MPI_UINT64_T, rank,
        (MPI_Aint)index * AMG_MPI_ENTRY_LEN, MPI_SUM, window);

    if (rc == MPI_SUCCESS)
        rc = MPI_Win_flush(rank, window);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "ending the exposure of memory");
    *ret_door = door;
    return HG_SUCCESS;
}

/* What stands in a word that nobody else changes. */
static uint64_t word_of(
    const struct amg_mpi_desk *desk, uint32_t index, unsigned word)
{
    uint64_t value = 0;

    memcpy(&value,
        desk->windows->entries + (size_t)index * AMG_MPI_ENTRY_LEN +
            word * sizeof(value),
        sizeof(value));
    return value;
}

/* Is it long enough, and in few enough pieces? */
static bool mem_is_fit(
    const struct amg_mpi_desk *desk, const struct amg_mpi_mem *mem)
{
    uint64_t len = 0;

    if (mem->count > SEGMENTS_MAX)
        return false;
    for (uint32_t i = 0; i < mem->count; i++) {
        if (mem->segments[i].len >
            UINTPTR_MAX - (uintptr_t)mem->segments[i].base)
            return false;
        len += mem->segments[i].len < UINT64_MAX / SEGMENTS_MAX
                   ? mem->segments[i].len
                   : UINT64_MAX / SEGMENTS_MAX;
    }
    return len >= desk->len_min &&
           (mem->count == 1 || len / AMG_MPI_WINDOW_LEN_MIN >= mem->count);
}

static void mem_detach(
    struct amg_mpi_desk *desk, const struct amg_mpi_mem *mem, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (mem->segments[i].len > 0)
            amg_mpi_attach_drop(
                &desk->attach, mem->segments[i].base, mem->segments[i].len);
}

/* Finds the way to all segments of `mem`; MESSAGES where there is no other. */
static enum amg_mpi_way mem_attach(
    struct amg_mpi_desk *desk, const struct amg_mpi_mem *mem)
{
    const struct amg_area *area = &desk->windows->area;
    const struct amg_segment pool = {area->base, area->len};
    uint32_t in_pool = 0;

    for (uint32_t i = 0; i < mem->count; i++)
        in_pool += amg_segment_is_in(&mem->segments[i], &pool);
    if (in_pool == mem->count)
        return desk->is_unused[AMG_MPI_WAY_POOL] ? AMG_MPI_WAY_MESSAGES
                                                 : AMG_MPI_WAY_POOL;
    if (desk->is_unused[AMG_MPI_WAY_DYNAMIC])
        return AMG_MPI_WAY_MESSAGES;
    for (uint32_t i = 0; i < mem->count; i++) {
        if (mem->segments[i].len == 0 ||
            amg_mpi_attach_hold(&desk->attach, mem->segments[i].base,
                mem->segments[i].len) == HG_SUCCESS)
            continue;
        mem_detach(desk, mem, i);
        return AMG_MPI_WAY_MESSAGES;
    }
    return AMG_MPI_WAY_DYNAMIC;
}

/* AMG_MPI_ENTRIES: there is none. */
static uint32_t index_take(struct amg_mpi_desk *desk)
{
    if (desk->free_count > 0)
        return desk->free[--desk->free_count];
    return desk->used < AMG_MPI_ENTRIES ? desk->used++ : AMG_MPI_ENTRIES;
}

static void index_give(struct amg_mpi_desk *desk, uint32_t index)
{
    desk->free[desk->free_count++] = (uint16_t)index;
}

static hg_return_t entry_open(
    struct amg_mpi_desk *desk, const struct amg_mpi_mem *mem, uint32_t index)
{
    enum amg_mpi_way way = amg_mpi_key_way(&mem->key);
    struct amg_mpi_exposed exposed = {
        .key = mem->key,
        .flags = mem->flags,
        .segments = mem->segments,
        .count = mem->count,
        .origin = way == AMG_MPI_WAY_POOL ? (uintptr_t)desk->windows->area.base
                                          : (uintptr_t)MPI_BOTTOM,
    };
    uint64_t words[AMG_MPI_ENTRY_WORDS];

    amg_mpi_entry_set(&exposed, words);
    for (unsigned i = AMG_MPI_ENTRY_DOOR + 1; i < AMG_MPI_ENTRY_WORDS; i++)
        words[i] -= word_of(desk, index, i);
    return words_add(desk, index, words);
}

void amg_mpi_desk_open_locked(
    struct amg_mpi_desk *desk, struct amg_mpi_mem *mem)
{
    enum amg_mpi_way way = AMG_MPI_WAY_MESSAGES;
    uint32_t index = AMG_MPI_ENTRIES;

    if (!mem_is_fit(desk, mem))
        return;
    way = mem_attach(desk, mem);
    if (way == AMG_MPI_WAY_MESSAGES)
        return;
    index = index_take(desk);
    if (index < AMG_MPI_ENTRIES) {
        mem->key.entry = amg_mpi_key_entry(way, index);
        if (entry_open(desk, mem, index) == HG_SUCCESS)
            return;
        mem->key.entry = 0; /* what stands there now is not known */
    } else if (!desk->has_warned) {
        desk->has_warned = true;
        AMG_LOG_INFO("bulk",
            "%d exposed handles are all that windows lead to at once; further "
            "ones are reached by messages",
            AMG_MPI_ENTRIES);
    }
    if (way == AMG_MPI_WAY_DYNAMIC)
        mem_detach(desk, mem, mem->count);
}

void amg_mpi_desk_leave_locked(
    struct amg_mpi_desk *desk, struct amg_mpi_mem *mem)
{
    if (mem->key.entry != 0 && !amg_link_is_listed(&mem->leaving))
        amg_list_push(&desk->leaving, &mem->leaving);
}

/* One look at an entry that is to be free. */
static void mem_move(struct amg_mpi_desk *desk, struct amg_mpi_mem *mem)
{
    uint32_t index = amg_mpi_key_index(&mem->key);
    uint64_t door = 0;

    if (!mem->has_left) {
        uint64_t words[AMG_MPI_ENTRY_WORDS];

        amg_mpi_entry_set(&(struct amg_mpi_exposed){.key = mem->key}, words);
        if (door_add(desk, index, -words[AMG_MPI_ENTRY_DOOR], &door) !=
            HG_SUCCESS)
            return;
        mem->has_left = true;
    } else if (door_add(desk, index, 0, &door) != HG_SUCCESS) {
        return;
    }
    mem->visitor = amg_mpi_entry_visitor(door);
    if (mem->visitor != AMG_MPI_VISITOR_NONE)
        return;
    amg_list_remove(&mem->leaving);
    if (amg_mpi_key_way(&mem->key) == AMG_MPI_WAY_DYNAMIC)
        mem_detach(desk, mem, mem->count);
    index_give(desk, index);
    mem->key.entry = 0;
}

void amg_mpi_desk_move_locked(struct amg_mpi_desk *desk)
{
    struct amg_link *link = amg_list_first(&desk->leaving);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(&desk->leaving, link);

        mem_move(desk, AMG_OBJECT(link, struct amg_mpi_mem, leaving));
        link = next;
    }
}

int amg_mpi_desk_visitor_locked(
    const struct amg_mpi_desk *desk, const struct amg_mpi_mem *mem)
{
    if (desk == NULL || mem->key.entry == 0)
        return AMG_MPI_VISITOR_NONE;
    return mem->has_left ? mem->visitor : AMG_MPI_VISITOR_UNSEEN;
}
