/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: its registrations, descriptors and permissions.
 *
 * A key is the index in the table of exposed memory, a serial number, and a
 * random number of this domain, which changes when the serial wraps, so that a
 * key of freed memory, or of another rank, matches nothing here. If the memory
 * is in a window, the key names the window and the descriptor.
 *
 * This rank changes its descriptors only by accumulate operations to itself,
 * all with MPI_SUM: peers add their accesses at the same time, and the standard
 * does not define concurrent plain stores. To set a word, this rank adds the
 * new value minus the old value. Of the access word, this rank changes only the
 * tag, and peers change only the rest. An accumulate operation with its flush
 * takes 0.7 us (MPICH 4.0.2), and waits for no other rank.
 *
 * The segments are not in the descriptor: the peer has them in its own list,
 * whose checksum it compares with that of the descriptor. The comparison
 * detects mistakes, not malice: MPI itself checks no access.
 *
 * To end an exposure, this rank closes the access word, by an operation that
 * returns the accesses held, and detaches the memory when these accesses have
 * been released. */
#include "mpi_backend/mpi_export.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    TAG_SHIFT = 52,
    TAG_COUNT = 4095, /* tags 1 to 4095; 0: the word is closed */
    COUNT_SHIFT = 32,
    FLAGS_SHIFT = 32,
    WAY_SHIFT = 40,
};

/* Adds `word` to a hash, with the constants of splitmix64. */
static uint64_t sum_add(uint64_t sum, uint64_t word)
{
    sum += word + 0x9e3779b97f4a7c15ull;
    sum = (sum ^ sum >> 30) * 0xbf58476d1ce4e5b9ull;
    sum = (sum ^ sum >> 27) * 0x94d049bb133111ebull;
    return sum ^ sum >> 31;
}

static uint64_t list_sum(const struct amg_segment *segments, uint32_t count)
{
    uint64_t sum = count;

    for (uint32_t i = 0; i < count; i++) {
        sum = sum_add(sum, (uintptr_t)segments[i].base);
        sum = sum_add(sum, segments[i].len);
    }
    return sum;
}

static uint64_t tag_of(const struct amg_mpi_key *key)
{
    return (uint64_t)(1 + key->serial % TAG_COUNT) << TAG_SHIFT;
}

static uint64_t id_of(const struct amg_mpi_key *key)
{
    return key->serial | (uint64_t)key->salt << 32;
}

void amg_mpi_desc_set(const struct amg_mpi_exposed *exposed,
    uint64_t ret_words[AMG_MPI_DESC_WORDS])
{
    const struct amg_mpi_key *key = &exposed->key;

    ret_words[AMG_MPI_DESC_ACCESS] = tag_of(key);
    ret_words[AMG_MPI_DESC_ID] = id_of(key);
    ret_words[AMG_MPI_DESC_KEY] = key->cookie |
                                  (uint64_t)exposed->flags << FLAGS_SHIFT |
                                  (uint64_t)amg_mpi_key_way(key) << WAY_SHIFT;
    ret_words[AMG_MPI_DESC_ORIGIN] = exposed->origin;
    ret_words[AMG_MPI_DESC_LIST] = list_sum(exposed->segments, exposed->count);
}

uint64_t amg_mpi_desc_tag(uint64_t word)
{
    return word >> TAG_SHIFT << TAG_SHIFT;
}

int amg_mpi_desc_accessor(uint64_t word)
{
    uint64_t accesses = word - amg_mpi_desc_tag(word);

    if (accesses == 0)
        return AMG_MPI_ACCESSOR_NONE;
    if (accesses >> COUNT_SHIFT != 1)
        return AMG_MPI_ACCESSOR_MANY;
    return (int)((uint32_t)accesses - 1);
}

hg_return_t amg_mpi_desc_check(const uint64_t words[AMG_MPI_DESC_WORDS],
    const struct amg_mpi_key *key, enum amg_mem_flags direction,
    const struct amg_segment *segments, uint32_t count)
{
    uint64_t key_word = words[AMG_MPI_DESC_KEY];

    if (amg_mpi_desc_tag(words[AMG_MPI_DESC_ACCESS]) != tag_of(key) ||
        words[AMG_MPI_DESC_ID] != id_of(key) ||
        (uint32_t)key_word != key->cookie ||
        key_word >> WAY_SHIFT != amg_mpi_key_way(key))
        return HG_NOENTRY;
    if ((key_word >> FLAGS_SHIFT & direction) == 0)
        return HG_PERMISSION;
    if (words[AMG_MPI_DESC_LIST] != list_sum(segments, count))
        return HG_OVERFLOW;
    return HG_SUCCESS;
}

enum {
    SEGMENTS_MAX = 1024, /* of one memory; each is attached on its own */
};

/* Adds to the access word of a descriptor here; returns the former word. */
static hg_return_t access_word_add(struct amg_mpi_exports *exports,
    uint32_t index, uint64_t add, uint64_t *ret_word)
{
    MPI_Win window = exports->windows->descs;
    int rank = exports->windows->rank;
    uint64_t word = 0;
    int rc = MPI_Fetch_and_op(&add, &word, MPI_UINT64_T, rank,
        (MPI_Aint)index * AMG_MPI_DESC_LEN, MPI_SUM, window);

    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "ending the exposure of memory");
    /* Retries the flush alone: the caller would retry both, and add twice. */
    for (unsigned i = 0; i < AMG_MPI_TRIES; i++)
        if ((rc = MPI_Win_flush(rank, window)) == MPI_SUCCESS)
            break;
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "ending the exposure of memory");
    *ret_word = word;
    return HG_SUCCESS;
}

/* The value of a word that no other rank changes. */
static uint64_t word_of(
    const struct amg_mpi_exports *exports, uint32_t index, unsigned word)
{
    uint64_t value = 0;

    AMG_ASSERT(index < AMG_MPI_DESCS && word < AMG_MPI_DESC_WORDS);
    memcpy(&value,
        exports->windows->bytes + (size_t)index * AMG_MPI_DESC_LEN +
            word * sizeof(value),
        sizeof(value));
    return value;
}

/* Whether the memory is long enough, in few enough segments, for a window. */
static bool mem_is_fit(const struct amg_mpi_mem *mem)
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
    return len >= AMG_MPI_WINDOW_LEN_MIN &&
           (mem->count == 1 || len / AMG_MPI_WINDOW_LEN_MIN >= mem->count);
}

static void mem_detach(struct amg_mpi_exports *exports,
    const struct amg_mpi_mem *mem, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (mem->segments[i].len > 0)
            amg_mpi_regions_unref(&exports->windows->regions,
                mem->segments[i].base, mem->segments[i].len);
}

static bool window_is_used(
    const struct amg_mpi_choice *choice, enum amg_mpi_memory memory)
{
    return choice->is_window[memory][AMG_MPI_SIZE_MEDIUM] ||
           choice->is_window[memory][AMG_MPI_SIZE_LARGE];
}

/* Finds a window for `mem`, and attaches user memory. MESSAGES: no window. */
static enum amg_mpi_way mem_attach(struct amg_mpi_exports *exports,
    const struct amg_mpi_choice *choice, const struct amg_mpi_mem *mem)
{
    const struct amg_area *area = &exports->windows->area;
    const struct amg_segment pool = {area->base, area->len};
    uint32_t in_pool = 0;

    for (uint32_t i = 0; i < mem->count; i++)
        in_pool += amg_segment_is_in(&mem->segments[i], &pool);
    if (in_pool == mem->count)
        return window_is_used(choice, AMG_MPI_MEMORY_LIBRARY)
                   ? AMG_MPI_WAY_POOL
                   : AMG_MPI_WAY_MESSAGES;
    if (!window_is_used(choice, AMG_MPI_MEMORY_USER))
        return AMG_MPI_WAY_MESSAGES;
    for (uint32_t i = 0; i < mem->count; i++) {
        if (mem->segments[i].len == 0 ||
            amg_mpi_regions_ref(&exports->windows->regions,
                mem->segments[i].base, mem->segments[i].len) == HG_SUCCESS)
            continue;
        mem_detach(exports, mem, i);
        return AMG_MPI_WAY_MESSAGES;
    }
    return AMG_MPI_WAY_DYNAMIC;
}

static hg_return_t desc_open(struct amg_mpi_exports *exports,
    const struct amg_mpi_mem *mem, uint32_t index)
{
    enum amg_mpi_way way = amg_mpi_key_way(&mem->key);
    struct amg_mpi_exposed exposed = {
        .key = mem->key,
        .flags = mem->flags,
        .segments = mem->segments,
        .count = mem->count,
        .origin = way == AMG_MPI_WAY_POOL
                      ? (uintptr_t)exports->windows->area.base
                      : (uintptr_t)MPI_BOTTOM,
    };
    uint64_t words[AMG_MPI_DESC_WORDS];
    MPI_Win window = exports->windows->descs;
    int rank = exports->windows->rank;
    int rc = MPI_SUCCESS;

    amg_mpi_desc_set(&exposed, words);
    for (unsigned i = AMG_MPI_DESC_ACCESS + 1; i < AMG_MPI_DESC_WORDS; i++)
        words[i] -= word_of(exports, index, i);
    rc = MPI_Accumulate(words, AMG_MPI_DESC_WORDS, MPI_UINT64_T, rank,
        (MPI_Aint)index * AMG_MPI_DESC_LEN, AMG_MPI_DESC_WORDS, MPI_UINT64_T,
        MPI_SUM, window);
    if (rc == MPI_SUCCESS)
        rc = MPI_Win_flush(rank, window);
    return rc == MPI_SUCCESS ? HG_SUCCESS
                             : amg_mpi_comm_error(rc, "exposing memory");
}

/* Opens a descriptor for `mem`, and names it in the key; opens none if all are
 * in use, MPI refuses, or messages are better. Calls MPI. */
static void export_open_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_mem *mem)
{
    struct amg_mpi_exports *exports = domain->exports;
    enum amg_mpi_way way = AMG_MPI_WAY_MESSAGES;
    uint32_t index = AMG_MPI_DESCS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(mem->key.desc == 0);
    if (!mem_is_fit(mem))
        return;
    way = mem_attach(exports, &domain->choice, mem);
    if (way == AMG_MPI_WAY_MESSAGES)
        return;
    if (exports->free_count > 0)
        index = exports->free[--exports->free_count];
    else if (exports->used < AMG_MPI_DESCS)
        index = exports->used++;
    if (index < AMG_MPI_DESCS) {
        mem->key.desc = amg_mpi_key_desc(way, index);
        if (desc_open(exports, mem, index) == HG_SUCCESS)
            return;
        mem->key.desc = 0; /* `index` is lost: its words are unknown */
    } else if (!exports->has_warned) {
        exports->has_warned = true;
        AMG_LOG_INFO("bulk",
            "windows have descriptors for %d exposed handles; bulk data of "
            "further handles moves by messages",
            AMG_MPI_DESCS);
    }
    if (way == AMG_MPI_WAY_DYNAMIC)
        mem_detach(exports, mem, mem->count);
}

/* Closes the access word; frees the descriptor once no access is held. */
static void mem_move(struct amg_mpi_exports *exports, struct amg_mpi_mem *mem)
{
    uint32_t index = amg_mpi_key_index(&mem->key);
    uint64_t word = 0;

    AMG_ASSERT(mem->is_closed && mem->key.desc != 0);
    if (!mem->has_left) {
        if (access_word_add(exports, index, -tag_of(&mem->key), &word) !=
            HG_SUCCESS)
            return;
        mem->has_left = true;
    } else if (access_word_add(exports, index, 0, &word) != HG_SUCCESS) {
        return;
    }
    mem->accessor = amg_mpi_desc_accessor(word);
    if (mem->accessor != AMG_MPI_ACCESSOR_NONE)
        return;
    amg_list_remove(&mem->leaving);
    if (amg_mpi_key_way(&mem->key) == AMG_MPI_WAY_DYNAMIC)
        mem_detach(exports, mem, mem->count);
    AMG_ASSERT(exports->free_count < AMG_MPI_DESCS);
    exports->free[exports->free_count++] = (uint16_t)index;
    mem->key.desc = 0;
}

void amg_mpi_export_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_exports *exports = domain->exports;
    struct amg_link *link = amg_list_first(&exports->leaving);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&exports->leaving, link);

        mem_move(exports, amg_container_of(link, struct amg_mpi_mem, leaving));
        link = next;
    }
}

static_assert(sizeof(struct amg_mpi_key) <= AMG_KEY_LEN_MAX, "must fit a key");
static_assert(AMG_MPI_DESCS <= UINT16_MAX, "indices are 16 bits");

hg_return_t amg_mpi_mem_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_mem *mem =
        amg_mem_zalloc(sizeof(*mem) + count * sizeof(*segments));
    hg_return_t rc = HG_SUCCESS;

    if (mem == NULL)
        return HG_NOMEM;
    mem->base.transport = base->transport;
    mem->flags = flags;
    mem->count = count;
    amg_list_init(&mem->accesses);
    if (count > 0)
        memcpy(mem->segments, segments, count * sizeof(*segments));
    amg_bias_lock(domain->lock);
    if (++domain->mems.serial == 0)
        domain->mems.salt++; /* no key is used twice */
    mem->key.serial = domain->mems.serial;
    mem->key.salt = (uint32_t)domain->mems.salt;
    rc = amg_table_add(&domain->mems.all, mem, 0, &mem->key.cookie);
    if (rc == HG_SUCCESS && domain->exports != NULL &&
        amg_mpi_comm_may_call(&domain->comm))
        export_open_locked(domain, mem);
    amg_bias_unlock(domain->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

void amg_mpi_mem_key(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct amg_mpi_mem *mem =
        amg_container_of(base, struct amg_mpi_mem, base);

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(mem->key);
    memcpy(ret_key->bytes, &mem->key, sizeof(mem->key));
}
