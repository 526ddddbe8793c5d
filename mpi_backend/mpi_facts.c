/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that the ranks exchange while a domain opens, and their reduction. */
#include "mpi_backend/mpi_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amalgam.h"
#include "base/assert.h"
#include "base/map.h"
#include "mpi_backend/mpi_wire.h"

void amg_mpi_library_fill(uint32_t rank, struct amg_mpi_library *ret_library)
{
    static const uint32_t wire[] = {AMG_MPI_WIRE_VERSION, AMG_MPI_KIND_COUNT,
        sizeof(struct amg_mpi_header), sizeof(struct amg_mpi_bulk_request),
        sizeof(struct amg_mpi_done), sizeof(struct amg_mpi_stop),
        sizeof(struct amg_mpi_sync), sizeof(struct amg_mpi_refuse),
        sizeof(struct amg_mpi_long), sizeof(struct amg_mpi_key),
        sizeof(struct amg_mpi_missing), sizeof(struct amg_mpi_facts)};
    struct amg_mpi_library library = {.rank = rank};

    snprintf(library.version, sizeof(library.version), "%d.%d.%d",
        AMALGAM_VERSION_MAJOR, AMALGAM_VERSION_MINOR, AMALGAM_VERSION_PATCH);
    if (gethostname(library.host, sizeof(library.host) - 1) != 0)
        snprintf(library.host, sizeof(library.host), "?");
    library.layout =
        (uint32_t)amg_hash(amg_hash(AMG_HASH_EMPTY, wire, sizeof(wire)),
            library.version, strlen(library.version));
    *ret_library = library;
}

static uint32_t lower(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* The lowest rank whose layout differs from that of `first`, which is
 * `low->first`: either `low->other` or a rank of `high`. */
static const struct amg_mpi_library *other_find(
    const struct amg_mpi_library *first, const struct amg_mpi_greeting *low,
    const struct amg_mpi_greeting *high)
{
    const struct amg_mpi_library *of_high =
        high->first.layout != first->layout ? &high->first : &high->other;

    return low->other.rank < of_high->rank ? &low->other : of_high;
}

void amg_mpi_greeting_reduce(
    const struct amg_mpi_greeting *one, struct amg_mpi_greeting *both)
{
    bool is_lower = one->first.rank < both->first.rank;
    const struct amg_mpi_greeting *low = is_lower ? one : both;
    const struct amg_mpi_greeting *high = is_lower ? both : one;
    struct amg_mpi_greeting made = *low;

    AMG_ASSERT(low->first.rank < high->first.rank);
    made.other = *other_find(&low->first, low, high);
    made.message_len = lower(one->message_len, both->message_len);
    made.credits = lower(one->credits, both->credits);
    made.max_kib = lower(one->max_kib, both->max_kib);
    made.protocol = lower(one->protocol, both->protocol);
    made.inverse = lower(one->inverse, both->inverse);
    *both = made;
}

bool amg_mpi_greeting_fits(
    const struct amg_mpi_greeting *all, char *ret_text, size_t cap)
{
    const struct amg_mpi_library *first = &all->first;
    const struct amg_mpi_library *other = &all->other;

    if (other->rank == AMG_MPI_NO_RANK)
        return true;
    snprintf(ret_text, cap,
        "rank %u on %.*s has version %.*s of this library (layout %08x), and "
        "rank %u on %.*s has %.*s (layout %08x): install one version on all "
        "nodes, and look at LD_LIBRARY_PATH",
        first->rank, AMG_MPI_HOST_CAP, first->host, AMG_MPI_VERSION_CAP,
        first->version, first->layout, other->rank, AMG_MPI_HOST_CAP,
        other->host, AMG_MPI_VERSION_CAP, other->version, other->layout);
    return false;
}

void amg_mpi_facts_init(struct amg_mpi_facts *facts, uint32_t rank,
    bool is_leader, bool is_part, bool has_failed)
{
    *facts = (struct amg_mpi_facts){
        .failed = has_failed,
        .nodes = is_leader,
        .is_part = is_part,
        .last_leader = is_leader ? rank : 0,
        .leader_count = is_leader,
        .leaders = {rank},
        .node_min = 1,
        .node_max = 1,
    };
}

void amg_mpi_facts_add_node(struct amg_mpi_facts *facts, uint32_t node_size,
    bool is_in_row, bool is_last)
{
    facts->node_min = !is_in_row ? 0 : is_last ? UINT32_MAX : node_size;
    facts->node_max = node_size;
}

void amg_mpi_facts_reduce(
    const struct amg_mpi_facts *one, struct amg_mpi_facts *both)
{
    struct amg_mpi_facts made = {
        .failed = one->failed + both->failed,
        .nodes = one->nodes + both->nodes,
        .is_part = one->is_part | both->is_part,
        .last_leader = one->last_leader > both->last_leader ? one->last_leader
                                                            : both->last_leader,
        .node_min = lower(one->node_min, both->node_min),
        .node_max =
            one->node_max > both->node_max ? one->node_max : both->node_max,
    };
    uint32_t i = 0;
    uint32_t k = 0;

    AMG_ASSERT(one->leader_count <= AMG_MPI_LEADERS);
    AMG_ASSERT(both->leader_count <= AMG_MPI_LEADERS);
    while (made.leader_count < AMG_MPI_LEADERS &&
           (i < one->leader_count || k < both->leader_count)) {
        bool takes_one =
            k == both->leader_count ||
            (i < one->leader_count && one->leaders[i] < both->leaders[k]);

        made.leaders[made.leader_count++] =
            takes_one ? one->leaders[i++] : both->leaders[k++];
    }
    *both = made;
}

uint32_t amg_mpi_facts_node_size(const struct amg_mpi_facts *facts)
{
    return facts->node_min >= facts->node_max ? facts->node_max : 0;
}

bool amg_mpi_facts_is_leader(const struct amg_mpi_facts *facts, uint32_t rank)
{
    uint32_t i = 0;

    while (i < facts->leader_count && facts->leaders[i] != rank)
        i++;
    return i < facts->leader_count;
}
