/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed messages: many small calls to one peer in one message, for drivers
 * that pay for each message.
 *
 * The body of a packed message is a sequence of calls, each with a head:
 *
 *   byte  0      1         2   3   4 .. 7    8 ...
 *       +------+---------+-------+---------+---------------------------------+
 *       | kind | context |  len  | cookie  | body, zeros to a multiple of 8  |
 *       +------+---------+-------+---------+---------------------------------+
 *   kind, context, cookie  as in the driver's header of a message of its own
 *   len                    bytes of the body
 *
 * The driver's header in front tells that the message is packed, how many calls
 * it has, and the context of the receiver, which is that of all its calls.
 *
 * Sender. A call leaves at once if this process has sent nothing to the peer
 * since the last poll began. Otherwise the packer keeps a short call, and adds
 * later calls to the same context of the peer behind the kept call. The kept
 * message leaves with the next poll, when it is full, or before a message that
 * must not overtake it. So single calls are never kept, and a peer has at most
 * one kept message. A kept message that no call has joined leaves unpacked.
 *
 * Receiver. The driver hands on each call as an arrival or a reply, in place:
 * all calls of a message share its buffer, and the last release frees the
 * buffer. The arrivals lie behind the message in that buffer. Therefore a
 * message has at most as many calls as arrivals fit behind the longest message.
 *
 * The packer is a pure data structure, which sends nothing. The lock of the
 * domain guards it, unless a comment says otherwise. */
#ifndef AMG_TRANSPORT_PACK_H
#define AMG_TRANSPORT_PACK_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "transport/op.h"

struct amg_pack_head {
    uint8_t kind;
    uint8_t context;
    uint16_t len;
    uint32_t cookie;
};

enum {
    AMG_PACK_HEAD_LEN = 8,
    AMG_PACK_ALIGN = 8, /* alignment of all heads and bodies */
};

static_assert(sizeof(struct amg_pack_head) == AMG_PACK_HEAD_LEN, "the table");

/* Bytes of a call in a packed message. */
static inline uint32_t amg_pack_part_len(uint32_t body_len)
{
    return AMG_PACK_HEAD_LEN +
           (body_len + AMG_PACK_ALIGN - 1) / AMG_PACK_ALIGN * AMG_PACK_ALIGN;
}

/* Packed messages that have left a domain, and the calls in them. Only the
 * packer writes, any thread reads: relaxed. */
struct amg_pack_counts {
    atomic_uint_fast64_t messages;
    atomic_uint_fast64_t calls;
};

/* Limits of a domain, and its kept messages. The domain embeds it. */
struct amg_packer {
    struct amg_list
        kept;           /* struct amg_pack, in the order of their first call */
    uint32_t len_max;   /* of the body of a message; 0: nothing is packed */
    uint32_t count_max; /* most calls in a message, sent or received */
    uint32_t turn;      /* counts polls */
    /* Messages in `kept`; written under the lock. Readers without the lock take
     * the count as a hint: relaxed. */
    atomic_uint kept_count;
    struct amg_pack_counts counts;
};

struct amg_pack;

/* State of a peer; valid when all zero. */
struct amg_pack_peer {
    struct amg_pack *kept; /* NULL: none */
    uint32_t turn;         /* `turn` of the packer at the last message */
};

/* An outgoing message. The driver's buffer embeds it. */
struct amg_pack {
    struct amg_link link; /* in `kept` of the packer */
    struct amg_pack_peer *peer;
    struct amg_pack_head head; /* of the first call; the packer sets `len` */
    unsigned char *body;       /* of the first call */
    uint32_t len;              /* bytes: before the post, of the body; after
                                * the post, of all heads and bodies */
    uint16_t count;            /* calls; 1: the message has no heads */
    uint8_t target;            /* context of the receiver */
};

enum amg_pack_verdict {
    AMG_PACK_SEND,   /* the message leaves now: the peer has no kept message */
    AMG_PACK_KEPT,   /* the packer keeps the message and its buffer */
    AMG_PACK_JOINED, /* the bytes were copied: the buffer is free */
    AMG_PACK_FULL,   /* send the kept message, then post again */
};

/* Sets the limits: the body of a packed message has at most `len_max` bytes, or
 * AMALGAM_PACK_BYTES if that is less. At every peer, the buffer that receives
 * a message has `room` bytes. */
void amg_packer_init(
    struct amg_packer *packer, uint32_t len_max, uint32_t room);

/* True: the call leaves now, because nothing was sent to the peer since the
 * last poll began. False: the caller calls amg_packer_post(). */
static inline bool amg_packer_is_first(
    const struct amg_packer *packer, struct amg_pack_peer *peer)
{
    if (peer->turn == packer->turn || peer->kept != NULL)
        return false;
    peer->turn = packer->turn;
    return true;
}

/* Decides whether a call to the peer leaves now. The message of the call is
 * complete, and the driver has set `head`, `body`, `len` and `target` of
 * `pack`. FULL: the kept message has no room, or another `target`. */
enum amg_pack_verdict amg_packer_post(struct amg_packer *packer,
    struct amg_pack_peer *peer, struct amg_pack *pack);

/* A poll begins. Next the driver sends the messages of amg_packer_first(). */
static inline void amg_packer_turn(struct amg_packer *packer)
{
    packer->turn++;
}

static inline bool amg_packer_is_empty(const struct amg_packer *packer)
{
    return amg_list_is_empty(&packer->kept);
}

/* The oldest kept message, or NULL. */
static inline struct amg_pack *amg_packer_first(const struct amg_packer *packer)
{
    struct amg_link *link = amg_list_first(&packer->kept);

    return link == NULL ? NULL : amg_container_of(link, struct amg_pack, link);
}

/* Removes a kept message, which leaves now, or never. If it has several calls,
 * the head of the first call has replaced the end of the driver's header: then
 * the driver writes its header once more, in front of that head. */
void amg_packer_take(struct amg_packer *packer, struct amg_pack *pack);

/* Reading. */

struct amg_pack_iter {
    const unsigned char *at;
    uint32_t left;  /* bytes */
    uint32_t count; /* calls */
};

/* A call in a received message. */
struct amg_pack_part {
    struct amg_pack_head head;
    const unsigned char *body; /* aligned to 8, if the message is */
};

/* Checks the whole body of a message that says it has `count` calls. False:
 * malformed, or `count` is above `count_max`: the message must not be used. */
bool amg_pack_iter_init(struct amg_pack_iter *iter, const void *bytes,
    uint32_t len, uint32_t count, uint32_t count_max);

/* The next call; false: no call is left. */
static inline bool amg_pack_iter_next(
    struct amg_pack_iter *iter, struct amg_pack_part *ret_part)
{
    uint32_t len = 0;

    if (iter->count == 0)
        return false;
    memcpy(&ret_part->head, iter->at, AMG_PACK_HEAD_LEN);
    ret_part->body = iter->at + AMG_PACK_HEAD_LEN;
    len = amg_pack_part_len(ret_part->head.len);
    AMG_ASSERT(len <= iter->left);
    iter->at += len;
    iter->left -= len;
    iter->count--;
    return true;
}

/* An arrival, and the buffer that it is in. */
struct amg_pack_arrival {
    struct amg_arrival arrival;
    void *whole;
};

static inline void *amg_pack_whole_of(struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_pack_arrival, arrival)->whole;
}

/* Room for the arrivals of a message of `len` bytes, behind these bytes. */
static inline struct amg_pack_arrival *amg_pack_arrivals(
    void *bytes, uint32_t len)
{
    return (void *)((unsigned char *)bytes + (len + AMG_PACK_ALIGN - 1) /
                                                 AMG_PACK_ALIGN *
                                                 AMG_PACK_ALIGN);
}

/* Counts a further user of a buffer; `others` is the number of users - 1. */
static inline void amg_pack_share(atomic_uint *others)
{
    atomic_fetch_add_explicit(others, 1u, memory_order_relaxed);
}

/* Ends one use of a buffer. True: the caller was the last user. Any thread may
 * call, without a lock: each user's release pairs with the last's acquire. */
static inline bool amg_pack_unshare(atomic_uint *others)
{
    if (AMG_LIKELY(atomic_load_explicit(others, memory_order_acquire) == 0))
        return true;
    if (atomic_fetch_sub_explicit(others, 1u, memory_order_acq_rel) != 0)
        return false;
    atomic_store_explicit(others, 0u, memory_order_relaxed);
    return true;
}

#endif
