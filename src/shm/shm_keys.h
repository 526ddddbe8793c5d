/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: the exposer's table of what is alive.
 *
 * The table stands in the exposer's segment, where its peers look before they
 * copy. It is all they believe; what a descriptor says of addresses is not
 * asked. Offsets in it are fixed by the constants below, so a mapper needs to
 * compare AMG_SHM_KEYS_MAGIC only.
 *
 *   line 0      magic, salt
 *   visitors    64 bytes for each peer that copies by itself: who it is, and
 *               in which entries it is at this moment
 *   entries     32 bytes for each exposed memory: its serial number and flags,
 *               and its segment, or where its list of segments is
 *   list        16 bytes for each segment of those that have several: where it
 *               is, and where it ends, counted from the start of its list
 *
 * Memory beyond the room of the table is exposed all the same: it has a key
 * that peers cannot look up, and so they ask its exposer by message. The table
 * is not larger because its pages are those of /dev/shm, which is small in many
 * containers (64 MiB), and who touches a page that it has no room for is killed
 * by SIGBUS; and the longer a list, the shorter mostly its segments, which the
 * exposer copies faster anyway. */
#ifndef AMG_SHM_SHM_KEYS_H
#define AMG_SHM_SHM_KEYS_H

#include <assert.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "shm/shm_files.h"
#include "transport/transport.h"

enum {
    AMG_SHM_KEYS_MAGIC = 0x6b657934,
    AMG_SHM_VISITORS = 1024,
    AMG_SHM_CLEARING = 1, /* a visitor's id while it is cleared */
    AMG_SHM_VISITS = 8,   /* of one visitor at once: threads that copy */
    AMG_SHM_ENTRIES = 8192,
    AMG_SHM_LIST = 131072,     /* 2 MiB, of which only used pages count */
    AMG_SHM_LIST_CLASSES = 16, /* lists of up to 32768 segments */
};

/* A peer that copies by itself. Claimed by it, given back by it, or by whoever
 * finds it dead. */
struct amg_shm_visitor {
    /* 0: free; 1: is being cleared; else the visitor's own number. The
     * exchange that claims it pairs with the store that freed it. */
    _Atomic uint64_t id;
    _Atomic uint64_t start_time; /* of the process, as /proc tells it */
    _Atomic uint32_t pid;        /* 0: not written yet */
    uint32_t unused;
    /* Entry number + 1 while a copy is in motion. The visitor writes it and
     * then reads the entry's state; the exposer writes the state and then
     * reads this: both sequentially consistent, so one sees the other. */
    _Atomic uint32_t visits[AMG_SHM_VISITS];
    uint64_t unused_too;
};

static_assert(sizeof(struct amg_shm_visitor) == 64, "one line per visitor");

enum amg_shm_entry_bits {
    AMG_SHM_ENTRY_FLAGS = 0xff,      /* enum amg_mem_flags */
    AMG_SHM_ENTRY_LIVE = 0x100,      /* may be accessed */
    AMG_SHM_ENTRY_BY_MESSAGE = 0x200 /* its list found no room */
};

struct amg_shm_entry {
    /* The serial number in the upper half, the bits in the lower one. While
     * it is live and a visit is announced, the rest does not change. */
    _Atomic uint64_t state;
    _Atomic uint32_t count;
    /* The visitors that announced themselves since the entry became live: bit
     * i % 32 stands for visitor i, which sets it between its announcement and
     * its look at the state. So removal reads the cache lines of these visitors
     * only. */
    _Atomic uint32_t visited;
    _Atomic uint64_t
        base;             /* count 1: its segment; else where its list begins */
    _Atomic uint64_t len; /* count 1 */
};

static_assert(sizeof(struct amg_shm_entry) == 32, "two entries per line");

static inline uint32_t amg_shm_visitor_bit(uint32_t index)
{
    return 1u << index % 32;
}

/* The end saves who looks for a byte from walking over the segments. */
struct amg_shm_listed {
    _Atomic uint64_t base;
    _Atomic uint64_t end; /* bytes from the start of the list */
};

struct amg_shm_table {
    _Atomic uint32_t magic;
    _Atomic uint32_t visitor_end; /* no visitor was ever from here on */
    _Atomic uint64_t salt;        /* in every key of this process */
    uint64_t unused[6];
    struct amg_shm_visitor visitors[AMG_SHM_VISITORS];
    struct amg_shm_entry entries[AMG_SHM_ENTRIES];
    struct amg_shm_listed list[AMG_SHM_LIST];
};

/* A key on the wire. */
struct amg_shm_key {
    uint32_t index;
    uint32_t serial; /* never used twice by one exposer */
    uint64_t salt;
};

static_assert(sizeof(struct amg_shm_key) <= AMG_KEY_LEN_MAX, "must fit a key");

/* What somebody wants of exposed memory: bytes of a segment, and of those that
 * follow it. */
struct amg_shm_access {
    struct amg_shm_key key;
    uint32_t segment;
    uint32_t direction; /* enum amg_mem_flags, one of them */
    uint64_t offset;    /* from the start of the segment */
    uint64_t len;
    bool goes_on; /* the rest of an access: its offset may be further on than
                   * the segment reaches */
};

/* Owned by who registered it, until removed. */
struct amg_shm_mem {
    struct amg_mem base;
    struct amg_shm_key key;
    uint32_t users; /* copies in motion by ourselves; under the lock */
    uint32_t list;  /* where its list begins; UINT32_MAX: it has none */
    uint32_t count;
    uint8_t flags;
    bool is_closed;
    uint64_t *ends; /* of the segments, as in the table; they lie behind them */
    struct amg_segment segments[];
};

/* Takes the pages of a part of the table; false: there is no room for them. */
typedef bool (*amg_shm_reserve_fn)(
    const void *owner, const void *at, uint64_t len);

/* The exposer's side. Owned by the domain, which embeds it. */
struct amg_shm_keys {
    struct amg_shm_table *table; /* in the segment; zeros at the start */
    amg_shm_life_fn life;
    amg_shm_reserve_fn reserve; /* NULL: all is there; set after init */
    const void *owner;          /* its first argument */
    uint64_t salt;
    struct amg_lock lock; /* guards all below, and the users of the memory */
    struct amg_shm_place *places;
    uint32_t cap;
    uint32_t free; /* the first free place that has an entry in the table */
    uint32_t free_beyond; /* the first one that has none */
    uint32_t serial;      /* of the newest memory */
    uint32_t list_end;    /* the list was never used from here on */
    uint32_t *list_next;  /* of a free list, the next one of its class */
    uint32_t list_free[AMG_SHM_LIST_CLASSES]; /* first free one; 0: none */
};

/* `salt` is random. */
void amg_shm_keys_init(struct amg_shm_keys *keys, struct amg_shm_table *table,
    uint64_t salt, amg_shm_life_fn life);
/* All memory was removed. */
void amg_shm_keys_fini(struct amg_shm_keys *keys);

/* As amg_bulk_ops.reg and unreg. HG_INVALID_ARG: more than 2^64 - 1 bytes. */
hg_return_t amg_shm_keys_add(struct amg_shm_keys *keys,
    const struct amg_transport *transport, const struct amg_segment *segments,
    uint32_t count, uint8_t flags, struct amg_mem **ret_mem);
hg_return_t amg_shm_keys_remove(
    struct amg_shm_keys *keys, struct amg_mem *mem, unsigned timeout_ms);
void amg_shm_keys_key(const struct amg_mem *mem, struct amg_key *ret_key);

/* The key's words. HG_INVALID_ARG: no key of this driver. */
hg_return_t amg_shm_keys_read(
    const struct amg_key *key, struct amg_shm_key *ret_key);

/* For an access that the exposer itself carries out: checks it, and keeps the
 * memory exposed until keys_leave. HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW. */
hg_return_t amg_shm_keys_enter(struct amg_shm_keys *keys,
    const struct amg_shm_access *access, struct amg_shm_mem **ret_mem,
    struct amg_seg_iter *ret_at);
void amg_shm_keys_leave(struct amg_shm_keys *keys, struct amg_shm_mem *mem);

/* Frees the place of a visitor that died. False: it is free, or
 * its visitor may be alive. */
bool amg_shm_visitor_reap(
    struct amg_shm_visitor *visitor, amg_shm_life_fn life);
/* The visitor leaves: its place is free. */
void amg_shm_visitor_clear(struct amg_shm_visitor *visitor);

#endif
