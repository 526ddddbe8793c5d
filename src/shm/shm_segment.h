/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of the segment of a domain, which is one file in /dev/shm.
 *
 *   part       each         how many       written by
 *   head       struct       1              owner, at creation; is_closed
 *   contexts   256 bytes    max_contexts   see struct amg_shm_context
 *   claims     8 bytes      SLOTS          who sends here, by slot
 *   keys       AMG_SHM_KEYS_LEN            exposed memory, see shm_keys.h
 *   rings      2816 bytes   SLOTS          shm_ring.h; slot_end in the head
 *   slabs      64 + message SLABS          owner's long messages
 *   chunks     AMG_SHM_CHUNKS_LEN          copying through the segment
 *
 * Keys and what follows begin at a page each; what stands before them is so
 * little that a peer of a domain with few contexts touches one page of it, and
 * its ring. The file has its whole length from the start, and no memory before
 * that is needed: each part is reserved before it is first written, as who
 * writes to a page that /dev/shm has no room for is killed by SIGBUS. The
 * offsets stand in the head; who maps a segment checks the head once, keeps
 * what it needs in private memory, and never looks again, so that an owner gone
 * mad can spoil messages but not lead us astray.
 *
 * The file appears under its name when it is whole: it is made without a name
 * and linked then. So there is no moment at which another process could take a
 * half-made segment for a stale one. The name that a process gives itself ends
 * with the descriptor that it has the file open as, "PID-NUMBER.DESCRIPTOR": so
 * it leads to the segment, by /proc, when the file has lost it.
 */
#ifndef AMG_SHM_SHM_SEGMENT_H
#define AMG_SHM_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/shm_ring.h"

#define AMG_SHM_MAGIC 0x3130616d676c616dull /* "malgma01" */

enum {
    AMG_SHM_VERSION = 2,
    AMG_SHM_PAGE = 4096,
    AMG_SHM_CONTEXTS = 256,       /* a context id is one byte */
    AMG_SHM_SLOTS = 4096,         /* processes times contexts that send here */
    AMG_SHM_CLAIMS_AT_ONCE = 512, /* whose pages are taken together */
    AMG_SHM_BITS = 1024,          /* that tell which of them has news */
    AMG_SHM_SLABS = 1024,         /* long messages under way */
    AMG_SHM_KEYS_LEN = 4 << 20, /* for the table of live keys; of these pages */
    AMG_SHM_KEYS_FIRST_PAGES =
        3, /* have room for 191 visitors, who write there */
    AMG_SHM_CHUNKS_LEN = 2 << 20 /* reserved for copying through here */
};

struct amg_shm_head {
    uint64_t magic;
    uint32_t version;
    uint32_t head_len; /* of this struct */
    uint64_t len;      /* of the file */
    uint64_t incarnation;
    uint64_t pid_ns;     /* inode of the owner's pid namespace */
    uint64_t start_time; /* of the owner, /proc/PID/stat field 22 */
    uint32_t pid;
    uint32_t message_len;
    char name[AMG_SHM_NAME_CAP];
    uint64_t probe;      /* a random word, */
    uint64_t probe_addr; /* and where it is at its owner */
    uint64_t area_base;  /* the owner's amg_area, all 0 when it has none */
    uint64_t area_len;
    int32_t area_fd;
    uint32_t max_contexts;
    uint32_t has_membarrier;
    uint32_t slab_stride; /* bytes from one slab to the next */
    uint64_t contexts_at; /* offsets of the parts */
    uint64_t claims_at;
    uint64_t keys_at;
    uint64_t rings_at;
    uint64_t slabs_at;
    uint64_t chunks_at;
    /* 1: the owner has closed, in order. Its release pairs with the acquire
     * of amg_shm_region_is_closed(). */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t is_closed;
    /* No slot was ever claimed from here on; raised by senders, before a claim
     * is live. */
    _Atomic uint32_t slot_end;
};

static_assert(sizeof(struct amg_shm_head) <= AMG_SHM_PAGE, "one page");

/* Bits of amg_shm_context.news. */
enum amg_shm_news {
    AMG_SHM_NEWS_RINGS = 1, /* bits were set in `rings` */
    AMG_SHM_NEWS_PEERS = 2, /* a peer ends: look which */
};

/* Values of amg_shm_context.sleep. */
enum amg_shm_sleep {
    AMG_SHM_AWAKE,
    AMG_SHM_ASLEEP, /* whoever raises news rings the bell, and writes RUNG */
    AMG_SHM_RUNG,
    AMG_SHM_SLEEP_MASK = 3, /* above these bits: which sleep it is */
    AMG_SHM_SLEEP_NEXT = 4,
};

/* Values of amg_shm_context.is_open. */
enum amg_shm_context_state {
    AMG_SHM_CONTEXT_NEVER, /* no endpoint was ever here */
    AMG_SHM_CONTEXT_OPEN,
    AMG_SHM_CONTEXT_CLOSED, /* one was: requests are refused */
};

/* What senders and a context share besides the rings. */
struct amg_shm_context {
    /* Publishes `rings` and what the senders wrote to their rings; or'ed by
     * senders, exchanged by the owner when it is not 0. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t news;
    /* A bit for the slots that are alike modulo AMG_SHM_BITS: the ring of one
     * has cells, or is new. */
    _Alignas(AMG_SHM_LINE) _Atomic uint64_t rings[AMG_SHM_BITS / 64];
    /* Dekker with `news`: see shm_doorbell.c. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t sleep;
    _Atomic uint32_t is_open; /* enum amg_shm_context_state */
    _Atomic uint32_t cpu;     /* where it last waited, + 1; 0 unknown */
    /* Which descriptor of the owner its bell is: that + 1, and the low half of
     * the inode; 0: it has a name. Published by `sleep`. */
    _Atomic uint64_t bell;
};

static_assert(sizeof(struct amg_shm_context) == 256, "the table above");

/* States of a slot, in the low byte of its claim. */
enum amg_shm_claim_state {
    AMG_SHM_CLAIM_FREE,
    AMG_SHM_CLAIM_MAKING,  /* a sender writes its name into the ring */
    AMG_SHM_CLAIM_LIVE,    /* cells may come */
    AMG_SHM_CLAIM_LEAVING, /* none will come any more; the owner frees it */
};

/* A claim, from its lowest bit on: state (8 bits), the context it sends to (8),
 * whether its pid means nothing to the owner (1), how often the slot was freed
 * (15), and the pid of who claimed. So nobody takes a slot that was freed and
 * claimed again, be it by the same process, for its own. */
enum {
    AMG_SHM_CLAIM_STRANGER = 1 << 16, /* of another pid namespace */
    AMG_SHM_CLAIM_TURN = 1 << 17,
};

static inline uint64_t amg_shm_claim_in(
    uint64_t claim, enum amg_shm_claim_state state)
{
    return (claim & ~0xffull) | (uint64_t)state;
}

/* What a sender makes of a free one. */
static inline uint64_t amg_shm_claim_take(
    uint64_t free, uint8_t context, bool is_stranger, uint32_t pid)
{
    return (uint64_t)AMG_SHM_CLAIM_MAKING | (uint64_t)context << 8 |
           (is_stranger ? (uint64_t)AMG_SHM_CLAIM_STRANGER : 0) |
           (free & (0xffffffffull & ~(AMG_SHM_CLAIM_TURN - 1ull))) |
           (uint64_t)pid << 32;
}

/* What its owner makes of one that is not used any more. */
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

static inline bool amg_shm_claim_is_stranger(uint64_t claim)
{
    return (claim & AMG_SHM_CLAIM_STRANGER) != 0;
}

static inline uint32_t amg_shm_claim_pid(uint64_t claim)
{
    return (uint32_t)(claim >> 32);
}

/* The first line of a slab; the bytes follow. */
struct amg_shm_slab {
    /* 1: the receiver has it. It puts 0 there when it is done with the bytes,
     * with release; the owner's acquire load then makes it free. 2: the same,
     * and the owner sleeps until one is free: it is to be told. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t is_out;
    _Alignas(AMG_SHM_LINE) uint8_t bytes[];
};

/* A mapped segment, own or of a peer; all but `head` is private and was
 * checked. Owned by its domain or peer. */
struct amg_shm_region {
    struct amg_shm_head *head; /* the mapping; NULL: none */
    uint64_t len;
    int fd;             /* the owner's, which holds its lock; -1 at peers */
    bool has_lost_name; /* own ones only */
    uint64_t inode;     /* of the file; peers only */
    char name[AMG_SHM_NAME_CAP];
    uint64_t incarnation;
    uint64_t pid_ns;
    uint64_t start_time;
    uint32_t pid;
    uint32_t max_contexts;
    uint32_t message_len;
    uint32_t slab_stride;
    bool has_membarrier;
    struct amg_shm_context *contexts;
    _Atomic uint64_t *claims;
    void *keys;
    struct amg_shm_ring *rings;
    uint8_t *slabs;
    uint8_t *chunks;
};

/* Did its owner close it? */
static inline bool amg_shm_region_is_closed(const struct amg_shm_region *region)
{
    return atomic_load_explicit(
               &region->head->is_closed, memory_order_acquire) != 0;
}

/* The slots that may have been claimed: from 0 up to here. */
static inline uint32_t amg_shm_region_slot_end(
    const struct amg_shm_region *region)
{
    uint32_t end =
        atomic_load_explicit(&region->head->slot_end, memory_order_acquire);

    return end < AMG_SHM_SLOTS ? end : AMG_SHM_SLOTS;
}

static inline struct amg_shm_slab *amg_shm_region_slab(
    const struct amg_shm_region *region, uint32_t index)
{
    return (
        struct amg_shm_slab *)(void *)(region->slabs +
                                       (uint64_t)index * region->slab_stride);
}

#endif
