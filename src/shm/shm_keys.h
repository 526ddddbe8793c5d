/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the memory that a process exposes, and the check of an access in the
 * table before a peer copies.
 *
 * The table is part of the exposer's segment. Peers read the table before they
 * copy, and take addresses only from the table, never from a descriptor. The
 * offsets in the table are constants: a process that maps the table checks only
 * the value AMG_SHM_KEY_TABLE_MAGIC.
 *
 *   line 0      magic, salt
 *   accessors   64 bytes per peer that copies: identity of the peer, and the
 *               entries that the peer accesses now
 *   entries     32 bytes per exposed memory: serial number and flags, and the
 *               segment, or the position of the list of segments
 *   list        16 bytes per segment of memory with several segments: address,
 *               and end counted from the start of the list
 *
 * Memory for which the table has no room is exposed, too: its addresses are not
 * in the table, so peers ask the exposer by message to copy. A larger table
 * would take more of /dev/shm, which is small in many containers (64 MiB), and
 * would gain little: long lists mostly have short segments, which the exposer
 * copies faster anyway. */
#ifndef AMG_SHM_SHM_KEYS_H
#define AMG_SHM_SHM_KEYS_H

#include <assert.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "shm/shm_files.h"
#include "transport/transport.h"

enum {
    AMG_SHM_KEY_TABLE_MAGIC = 0x6b657934,
    AMG_SHM_ACCESSORS = 1024,
    AMG_SHM_CLEARING = 1, /* the id of an accessor that is being cleared */
    AMG_SHM_ACCESSES = 8, /* threads of one accessor that copy at once */
    AMG_SHM_ENTRIES = 8192,
    AMG_SHM_LIST = 131072,     /* 2 MiB, of which only used pages take memory */
    AMG_SHM_LIST_CLASSES = 16, /* lists of up to 32768 segments */
};

/* Slot of a peer that copies. The peer claims and releases the slot; another
 * process releases the slot of a dead peer. */
struct amg_shm_accessor {
    /* 0: free; 1: being cleared; else the accessor's random number. The
     * exchange that claims a slot pairs with the store that freed it. */
    _Atomic uint64_t id;
    _Atomic uint64_t start_time; /* of the process, from /proc */
    _Atomic uint32_t pid;        /* 0: not written yet */
    uint32_t unused;
    /* Entry number + 1 while a copy is in progress, else 0. Dekker (seq_cst):
     * the accessor writes an access and then reads the entry's state; the
     * exposer writes the state and then reads the accesses. */
    _Atomic uint32_t accesses[AMG_SHM_ACCESSES];
    uint64_t unused_too;
};

static_assert(sizeof(struct amg_shm_accessor) == 64, "one line per accessor");

enum amg_shm_entry_bits {
    AMG_SHM_ENTRY_FLAGS = 0xff,      /* enum amg_mem_flags */
    AMG_SHM_ENTRY_LIVE = 0x100,      /* may be accessed */
    AMG_SHM_ENTRY_BY_MESSAGE = 0x200 /* segments not listed: exposer copies */
};

struct amg_shm_entry {
    /* Upper half: the serial number; lower half: the bits. The other fields
     * change only after all accesses that found the entry live have ended. */
    _Atomic uint64_t state;
    _Atomic uint32_t count; /* number of segments */
    /* The accessors that announced an access since the entry became live:
     * accessor i sets bit i % 32 after its announcement and before it reads the
     * state. So removal reads the cache lines of these accessors only. */
    _Atomic uint32_t accessed_by;
    _Atomic uint64_t
        base;             /* count 1: the segment; else the start of the list */
    _Atomic uint64_t len; /* count 1: of the segment; else not used */
};

static_assert(sizeof(struct amg_shm_entry) == 32, "two entries per line");

static inline uint32_t amg_shm_accessor_bit(uint32_t index)
{
    return 1u << index % 32;
}

/* A segment of a list. `end` allows a binary search for a byte. */
struct amg_shm_list_entry {
    _Atomic uint64_t base;
    _Atomic uint64_t end; /* bytes from the start of the list */
};

struct amg_shm_key_table {
    _Atomic uint32_t magic;
    _Atomic uint32_t
        accessor_end;      /* accessors from this index on were never used */
    _Atomic uint64_t salt; /* part of every key of this process */
    uint64_t unused[6];
    struct amg_shm_accessor accessors[AMG_SHM_ACCESSORS];
    struct amg_shm_entry entries[AMG_SHM_ENTRIES];
    struct amg_shm_list_entry list[AMG_SHM_LIST];
};

/* Wire format of a key. */
struct amg_shm_key {
    uint32_t index;
    uint32_t serial; /* number of the registration: a key kept for 2^32
                      * registrations would be valid again */
    uint64_t salt;
};

static_assert(sizeof(struct amg_shm_key) <= AMG_KEY_LEN_MAX, "must fit a key");

/* A requested access to exposed memory, which may span several segments. */
struct amg_shm_access {
    struct amg_shm_key key;
    uint32_t segment;
    uint32_t direction; /* a bit of enum amg_mem_flags */
    uint64_t offset;    /* from the start of the segment */
    uint64_t len;
    bool goes_on; /* the rest of an access: `offset` may exceed the segment */
    uint8_t context; /* the exposer's context that serves the access, if the
                        exposer copies */
};

/* Exposed memory. Owned by the caller that added the memory, until removed. */
struct amg_shm_mem {
    struct amg_mem base;
    struct amg_shm_key key;
    uint32_t users; /* copies by this process now; under the exposer's lock */
    uint32_t list;  /* start of the list; UINT32_MAX: no list */
    uint32_t count;
    uint8_t flags;
    bool is_closed;
    uint64_t
        *ends; /* of the segments, as in the table; stored behind `segments` */
    struct amg_segment segments[];
};

/* The exposer's side. Owned by the domain, which embeds it. */
struct amg_shm_exposer {
    struct amg_shm_key_table *table; /* in the segment; all zero at the start */
    amg_shm_life_fn life;
    const struct amg_shm_region *region; /* of `table`; NULL: all pages exist */
    uint64_t salt;
    struct amg_lock lock; /* guards all below, and the users of the memory */
    struct amg_shm_record *records;
    uint32_t cap;
    uint32_t free;        /* first free record with an entry in the table */
    uint32_t free_beyond; /* first free record without an entry */
    uint32_t serial;      /* of the memory added last */
    uint32_t list_end;    /* the list was never used from this index on */
    uint32_t *list_next;  /* index: a free list; value: the next free list */
    uint32_t list_free[AMG_SHM_LIST_CLASSES]; /* first free list; 0: none */
};

/* `salt` is random; the caller sets `region` afterwards. */
void amg_shm_exposer_init(struct amg_shm_exposer *exposer,
    struct amg_shm_key_table *table, uint64_t salt, amg_shm_life_fn life);
/* To be called when all memory was removed. */
void amg_shm_exposer_fini(struct amg_shm_exposer *exposer);

/* reg() and unreg() of the contract. HG_INVALID_ARG: 2^64 bytes or more. */
hg_return_t amg_shm_exposer_add(struct amg_shm_exposer *exposer,
    const struct amg_transport *transport, const struct amg_segment *segments,
    uint32_t count, uint8_t flags, struct amg_mem **ret_mem);
hg_return_t amg_shm_exposer_remove(
    struct amg_shm_exposer *exposer, struct amg_mem *mem, unsigned timeout_ms);
void amg_shm_key_write(const struct amg_mem *mem, struct amg_key *ret_key);

/* Decodes a key. HG_INVALID_ARG: no key of this driver. */
hg_return_t amg_shm_key_read(
    const struct amg_key *key, struct amg_shm_key *ret_key);

/* Checks an access for which the exposer copies; removal of the memory waits
 * for amg_shm_exposer_leave(). HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW. */
hg_return_t amg_shm_exposer_enter(struct amg_shm_exposer *exposer,
    const struct amg_shm_access *access, struct amg_shm_mem **ret_mem,
    struct amg_seg_iter *ret_at);
void amg_shm_exposer_leave(
    struct amg_shm_exposer *exposer, struct amg_shm_mem *mem);

/* Access to a peer's exposed memory (shm_access.c; claim: shm_keys.c).
 *
 *   claim     once per peer: takes a slot for announcements
 *   enter     announces the copy, then checks that it is allowed
 *   leave     ends the copy; the peer may free the memory
 *
 * The peer's unreg() waits for leave, so a process holds an access for one step
 * of a copy only. */

/* Identity of this process in the peer's table; `id` is random, above 1. */
struct amg_shm_accessor_id {
    uint64_t id;
    uint64_t start_time;
    uint32_t pid;
};

/* Takes a slot of `table`, in `region` (NULL: all pages exist). NULL: living
 * processes have all slots, or /dev/shm has no room for more slots. */
struct amg_shm_accessor *amg_shm_access_claim(struct amg_shm_key_table *table,
    const struct amg_shm_region *region, const struct amg_shm_accessor_id *who,
    amg_shm_life_fn life);
/* Accepts NULL. To be called when no access is in progress. */
void amg_shm_access_release(struct amg_shm_accessor *accessor);

/* A position in a peer's exposed memory, and the memory from there on, as the
 * peer's table describes both. */
struct amg_shm_view {
    uint64_t at;  /* address of the position at the peer */
    uint64_t len; /* bytes left in the segment of the position */
    uint64_t end; /* end of that segment, from the start of the list */
    const struct amg_shm_list_entry
        *next; /* the next segment; NULL: the memory has no list */
    const struct amg_shm_list_entry *stop; /* end of the list; or NULL */
};

/* HG_SUCCESS: `*ret_view` starts at the access and is valid until leave with
 * `*ret_slot`. HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW: not allowed.
 * HG_OPNOTSUPPORTED: not in the table, the peer has to copy. HG_AGAIN: too many
 * threads of this process have an access. HG_PROTOCOL_ERROR: damaged table. */
hg_return_t amg_shm_access_enter(struct amg_shm_key_table *table,
    struct amg_shm_accessor *accessor, const struct amg_shm_access *access,
    unsigned *ret_slot, struct amg_shm_view *ret_view);
void amg_shm_access_leave(struct amg_shm_accessor *accessor, unsigned slot);

/* Takes the longest run of adjacent bytes, at most `max`, and moves the view
 * behind the run. 0: the list has ended, or is no longer consistent. */
uint64_t amg_shm_view_take(
    struct amg_shm_view *view, uint64_t max, uint64_t *ret_at);

#endif
