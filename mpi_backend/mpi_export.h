/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: its registrations, descriptors and permissions.
 *
 * Before a peer uses a window, the peer reads a descriptor of the memory. A
 * separate window holds the descriptors, of five words each:
 *
 *   word      bits                          meaning
 *   ACCESS    63..52 tag                    0: closed
 *             51..32 accesses               number of accesses held
 *             31..0  sum of rank + 1        over all accesses held
 *   ID        serial, salt << 32            of the key
 *   KEY       cookie, flags << 32,          of the key; enum amg_mem_flags
 *             way << 40                     enum amg_mpi_way
 *   ORIGIN    address                       that displacement 0 stands for
 *   LIST      checksum of the segments      must match that of the peer's list
 *
 * By one operation the peer adds its access to the first word and reads all
 * words. MPI updates each word atomically, so the peer reads whether the word
 * was open when its access was counted. The exposer closes the word by an
 * operation of the same kind, which returns the accesses held at that moment.
 * All other words are constant while the access word is open, and until the
 * last access that was counted meanwhile is released.
 *
 * The tag repeats after 4,095 registrations; the ID tells apart registrations
 * with the same tag. The count has room for 2^20 accesses. A rank normally
 * holds one access to a memory, and at most AMG_MPI_TRANSFERS if accesses end
 * late: fewer than 16,000 ranks cannot reach 2^20. */
#ifndef AMG_MPI_BACKEND_MPI_EXPORT_H
#define AMG_MPI_BACKEND_MPI_EXPORT_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_rma_window.h"

enum amg_mpi_desc_word {
    AMG_MPI_DESC_ACCESS,
    AMG_MPI_DESC_ID,
    AMG_MPI_DESC_KEY,
    AMG_MPI_DESC_ORIGIN,
    AMG_MPI_DESC_LIST,
};

enum {
    /* Largest number of ranks of a domain with windows. The sum of ranks may
     * carry into the count of accesses; with more ranks, the count could
     * overflow into the tag. */
    AMG_MPI_WINDOW_RANKS_MAX = 1000000,
    AMG_MPI_ACCESSOR_NONE = -1,
    AMG_MPI_ACCESSOR_MANY = -2,   /* several accesses, of unknown ranks */
    AMG_MPI_ACCESSOR_UNSEEN = -3, /* the access word is still open */
};

/* Contents of an open descriptor. */
struct amg_mpi_exposed {
    struct amg_mpi_key key;
    uint8_t flags;
    const struct amg_segment *segments;
    uint32_t count;
    uint64_t origin;
};

static inline uint32_t amg_mpi_key_desc(enum amg_mpi_way way, uint32_t index)
{
    return (uint32_t)way << 30 | index;
}

static inline enum amg_mpi_way amg_mpi_key_way(const struct amg_mpi_key *key)
{
    return key->desc >> 30;
}

static inline uint32_t amg_mpi_key_index(const struct amg_mpi_key *key)
{
    return key->desc & 0x3fffffffu;
}

/* Number that each access of `rank` adds to the access word. */
static inline uint64_t amg_mpi_desc_access(int rank)
{
    return (1ull << 32) + (uint64_t)rank + 1;
}

/* The words of an open descriptor without accesses. */
void amg_mpi_desc_set(const struct amg_mpi_exposed *exposed,
    uint64_t ret_words[AMG_MPI_DESC_WORDS]);

/* The tag bits of an access word; subtracting the tag closes the word. */
uint64_t amg_mpi_desc_tag(uint64_t word);
/* The rank that holds an access; or AMG_MPI_ACCESSOR_NONE, _MANY. */
int amg_mpi_desc_accessor(uint64_t word);

/* Checks whether the peer that read these words may access the memory.
 * HG_NOENTRY: the memory was freed; HG_PERMISSION; HG_OVERFLOW: the memory has
 * other segments. */
hg_return_t amg_mpi_desc_check(const uint64_t words[AMG_MPI_DESC_WORDS],
    const struct amg_mpi_key *key, enum amg_mem_flags direction,
    const struct amg_segment *segments, uint32_t count);

/* Owned by the driver from reg() on, until unreg() has succeeded. */
struct amg_mpi_mem {
    struct amg_mem base;
    struct amg_mpi_key key;
    struct amg_list accesses; /* accesses of peers by messages, in flight */
    bool is_closed;           /* no new accesses begin */
    struct amg_link
        leaving;   /* exports->leaving: the descriptor is to be freed */
    bool has_left; /* the access word is closed */
    int accessor;  /* a rank, or AMG_MPI_ACCESSOR_, when last read */
    uint8_t flags;
    uint32_t count;
    struct amg_segment segments[];
};

/* The slots of the contract; unreg is in mpi_close.c. */
hg_return_t amg_mpi_mem_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
void amg_mpi_mem_key(const struct amg_mem *mem, struct amg_key *ret_key);

/* The exposures of a domain with windows. Embedded in struct amg_mpi_rma, and
 * guarded by the domain's lock. */
struct amg_mpi_exports {
    struct amg_mpi_windows *windows;
    struct amg_list leaving; /* struct amg_mpi_mem whose exposure ends */
    uint32_t used;           /* descriptors 0 to used - 1 were used before */
    uint32_t free_count;
    uint16_t free[AMG_MPI_DESCS]; /* indices below `used` that are free */
    bool has_warned;
};

/* Closes the access words of memory being removed, and frees descriptors
 * without accesses. The domain has windows. Calls MPI. */
void amg_mpi_export_move_locked(struct amg_mpi_domain *domain);
#endif
