/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer reads of exposed memory before it uses a window: five words.
 *
 *   word      bits                          meaning
 *   DOOR      63..52 tag                    0: closed
 *             51..32 visits                 so many are inside
 *             31..0  sum of rank + 1        of those; names a single one
 *   ID        serial, salt << 32            of the key
 *   PLACE     cookie, flags << 32,          of the key; enum amg_mem_flags
 *             way << 40                     enum amg_mpi_way
 *   ORIGIN    address                       that displacement 0 stands for
 *   LIST      a sum over the segments       what a descriptor must agree with
 *
 * A peer knocks: by one operation it adds its visit to the door and reads all
 * words. MPI makes each word's step atomic, and the door tells both that it
 * was open and that the visit is counted, so the exposer, who closes the door
 * by the same kind of operation, sees everyone whom he did not keep out. All
 * other words are constant while the door is open or somebody is inside. */
#ifndef AMG_MPI_BACKEND_MPI_ENTRY_H
#define AMG_MPI_BACKEND_MPI_ENTRY_H

#include "mpi_backend/mpi_window.h"

enum amg_mpi_entry_word {
    AMG_MPI_ENTRY_DOOR,
    AMG_MPI_ENTRY_ID,
    AMG_MPI_ENTRY_PLACE,
    AMG_MPI_ENTRY_ORIGIN,
    AMG_MPI_ENTRY_LIST,
};

enum {
    /* More ranks may be inside than the door can count: a carry of visits, to
     * which the sum of ranks adds some, would change its tag. */
    AMG_MPI_WINDOW_RANKS_MAX = 1000000,
    AMG_MPI_VISITOR_NONE = -1,
    AMG_MPI_VISITOR_MANY = -2,   /* more than one; who they are is not known */
    AMG_MPI_VISITOR_UNSEEN = -3, /* the door is open still; who is inside is
                                  * not known */
};

/* A key on the wire. */
struct amg_mpi_key {
    uint32_t cookie; /* its place in the table of the exposer */
    uint32_t serial; /* never used twice by one exposer */
    uint32_t salt;   /* of the exposer */
    uint32_t entry;  /* way << 30, and which entry; 0: by messages */
};

/* What an open entry says. */
struct amg_mpi_exposed {
    struct amg_mpi_key key;
    uint8_t flags;
    const struct amg_segment *segments;
    uint32_t count;
    uint64_t origin;
};

static inline uint32_t amg_mpi_key_entry(enum amg_mpi_way way, uint32_t index)
{
    return (uint32_t)way << 30 | index;
}

static inline enum amg_mpi_way amg_mpi_key_way(const struct amg_mpi_key *key)
{
    return key->entry >> 30;
}

static inline uint32_t amg_mpi_key_index(const struct amg_mpi_key *key)
{
    return key->entry & 0x3fffffffu;
}

/* What one visit of `rank` adds to the door. */
static inline uint64_t amg_mpi_entry_visit(int rank)
{
    return (1ull << 32) + (uint64_t)rank + 1;
}

/* The words of an open entry that nobody visits. */
void amg_mpi_entry_set(const struct amg_mpi_exposed *exposed,
    uint64_t ret_words[AMG_MPI_ENTRY_WORDS]);

/* The part of the door that closes it when it is taken away. */
uint64_t amg_mpi_entry_tag(uint64_t door);
/* Who is inside; AMG_MPI_VISITOR_NONE and _MANY are no ranks. */
int amg_mpi_entry_visitor(uint64_t door);

/* May who read these words do that? HG_NOENTRY: the memory was freed;
 * HG_PERMISSION; HG_OPNOTSUPPORTED: ask by message, the words cannot tell. */
hg_return_t amg_mpi_entry_judge(const uint64_t words[AMG_MPI_ENTRY_WORDS],
    const struct amg_mpi_key *key, enum amg_mem_flags direction,
    const struct amg_segment *segments, uint32_t count);

#endif
