/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of the segment of a domain, which is one file in /dev/shm.
 *
 *   part            each         how many       written by, or contents
 *   head            struct       1              owner; senders raise slot_end
 *   contexts        256 bytes    max_contexts   see struct amg_shm_context
 *   claims          8 bytes      SLOTS          senders, by slot
 *   keys            AMG_SHM_KEY_TABLE_LEN       owner, peers: see shm_keys.h
 *   rings           5376 bytes   SLOTS          senders, see shm_ring.h
 *   msgbufs         64 + message MSGBUFS        owner: its messages; receivers
 *                                               copy the first TRANSIT at once
 *   bounce buffers  64 KiB       32             owner, peers: bulk data copied
 *                                               through them, see shm_bulk.h
 *   blocks          20 KiB       32             owner: its messages with long
 *                   68 KiB       16             arguments; a block is a longer
 *                   260 KiB      8              msgbuf
 *
 * The keys and each later part begin on a page of their own. The parts before
 * the keys are small: with few contexts and few senders, a sender touches only
 * the first page of these parts, and its own ring. The file has its full length
 * from the start, but no memory: pages are reserved before their first use,
 * because a write to a page that /dev/shm has no room for raises SIGBUS. The
 * head holds the offsets. A process that maps a segment checks the head once,
 * and then uses a private copy of the offsets and counts: a faulty owner can
 * corrupt messages, but not the addresses that its peers use.
 *
 * The file is created without a name and linked when it is complete, so no
 * other process can mistake an unfinished segment for a stale one. The default
 * name is "PID-NUMBER", with the lowest free number. The name of a rank of a
 * job ends with the owner's descriptor of the file, "PID-NUMBER.DESCRIPTOR", so
 * peers can open the segment through /proc after the file was unlinked. */
#ifndef AMG_SHM_SHM_SEGMENT_H
#define AMG_SHM_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/shm_ring.h"

#define AMG_SHM_MAGIC 0x3130616d676c616dull /* "malgma01" */

enum {
    AMG_SHM_VERSION = 7,
    AMG_SHM_PAGE = 4096,
    AMG_SHM_CONTEXTS = 256,       /* a context id is one byte */
    AMG_SHM_SLOTS = 4096,         /* a slot per sender and target context */
    AMG_SHM_CLAIMS_AT_ONCE = 512, /* claims whose pages are reserved together */
    AMG_SHM_BITS = 1024,          /* bits of amg_shm_context.rings */
    AMG_SHM_MSGBUFS = 1024,       /* messages in flight that are not in cells */
    AMG_SHM_TRANSIT = 256,        /* msgbufs 0 to 255: transit (shm_buf.c) */
    AMG_SHM_BLOCK_KINDS = 3,      /* lengths of blocks; kind 0: the shortest */
    AMG_SHM_BLOCKS = 32 + 16 + 8,
    AMG_SHM_BLOCK_TOTAL_LEN = (32 * 20 + 16 * 68 + 8 * 260) * 1024,
    AMG_SHM_KEY_TABLE_LEN = 4 << 20,
    /* Reserved with the segment: 191 slots of accessors, which peers write. */
    AMG_SHM_KEY_TABLE_FIRST_PAGES = 3,
    AMG_SHM_BOUNCE_TOTAL_LEN = 2 << 20, /* bulk data through the segment */
};

struct amg_shm_head {
    uint64_t magic;
    uint32_t version;
    uint32_t head_len; /* length of this struct */
    uint64_t len;      /* length of the file */
    uint64_t incarnation;
    uint64_t pid_ns;     /* inode of the owner's pid namespace */
    uint64_t start_time; /* of the owner's process, by amg_shm_files_self() */
    uint32_t pid;
    uint32_t message_len;
    char name[AMG_SHM_NAME_CAP];
    uint64_t probe;      /* random; peers copy it as a test in cma_works() */
    uint64_t probe_addr; /* address of `probe` at the owner */
    uint64_t area_base;  /* the owner's amg_area; area_len 0: none */
    uint64_t area_len;
    int32_t area_fd;
    uint32_t max_contexts;
    uint16_t has_membarrier;
    uint16_t first_credits; /* credits of a new peer, see transport/flow.h */
    uint32_t msgbuf_stride; /* bytes from one msgbuf to the next */
    uint64_t contexts_at;   /* offsets of the parts */
    uint64_t claims_at;
    uint64_t keys_at;
    uint64_t rings_at;
    uint64_t msgbufs_at;
    uint64_t bounce_bufs_at;
    uint64_t blocks_at;
    /* 1: the owner has closed normally. The release store pairs with the
     * acquire load in amg_shm_region_is_closed(). */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t is_closed;
    /* No claim of a slot from this index on was ever live: senders raise the
     * index before their claim becomes live. */
    _Atomic uint32_t slot_end;
};

static_assert(sizeof(struct amg_shm_head) <= AMG_SHM_PAGE, "one page");

/* Bits of amg_shm_context.events. */
enum amg_shm_event {
    AMG_SHM_EVENT_RINGS = 1, /* bits were set in `rings` */
    AMG_SHM_EVENT_PEERS = 2, /* a peer closed, died, or made room */
};

/* Values of amg_shm_context.sleep. */
enum amg_shm_sleep {
    AMG_SHM_AWAKE,
    AMG_SHM_ASLEEP, /* the next sender writes WOKEN and wakes the owner */
    AMG_SHM_WOKEN,
    AMG_SHM_SLEEP_MASK = 3, /* the bits above the mask count the waits */
    AMG_SHM_SLEEP_NEXT = 4,
};

/* Values of amg_shm_context.is_open. */
enum amg_shm_context_state {
    AMG_SHM_CONTEXT_NEVER, /* never had an endpoint */
    AMG_SHM_CONTEXT_OPEN,
    AMG_SHM_CONTEXT_CLOSED, /* closed, or will never open: refuses requests */
};

/* State shared by a context and its senders, besides the rings. */
struct amg_shm_context {
    /* Publishes `rings` and the cells that the senders wrote: senders OR bits
     * into `events`, and the owner exchanges the word for 0. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t events;
    /* Bit i stands for all slots whose index is i modulo AMG_SHM_BITS. Set: the
     * ring of such a slot has cells, is new, or its claim is LEAVING. */
    _Alignas(AMG_SHM_LINE) _Atomic uint64_t rings[AMG_SHM_BITS / 64];
    /* Dekker with `events`: see shm_link.c. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t sleep;
    _Atomic uint32_t is_open; /* enum amg_shm_context_state */
    _Atomic uint32_t cpu;     /* cpu of the last wait, + 1; 0: unknown */
    /* Upper half: the owner's descriptor of the doorbell FIFO, + 1; lower half:
     * low bits of the inode. 0: the FIFO has a name. Stored before `sleep`. */
    _Atomic uint64_t doorbell;
};

static_assert(sizeof(struct amg_shm_context) == 256, "the table above");

/* States of a slot, in the low byte of its claim. */
enum amg_shm_claim_state {
    AMG_SHM_CLAIM_FREE,
    AMG_SHM_CLAIM_MAKING,  /* a sender writes its name into the ring */
    AMG_SHM_CLAIM_LIVE,    /* the sender may write cells */
    AMG_SHM_CLAIM_LEAVING, /* no further cells come; the owner frees the slot */
};

/* A claim, from its lowest bit on: state (8 bits), the context that the claimer
 * sends to (8), whether the pid is of another pid namespace (1), how often the
 * slot was freed (15), and the pid of the claimer (32). By count and pid, a
 * claimer notices that the owner has freed the slot meanwhile, even if another
 * process, or the claimer itself, has claimed the slot again. */
enum {
    AMG_SHM_CLAIM_OTHER_NS = 1 << 16, /* of another pid namespace */
    AMG_SHM_CLAIM_TURN = 1 << 17,
};

static inline uint64_t amg_shm_claim_in(
    uint64_t claim, enum amg_shm_claim_state state)
{
    return (claim & ~0xffull) | (uint64_t)state;
}

/* The claim with which a sender takes a free slot. */
static inline uint64_t amg_shm_claim_take(
    uint64_t free, uint8_t context, bool is_other_ns, uint32_t pid)
{
    return (uint64_t)AMG_SHM_CLAIM_MAKING | (uint64_t)context << 8 |
           (is_other_ns ? (uint64_t)AMG_SHM_CLAIM_OTHER_NS : 0) |
           (free & (0xffffffffull & ~(AMG_SHM_CLAIM_TURN - 1ull))) |
           (uint64_t)pid << 32;
}

/* The value with which the owner frees a claim. */
static inline uint64_t amg_shm_claim_free(uint64_t claim)
{
    return (claim + AMG_SHM_CLAIM_TURN) &
           (0xffffffffull & ~(AMG_SHM_CLAIM_TURN - 1ull));
}

static inline enum amg_shm_claim_state amg_shm_claim_state(uint64_t claim)
{
    return (enum amg_shm_claim_state)(claim & 0xff);
}

static inline uint8_t amg_shm_claim_context(uint64_t claim)
{
    return (uint8_t)(claim >> 8);
}

static inline bool amg_shm_claim_is_other_ns(uint64_t claim)
{
    return (claim & AMG_SHM_CLAIM_OTHER_NS) != 0;
}

static inline uint32_t amg_shm_claim_pid(uint64_t claim)
{
    return (uint32_t)(claim >> 32);
}

/* The first line of a msgbuf or block; the bytes follow. */
struct amg_shm_msgbuf {
    /* 1: the receiver has the msgbuf, and stores 0 with release when it no
     * longer needs the bytes, paired with the owner's acquire load. 2: like 1,
     * but the owner waits for a msgbuf, and the receiver wakes the owner. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t is_lent;
    _Alignas(AMG_SHM_LINE) uint8_t bytes[];
};

/* A mapped segment, own or of a peer; all members but `head` are private,
 * checked copies. Owned by the domain or the peer. */
struct amg_shm_region {
    struct amg_shm_head *head; /* the mapping; NULL: none */
    uint64_t len;
    int fd;          /* holds the flock; own segment only, -1 at peers */
    bool is_unnamed; /* the name was removed; own segment only */
    uint64_t inode;  /* of the file; peers only */
    char name[AMG_SHM_NAME_CAP];
    uint64_t incarnation;
    uint64_t pid_ns;
    uint64_t start_time;
    uint32_t pid;
    uint32_t max_contexts;
    uint32_t message_len;
    uint32_t msgbuf_stride;
    uint16_t first_credits;
    bool has_membarrier;
    struct amg_shm_context *contexts;
    _Atomic uint64_t *claims;
    void *keys;
    struct amg_shm_ring *rings;
    uint8_t *msgbufs;
    uint8_t *bounce_bufs;
    uint8_t *blocks;
};

static inline bool amg_shm_region_is_closed(const struct amg_shm_region *region)
{
    return atomic_load_explicit(
               &region->head->is_closed, memory_order_acquire) != 0;
}

/* `slot_end`, bounded: no claim of a slot from this index on was ever live. */
static inline uint32_t amg_shm_region_slot_end(
    const struct amg_shm_region *region)
{
    uint32_t end =
        atomic_load_explicit(&region->head->slot_end, memory_order_acquire);

    return end < AMG_SHM_SLOTS ? end : AMG_SHM_SLOTS;
}

/* Raises `slot_end` or `accessor_end`, before a claim is live or an access is
 * announced: the owner reads no slot and no accessor from the end on. */
static inline void amg_shm_end_raise(_Atomic uint32_t *word, uint32_t end)
{
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);

    while (seen < end && !atomic_compare_exchange_weak_explicit(word, &seen,
                             end, memory_order_seq_cst, memory_order_relaxed))
        ;
}

static inline struct amg_shm_msgbuf *amg_shm_region_msgbuf(
    const struct amg_shm_region *region, uint32_t index)
{
    AMG_ASSERT(index < AMG_SHM_MSGBUFS);
    return (struct amg_shm_msgbuf *)(void *)(region->msgbufs +
                                             (uint64_t)index *
                                                 region->msgbuf_stride);
}

/* Number of blocks of a kind, and bytes of such a block: room for 16, 64 or 256
 * KiB of arguments, the line `is_lent`, and headers. */
static inline uint32_t amg_shm_block_count(unsigned kind)
{
    AMG_ASSERT(kind < AMG_SHM_BLOCK_KINDS);
    return 32u >> kind;
}
static inline uint32_t amg_shm_block_stride(unsigned kind)
{
    return (16384u << 2 * kind) + 4096;
}
/* Length of the longest message that fits into a block. */
static inline uint32_t amg_shm_block_cap(unsigned kind)
{
    return amg_shm_block_stride(kind) - (uint32_t)sizeof(struct amg_shm_msgbuf);
}

/* Finds a msgbuf or block by index; block i has the index AMG_SHM_MSGBUFS + i.
 * Returns the length of the longest message that fits; 0: no such index. */
static inline uint32_t amg_shm_region_find(const struct amg_shm_region *region,
    uint32_t index, struct amg_shm_msgbuf **ret_msgbuf)
{
    uint8_t *at = region->blocks;

    if (AMG_LIKELY(index < AMG_SHM_MSGBUFS)) {
        *ret_msgbuf = amg_shm_region_msgbuf(region, index);
        return region->message_len;
    }
    index -= AMG_SHM_MSGBUFS;
    for (unsigned kind = 0; kind < AMG_SHM_BLOCK_KINDS; kind++) {
        uint32_t count = amg_shm_block_count(kind);

        if (index < count) {
            at += (uint64_t)index * amg_shm_block_stride(kind);
            *ret_msgbuf = (struct amg_shm_msgbuf *)(void *)at;
            return amg_shm_block_cap(kind);
        }
        index -= count;
        at += (uint64_t)count * amg_shm_block_stride(kind);
    }
    return 0;
}

#endif
