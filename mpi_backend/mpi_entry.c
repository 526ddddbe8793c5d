/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer reads of exposed memory before it uses a window: five words.
 *
 * The segments are not among them. The descriptor that a peer holds states
 * them, and a sum over all of them tells whether it is true; so any number fits
 * into one word, and no second reading is needed. It guards against mistakes:
 * who wants to do harm can, because MPI checks nothing. */
#include "mpi_backend/mpi_entry.h"

enum {
    TAG_SHIFT = 52,
    TAG_COUNT = 4095, /* 1 to 4095; 0 is a closed door */
    VISIT_SHIFT = 32,
    FLAGS_SHIFT = 32,
    WAY_SHIFT = 40,
};

/* Spreads what is added; the constants are those of splitmix64. */
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

void amg_mpi_entry_set(const struct amg_mpi_exposed *exposed,
    uint64_t ret_words[AMG_MPI_ENTRY_WORDS])
{
    const struct amg_mpi_key *key = &exposed->key;

    ret_words[AMG_MPI_ENTRY_DOOR] = tag_of(key);
    ret_words[AMG_MPI_ENTRY_ID] = id_of(key);
    ret_words[AMG_MPI_ENTRY_PLACE] =
        key->cookie | (uint64_t)exposed->flags << FLAGS_SHIFT |
        (uint64_t)amg_mpi_key_way(key) << WAY_SHIFT;
    ret_words[AMG_MPI_ENTRY_ORIGIN] = exposed->origin;
    ret_words[AMG_MPI_ENTRY_LIST] = list_sum(exposed->segments, exposed->count);
}

uint64_t amg_mpi_entry_tag(uint64_t door)
{
    return door >> TAG_SHIFT << TAG_SHIFT;
}

int amg_mpi_entry_visitor(uint64_t door)
{
    uint64_t visits = door - amg_mpi_entry_tag(door);

    if (visits == 0)
        return AMG_MPI_VISITOR_NONE;
    if (visits >> VISIT_SHIFT != 1)
        return AMG_MPI_VISITOR_MANY;
    return (int)((uint32_t)visits - 1);
}

hg_return_t amg_mpi_entry_judge(const uint64_t words[AMG_MPI_ENTRY_WORDS],
    const struct amg_mpi_key *key, enum amg_mem_flags direction,
    const struct amg_segment *segments, uint32_t count)
{
    uint64_t place = words[AMG_MPI_ENTRY_PLACE];

    if (amg_mpi_entry_tag(words[AMG_MPI_ENTRY_DOOR]) != tag_of(key) ||
        words[AMG_MPI_ENTRY_ID] != id_of(key) ||
        (uint32_t)place != key->cookie ||
        place >> WAY_SHIFT != amg_mpi_key_way(key))
        return HG_NOENTRY;
    if ((place >> FLAGS_SHIFT & direction) == 0)
        return HG_PERMISSION;
    if (words[AMG_MPI_ENTRY_LIST] != list_sum(segments, count))
        return HG_OPNOTSUPPORTED;
    return HG_SUCCESS;
}
